/* The bytes of DNS messages: what questions and replies are read and written with. */
#ifndef GATE_DNS_WIRE_H
#define GATE_DNS_WIRE_H

#include "gate/dns.h"

/* What is left of a message. */
struct reader {
	const unsigned char *p;
	size_t n;
};

static inline bool read_skip(struct reader *r, size_t n)
{
	if (r->n < n)
		return false;
	r->p += n;
	r->n -= n;
	return true;
}

static inline bool read_u16(struct reader *r, uint16_t *ret)
{
	if (r->n < 2)
		return false;
	*ret = (uint16_t)(r->p[0] << 8 | r->p[1]);
	return read_skip(r, 2);
}

/* The labels of a text, each with its length before it; 0 if it is no name. */
size_t dns_write_name(struct str name, unsigned char out[DNS_MAX_NAME]) MUST_USE;

#endif

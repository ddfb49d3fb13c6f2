/* DNS over TCP (see dns_stream.h).
 *
 * The buffer holds one message of the largest size: a client that sends faster
 * than it is answered waits in its own socket.
 */
#include "gate/dns_stream.h"

#include <stdint.h>
#include <string.h>

#include "gate/dns.h"

static_assert(MAX_DNS_QUERY <= UINT16_MAX && MAX_DNS_ANSWER <= UINT16_MAX,
	      "a length that two bytes do not hold");

void dns_stream_init(struct dns_stream *s)
{
	s->taken = 0;
	s->n = 0;
}

unsigned char *dns_stream_get_room(struct dns_stream *s, size_t *ret_n)
{
	s->n -= s->taken;
	memmove(s->bytes, s->bytes + s->taken, s->n);
	s->taken = 0;
	*ret_n = sizeof(s->bytes) - s->n;
	return s->bytes + s->n;
}

void dns_stream_add(struct dns_stream *s, size_t n)
{
	if (n > sizeof(s->bytes) - s->n)
		BUG("[DS1] more bytes than there was room for");
	s->n += n;
}

enum dns_stream_state dns_stream_take(struct dns_stream *s, const unsigned char **ret_msg,
				      size_t *ret_n)
{
	const unsigned char *p = s->bytes + s->taken;
	size_t left = s->n - s->taken, n;

	if (left < DNS_FRAME)
		return DNS_STREAM_MORE;
	n = (size_t)(p[0] << 8 | p[1]);
	if (n < DNS_HEADER || n > MAX_DNS_QUERY)
		return DNS_STREAM_BROKEN;
	if (left - DNS_FRAME < n)
		return DNS_STREAM_MORE;
	s->taken += DNS_FRAME + n;
	*ret_msg = p + DNS_FRAME;
	*ret_n = n;
	return DNS_STREAM_MESSAGE;
}

void dns_frame_write(unsigned char out[DNS_FRAME], size_t n)
{
	if (n > UINT16_MAX)
		BUG("a message of more than 65535 bytes");
	out[0] = (unsigned char)(n >> 8);
	out[1] = (unsigned char)n;
}

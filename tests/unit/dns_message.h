/* DNS messages for tests: from hexadecimal, or put together from parts. */
#ifndef TESTS_UNIT_DNS_MESSAGE_H
#define TESTS_UNIT_DNS_MESSAGE_H

#include <string.h>

#include "gate/dns.h"
#include "tap.h"

struct message {
	size_t n;
	unsigned char b[8192];
};

__attribute__((unused))
static void message_add(struct message *m, const void *bytes, size_t n)
{
	if (n > sizeof(m->b) - m->n)
		BUG("a message too long for the test");
	memcpy(m->b + m->n, bytes, n);
	m->n += n;
}

__attribute__((unused))
static void message_add_u16(struct message *m, unsigned v)
{
	message_add(m, (unsigned char[]){ (unsigned char)(v >> 8), (unsigned char)v }, 2);
}

/* Bytes of hexadecimal text; spaces are for the eye. */
__attribute__((unused))
static void message_add_hex(struct message *m, const char *hex)
{
	unsigned byte;
	int used;

	for (; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
		message_add(m, (unsigned char[]){ (unsigned char)byte }, 1);
	ok(hex[strspn(hex, " ")] == '\0', "'%s' is hexadecimal", hex);
}

/* A name of dotted text, with its root. */
__attribute__((unused))
static void message_add_name(struct message *m, const char *name)
{
	for (; *name; name += *name == '.') {
		size_t n = strcspn(name, ".");

		message_add(m, (unsigned char[]){ (unsigned char)n }, 1);
		message_add(m, name, n);
		name += n;
	}
	message_add(m, "", 1);
}

/* A header with the id 0x1234, the given flags and numbers of records. */
__attribute__((unused))
static void message_begin(struct message *m, unsigned flags, unsigned questions, unsigned others)
{
	m->n = 0;
	message_add_u16(m, 0x1234);
	message_add_u16(m, flags);
	message_add_u16(m, questions);
	message_add_u16(m, 0);
	message_add_u16(m, 0);
	message_add_u16(m, others);
}

/* A question as clients send it; `opt` is the OPT record in hexadecimal, or
 * NULL. */
__attribute__((unused))
static void message_ask(struct message *m, const char *name, unsigned type, const char *opt)
{
	message_begin(m, 0x0100, 1, opt ? 1 : 0);
	message_add_name(m, name);
	message_add_u16(m, type);
	message_add_u16(m, DNS_CLASS_IN);
	if (opt)
		message_add_hex(m, opt);
}

/* Parsed from a copy of exactly its length, so that a sanitizer sees a read
 * beyond. */
__attribute__((unused))
static enum dns_fault message_parse(const struct message *m, struct dns_question *ret)
{
	unsigned char *copy = malloc(m->n ? m->n : 1);
	enum dns_fault fault;

	if (!copy)
		BUG("no memory");
	memcpy(copy, m->b, m->n);
	fault = dns_question_parse(copy, m->n, ret);
	free(copy);
	return fault;
}

/* A name of the longest kind: 3 labels of 63 letters and one of 61. */
__attribute__((unused))
static void longest_name(char out[MAX_HOST_NAME + 1])
{
	memset(out, 'a', MAX_HOST_NAME);
	out[63] = out[127] = out[191] = '.';
	out[MAX_HOST_NAME] = '\0';
}

#endif

/* Reading what is asked of the proxy, and writing what it says; see proxy.h.
 *
 * Byte by byte, so that no cut can matter: a request is short, and there is one a
 * connection.
 */
#include "gate/proxy.h"

#include <stdio.h>
#include <string.h>

#include "gate/peek_reason.h"

#define SOCKS_VERSION	5
#define SOCKS_HEAD	4	/* version, command, reserved, kind of address */
#define SOCKS_PORT	2

enum { SOCKS_V4 = 1, SOCKS_NAME = 3, SOCKS_V6 = 4 };

static enum proxy_verdict refuse(struct proxy_ask *a, enum proxy_answer answer)
{
	a->answer = answer;
	return PROXY_BAD;
}

/* ---- SOCKS5 -------------------------------------------------------------- */

static unsigned byte_at(const struct proxy_ask *a, size_t i)
{
	return (unsigned char)a->held[i];
}

/* The methods of logging in that the client knows. */
static enum proxy_verdict read_methods(struct proxy_ask *a)
{
	if (a->n < 2 || a->n < 2 + byte_at(a, 1))
		return PROXY_MORE;
	if (!memchr(a->held + 2, 0, byte_at(a, 1)))
		return refuse(a, PROXY_NO_LOGIN);
	a->is_greeted = true;
	a->n = 0;
	return PROXY_GREETED;
}

static enum proxy_verdict check_socks_head(struct proxy_ask *a)
{
	if (byte_at(a, 0) != SOCKS_VERSION || byte_at(a, 2) != 0)
		return refuse(a, PROXY_MALFORMED);
	if (byte_at(a, 1) != 1)
		return refuse(a, PROXY_NO_COMMAND);
	if (byte_at(a, 3) != SOCKS_V4 && byte_at(a, 3) != SOCKS_NAME && byte_at(a, 3) != SOCKS_V6)
		return refuse(a, PROXY_NO_ADDRESS);
	return PROXY_MORE;
}

/* How long the address is, with the byte that says so. */
static size_t socks_length(const struct proxy_ask *a)
{
	if (byte_at(a, 3) == SOCKS_NAME)
		return a->n > SOCKS_HEAD ? 1 + byte_at(a, SOCKS_HEAD) : 1;
	return byte_at(a, 3) == SOCKS_V6 ? 16 : 4;
}

static enum proxy_verdict read_socks(struct proxy_ask *a)
{
	struct host_addr addr = { .is_v6 = false };
	size_t n;

	if (a->n == SOCKS_HEAD)
		return check_socks_head(a);
	if (a->n < SOCKS_HEAD)
		return PROXY_MORE;
	n = socks_length(a);
	if (a->n < SOCKS_HEAD + n + SOCKS_PORT)
		return PROXY_MORE;
	a->port = (uint16_t)(byte_at(a, a->n - 2) << 8 | byte_at(a, a->n - 1));
	if (byte_at(a, 3) == SOCKS_NAME) {
		if (!peek_host_parse((struct str){ a->held + SOCKS_HEAD + 1, n - 1 }, &a->host))
			return refuse(a, PROXY_MALFORMED);
	} else {
		addr.is_v6 = n == 16;
		memcpy(addr.b, a->held + SOCKS_HEAD, n);
		host_from_addr(&addr, &a->host);
	}
	return a->port ? PROXY_ASKED : refuse(a, PROXY_MALFORMED);
}

/* ---- HTTP CONNECT -------------------------------------------------------- */

/* NAME:PORT, ADDRESS:PORT or [v6]:PORT. */
static bool read_authority(struct proxy_ask *a, struct str text)
{
	uint64_t port;
	size_t colon = text.n;

	while (colon && text.s[colon - 1] != ':')
		colon--;
	if (!colon || !str_parse_u64(str_from_pos(text, colon), &port) || !port ||
	    port > UINT16_MAX)
		return false;
	text = str_first(text, colon - 1);
	/* Without brackets nobody knows which colon is the last. */
	if (text.n && text.s[0] != '[' && memchr(text.s, ':', text.n))
		return false;
	a->port = (uint16_t)port;
	return peek_host_parse(text, &a->host);
}

/* The first line; the rest says nothing that matters to a tunnel. */
static enum proxy_verdict read_head(struct proxy_ask *a)
{
	struct str all = { a->held, a->n }, line = str_first(all, str_find(all, '\r')), target;
	size_t space = str_find(line, ' ');

	if (space == line.n)
		return refuse(a, PROXY_MALFORMED);
	target = str_from_pos(line, space + 1);
	line = str_first(line, space);
	space = str_find(target, ' ');
	all = str_from_pos(target, MIN(space + 1, target.n));
	if (!str_is(all, "HTTP/1.1") && !str_is(all, "HTTP/1.0"))
		return refuse(a, PROXY_MALFORMED);
	if (!str_is(line, "CONNECT"))
		return refuse(a, PROXY_NO_COMMAND);
	return read_authority(a, str_first(target, space)) ? PROXY_ASKED
							   : refuse(a, PROXY_MALFORMED);
}

static enum proxy_verdict read_http(struct proxy_ask *a)
{
	unsigned last = byte_at(a, a->n - 1);
	bool after_cr = a->n > 1 && a->held[a->n - 2] == '\r';

	if ((last == '\n') != after_cr)
		return refuse(a, PROXY_MALFORMED);
	if (last >= 0x7f || (last < ' ' && last != '\t' && last != '\r' && last != '\n'))
		return refuse(a, PROXY_MALFORMED);
	if (a->n < 4 || memcmp(a->held + a->n - 4, "\r\n\r\n", 4) != 0)
		return PROXY_MORE;
	return read_head(a);
}

/* ---- both ---------------------------------------------------------------- */

static enum proxy_verdict read_first(struct proxy_ask *a)
{
	a->is_socks = byte_at(a, 0) == SOCKS_VERSION;
	if (!a->is_socks && (byte_at(a, 0) < 'A' || byte_at(a, 0) > 'Z'))
		return refuse(a, PROXY_MALFORMED);
	return PROXY_MORE;
}

static enum proxy_verdict read_byte(struct proxy_ask *a)
{
	if (a->n == 1 && !a->is_greeted)
		return read_first(a);
	if (a->is_socks)
		return a->is_greeted ? read_socks(a) : read_methods(a);
	return read_http(a);
}

enum proxy_verdict proxy_feed(struct proxy_ask *a, const unsigned char *bytes, size_t n,
			      size_t *ret_taken)
{
	enum proxy_verdict v = PROXY_MORE;
	size_t i = 0;

	while (i < n && v == PROXY_MORE) {
		a->held[a->n++] = (char)bytes[i++];
		v = read_byte(a);
		if (v == PROXY_MORE && a->n == sizeof(a->held))
			v = refuse(a, PROXY_MALFORMED);
	}
	*ret_taken = i;
	return v;
}

/* ---- answers ------------------------------------------------------------- */

static const struct {
	unsigned char socks;
	const char *http, *words;
} answers[] = {
	[PROXY_HELLO] = { 0, "200 OK", "" },
	[PROXY_NO_LOGIN] = { 0xff, "400 Bad Request", "" },
	[PROXY_CONNECTED] = { 0, "200 Connection established", "" },
	[PROXY_DENIED] = { 2, "403 Forbidden", "refused by policy" },
	[PROXY_UNREACHABLE] = { 4, "502 Bad Gateway", "the host cannot be reached" },
	[PROXY_NO_COMMAND] = { 7, "405 Method Not Allowed",
			       "this proxy takes CONNECT alone, and SOCKS5" },
	[PROXY_NO_ADDRESS] = { 8, "400 Bad Request", "" },
	[PROXY_MALFORMED] = { 1, "400 Bad Request",
			      "this is no CONNECT HOST:PORT that every proxy reads alike" },
};
static_assert(ARRAY_SIZE(answers) == N_PROXY_ANSWERS, "an answer without words");

static size_t print_socks(enum proxy_answer answer, char out[PROXY_ANSWER_BYTES])
{
	bool is_hello = answer == PROXY_HELLO || answer == PROXY_NO_LOGIN;
	/* The address that the host sees is nobody's business inside. */
	const unsigned char reply[] = { SOCKS_VERSION, answers[answer].socks, 0, SOCKS_V4,
					0, 0, 0, 0, 0, 0 };
	size_t n = is_hello ? 2 : sizeof(reply);

	memcpy(out, reply, n);
	return n;
}

size_t proxy_answer_print(const struct proxy_ask *a, enum proxy_answer answer, const char *why,
			  char out[PROXY_ANSWER_BYTES])
{
	int n;

	if (a->is_socks)
		return print_socks(answer, out);
	static_assert(PROXY_ANSWER_BYTES >= PEEK_ANSWER_BYTES, "a refusal fits");
	if (answer == PROXY_DENIED)
		return peek_answer_http(why[0] ? why : answers[answer].words, out);
	if (answer == PROXY_CONNECTED)
		n = snprintf(out, PROXY_ANSWER_BYTES, "HTTP/1.1 %s\r\n\r\n", answers[answer].http);
	else
		n = snprintf(out, PROXY_ANSWER_BYTES,
			     "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=us-ascii\r\n"
			     "Content-Length: %zu\r\nConnection: close\r\n%s\r\ncordon: %s\n",
			     answers[answer].http, strlen(answers[answer].words) + 9,
			     answer == PROXY_NO_COMMAND ? "Allow: CONNECT\r\n" : "",
			     answers[answer].words);
	return (size_t)n;
}

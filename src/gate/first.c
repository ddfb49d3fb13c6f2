/* The first bytes of a client; see first.h.
 *
 * Pure; part of the gate.  TLS is a handshake record that begins with a ClientHello.  HTTP is a
 * request line of a method, a target and a version, perhaps behind empty lines: of 1.0, 1.1 or
 * 2 without TLS.  A request line without a version (HTTP/0.9) could be a line of another
 * protocol.
 */
#include "gate/first.h"

#include "base/limits.h"

/* Type 22, version 3.x, length, type of the handshake message 1. */
static enum first_bytes read_record(const unsigned char *b, size_t n)
{
	if (n > 1 && b[1] != 3)
		return FIRST_OTHER;
	if (n < 6)
		return FIRST_UNSEEN;
	return b[5] == 1 ? FIRST_TLS : FIRST_OTHER;
}

/* What a method is made of (RFC 9110, tchar). */
static bool is_token(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (c && c < 0x80 && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_target(unsigned char c)
{
	return c > ' ' && c != 0x7f;
}

/* Past the bytes that `is` accepts and the space behind them, or 0; *ret_open: the bytes end
 * before that is known. */
static size_t skip_word(const unsigned char *b, size_t n, bool (*is)(unsigned char), bool *ret_open)
{
	size_t i = 0;

	while (i < n && is(b[i]))
		i++;
	*ret_open = i == n;
	return i && i < n && b[i] == ' ' ? i + 1 : 0;
}

static enum first_bytes read_line(const unsigned char *b, size_t n)
{
	static const char version[] = "HTTP/";
	size_t method, target, rest;
	bool open;

	method = skip_word(b, n, is_token, &open);
	if (!method)
		return open ? FIRST_UNSEEN : FIRST_OTHER;
	target = skip_word(b + method, n - method, is_target, &open);
	if (!target)
		return open ? FIRST_UNSEEN : FIRST_OTHER;
	b += method + target;
	rest = n - method - target;
	if (memcmp(b, version, MIN(rest, strlen(version))) != 0)
		return FIRST_OTHER;
	if (rest <= strlen(version))
		return FIRST_UNSEEN;
	return b[5] == '1' || b[5] == '2' ? FIRST_HTTP : FIRST_OTHER;
}

enum first_bytes first_read(const unsigned char *bytes, size_t n)
{
	size_t blank = 0, max = MIN(n, MAX_PEEK_LINE);
	enum first_bytes first;

	if (n && bytes[0] == 0x16)
		return read_record(bytes, n);
	while (blank < max && (bytes[blank] == '\r' || bytes[blank] == '\n'))
		blank++;
	first = read_line(bytes + blank, max - blank);
	return first == FIRST_UNSEEN && max == MAX_PEEK_LINE ? FIRST_OTHER : first;
}

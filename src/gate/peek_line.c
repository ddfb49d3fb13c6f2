/* Lines that some HTTP server takes for a request (see peek_line.h).
 *
 * Pure; part of the gate.  Which servers take what was read in their sources:
 * Python's http.server (split() on Unicode white space, two words with GET),
 * nginx (any upper-case method, no version, and then the host of an absolute
 * URL), llhttp as in Node (RTSP/ and ICE/ as versions), WEBrick, old Jetty and
 * gunicorn (any method).
 */
#include "gate/peek_line.h"

#include "base/macros.h"
#include "base/str.h"

void peek_line_init(struct peek_line *l)
{
	*l = (struct peek_line){ .first_is_token = true, .first_is_upper = true };
}

static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) || c == 0x85 ||
	       c == 0xa0;
}

static bool is_letter(unsigned char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_token(unsigned char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* PROXY is a line that some servers take before the request itself. */
static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS",
				       "PATCH", "TRACE", "PROXY" };
static const char *const versions[] = { "http/", "rtsp/", "ice/" };

static bool is_method(const struct peek_line *l, bool any_case)
{
	struct str first = { l->first, MIN(l->n_first, sizeof(l->first)) };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		size_t n = strlen(methods[i]);

		if (l->n_first == n && (any_case ? strncasecmp(first.s, methods[i], n) == 0 :
						   memcmp(first.s, methods[i], n) == 0))
			return true;
	}
	return false;
}

static void add_first(struct peek_line *l, unsigned char c)
{
	if (l->n_first < sizeof(l->first))
		l->first[l->n_first] = (char)c;
	l->n_first = (unsigned char)MIN(l->n_first + 1, 255);
	l->first_is_token &= is_token(c);
	l->first_is_upper &= (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

static void add_second(struct peek_line *l, unsigned char c)
{
	static const char mark[] = "://";

	if (l->at == 0)
		l->second_is_path = c == '/';
	if (l->n_scheme < 3)
		l->n_scheme = c == mark[l->n_scheme] ? l->n_scheme + 1 : c == ':';
}

/* After five bytes a word is known to begin with a version, or not to. */
static void check_version(struct peek_line *l, unsigned char c)
{
	struct str start;

	if (l->at < sizeof(l->start))
		l->start[l->at] = (char)(is_letter(c) ? c | 0x20 : c);
	start = (struct str){ l->start, MIN(l->at + 1u, sizeof(l->start)) };
	for (size_t i = 0; i < ARRAY_SIZE(versions) && l->at < sizeof(l->start); i++)
		l->last_is_version |= str_is(start, versions[i]);
	l->had_version |= l->last_is_version;
}

void peek_line_add(struct peek_line *l, unsigned char c)
{
	if (is_space(c)) {
		l->in_word = false;
		return;
	}
	if (!l->in_word) {
		l->in_word = true;
		l->at = 0;
		l->words = (unsigned char)MIN(l->words + 1, 3);
		l->last_is_version = false;
	}
	if (l->words == 1)
		add_first(l, c);
	else
		check_version(l, c);
	if (l->words == 2)
		add_second(l, c);
	l->at = (unsigned char)MIN(l->at + 1, 255);
}

bool peek_line_is_blank(const struct peek_line *l)
{
	return l->words == 0;
}

bool peek_line_is_http(const struct peek_line *l)
{
	if (l->had_version)
		return true;
	if (l->words < 2)
		return false;
	return is_method(l, false) || l->n_scheme == 3 ||
	       (l->second_is_path && (l->first_is_upper || is_method(l, true)));
}

bool peek_line_is_request(const struct peek_line *l)
{
	if (l->words < 2 || !l->first_is_token)
		return false;
	if (l->words == 3 && l->last_is_version)
		return true;
	if (l->n_scheme == 3 && is_method(l, true))
		return true;
	return l->words == 2 && l->n_first == 3 && memcmp(l->first, "GET", 3) == 0;
}

bool peek_line_is_host(const struct peek_line *l)
{
	if (l->n_first < 4 || strncasecmp(l->first, "host", 4) != 0)
		return false;
	if (l->n_first == 4)
		return l->words == 2 && l->at && l->start[0] == ':';
	return l->first[4] == ':';
}

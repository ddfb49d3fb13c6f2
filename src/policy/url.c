/* URLs, read strictly (see url.h).
 *
 * Only what decides who is dialled is kept: scheme, host, port.  The rest is
 * looked at for one reason, to refuse what another parser could take apart in
 * another way.  No reason given here quotes the text.
 */
#include "policy/url.h"

static const struct {
	const char *scheme;
	unsigned port;
} own_ports[] = {
	{ "http", 80 }, { "https", 443 }, { "ws", 80 }, { "wss", 443 },
	{ "ftp", 21 }, { "ssh", 22 }, { "git", 9418 },
};

static enum url_fault refuse(char why[HOST_WHY], const char *what)
{
	snprintf(why, HOST_WHY, "%s", what);
	return URL_INVALID;
}

static bool is_alpha(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* First of the bytes in `set`, or the end. */
static size_t find_any(struct str s, const char *set)
{
	size_t n = s.n;

	for (; *set; set++)
		n = MIN(n, str_find(str_first(s, n), *set));
	return n;
}

static bool has_bad_escape(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.s[i] == '%' && (i + 2 >= s.n || !is_hex(s.s[i + 1]) || !is_hex(s.s[i + 2])))
			return true;
	return false;
}

/* Bytes that have no place anywhere in a URL. */
static enum url_fault check_bytes(struct str text, char why[HOST_WHY])
{
	if (text.n > MAX_URL_BYTES)
		return refuse(why, "it is too long");
	for (size_t i = 0; i < text.n; i++) {
		if (text.s[i] == ' ')
			return refuse(why, "it has a space");
		if ((unsigned char)text.s[i] < ' ' || text.s[i] == 0x7f)
			return refuse(why, "it has a control character");
		if (text.s[i] == '\\')
			return refuse(why, "it has a backslash");
	}
	return URL_OK;
}

/* The scheme and the ':' after it; 0 when the text begins with none.  A longer
 * one than `scheme_text` holds is nothing that anybody dials. */
static size_t parse_scheme(struct str text, struct url *u)
{
	size_t n = str_find(text, ':');

	if (n == text.n || !n || n >= sizeof(u->scheme_text) || !is_alpha(text.s[0]))
		return 0;
	for (size_t i = 0; i < n; i++) {
		char c = text.s[i];

		if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '-' && c != '.')
			return 0;
		u->scheme_text[i] = is_alpha(c) ? (char)(c | 0x20) : c;
	}
	u->scheme.n = n;
	return n + 1;
}

static bool is_user_info(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.s[i];

		if (!is_alpha(c) && !is_digit(c) && !strchr("-._:~!$&'()*+,;=%@", c))
			return false;
	}
	return !has_bad_escape(s);
}

/* Port 0 would mean "the host alone" to a rule, and nothing listens there. */
static bool parse_port(struct str text, unsigned *ret)
{
	uint64_t v;

	if (text.n > 5 || !str_parse_u64(text, &v) || v < 1 || v > UINT16_MAX)
		return false;
	*ret = (unsigned)v;
	return true;
}

/* HOST, HOST:PORT or [v6]:PORT into its halves; no port is a port with s NULL.
 * Brackets stay. */
static bool split_port(struct str text, struct str *ret_host, struct str *ret_port)
{
	size_t end = str_starts(text, "[") ? str_find(text, ']') + 1 : str_find(text, ':');

	if (end > text.n)
		return false;
	*ret_host = str_first(text, end);
	*ret_port = (struct str){ NULL, 0 };
	if (end == text.n)
		return true;
	*ret_port = str_from_pos(text, end + 1);
	return text.s[end] == ':' && str_find(*ret_port, ':') == ret_port->n;
}

static enum url_fault parse_authority(struct str text, struct url *u, char why[HOST_WHY])
{
	const char *at = text.n ? memrchr(text.s, '@', text.n) : NULL;
	struct str host, port;

	if (at) {
		if (!is_user_info(str_first(text, (size_t)(at - text.s))))
			return refuse(why, "its user info has a character that must be escaped");
		text = str_from_pos(text, (size_t)(at - text.s) + 1);
	}
	if (str_find(text, '%') < text.n)
		return refuse(why, "its host has a percent sign");
	if (!split_port(text, &host, &port))
		return refuse(why, "its host is not like HOST:PORT or [IPv6]:PORT");
	if (port.n && !parse_port(port, &u->port))
		return refuse(why, "its port is no number from 1 to 65535");
	if (!host.n) {
		snprintf(why, HOST_WHY, "URL has no host");
		return URL_NO_HOST;
	}
	if (host_parse(host, &u->host, why) < 0)
		return URL_BAD_HOST;
	u->has_host = true;
	return URL_OK;
}

static enum url_fault parse(struct str text, struct url *u, char why[HOST_WHY])
{
	enum url_fault fault = check_bytes(text, why);
	struct str query;
	size_t n;

	if (fault)
		return fault;
	n = parse_scheme(text, u);
	if (!n) {
		snprintf(why, HOST_WHY, "it has no scheme");
		return URL_NO_SCHEME;
	}
	text = str_from_pos(text, n);
	query = str_from_pos(text, find_any(text, "?#"));
	if (!str_starts(text, "//")) {
		snprintf(why, HOST_WHY, "URL has no host");
		return URL_NO_HOST;
	}
	text = str_from_pos(text, 2);
	n = find_any(text, "/?#");
	if (has_bad_escape((struct str){ text.s + n, text.n - n - query.n }) ||
	    has_bad_escape(str_from_pos(query, str_find(query, '#'))))
		return refuse(why, "it has a '%' without two hexadecimal digits");
	for (size_t i = 0; i < ARRAY_SIZE(own_ports); i++)
		if (strcmp(u->scheme_text, own_ports[i].scheme) == 0)
			u->port = own_ports[i].port;
	return parse_authority(str_first(text, n), u, why);
}

enum url_fault url_parse(struct str text, struct url *ret, char why[HOST_WHY])
{
	struct url u = { 0 };
	enum url_fault fault = parse(text, &u, why);

	if (fault == URL_INVALID || fault == URL_NO_SCHEME)
		return fault;
	*ret = u;
	ret->scheme.s = ret->scheme_text;
	return fault;
}

int url_parse_hostport(struct str text, struct host *ret, unsigned *ret_port, char why[HOST_WHY])
{
	size_t colon = str_find(text, ':');
	bool is_bare_v6 = !str_starts(text, "[") && colon < text.n &&
			  str_find(str_from_pos(text, colon + 1), ':') + colon + 1 < text.n;
	struct str host = text, port = { NULL, 0 };
	unsigned number = 0;

	if (!is_bare_v6 && !split_port(text, &host, &port)) {
		snprintf(why, HOST_WHY, "is not like HOST:PORT or [IPv6]:PORT");
		return -1;
	}
	if (port.s && !parse_port(port, &number)) {
		snprintf(why, HOST_WHY, "has a port that is no number from 1 to 65535");
		return -1;
	}
	if (host_parse(host, ret, why) < 0)
		return -1;
	*ret_port = number;
	return 0;
}

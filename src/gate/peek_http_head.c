/* Request line, header lines, chunk lines (see peek_http_head.h).
 *
 * Pure; part of the gate.  The grammar is RFC 9112's without what it only
 * tolerates: one space, CR LF, no folding, one Host, one length.
 */
#include "gate/peek_http_head.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_token_char(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || is_digit(c) ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_token_char(s.s[i]))
			return false;
	return s.n > 0;
}

static bool is_same(struct str a, const char *b)
{
	return a.n == strlen(b) && strncasecmp(a.s, b, a.n) == 0;
}

static bool starts_with(struct str a, const char *b)
{
	return a.n >= strlen(b) && strncasecmp(a.s, b, strlen(b)) == 0;
}

static bool parse_port(struct str text, unsigned *ret)
{
	uint64_t v;

	if (text.n > 5 || !str_parse_u64(text, &v) || v < 1 || v > UINT16_MAX)
		return false;
	*ret = (unsigned)v;
	return true;
}

/* HOST, HOST:PORT or [v6]:PORT must be the target. */
static enum peek_reason check_authority(struct str text, const struct peek_head_check *check)
{
	size_t end = str_starts(text, "[") ? str_find(text, ']') + 1 : str_find(text, ':');
	unsigned port = check->to->port;
	struct host named;
	struct str host;

	if (str_find(text, '@') < text.n)
		return PEEK_USER_INFO;
	if (end > text.n)
		return PEEK_HOST_BAD;
	host = str_first(text, end);
	if (!peek_host_parse(host, &named))
		return PEEK_HOST_BAD;
	if (end < text.n && (text.s[end] != ':' ||
			     !parse_port(str_from_pos(text, end + 1), &port)))
		return PEEK_HOST_BAD;
	if (!peek_is_host(&named, &check->to->host))
		return peek_refusal_name(check->refusal, host, PEEK_HOST_OTHER);
	if (port != check->to->port)
		return peek_refusal_name(check->refusal, host, PEEK_PORT_OTHER);
	return PEEK_NO_REASON;
}

static enum peek_reason check_target(struct str method, struct str target,
				     const struct peek_head_check *check)
{
	size_t end;

	if (is_same(method, "CONNECT"))
		return PEEK_CONNECT;
	if (str_starts(target, "/"))
		return PEEK_NO_REASON;
	if (str_is(target, "*"))
		return str_is(method, "OPTIONS") ? PEEK_NO_REASON : PEEK_REQUEST_TARGET;
	if (!starts_with(target, "http://"))
		return PEEK_REQUEST_TARGET;
	target = str_from_pos(target, strlen("http://"));
	end = MIN(str_find(target, '/'), str_find(target, '?'));
	return check_authority(str_first(target, end), check);
}

static enum peek_reason check_version(struct str version, unsigned char *ret_minor)
{
	if (!str_is(version, "HTTP/1.0") && !str_is(version, "HTTP/1.1"))
		return str_starts(version, "HTTP/") ? PEEK_HTTP_VERSION : PEEK_REQUEST_LINE;
	*ret_minor = (unsigned char)(version.s[version.n - 1] - '0');
	return PEEK_NO_REASON;
}

static enum peek_reason parse_request_line(struct peek_head *h, struct str line,
					   const struct peek_head_check *check)
{
	size_t end = str_find(line, ' ');
	struct str method = str_first(line, end), target, version;
	enum peek_reason why;

	if (str_is(line, "PRI * HTTP/2.0"))
		return PEEK_HTTP2;
	if (!is_token(method) || end == line.n)
		return PEEK_REQUEST_LINE;
	line = str_from_pos(line, end + 1);
	end = str_find(line, ' ');
	if (!end || end == line.n || str_find(line, '\t') < line.n)
		return PEEK_REQUEST_LINE;
	target = str_first(line, end);
	version = str_from_pos(line, end + 1);
	why = check_version(version, &h->minor);
	h->has_line = true;
	return why ? why : check_target(method, target, check);
}

static enum peek_reason read_host(struct peek_head *h, struct str value,
				  const struct peek_head_check *check)
{
	if (h->has_host)
		return PEEK_HOST_SEVERAL;
	h->has_host = true;
	return value.n ? check_authority(value, check) : PEEK_HOST_NONE;
}

static enum peek_reason read_length(struct peek_head *h, struct str value,
				    const struct peek_head_check *check UNUSED)
{
	/* A leading zero is octal to some. */
	if (h->has_length || value.n > 18 || (value.n > 1 && value.s[0] == '0') ||
	    !str_parse_u64(value, &h->length))
		return PEEK_LENGTH;
	h->has_length = true;
	return PEEK_NO_REASON;
}

static enum peek_reason read_coding(struct peek_head *h, struct str value,
				    const struct peek_head_check *check UNUSED)
{
	if (h->has_chunked || !is_same(value, "chunked"))
		return PEEK_CODING;
	h->has_chunked = true;
	return PEEK_NO_REASON;
}

/* The next item of a comma list; false at its end. */
static bool take_item(struct str *list, struct str *ret)
{
	size_t end = str_find(*list, ',');

	if (!list->n)
		return false;
	*ret = str_trim(str_first(*list, end));
	*list = end < list->n ? str_from_pos(*list, end + 1) : (struct str){ NULL, 0 };
	return true;
}

static enum peek_reason read_upgrade(struct peek_head *h, struct str value,
				     const struct peek_head_check *check UNUSED)
{
	struct str item;

	h->has_upgrade = true;
	while (take_item(&value, &item))
		h->is_h2c |= starts_with(item, "h2c");
	return PEEK_NO_REASON;
}

static enum peek_reason read_connection(struct peek_head *h, struct str value,
					const struct peek_head_check *check);

/* The lines that decide who a request is for and where it ends. */
static const struct {
	const char *name;
	enum peek_reason (*read)(struct peek_head *h, struct str value,
				 const struct peek_head_check *check);
} fields[] = {
	{ "connection", read_connection },
	{ "content-length", read_length },
	{ "host", read_host },
	{ "transfer-encoding", read_coding },
	{ "upgrade", read_upgrade },
};

/* `-` and `_` are one to servers that make variables of header names. */
static int find_field(struct str name, bool *ret_exact)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *want = fields[i].name;
		bool same = name.n == strlen(want);

		*ret_exact = true;
		for (size_t k = 0; same && k < name.n; k++) {
			char c = name.s[k];

			if (c == '_')
				*ret_exact = false;
			same = (c == '_' ? '-' : c >= 'A' && c <= 'Z' ? c | 0x20 : c) == want[k];
		}
		if (same)
			return (int)i;
	}
	return -1;
}

/* A proxy drops the lines that Connection names; without its Host or its length
 * a request is another one. */
static enum peek_reason read_connection(struct peek_head *h UNUSED, struct str value,
					const struct peek_head_check *check UNUSED)
{
	struct str item;
	bool exact;

	while (take_item(&value, &item)) {
		int i = find_field(item, &exact);

		if (i >= 0 && fields[i].read != read_upgrade)
			return PEEK_CONNECTION;
	}
	return PEEK_NO_REASON;
}

static bool split_field(struct str line, struct str *ret_name, struct str *ret_value)
{
	size_t colon = str_find(line, ':');

	if (colon == line.n)
		return false;
	*ret_name = str_first(line, colon);
	*ret_value = str_trim(str_from_pos(line, colon + 1));
	return is_token(*ret_name);
}

enum peek_reason peek_head_add(struct peek_head *h, struct str line,
			       const struct peek_head_check *check)
{
	struct str name, value;
	bool exact;
	int i;

	if (!h->has_line)
		return parse_request_line(h, line, check);
	if (++h->n_fields > MAX_PEEK_FIELDS)
		return PEEK_HEAD_LONG;
	if (!split_field(line, &name, &value))
		return PEEK_FIELD;
	i = find_field(name, &exact);
	if (i < 0)
		return PEEK_NO_REASON;
	return exact ? fields[i].read(h, value, check) : PEEK_FIELD;
}

enum peek_reason peek_head_check_whole(const struct peek_head *h)
{
	if (!h->has_line)
		return PEEK_REQUEST_LINE;
	/* Without a Host the server's first host answers, whoever that is. */
	if (!h->has_host)
		return PEEK_HOST_NONE;
	if (h->has_length && h->has_chunked)
		return PEEK_LENGTH;
	if (h->has_chunked && h->minor == 0)
		return PEEK_CODING;
	return PEEK_NO_REASON;
}

enum peek_reason peek_trailer_check(struct str line)
{
	struct str name, value;
	bool exact;

	if (!split_field(line, &name, &value))
		return PEEK_FIELD;
	return find_field(name, &exact) >= 0 ? PEEK_TRAILER : PEEK_NO_REASON;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ";name" or ";name=value", any number of them. */
static bool is_extensions(struct str s)
{
	while (s.n) {
		size_t end, eq;
		struct str one;

		if (s.s[0] != ';')
			return false;
		s = str_from_pos(s, 1);
		end = str_find(s, ';');
		one = str_first(s, end);
		eq = str_find(one, '=');
		if (!is_token(str_first(one, eq)) ||
		    (eq < one.n && !is_token(str_from_pos(one, eq + 1))))
			return false;
		s = str_from_pos(s, end);
	}
	return true;
}

enum peek_reason peek_chunk_parse(struct str line, uint64_t *ret_size)
{
	uint64_t size = 0;
	size_t i = 0;

	for (; i < line.n && hex_digit(line.s[i]) >= 0; i++) {
		if (i == 15)
			return PEEK_CHUNK;
		size = size << 4 | (unsigned)hex_digit(line.s[i]);
	}
	/* Some look for "0" alone to know the last one. */
	if (!i || (!size && i > 1) || !is_extensions(str_from_pos(line, i)))
		return PEEK_CHUNK;
	*ret_size = size;
	return PEEK_NO_REASON;
}

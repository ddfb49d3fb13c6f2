/* Names: the one canonical form in which everything is compared.
 *
 * What resolvers, browsers and C libraries read differently is refused here,
 * so that no later step has to wonder.
 */
#include <stdarg.h>

#include "policy/host_priv.h"

int host_refuse(char why[HOST_WHY], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, HOST_WHY, fmt, args);
	va_end(args);
	return -1;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static int refuse_char(char c, char why[HOST_WHY])
{
	if (c == ' ')
		return host_refuse(why, "has a space");
	if (c < ' ' || c == 0x7f)
		return host_refuse(why, "has a control character");
	return host_refuse(why, "has the character '%c', which no host name has", c);
}

static int print_ascii(struct str label, char out[MAX_HOST_LABEL], char why[HOST_WHY])
{
	if (label.n > MAX_HOST_LABEL)
		return host_refuse(why, "has a label longer than %d bytes", MAX_HOST_LABEL);
	for (size_t i = 0; i < label.n; i++) {
		char c = label.s[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c | 0x20);
		if (!is_name_char(c))
			return refuse_char(c, why);
		out[i] = c;
	}
	return 0;
}

static bool is_ascii(struct str label)
{
	unsigned char seen = 0;

	for (size_t i = 0; i < label.n; i++)
		seen |= (unsigned char)label.s[i];
	return seen < 0x80;
}

static int add_label(struct host *h, struct str label, char why[HOST_WHY])
{
	char out[MAX_HOST_LABEL];
	size_t n = label.n, dot = h->n ? 1 : 0;

	if (!n)
		return host_refuse(why, "has an empty label");
	if (is_ascii(label) ? print_ascii(label, out, why) < 0 :
			      host_idna_print(label, out, &n, why) < 0)
		return -1;
	if (out[0] == '-' || out[n - 1] == '-')
		return host_refuse(why, "has a label that begins or ends with '-'");
	label = (struct str){ out, n };
	if (str_starts(label, "xn--") && !host_idna_check(label))
		return host_refuse(why, "has a label that begins with xn-- and is no A-label");
	if (h->n + dot + n > MAX_HOST_NAME)
		return host_refuse(why, "is longer than %d bytes", MAX_HOST_NAME);
	if (dot)
		h->name[h->n++] = '.';
	memcpy(h->name + h->n, out, n);
	h->n = (unsigned char)(h->n + n);
	return 0;
}

static bool is_all(struct str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.s[i] || !strchr(set, s.s[i]))
			return false;
	return true;
}

/* The rule of the URL standard: no top-level domain is a number, and a name
 * that ends in one is read as an address by some parser. */
static bool ends_in_number(const struct host *h)
{
	struct str last = { h->name, h->n };
	const char *dot = memrchr(h->name, '.', h->n);

	if (dot)
		last = str_from_pos(last, (size_t)(dot - h->name) + 1);
	return is_all(last, "0123456789") ||
	       (str_starts(last, "0x") && is_all(str_from_pos(last, 2), "0123456789abcdef"));
}

static int parse_v6(struct str text, struct host *h, char why[HOST_WHY])
{
	if (str_find(text, '%') < text.n)
		return host_refuse(why, "is an IPv6 address with a zone; write it without");
	if (str_find(text, ':') == text.n)
		return host_refuse(why, "has brackets around what is no IPv6 address");
	if (!host_addr_parse(text, &h->addr))
		return host_refuse(why, "has a ':' and is no IPv6 address");
	h->is_addr = true;
	return 0;
}

static int parse_name(struct str text, struct host *h, char why[HOST_WHY])
{
	if (text.n > 1 && text.s[text.n - 1] == '.')
		text.n--;
	for (;;) {
		size_t end = str_find(text, '.');

		if (add_label(h, str_first(text, end), why) < 0)
			return -1;
		if (end == text.n)
			break;
		text = str_from_pos(text, end + 1);
	}
	if (!ends_in_number(h))
		return 0;
	if (!host_addr_parse_loose((struct str){ h->name, h->n }, &h->addr))
		return host_refuse(why, "ends in a number and is no address");
	h->is_addr = true;
	h->n = 0;
	memset(h->name, 0, sizeof(h->name));
	return 0;
}

int host_parse(struct str text, struct host *ret, char why[HOST_WHY])
{
	struct host h = { 0 };
	int r;

	if (!text.n)
		return host_refuse(why, "is empty");
	if (text.s[0] == '[' && (text.n < 2 || text.s[text.n - 1] != ']'))
		return host_refuse(why, "begins with '[' and does not end with ']'");
	if (text.s[0] == '[')
		r = parse_v6((struct str){ text.s + 1, text.n - 2 }, &h, why);
	else if (str_find(text, ':') < text.n)
		r = parse_v6(text, &h, why);
	else
		r = parse_name(text, &h, why);
	if (r == 0)
		*ret = h;
	return r;
}

void host_print(const struct host *h, struct buf *out)
{
	if (h->is_addr)
		host_addr_print(&h->addr, out);
	else
		buf_add(out, h->name, h->n);
}

void host_from_addr(const struct host_addr *a, struct host *ret)
{
	*ret = (struct host){ .is_addr = true, .addr = *a };
	host_addr_unmap(&ret->addr);
}

/* Host patterns: from text and back, and how two of them relate (see host.h).
 *
 * Two host parts either have nothing in common or one covers the other, so
 * what two patterns share is always one of the two with the ports of both.
 */
#include "policy/host_priv.h"

#define ANY_PORT_LAST	UINT16_MAX

/* Of the forms over one name, the wider before what it covers. */
static const unsigned char form_rank[] = {
	[HOST_ANY] = 0,
	[HOST_AT_OR_BELOW] = 1,
	[HOST_EXACT] = 2,
	[HOST_BELOW] = 3,
	[HOST_NET] = 4,
};
static_assert(ARRAY_SIZE(form_rank) == N_HOST_FORMS, "a form without a rank");

/* Text that may be repeated in a message as it is. */
static bool is_plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.s[i] <= ' ' || s.s[i] > '~' || s.s[i] == '@')
			return false;
	return s.n > 0 && s.n <= 100;
}

static int refuse_with_hint(struct str hint, const char *what, char why[HOST_WHY])
{
	if (!is_plain(hint))
		return host_refuse(why, "%s: write the host alone", what);
	return host_refuse(why, "%s: write %.*s", what, STR_FMT(hint));
}

/* Whole URLs, user names and paths: patterns of hosts have none of them. */
static int check_shape(struct str text, char why[HOST_WHY])
{
	size_t slash = str_find(text, '/');
	struct str before = str_first(text, slash);
	char unused[HOST_WHY];
	struct host h;

	if (!str_trim(text).n)
		return host_refuse(why, "is blank");
	if (slash + 1 < text.n && slash && text.s[slash - 1] == ':' && text.s[slash + 1] == '/') {
		struct str rest = str_from_pos(text, slash + 2);

		for (size_t i = 0; i < rest.n; i++)
			if (strchr("/?#", rest.s[i]))
				rest.n = i;
		while (str_find(rest, '@') < rest.n)
			rest = str_from_pos(rest, str_find(rest, '@') + 1);
		return refuse_with_hint(rest, "is a URL", why);
	}
	if (str_find(text, '@') < text.n)
		return host_refuse(why, "names a user: write the host alone");
	if (slash == text.n)
		return 0;
	if (str_starts(before, "["))
		before = str_from_pos(before, 1);
	if (host_parse(before, &h, unused) < 0 || !h.is_addr)
		return refuse_with_hint(before, "has a path", why);
	return 0;
}

/* Take the port off: `host` keeps the rest, without brackets. */
static int split_port(struct str text, struct str *ret_host, struct str *ret_port,
		      char why[HOST_WHY])
{
	size_t colon = str_find(text, ':'), end;

	*ret_port = (struct str){ NULL, 0 };
	*ret_host = text;
	if (text.s[0] == '[') {
		end = str_find(text, ']');
		if (end == text.n)
			return host_refuse(why, "has '[' without ']'");
		*ret_host = (struct str){ text.s + 1, end - 1 };
		if (str_find(*ret_host, ':') == ret_host->n)
			return host_refuse(why, "has brackets around what is no IPv6 address");
		if (end + 1 == text.n)
			return 0;
		if (text.s[end + 1] != ':')
			return host_refuse(why, "has more than a port after ']'");
		*ret_port = str_from_pos(text, end + 2);
		return 0;
	}
	if (colon == text.n || str_find(str_from_pos(text, colon + 1), ':') + colon + 1 < text.n)
		return 0;	/* no port, or an IPv6 address without one */
	*ret_host = str_first(text, colon);
	*ret_port = str_from_pos(text, colon + 1);
	return 0;
}

static bool parse_port(struct str text, uint16_t *ret)
{
	uint64_t v;

	if (text.n > 5 || str_starts(text, "0") || !str_parse_u64(text, &v) || v > UINT16_MAX)
		return false;
	*ret = (uint16_t)v;
	return true;
}

static int parse_ports(struct str text, struct host_rule *r, char why[HOST_WHY])
{
	size_t dash = str_find(text, '-');
	uint16_t first, last;

	if (!text.n)
		return host_refuse(why, "has no port after ':'");
	if (!parse_port(str_first(text, dash), &first))
		return host_refuse(why, "has a port that is no number from 1 to 65535");
	last = first;
	if (dash < text.n && !parse_port(str_from_pos(text, dash + 1), &last))
		return host_refuse(why, "has a range of ports that is not like 8000-8100");
	if (first > last)
		return host_refuse(why, "has a range of ports that runs backwards: write %u-%u",
				   last, first);
	/* No connection has port 0, so this is every port and prints as such. */
	r->port_first = first == 1 && last == ANY_PORT_LAST ? 0 : first;
	r->port_last = last;
	return 0;
}

static int refuse_spelling(const struct host_addr *a, unsigned bits, const char *what,
			   char why[HOST_WHY])
{
	cleanup_buf struct buf right = BUF(HOST_WHY);

	host_addr_print(a, &right);
	if (bits < host_addr_bits(a))
		buf_printf(&right, "/%u", bits);
	return host_refuse(why, "%s: write %s", what, buf_text(&right));
}

/* The bits of a range; a plain address has all of them. */
static int parse_bits(struct str text, size_t slash, bool is_v6, unsigned *ret, char why[HOST_WHY])
{
	struct str number = str_from_pos(text, MIN(slash + 1, text.n));
	uint64_t v = is_v6 ? 128 : 32;

	if (slash < text.n && (number.n > 3 || (number.n > 1 && number.s[0] == '0') ||
			       !str_parse_u64(number, &v) || v > (is_v6 ? 128 : 32)))
		return host_refuse(why, "has a prefix that is no number from 0 to %d",
				   is_v6 ? 128 : 32);
	*ret = (unsigned)v;
	return 0;
}

static int parse_net(struct str text, struct host_rule *r, char why[HOST_WHY])
{
	size_t slash = str_find(text, '/');
	struct str addr = str_first(text, slash);
	bool is_v6 = str_find(addr, ':') < addr.n;
	struct host_addr masked;
	struct host h = { .is_addr = true };
	unsigned bits = 0;

	if (parse_bits(text, slash, is_v6, &bits, why) < 0)
		return -1;
	if (!host_addr_parse(addr, &h.addr)) {
		if (host_parse(addr, &h, why) < 0)
			return -1;
		if (!h.is_addr)
			return host_refuse(why, "is no address");
		if (slash < text.n)
			return host_refuse(why, "is a range whose address is not in four decimal "
					   "numbers, like 10.1.0.0/16");
		return refuse_spelling(&h.addr, bits, "is an address that not every program "
				       "reads alike", why);
	}
	if (is_v6 && !h.addr.is_v6) {
		/* Such an address is compared as the IPv4 address that it is. */
		bits = bits < 96 ? 0 : bits - 96;
		host_addr_mask(&h.addr, bits);
		return refuse_spelling(&h.addr, bits, "is IPv4 inside IPv6", why);
	}
	masked = h.addr;
	host_addr_mask(&masked, bits);
	if (memcmp(masked.b, h.addr.b, sizeof(masked.b)) != 0)
		return refuse_spelling(&masked, bits, "has bits set beyond its prefix", why);
	r->form = HOST_NET;
	r->addr = masked;
	r->bits = (unsigned char)bits;
	return 0;
}

static int make_name(enum host_form form, struct str text, struct arena *a, struct host_rule *r,
		     char why[HOST_WHY])
{
	struct host h;

	if (host_parse(text, &h, why) < 0)
		return -1;
	if (h.is_addr && form == HOST_EXACT)
		return parse_net(text, r, why);
	if (h.is_addr)
		return host_refuse(why, "has a star before an address; "
				   "a range is written like 10.0.0.0/8");
	if (form == HOST_BELOW && h.n + 2 > MAX_HOST_NAME)
		return host_refuse(why, "is too long to have names below it");
	r->form = form;
	r->name.n = h.n;
	r->name.s = arena_strndup(a, h.name, h.n);
	return r->name.s ? 0 : host_refuse(why, "does not fit into memory");
}

int host_rule_make(enum host_form form, struct str text, struct arena *a, struct host_rule *ret,
		   char why[HOST_WHY])
{
	struct host_rule r = { .form = HOST_ANY, .port_last = ANY_PORT_LAST };

	if (form == HOST_NET ? parse_net(text, &r, why) < 0 :
	    form != HOST_ANY && make_name(form, text, a, &r, why) < 0)
		return -1;
	*ret = r;
	return 0;
}

/* A pattern without its port. */
static int parse_part(struct str text, struct arena *a, struct host_rule *ret, char why[HOST_WHY])
{
	enum host_form form = str_find(text, '/') < text.n ? HOST_NET : HOST_EXACT;
	struct str name = text;

	if (!text.n)
		return host_refuse(why, "has no host");
	if (str_is(text, "*"))
		return host_rule_make(HOST_ANY, text, a, ret, why);
	if (str_is(text, "**"))
		return host_refuse(why, "has two stars alone: write * for every name");
	if (str_starts(text, "*.")) {
		form = HOST_BELOW;
		name = str_from_pos(text, 2);
	} else if (str_starts(text, "**.")) {
		form = HOST_AT_OR_BELOW;
		name = str_from_pos(text, 3);
	}
	if (!name.n)
		return host_refuse(why, "has no name after the star");
	if (str_find(name, '*') < name.n)
		return host_refuse(why, "has a star in the wrong place: only *, *.NAME and "
				   "**.NAME have one");
	if (name.s[0] == '.')
		return host_refuse(why, "begins with a dot: write *.NAME for what is below "
				   "a name, **.NAME to include it");
	return host_rule_make(form, name, a, ret, why);
}

int host_rule_parse(struct str text, struct arena *a, struct host_rule *ret, char why[HOST_WHY])
{
	struct host_rule r, ports = { .port_last = ANY_PORT_LAST };
	struct str host, port;

	if (check_shape(text, why) < 0 || split_port(text, &host, &port, why) < 0 ||
	    (port.s && parse_ports(port, &ports, why) < 0) || parse_part(host, a, &r, why) < 0)
		return -1;
	r.port_first = ports.port_first;
	r.port_last = ports.port_last;
	*ret = r;
	return 0;
}

static bool has_any_port(const struct host_rule *r)
{
	return r->port_first <= 1 && r->port_last == ANY_PORT_LAST;
}

static void print_net(const struct host_rule *r, struct buf *out)
{
	bool brackets = r->addr.is_v6 && !has_any_port(r);

	if (brackets)
		buf_putc(out, '[');
	host_addr_print(&r->addr, out);
	if (r->bits < host_addr_bits(&r->addr))
		buf_printf(out, "/%u", r->bits);
	if (brackets)
		buf_putc(out, ']');
}

void host_rule_print(const struct host_rule *r, struct buf *out)
{
	static const char *const stars[] = {
		[HOST_EXACT] = "",
		[HOST_BELOW] = "*.",
		[HOST_AT_OR_BELOW] = "**.",
		[HOST_ANY] = "*",
		[HOST_NET] = "",
	};
	static_assert(ARRAY_SIZE(stars) == N_HOST_FORMS, "a form without its stars");

	buf_puts(out, stars[r->form]);
	if (r->form == HOST_NET)
		print_net(r, out);
	else
		buf_str(out, r->name);
	if (has_any_port(r))
		return;
	buf_printf(out, ":%u", r->port_first);
	if (r->port_last != r->port_first)
		buf_printf(out, "-%u", r->port_last);
}

/* Order of names by labels from the right, a parent before its children. */
static int name_cmp(struct str a, struct str b)
{
	size_t same = 0, n = MIN(a.n, b.n), tail, first_a, first_b;

	if (!n)
		return (a.n > b.n) - (a.n < b.n);	/* `*` has no name */
	while (same < n && a.s[a.n - 1 - same] == b.s[b.n - 1 - same])
		same++;
	if (same == n && (a.n == b.n || (a.n < b.n ? b.s[b.n - n - 1] : a.s[a.n - n - 1]) == '.'))
		return (a.n > b.n) - (a.n < b.n);
	/* The two labels that differ begin after the dot before the place of
	 * the difference and end at the dot after it. */
	for (tail = same; tail && a.s[a.n - tail] != '.'; tail--)
		;
	for (first_a = a.n - same; first_a && a.s[first_a - 1] != '.'; first_a--)
		;
	for (first_b = b.n - same; first_b && b.s[first_b - 1] != '.'; first_b--)
		;
	return str_cmp((struct str){ a.s + first_a, a.n - tail - first_a },
		       (struct str){ b.s + first_b, b.n - tail - first_b });
}

int host_part_cmp(const struct host_rule *a, const struct host_rule *b)
{
	int c;

	if ((a->form == HOST_NET) != (b->form == HOST_NET))
		return a->form == HOST_NET ? 1 : -1;
	if (a->form == HOST_NET) {
		if (a->addr.is_v6 != b->addr.is_v6)
			return a->addr.is_v6 ? 1 : -1;
		c = memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b));
		return c ? c : (int)a->bits - (int)b->bits;
	}
	c = name_cmp(a->name, b->name);
	return c ? c : (int)form_rank[a->form] - (int)form_rank[b->form];
}

bool host_rule_is_address(const struct host_rule *r)
{
	return r->form == HOST_NET && r->bits == host_addr_bits(&r->addr);
}

int host_rule_cmp(const struct host_rule *a, const struct host_rule *b)
{
	int c = host_part_cmp(a, b);

	if (!c)
		c = (int)a->port_first - (int)b->port_first;
	return c ? c : (int)b->port_last - (int)a->port_last;
}

static bool is_below(struct str name, struct str top)
{
	return name.n > top.n && name.s[name.n - top.n - 1] == '.' &&
	       memcmp(name.s + name.n - top.n, top.s, top.n) == 0;
}

bool host_part_covers(const struct host_rule *a, const struct host_rule *b)
{
	if (a->form == HOST_NET)
		return b->form == HOST_NET && a->bits <= b->bits &&
		       host_addr_in(&b->addr, &a->addr, a->bits);
	if (b->form == HOST_NET)
		return false;
	if (a->form == HOST_ANY)
		return true;
	if (b->form == HOST_ANY)
		return false;
	if (str_eq(a->name, b->name))
		return a->form == b->form || a->form == HOST_AT_OR_BELOW;
	return a->form != HOST_EXACT && is_below(b->name, a->name);
}

bool host_rule_covers(const struct host_rule *a, const struct host_rule *b)
{
	return a->port_first <= b->port_first && b->port_last <= a->port_last &&
	       host_part_covers(a, b);
}

bool host_rule_meet(const struct host_rule *a, const struct host_rule *b, struct host_rule *ret)
{
	uint16_t first = MAX(a->port_first, b->port_first);
	uint16_t last = MIN(a->port_last, b->port_last);

	if (first > last || (!host_part_covers(a, b) && !host_part_covers(b, a)))
		return false;
	*ret = host_part_covers(a, b) ? *b : *a;
	ret->port_first = first;
	ret->port_last = last;
	return true;
}

static bool addr_matches(const struct host_rule *r, const struct host_addr *a, bool deny)
{
	struct host_addr carried;

	if (r->form != HOST_NET)
		return deny && r->form == HOST_ANY;
	return host_addr_in(a, &r->addr, r->bits) ||
	       (deny && host_addr_unwrap(a, &carried) &&
		host_addr_in(&carried, &r->addr, r->bits));
}

bool host_rule_matches(const struct host_rule *r, const struct host *h, unsigned port, bool deny)
{
	struct str name = { h->name, h->n };

	if (port && (port < r->port_first || port > r->port_last))
		return false;
	if (h->is_addr)
		return addr_matches(r, &h->addr, deny);
	switch (r->form) {
	case HOST_ANY:
		return true;
	case HOST_EXACT:
		return str_eq(name, r->name);
	case HOST_AT_OR_BELOW:
		return str_eq(name, r->name) || is_below(name, r->name);
	case HOST_BELOW:
		return is_below(name, r->name);
	case HOST_NET:
	case N_HOST_FORMS:
		return false;
	}
	return false;
}

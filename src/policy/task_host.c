/* Entries of allowed_hosts; see task_host.h. */
#include "policy/task_host.h"

#include <arpa/inet.h>
#include <stdint.h>

#include "base/buf.h"

static const char why_blank[] = "allowed_hosts entries must be non-empty hostnames.";
static const char why_url[] = "allowed_hosts entries must be hostnames, IP addresses, or IP CIDR "
			      "ranges, not URLs, ports, or paths.";
static const char why_wildcard_address[] =
	"allowed_hosts wildcard entries must target hostnames, not IP address literals.";
static const char why_wildcard[] =
	"allowed_hosts wildcard entries must use a leading '*.' prefix.";
static const char why_label[] =
	"allowed_hosts entries must be IP addresses, IP CIDR ranges, or valid hostnames or leading "
	"wildcard host patterns containing only letters, digits, hyphens, and dots.";
static const char why_memory[] = "out of memory";

static int fail(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -1;
}

static int done(char *text, enum task_host_class class, struct task_host *ret, const char **ret_why)
{
	if (!text)
		return fail(ret_why, why_memory);
	*ret = (struct task_host){ .text = str_from(text), .class = class };
	return 0;
}

/* ---- addresses ---------------------------------------------------------- */

/* Four decimal numbers without leading zeros: what else C libraries read as
 * an address is a host name to Harbor. */
static bool parse_ipv4(struct str text, uint32_t *ret)
{
	uint32_t addr = 0;

	for (int i = 0; i < 4; i++) {
		size_t n = i < 3 ? str_find(text, '.') : text.n;
		struct str part = str_first(text, n);
		uint64_t byte;

		if (n > 3 || (n > 1 && part.s[0] == '0') || (i < 3 && n == text.n))
			return false;
		if (!str_parse_u64(part, &byte) || byte > 255)
			return false;
		addr = addr << 8 | (uint32_t)byte;
		text = str_from_pos(text, i < 3 ? n + 1 : n);
	}
	*ret = addr;
	return true;
}

static bool parse_ipv6(struct str text, uint16_t ret[8])
{
	char copy[INET6_ADDRSTRLEN];
	unsigned char bytes[16];

	if (text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.s, text.n);
	copy[text.n] = '\0';
	if (inet_pton(AF_INET6, copy, bytes) != 1)
		return false;
	for (int i = 0; i < 8; i++)
		ret[i] = (uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
	return true;
}

/* As Python's ipaddress prints it: RFC 5952, but never with a dotted tail, so
 * inet_ntop() will not do. */
static void print_ipv6(const uint16_t group[8], struct buf *out)
{
	int at = -1, longest = 1;

	for (int i = 0; i < 8; i++) {
		int n = 0;

		while (i + n < 8 && !group[i + n])
			n++;
		if (n > longest) {
			at = i;
			longest = n;
		}
	}
	for (int i = 0; i < 8; i++) {
		if (i == at) {
			buf_puts(out, "::");
			i += longest - 1;
			continue;
		}
		buf_printf(out, "%s%x", i && i != at + longest ? ":" : "", group[i]);
	}
}

/* A netmask (255.0.0.0) or host mask (0.255.255.255) as the length of the prefix. */
static bool parse_mask(struct str text, unsigned *ret)
{
	uint32_t mask;

	if (!parse_ipv4(text, &mask))
		return false;
	for (unsigned bits = 0; bits <= 32; bits++) {
		uint32_t net = bits ? UINT32_MAX << (32 - bits) : 0;

		/* All ones is a netmask of 32 bits, never a host mask of none. */
		if (mask == net || (bits && mask == ~net)) {
			*ret = bits;
			return true;
		}
	}
	return false;
}

static bool parse_prefix(struct str text, unsigned most, unsigned *ret)
{
	uint64_t bits;

	if (!str_parse_u64(text, &bits))
		return most == 32 && parse_mask(text, ret);
	if (bits > most)
		return false;
	*ret = (unsigned)bits;
	return true;
}

static bool has_host_bits(const uint16_t group[8], unsigned bits)
{
	for (unsigned i = 0; i < 8; i++) {
		unsigned kept = bits > i * 16 ? MIN(bits - i * 16, 16u) : 0;

		if (group[i] & (0xffffu >> kept))
			return true;
	}
	return false;
}

static int parse_net(struct str text, struct arena *a, struct task_host *ret, const char **ret_why)
{
	size_t slash = str_find(text, '/');
	struct str addr = str_first(text, slash), length = str_from_pos(text, slash + 1);
	cleanup_buf struct buf out = BUF(64);
	uint16_t group[8];
	unsigned bits;
	uint32_t v4;

	if (parse_ipv4(addr, &v4)) {
		if (!parse_prefix(length, 32, &bits) || (bits < 32 && v4 & UINT32_MAX >> bits))
			return fail(ret_why, why_url);
		return done(arena_printf(a, "%.*s/%u", STR_FMT(addr), bits), TASK_IPV4_CIDR, ret,
			    ret_why);
	}
	if (!parse_ipv6(addr, group) || !parse_prefix(length, 128, &bits) ||
	    has_host_bits(group, bits))
		return fail(ret_why, why_url);
	print_ipv6(group, &out);
	return done(arena_printf(a, "%s/%u", buf_text(&out), bits), TASK_IPV6_CIDR, ret, ret_why);
}

/* ---- names -------------------------------------------------------------- */

static bool is_label(struct str label)
{
	for (size_t i = 0; i < label.n; i++) {
		char c = label.s[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		      (c == '-' && i > 0 && i + 1 < label.n)))
			return false;
	}
	return label.n >= 1 && label.n <= 63;
}

static bool is_hostname(struct str text)
{
	for (;;) {
		size_t n = str_find(text, '.');

		if (!is_label(str_first(text, n)))
			return false;
		if (n == text.n)
			return true;
		text = str_from_pos(text, n + 1);
	}
}

static int parse_name(char *copy, struct str text, struct task_host *ret, const char **ret_why)
{
	bool wild = str_starts(text, "*.");
	struct str name = wild ? str_from_pos(text, 2) : text;
	uint32_t v4;

	if (parse_ipv4(name, &v4))
		return wild ? fail(ret_why, why_wildcard_address) :
			      done(copy, TASK_IPV4_ADDRESS, ret, ret_why);
	if (!wild && str_find(text, '*') < text.n)
		return fail(ret_why, why_wildcard);
	if (!is_hostname(name))
		return fail(ret_why, why_label);
	return done(copy, wild ? TASK_WILDCARD_HOSTNAME : TASK_HOSTNAME, ret, ret_why);
}

int task_host_parse(struct str text, struct arena *a, struct task_host *ret, const char **ret_why)
{
	cleanup_buf struct buf out = BUF(64);
	uint16_t group[8];
	char *copy;

	text = str_trim(text);
	while (text.n && text.s[text.n - 1] == '.')
		text.n--;
	if (!text.n)
		return fail(ret_why, why_blank);
	copy = arena_strndup(a, text.s, text.n);
	if (!copy)
		return fail(ret_why, why_memory);
	/* ASCII only: Harbor lower-cases the Kelvin sign to `k` and takes it;
	 * here it stays what it is and is refused. */
	for (size_t i = 0; i < text.n; i++)
		if (copy[i] >= 'A' && copy[i] <= 'Z')
			copy[i] = (char)(copy[i] - 'A' + 'a');
	text.s = copy;
	if (str_find(text, '/') < text.n)
		return parse_net(text, a, ret, ret_why);
	if (str_find(text, ':') < text.n) {
		if (!parse_ipv6(text, group))
			return fail(ret_why, why_url);
		print_ipv6(group, &out);
		return done(arena_strndup(a, buf_text(&out), out.n), TASK_IPV6_ADDRESS, ret,
			    ret_why);
	}
	if (str_find(text, '[') < text.n || str_find(text, ']') < text.n)
		return fail(ret_why, why_url);
	return parse_name(copy, text, ret, ret_why);
}

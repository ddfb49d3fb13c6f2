/* Laws of policies, tried on random ones.
 *
 * Three policies a case, drawn from small pools so that they overlap.  The
 * number of cases is CORDON_PROPERTY_CASES (3000); CORDON_PROPERTY_SEED starts
 * at another one.  A case that fails prints its policies and its seed.
 *
 * weight: 2/2
 * sanitized: --all
 */
#include "tap.h"

#include "base/path.h"
#include "policy_read.h"

/* ---- random policies ---------------------------------------------------- */

static uint64_t state;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 20) % n);
}

static bool one_in(unsigned n)
{
	return below(n) == 0;
}

static const char *const roots[] = { "/a",   "/a/b",  "/a/b/c", "/a-b", "/d", "/d/e",
				     "/d/e/f", ".", "sub",	"~",	"/",  "/a/../d/g", NULL };
static const char *const denied[] = { "/a/b/c", "/d",	"**/.env", "/x/*", "~/.ssh",
				      "/a/b",	"sub/s", "/nowhere", NULL };
static const char *const protected[] = { "git",	 "agent-config", "shell-rc", "/a/b",
					 "**/x", "./sub/y",	 "/d/*",     NULL };
static const char *const words_protection[] = { "namespaces", "landlock", "cgroup", NULL };
static const char *const words_preset[] = { "system_runtime", "developer_toolchains",
					    "package_manager_config", "user_temp", NULL };
static const char *const hosts[] = { "example.com",    "*.example.com", "**.example.com",
				     "a.example.com",  "*.a.example.com", "b.a.example.com",
				     "**.a.example.com", "*",	"test",	"10.0.0.0/8",
				     "10.1.0.0/16",    "10.1.2.3",	"2001:db8::/32",
				     "2001:db8::1",    "0.0.0.0/0",	"**.test", NULL };
static const char *const ports[] = { "", "", ":443", ":80", ":80-90", ":85-443", ":1-65535", NULL };
static const char *const endpoints[] = { "example.com:123", "a.example.com:443", "10.1.2.3:85",
					 "[2001:db8::1]:80", "test:123", "other:9", NULL };
static const char *const tls[] = { "strict", "name-only", NULL };
static const char *const words_protocol[] = { "any", "http", "tls", NULL };
static const char *const proxies[] = { "http://proxy.example:3128", "${HTTPS_PROXY}", "none",
				       NULL };
static const char *const names[] = {
	"A", "A*", "AB", "AB*", "ABC", "*", "B", "B_TOKEN", "AC*", NULL
};
static const char *const globs[] = { "A*", "*_TOKEN", "B", "*B*", "*", NULL };
static const char *const commands[] = { "curl", "rm -rf /", "git push", "*", "wget", NULL };
static const char *const phases[] = { "agent", "verifier", "x y", NULL };
static const char *const sizes[] = { "1", "512M", "1G", "1025", "none", "3K", NULL };
static const char *const times[] = { "1ms", "10s", "600", "24h", "none", "90m", NULL };
static const char *const counts[] = { "1", "64", "\"none\"", "\"7\"", NULL };

static const char *any(const char *const *pool)
{
	unsigned n = 0;

	while (pool[n])
		n++;
	return pool[below(n)];
}

static bool is_v6(const char *host)
{
	return strchr(host, ':') != NULL;
}

static void put_host(struct buf *out)
{
	const char *host = any(hosts), *port = any(ports);

	if (port[0] && is_v6(host))
		buf_printf(out, "\"[%s]%s\"", host, port);
	else
		buf_printf(out, "\"%s%s\"", host, port);
}

static void put_list(struct buf *out, const char *key, const char *const *pool, unsigned most)
{
	unsigned n = below(most + 1);

	buf_printf(out, "%s = [", key);
	for (unsigned i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		if (pool == hosts)
			put_host(out);
		else
			buf_printf(out, "\"%s\"", any(pool));
	}
	buf_puts(out, "]\n");
}

static void put_word(struct buf *out, const char *key, const char *const *pool)
{
	buf_printf(out, "%s = \"%s\"\n", key, any(pool));
}

static void put_network(struct buf *out, const char *prefix)
{
	static const char *const modes[] = { "public", "allowlist", "no-network", NULL };

	buf_printf(out, "[%snetwork]\n", prefix);
	if (one_in(2))
		put_list(out, "allow", hosts, 5);
	else if (one_in(2))
		put_word(out, "mode", modes);
	if (one_in(3))
		put_list(out, "deny", hosts, 3);
	if (one_in(4))
		buf_printf(out, "expose = [%u, 8080, %u]\n", 1 + below(3), 1 + below(65535));
	if (one_in(4))
		buf_printf(out, "host_ports = [%u, 5432]\n", 1 + below(3));
	if (one_in(4))
		put_list(out, "udp_allow", endpoints, 3);
	if (one_in(4))
		put_word(out, "tls", tls);
	if (one_in(4))
		put_list(out, "protocols", words_protocol, 3);
	if (one_in(8))
		put_word(out, "upstream_proxy", proxies);
	if (one_in(4))
		buf_printf(out, "connections = %u\n", 1 + below(5000));
}

/* [network], [limits] and [env], of the top or of a phase. */
static void put_tables(struct buf *out, const char *prefix)
{
	put_network(out, prefix);
	buf_printf(out, "[%slimits]\n", prefix);
	if (one_in(2))
		put_word(out, "memory", sizes);
	if (one_in(3))
		put_word(out, "timeout", times);
	if (one_in(3))
		buf_printf(out, "processes = %s\n", any(counts));
	if (one_in(6))
		put_word(out, "disk", sizes);
	buf_printf(out, "[%senv]\n", prefix);
	if (one_in(2))
		put_list(out, "pass", names, 5);
	if (one_in(3))
		put_list(out, "strip", globs, 3);
	if (one_in(3))
		buf_printf(out, "set = { A = \"%u\"%s }\n", below(3),
			   one_in(2) ? ", C = \"c\"" : "");
}

static void put_files(struct buf *out)
{
	buf_puts(out, "[files]\n");
	if (one_in(2))
		put_list(out, "write", roots, 3);
	if (one_in(2))
		put_list(out, "read", roots, 4);
	if (one_in(2))
		put_list(out, "deny", denied, 2);
	if (one_in(3))
		put_list(out, "protect", protected, 4);
	if (one_in(3))
		put_list(out, "presets", words_preset, 4);
}

static void put_policy(struct buf *out)
{
	static const char *const profiles[] = { "unrestricted", "worktree", "wasi", "os_hardened",
						NULL };
	static const char *const backends[] = { "none", "process", "docker", NULL };

	if (one_in(3))
		put_word(out, "profile", profiles);
	if (one_in(3))
		put_word(out, "backend", backends);
	if (one_in(3))
		put_list(out, "require", words_protection, 3);
	if (one_in(3))
		put_list(out, "may_lack", words_protection, 3);
	put_files(out);
	put_tables(out, "");
	if (one_in(2)) {
		buf_puts(out, "[commands]\n");
		put_list(out, "block", commands, 3);
	}
	for (size_t i = 0; phases[i]; i++) {
		char prefix[64];

		if (!one_in(3))
			continue;
		snprintf(prefix, sizeof(prefix), "phase.\"%s\".", phases[i]);
		if (one_in(6))
			buf_printf(out, "[phase.\"%s\"]\n", phases[i]);
		else
			put_tables(out, prefix);
	}
}

/* Contradictions are refused, so try until one is valid. */
static struct policy random_policy(struct arena *a)
{
	for (;;) {
		cleanup_diags struct diags diags = DIAGS;
		cleanup_buf struct buf text = BUF(1 << 16);
		struct policy p;
		const char *kept;

		put_policy(&text);
		kept = arena_strndup(a, buf_text(&text), text.n);
		if (read_policy(a, &diags, &dialect_cordon, (struct str){ kept, text.n }, &p))
			return p;
	}
}

/* ---- what a policy allows, point by point -------------------------------- */

static const struct section *in_phase(const struct policy *p, const char *name)
{
	const struct phase *phase = name ? policy_find_phase(p, str_from(name)) : NULL;

	return phase ? &phase->section : &p->base;
}

static bool list_matches(const struct field_value *v, const struct host *h, unsigned port,
			 bool deny)
{
	for (size_t i = 0; i < v->n; i++)
		if (host_rule_matches(v->items[i].host, h, port, deny))
			return true;
	return false;
}

static bool allows_host(const struct section *s, const struct host *h, unsigned port)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];

	if (list_matches(&s->f[F_NETWORK_DENY], h, port, true))
		return false;
	if (!mode->set || mode->number == NETWORK_PUBLIC)
		return true;
	return mode->number == NETWORK_ALLOWLIST &&
	       list_matches(&s->f[F_NETWORK_ALLOW], h, port, false);
}

static bool in_roots(const struct field_value *v, const char *path)
{
	for (size_t i = 0; i < v->n; i++)
		if (path_within(path, v->items[i].text.s))
			return true;
	return !v->set;
}

/* Patterns aside: they are in the result whenever they are in one side. */
static bool is_denied(const struct section *s, const char *path)
{
	const struct field_value *v = &s->f[F_FILES_DENY];

	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].text.s[0] == '/' && path_within(path, v->items[i].text.s))
			return true;
	return false;
}

static bool allows_read(const struct section *s, const char *path)
{
	return in_roots(&s->f[F_FILES_READ], path) && !is_denied(s, path);
}

static bool allows_write(const struct section *s, const char *path)
{
	return allows_read(s, path) && in_roots(&s->f[F_FILES_WRITE], path);
}

static bool passes(const struct section *s, const char *name)
{
	const struct field_value *v = &s->f[F_ENV_PASS];

	for (size_t i = 0; i < v->n; i++)
		if (str_glob(v->items[i].text, str_from(name)))
			return true;
	return !v->set;
}

static bool has_item(const struct field_value *v, enum field_kind kind, const struct item *item)
{
	for (size_t i = 0; i < v->n; i++)
		if (item_cmp(kind, &v->items[i], item) == 0)
			return true;
	return false;
}

/* ---- the laws ------------------------------------------------------------ */

static uint64_t seed;
static unsigned shown;
static struct policy *subjects;
static size_t n_subjects;

static void law(bool holds, const char *which)
{
	if (tap_check(holds, which, __FILE__, __LINE__, "seed %llu", (unsigned long long)seed) ||
	    shown++ >= 3)
		return;
	for (size_t i = 0; i < n_subjects; i++) {
		cleanup_buf struct buf out = BUF(1 << 20);
		struct str rest;

		printf("# ---- policy %zu\n", i);
		printed(&subjects[i], &out);
		rest = (struct str){ buf_text(&out), out.n };
		while (rest.n) {
			size_t n = str_find(rest, '\n');

			printf("#   %.*s\n", (int)n, rest.s);
			rest = str_from_pos(rest, MIN(n + 1, rest.n));
		}
	}
}

static bool both(const struct policy *a, const struct policy *b, struct policy *ret)
{
	struct cordon_err err;

	return policy_intersect(a, b, ret, NULL, &err) == 0;
}

static void forget_ordered(struct section *s)
{
	s->f[F_ENV_SET] = s->f[F_NETWORK_UPSTREAM_PROXY] = (struct field_value){ 0 };
}

/* Same but for what is declared to depend on the order. */
static bool same_but_set(struct policy a, struct policy b, struct arena *arena)
{
	struct phase *copies = arena_new(arena, a.n_phases + b.n_phases + 1, sizeof(*copies));

	forget_ordered(&a.base);
	forget_ordered(&b.base);
	for (size_t i = 0; i < a.n_phases; i++) {
		copies[i] = a.phases[i];
		forget_ordered(&copies[i].section);
	}
	for (size_t i = 0; i < b.n_phases; i++) {
		copies[a.n_phases + i] = b.phases[i];
		forget_ordered(&copies[a.n_phases + i].section);
	}
	b.phases = copies + a.n_phases;
	a.phases = copies;
	return policy_eq(&a, &b);
}

static void check_hosts(const struct section *a, const struct section *b, const struct section *ab)
{
	static const char *const probes[] = { "example.com", "a.example.com", "b.a.example.com",
					      "c.b.a.example.com", "test", "x.test", "other",
					      "10.1.2.3", "10.1.9.9", "10.9.9.9", "11.0.0.1",
					      "[2001:db8::1]", "[2001:db8::2]", "[2001:db9::1]" };
	static const unsigned at[] = { 1, 80, 85, 90, 443, 65535 };

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(at); k++) {
			char why[HOST_WHY];
			struct host h;

			if (host_parse(str_from(probes[i]), &h, why) < 0)
				abort();
			law(allows_host(ab, &h, at[k]) ==
			    (allows_host(a, &h, at[k]) && allows_host(b, &h, at[k])),
			    "a host is allowed when both allow it");
		}
}

static void check_paths(const struct section *a, const struct section *b, const struct section *ab)
{
	static const char *const probes[] = { "/", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a-b", "/d",
					      "/d/e", "/d/e/f", "/d/g", "/base", "/base/sub",
					      "/base/sub/s", "/elsewhere", TEST_HOME,
					      TEST_HOME "/.ssh" };

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		const char *p = probes[i];

		law(allows_read(ab, p) == (allows_read(a, p) && allows_read(b, p)),
		    "a path is readable when both let it be read");
		law(allows_write(ab, p) == (allows_write(a, p) && allows_write(b, p)),
		    "a path is writable when both let it be written");
	}
}

static void check_env(const struct section *a, const struct section *b, const struct section *ab)
{
	static const char *const probes[] = { "A", "AA", "AB", "ABC", "ABCD", "AC", "AD", "B", "C",
					      "B_TOKEN" };

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		law(passes(ab, probes[i]) == (passes(a, probes[i]) && passes(b, probes[i])),
		    "a variable is passed when both pass it");
}

static bool has_all(const struct field_value *of, enum field_kind kind,
		    const struct field_value *in)
{
	for (size_t i = 0; i < of->n; i++)
		if (!has_item(in, kind, &of->items[i]))
			return false;
	return true;
}

/* `ab` grants no more than `a` in one field. */
static bool is_within(enum field_id id, const struct field_value *a, const struct field_value *ab)
{
	enum field_kind kind = fields[id].kind;

	/* A closed side leaves no list of hosts. */
	if (!a->set || fields[id].merge == MERGE_HOSTS)
		return true;
	if (!ab->set)
		return false;
	switch (fields[id].merge) {
	case MERGE_STRICTEST:
		return ab->number >= a->number;
	case MERGE_LEAST:
		return ab->number <= a->number;
	case MERGE_UNION:
		/* A host rule may have gone into a wider one. */
		return kind == KIND_DENY_HOSTS || has_all(a, kind, ab);
	case MERGE_COMMON:
		return kind == KIND_ENV_NAMES || kind == KIND_PROTOCOLS || has_all(ab, kind, a);
	default:
		return true;
	}
}

/* A proxy is the ceiling's, or that of a side which the ceiling leaves open. */
static void check_proxy(const struct section *a, const struct section *b, const struct section *ab)
{
	const struct field_value *x = &a->f[F_NETWORK_UPSTREAM_PROXY];
	const struct field_value *y = &b->f[F_NETWORK_UPSTREAM_PROXY];
	const struct field_value *xy = &ab->f[F_NETWORK_UPSTREAM_PROXY];
	bool open = (!a->f[F_NETWORK_MODE].set || a->f[F_NETWORK_MODE].number == NETWORK_PUBLIC) &&
		    !a->f[F_NETWORK_DENY].n;

	law(xy->set == (x->set || y->set), "a proxy is told by one of the two");
	law(!xy->set || str_is(xy->text, "none") || (x->set && str_eq(x->text, xy->text)) ||
		    (!x->set && open && str_eq(y->text, xy->text)),
	    "no proxy but the ceiling's hears what the ceiling restricts");
}

static void check_points(const struct policy *a, const struct policy *b, const struct policy *ab)
{
	for (size_t i = 0; i <= ARRAY_SIZE(phases) - 1; i++) {
		const char *name = i ? phases[i - 1] : NULL;
		const struct section *x = in_phase(a, name), *y = in_phase(b, name);
		const struct section *xy = in_phase(ab, name);

		check_hosts(x, y, xy);
		check_env(x, y, xy);
		check_proxy(x, y, xy);
		if (!name)
			check_paths(x, y, xy);
		for (int id = 0; id < N_FIELDS; id++)
			if (!name || field_in_phase((enum field_id)id))
				law(is_within((enum field_id)id, &x->f[id], &xy->f[id]) &&
				    is_within((enum field_id)id, &y->f[id], &xy->f[id]),
				    fields[id].key);
	}
}

/* [M4] */
static void check_mode(const struct section *s)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE];
	bool restricts = mode->set && mode->number != NETWORK_PUBLIC;

	law(s->f[F_NETWORK_ALLOW].set == (mode->set && mode->number == NETWORK_ALLOWLIST), "[M4]");
	law(!restricts || s->f[F_NETWORK_TLS].set, "[M4] a mode is a word about TLS");
	for (int id = 0; id < N_FIELDS; id++) {
		if (!field_leads_out((enum field_id)id))
			continue;
		law(!restricts || s->f[id].set, "[M4] a mode is a word about all that leads out");
		law(!s->f[id].n || !mode->set || mode->number != NETWORK_NONE,
		    "[M4] nothing leads out of a closed network");
	}
}

/* [M1] to [M5], as far as they can be seen from outside. */
static void check_section(const struct section *s, const struct section *base)
{
	for (int id = 0; id < N_FIELDS; id++) {
		const struct field_value *v = &s->f[id];

		for (size_t i = 1; i < v->n; i++)
			law(item_cmp(fields[id].kind, &v->items[i - 1], &v->items[i]) < 0,
			    "[M1] sorted, and each once");
		law(!base || !field_in_phase((enum field_id)id) || id == F_NETWORK_ALLOW ||
		    !base->f[id].set || v->set, "[M2] a phase has what its base has");
		law(!base || field_in_phase((enum field_id)id) || !v->set,
		    "[M2] and only what can change");
	}
	check_mode(s);
	for (size_t i = 0; s->f[F_FILES_READ].set && i < s->f[F_FILES_WRITE].n; i++)
		law(in_roots(&s->f[F_FILES_READ], s->f[F_FILES_WRITE].items[i].text.s),
		    "[M3] what is written can be read");
	for (size_t i = 0; i < s->f[F_FILES_WRITE].n; i++)
		law(!is_denied(s, s->f[F_FILES_WRITE].items[i].text.s), "[M5] no root is denied");
	for (size_t i = 0; i < s->f[F_MAY_LACK].n; i++)
		law(!has_item(&s->f[F_REQUIRE], KIND_PROTECTIONS, &s->f[F_MAY_LACK].items[i]),
		    "[M5] nothing required may be lacking");
}

static void check_invariants(const struct policy *p)
{
	check_section(&p->base, NULL);
	for (size_t i = 0; i < p->n_phases; i++)
		check_section(&p->phases[i].section, &p->base);
}

/* Print, read, compare, print: `ret` is what was read. */
static void check_print(const struct policy *p, struct arena *a, struct policy *ret)
{
	cleanup_diags struct diags diags = DIAGS;
	cleanup_buf struct buf one = BUF(1 << 20), two = BUF(1 << 20), said = BUF(1 << 16);
	const char *kept;
	bool good;

	printed(p, &one);
	kept = arena_strndup(a, buf_text(&one), one.n);
	good = read_policy(a, &diags, &dialect_cordon, (struct str){ kept, one.n }, ret);
	diags_print(&diags, &said);
	law(good, "what is printed can be read");
	if (!good && shown < 5)
		printf("# %s# %s", kept, buf_text(&said));
	law(policy_eq(p, ret), "what is printed is read as the same");
	law(strcmp(printed(ret, &two), kept) == 0, "and printed as the same");
}

static void check_pair(const struct policy *a, const struct policy *b, struct arena *arena)
{
	cleanup_buf struct buf one = BUF(1 << 20), two = BUF(1 << 20);
	struct policy ab, ba, again_a, again_b, again_ab, from_text;
	bool met = both(a, b, &ab);

	law(both(b, a, &ba) == met, "commutative, even in failing");
	check_print(a, arena, &again_a);
	check_print(b, arena, &again_b);
	if (!met)
		return;
	law(same_but_set(ab, ba, arena), "commutative");
	check_invariants(&ab);
	check_points(a, b, &ab);
	check_print(&ab, arena, &again_ab);
	law(both(&again_a, &again_b, &from_text), "what was read composes");
	law(strcmp(printed(&ab, &one), printed(&from_text, &two)) == 0,
	    "composing and printing can be exchanged");
}

static void check_three(const struct policy *p, struct arena *arena)
{
	struct policy self, ab, bc, left, right, ac, ac_b, absorbed;
	bool met_left, met_right;

	law(both(&p[0], &p[0], &self) && policy_eq(&self, &p[0]), "idempotent");
	met_left = both(&p[0], &p[1], &ab) && both(&ab, &p[2], &left);
	met_right = both(&p[1], &p[2], &bc) && both(&p[0], &bc, &right);
	law(met_left == met_right, "associative, even in failing");
	if (!met_left || !met_right)
		return;
	law(policy_eq(&left, &right), "associative");
	law(both(&p[0], &p[2], &ac) && both(&ac, &p[1], &ac_b) && both(&ac_b, &ab, &absorbed) &&
		    same_but_set(absorbed, ac_b, arena),
	    "monotone: a stricter side gives a stricter whole");
}

static uint64_t number_from(const char *variable, uint64_t preset)
{
	const char *text = getenv(variable);
	uint64_t v;

	return text && str_parse_u64(str_from(text), &v) ? v : preset;
}

static void test_laws(void)
{
	uint64_t cases = number_from("CORDON_PROPERTY_CASES", 3000);
	uint64_t first = number_from("CORDON_PROPERTY_SEED", 1);

	for (uint64_t i = 0; i < cases && shown < 3; i++) {
		cleanup_arena struct arena a = ARENA(64 << 20);
		struct policy p[3];

		seed = first + i;
		state = seed * 0x9e3779b97f4a7c15u | 1;
		for (int warm = 0; warm < 4; warm++)
			below(2);
		for (size_t k = 0; k < 3; k++)
			p[k] = random_policy(&a);
		subjects = p;
		n_subjects = 3;
		for (size_t k = 0; k < 3; k++)
			check_invariants(&p[k]);
		check_pair(&p[0], &p[1], &a);
		check_three(p, &a);
	}
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_laws), TAP_END });
}

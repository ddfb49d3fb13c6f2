/* Sets of rules against the plain meaning of each rule, on random rules. */
#include "policy/host.h"

#include "tap.h"

/* Not random at all: the same rules on every machine. */
static uint64_t rng_state = 0x123456789abcdef1u;

static unsigned below(unsigned n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (unsigned)(rng_state >> 33) % n;
}

/* Few labels and few ports, so that rules nest and overlap. */
static void random_name(char *out, size_t size)
{
	static const char *const labels[] = { "a", "b", "ab", "ba", "com", "x-y" };
	unsigned n = 1 + below(4);
	size_t used = 0;

	for (unsigned i = 0; i < n; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "." : "",
					 labels[below(ARRAY_SIZE(labels))]);
}

static struct host_addr random_addr(void)
{
	static const unsigned char v6_heads[][4] = {
		{ 0x20, 0x01, 0x0d, 0xb8 }, { 0x20, 0x02, 10, 0 }, { 0, 0x64, 0xff, 0x9b },
		{ 0xff, 0, 0, 0 },
	};
	struct host_addr a = { .is_v6 = below(2) };

	if (!a.is_v6) {
		a.b[0] = (unsigned char)(10 + below(2));
		a.b[1] = (unsigned char)(below(2) << 7);
		a.b[3] = (unsigned char)below(3);
		return a;
	}
	memcpy(a.b, v6_heads[below(ARRAY_SIZE(v6_heads))], 4);
	a.b[4] = below(2) ? 0 : 1;
	if (below(2))
		a.b[12] = 10;
	a.b[15] = (unsigned char)below(3);
	return a;
}

static void random_ports(struct host_rule *r)
{
	r->port_last = UINT16_MAX;
	if (below(3) == 0)
		return;
	r->port_first = (uint16_t)(1 + below(12));
	r->port_last = (uint16_t)(r->port_first + (below(2) ? below(6) : 0));
}

static struct host_rule random_rule(struct arena *a)
{
	struct host_rule r = { .form = (enum host_form)below(N_HOST_FORMS) };
	char name[64];

	random_ports(&r);
	if (r.form == HOST_ANY && below(4))
		r.form = HOST_NET;
	if (r.form == HOST_NET) {
		unsigned most;

		r.addr = random_addr();
		most = r.addr.is_v6 ? 128 : 32;
		r.bits = (unsigned char)(below(3) ? most - below(12) : below(most + 1));
		for (unsigned i = r.bits; i < most; i++)
			r.addr.b[i / 8] &= (unsigned char)~(0x80 >> i % 8);
	} else if (r.form != HOST_ANY) {
		random_name(name, sizeof(name));
		r.name.n = strlen(name);
		r.name.s = arena_strndup(a, name, r.name.n);
	}
	return r;
}

static struct host random_host(void)
{
	char name[64], why[HOST_WHY];
	struct host h = { 0 };

	if (below(2)) {
		struct host_addr a = random_addr();

		host_from_addr(&a, &h);
		return h;
	}
	random_name(name, sizeof(name));
	ok(host_parse(str_from(name), &h, why) == 0, "'%s'", name);
	return h;
}

/* The place of a rule in the order of host_set_find(): lower is better. */
static long specificity(const struct host_rule *r, const struct host *h)
{
	long width = (long)r->port_last - r->port_first;
	struct host_addr carried;
	struct host_rule narrow = *r;

	if (r->form == HOST_ANY)
		return (900L << 20) + width;
	if (r->form == HOST_NET) {
		narrow.port_first = 0;
		narrow.port_last = UINT16_MAX;
		if (!host_rule_matches(&narrow, h, 0, false) &&
		    host_addr_unwrap(&h->addr, &carried))
			return ((400L - r->bits) << 20) + width;
		return ((200L - r->bits) << 20) + width;
	}
	return ((600L - 2 * (long)r->name.n + (r->form == HOST_AT_OR_BELOW)) << 20) + width;
}

static const struct host_rule *plain_find(const struct host_rule *rules, size_t n,
					  const struct host *h, unsigned port, bool deny)
{
	const struct host_rule *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (host_rule_matches(&rules[i], h, port, deny) &&
		    (!best || specificity(&rules[i], h) < specificity(best, h)))
			best = &rules[i];
	return best;
}

/* What a set looks up is what one rule after the other finds. */
static void test_find_is_the_most_specific_match(void)
{
	size_t compared = 0, found = 0;

	for (unsigned round = 0; round < 600; round++) {
		cleanup_arena struct arena a = ARENA(1 << 20);
		size_t n = below(40) + (round % 10 == 0 ? 200 : 0);
		struct host_rule *rules = arena_new(&a, n + 1, sizeof(*rules));
		const struct host_set *set = NULL;
		struct cordon_err err;

		for (size_t i = 0; i < n; i++)
			rules[i] = random_rule(&a);
		ok(host_set_new(rules, n, &a, &set, &err) == 0, "built");
		for (unsigned i = 0; i < 120; i++) {
			struct host h = random_host();
			unsigned port = below(20);
			bool deny = below(2);
			const struct host_rule *want = plain_find(rules, n, &h, port, deny);

			ok(host_set_find(set, &h, port, deny) == want,
			   "round %u, host %u, port %u", round, i, port);
			compared++;
			found += want != NULL;
		}
	}
	ok(compared >= 50000, "%zu comparisons", compared);
	ok(found > compared / 4 && found < compared * 3 / 4, "%zu found", found);
}

static bool list_matches(const struct host_rule *rules, size_t n, const struct host *h,
			 unsigned port)
{
	for (size_t i = 0; i < n; i++)
		if (host_rule_matches(&rules[i], h, port, false))
			return true;
	return false;
}

static void check_canonical(const struct host_meet *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			if (i == k)
				continue;
			ok(!host_rule_covers(&m[i].rule, &m[k].rule), "none is covered");
			ok((host_rule_cmp(&m[i].rule, &m[k].rule) < 0) == (i < k), "sorted");
		}
}

static void check_meet_pointwise(const struct host_rule *left, size_t n_left,
				 const struct host_rule *right, size_t n_right, struct arena *a)
{
	struct host_rules list_left = { left, n_left }, list_right = { right, n_right };
	struct host_meets meets = { 0 }, turned = { 0 };
	struct cordon_err err;
	const struct host_meet *m;
	size_t n;

	ok(host_rules_meet(list_left, list_right, a, &meets, &err) == 0, "met");
	m = meets.items;
	n = meets.n;
	check_canonical(m, n);
	for (size_t i = 0; i < n; i++) {
		struct host_rule both;

		ok(m[i].a < n_left && m[i].b < n_right &&
		   host_rule_meet(&left[m[i].a], &right[m[i].b], &both) &&
		   host_rule_cmp(&both, &m[i].rule) == 0, "comes from the two it names");
	}
	for (unsigned i = 0; i < 60; i++) {
		struct host h = random_host();
		unsigned port = 1 + below(19);
		bool got = false;

		for (size_t k = 0; k < n; k++)
			got |= host_rule_matches(&m[k].rule, &h, port, false);
		is_int(got, list_matches(left, n_left, &h, port) &&
			    list_matches(right, n_right, &h, port), "pointwise");
	}
	ok(host_rules_meet(list_right, list_left, a, &turned, &err) == 0, "met");
	is_int((long long)turned.n, (long long)n, "the same the other way round");
	for (size_t i = 0; i < n && i < turned.n; i++)
		is_int(host_rule_cmp(&m[i].rule, &turned.items[i].rule), 0, "rule %zu", i);
}

/* What is found covers, and what is not found nothing covers. */
static void check_covering(struct host_rules list, struct host_rules by, struct arena *a)
{
	struct cordon_err err;
	size_t *found = NULL;

	ok(host_rules_find_covering(list, by, a, &found, &err) == 0, "answered");
	for (size_t i = 0; i < list.n; i++) {
		bool covered = false;

		for (size_t k = 0; k < by.n; k++)
			covered |= host_rule_covers(&by.rules[k], &list.rules[i]);
		is_int(found[i] != HOST_NO_RULE, covered, "rule %zu", i);
		ok(found[i] == HOST_NO_RULE ||
		   host_rule_covers(&by.rules[found[i]], &list.rules[i]), "the one it names");
	}
}

static void check_reduced(struct host_rules list, struct arena *a)
{
	struct host_meets reduced = { 0 };
	struct cordon_err err;

	ok(host_rules_reduce(list, a, &reduced, &err) == 0, "reduced");
	check_canonical(reduced.items, reduced.n);
	for (size_t i = 0; i < list.n; i++) {
		bool kept = false;

		for (size_t k = 0; k < reduced.n; k++)
			kept |= host_rule_covers(&reduced.items[k].rule, &list.rules[i]);
		ok(kept, "rule %zu is still said", i);
	}
}

static void test_meet_is_what_both_lists_match(void)
{
	for (unsigned round = 0; round < 800; round++) {
		cleanup_arena struct arena a = ARENA(1 << 22);
		size_t n_left = below(30), n_right = below(30);
		struct host_rule *left = arena_new(&a, 30, sizeof(*left));
		struct host_rule *right = arena_new(&a, 30, sizeof(*right));

		for (size_t i = 0; i < 30; i++) {
			left[i] = random_rule(&a);
			right[i] = random_rule(&a);
		}
		check_meet_pointwise(left, n_left, right, n_right, &a);
		check_meet_pointwise(left, n_left, left, n_left, &a);
		check_covering((struct host_rules){ left, n_left },
			       (struct host_rules){ right, n_right }, &a);
		check_reduced((struct host_rules){ left, n_left }, &a);
	}
}

static void test_random_rules_print_and_read_alike(void)
{
	for (unsigned i = 0; i < 20000; i++) {
		cleanup_arena struct arena a = ARENA(1 << 16);
		cleanup_buf struct buf text = BUF(400);
		struct host_rule r = random_rule(&a), again;
		char why[HOST_WHY] = "";

		host_rule_print(&r, &text);
		ok(host_rule_parse(str_from(buf_text(&text)), &a, &again, why) == 0, "'%s' %s",
		   buf_text(&text), why);
		is_int(host_rule_cmp(&r, &again), 0, "'%s'", buf_text(&text));
	}
}

static void test_ports_of_one_name(void)
{
	cleanup_arena struct arena a = ARENA(64 << 20);
	size_t n = MAX_HOST_RULES - 2;
	struct host_rule *rules = arena_new(&a, n + 3, sizeof(*rules));
	const struct host_set *set = NULL;
	struct cordon_err err = { 0 };
	struct host h = { .n = 9, .name = "a.example" };

	for (size_t i = 0; i < n; i++)
		rules[i] = (struct host_rule){ .form = HOST_EXACT, .name = STR("a.example"),
					       .port_first = (uint16_t)(i + 1),
					       .port_last = (uint16_t)(i + 1) };
	rules[n] = (struct host_rule){ .form = HOST_EXACT, .name = STR("a.example"),
				       .port_first = 1000, .port_last = 1100 };
	rules[n + 1] = (struct host_rule){ .form = HOST_AT_OR_BELOW, .name = STR("a.example"),
					   .port_last = UINT16_MAX };
	rules[n + 2] = rules[0];
	ok(host_set_new(rules, n + 2, &a, &set, &err) == 0, "built");
	ok(host_set_find(set, &h, 443, false) == &rules[442], "a port of its own");
	ok(host_set_find(set, &h, 1010, false) == &rules[1009], "the narrower of two");
	ok(host_set_find(set, &h, 1090, false) == &rules[n], "the range behind it");
	ok(host_set_find(set, &h, 1101, false) == &rules[n + 1], "the wider form");
	ok(host_set_find(set, &h, 0, false) == &rules[0], "the host alone");
	set = NULL;
	ok(host_set_new(rules, n + 3, &a, &set, &err) < 0 && !set, "more of one host");
	is_int(err.code, CORDON_E_POLICY, "is the policy's fault");
	is_text(err.msg, "more than 1024 rules name the same host; write ranges of ports", "said");
}

static void test_empty_lists_match_nothing(void)
{
	cleanup_arena struct arena a = ARENA(1 << 16);
	struct host_rule any = { .form = HOST_ANY, .port_last = UINT16_MAX };
	struct host h = { .n = 1, .name = "a" };
	const struct host_set *set = NULL;
	struct host_meets m = { NULL, 77 };
	struct cordon_err err;

	ok(host_set_new(NULL, 0, &a, &set, &err) == 0, "built");
	ok(!host_set_find(set, &h, 443, true), "no rule");
	ok(host_rules_meet((struct host_rules){ &any, 1 }, (struct host_rules){ NULL, 0 }, &a, &m,
			   &err) == 0 && m.n == 0, "no meet");
}

static void test_limits_are_errors(void)
{
	cleanup_arena struct arena a = ARENA(1 << 20), tiny = ARENA(1);
	struct host_rule any = { .form = HOST_ANY, .port_last = UINT16_MAX };
	const struct host_set *set = NULL;
	struct host_rules one = { &any, 1 };
	struct host_meets m = { NULL, 77 };
	struct cordon_err err = { 0 };

	ok(host_set_new(&any, MAX_LIST_ITEMS + 1, &a, &set, &err) < 0 && !set, "too many rules");
	is_int(err.code, CORDON_E_POLICY, "is the policy's fault");
	ok(host_set_new(&any, 1, &tiny, &set, &err) < 0 && !set, "no memory");
	is_int(err.code, CORDON_E_NOMEM, "is said");
	ok(host_rules_meet(one, one, &tiny, &m, &err) < 0 && m.n == 77, "no memory");
}

/* Every other port on one side, many names on the other: all pairs count. */
static void test_a_meet_that_explodes_is_an_error(void)
{
	cleanup_arena struct arena a = ARENA(64 << 20);
	struct host_rule *ports = arena_new(&a, 1000, sizeof(*ports));
	struct host_rule *names = arena_new(&a, 1000, sizeof(*names));
	struct cordon_err err = { 0 };
	struct host_meets m = { NULL, 77 };

	for (unsigned i = 0; i < 1000; i++)
		ports[i] = (struct host_rule){ .form = HOST_ANY,
					       .port_first = (uint16_t)(2 * i + 1),
					       .port_last = (uint16_t)(2 * i + 1) };
	for (unsigned i = 0; i < 1000; i++) {
		char *name = arena_printf(&a, "n%u.example", i);

		names[i] = (struct host_rule){ .form = HOST_EXACT, .port_last = UINT16_MAX,
					       .name = str_from(name) };
	}
	ok(host_rules_meet((struct host_rules){ ports, 1000 }, (struct host_rules){ names, 1000 },
			   &a, &m, &err) < 0, "refused");
	is_int(err.code, CORDON_E_POLICY, "as the policy's fault");
	ok(m.n == 77 && !m.items, "untouched");
	ok(host_rules_meet((struct host_rules){ ports, 1000 }, (struct host_rules){ names, 100 },
			   &a, &m, &err) == 0 && m.n == 100000, "less is fine");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_find_is_the_most_specific_match), TAP(test_meet_is_what_both_lists_match),
		TAP(test_random_rules_print_and_read_alike),
		TAP(test_ports_of_one_name), TAP(test_empty_lists_match_nothing),
		TAP(test_limits_are_errors), TAP(test_a_meet_that_explodes_is_an_error), TAP_END });
}

/* What host rules cost: a match among few and among many, and getting ready.
 *
 * The two sizes take turns and the fastest round counts, so that a busy
 * machine slows both alike.  `warm` asks about the same hosts again and again,
 * as an agent does; `spread` about hosts all over the list.
 */
#include <stdio.h>
#include <time.h>

#include "policy/host.h"

#define MANY	100000
#define FEW	10
#define ROUNDS	30
#define ASKED	1024

struct side {
	struct arena arena;
	struct host_rule *rules;
	size_t n;
	const struct host_set *set;
	struct host *hosts[2];		/* warm, spread */
	size_t n_hosts[2];
	double best[2];
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench-host: %s\n", what);
	exit(1);
}

/* Nine names in all forms, then one range: so ten rules are like many. */
static void rule_text(size_t i, char *out, size_t size)
{
	static const char *const stars[] = { "", "*.", "**.", "" };
	size_t mixed = i * 2654435761u % 4294967296u;

	if (i % 10 == 9)
		snprintf(out, size, "%zu.%zu.%zu.0/24", 1 + mixed % 200, mixed >> 8 & 255,
			 mixed >> 16 & 255);
	else
		snprintf(out, size, "%sapi%zu.service%zu.example%s", stars[i % 4], i, mixed % 1000,
			 i % 3 ? "" : ":443");
}

/* One in two hosts matches some rule; one in ten is an address. */
static void make_hosts(struct side *s, size_t kind, size_t n)
{
	char text[128], why[HOST_WHY];

	s->n_hosts[kind] = n;
	s->hosts[kind] = arena_new(&s->arena, n, sizeof(struct host));
	if (!s->hosts[kind])
		fail("no memory");
	for (size_t i = 0; i < n; i++) {
		const struct host_rule *r = &s->rules[i * 7919 % s->n];

		if (r->form == HOST_NET)
			snprintf(text, sizeof(text), "%u.%u.%u.%zu", r->addr.b[0], r->addr.b[1],
				 r->addr.b[2], i % 256);
		else
			snprintf(text, sizeof(text), "%s%.*s", i % 2 ? "www." : "",
				 STR_FMT(r->name));
		if (i % 2 && r->form != HOST_NET)
			text[5]++;	/* a neighbour that no rule names */
		if (host_parse(str_from(text), &s->hosts[kind][i], why) < 0)
			fail(why);
	}
}

static double build(struct side *s, size_t n)
{
	double start = now_ns();
	struct cordon_err err;

	s->arena = ARENA(MAX_ARENA_BYTES);
	s->n = n;
	s->rules = arena_new(&s->arena, n, sizeof(*s->rules));
	for (size_t i = 0; s->rules && i < n; i++) {
		char text[128], why[HOST_WHY];

		rule_text(i, text, sizeof(text));
		if (host_rule_parse(str_from(text), &s->arena, &s->rules[i], why) < 0)
			fail(why);
	}
	if (!s->rules || host_set_new(s->rules, n, &s->arena, &s->set, &err) < 0)
		fail("no set");
	return (now_ns() - start) / 1e6;
}

static void measure(struct side *s, size_t kind, size_t *matched)
{
	double start = now_ns(), ns;

	for (size_t i = 0; i < s->n_hosts[kind]; i++)
		*matched += host_set_find(s->set, &s->hosts[kind][i], 443, false) != NULL;
	ns = (now_ns() - start) / (double)s->n_hosts[kind];
	if (s->best[kind] == 0 || ns < s->best[kind])
		s->best[kind] = ns;
}

static double best_build(size_t n)
{
	double best = 0;

	for (int i = 0; i < 5; i++) {
		struct side s = { 0 };
		double ms = build(&s, n);

		best = best == 0 ? ms : MIN(best, ms);
		arena_release(&s.arena);
	}
	return best;
}

/* Two lists of two thirds of the rules each: half of a list is in the other. */
static void bench_meet(const struct side *s)
{
	size_t n = s->n * 2 / 3;
	struct host_meets found = { 0 };
	double best = 0;

	for (int i = 0; i < 3; i++) {
		cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
		double start = now_ns(), ms;
		struct cordon_err err;

		if (host_rules_meet((struct host_rules){ s->rules, n },
				    (struct host_rules){ s->rules + s->n - n, n }, &a, &found,
				    &err) < 0)
			fail(err.msg);
		ms = (now_ns() - start) / 1e6;
		best = best == 0 ? ms : MIN(best, ms);
	}
	if (!found.n)
		fail("two lists that share half of their rules have nothing in common");
	printf("{\"name\":\"hosts: intersect two lists of %zu\",\"value\":%.1f,\"unit\":\"ms\"}\n",
	       n, best);
}

int main(void)
{
	/* Asked again and again, as a program does; or each for the first time,
	 * which adds what fetching it from memory costs. */
	static const char *const kinds[] = { "same hosts", "new hosts" };
	struct side few = { 0 }, many = { 0 }, twice = { 0 };
	size_t matched = 0;
	double ms;

	build(&few, FEW);
	build(&many, MANY);
	build(&twice, MANY * 5 / 4);
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		make_hosts(&few, kind, kind ? MANY : ASKED);
		make_hosts(&many, kind, kind ? MANY : ASKED);
		for (int i = 0; i < ROUNDS; i++) {
			for (int k = 0; k < (kind ? 1 : 50); k++) {
				measure(&few, kind, &matched);
				measure(&many, kind, &matched);
			}
		}
		printf("{\"name\":\"hosts: match, 100,000 rules against 10, %s\",\"value\":%.1f,"
		       "\"unit\":\"ns\",\"baseline\":%.1f,\"ratio\":%.2f%s}\n", kinds[kind],
		       many.best[kind], few.best[kind], many.best[kind] / few.best[kind],
		       kind ? "" : ",\"limit\":2.0");
	}
	ms = best_build(MANY);
	printf("{\"name\":\"hosts: read %d rules\",\"value\":%.1f,\"unit\":\"ms\",\"baseline\":200,"
	       "\"ratio\":%.2f,\"limit\":1.0}\n", MANY, ms, ms / 200);
	bench_meet(&twice);
	arena_release(&few.arena);
	arena_release(&many.arena);
	arena_release(&twice.arena);
	return matched ? 0 : 1;
}

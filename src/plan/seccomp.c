/* The emitter of the seccomp filter: see seccomp.h; the decisions are in syscalls.def and
 * seccomp_rules.def.
 *
 * The tree tests nothing but the number, so that the kernel (5.11) can find out
 * once which calls are always allowed and skip the filter for those.
 *
 * The program is written from its end to its start: the target of a jump is there before the
 * jump.  A place in it is the number of instructions from it to the end.  One call must not have
 * two arguments that both emit, since the order in which C evaluates them, and so the bytes,
 * would be the compiler's choice.
 */
#include "plan/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "plan/guard_filter.h"

#if defined(__x86_64__)
#define ARCH_NATIVE	AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH_NATIVE	AUDIT_ARCH_AARCH64
#else
#define ARCH_NATIVE	0
#endif

#ifndef F_SETDELEG			/* Linux 6.19 */
#define F_SETDELEG		1040
#endif
#ifndef TCP_AO_ADD_KEY			/* Linux 6.7 */
#define TCP_AO_ADD_KEY		38
#endif
#ifndef PR_FUTEX_HASH			/* Linux 6.16 */
#define PR_FUTEX_HASH		78
#endif
#ifndef IPV6_FLOWLABEL_MGR		/* in linux/in6.h, not in the C library's header */
#define IPV6_FLOWLABEL_MGR	32
#endif

/* fallocate() with FALLOC_FL_KEEP_SIZE, as XFS had it first and all file systems have it;
 * the kernel's headers for programs do not have them. */
#define FS_IOC_RESVSP		_IOC(_IOC_WRITE, 'X', 40, 48)
#define FS_IOC_RESVSP64		_IOC(_IOC_WRITE, 'X', 42, 48)
#define FS_IOC_ZERO_RANGE	_IOC(_IOC_WRITE, 'X', 57, 48)

/* Of file systems whose headers few machines have. */
#define OCFS2_IOC_REFLINK		_IOW('o', 4, uint64_t[3])
#define BCH_IOCTL_SUBVOLUME_CREATE	_IOW(0xbc, 16, uint64_t[4])
#define BCH_IOCTL_SUBVOLUME_DESTROY	_IOW(0xbc, 17, uint64_t[4])

#define NONE		(-1)
#define N_NUMBERS	512	/* all numbers of the table are below it */

enum verdict {
#define TEST(name)	VERDICT_##name,
#define RULE(...)
#define IS(...)
#define MASKED(...)
#define HAS(...)
#define OVER(...)
#define OVER64(...)
#define DEFAULT(...)
#include "plan/seccomp_rules.def"
#undef TEST
#undef RULE
#undef IS
#undef MASKED
#undef HAS
#undef OVER
#undef OVER64
#undef DEFAULT
	N_VERDICTS
};

static const struct call {
	int16_t x86_64, aarch64;
	uint8_t verdict;
} calls[] = {
#define CALL(name, x86_64, aarch64, verdict)	{ x86_64, aarch64, VERDICT_##verdict },
#include "plan/syscalls.def"
#undef CALL
};

#define CALL(name, x86_64, aarch64, verdict)						\
	static_assert((x86_64) < N_NUMBERS && (aarch64) < N_NUMBERS, "a number too high");
#include "plan/syscalls.def"
#undef CALL

/* A row of seccomp_rules.def.  An answer below N_VERDICTS is another test, every other one is
 * what the filter returns. */
struct rule {
	int8_t when;			/* 0: always; n: option number n - 1 is on; -n: it is off */
	uint8_t op, offset;		/* the jump, and the word of struct seccomp_data */
	uint32_t mask, answer;
	const uint32_t *values;
	size_t n;
};
static_assert(sizeof(struct seccomp_options) < INT8_MAX, "options that struct rule cannot name");

#define BEGIN		0xff		/* op of a row that begins the test `answer` */
#define END		0xfe		/* op of a DEFAULT */
#define ALWAYS		0
#define IF(name)	((int8_t)offsetof(struct seccomp_options, name) + 1)
#define UNLESS(name)	(-IF(name))
#define LOW(arg)	(offsetof(struct seccomp_data, args) + 8 * (arg))
#define HIGH(arg)	(LOW(arg) + 4)
#define ALL		0xffffffff
#define ALLOW		SECCOMP_RET_ALLOW
#define NOTIFY		SECCOMP_RET_USER_NOTIF
#define ERR(error)	(SECCOMP_RET_ERRNO | (error))
#define GO(name)	VERDICT_##name

static const struct rule rules[] = {
#define TEST(name)				{ 0, BEGIN, 0, 0, VERDICT_##name, NULL, 0 },
#define RULE(when, op, offset, mask, answer, ...) \
	{ when, op, offset, mask, answer, (const uint32_t[]){ __VA_ARGS__ }, \
	  sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) },
#define MASKED(when, arg, mask, answer, ...) \
	RULE(when, BPF_JEQ, LOW(arg), mask, answer, __VA_ARGS__)
#define IS(when, arg, answer, ...)		MASKED(when, arg, ALL, answer, __VA_ARGS__)
#define HAS(when, arg, answer, bits)		RULE(when, BPF_JSET, LOW(arg), ALL, answer, bits)
#define OVER(when, arg, answer, value)		RULE(when, BPF_JGT, LOW(arg), ALL, answer, value)
#define OVER64(when, arg, answer, value)	RULE(when, BPF_JGT, HIGH(arg), ALL, answer, 0) \
						OVER(when, arg, answer, value)
#define DEFAULT(when, answer)			{ when, END, 0, 0, answer, NULL, 0 },
#include "plan/seccomp_rules.def"
};

struct emitter {
	const struct seccomp_options *o;
	struct sock_filter code[MAX_FILTER_CODE];	/* the last n of them are written */
	size_t n;
	struct test {
		const struct rule *rules;
		uint32_t outcome;	/* the one answer that is left of its rows; or the test */
		size_t place;		/* 0: not written */
		const struct rule *first;	/* of the rows that are written */
		size_t loaded;		/* the place where its word has been loaded */
	} tests[N_VERDICTS];
	struct {
		uint32_t answer;
		size_t place;
	} answers[32];					/* 0: not written */
};

/* ---- instructions; each returns its place ---- */

static size_t put(struct emitter *e, unsigned op, uint32_t k, size_t jt, size_t jf)
{
	if (e->n == MAX_FILTER_CODE || jt > UINT8_MAX || jf > UINT8_MAX)
		BUG("the seccomp filter has outgrown its emitter");
	e->n++;
	e->code[MAX_FILTER_CODE - e->n] = (struct sock_filter){
		.code = (uint16_t)op, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k,
	};
	return e->n;
}

/* Go on at `to`: nothing to do if that is what comes next. */
static size_t proceed(struct emitter *e, size_t to)
{
	return to == e->n ? to : put(e, BPF_JMP | BPF_JA, (uint32_t)(e->n - to), 0, 0);
}

static bool is_near(const struct emitter *e, size_t to)
{
	return e->n - to < UINT8_MAX;
}

/* A place for the same as `to` that a conditional jump, perhaps after a second
 * such place, can reach: it has 8 bits. */
static size_t within_reach(struct emitter *e, size_t to)
{
	return is_near(e, to) ? to : proceed(e, to);
}

static size_t branch(struct emitter *e, unsigned test, uint32_t k, size_t yes, size_t no)
{
	yes = within_reach(e, yes);
	no = within_reach(e, no);
	return put(e, BPF_JMP | test | BPF_K, k, e->n - yes, e->n - no);
}

static size_t load(struct emitter *e, size_t offset, uint32_t mask, size_t then)
{
	proceed(e, then);
	if (mask != ALL)
		put(e, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	return put(e, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Written again where the first is too far away. */
static size_t put_answer(struct emitter *e, uint32_t answer)
{
	size_t i = 0;

	while (e->answers[i].place && e->answers[i].answer != answer)
		if (++i == ARRAY_SIZE(e->answers))
			BUG("too many answers for the seccomp filter's emitter");
	if (!e->answers[i].place || !is_near(e, e->answers[i].place)) {
		e->answers[i].answer = answer;
		e->answers[i].place = put(e, BPF_RET | BPF_K, answer, 0, 0);
	}
	return e->answers[i].place;
}

/* ---- tests ---- */

static bool is_on(const struct emitter *e, const struct rule *r)
{
	const bool *options = (const bool *)e->o + (r->when < 0 ? -r->when : r->when) - 1;

	return r->when == ALWAYS || *options == (r->when > 0);
}

/* The rows of a test under these options can all lead to one answer. */
static uint32_t find_outcome(const struct emitter *e, uint32_t v)
{
	uint32_t outcome = N_VERDICTS;

	for (const struct rule *r = e->tests[v].rules;; r++) {
		uint32_t answer = r->answer;

		if (r->op == BEGIN || (answer < N_VERDICTS && answer >= v))
			BUG("a seccomp test without a DEFAULT, or that goes to a later one");
		if (!is_on(e, r))
			continue;
		if (answer < N_VERDICTS)
			answer = e->tests[answer].outcome;
		if (outcome != N_VERDICTS && outcome != answer)
			return v;
		outcome = answer;
		if (r->op == END)
			return outcome;
	}
}

static void find_tests(struct emitter *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		uint32_t v = rules[i].answer;

		if (rules[i].op != BEGIN)
			continue;
		e->tests[v].rules = &rules[i + 1];
		e->tests[v].outcome = find_outcome(e, v);
	}
}

/* The row that is asked before `r`; NULL: none. */
static const struct rule *find_before(const struct emitter *e, const struct rule *r)
{
	do
		r--;
	while (r->op != BEGIN && !is_on(e, r));
	return r->op == BEGIN ? NULL : r;
}

static bool is_same_word(const struct rule *a, const struct rule *b)
{
	return a && b && a->offset == b->offset && a->mask == b->mask;
}

static void put_test(struct emitter *e, struct test *t);

/* The place of an answer, for a jump after the word of row `after` was loaded (NULL: none). */
static size_t put_target(struct emitter *e, uint32_t answer, const struct rule *after)
{
	struct test *t;

	if (answer < N_VERDICTS)
		answer = e->tests[answer].outcome;
	if (answer >= N_VERDICTS)
		return put_answer(e, answer);
	t = &e->tests[answer];
	if (!t->place)
		put_test(e, t);
	return is_same_word(after, t->first) ? t->loaded : t->place;
}

/* Rows in a row that look at the same word load it once. */
static void put_test(struct emitter *e, struct test *t)
{
	const struct rule *r = t->rules, *next = NULL;
	size_t place;

	while (r->op != END || !is_on(e, r))
		r++;
	place = put_target(e, r->answer, find_before(e, r));
	while ((r = find_before(e, r)) != NULL) {
		size_t target;

		if (next && !is_same_word(r, next))
			place = load(e, next->offset, next->mask, place);
		target = put_target(e, r->answer, r);
		for (size_t i = r->n; i-- > 0;)
			place = branch(e, r->op, r->values[i], target, place);
		next = r;
	}
	t->first = next;
	t->loaded = place;
	t->place = load(e, next->offset, next->mask, place);
}

/* ---- the tree ---- */

/* The supervisor is refused what no option opens to the command, and executions. */
static uint32_t decide(const struct emitter *e, enum verdict v)
{
	if (e->o->supervisor && v != VERDICT_EPERM && v != VERDICT_ENOSYS && v != VERDICT_EXEC)
		return ALLOW;
	return e->tests[v].outcome;
}

/* Numbers next to each other with the same answer. */
struct span {
	uint16_t first;
	uint32_t answer;
};

static size_t find_spans(const struct emitter *e, bool is_x86, struct span *spans)
{
	uint32_t by_number[N_NUMBERS];
	size_t n = 1;

	for (size_t i = 0; i < N_NUMBERS; i++)
		by_number[i] = ERR(ENOSYS);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int number = is_x86 ? calls[i].x86_64 : calls[i].aarch64;

		if (number != NONE)
			by_number[number] = decide(e, calls[i].verdict);
	}
	spans[0] = (struct span){ 0, by_number[0] };
	for (size_t i = 1; i < N_NUMBERS; i++)
		if (by_number[i] != by_number[i - 1])
			spans[n++] = (struct span){ (uint16_t)i, by_number[i] };
	return n;
}

/* One test a border, and one for a single number inside a span.  The last span
 * has no end: it is ENOSYS for x32's numbers, which have bit 30, as well. */
static size_t put_tree(struct emitter *e, const struct span *spans, size_t n)
{
	size_t low, high, half = n / 2;

	if (n == 1)
		return put_target(e, spans[0].answer, NULL);
	if (n == 3 && spans[0].answer == spans[2].answer &&
	    spans[2].first == spans[1].first + 1) {
		low = put_target(e, spans[0].answer, NULL);
		high = put_target(e, spans[1].answer, NULL);
		return branch(e, BPF_JEQ, spans[1].first, high, low);
	}
	high = put_tree(e, spans + half, n - half);
	low = put_tree(e, spans, half);
	return branch(e, BPF_JGE, spans[half].first, high, low);
}

static void put_program(struct emitter *e, uint32_t arch)
{
	struct span spans[N_NUMBERS];
	size_t n, next, foreign;

	find_tests(e);
	n = find_spans(e, arch == AUDIT_ARCH_X86_64, spans);
	for (size_t i = 0; i < n; i++)
		put_target(e, spans[i].answer, NULL);
	next = put_tree(e, spans, n);
	next = load(e, offsetof(struct seccomp_data, nr), ALL, next);
	foreign = put_answer(e, SECCOMP_RET_KILL_PROCESS);
	next = branch(e, BPF_JEQ, arch, next, foreign);
	load(e, offsetof(struct seccomp_data, arch), ALL, next);
}

int seccomp_compile(const struct seccomp_options *o, struct arena *a, struct sock_filter **ret,
		    size_t *ret_n, struct cordon_err *err)
{
	uint32_t arch = o->arch ? o->arch : ARCH_NATIVE;
	struct sock_filter *filter;
	struct emitter e = { .o = o };

	if (arch != AUDIT_ARCH_X86_64 && arch != AUDIT_ARCH_AARCH64)
		return err_set(err, CORDON_E_HOST, "there is no table of system calls for this "
			       "processor (0x%x); x86_64 and aarch64 have one", arch);
	put_program(&e, arch);
	filter = arena_new(a, e.n, sizeof(*filter));
	if (!filter)
		return err_nomem(err);
	memcpy(filter, e.code + MAX_FILTER_CODE - e.n, e.n * sizeof(*filter));
	*ret = filter;
	*ret_n = e.n;
	return 0;
}

/* The emitter of the seccomp filter: see seccomp.h; the decisions are in
 * syscalls.def, the tests of arguments in seccomp_args.c.
 *
 * The tree tests nothing but the number, so that the kernel (5.11) can find out
 * once which calls are always allowed and skip the filter for those.
 */
#include "plan/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <string.h>

#include "plan/seccomp_priv.h"

#if defined(__x86_64__)
#define ARCH_NATIVE	AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH_NATIVE	AUDIT_ARCH_AARCH64
#else
#define ARCH_NATIVE	0
#endif

#define NONE		(-1)
#define N_NUMBERS	512	/* all numbers of the table are below it */

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

/* The verdicts that an option changes: what they are with it on and off. */
#define OPTION(name)	offsetof(struct seccomp_options, name)
static const struct {
	enum verdict verdict;
	size_t option;
	enum verdict on, off;
} changes[] = {
	{ VERDICT_PTRACE, OPTION(ptrace), VERDICT_ALLOW, VERDICT_EPERM },
	{ VERDICT_NAMESPACES, OPTION(namespaces), VERDICT_ALLOW, VERDICT_EPERM },
	{ VERDICT_NAMESPACES_ENOSYS, OPTION(namespaces), VERDICT_ALLOW, VERDICT_ENOSYS },
	{ VERDICT_CLONE, OPTION(namespaces), VERDICT_ALLOW, VERDICT_CLONE },
	{ VERDICT_UNSHARE, OPTION(namespaces), VERDICT_ALLOW, VERDICT_UNSHARE },
	{ VERDICT_MEMFD, OPTION(memfd), VERDICT_ALLOW, VERDICT_ENOSYS },
	{ VERDICT_MEMFD_CREATE, OPTION(memfd), VERDICT_MEMFD_CREATE, VERDICT_ENOSYS },
	{ VERDICT_SEMGET, OPTION(memfd), VERDICT_ALLOW, VERDICT_SEMGET },
	{ VERDICT_PAGES, OPTION(memfd), VERDICT_ALLOW, VERDICT_PAGES },
	{ VERDICT_MODE_1, OPTION(setid), VERDICT_ALLOW, VERDICT_MODE_1 },
	{ VERDICT_MODE_2, OPTION(setid), VERDICT_ALLOW, VERDICT_MODE_2 },
	{ VERDICT_MAKE, OPTION(guard), VERDICT_MAKE, VERDICT_ALLOW },
	{ VERDICT_NO_GUARD, OPTION(guard), VERDICT_ENOSYS, VERDICT_ALLOW },
	{ VERDICT_ENTER, OPTION(guard), VERDICT_ENOSYS, VERDICT_ALLOW },
	{ VERDICT_EXEC, OPTION(execs), VERDICT_EXEC, VERDICT_ALLOW },
	{ VERDICT_AFFINITY, OPTION(few_cpus), VERDICT_EPERM, VERDICT_PID_0 },
	{ VERDICT_OWN, OPTION(supervisor), VERDICT_ALLOW, VERDICT_EPERM },
	{ VERDICT_OWN_ENOSYS, OPTION(supervisor), VERDICT_ALLOW, VERDICT_ENOSYS },
};

/* What is never open to the command is not to the supervisor, but for what is its own; nor
 * does it execute anything. */
static enum verdict settle_own(enum verdict v)
{
	if (v == VERDICT_EXEC)
		return VERDICT_EPERM;
	return v == VERDICT_EPERM || v == VERDICT_ENOSYS ? v : VERDICT_ALLOW;
}

static void settle_verdicts(const struct seccomp_options *o, uint8_t *settled)
{
	for (size_t v = 0; v < N_VERDICTS; v++)
		settled[v] = (uint8_t)v;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		bool is_on = *(const bool *)((const char *)o + changes[i].option);

		settled[changes[i].verdict] = (uint8_t)(is_on ? changes[i].on : changes[i].off);
	}
	/* A set of rules is as large as its maker wants, and in no process's size. */
	if (!o->memfd)
		settled[VERDICT_NO_GUARD] = settled[VERDICT_ENTER] = VERDICT_ENOSYS;
	if (o->enters)
		settled[VERDICT_ENTER] = VERDICT_ALLOW;
	for (size_t v = 0; o->supervisor && v < N_VERDICTS; v++)
		settled[v] = (uint8_t)settle_own((enum verdict)v);
}

/* Numbers next to each other with the same verdict. */
struct span {
	uint16_t first;
	uint8_t verdict;
};

static size_t find_spans(const struct seccomp_options *o, bool is_x86, struct span *spans)
{
	uint8_t settled[N_VERDICTS], by_number[N_NUMBERS];
	size_t n = 1;

	settle_verdicts(o, settled);
	memset(by_number, VERDICT_ENOSYS, sizeof(by_number));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int number = is_x86 ? calls[i].x86_64 : calls[i].aarch64;

		if (number != NONE)
			by_number[number] = settled[calls[i].verdict];
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
		return e->places[spans[0].verdict];
	if (n == 3 && spans[0].verdict == spans[2].verdict &&
	    spans[2].first == spans[1].first + 1)
		return branch(e, BPF_JEQ, spans[1].first, e->places[spans[1].verdict],
			      e->places[spans[0].verdict]);
	high = put_tree(e, spans + half, n - half);
	low = put_tree(e, spans, half);
	return branch(e, BPF_JGE, spans[half].first, high, low);
}

static void put_answers(struct emitter *e)
{
	size_t ask;

	e->places[VERDICT_ENOSYS] = refuse(e, ENOSYS);
	e->places[VERDICT_EPERM] = e->eperm = refuse(e, EPERM);
	e->places[VERDICT_ALLOW] = e->allow = answer(e, SECCOMP_RET_ALLOW);
	ask = e->o->guard || e->o->execs ? answer(e, SECCOMP_RET_USER_NOTIF) : e->allow;
	e->places[VERDICT_MAKE] = e->make = e->o->guard ? ask : e->allow;
	e->places[VERDICT_EXEC] = e->o->execs ? ask : e->allow;
}

static void put_program(struct emitter *e, uint32_t arch)
{
	struct span spans[N_NUMBERS];
	size_t n = find_spans(e->o, arch == AUDIT_ARCH_X86_64, spans), next, foreign;

	put_answers(e);
	for (size_t i = 0; i < n; i++) {
		enum verdict v = spans[i].verdict;

		if (!e->places[v])
			e->places[v] = seccomp_put_test(e, v);
	}
	put_answers(e);		/* again, where the tree reaches them */
	foreign = answer(e, SECCOMP_RET_KILL_PROCESS);
	next = put_tree(e, spans, n);
	next = load(e, offsetof(struct seccomp_data, nr), next);
	next = branch(e, BPF_JEQ, arch, next, foreign);
	load(e, offsetof(struct seccomp_data, arch), next);
}

int seccomp_compile(const struct seccomp_options *o, struct arena *a, struct sock_filter **ret,
		    size_t *ret_n, struct cordon_err *err)
{
	uint32_t arch = o->arch ? o->arch : ARCH_NATIVE;
	struct sock_filter *filter;
	struct emitter e;

	if (arch != AUDIT_ARCH_X86_64 && arch != AUDIT_ARCH_AARCH64)
		return err_set(err, CORDON_E_HOST, "there is no table of system calls for this "
			       "processor (0x%x); x86_64 and aarch64 have one", arch);
	e.o = o;
	e.n = 0;
	memset(e.places, 0, sizeof(e.places));
	put_program(&e, arch);
	filter = arena_new(a, e.n, sizeof(*filter));
	if (!filter)
		return err_nomem(err);
	memcpy(filter, e.code + MAX_FILTER_CODE - e.n, e.n * sizeof(*filter));
	*ret = filter;
	*ret_n = e.n;
	return 0;
}

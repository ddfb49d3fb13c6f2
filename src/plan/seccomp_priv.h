/* Between seccomp.c, which makes the program of the table, and seccomp_args.c, which has the
 * tests of arguments.
 *
 * The program is written from its end to its start: what a jump goes to is there
 * before the jump.  A place in it is the number of instructions from it to the
 * end.  One call must not have two arguments that both emit, since the order in
 * which C evaluates them, and so the bytes, would be the compiler's choice.
 */
#ifndef PLAN_SECCOMP_PRIV_H
#define PLAN_SECCOMP_PRIV_H

#include <linux/seccomp.h>
#include <stddef.h>

#include "base/limits.h"
#include "plan/seccomp.h"

enum verdict {
	/* answers */
	VERDICT_ALLOW,
	VERDICT_EPERM,
	VERDICT_ENOSYS,
	VERDICT_MAKE,			/* to the guard, if there is one; else ALLOW */
	VERDICT_EXEC,			/* the same, if executions are judged */
	/* ALLOW by an option of that name, and if it is off: */
	VERDICT_PTRACE,			/* EPERM */
	VERDICT_NAMESPACES,		/* EPERM */
	VERDICT_NAMESPACES_ENOSYS,	/* ENOSYS */
	VERDICT_MEMFD,			/* ENOSYS */
	VERDICT_NO_GUARD,		/* (if the guard is on, or memfd off) ENOSYS */
	VERDICT_ENTER,			/* (the same, if nobody enters rules) ENOSYS */
	VERDICT_AFFINITY,		/* (if CPUs are limited) EPERM; else PID_0 */
	VERDICT_OWN,			/* (the supervisor's) EPERM */
	VERDICT_OWN_ENOSYS,		/* (the supervisor's) ENOSYS */
	/* by arguments; the digit says which is the first that counts */
	VERDICT_CLONE,
	VERDICT_UNSHARE,
	VERDICT_SOCKET,
	VERDICT_SOCKETPAIR,
	VERDICT_SETSOCKOPT,
	VERDICT_IOCTL,
	VERDICT_FCNTL,
	VERDICT_PRCTL,
	VERDICT_SECCOMP,
	VERDICT_PERSONALITY,
	VERDICT_SETRLIMIT,
	VERDICT_PRLIMIT,
	VERDICT_MMAP,
	VERDICT_MEMFD_CREATE,
	VERDICT_SHMGET,
	VERDICT_SEMGET,
	VERDICT_PAGES,			/* (if memfd is off) EINVAL */
	VERDICT_XATTR,
	VERDICT_FALLOCATE,
	VERDICT_PID_0,
	VERDICT_PID_1,
	VERDICT_WHO,
	VERDICT_MODE_1,
	VERDICT_MODE_2,
	VERDICT_CREAT,
	VERDICT_MKNOD_1,
	VERDICT_MKNOD_2,
	VERDICT_OPEN_1,
	VERDICT_OPEN_2,
	N_VERDICTS
};

struct emitter {
	const struct seccomp_options *o;
	struct sock_filter code[MAX_FILTER_CODE];	/* the last n of them are written */
	size_t n;
	size_t allow, eperm, make;			/* places of the common answers */
	size_t places[N_VERDICTS];			/* 0: not written */
};

/* Write the test of one that goes by arguments; returns its place. */
size_t seccomp_put_test(struct emitter *e, enum verdict v);

/* ---- instructions; each returns its place ---- */

static inline size_t put(struct emitter *e, unsigned op, uint32_t k, size_t jt, size_t jf)
{
	if (e->n == MAX_FILTER_CODE || jt > UINT8_MAX || jf > UINT8_MAX)
		BUG("the seccomp filter has outgrown its emitter");
	e->n++;
	e->code[MAX_FILTER_CODE - e->n] = (struct sock_filter){
		.code = (uint16_t)op, .jt = (uint8_t)jt, .jf = (uint8_t)jf, .k = k,
	};
	return e->n;
}

static inline size_t answer(struct emitter *e, uint32_t value)
{
	return put(e, BPF_RET | BPF_K, value, 0, 0);
}

static inline size_t refuse(struct emitter *e, int error)
{
	return answer(e, SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* Go on at `to`: nothing to do if that is what comes next. */
static inline size_t proceed(struct emitter *e, size_t to)
{
	return to == e->n ? to : put(e, BPF_JMP | BPF_JA, (uint32_t)(e->n - to), 0, 0);
}

/* A place for the same as `to` that a conditional jump, perhaps after a second
 * such place, can reach: it has 8 bits. */
static inline size_t within_reach(struct emitter *e, size_t to)
{
	return e->n - to < UINT8_MAX ? to : proceed(e, to);
}

static inline size_t branch(struct emitter *e, unsigned test, uint32_t k, size_t yes, size_t no)
{
	yes = within_reach(e, yes);
	no = within_reach(e, no);
	return put(e, BPF_JMP | test | BPF_K, k, e->n - yes, e->n - no);
}

static inline size_t load(struct emitter *e, size_t offset, size_t then)
{
	proceed(e, then);
	return put(e, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The half of an argument that the kernel reads when it takes an int. */
static inline size_t load_low(struct emitter *e, unsigned arg, size_t then)
{
	return load(e, offsetof(struct seccomp_data, args) + 8 * arg, then);
}

static inline size_t load_high(struct emitter *e, unsigned arg, size_t then)
{
	return load(e, offsetof(struct seccomp_data, args) + 8 * arg + 4, then);
}

static inline size_t keep_bits(struct emitter *e, uint32_t mask, size_t then)
{
	proceed(e, then);
	return put(e, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
}

/* `yes` if what was loaded is one of the values (ends with -1), else `no`. */
static inline size_t one_of(struct emitter *e, const int64_t *values, size_t yes, size_t no)
{
	for (; *values >= 0; values++)
		no = branch(e, BPF_JEQ, (uint32_t)*values, yes, no);
	return no;
}
#define ONE_OF(e, yes, no, ...)	one_of(e, (const int64_t[]){ __VA_ARGS__, -1 }, yes, no)

#endif

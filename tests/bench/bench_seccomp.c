/* What the seccomp filter costs: to emit, to load, and on every call.
 *
 * Calls are measured in three children that take turns: without a filter, with
 * the least there can be, with ours; the fastest round of each counts.  getppid
 * is always allowed, so the kernel skips the filter for it, and ours must cost no
 * more than the least; for ioctl it runs.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/seccomp.h"

#define ROUNDS		200
#define CALLS		20000
#define EMIT_LIMIT_US	10.0
#define MAX_CODE	400.0
#define CALL_LIMIT	1.1	/* of an always allowed call, against the least filter */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench-seccomp: %s\n", what);
	exit(1);
}

static void compile(struct arena *a, struct sock_fprog *ret)
{
	struct seccomp_options o = { .inet = true };
	struct cordon_err err;
	size_t n;

	if (seccomp_compile(&o, a, &ret->filter, &n, &err) < 0)
		fail(err.msg);
	ret->len = (unsigned short)n;
}

static double emit_us(void)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		cleanup_arena struct arena a = ARENA(1u << 16);
		struct sock_fprog filter;
		double begin = now_ns(), us;

		compile(&a, &filter);
		us = (now_ns() - begin) / 1e3;
		best = MIN(best, us);
	}
	return best;
}

static double call_ns(bool is_tested)
{
	double begin = now_ns();

	for (int i = 0; i < CALLS; i++) {
		if (is_tested)
			syscall(SYS_ioctl, -1, FIONREAD, NULL);
		else
			syscall(SYS_getppid);
	}
	return (now_ns() - begin) / CALLS;
}

struct times {
	double load_us, plain_ns, tested_ns;
};

/* A child that measures one round each time a byte comes, and answers. */
static _Noreturn void child_main(int from, int to, const struct sock_fprog *filter)
{
	struct times t = { 0 };
	char byte;

	if (filter) {
		double begin = now_ns();

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter))
			fail("the filter does not load");
		t.load_us = (now_ns() - begin) / 1e3;
	}
	while (read(from, &byte, 1) == 1) {
		t.plain_ns = call_ns(false);
		t.tested_ns = call_ns(true);
		if (write(to, &t, sizeof(t)) != sizeof(t))
			fail("write");
	}
	_exit(0);
}

struct child {
	pid_t pid;
	int ask[2], tell[2];
	struct times best;
};

static void start(struct child *c, const struct sock_fprog *filter)
{
	if (pipe2(c->ask, O_CLOEXEC) || pipe2(c->tell, O_CLOEXEC))
		fail("pipe");
	c->pid = fork();
	if (c->pid < 0)
		fail("fork");
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_main(c->ask[0], c->tell[1], filter);
	}
	c->best = (struct times){ 1e9, 1e9, 1e9 };
}

static void measure(struct child *c)
{
	struct times t;

	if (write(c->ask[1], "x", 1) != 1 || read(c->tell[0], &t, sizeof(t)) != sizeof(t))
		fail("a child is gone");
	c->best.load_us = MIN(c->best.load_us, t.load_us);
	c->best.plain_ns = MIN(c->best.plain_ns, t.plain_ns);
	c->best.tested_ns = MIN(c->best.tested_ns, t.tested_ns);
}

static void stop(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

/* `limit` 0: none. */
static void report(const char *name, const char *unit, double value, double baseline, double limit)
{
	printf("{\"name\": \"seccomp: %s\", \"value\": %.2f, \"unit\": \"%s\"", name, value, unit);
	if (baseline > 0)
		printf(", \"baseline\": %.2f, \"ratio\": %.3f", baseline, value / baseline);
	if (limit > 0)
		printf(", \"limit\": %.2f", limit);
	printf("}\n");
}

int main(void)
{
	cleanup_arena struct arena a = ARENA(1u << 16);
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter, least = { 1, &allow };
	struct child bare, little, confined;

	compile(&a, &filter);
	report("emit the filter", "us", emit_us(), EMIT_LIMIT_US, 1);
	report("instructions", "", filter.len, MAX_CODE, 1);
	start(&bare, NULL);
	start(&little, &least);
	start(&confined, &filter);
	for (int i = 0; i < ROUNDS; i++) {
		measure(&bare);
		measure(&little);
		measure(&confined);
	}
	stop(&bare);
	stop(&little);
	stop(&confined);
	report("load it", "us", confined.best.load_us, 0, 0);
	report("getppid, always allowed, against the least", "ns", confined.best.plain_ns,
	       little.best.plain_ns, CALL_LIMIT);
	report("getppid, against none", "ns", confined.best.plain_ns, bare.best.plain_ns, 0);
	report("ioctl, tested, against none", "ns", confined.best.tested_ns,
	       bare.best.tested_ns, 0);
	return 0;
}

/* Names to addresses, outside; after decide() said yes ([G1]).
 *
 * Who runs
 *
 *   super     hands a name to a worker, and waits for nothing
 *   worker    a child; asks /etc/hosts and DNS, one name at a time, so that a
 *             server that is slow blocks a worker and not the gate.  What comes
 *             from the network is parsed there: it can write no file, start no
 *             program, and holds no descriptor but its socket
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/syscalls.h"
#include "gate/ask.h"
#include "gate/gate_priv.h"
#include "gate/hosts.h"
#include "plan/landlock.h"
#include "plan/seccomp.h"

#define MAX_WORKERS	8
#define FRESH_US	INT64_C(5000000)	/* how long answers are used again */
#define FAILED_US	INT64_C(1000000)	/* and the lack of them */

struct worker {
	struct watch watch;
	pid_t pid;
	struct name *name;		/* it is asked for, or NULL */
	struct timer timer;
};

struct resolver {
	struct worker workers[MAX_WORKERS];
	size_t n;
	struct name *first, *last;	/* names that wait for a worker */
};

/* ---- the worker ---------------------------------------------------------- */

static int confine_files(void)
{
	/* Every right of the first ABI but reading, and no rule that grants any:
	 * later ones are about what is made by these. */
	uint64_t handled = landlock_handled(1) & ~(LL_READ_FILE | LL_READ_DIR);
	int fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	int rc;

	/* A kernel without Landlock has the filter alone. */
	if (fd < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -1;
	rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return rc;
}

static int confine(void)
{
	static const struct seccomp_options open = { .inet = true };
	cleanup_arena struct arena a = ARENA(1 << 20);
	struct rlimit none = { 0, 0 };
	struct sock_fprog prog = { 0 };
	struct cordon_err ignored;
	size_t n;

	if (seccomp_compile(&open, &a, &prog.filter, &n, &ignored) < 0)
		return -1;
	prog.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0 || confine_files() < 0)
		return -1;
	return (int)syscall(SYS_seccomp, 1 /* SET_MODE_FILTER */, 0, &prog);
}

struct question {
	const char *name;
	struct name_servers servers;
	struct resolve_answer *answer;
};

static void read_lines(const char *path, void (*take)(struct question *q, char *line),
		       struct question *q)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0)
		take(q, line);
	free(line);
	if (f)
		fclose(f);
}

static void take_host(struct question *q, char *line)
{
	struct resolve_answer *a = q->answer;

	if (a->n < MAX_NAME_ANSWERS && hosts_line_has(line, q->name, &a->answers[a->n]))
		a->n++;
}

static void take_server(struct question *q, char *line)
{
	name_servers_read(&q->servers, line);
}

/* Both are read each time: they may change while a cordon lives. */
static void ask(const char *name, struct resolve_answer *ret)
{
	struct question q = { name, NAME_SERVERS, ret };

	read_lines("/etc/hosts", take_host, &q);
	if (ret->n)
		return;
	read_lines("/etc/resolv.conf", take_server, &q);
	ask_servers(&q.servers, name, ret);
}

static _Noreturn void worker_main(int fd)
{
	char name[MAX_HOST_NAME + 1];
	sigset_t all;

	/* What a terminal sends is for the command; we end with the supervisor. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (dup2(fd, 3) != 3 || sys_close_range(4, ~0u) < 0 || close(0) < 0 ||
	    close(1) < 0 || close(2) < 0 || chdir("/") < 0 || confine() < 0)
		_exit(1);
	for (;;) {
		struct resolve_answer answer = { .n = 0 };
		ssize_t n = recv(3, name, sizeof(name) - 1, 0);

		if (n <= 0)
			_exit(0);
		name[n] = '\0';
		ask(name, &answer);
		if (send(3, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			_exit(1);
	}
}

/* ---- handing out --------------------------------------------------------- */

static void hand_out(struct gate *g);

/* The name is done with; whoever waits for it goes on. */
static void finish(struct gate *g, struct name *n, const struct resolve_answer *a)
{
	int64_t now = gate_now_us();

	n->is_asked = false;
	n->n_answers = 0;
	for (uint32_t i = 0; a && i < a->n && i < MAX_NAME_ANSWERS; i++)
		n->answers[n->n_answers++] = a->answers[i];
	n->fresh_until_us = now + (n->n_answers ? FRESH_US : FAILED_US);
	conn_resolved(g, n);
	flow_resolved(g, n);
}

static void stop_worker(struct gate *g, struct worker *w)
{
	struct name *n = w->name;

	timer_stop(g, &w->timer);
	watch_close(g, &w->watch);
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
	w->name = NULL;
	if (n)
		finish(g, n, NULL);
}

static void worker_over(struct gate *g, struct timer *t)
{
	stop_worker(g, CONTAINER(t, struct worker, timer));
	hand_out(g);
}

static void worker_ready(struct gate *g, struct watch *watch, uint32_t events)
{
	struct worker *w = CONTAINER(watch, struct worker, watch);
	struct resolve_answer answer;
	ssize_t size = recv(watch->fd, &answer, sizeof(answer), MSG_DONTWAIT);
	struct name *n = w->name;

	(void)events;
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size != (ssize_t)sizeof(answer) || !n) {
		stop_worker(g, w);
	} else {
		timer_stop(g, &w->timer);
		w->name = NULL;
		finish(g, n, &answer);
	}
	hand_out(g);
}

static int start_worker(struct gate *g, struct worker *w)
{
	int ends[2];
	pid_t self = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	w->pid = fork();
	if (w->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		worker_main(ends[1]);
	}
	close(ends[1]);
	w->watch = (struct watch){ .fd = ends[0], .ready = worker_ready };
	w->timer = (struct timer){ .at_us = 0 };
	w->name = NULL;
	if (w->pid > 0 && watch_set(g, &w->watch, EPOLLIN) == 0)
		return 0;
	if (w->pid > 0)
		stop_worker(g, w);
	else
		watch_close(g, &w->watch);
	w->pid = 0;
	return -1;
}

/* A worker that is free, started if need be; NULL: all are busy. */
static struct worker *find_worker(struct gate *g)
{
	struct resolver *r = g->resolver;
	struct worker *unused = NULL;

	for (size_t i = 0; i < MAX_WORKERS; i++) {
		if (r->workers[i].pid && !r->workers[i].name)
			return &r->workers[i];
		if (!r->workers[i].pid && !unused)
			unused = &r->workers[i];
	}
	return unused && start_worker(g, unused) == 0 ? unused : NULL;
}

static bool is_busy(const struct resolver *r)
{
	for (size_t i = 0; i < MAX_WORKERS; i++)
		if (r->workers[i].name)
			return true;
	return false;
}

/* The name that waits longest; there is one. */
static struct name *take_name(struct resolver *r)
{
	struct name *n = r->first;

	r->first = n->next_asked;
	if (!r->first)
		r->last = NULL;
	return n;
}

static void ask_worker(struct gate *g, struct worker *w, struct name *n)
{
	w->name = n;
	if (send(w->watch.fd, n->host.name, n->host.n, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)n->host.n)
		stop_worker(g, w);
	else
		timer_start(g, &w->timer, TIMER_RESOLVE, worker_over);
}

/* A name for every worker that is free or can be started.  One that is busy comes
 * back for the rest; when there is none, nobody would. */
static void hand_out(struct gate *g)
{
	struct resolver *r = g->resolver;
	struct worker *w;

	while (r->first && (w = find_worker(g)))
		ask_worker(g, w, take_name(r));
	while (r->first && !is_busy(r))
		finish(g, take_name(r), NULL);
}

static void add_name(struct resolver *r, struct name *n)
{
	n->next_asked = NULL;
	*(r->last ? &r->last->next_asked : &r->first) = n;
	r->last = n;
}

void resolve_name(struct gate *g, struct name *n)
{
	if (!g->resolver)
		g->resolver = calloc(1, sizeof(*g->resolver));
	if (!g->resolver) {
		finish(g, n, NULL);
		return;
	}
	n->is_asked = true;
	add_name(g->resolver, n);
	hand_out(g);
}

/* Does anything wait for it, and may it?  The proxy in front is the operator's word, not the
 * command's. */
static bool is_wanted(const struct gate *g, const struct name *n)
{
	struct decide_verdict v;

	return (n->users || n->waiting) && (n == g->proxy || decide_any(g->net, &n->host, &v));
}

void resolver_judge_all(struct gate *g)
{
	struct resolver *r = g->resolver;
	struct name *all = r ? r->first : NULL, *n;

	if (!r)
		return;
	r->first = r->last = NULL;
	while ((n = all)) {
		all = n->next_asked;
		if (is_wanted(g, n)) {
			add_name(r, n);
		} else {
			finish(g, n, NULL);
			n->fresh_until_us = 0;	/* it was not even asked for */
		}
	}
	/* What a worker sends again after a while leaves, too. */
	for (size_t i = 0; i < MAX_WORKERS; i++) {
		n = r->workers[i].name;
		if (n && !is_wanted(g, n)) {
			stop_worker(g, &r->workers[i]);
			n->fresh_until_us = 0;
		}
	}
	hand_out(g);
}

/* Nobody waits any more. */
void resolver_stop(struct gate *g)
{
	if (!g->resolver)
		return;
	g->resolver->first = g->resolver->last = NULL;
	for (size_t i = 0; i < MAX_WORKERS; i++)
		if (g->resolver->workers[i].pid) {
			g->resolver->workers[i].name = NULL;
			stop_worker(g, &g->resolver->workers[i]);
		}
	free(g->resolver);
	g->resolver = NULL;
}

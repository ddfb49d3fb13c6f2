/* pid 1 of a session: starts the commands that the supervisor names; see
 * init_priv.h.  No allocation.
 *
 * Each command leads a session of its own and is known by its id until it is
 * reaped.  What it leaves behind goes on until the session ends, unless the
 * command was stopped: then all of its family ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/native/family.h"
#include "backend/native/init_priv.h"
#include "base/signals.h"
#include "base/syscalls.h"

struct running {
	pid_t pid;		/* 0: free */
	pid_t group;		/* its own, if pid only leads its session; or 0 */
	int id;
	bool controlling;	/* has the terminal */
	bool stopped;		/* by us: nothing of it may go on */
};

struct commands {
	struct init *in;
	bool ending;			/* everything was told to end */
	bool clearing;			/* everything but init is being killed */
	struct running list[MAX_SESSION_COMMANDS];
};

static struct running *find(struct commands *c, int id)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->list); i++)
		if (c->list[i].pid && c->list[i].id == id)
			return &c->list[i];
	return NULL;
}

/* ---- ending ------------------------------------------------------------- */

/* What cannot be ended alone ends with everything. */
static void end_command(const struct commands *c, pid_t leader)
{
	struct native_message m = { .kind = NATIVE_FAILED };

	if (family_kill(leader))
		return;
	err_set(&m.err, CORDON_E_PEER, "a command that was to end had ever more processes");
	tell(c->in, &m);
	_exit(1);
}

static void tell_exit(const struct commands *c, const struct running *r, int status,
		      const struct rusage *used)
{
	struct native_message m = {
		.kind = NATIVE_EXITED,
		.id = r->id,
		.value = status,
		.cpu_ms = (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000 +
			  (used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1000,
		.max_rss_kb = used->ru_maxrss,
	};

	tell(c->in, &m);
}

/* Somebody sits at the terminal who can let it go on. */
static void tell_stop(const struct commands *c, const struct running *r, int signal)
{
	struct native_message m = { .kind = NATIVE_STOPPED, .id = r->id, .value = signal };

	if (r->controlling && !r->stopped)
		tell(c->in, &m);
}

static void reap(struct commands *c)
{
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(c->list); i++) {
			struct running *r = &c->list[i];

			if (r->pid != pid)
				continue;
			if (WIFSTOPPED(status)) {
				tell_stop(c, r, WSTOPSIG(status));
				continue;
			}
			if (r->stopped)
				end_command(c, pid);
			tell_exit(c, r, status, &used);
			*r = (struct running){ 0 };
		}
}

/* Orphans are our children, too. */
static bool is_alone(void)
{
	siginfo_t si;

	return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

/* Each end of a process may bring orphans that no signal has reached: see signal_all(). */
static void clear(struct commands *c)
{
	struct native_message m = { .kind = NATIVE_EMPTY };

	if (!is_alone()) {
		signal_all(c->in, SIGKILL);
		return;
	}
	c->clearing = false;
	tell(c->in, &m);
}

/* ---- starting ----------------------------------------------------------- */

/* errno says why. */
static void refuse(const struct commands *c, int id, const char *what)
{
	struct native_message m = { .kind = NATIVE_EXEC_FAILED, .id = id };

	err_sys(&m.err, CORDON_E_SETUP, "%s", what);
	tell(c->in, &m);
}

/* The terminal stands in for every stream that did not come. */
static int open_streams(const struct native_command *cmd, const struct native_fds *fds, int ret[3],
			int *ret_master)
{
	int slave = -1;

	*ret_master = -1;
	if (cmd->io.terminal) {
		*ret_master = terminal_open(&cmd->io, &slave);
		if (*ret_master < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		ret[i] = fds->fd[NATIVE_STREAM + i] >= 0 ? fds->fd[NATIVE_STREAM + i] : slave;
	return slave;
}

static void start(struct commands *c, struct running *r, int id, const struct native_command *cmd,
		  const struct native_fds *fds)
{
	struct launch l = { .command = cmd, .judged = c->in->plan->n_rules > 0, .told = -1,
			    .scope = -1 };
	struct native_message m = { .kind = NATIVE_STARTED, .id = id };
	struct native_fds out = NATIVE_NO_FDS;
	int streams[3], slave = open_streams(cmd, fds, streams, &out.fd[NATIVE_TERMINAL]);
	pid_t pid = -1;

	if (streams[0] >= 0 && streams[1] >= 0 && streams[2] >= 0) {
		l.streams = streams;
		pid = launch(&l);
	}
	if (slave >= 0)
		close(slave);
	if (pid < 0) {
		refuse(c, id, "cannot start the command");
		m.kind = N_NATIVE_KINDS;
	} else if (l.error < 0) {
		errno = -l.error;
		refuse(c, id, "cannot enter the working directory");
		m.kind = N_NATIVE_KINDS;
	} else if (l.error) {
		m = (struct native_message){ .kind = NATIVE_EXEC_FAILED, .id = id,
					     .value = l.error };
	} else {
		*r = (struct running){ .pid = pid, .group = l.group, .id = id,
				       .controlling = cmd->io.controlling };
	}
	if (m.kind == NATIVE_STARTED) {
		m.value = pid;
		if (tell_fds(c->in, &m, &out) < 0)
			end_command(c, pid);
		return;
	}
	if (out.fd[NATIVE_TERMINAL] >= 0)
		close(out.fd[NATIVE_TERMINAL]);
	if (m.kind == NATIVE_EXEC_FAILED)
		tell(c->in, &m);
}

static void answer_exec(struct commands *c, int id, const struct native_fds *fds)
{
	const struct native_command *cmd = NULL;
	struct running *r = NULL;
	struct stat st = { 0 };
	void *memory = MAP_FAILED;

	for (size_t i = 0; i < ARRAY_SIZE(c->list) && !r; i++)
		if (!c->list[i].pid)
			r = &c->list[i];
	if (!r) {
		errno = EAGAIN;
		refuse(c, id, "too many commands run in the session");
		return;
	}
	if (fstat(fds->fd[NATIVE_BLOCK], &st) == 0 && st.st_size > 0)
		memory = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			      fds->fd[NATIVE_BLOCK], 0);
	if (memory != MAP_FAILED)
		cmd = native_command_place(memory, (size_t)st.st_size);
	if (cmd)
		start(c, r, id, cmd, fds);
	else
		refuse(c, id, "cannot read the command");
	if (memory != MAP_FAILED)
		munmap(memory, (size_t)st.st_size);
}

/* ---- the loop ----------------------------------------------------------- */

static void answer(struct commands *c, const struct native_message *m, struct native_fds *fds)
{
	struct running *r = find(c, m->id);

	if (m->kind == NATIVE_EXEC) {
		answer_exec(c, m->id, fds);
	} else if (m->kind == NATIVE_END_ALL) {
		c->clearing = true;
	} else if (r && m->kind == NATIVE_SIGNAL) {
		signal_command(r->group ? r->group : r->pid, m->value);
		if (m->value == SIGCONT)
			kill(r->pid, SIGCONT);
	} else if (r && m->kind == NATIVE_STOP) {
		r->stopped = true;
		family_signal(r->pid, m->value);
	} else if (r && m->kind == NATIVE_KILL) {
		r->stopped = true;
		end_command(c, r->pid);
	}
}

/* False: the supervisor is gone. */
static bool obey(struct commands *c)
{
	struct native_fds fds = NATIVE_NO_FDS;
	struct native_message m = { 0 };
	int rc = native_recv_fds(c->in->control, &m, &fds);

	if (rc == NATIVE_FDS_LOST) {
		errno = EMFILE;
		refuse(c, m.id, "there is no room for the command's descriptors");
	} else if (rc == 1 && !obey_common(c->in, &m)) {
		answer(c, &m, &fds);
	}
	c->ending |= rc == 1 && m.kind == NATIVE_TERMINATE;
	for (int i = 0; i < N_NATIVE_FDS; i++)
		if (fds.fd[i] >= 0)
			close(fds.fd[i]);
	return rc != 0;
}

_Noreturn void session_main(struct init *in, int signals)
{
	static struct commands c;
	struct pollfd fds[] = { { .fd = in->control, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo si;

	c.in = in;
	if (family_init() < 0)
		_exit(1);
	for (;;) {
		reap(&c);
		if (c.clearing)
			clear(&c);
		/* Nobody is left who could need the time that there is to end. */
		if (c.ending && is_alone())
			_exit(0);
		/* As with a run: what is inside could leave us no descriptors. */
		if (poll(fds, 2, -1) < 0)
			fds[0].revents = fds[1].revents = POLLIN;
		if (fds[1].revents)
			while (read(signals, &si, sizeof(si)) > 0)
				;
		if (fds[0].revents && !obey(&c))
			_exit(1);
	}
}

/* The life of a session; see session.h.
 *
 * One process, one poll loop, no thread: the supervisor of the tree, as with a
 * run, with commands that come over the control socket.  It has no terminal and
 * no streams of its own; those of a command go from whoever asked for it to the
 * command, and only past us.
 */
#include "super/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/native/command.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/pidfd.h"
#include "super/confine.h"
#include "super/disk.h"
#include "super/guard.h"
#include "super/result_message.h"
#include "super/run_priv.h"
#include "super/session_priv.h"
#include "super/stdio.h"

#define KILLED_MS	10000	/* for what was killed to end */
#define HANG_UP_MS	1000	/* for a command whose client is gone: nobody waits for it */

/* One command, from the request to the result.
 * Its client hears of its end once, or is gone. */
struct command {
	struct client *client;		/* NULL: gone */
	int id;
	int leader;			/* of its session, as numbered inside; -id: not yet */
	struct run_result res;
	int64_t wall_ms, file_size;	/* its own limits; the others are the tree's */
	int64_t begin_us, deadline_us, kill_at_us;
	int64_t end_at_us;		/* and what does not end then ends with everything */
	bool told_stopped;		/* its client, which has not answered yet */
	struct command *next;
};

struct session {
	const struct session_options *o;
	struct tree tree;
	struct server server;
	struct live *live;
	struct command *commands;
	size_t n_commands;
	int last_id;
	int signals, owner;	/* descriptors; owner: -1: none */
	int64_t kill_at_us;
	bool is_ready, ending, gone;
	const char *why;	/* it ends, where it is no limit; or NULL */
	struct cordon_err failed;	/* why it did not become ready */
	/* The client of a phase that begins when no process is left inside; NULL: none. */
	struct client *switching;
	struct control_message phase;
	int64_t switch_by_us;		/* when that is given up */
};

/* ---- one command -------------------------------------------------------- */

static struct command *find_command(const struct session *s, int id)
{
	struct command *c = s->commands;

	while (c && c->id != id)
		c = c->next;
	return c;
}

static void remove_command(struct session *s, struct command *c)
{
	struct command **at = &s->commands;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->n_commands--;
	if (c->client)
		c->client->command = NULL;
	s->server.idle_us = run_now_us();
	run_result_release(&c->res);
	free(c);
}

static int send_result(const struct client *client, const struct run_result *res,
		       const struct plan *plan)
{
	cleanup_control_out struct control_out o;
	struct cordon_err ignored;

	control_out_init(&o, CONTROL_RESULT);
	result_message_put(&o, res, plan);
	return control_send(client->fd, &o, &ignored);
}

/* What the limit that ended it was set to. */
static int64_t find_limit(const struct session *s, const struct command *c)
{
	struct plan_limits limits = s->tree.limits;

	limits.wall_ms = c->wall_ms;
	limits.file_size = c->file_size;
	return limit_kind_value(c->res.limit, &limits);
}

/* How many there were is known of the session alone, and so is what a command used that ended
 * with it. */
static void settle_usage(const struct session *s, struct limiter_usage *usage)
{
	struct limiter_usage all;

	tree_usage(&s->tree, &all);
	usage->processes_peak = MAX(all.processes_peak - 1, 1);
	if (usage->max_rss_kb > 0)
		return;
	usage->cpu_ms = all.cpu_ms;
	usage->max_rss_kb = all.max_rss_kb;
}

/* It has ended, or was never started: the reason is in its result. */
static void end_command(struct session *s, struct command *c)
{
	while (!tree_read_denials(&s->tree))
		;
	/* What is not there was not blocked, though others may have been. */
	if (c->res.exec_errno == EACCES || c->res.exec_errno == EPERM)
		c->res.blocked = s->tree.blocked;
	s->tree.blocked = NULL;
	c->res.duration_ms = (run_now_us() - c->begin_us) / 1000;
	if (c->res.limit == LIMIT_OK && limit_is_file_size(c->res.status, c->file_size))
		c->res.limit = LIMIT_FILE_SIZE;
	c->res.limit_value = find_limit(s, c);
	if (c->res.started)
		settle_usage(s, &c->res.usage);
	if (s->why && c->res.started && c->res.status && c->res.limit == LIMIT_OK)
		err_set(&c->res.err, CORDON_E_PEER, "the session ended: %s", s->why);
	run_report_command_end(s->tree.reporter, c->id, &c->res);
	/* Who does not read is not to wait for a result that never comes: it finds the
	 * connection at its end. */
	if (c->client && send_result(c->client, &c->res, s->tree.plan) < 0)
		shutdown(c->client->fd, SHUT_RDWR);
	remove_command(s, c);
}

/* ---- leftovers ---------------------------------------------------------- */

static void forget_switch(struct session *s)
{
	control_release(&s->phase);
	s->phase = CONTROL_MESSAGE;
	s->switching = NULL;
	s->switch_by_us = INT64_MAX;
}

int session_end_leftovers(struct client *client, struct control_message *m, struct cordon_err *err)
{
	struct session *s = client->server->session;
	struct session_change ignored;

	if (!s)
		return err_set(err, CORDON_E_USAGE, "--end-leftovers is for sessions: the "
			       "processes of a run end with its command");
	if (s->ending || s->switching)
		return err_set(err, CORDON_E_USAGE, s->ending ? "the session is ending"
							      : "another client ends leftovers");
	if (s->n_commands)
		return err_set(err, CORDON_E_USAGE, "--end-leftovers: commands run in the session "
			       "(%zu); wait for their end", s->n_commands);
	/* A change that will be refused ends no process. */
	if (s->o->ops->change(s->o->ops->arg, m, &ignored, err) < 0)
		return -1;
	s->o->ops->settle(s->o->ops->arg, false);
	if (native_send(&s->tree.child, NATIVE_END_ALL, 0) < 0)
		return err_sys(err, CORDON_E_PEER, "cannot talk to init");
	s->switching = client;
	s->phase = *m;
	*m = CONTROL_MESSAGE;
	s->switch_by_us = run_later_us(run_now_us(), KILLED_MS);
	return 0;
}

/* Nothing is left inside, or (`err`) what is left does not end. */
static void end_switch(struct session *s, struct cordon_err *err)
{
	struct client *client = s->switching;
	struct cordon_err failed;

	if (!client)
		return;
	if (!err && server_answer_change(client, &s->phase, &failed) < 0)
		err = &failed;
	if (err && server_refuse(client, err) < 0)
		shutdown(client->fd, SHUT_RDWR);
	forget_switch(s);
}

/* ---- the end of a command ----------------------------------------------- */

/* A signal, and then no more patience. */
static void stop_command(struct session *s, struct command *c, int signal, int64_t grace_ms)
{
	native_send_to(&s->tree.child, NATIVE_STOP, c->id, signal);
	c->deadline_us = INT64_MAX;
	c->kill_at_us = run_later_us(run_now_us(), grace_ms);
}

void session_forget_client(struct client *client)
{
	struct session *s = client->server->session;
	struct command *c = client->command;

	if (s && s->switching == client)
		forget_switch(s);
	if (!c)
		return;
	c->client = NULL;
	stop_command(s, c, SIGHUP, HANG_UP_MS);
}

int session_answer_signal(struct client *client, struct control_message *m, struct cordon_err *err)
{
	struct command *c = client->command;
	int64_t signal = m->head.numbers[0];

	if (signal < 1 || signal >= NSIG)
		return err_set(err, CORDON_E_PEER, "there is no signal %lld", (long long)signal);
	/* It may have ended meanwhile; that is told. */
	if (!c)
		return 0;
	c->told_stopped &= signal != SIGCONT;
	native_send_to(&client->server->tree->child, NATIVE_SIGNAL, c->id, (int)signal);
	return 0;
}

/* ---- a request for one -------------------------------------------------- */

/* What came with the request, in its place; the rest is the terminal. */
static int read_streams(const struct control_message *m, struct native_stdio *ret,
			struct cordon_err *err)
{
	const int64_t *n = m->head.numbers;
	size_t used = 0;

	*ret = (struct native_stdio){
		.terminal = n[EXEC_TERMINAL],
		.controlling = n[EXEC_TERMINAL] && n[EXEC_CONTROLLING],
		.settings = m->head.settings,
		.size = m->head.size,
	};
	for (int i = 0; i < 3; i++) {
		ret->fd[i] = -1;
		if (!(n[EXEC_STREAMS] >> i & 1))
			continue;
		if (used == m->n_fds)
			return err_set(err, CORDON_E_PEER, "a standard stream did not come along");
		ret->fd[i] = m->fds[used++];
		/* Judged where they come from, and once more here. */
		if (!stdio_is_harmless(ret->fd[i], i == 0))
			return err_set(err, CORDON_E_PEER,
				       "standard stream %d would lead out of the cordon", i);
	}
	if (!ret->terminal && (n[EXEC_STREAMS] & 7) != 7)
		return err_set(err, CORDON_E_PEER, "a standard stream did not come along");
	return 0;
}

static int start_command(struct session *s, struct command *c, const struct control_message *m,
			 const struct session_command *plan, struct arena *a,
			 struct cordon_err *err)
{
	struct native_command native;
	struct native_stdio io;
	int64_t wall_ms = plan->limits.wall_ms;

	if (m->head.numbers[EXEC_TIMEOUT_MS] > 0)
		wall_ms = MIN(wall_ms, m->head.numbers[EXEC_TIMEOUT_MS]);
	if (read_streams(m, &io, err) < 0 ||
	    native_command_compile(plan->argv, plan->envp, a, &native, err) < 0)
		return -1;
	native.cwd = plan->cwd;
	native.file_size = plan->limits.file_size;
	native.open_files = plan->limits.open_files;
	native.io = io;
	if (native_command_send(&s->tree.child, c->id, &native, err) < 0)
		return -1;
	c->wall_ms = wall_ms;
	c->file_size = plan->limits.file_size;
	c->deadline_us = run_later_us(c->begin_us, wall_ms);
	return 0;
}

static struct command *add_command(struct session *s, struct client *client)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	run_result_init(&c->res);
	memcpy(c->res.run_id, s->tree.reporter->res->run_id, sizeof(c->res.run_id));
	c->id = s->last_id = s->last_id == INT32_MAX ? 1 : s->last_id + 1;
	c->leader = -c->id;
	c->begin_us = run_now_us();
	c->deadline_us = c->kill_at_us = c->end_at_us = INT64_MAX;
	c->client = client;
	client->command = c;
	c->next = s->commands;
	s->commands = c;
	s->n_commands++;
	return c;
}

int session_answer_exec(struct client *client, struct control_message *m, struct cordon_err *err)
{
	struct session *s = client->server->session;
	cleanup_arena struct arena a = ARENA(4 * MAX_CONTROL_BYTES + (64u << 20));
	struct session_command plan = { 0 };
	struct command *c;

	if (s->ending || client->command)
		return err_set(err, CORDON_E_USAGE, s->ending ? "the session is ending"
							      : "a command runs already");
	if (s->switching)
		return err_set(err, CORDON_E_USAGE, "the processes of a phase are ended at the "
			       "moment; try again");
	if (s->n_commands == MAX_SESSION_COMMANDS)
		return err_set(err, CORDON_E_HOST, "%d commands run in the session; wait for one",
			       MAX_SESSION_COMMANDS);
	if (s->o->ops->plan_command(s->o->ops->arg, m, &a, &plan, err) < 0)
		return -1;
	c = add_command(s, client);
	if (!c)
		return err_nomem(err);
	run_report_command_start(s->tree.reporter, c->id, plan.argv, plan.cwd);
	if (plan.blocked) {
		run_report_command(s->tree.reporter, plan.what, plan.blocked, c->leader);
		c->res.exec_errno = EPERM;
		s->tree.blocked = plan.blocked;
		end_command(s, c);
		return 0;
	}
	if (start_command(s, c, m, &plan, &a, err) == 0)
		return 0;
	remove_command(s, c);
	return -1;
}

/* ---- ending ------------------------------------------------------------- */

static void end_session(struct session *s, const char *why)
{
	if (s->ending)
		return;
	s->ending = true;
	s->why = why;
	native_send(&s->tree.child, NATIVE_TERMINATE, SIGTERM);
	s->kill_at_us = run_later_us(run_now_us(), s->tree.plan->limits.grace_ms);
}

static void end_for(struct session *s, enum limit_kind why)
{
	struct run_result *res = s->tree.reporter->res;

	if (res->limit == LIMIT_OK)
		res->limit = why;
	run_report_limit(s->tree.reporter);
	s->ending = true;
	tree_kill(&s->tree);
}

/* ---- what init says ----------------------------------------------------- */

static void on_started(struct session *s, struct command *c)
{
	cleanup_control_out struct control_out o;
	int *terminal = &s->tree.fds.fd[NATIVE_TERMINAL];
	struct cordon_err ignored;

	c->res.started = true;
	control_out_init(&o, CONTROL_STARTED);
	if (*terminal >= 0)
		o.fds[o.n_fds++] = *terminal;
	if (c->client)
		(void)!control_send(c->client->fd, &o, &ignored);
	/* It is the client's alone: its end hangs the terminal up. */
	fd_close(terminal);
}

/* ^Z in the terminal, which is the client's.  Once until it answers by SIGCONT, which ends
 * later stops as well: a command that stops very often would fill the connection. */
static void on_stopped(struct command *c)
{
	cleanup_control_out struct control_out o;
	struct cordon_err ignored;

	control_out_init(&o, CONTROL_STOPPED);
	if (c->client && !c->told_stopped)
		c->told_stopped = control_send(c->client->fd, &o, &ignored) == 0;
}

/* `c` may be NULL: it is forgotten. */
static void on_command(struct session *s, struct command *c, const struct native_message *m)
{
	if (m->kind == NATIVE_STARTED && !c)
		fd_close(&s->tree.fds.fd[NATIVE_TERMINAL]);
	if (!c)
		return;
	switch (m->kind) {
	case NATIVE_STARTED:
		c->leader = m->value;
		on_started(s, c);
		break;
	case NATIVE_STOPPED:
		on_stopped(c);
		break;
	case NATIVE_EXEC_FAILED:
		c->res.exec_errno = m->value;
		if (!m->value)
			c->res.err = m->err;
		end_command(s, c);
		break;
	default:
		c->res.status = m->value;
		c->res.usage.cpu_ms = m->cpu_ms;
		c->res.usage.max_rss_kb = m->max_rss_kb;
		end_command(s, c);
	}
}

static int on_message(struct session *s, const struct native_message *m, struct cordon_err *err)
{
	switch (m->kind) {
	case NATIVE_ASKED:
		return tree_grant(&s->tree, err);
	case NATIVE_READY:
		if (tree_join(&s->tree, err) < 0 || confine_self(err) < 0)
			return -1;
		s->is_ready = true;
		s->server.changed = true;
		session_write_status(&s->server);
		if (!s->o->ready(s->o->ready_arg))
			end_session(s, "whoever started it did not wait for it");
		return 0;
	case NATIVE_FAILED:
		s->failed = m->err;
		tree_explain(s->tree.plan, &s->failed);
		s->why = s->failed.msg;
		return 0;
	case NATIVE_EMPTY:
		end_switch(s, NULL);
		return 0;
	case NATIVE_SOCKET:
		network_add_socket(&s->tree.network, &s->tree.fds);
		return 0;
	case NATIVE_STARTED:
	case NATIVE_STOPPED:
	case NATIVE_EXEC_FAILED:
	case NATIVE_EXITED:
		on_command(s, find_command(s, m->id), m);
		return 0;
	default:
		return err_set(err, CORDON_E_BUG, "init sent a message of kind %d", m->kind);
	}
}

static int read_messages(struct session *s, struct cordon_err *err)
{
	struct native_message m = { 0 };

	while (native_recv(&s->tree.child, &m, &s->tree.fds) > 0)
		if (on_message(s, &m, err) < 0)
			return -1;
	return 0;
}

/* ---- signals and times -------------------------------------------------- */

static void read_signals(struct session *s)
{
	struct signalfd_siginfo si;

	/* All of them mean the same: nobody sits at a terminal here. */
	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		end_session(s, "it was stopped");
}

static bool is_idle(const struct session *s)
{
	return !s->n_commands && !s->server.n_clients && s->o->idle_ms != INT64_MAX;
}

static int64_t idle_end_us(const struct session *s)
{
	return is_idle(s) ? run_later_us(s->server.idle_us, s->o->idle_ms) : INT64_MAX;
}

static void check_times(struct session *s)
{
	int64_t now = run_now_us();
	enum limit_kind over = s->is_ready ? tree_check(&s->tree) : LIMIT_OK;

	if (over != LIMIT_OK)
		end_for(s, over);
	if (now >= idle_end_us(s))
		end_session(s, "it was idle");
	if (now >= s->kill_at_us)
		tree_kill(&s->tree);
	if (now >= s->switch_by_us) {
		struct cordon_err err;

		err_set(&err, CORDON_E_HOST, "--end-leftovers: processes that were killed do not "
			"end, and the phase stays; end the session by session stop");
		end_switch(s, &err);
	}
	for (struct command *c = s->commands; c; c = c->next) {
		if (now >= c->deadline_us) {
			c->res.limit = LIMIT_WALL;
			stop_command(s, c, SIGTERM, s->tree.plan->limits.grace_ms);
		}
		if (now >= c->kill_at_us) {
			native_send_to(&s->tree.child, NATIVE_KILL, c->id, 0);
			c->kill_at_us = INT64_MAX;
			c->end_at_us = run_later_us(now, KILLED_MS);
		}
		if (now >= c->end_at_us) {
			c->end_at_us = INT64_MAX;
			end_session(s, "a command that was killed did not end");
		}
	}
}

static int64_t next_us(const struct session *s)
{
	int64_t next = MIN(MIN(MIN(s->kill_at_us, s->switch_by_us), idle_end_us(s)),
			   MIN(tree_next_us(&s->tree), server_next_us(&s->server)));

	for (const struct command *c = s->commands; c; c = c->next)
		next = MIN(next, MIN(MIN(c->deadline_us, c->kill_at_us), c->end_at_us));
	return MIN(next, network_next_us(&s->tree.network));
}

/* ---- the loop ----------------------------------------------------------- */

enum { POLL_SIGNALS = N_TREE_POLLS, POLL_OWNER, POLL_SERVER, N_POLLS };

static int act(struct session *s, const struct pollfd *fds, struct cordon_err *err)
{
	network_work(&s->tree.network);
	if (read_messages(s, err) < 0)
		return -1;
	if (tree_shows_end(fds))
		s->gone = true;
	if (fds[POLL_SIGNALS].revents)
		read_signals(s);
	if (fds[POLL_OWNER].revents)
		end_session(s, "its owner did");
	if (fds[TREE_LIMITER].revents)
		s->tree.look_at_us = 0;
	if (fds[TREE_DISK].revents && disk_is_over(s->tree.disk))
		end_for(s, LIMIT_DISK);
	if (tree_guard(&s->tree, fds, err) < 0)
		return tree_is_gone(&s->tree) ? 0 : -1;
	tree_read_denials(&s->tree);
	if (s->is_ready && server_work(&s->server, err) < 0)
		return -1;
	check_times(s);
	run_report_write(s->tree.reporter);
	return 0;
}

static int loop(struct session *s, struct cordon_err *err)
{
	struct pollfd fds[N_POLLS];

	while (!s->gone) {
		struct timespec wait = run_wait(next_us(s));

		tree_poll(&s->tree, fds);
		fds[POLL_SIGNALS] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
		fds[POLL_OWNER] = (struct pollfd){ .fd = s->owner, .events = POLLIN };
		fds[POLL_SERVER] = (struct pollfd){
			.fd = s->is_ready ? server_event_fd(&s->server) : -1, .events = POLLIN };
		if (ppoll(fds, N_POLLS, &wait, NULL) < 0 && errno != EINTR)
			return err_sys(err, CORDON_E_SETUP, "cannot wait for the session");
		if (act(s, fds, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- what is told ------------------------------------------------------- */

bool session_counts_output(const struct session *s)
{
	return s && s->o->limit_output;
}

void session_print_status(const struct server *server, struct json_out *j)
{
	const struct session *s = server->session;

	json_key(j, "session");
	json_put_bool(j, s != NULL);
	if (!s)
		return;
	json_key(j, "name");
	json_put_text(j, s->o->name);
	json_key(j, "commands");
	json_put_int(j, (int64_t)s->n_commands);
	json_key(j, "idle_ms");
	json_put_int(j, s->n_commands ? 0 : (run_now_us() - server->idle_us) / 1000);
}

static void print_inside(struct session *s, struct buf *out)
{
	struct gate_status gate = { .generation = 1 };
	struct json_out j = { .out = out };

	if (s->tree.network.gate)
		gate_get_status(s->tree.network.gate, &gate);
	json_open(&j, '{');
	s->o->ops->print(s->o->ops->arg, &j);
	json_key(&j, "generation");
	json_put_int(&j, (int64_t)gate.generation);
	json_close(&j, '}');
	buf_putc(out, '\n');
}

/* By another name first: a reader inside sees the old one or the new one. */
void session_write_status(struct server *server)
{
	struct session *s = server->session;
	char folder[MAX_LIVE_ROOT + 64], new[sizeof(folder) + 8], path[sizeof(folder) + 24];
	cleanup_buf struct buf out = BUF(MAX_CONTROL_BYTES);
	cleanup_fd int fd = -1;

	if (!s || !server->changed)
		return;
	server->changed = false;
	live_inside(s->live, folder);
	snprintf(new, sizeof(new), "%s/new", folder);
	snprintf(path, sizeof(path), "%s/" PLAN_STATUS_FILE, folder);
	print_inside(s, &out);
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0444);
	/* What cannot be told must not be told wrongly. */
	if (!buf_ok(&out) || fd < 0 || write(fd, out.data, out.n) != (ssize_t)out.n ||
	    rename(new, path) < 0)
		unlink(path);
}

/* ---- start and end ------------------------------------------------------ */

static int watch(struct session *s, struct cordon_err *err)
{
	/* Commands start with every signal as a new program has it. */
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	if (run_watch_signals(&s->signals, err) < 0)
		return -1;
	if (!s->o->owner)
		return 0;
	s->owner = pidfd_of(s->o->owner);
	if (s->owner < 0)
		return err_sys(err, CORDON_E_USAGE, "--owner: there is no process %d",
			       s->o->owner);
	return 0;
}

static int start(struct session *s, struct cordon_err *err)
{
	struct native_stdio io = { .fd = { 0, 1, 2 } };

	if (tree_start(&s->tree, &io, err) < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* Everything inside is gone: whoever waits hears it. */
static void end_commands(struct session *s)
{
	struct run_result *res = s->tree.reporter->res;
	int64_t ignored_us;

	if (s->is_ready && limiter_check(s->tree.limiter, &ignored_us) == LIMIT_MEMORY &&
	    res->limit == LIMIT_OK)
		res->limit = LIMIT_MEMORY;
	while (s->commands) {
		struct command *c = s->commands;

		c->res.status = SIGKILL;
		if (c->res.limit == LIMIT_OK)
			c->res.limit = res->limit;
		c->res.oom_killed = c->res.limit == LIMIT_MEMORY;
		if (!c->res.started)
			err_set(&c->res.err, CORDON_E_PEER, "the session ended: %s",
				s->why ? s->why : limit_kind_name(res->limit));
		end_command(s, c);
	}
}

static int stop(struct session *s, struct cordon_err *err)
{
	struct cordon_err ignored;
	int rc = 0;

	if (s->tree.child.pidfd >= 0) {
		tree_kill(&s->tree);
		rc = tree_wait(&s->tree, err);
		if (!s->ending && !s->why)
			s->why = "its first process was killed";
		(void)!read_messages(s, &ignored);
		end_commands(s);
		if (s->tree.guard)
			run_report_lost(s->tree.reporter, guard_denials_lost(s->tree.guard));
	}
	server_release(&s->server);
	tree_stop(&s->tree);
	if (s->tree.limiter)
		tree_usage(&s->tree, &s->tree.reporter->res->usage);
	tree_release(&s->tree);
	/* Last: if we are killed before, it says what is to be cleared away. */
	live_remove(s->live);
	fd_close(&s->owner);
	fd_close(&s->signals);
	return rc;
}

/* Whose it is cannot be told of the network, of who has made a session of his own and of a
 * command whose start we have not heard of: then it may be anybody's. */
static void on_denial(void *arg, const struct denial *d)
{
	struct session *s = arg;
	struct command *whose = s->commands;

	while (whose && whose->leader != d->leader)
		whose = whose->next;
	for (struct command *c = s->commands; c; c = c->next)
		if (!whose || c == whose)
			denials_add(&c->res.denials, d->kind, d->what, d->port, d->reason,
				    d->hint);
}

/* Refusals of which only the number is known: each running command may have caused them. */
static void on_lost(void *arg, uint64_t n)
{
	const struct session *s = arg;

	for (struct command *c = s->commands; c; c = c->next)
		c->res.denials.left_out += n;
}

int session_hold(const struct plan *plan, const struct host_caps *caps, struct live *live,
		 const struct session_options *o, struct cordon_err *err)
{
	struct session s = { .o = o, .live = live, .signals = -1, .owner = -1,
			     .kill_at_us = INT64_MAX, .phase = CONTROL_MESSAGE,
			     .switch_by_us = INT64_MAX };
	struct cordon_err end_err;
	int rc;

	tree_init(&s.tree, plan, caps, o->reporter);
	server_init(&s.server, &s.tree, o->ops, live);
	s.server.session = &s;
	o->reporter->on_denial = on_denial;
	o->reporter->on_lost = on_lost;
	o->reporter->denial_arg = &s;
	rc = watch(&s, err);
	if (rc == 0)
		rc = start(&s, err);
	if (rc == 0)
		rc = loop(&s, err);
	if (rc < 0 && !s.why)
		s.why = err->msg;
	if (stop(&s, &end_err) < 0 && rc == 0) {
		*err = end_err;
		rc = -1;
	}
	o->reporter->on_denial = NULL;
	o->reporter->on_lost = NULL;
	if (rc == 0 && !s.is_ready) {
		*err = s.failed;
		rc = s.failed.code ? -1 :
		     tree_refuse_killed(plan, o->reporter->res->usage.oom_killed, err);
	}
	o->reporter->res->started = s.is_ready;
	return rc;
}

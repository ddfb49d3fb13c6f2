/* The supervisor's end of the control socket; see server.h. */
#include "super/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "super/proc_read.h"
#include "super/run_priv.h"
#include "super/session_priv.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif

#define CLIENTS_AT_ONCE	16
#define MAX_STATUS	(1u << 20)	/* bytes: a user may be in 65536 groups */

void server_init(struct server *s, struct tree *tree, const struct session_ops *ops,
		 const struct live *live)
{
	*s = (struct server){ .tree = tree, .ops = ops, .live = live, .epoll = -1,
			      .begin_us = run_now_us(), .idle_us = run_now_us() };
}

int server_event_fd(const struct server *s)
{
	return s->epoll >= 0 ? s->epoll : s->live->control;
}

int64_t server_next_us(const struct server *s)
{
	return s->ops ? s->ops->next_us(s->ops->arg) : INT64_MAX;
}

/* ---- answers ------------------------------------------------------------ */

static int answer_text(const struct client *c, enum control_type type, int64_t number,
		       const char *text)
{
	cleanup_control_out struct control_out o;
	struct cordon_err ignored;

	control_out_init(&o, type);
	o.head.numbers[0] = number;
	control_put(&o, 0, text);
	return control_send(c->fd, &o, &ignored);
}

int server_refuse(const struct client *c, const struct cordon_err *err)
{
	return answer_text(c, CONTROL_REFUSED, err->code, err->msg);
}

/* ---- what is inside ------------------------------------------------------ */

/* The processes that are alive inside, without init, and their memory. */
static void count_tree(const struct tree *t, int64_t *ret_processes, int64_t *ret_bytes)
{
	int fd = t->fds.fd[NATIVE_PROC] < 0 ? -1 : openat(t->fds.fd[NATIVE_PROC], ".",
							  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct proc_status status;
	struct dirent *d;

	*ret_processes = *ret_bytes = 0;
	if (!dir)
		fd_close(&fd);
	while (dir && (d = readdir(dir))) {
		if (d->d_name[strspn(d->d_name, "0123456789")] || strcmp(d->d_name, "1") == 0 ||
		    !proc_read_status(t->fds.fd[NATIVE_PROC], d->d_name, &status))
			continue;
		++*ret_processes;
		*ret_bytes += status.anon + status.shmem + status.swap;
	}
	if (dir)
		closedir(dir);
}

/* ---- the network -------------------------------------------------------- */

/* Limits first: they can be taken back.  If not, there is nothing that holds as it
 * should, and everything ends. */
static int change_tree(struct server *s, const struct session_change *change,
		       struct cordon_err *err)
{
	struct plan_limits before = s->tree->limits;
	struct cordon_err ignored;

	if (s->session && tree_change_limits(s->tree, &change->limits, err) < 0)
		return -1;
	if (!s->tree->network.gate || gate_set_policy(s->tree->network.gate, change->net, err) == 0)
		return 0;
	if (s->session && tree_change_limits(s->tree, &before, &ignored) < 0)
		tree_kill(s->tree);
	return -1;
}

/* How many processes that other phases left the wider network of a new one is for; 0: it is
 * not wider. */
static int count_leftovers(const struct server *s, const struct control_message *m, int64_t *ret,
			   struct cordon_err *err)
{
	int64_t ignored;
	bool wider;

	*ret = 0;
	if (!s->session || !m || m->head.type != CONTROL_PHASE)
		return 0;
	count_tree(s->tree, ret, &ignored);
	if (*ret && s->ops->is_wider(s->ops->arg, &wider, err) < 0)
		return -1;
	if (*ret && !wider)
		*ret = 0;
	return 0;
}

/* One atomic step: the tree holds the new one, or everything stays. */
static int change_network(struct server *s, const struct control_message *m,
			  int64_t *ret_leftovers, struct cordon_err *err)
{
	struct session_change change;
	struct gate_status gate;
	int rc;

	if (!s->tree->network.gate && m && m->head.type != CONTROL_PHASE)
		return err_set(err, CORDON_E_HOST,
			       "this cordon was started without a gate, so its network cannot "
			       "change; start a session, or a run with an allowlist");
	if (s->ops->change(s->ops->arg, m, &change, err) < 0)
		return -1;
	rc = count_leftovers(s, m, ret_leftovers, err);
	if (rc == 0)
		rc = change_tree(s, &change, err);
	s->ops->settle(s->ops->arg, rc == 0);
	if (rc < 0)
		return -1;
	if (s->tree->network.gate) {
		if (m && m->head.type == CONTROL_PHASE)
			gate_leave_phase(s->tree->network.gate);
		gate_get_status(s->tree->network.gate, &gate);
		run_report_generation(s->tree->reporter, gate.generation);
	}
	s->changed = true;
	return 0;
}

int server_answer_change(struct client *c, const struct control_message *m,
			 struct cordon_err *err)
{
	struct server *s = c->server;
	int64_t leftovers;
	char text[64];
	struct gate_status gate = { .generation = 1 };

	if (change_network(s, m, &leftovers, err) < 0)
		return -1;
	/* Before anybody hears that it is done. */
	session_write_status(s);
	if (s->tree->network.gate)
		gate_get_status(s->tree->network.gate, &gate);
	snprintf(text, sizeof(text), "generation %llu\n", (unsigned long long)gate.generation);
	return answer_text(c, CONTROL_DONE, leftovers, text);
}

static int answer_change(struct client *c, struct control_message *m, struct cordon_err *err)
{
	if (m->head.type == CONTROL_PHASE && m->head.numbers[0])
		return session_end_leftovers(c, m, err);
	return server_answer_change(c, m, err);
}

/* ---- status ------------------------------------------------------------- */

/* What the supervisor holds and spends for the connections of the tree. */
static void print_gate(const struct gate_status *gate, struct json_out *j)
{
	json_key(j, "buffers_kb");
	json_put_int(j, (int64_t)(gate->memory / 1024));
	json_key(j, "buffers_limit_kb");
	json_put_int(j, (int64_t)(gate->memory_limit / 1024));
	json_key(j, "gate_cpu_ms");
	json_put_int(j, gate->cpu_us / 1000);
}

void server_print_status(const struct server *s, struct json_out *j)
{
	struct gate_status gate = { .generation = 1 };
	int64_t processes, bytes;

	if (s->tree->network.gate)
		gate_get_status(s->tree->network.gate, &gate);
	count_tree(s->tree, &processes, &bytes);
	json_key(j, "run_id");
	json_put_text(j, s->tree->reporter->res->run_id);
	json_key(j, "pid");
	json_put_int(j, getpid());
	session_print_status(s, j);
	if (s->ops)
		s->ops->print(s->ops->arg, j);
	json_key(j, "generation");
	json_put_int(j, (int64_t)gate.generation);
	json_key(j, "connections");
	json_put_int(j, gate.connections);
	if (s->tree->network.gate)
		print_gate(&gate, j);
	json_key(j, "processes");
	json_put_int(j, processes);
	json_key(j, "memory_kb");
	json_put_int(j, bytes / 1024);
	json_key(j, "alive_ms");
	json_put_int(j, (run_now_us() - s->begin_us) / 1000);
	json_key(j, "denials");
	denials_print(&s->tree->reporter->res->denials, j);
}

static int answer_status(struct client *c, struct control_message *m UNUSED,
			 struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_CONTROL_BYTES / 2);
	struct json_out j = { .out = &out };

	json_open(&j, '{');
	server_print_status(c->server, &j);
	json_close(&j, '}');
	buf_putc(&out, '\n');
	if (!buf_ok(&out))
		return err_nomem(err);
	return answer_text(c, CONTROL_DONE, 0, buf_text(&out));
}

/* ---- requests ----------------------------------------------------------- */

static const struct {
	int (*answer)(struct client *c, struct control_message *m, struct cordon_err *err);
	bool in_run;		/* or in a session only */
} requests[N_CONTROL_TYPES] = {
	[CONTROL_EXEC] = { session_answer_exec, false },
	[CONTROL_SIGNAL] = { session_answer_signal, false },
	[CONTROL_PHASE] = { answer_change, true },
	[CONTROL_NETWORK] = { answer_change, true },
	[CONTROL_ALLOW] = { answer_change, true },
	[CONTROL_STATUS] = { answer_status, true },
};

/* False: the connection is over. */
static bool answer(struct client *c)
{
	cleanup_control struct control_message m = CONTROL_MESSAGE;
	struct cordon_err err = { 0 };
	int rc = control_recv(c->fd, MSG_DONTWAIT, &m, &err);

	if (rc <= 0)
		return rc < 0 && err.code == CORDON_E_NONE;
	if (!requests[m.head.type].answer)
		return false;
	if (!c->server->ops || (!c->server->session && !requests[m.head.type].in_run))
		err_set(&err, CORDON_E_USAGE, "this is a run: it takes no '%s'; see cordon session",
			control_type_name((enum control_type)m.head.type));
	else if (requests[m.head.type].answer(c, &m, &err) == 0)
		return true;
	return server_refuse(c, &err) == 0;
}

/* Has a process one number alone, as we see it?  Whoever is in a cordon, in whichever, has one
 * of its own there, too; and who is seen by none is in no place below ours. */
static bool is_beside_us(pid_t pid)
{
	cleanup_arena struct arena a = ARENA(4 * MAX_STATUS);
	struct cordon_err ignored;
	struct str text, numbers;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	/* All of it: a line that is cut has fewer numbers. */
	if (fd_read_file(path, MAX_STATUS, &a, &text, &ignored) < 0)
		return false;
	numbers = proc_find_line(text, "NSpid:");
	return numbers.n && str_find(numbers, '\t') == numbers.n;
}

/* A number that was read of a process which has ended since may be another's. */
static bool has_ended(int fd)
{
	int pidfd = -1;
	socklen_t n = sizeof(pidfd);
	struct pollfd p;
	bool ended;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0)
		return errno != ENOPROTOOPT;	/* since Linux 6.5 */
	p = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	ended = poll(&p, 1, 0) != 0;
	close(pidfd);
	return ended;
}

/* Only its own user may speak to a supervisor, root included; and nobody from inside a cordon,
 * to which a root may show the socket of another one. */
static bool is_welcome(int fd)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid() &&
	       is_beside_us(who.pid) && !has_ended(fd);
}

static int greet(const struct client *c)
{
	const struct plan *p = c->server->tree->plan;
	cleanup_control_out struct control_out o;
	struct cordon_err ignored;

	control_out_init(&o, CONTROL_HELLO);
	o.head.numbers[HELLO_OUTPUT] = p->limits.output;
	o.head.numbers[HELLO_OUTPUT_COUNTED] = session_counts_output(c->server->session);
	o.head.numbers[HELLO_IS_SESSION] = c->server->session != NULL;
	return control_send(c->fd, &o, &ignored);
}

static void accept_one(struct server *s)
{
	cleanup_fd int fd = accept4(s->live->control, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event e = { .events = EPOLLIN };
	struct client *c;

	if (fd < 0 || s->n_clients == MAX_SESSION_CLIENTS || !is_welcome(fd))
		return;
	c = calloc(1, sizeof(*c));
	if (!c)
		return;
	*c = (struct client){ .server = s, .fd = fd, .next = s->clients };
	e.data.ptr = c;
	if (greet(c) < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
		free(c);
		return;
	}
	(void)fd_take(&fd);
	s->clients = c;
	s->n_clients++;
}

/* The first one that asks makes it: most runs are asked nothing. */
static int open_epoll(struct server *s)
{
	struct epoll_event e = { .events = EPOLLIN };

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return -1;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->live->control, &e) < 0)
		fd_close(&s->epoll);
	return s->epoll < 0 ? -1 : 0;
}

void server_close_client(struct client *c)
{
	struct server *s = c->server;
	struct client **at = &s->clients;

	session_forget_client(c);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->n_clients--;
	s->idle_us = run_now_us();
	/* Closing alone does not: a helper that was forked just now may still have
	 * it open, and then the set tells of a client that is freed. */
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	free(c);
}

int server_work(struct server *s, struct cordon_err *err)
{
	struct epoll_event events[CLIENTS_AT_ONCE];
	int64_t ignored;
	int n = 0;

	if (server_next_us(s) <= run_now_us() && change_network(s, NULL, &ignored, err) < 0)
		return err_wrap(err, "cannot take back the hosts that were allowed for a while");
	if (s->live->control >= 0 && (s->epoll >= 0 || open_epoll(s) == 0))
		n = epoll_wait(s->epoll, events, CLIENTS_AT_ONCE, 0);
	/* An answer closes no connection but its own. */
	for (int i = 0; i < n; i++) {
		struct client *c = events[i].data.ptr;

		if (!c)
			accept_one(s);
		else if (!answer(c))
			server_close_client(c);
	}
	session_write_status(s);
	return 0;
}

void server_release(struct server *s)
{
	while (s->clients)
		server_close_client(s->clients);
	fd_close(&s->epoll);
}

/* Asking something of a live cordon; see session.h.  Runs in the caller's own
 * process: it owns the terminal, passes signals on and keeps what is captured. */
#include "super/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/signals.h"
#include "super/caller.h"
#include "super/result_message.h"
#include "super/run_priv.h"
#include "super/stdio.h"

struct exec {
	int fd, signals;
	struct stdio stdio;
	struct run_result *res;
	struct plan *plan;
	struct arena *arena;
	int64_t begin_us;	/* when the command began; 0: not yet */
	bool done;
};

static int gone(struct cordon_err *err)
{
	return err_set(err, CORDON_E_PEER, "the supervisor went away");
}

/* What the other side says first. */
static int recv_hello(int fd, struct control_message *ret, struct cordon_err *err)
{
	int rc = control_recv(fd, 0, ret, err);

	if (rc == 0 || (rc < 0 && err->code == CORDON_E_NONE))
		return gone(err);
	if (rc > 0 && ret->head.type != CONTROL_HELLO)
		return err_set(err, CORDON_E_PEER, "the supervisor does not greet");
	return rc < 0 ? -1 : 0;
}

static int take_refusal(const struct control_message *m, struct cordon_err *err)
{
	enum cordon_errc code = CORDON_E_PEER;

	if (m->head.numbers[0] > CORDON_E_NONE && m->head.numbers[0] < CORDON_N_ERRCS)
		code = (enum cordon_errc)m->head.numbers[0];
	return err_set(err, code, "%s", control_text(m, 0, 0));
}

int session_ask(int fd, struct control_out *request, struct buf *out, int64_t *ret_number,
		struct cordon_err *err)
{
	cleanup_control struct control_message hello = CONTROL_MESSAGE, m = CONTROL_MESSAGE;
	int rc;

	if (recv_hello(fd, &hello, err) < 0 || control_send(fd, request, err) < 0)
		return -1;
	rc = control_recv(fd, 0, &m, err);
	if (rc <= 0)
		return rc < 0 && err->code != CORDON_E_NONE ? -1 : gone(err);
	if (m.head.type == CONTROL_REFUSED)
		return take_refusal(&m, err);
	if (m.head.type != CONTROL_DONE)
		return err_set(err, CORDON_E_PEER, "the supervisor's answer makes no sense");
	buf_puts(out, control_text(&m, 0, 0));
	*ret_number = m.head.numbers[0];
	return 0;
}

/* ---- a command ---------------------------------------------------------- */

static void put_list(struct control_out *o, size_t list, const char *const *texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		control_put(o, list, texts[i]);
}

static int send_exec(const struct exec *x, const struct session_exec *e, struct cordon_err *err)
{
	cleanup_control_out struct control_out o;
	const struct native_stdio *io = &x->stdio.child;

	control_out_init(&o, CONTROL_EXEC);
	o.head.numbers[EXEC_TIMEOUT_MS] = e->timeout_ms == INT64_MAX ? 0 : e->timeout_ms;
	o.head.numbers[EXEC_TERMINAL] = io->terminal;
	o.head.numbers[EXEC_CONTROLLING] = io->controlling;
	o.head.settings = io->settings;
	o.head.size = io->size;
	for (int i = 0; i < 3; i++)
		if (io->fd[i] >= 0) {
			o.head.numbers[EXEC_STREAMS] |= 1 << i;
			o.fds[o.n_fds++] = io->fd[i];
		}
	put_list(&o, EXEC_ARGV, e->argv);
	put_list(&o, EXEC_ENVIRON, e->environ);
	control_put(&o, EXEC_WORDS, e->cwd);
	control_put(&o, EXEC_WORDS, e->cwd_asked ? "1" : "");
	control_put(&o, EXEC_WORDS, e->shell_text ? e->shell_text : "");
	put_list(&o, EXEC_SETTINGS, e->settings);
	return control_send(x->fd, &o, err);
}

static void send_signal(const struct exec *x, int signal)
{
	cleanup_control_out struct control_out o;
	struct cordon_err ignored;

	control_out_init(&o, CONTROL_SIGNAL);
	o.head.numbers[0] = signal;
	(void)!control_send(x->fd, &o, &ignored);
}

/* As the caller's job control wants it; returns when it lets us go on. */
static void stop_with_caller(struct exec *x)
{
	stdio_pause(&x->stdio);
	raise(SIGSTOP);
	stdio_resume(&x->stdio);
}

/* By ^Z in the command's terminal.  Without a shell nobody would continue us. */
static void on_stopped(struct exec *x)
{
	if (x->stdio.raw && getpgrp() != getsid(0))
		stop_with_caller(x);
	send_signal(x, SIGCONT);
}

static void on_signal(struct exec *x, int signal)
{
	switch (signal) {
	case SIGWINCH:
		stdio_resize(&x->stdio);
		/* A terminal of its own tells the command itself. */
		if (!x->stdio.child.controlling)
			send_signal(x, signal);
		break;
	case SIGTSTP:
		send_signal(x, SIGSTOP);
		/* With its terminal we are told when it has stopped. */
		if (!x->stdio.child.controlling)
			stop_with_caller(x);
		break;
	default:
		send_signal(x, signal);
	}
}

static int on_answer(struct exec *x, struct control_message *m, struct cordon_err *err)
{
	switch (m->head.type) {
	case CONTROL_STARTED:
		x->res->started = true;
		x->begin_us = run_now_us();
		if (m->n_fds && stdio_join(&x->stdio, fd_take(&m->fds[0]), err) < 0)
			return -1;
		return 0;
	case CONTROL_STOPPED:
		on_stopped(x);
		return 0;
	case CONTROL_RESULT:
		x->done = true;
		/* What it has left in the background may write for ever. */
		stdio_end(&x->stdio);
		return result_message_take(m, x->arena, x->res, x->plan, err);
	case CONTROL_REFUSED:
		return take_refusal(m, err);
	default:
		return err_set(err, CORDON_E_PEER, "the supervisor's answer makes no sense");
	}
}

static int read_answers(struct exec *x, struct cordon_err *err)
{
	while (!x->done) {
		cleanup_control struct control_message m = CONTROL_MESSAGE;
		int rc = control_recv(x->fd, MSG_DONTWAIT, &m, err);

		if (rc < 0)
			return err->code == CORDON_E_NONE ? 0 : -1;
		if (rc == 0)
			return gone(err);
		if (on_answer(x, &m, err) < 0)
			return -1;
	}
	return 0;
}

static void stop_for_output(struct exec *x)
{
	if (x->res->limit != LIMIT_OK)
		return;
	x->res->limit = LIMIT_OUTPUT;
	send_signal(x, SIGTERM);
	send_signal(x, SIGKILL);
}

static int loop(struct exec *x, struct cordon_err *err)
{
	struct pollfd fds[2 + 8];
	struct signalfd_siginfo si;

	while (!x->done) {
		fds[0] = (struct pollfd){ .fd = x->fd, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = x->signals, .events = POLLIN };
		if (poll(fds, (nfds_t)(2 + stdio_poll(&x->stdio, fds + 2)), -1) < 0 &&
		    errno != EINTR)
			return err_sys(err, CORDON_E_SETUP, "cannot wait for the command");
		if (fds[1].revents)
			while (read(x->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
				on_signal(x, (int)si.ssi_signo);
		if (fds[0].revents && read_answers(x, err) < 0)
			return -1;
		if (!stdio_move(&x->stdio))
			stop_for_output(x);
	}
	return 0;
}

/* No result comes any more: as the command has begun, that is no refusal.  It does not
 * outlive its supervisor, nor our connection. */
static void settle_lost(struct exec *x)
{
	if (!x->begin_us)
		return;
	x->res->status = SIGKILL;
	x->res->duration_ms = (run_now_us() - x->begin_us) / 1000;
}

int session_exec(int fd, const struct session_exec *e, struct arena *a, struct run_result *ret,
		 struct plan *ret_plan, struct cordon_err *err)
{
	struct exec x = { .fd = fd, .signals = -1, .res = ret, .plan = ret_plan, .arena = a };
	cleanup_control struct control_message hello = CONTROL_MESSAGE;
	struct caller caller;
	int rc;

	if (recv_hello(fd, &hello, err) < 0)
		return -1;
	caller_init(&caller);
	rc = stdio_open(&x.stdio, e->capture ? ret->out : NULL, ret->truncated,
			hello.head.numbers[HELLO_OUTPUT],
			hello.head.numbers[HELLO_OUTPUT_COUNTED], err);
	if (rc == 0)
		rc = run_watch_signals(&x.signals, err);
	if (rc == 0)
		rc = send_exec(&x, e, err);
	if (rc == 0) {
		stdio_started(&x.stdio);
		signals_ignore_writes();
		rc = loop(&x, err);
	}
	if (rc < 0)
		settle_lost(&x);
	stdio_wait(&x.stdio);
	run_drain_output(ret, &x.stdio, x.signals, run_ended_well(ret));
	if (ret->limit == LIMIT_OUTPUT)
		ret->limit_value = hello.head.numbers[HELLO_OUTPUT];
	stdio_close(&x.stdio);
	fd_close(&x.signals);
	caller_release(&caller);
	return rc;
}

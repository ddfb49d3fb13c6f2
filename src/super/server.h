/* The supervisor's end of the control socket: who asks, and what is answered.
 *
 * The same for a run and a session; a run starts no commands.  Never blocks. */
#ifndef SUPER_SERVER_H
#define SUPER_SERVER_H

#include "super/live.h"
#include "super/session_ops.h"
#include "super/tree.h"

/* One connection. */
struct client {
	struct server *server;
	int fd;
	void *command;		/* of a session: what runs for it, or NULL */
	struct client *next;
};

struct server {
	struct tree *tree;
	const struct session_ops *ops;
	const struct live *live;
	int epoll;		/* -1: nobody has asked yet */
	struct client *clients;
	size_t n_clients;
	int64_t begin_us, idle_us;	/* idle_us: when the last one left */
	bool changed;		/* of a session: its status file is to be written */
	/* Of a session; NULL in a run. */
	struct session *session;
};

void server_init(struct server *s, struct tree *tree, const struct session_ops *ops,
		 const struct live *live);
/* To be polled, or -1; and when to work without an event. */
int server_event_fd(const struct server *s);
int64_t server_next_us(const struct server *s);
/* -1: what was allowed for a while cannot be taken back, so nothing may go on. */
int server_work(struct server *s, struct cordon_err *err) MUST_USE;
void server_close_client(struct client *c);
void server_release(struct server *s);

/* PHASE, NETWORK or ALLOW: change the network, and answer. */
int server_answer_change(struct client *c, const struct control_message *m,
			 struct cordon_err *err) MUST_USE;
/* Answer a request with an error.  -1: the client does not hear it. */
int server_refuse(const struct client *c, const struct cordon_err *err) MUST_USE;

/* What is told about the whole: keys of an object. */
void server_print_status(const struct server *s, struct json_out *j);

#endif

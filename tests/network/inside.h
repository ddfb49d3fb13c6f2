/* A network as init makes it, and a process without rights inside that tries
 * things there on request; the test itself stays outside, as the gate does. */
#ifndef TESTS_NETWORK_INSIDE_H
#define TESTS_NETWORK_INSIDE_H

#include <netinet/in.h>
#include <sys/types.h>

#include "backend/native/native.h"

enum act {
	ACT_CONNECT,		/* TCP; the connection stays until the next act */
	ACT_ASK,		/* one UDP datagram from a connected socket, and its answer */
	ACT_SEND,		/* one datagram from a socket that is not connected */
	ACT_SERVE,		/* listen on the address, connect to it, pass a byte */
	ACT_PING,
	ACT_BIND,		/* TCP */
	ACT_SOCKET_SEND,	/* connect and send on a socket of `type` and `protocol` */
	ACT_NETLINK,		/* try to change rules and routes */
	N_ACTS
};

struct wish {
	enum act act;
	int type, protocol;
	struct sockaddr_in6 to;		/* or a sockaddr_in in its place */
	socklen_t n;
};

struct outcome {
	int error;		/* 0: it worked */
	int value;
	struct sockaddr_in6 from;	/* of what was received, or our own address */
};

struct inside {
	const char *settings;	/* a file of /proc/sys that "1" is written to first, or NULL */
	pid_t pid;
	int sock;
	struct native_fds fds;
};

/* NULL, or what went wrong. */
const char *inside_start(struct inside *in, struct plan *plan);
struct outcome inside_do(struct inside *in, const struct wish *w);
/* To begin now, and its outcome later. */
void inside_begin(struct inside *in, const struct wish *w);
struct outcome inside_end(struct inside *in);
void inside_stop(struct inside *in);

/* An address and a port. */
struct wish wish_to(enum act act, const char *addr, unsigned port);

#endif

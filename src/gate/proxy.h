/* What a client asks of the gate where its connections cannot be caught and it has
 * to say itself whom they are for (NET_PROXY): by SOCKS5 without a login (RFC 1928)
 * or by HTTP CONNECT (RFC 9110), told apart by the first byte.
 *
 * Pure.  The gate shows what came, and takes as much of it off the socket as was
 * taken here:
 *
 * [PX1] Nothing behind the request is taken: that is for the host.
 * [PX2] However the bytes are cut, the same ones are taken, with the same verdict.
 * [PX3] A host that was asked for has its canonical form, and its port is not 0.
 */
#ifndef GATE_PROXY_H
#define GATE_PROXY_H

#include "policy/host.h"

enum proxy_verdict {
	PROXY_MORE,		/* all was taken, and more must come */
	PROXY_GREETED,		/* PROXY_HELLO is to be said; then it goes on */
	PROXY_ASKED,		/* host and port are there */
	PROXY_BAD,		/* `answer` is to be said; it is over */
	N_PROXY_VERDICTS
};

enum proxy_answer {
	PROXY_HELLO,		/* no login is needed */
	PROXY_NO_LOGIN,		/* and none is taken */
	PROXY_CONNECTED,
	PROXY_DENIED,		/* by the policy */
	PROXY_UNREACHABLE,
	PROXY_NO_COMMAND,	/* to connect is all that can be asked */
	PROXY_NO_ADDRESS,	/* of that kind */
	PROXY_MALFORMED,
	N_PROXY_ANSWERS
};

struct proxy_ask {
	bool is_socks, is_greeted;
	enum proxy_answer answer;	/* valid after PROXY_BAD */
	struct host host;
	uint16_t port;
	size_t n;
	char held[MAX_PROXY_ASK];	/* of the part that is being read */
};

/* To be called with a struct that is all 0, or was left by the last call. */
enum proxy_verdict proxy_feed(struct proxy_ask *a, const unsigned char *bytes, size_t n,
			      size_t *ret_taken);

#define PROXY_ANSWER_BYTES	2048

/* In the client's language; `why` is shown where it has words, and may be "".
 * Returns the length. */
size_t proxy_answer_print(const struct proxy_ask *a, enum proxy_answer answer, const char *why,
			  char out[PROXY_ANSWER_BYTES]);

#endif

/* May this be reached?  Pure, and the only place that says yes. */
#ifndef GATE_DECIDE_H
#define GATE_DECIDE_H

#include "plan/net.h"

struct decide_question {
	const struct host *host;	/* the name that was asked for, or the address dialled */
	unsigned port;			/* 0: may it be reached at all? */
	bool datagrams;
	enum first_bytes first;		/* of a connection, once they are there */
	bool is_own;			/* `host` is an address, and one of this machine */
	/* What the name resolves to: all of it, or nothing as long as that is not known. */
	struct match_answers answers;
};

struct decide_verdict {
	bool allowed;
	unsigned good;			/* bits: the answers that may be dialled */
	/* Instead of the answers; port 0: the one that was asked for. */
	bool has_instead;
	struct host_addr instead;
	uint16_t instead_port;
	struct match_verdict why;	/* when it is not allowed */
};

void decide(const struct plan_net *net, const struct decide_question *q,
	    struct decide_verdict *ret);
/* The same about a URL, HOST or HOST:PORT, as a text. */
void decide_target(const struct plan_net *net, struct str target,
		   const struct match_answers *answers, struct match_verdict *ret);
/* Is there any port of the host that may be reached, by streams (`ret` is about
 * these) or by datagrams? */
bool decide_any(const struct plan_net *net, const struct host *h, struct decide_verdict *ret);

#endif

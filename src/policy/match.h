/* Asking a policy about one host or one command, without doing anything. */
#ifndef POLICY_MATCH_H
#define POLICY_MATCH_H

#include "policy/field.h"
#include "policy/host.h"

struct field_value;
struct policy;
struct section;

/* Whose words a refusal is told in. */
enum message_style { STYLE_NATIVE, STYLE_AI_HARNESS, STYLE_HARN, N_MESSAGE_STYLES };

#define MATCH_REASON	512

struct match_verdict {
	bool allowed;
	char reason[MATCH_REASON];	/* in the words of the policy's dialect */
	char hint[MATCH_REASON];	/* what would allow it */
};

/* What a connection begins with. */
enum first_bytes {
	FIRST_UNSEEN,		/* not known yet, or not asked about */
	FIRST_HTTP,
	FIRST_TLS,
	FIRST_OTHER,
	FIRST_OF_SERVER,	/* the server's bytes */
	FIRST_NONE,		/* nothing, for as long as the gate waits */
	N_FIRST_BYTES
};

/* A policy's network part, made ready for many questions. */
struct matcher {
	enum network_mode mode;
	enum message_style style;
	const struct field_value *deny_items;
	const struct host_set *allow, *deny;
	const struct host_set *deny_host;	/* the deny rules for every port */
	unsigned protocols;			/* bits of enum protocol_word */
};

/* Of the base, or of a phase.  `p` and its arena must outlive the matcher; its
 * mode must be set (read_defaults()). */
int matcher_init(struct matcher *m, const struct policy *p, const struct section *s,
		 struct cordon_err *err) MUST_USE;
struct match_target {
	struct host host;
	unsigned port;		/* 0: none is written */
	enum first_bytes first;	/* as the URL's scheme says */
};

/* A URL, HOST, or HOST:PORT.  False: no host can be judged, and *v says why. */
bool matcher_parse(const struct matcher *m, struct str target, struct match_target *ret,
		   struct match_verdict *v) MUST_USE;
/* The rules about the host as it was named: false fills *v, as in all that follow.  Port 0:
 * may any port be reached? */
bool matcher_check_rules(const struct matcher *m, const struct host *h, unsigned port,
			 struct match_verdict *v) MUST_USE;
/* An address that was dialled, and that the rules allow: does one of them name it where that is
 * needed?  `own`: it is an address of this machine. */
bool matcher_check_dialled(const struct matcher *m, const struct host_addr *addr, unsigned port,
			   bool own, struct match_verdict *v) MUST_USE;
/* No rule has a word about it: it leads to the machine itself, or back to the inside. */
bool matcher_check_loopback(const struct matcher *m, const struct host_addr *addr, unsigned port,
			    struct match_verdict *v) MUST_USE;

#define MAX_MATCH_ANSWERS	32

/* What a name resolves to, at most MAX_MATCH_ANSWERS.  `own[i]`: an address of this machine;
 * NULL: none is known to be. */
struct match_answers {
	const struct host_addr *addrs;
	const bool *own;
	size_t n;
};

/* A denied answer refuses the name.  Of the others the good ones (bits of *ret_good) are used,
 * and one is enough. */
bool matcher_check_answers(const struct matcher *m, const struct host *h, unsigned port,
			   const struct match_answers *answers, unsigned *ret_good,
			   struct match_verdict *v) MUST_USE;
/* network.protocols: does a connection have to begin with one of them? */
static inline bool matcher_judges_protocols(const struct matcher *m)
{
	return !(m->protocols & 1u << PROTOCOL_ANY);
}
/* May a connection to the host begin so? */
bool matcher_check_first(const struct matcher *m, const struct host *h, enum first_bytes first,
			 struct match_verdict *v) MUST_USE;
/* Is there a deny rule for it? */
bool matcher_denies(const struct matcher *m, const struct host *h, unsigned port);

#endif

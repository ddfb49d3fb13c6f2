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

/* A policy's network part, made ready for many questions. */
struct matcher {
	enum network_mode mode;
	enum message_style style;
	const struct field_value *deny_items;
	const struct host_set *allow, *deny;
	const struct host_set *deny_host;	/* the deny rules for every port */
};

/* Of the base, or of a phase.  `p` and its arena must outlive the matcher; its
 * mode must be set (read_defaults()). */
int matcher_init(struct matcher *m, const struct policy *p, const struct section *s,
		 struct cordon_err *err) MUST_USE;
/* `target` is a URL, HOST, or HOST:PORT.  `answers` are the addresses that the
 * name is taken to resolve to; none: the name alone is judged. */
void matcher_check(const struct matcher *m, struct str target, const struct host_addr *answers,
		   size_t n_answers, struct match_verdict *ret);
/* The same for a host that was parsed already. */
void matcher_check_host(const struct matcher *m, const struct host *h, unsigned port,
			const struct host_addr *answers, size_t n_answers,
			struct match_verdict *ret);
/* Is there a deny rule for it? */
bool matcher_denies(const struct matcher *m, const struct host *h, unsigned port);
/* May a name lead to this address?  Where the answers are mixed, only these are
 * used.  `own`: it is one of this machine's, and so as special as its loopback. */
bool matcher_accepts_answer(const struct matcher *m, const struct host_addr *answer, unsigned port,
			    bool own);

#endif

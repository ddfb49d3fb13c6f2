/* doctor --prove: canaries, acts that are tried outside and inside a cordon.
 *
 * Each protection has one or two; every act that is known is in tests/attack.
 *
 * Who runs
 *
 *   prover   the caller; makes a private directory and listens on two sockets
 *   witness  its child: a process to look for, and to signal
 *   outside  `cordon prove-act NAME BASE PORT`, the act as the caller
 *   inside   `cordon run … -- cordon prove-act NAME BASE PORT`
 *
 * BASE, the private directory:
 *
 *   outside/   beside the workspace: secret, target
 *   work/      the workspace, a repository
 *   home/      HOME, with a key in .ssh
 */
#ifndef LIB_PROVE_H
#define LIB_PROVE_H

#include "base/buf.h"
#include "base/err.h"

#define PROVE_SECRET	"cordon-canary-7b1f"	/* in files and in PROVE_VARIABLE */
#define PROVE_VARIABLE	"CORDON_PROVE_CANARY"
#define PROVE_WITNESS	"cordon-witness"	/* its name in /proc */
#define PROVE_REFUSED	10			/* exit code of an act that was refused */

struct prove_place {
	char base[64];	/* also the name of the abstract socket */
	int port;	/* of the TCP socket on 127.0.0.1 */
};

enum canary_must {
	MUST_FAIL,	/* be refused inside */
	MUST_END,	/* be refused inside, or ended by a limit */
	MUST_WORK	/* work inside */
};

struct canary {
	const char *promise, *name, *about;
	/* 0: done; -1: refused, `say` has the reason. */
	int (*act)(const struct prove_place *p, struct cordon_err *say);
	enum canary_must must;
	const char *option, *value; /* of the run, or NULL */
};

/* All of them; ends with a NULL name. */
extern const struct canary canaries[];

/* BASE/NAME; holds until the next call. */
const char *prove_path(const struct prove_place *p, const char *name);

/* Try all canaries and report as text or JSON.  *ret_holds: each did what it must. */
int prove_all(const char *program, bool json, struct buf *out, bool *ret_holds,
	      struct cordon_err *err) MUST_USE;

#endif

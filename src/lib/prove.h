/* doctor --prove: acts that must fail inside, tried inside and outside.
 *
 * Who runs
 *
 *   prover   the caller; makes a private place with canaries in it
 *   server   its child: answers on sockets
 *   witness  `cordon prove-act wait`: a process to look for, with a secret in
 *            its environment
 *   outside  `cordon prove-act NAME …`, the act as the caller
 *   inside   `cordon run … -- cordon prove-act NAME …`, the same in a cordon
 *
 * An act is done, or refused with a reason.  Only an act that is done outside
 * and refused inside proves anything.
 */
#ifndef LIB_PROVE_H
#define LIB_PROVE_H

#include "base/buf.h"
#include "base/err.h"

#define PROVE_CANARY	"cordon-canary-7b1f"	/* what is looked for */
#define PROVE_FD	9			/* left open by the prover */
#define PROVE_REFUSED	10			/* exit code of an act that was refused */

/* The private place, and what is in it:
 *
 *   outside/   beside the workspace: canary, target, socket
 *   work/      the workspace
 *   home/      HOME, with a key in .ssh
 */
struct prove_place {
	char base[64];
	int tcp, udp;		/* ports of the server on 127.0.0.1 */
	int pid;		/* of the witness */
};

/* 0: done; -1: refused, `say` has the reason. */
typedef int act_fn(const struct prove_place *p, struct cordon_err *say);

enum probe_kind {
	PROBE_REFUSED,		/* must fail inside */
	PROBE_ENDS,		/* must be ended inside, by a limit */
	PROBE_LEFT,		/* leaves something that must be gone after the run */
	PROBE_ADMITTED,		/* must work inside */
	N_PROBE_KINDS
};

/* One row: an act and what must become of it. */
struct probe {
	const char *promise;
	enum probe_kind kind;
	const char *name;
	const char *about;
	act_fn *act;
	const char *options[3];	/* of the run, besides the default policy */
};

/* Ends with a NULL name; defined beside the acts. */
extern const struct probe probes_files[], probes_network[], probes_processes[],
	probes_limits[], probes_secrets[];

/* BASE/NAME, in a buffer that lives until the next but three. */
const char *prove_path(const struct prove_place *p, const char *name);

struct prove_place_open;
/* Make the place and the server; NULL on failure, with nothing left. */
struct prove_place_open *prove_open(const char *program, struct cordon_err *err);
const struct prove_place *prove_place_of(const struct prove_place_open *o);
void prove_close(struct prove_place_open *o);

/* How an act went. */
enum try_end { TRY_DONE, TRY_REFUSED, TRY_FAILED, N_TRY_ENDS };
struct prove_try {
	enum try_end end;
	char says[160];		/* why it was refused, or why it did not run at all */
};
/* Try it once, outside or inside. */
int prove_act_run(struct prove_place_open *o, const struct probe *probe, bool inside,
		  struct prove_try *ret, struct cordon_err *err) MUST_USE;

/* All probes, as text or JSON.  *ret_holds: none was breached, none broken. */
int prove_all(const char *program, bool json, struct buf *out, bool *ret_holds,
	      struct cordon_err *err) MUST_USE;

#endif

/* cordon: the public interface.
 *
 * Everything a program may use of libcordon is declared here.  Handles are
 * opaque, each call takes one options struct, and every function that can
 * fail returns -1 (or NULL) with a filled struct cordon_err.  The library
 * neither prints nor exits, keeps no global state and starts no thread.
 */
#ifndef CORDON_H
#define CORDON_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What kind of thing went wrong. */
enum cordon_errc {
	CORDON_E_NONE,
	CORDON_E_USAGE,		/* the caller asked for something that is not offered */
	CORDON_E_POLICY,	/* the policy text: line and col say where */
	CORDON_E_HOST,		/* this machine cannot do it */
	CORDON_E_SETUP,		/* a system call failed: sys holds its errno */
	CORDON_E_PEER,		/* another program misbehaved */
	CORDON_E_NOMEM,
	CORDON_E_BUG,
	CORDON_N_ERRCS
};

/* One failure.  Of fixed size, so that it can cross a pipe in one write. */
struct cordon_err {
	enum cordon_errc code;
	int sys;		/* errno of the one call that failed, or 0 */
	unsigned line, col;	/* place in the policy text, or 0 */
	char msg[488];
};

#ifdef __cplusplus
}
#endif

#endif

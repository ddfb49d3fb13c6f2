/* Processes beside the supervisor, forked from it: what each of them takes and
 * gives up.  They are out of the tree's pid namespace, not dumpable, end with
 * their parent and hold only the descriptors that they need. */
#ifndef SUPER_ASIDE_H
#define SUPER_ASIDE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* No signal but those that nobody can block, no core, a name, and no descriptor but
 * these. */
int aside_detach(const char *name, const int *fds, size_t n, struct cordon_err *err) MUST_USE;
/* Close every descriptor but these (-1 is none). */
int aside_keep_only(const int *fds, size_t n, struct cordon_err *err) MUST_USE;
/* Enter the user namespace of the tree, if there is one, with these
 * capabilities in it (bits). */
int aside_enter_userns(int userns, uint64_t caps, struct cordon_err *err) MUST_USE;
/* Permitted and effective capabilities (bits) become these. */
int aside_set_caps(uint64_t caps, struct cordon_err *err) MUST_USE;
/* End with the parent, and be looked into by nobody: after the last change of
 * rights, which clears both. */
int aside_bind(pid_t parent, struct cordon_err *err) MUST_USE;

#endif

/* What a process that is a supervisor and nothing else gives up once its command runs. */
#ifndef SUPER_CONFINE_H
#define SUPER_CONFINE_H

#include <stdbool.h>

#include "base/err.h"

/* For good, and for its children: no program is executed any more, and what of the kernel no
 * supervisor has a use for (modules, bpf, keys, io_uring …) is not there.  Where the run does
 * without seccomp by consent, it may not come to pass. */
int confine_self(bool may_lack, struct cordon_err *err) MUST_USE;

#endif

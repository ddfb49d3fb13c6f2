/* What a process that is a supervisor and nothing else gives up once its command runs. */
#ifndef SUPER_CONFINE_H
#define SUPER_CONFINE_H

#include "base/err.h"

/* For good, and for its children: no program is executed any more, and what of the kernel no
 * supervisor has a use for (modules, bpf, keys, io_uring …) is not there. */
int confine_self(struct cordon_err *err) MUST_USE;

#endif

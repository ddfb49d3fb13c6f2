/* What to do about a feature that is missing: the sysctl, the package, the
 * option of the container, the profile to install. */
#ifndef HOST_HINT_H
#define HOST_HINT_H

#include "base/buf.h"
#include "base/err.h"
#include "host/caps.h"
#include "host/facts.h"

/* `why` is what the act that failed said.  Pure.  May have several lines; adds
 * nothing where nothing can be done. */
void host_hint(enum host_feature f, const struct cordon_err *why, const struct host_facts *facts,
	       struct buf *out);

#endif

/* What a worker of the resolver answers; see resolve.c. */
#ifndef GATE_RESOLVE_PRIV_H
#define GATE_RESOLVE_PRIV_H

#include "gate/names.h"

/* Of fixed size, in one message. */
struct resolve_answer {
	uint32_t n;
	struct host_addr answers[MAX_NAME_ANSWERS];
};

#endif

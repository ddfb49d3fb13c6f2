/* What a look at a client's bytes allows. */
#ifndef GATE_PEEK_STEP_H
#define GATE_PEEK_STEP_H

#include <stddef.h>

enum peek_verdict {
	PEEK_GO,		/* show the rest again, with what comes next */
	PEEK_RAW,		/* everything passes from here on, unseen */
	PEEK_REFUSED,		/* nothing more passes, ever */
	N_PEEK_VERDICTS
};

/* Of the bytes shown: `done` are finished with, to be sent and forgotten; up to
 * `send` (at least as many) may be sent already, and must be shown again. */
struct peek_step {
	enum peek_verdict verdict;
	size_t send, done;
};

#endif

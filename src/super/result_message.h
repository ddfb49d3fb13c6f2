/* How a command went, on its way from a session to whoever asked for it. */
#ifndef SUPER_RESULT_MESSAGE_H
#define SUPER_RESULT_MESSAGE_H

#include "super/control.h"
#include "super/run.h"

/* `o` is a CONTROL_RESULT. */
void result_message_put(struct control_out *o, const struct run_result *res,
			const struct plan *plan);
/* What the caller captured stays as it is.  Texts are copied to the arena. */
int result_message_take(const struct control_message *m, struct arena *a, struct run_result *res,
			struct plan *plan, struct cordon_err *err) MUST_USE;

#endif

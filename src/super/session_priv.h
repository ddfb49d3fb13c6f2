/* What the server of the control socket asks of a session.  Each does nothing
 * where there is none. */
#ifndef SUPER_SESSION_PRIV_H
#define SUPER_SESSION_PRIV_H

#include "super/server.h"

struct session;

int session_answer_exec(struct client *c, struct control_message *m, struct cordon_err *err);
int session_answer_signal(struct client *c, struct control_message *m, struct cordon_err *err);
/* PHASE that ends leftovers: everything inside is killed; then the phase is switched, and `c`
 * is answered.  The message is taken over. */
int session_end_leftovers(struct client *c, struct control_message *m, struct cordon_err *err);
/* It went away: its command ends. */
void session_forget_client(struct client *c);
/* Where something has changed: the file that the inside reads. */
void session_write_status(struct server *s);
/* Keys of an object: name, commands, idle time. */
void session_print_status(const struct server *s, struct json_out *j);
bool session_counts_output(const struct session *s);

#endif

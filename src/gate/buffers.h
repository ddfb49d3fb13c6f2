/* The memory that connections may hold: buffers of the kernel for their sockets,
 * bytes in pipes, and bytes that were read and not written yet.
 *
 * A connection gets its share when it is taken, and keeps it: what each needs at
 * least, and an eighth of what no connection has been given.  Bytes that were read
 * have a part of the budget that all connections share.
 *
 * [B1] Shares and bytes that were read are together no more than the budget.
 * GAP: a share that covers the most that the kernel's own tuning gives a socket
 *      relies on that most (net.ipv4.tcp_rmem, tcp_wmem).
 */
#ifndef GATE_BUFFERS_H
#define GATE_BUFFERS_H

#include "gate/conn_priv.h"

/* How many connections the budget carries, at most network.connections. */
unsigned buffers_most_conns(const struct gate *g);
/* Gives the connection its share, and limits the socket that it came by. */
void buffers_take(struct conn *c);
void buffers_give(struct conn *c);
/* Limits the other socket; before it is connected. */
void buffers_limit_server(const struct conn *c, int fd);
/* `n` more bytes that were read and not written yet; false: there is no room. */
bool buffers_hold(struct gate *g, size_t n) MUST_USE;
/* What all connections may hold now. */
size_t buffers_given(const struct gate *g);

#endif

/* Which protocol a connection's first bytes are of (network.protocols). */
#ifndef GATE_FIRST_H
#define GATE_FIRST_H

#include "policy/match.h"

/* `bytes`: everything that the client has sent.  FIRST_UNSEEN: more of it is needed, which is
 * never so of MAX_PEEK_LINE bytes.  More bytes never change another answer. */
enum first_bytes first_read(const unsigned char *bytes, size_t n);

#endif

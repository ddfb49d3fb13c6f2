/* A policy that was found and is not trusted only narrows. */
#ifndef LIB_NARROW_H
#define LIB_NARROW_H

#include "lib/compose.h"

/* c->policy, with the settings of the request in it, becomes what the same settings give
 * without any policy, as far as both allow it.  What is lost is in c->cuts, from
 * c->first_ask on. */
int narrow_policy(struct composition *c, const struct cordon_request *req) MUST_USE;
/* The cuts of narrow_policy(), in words and up to a length: "2 hosts, ~/.ssh". */
void narrow_print(const struct composition *c, struct buf *out);

#endif

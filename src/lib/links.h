/* Links by which somebody names what a cordon shows. */
#ifndef LIB_LINKS_H
#define LIB_LINKS_H

#include "lib/compose.h"
#include "plan/compile.h"

/* Find those on the way to HOME, to the working directory and to the roots, as they were
 * written, and add them to the request.  A link that leads to nothing of these is none. */
int links_find(struct composition *c, const struct cordon_request *req, struct plan_request *r,
	       struct cordon_err *err) MUST_USE;

#endif

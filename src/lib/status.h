/* What a live cordon says about itself, for people. */
#ifndef LIB_STATUS_H
#define LIB_STATUS_H

#include "base/buf.h"
#include "base/err.h"

/* From the JSON of its supervisor to a line for each thing.  -1: it is not such a
 * text. */
int status_print(struct str json, struct buf *out, struct cordon_err *err) MUST_USE;

#endif

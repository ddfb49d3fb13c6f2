/* Which found policies the user trusts: their paths and the hashes of their texts. */
#ifndef LIB_TRUST_H
#define LIB_TRUST_H

#include "lib/compose.h"

/* Is exactly this text recorded for this path?  False where the record cannot be read. */
bool trust_has(struct composition *c, const char *path, struct str text);

#endif

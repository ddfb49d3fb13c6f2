/* Sizes and durations: "512M", "10m". */
#ifndef POLICY_QUANTITY_H
#define POLICY_QUANTITY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Bytes with K, M or G (powers of 1024), at least 1. */
bool quantity_parse_size(struct str text, int64_t *ret);
/* Milliseconds from ms, s, m or h; without a unit seconds.  At least 1. */
bool quantity_parse_duration(struct str text, int64_t *ret);
/* Both print the largest unit that says it exactly. */
void quantity_print_size(int64_t bytes, struct buf *out);
void quantity_print_duration(int64_t ms, struct buf *out);

#endif

/* SHA-256 (FIPS 180-4) of texts. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdint.h>

#include "base/str.h"

struct sha256 {
	uint32_t state[8];
	unsigned char block[64];
	uint64_t n;			/* bytes so far */
};

#define SHA256_HEX	65		/* digits and NUL */

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, struct str text);
/* Ends it. */
void sha256_print(struct sha256 *s, char ret[SHA256_HEX]);

#endif

/* Texts of the dialect openharness; see dialect.h. */
#include "dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	dialect_check(&dialect_openharness, (struct str){ (const char *)data, n });
	return 0;
}

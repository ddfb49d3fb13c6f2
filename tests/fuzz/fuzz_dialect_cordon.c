/* Texts of the dialect cordon; see dialect.h. */
#include "dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	dialect_check(&dialect_cordon, (struct str){ (const char *)data, n });
	return 0;
}

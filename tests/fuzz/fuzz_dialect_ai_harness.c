/* Texts of the dialect ai_harness; see dialect.h. */
#include "dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	dialect_check(&dialect_ai_harness, (struct str){ (const char *)data, n });
	return 0;
}

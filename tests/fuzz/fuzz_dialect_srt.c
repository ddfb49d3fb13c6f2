/* Texts of the dialect srt; see dialect.h. */
#include "dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	dialect_check(&dialect_srt, (struct str){ (const char *)data, n });
	return 0;
}

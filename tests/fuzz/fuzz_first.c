/* First bytes of a client: an answer that is there stays, whatever comes behind it. */
#include "base/err.h"
#include "gate/first.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum first_bytes before = FIRST_UNSEEN;

	for (size_t i = 0; i <= n; i++) {
		enum first_bytes now = first_read(data, i);

		if (before != FIRST_UNSEEN && now != before)
			BUG("an answer that more bytes change");
		if (now == FIRST_TLS ? data[0] != 0x16 : now == FIRST_HTTP && !memchr(data, ' ', i))
			BUG("a protocol that is not there");
		before = now;
	}
	return 0;
}

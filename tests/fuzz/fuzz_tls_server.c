/* What a TLS server sends after a ClientHello: the verdict does not depend on how it is
 * cut, and a ServerHello is found where a second and simpler reader finds one. */
#include "../unit/peek_hello.h"
#include "../unit/peek_stream.h"
#include "target.h"

/* Pieces of `piece` bytes; the first one of `first` bytes, unless that is 0. */
static bool is_accepted(const struct bytes *hello, const uint8_t *data, size_t n, size_t first,
			size_t piece)
{
	struct peek p;
	struct host host;
	char why[HOST_WHY];

	if (host_parse(str_from("allowed.test"), &host, why) < 0)
		BUG(why);
	peek_init(&p, &host, 443);
	if (peek_feed(&p, hello->b, hello->n, false).done != hello->n || !peek_wants_response(&p))
		BUG("the hello waits for no answer");
	for (size_t at = 0, len = first ? first : piece; at < n; at += len, len = piece) {
		len = MIN(len, n - at);
		peek_response_feed(&p, data + at, len);
	}
	return peek_feed(&p, (const unsigned char *)"", 0, false).verdict == PEEK_RAW;
}

/* Handshake records put together, up to the first that is of no known type. */
static size_t join_records(const uint8_t *data, size_t n, uint8_t *all)
{
	size_t n_all = 0;

	for (size_t at = 0, len; at + 5 <= n; at += 5 + len) {
		len = (size_t)data[at + 3] << 8 | data[at + 4];
		if (data[at] < 20 || data[at] > 23 || data[at + 1] != 3 || len > 18432)
			break;
		if (data[at] != 22)
			continue;
		len = MIN(len, n - at - 5);
		memcpy(all + n_all, data + at + 5, len);
		n_all += len;
	}
	return n_all;
}

static void check_accepted(const uint8_t *data, size_t n)
{
	uint8_t *all = malloc(n + 1);
	size_t n_all, len;

	if (!all)
		return;
	n_all = join_records(data, n, all);
	for (size_t at = 0;; at += 4 + len) {
		if (at + 38 > n_all)
			BUG("accepted without a hello");
		len = (size_t)all[at + 1] << 16 | (size_t)all[at + 2] << 8 | all[at + 3];
		if (all[at] == 2 && len >= 34 && memcmp(all + at + 6, RETRY_RANDOM, 32) != 0)
			break;
	}
	free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct extension name = EXT(0, "\0\x0f\0\0\x0c" "allowed.test");
	static struct bytes hello;
	bool whole;

	hello.n = 0;
	put_hello(&hello, &name, 1, 16384);
	whole = is_accepted(&hello, data, n, 0, n + 1);
	if (is_accepted(&hello, data, n, 0, 1) != whole)
		BUG("another verdict byte by byte");
	for (size_t cut = 1; cut < n; cut += 1 + n / 50)
		if (is_accepted(&hello, data, n, cut, n) != whole)
			BUG("another verdict when cut");
	if (whole)
		check_accepted(data, n);
	return 0;
}

/* What a server sends after a request to switch protocols: the verdict does not depend on
 * how it is cut, and is that of a second and simpler reader. */
#include "../unit/peek_stream.h"
#include "target.h"

#define REQUEST	"GET / HTTP/1.1\r\nHost: allowed.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"

/* Pieces of `piece` bytes; the first one of `first` bytes, unless that is 0. */
static enum peek_switch read_answer(const uint8_t *data, size_t n, size_t first, size_t piece)
{
	struct peek p;
	struct host host;
	char why[HOST_WHY];

	if (host_parse(str_from("allowed.test"), &host, why) < 0)
		BUG(why);
	peek_init(&p, &host, 80);
	(void)peek_feed(&p, (const unsigned char *)REQUEST, strlen(REQUEST), false);
	if (!peek_wants_response(&p))
		BUG("the request waits for no answer");
	for (size_t at = 0, len = first ? first : piece; at < n; at += len, len = piece) {
		len = MIN(len, n - at);
		peek_response_feed(&p, data + at, len);
	}
	return p.http.change;
}

/* Past the empty line after the head at `s`, or NULL. */
static const char *skip_head(const char *s, const char *end)
{
	bool is_empty = false;

	for (; s < end; s++) {
		if (*s == '\n' && is_empty)
			return s + 1;
		if (*s != '\r')
			is_empty = *s == '\n';
	}
	return NULL;
}

static enum peek_switch read_simply(const char *s, const char *end)
{
	for (;;) {
		const char *status = s;

		if (end - s < 12)
			return SWITCH_ASKED;
		if (memcmp(s, "HTTP/1.", 7) != 0 || s[8] != ' ' || s[9] != '1')
			return SWITCH_REFUSED;
		s = skip_head(s + 12, end);
		if (!s)
			return SWITCH_ASKED;
		if (status[10] == '0' && status[11] == '1')
			return SWITCH_DONE;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	enum peek_switch whole = read_answer(data, n, 0, n + 1);

	if (read_simply(text, text + n) != whole)
		BUG("another verdict than that of the simple reader");
	if (read_answer(data, n, 0, 1) != whole)
		BUG("another verdict byte by byte");
	for (size_t cut = 1; cut < n; cut += 1 + n / 50)
		if (read_answer(data, n, cut, n) != whole)
			BUG("another verdict when cut");
	return 0;
}

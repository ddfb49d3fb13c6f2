/* Streams of any protocol, as on port 80: the verdict does not depend on how they
 * are cut, and every request that passes is for the target, as a second and
 * simpler reader finds. */
#include "../unit/peek_stream.h"
#include "target.h"

static const char *const responses[] = {
	NULL,
	"HTTP/1.1 101 Switching Protocols\r\n\r\n",
	"HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
};

static void check_same(const struct stream_end *a, const struct stream_end *b)
{
	if (a->verdict != b->verdict || a->done != b->done || a->kind != b->kind)
		BUG("another verdict when cut");
}

static void check_cuts(const struct stream *to, const uint8_t *data, size_t n,
		       const struct stream_end *whole)
{
	struct stream unseen = *to;
	struct stream_end e = stream_feed(to, data, n, 0, 1);

	check_same(whole, &e);
	for (size_t cut = 1; cut < n; cut += 1 + n / 5) {
		e = stream_feed(to, data, n, cut, n);
		check_same(whole, &e);
	}
	unseen.use_unseen = true;
	e = stream_feed(&unseen, data, n, 0, 5);
	check_same(whole, &e);
}

/* NAME[.][:80] in any case. */
static void check_authority(const char *s, size_t n)
{
	if (n > 3 && memcmp(s + n - 3, ":80", 3) == 0)
		n -= 3;
	if (n && s[n - 1] == '.')
		n--;
	if (n != 12 || strncasecmp(s, "allowed.test", n) != 0)
		BUG("a request for another host passes");
}

struct message {
	unsigned n_hosts, n_lengths;
	unsigned long long length;
	bool chunked, upgrade, h2c;
};

static bool is_named(const char *line, size_t n, const char *name)
{
	return n >= strlen(name) && strncasecmp(line, name, strlen(name)) == 0;
}

static void read_line(const char *line, size_t n, struct message *m)
{
	size_t value = str_find((struct str){ line, n }, ':') + 1;

	while (value < n && (line[value] == ' ' || line[value] == '\t'))
		value++;
	while (n > value && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (is_named(line, n, "host:")) {
		m->n_hosts++;
		check_authority(line + value, n - value);
	} else if (is_named(line, n, "content-length:")) {
		m->n_lengths++;
		m->length = strtoull(line + value, NULL, 10);
	} else if (is_named(line, n, "transfer-encoding:")) {
		m->chunked = true;
	} else if (is_named(line, n, "upgrade:")) {
		m->upgrade = true;
		m->h2c |= memmem(line, n, "h2c", 3) || memmem(line, n, "H2C", 3) ||
			  memmem(line, n, "h2C", 3) || memmem(line, n, "H2c", 3);
	}
}

static void read_request_line(const char *line, size_t n)
{
	const char *target = memchr(line, ' ', n), *end = memrchr(line, ' ', n);

	if (!target || target == end)
		BUG("a request line of two words passes");
	target++;
	if (is_named(target, (size_t)(end - target), "http://")) {
		const char *host = target + 7, *stop = host;

		while (stop < end && *stop != '/' && *stop != '?')
			stop++;
		check_authority(host, (size_t)(stop - host));
	} else if (*target != '/' && !(end - target == 1 && *target == '*')) {
		BUG("another target passes");
	}
}

/* Past the head at `s`. */
static const char *read_head(const char *s, const char *end, struct message *m)
{
	const char *stop = s ? memmem(s, (size_t)(end - s), "\r\n\r\n", 4) : NULL;
	bool first = true;

	if (!s || !stop)
		BUG("half a head passes");
	for (stop += 2; s < stop;) {
		const char *eol = memmem(s, (size_t)(stop - s), "\r\n", 2);

		if (first)
			read_request_line(s, (size_t)(eol - s));
		else
			read_line(s, (size_t)(eol - s), m);
		first = false;
		s = eol + 2;
	}
	if (m->n_hosts != 1 || m->n_lengths > 1 || (m->n_lengths && m->chunked))
		BUG("a request that says too much or too little passes");
	return stop + 2;
}

/* Past the chunks at `s`, or to the end. */
static const char *read_chunks(const char *s, const char *end)
{
	for (;;) {
		const char *eol = memmem(s, (size_t)(end - s), "\r\n", 2);
		unsigned long long n;

		if (!eol)
			return end;
		n = strtoull(s, NULL, 16);
		s = eol + 2;
		if (!n)
			break;
		if (n + 2 > (unsigned long long)(end - s))
			return end;
		s += n + 2;
	}
	for (;;) {
		const char *eol = memmem(s, (size_t)(end - s), "\r\n", 2);

		if (!eol)
			return end;
		if (eol == s)
			return s + 2;
		s = eol + 2;
	}
}

static void check_requests(const char *s, size_t n, const char *response)
{
	const char *end = s + n;

	/* "May we talk TLS?", as PostgreSQL's clients ask; then anything may follow. */
	while (end - s >= 8 && memcmp(s, "\0\0\0\x08\x04\xd2\x16", 7) == 0)
		s += 8;
	while (s < end) {
		struct message m = { 0 };

		s = read_head(s, end, &m);
		if (m.upgrade && !m.h2c && response)
			return;
		if (m.chunked)
			s = read_chunks(s, end);
		else
			s += MIN(m.length, (unsigned long long)(end - s));
	}
}

static void check_stream(const uint8_t *data, const char *text, size_t n, const char *response)
{
	const struct stream to = { .host = "allowed.test", .port = 80, .response = response,
				   .open = n % 2 };
	struct stream_end whole = stream_feed(&to, data, n, 0, n ? n : 1);

	check_cuts(&to, data, n, &whole);
	if (whole.kind == PEEK_HTTP)
		check_requests(text, whole.done, response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* strtoull() stops at a NUL at the latest. */
	char *copy = malloc(n + 1);
	size_t n_responses;

	if (!copy)
		return 0;
	memcpy(copy, data, n);
	copy[n] = '\0';
	n_responses = memmem(data, n, "pgrade:", 7) ? ARRAY_SIZE(responses) : 1;
	for (size_t i = 0; i < n_responses; i++)
		check_stream(data, copy, n, responses[i]);
	free(copy);
	return 0;
}

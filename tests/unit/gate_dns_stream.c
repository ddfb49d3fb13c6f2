/* DNS over TCP: the same messages come out, however the bytes came in. */
#include "gate/dns_stream.h"

#include "dns_message.h"

/* Three messages of different lengths in one stream. */
static void three_messages(struct message m[3], struct message *stream)
{
	char longest[MAX_HOST_NAME + 1];

	longest_name(longest);
	message_ask(&m[0], "a.example", DNS_TYPE_A, NULL);
	message_ask(&m[1], longest, DNS_TYPE_AAAA, "00 0029 04d0 00000000 0000");
	message_ask(&m[2], "", DNS_TYPE_NS, NULL);
	stream->n = 0;
	for (size_t i = 0; i < 3; i++) {
		unsigned char frame[DNS_FRAME];

		dns_frame_write(frame, m[i].n);
		message_add(stream, frame, sizeof(frame));
		message_add(stream, m[i].b, m[i].n);
	}
}

/* Put in as much as there is room for, up to `n`; returns how much. */
static size_t add(struct dns_stream *s, const unsigned char *bytes, size_t n)
{
	size_t room;
	unsigned char *p = dns_stream_get_room(s, &room);

	n = MIN(n, room);
	memcpy(p, bytes, n);
	dns_stream_add(s, n);
	return n;
}

/* Take what is whole, and compare it with the messages from `done` on. */
static size_t take_all(struct dns_stream *s, const struct message *want, size_t done, size_t n_want)
{
	const unsigned char *msg;
	size_t n;

	while (dns_stream_take(s, &msg, &n) == DNS_STREAM_MESSAGE) {
		if (!ok(done < n_want, "message %zu", done))
			break;
		ok(n == want[done].n && !memcmp(msg, want[done].b, n), "message %zu", done);
		done++;
	}
	return done;
}

static void test_two_cuts_anywhere(void)
{
	struct message m[3], stream;
	struct dns_stream s;

	three_messages(m, &stream);
	for (size_t i = 0; i <= stream.n; i++) {
		for (size_t k = i; k <= stream.n; k++) {
			size_t cuts[] = { 0, i, k, stream.n }, done = 0;

			dns_stream_init(&s);
			for (size_t c = 0; c < 3; c++) {
				size_t n = cuts[c + 1] - cuts[c];

				if (add(&s, stream.b + cuts[c], n) != n)
					ok(false, "no room, cut at %zu and %zu", i, k);
				done = take_all(&s, m, done, 3);
			}
			if (done != 3)
				ok(false, "%zu messages, cut at %zu and %zu", done, i, k);
		}
	}
	ok(true, "all cuts");
}

static void test_byte_by_byte(void)
{
	struct message m[3], stream;
	struct dns_stream s;
	size_t done = 0;

	three_messages(m, &stream);
	dns_stream_init(&s);
	for (size_t i = 0; i < stream.n; i++) {
		is_int((int)add(&s, stream.b + i, 1), 1, "room for byte %zu", i);
		done = take_all(&s, m, done, 3);
	}
	is_int((int)done, 3, "messages");
}

/* [DS2] As fast as there is room, a hundred times more than the buffer holds. */
static void test_a_long_stream(void)
{
	struct message m[3], stream;
	struct dns_stream s;
	size_t done = 0, at = 0;

	three_messages(m, &stream);
	dns_stream_init(&s);
	while (done < 3 * 1000) {
		size_t n = add(&s, stream.b + at, stream.n - at);
		size_t before = done % 3;

		if (!ok(n > 0, "room after %zu messages", done))
			return;
		at = (at + n) % stream.n;
		done += take_all(&s, m, before, 3) - before;
	}
}

static void test_the_longest_message(void)
{
	unsigned char bytes[DNS_FRAME + MAX_DNS_QUERY] = { 0 };
	const unsigned char *msg;
	struct dns_stream s;
	size_t n = 0;

	dns_frame_write(bytes, MAX_DNS_QUERY);
	dns_stream_init(&s);
	is_int((int)add(&s, bytes, sizeof(bytes) - 1), (int)sizeof(bytes) - 1, "room");
	is_int(dns_stream_take(&s, &msg, &n), DNS_STREAM_MORE, "all but a byte");
	is_int((int)add(&s, bytes, 5), 1, "room for the last byte alone");
	is_int(dns_stream_take(&s, &msg, &n), DNS_STREAM_MESSAGE, "the last byte");
	is_int((int)n, MAX_DNS_QUERY, "its length");
	is_int(dns_stream_take(&s, &msg, &n), DNS_STREAM_MORE, "no other");
	is_int((int)add(&s, bytes, sizeof(bytes)), (int)sizeof(bytes), "room for another");
	is_int(dns_stream_take(&s, &msg, &n), DNS_STREAM_MESSAGE, "another");
}

static void test_lengths_that_no_question_has(void)
{
	static const unsigned lengths[] = { 0, 1, DNS_HEADER - 1, MAX_DNS_QUERY + 1, 0xffff };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		unsigned char bytes[100] = { 0 };
		const unsigned char *msg = bytes;
		struct dns_stream s;
		size_t n = 77;

		dns_stream_init(&s);
		dns_frame_write(bytes, DNS_HEADER);
		dns_frame_write(bytes + DNS_FRAME + DNS_HEADER, lengths[i]);
		add(&s, bytes, DNS_FRAME + DNS_HEADER + DNS_FRAME);
		is_int(dns_stream_take(&s, &msg, &n), DNS_STREAM_MESSAGE, "the one before");
		n = 77;
		for (int again = 0; again < 3; again++) {
			is_int(dns_stream_take(&s, &msg, &n), DNS_STREAM_BROKEN, "%u", lengths[i]);
			is_int((int)n, 77, "%u: left alone", lengths[i]);
			add(&s, bytes, 50);
		}
	}
}

/* [DS1] Whoever says more than there is room for does not go on. */
static void test_more_than_the_room(void)
{
	struct dns_stream s;
	size_t room;
	int status;
	pid_t pid;

	dns_stream_init(&s);
	dns_stream_get_room(&s, &room);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			exit(0);
		dns_stream_add(&s, room + 1);
		exit(0);
	}
	is_int(waitpid(pid, &status, 0), pid, "waited");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "it stopped");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_two_cuts_anywhere),
		TAP(test_byte_by_byte),
		TAP(test_a_long_stream),
		TAP(test_the_longest_message),
		TAP(test_lengths_that_no_question_has),
		TAP(test_more_than_the_room),
		TAP_END,
	});
}

/* TLS through the peeker: every ClientHello must name the target. */
#include "peek_corpus.h"
#include "peek_hello.h"
#include "peek_stream.h"
#include "tap.h"

#define OK	PEEK_NO_REASON
#define NAME	EXT(0, "\0\x0f\0\0\x0c" "allowed.test")
#define OTHER	EXT(0, "\0\x0c\0\0\x09" "evil.test")
#define TLS13	EXT(43, "\x04\x03\x04\x03\x03")
#define EARLY	EXT(42, "")

static const struct stream named = { .host = "allowed.test", .port = 443, .open = true };
static const struct stream by_addr = { .host = "192.0.2.7", .port = 443, .open = true };

static struct bytes out;

struct row {
	const char *name;
	const struct stream *to;
	enum peek_reason want;
	struct extension ext[4];
};

static const struct row rows[] = {
	{ "the name", &named, OK, { NAME } },
	{ "the name in TLS 1.3", &named, OK, { TLS13, NAME } },
	{ "upper case", &named, OK, { EXT(0, "\0\x0f\0\0\x0c" "ALLOWED.Test") } },
	{ "a dot at the end", &named, OK, { EXT(0, "\0\x10\0\0\x0d" "allowed.test.") } },
	{ "no extension", &named, PEEK_SNI_NONE, { { 0 } } },
	{ "another extension", &named, PEEK_SNI_NONE, { TLS13 } },
	{ "another name", &named, PEEK_SNI_OTHER, { OTHER } },
	{ "a sub-domain", &named, PEEK_SNI_OTHER, { EXT(0, "\0\x11\0\0\x0e" "x.allowed.test") } },
	{ "two dots", &named, PEEK_SNI_BAD, { EXT(0, "\0\x11\0\0\x0e" "allowed.test..") } },
	{ "NUL and more", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x14\0\0\x11" "allowed.test\0evil") } },
	{ "NUL at the end", &named, PEEK_SNI_BAD, { EXT(0, "\0\x10\0\0\x0d" "allowed.test\0") } },
	{ "a space", &named, PEEK_SNI_BAD, { EXT(0, "\0\x10\0\0\x0d" " allowed.test") } },
	{ "not ASCII", &named, PEEK_SNI_BAD, { EXT(0, "\0\x0f\0\0\x0c" "all\xc3\xb6wed.te") } },
	{ "empty name", &named, PEEK_SNI_BAD, { EXT(0, "\0\x03\0\0\0") } },
	{ "empty list", &named, PEEK_SNI_BAD, { EXT(0, "\0\0") } },
	{ "empty extension", &named, PEEK_SNI_BAD, { EXT(0, "") } },
	{ "two names", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x1b\0\0\x0c" "allowed.test" "\0\0\x09" "evil.test") } },
	{ "another kind of name", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x0f\1\0\x0c" "allowed.test") } },
	{ "a list that is too short", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x0e\0\0\x0c" "allowed.test") } },
	{ "a list that is too long", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x10\0\0\x0c" "allowed.test") } },
	{ "a name that is too long", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x0f\0\0\x0d" "allowed.test") } },
	{ "bytes after the name", &named, PEEK_SNI_BAD,
	  { EXT(0, "\0\x0f\0\0\x0b" "allowed.test") } },
	{ "an address as the name", &named, PEEK_SNI_OTHER,
	  { EXT(0, "\0\x0c\0\0\x09" "192.0.2.7") } },
	{ "the extension twice", &named, PEEK_TLS_BAD, { NAME, OTHER } },
	{ "the same extension twice", &named, PEEK_TLS_BAD, { NAME, TLS13, NAME } },
	{ "any extension twice", &named, PEEK_TLS_BAD, { NAME, TLS13, TLS13 } },
	{ "ECH", &named, PEEK_ECH, { NAME, EXT(0xfe0d, "\0\0\x01\0\x01") } },
	{ "ECH before the name", &named, PEEK_ECH, { EXT(0xfe0d, ""), NAME } },
	{ "ECH without a name", &named, PEEK_ECH, { EXT(0xfe0d, "") } },
	{ "ESNI", &named, PEEK_ECH, { NAME, EXT(0xffce, "x") } },
	{ "an address has no name", &by_addr, OK, { TLS13 } },
	{ "an address as its own name", &by_addr, OK, { EXT(0, "\0\x0c\0\0\x09" "192.0.2.7") } },
	{ "another address", &by_addr, PEEK_SNI_OTHER, { EXT(0, "\0\x0c\0\0\x09" "192.0.2.8") } },
	{ "an odd address", &by_addr, PEEK_SNI_BAD, { EXT(0, "\0\x0c\0\0\x09" "192.0.519") } },
	{ "an address and a name", &by_addr, PEEK_SNI_OTHER, { OTHER } },
	{ "an address and ECH", &by_addr, PEEK_ECH, { EXT(0xfe0d, "") } },
};

static size_t count(const struct extension *e)
{
	size_t n = 0;

	while (n < 4 && e[n].body)
		n++;
	return n;
}

/* [PT1] Whole, in records of any size, and cut anywhere. */
static void test_names(void)
{
	static const size_t sizes[] = { 16384, 1, 2, 3, 5, 40, 60 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
			struct stream_end e;

			out.n = 0;
			put_hello(&out, r->ext, count(r->ext), sizes[k]);
			e = stream_feed(r->to, out.b, out.n, 0, out.n);
			is_text(peek_reason_word(e.reason), peek_reason_word(r->want),
				"%s in records of %zu", r->name, sizes[k]);
			is_int((long long)e.sent, r->want ? 0 : (long long)out.n,
			       "%s: what passes", r->name);
			for (size_t cut = 1; cut <= out.n; cut++) {
				e = stream_feed(r->to, out.b, out.n, cut, cut == out.n ? 1 : out.n);
				if (e.reason != r->want || e.sent != (r->want ? 0 : out.n))
					ok(false, "%s cut after %zu: %s", r->name, cut, e.why);
			}
		}
	}
}

/* Nothing of a hello passes while a byte of it is missing. */
static void test_nothing_passes_early(void)
{
	static const struct extension ext[] = { TLS13, NAME };

	out.n = 0;
	put_hello(&out, ext, 2, 7);
	for (size_t n = 1; n < out.n; n++) {
		struct stream closing = named;
		struct stream_end e = stream_feed(&named, out.b, n, 0, 1);

		is_int((long long)e.sent, 0, "[PT1] %zu bytes of %zu", n, out.n);
		is_int(e.verdict, PEEK_GO, "waits");
		closing.open = false;
		e = stream_feed(&closing, out.b, n, 0, n);
		is_int(e.reason, PEEK_CUT_SHORT, "an end inside of it");
	}
}

static void check_stream(const struct stream *s, const char *name, enum peek_verdict verdict,
			 enum peek_reason reason)
{
	struct stream_end whole = stream_feed(s, out.b, out.n, 0, out.n);

	is_int(whole.verdict, verdict, "%s (%s)", name, whole.why);
	is_text(peek_reason_word(whole.reason), peek_reason_word(reason), "%s", name);
	for (size_t cut = 1; cut <= out.n; cut++) {
		struct stream_end e = stream_feed(s, out.b, out.n, cut, cut == out.n ? 1 : out.n);

		if (e.verdict != whole.verdict || e.done != whole.done)
			ok(false, "%s, cut after %zu: verdict %d (%s), %zu of %zu", name, cut,
			   e.verdict, e.why, e.done, whole.done);
	}
}

static void check_bytes(const char *name, enum peek_verdict verdict, enum peek_reason reason)
{
	check_stream(&named, name, verdict, reason);
}

/* A good hello with one byte changed. */
static void check_damage(const char *name, size_t at, unsigned char value, bool shorten)
{
	static const struct extension ext[] = { TLS13, NAME };

	out.n = 0;
	put_hello(&out, ext, 2, 16384);
	out.b[at] = value;
	if (shorten)
		out.n -= 1;
	check_bytes(name, PEEK_REFUSED, PEEK_TLS_BAD);
}

static void test_malformed(void)
{
	static const struct extension ext[] = { NAME };
	static struct bytes body, message;

	check_damage("record version 2", 1, 2, false);
	check_damage("record version 5, which Go's server takes", 1, 5, false);
	check_damage("an empty record", 4, 0, false);
	check_damage("a server hello", 5, 2, false);
	check_damage("message version 2", 9, 2, false);
	check_damage("a session id of 33", 43, 33, false);
	check_damage("an odd suite list", 45, 3, false);
	check_damage("no suites", 45, 0, false);
	check_damage("no compression", 50, 0, false);
	check_damage("extensions that end early", 53, 10, false);
	check_damage("extensions beyond the end", 53, 200, false);
	check_damage("an extension beyond the end", 57, 200, false);
	check_damage("a message that ends early", 8, 60, false);

	/* Bytes after the extensions, counted in the message. */
	body.n = message.n = out.n = 0;
	hello_body(&body, ext, 1);
	put(&body, "x", 1);
	put_message(&message, 1, &body);
	put_records(&out, 22, message.b, message.n, 16384);
	check_bytes("bytes after the extensions", PEEK_REFUSED, PEEK_TLS_BAD);

	for (unsigned type = 20; type < 26; type++) {
		if (type == 22)
			continue;
		out.n = 0;
		put_records(&out, 22, message.b, 10, 16384);
		put_records(&out, type, "\x01\x5a", 2, 16384);
		check_bytes("another record inside a hello", PEEK_REFUSED, PEEK_TLS_BAD);
	}
}

static void test_other_beginnings(void)
{
	static const struct extension ext[] = { TLS13, OTHER };
	/* Go and the JDK take a hello behind the first four of them. */
	static const char *const records[] = {
		"\x15\x03\x01\0\x02\x01\x5a", "\x15\x0a\x01\0\x02\x01\x5a",
		"\x15\0\x0a\0\x02\x01\x5a", "\x15\x0f\xff\0\x02\x01\x64",
		"\x14\x03\x03\0\x01\x01", "\x17\x03\x03\0\x02\0",
	};

	out.n = 0;
	put(&out, "\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10", 11);
	check_bytes("an SSL 2 hello for TLS 1.0", PEEK_REFUSED, PEEK_TLS_OLD);
	out.n = 0;
	put(&out, "\x81\x2e\x01\0\x02\0\x15\0\0\0\x10", 11);
	check_bytes("an SSL 2 hello", PEEK_REFUSED, PEEK_TLS_OLD);
	/* Both lengths hold a line feed. */
	out.n = 0;
	put(&out, "\x81\x0a\x01\x03\x01\0\x15\0\0\0\x10", 11);
	check_bytes("an SSL 2 hello that looks like a line", PEEK_REFUSED, PEEK_TLS_OLD);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		out.n = 0;
		put(&out, records[i], 7);
		put_hello(&out, ext, 2, 16384);
		check_bytes("another record before the hello", PEEK_REFUSED, PEEK_TLS_BAD);
	}
	out.n = 0;
	put(&out, "\x16\x16\x16 hello", 9);
	check_bytes("what only begins like a record", PEEK_REFUSED, PEEK_TLS_BAD);
}

static void test_limits(void)
{
	static char filler[70000];
	struct extension ext[MAX_PEEK_EXTENSIONS + 1] = { NAME };
	struct stream_end e;

	ext[1] = (struct extension){ 21, filler, 30000 };
	ext[2] = (struct extension){ 22, filler, 30000 };
	out.n = 0;
	put_hello(&out, ext, 3, 16384);
	e = stream_feed(&named, out.b, out.n, 0, out.n);
	is_int(e.reason, OK, "a long hello");
	out.n = 0;
	put_hello(&out, ext, 3, 100);
	is_int(stream_feed(&named, out.b, out.n, 0, out.n).verdict, PEEK_GO, "many records");
	out.n = 0;
	put_hello(&out, ext, 3, 20);
	e = stream_feed(&named, out.b, out.n, 0, out.n);
	is_int(e.reason, PEEK_TLS_LONG, "the same in more bytes than are kept");
	is_int(stream_feed(&named, out.b, out.n, 0, 1000).reason, PEEK_TLS_LONG, "in pieces");
	ext[2].n = 35500;
	out.n = 0;
	put_hello(&out, ext, 3, 16384);
	is_int(stream_feed(&named, out.b, out.n, 0, out.n).reason, PEEK_TLS_LONG, "too long");
	is_int(stream_feed(&named, out.b, out.n, 0, 1000).reason, PEEK_TLS_LONG, "in pieces");

	for (size_t n = MAX_PEEK_EXTENSIONS; n <= MAX_PEEK_EXTENSIONS + 1; n++) {
		for (unsigned i = 1; i < n; i++)
			ext[i] = (struct extension){ 100 + i, "", 0 };
		out.n = 0;
		put_hello(&out, ext, n, 16384);
		e = stream_feed(&named, out.b, out.n, 0, out.n);
		is_int(e.reason, n > MAX_PEEK_EXTENSIONS ? PEEK_TLS_LONG : OK, "%zu extensions", n);
	}
}

/* What a client sends, a letter a record. */
static const struct {
	char letter;
	unsigned char type;
	const char *bytes;	/* NULL: a hello */
	size_t n;		/* bytes; of a hello, how many a record */
	const struct extension *ext;
} records[] = {
	{ 'h', 22, NULL, 16384, (const struct extension[]){ TLS13, NAME } },
	{ 'H', 22, NULL, 3, (const struct extension[]){ TLS13, NAME } },
	{ 'e', 22, NULL, 16384, (const struct extension[]){ TLS13, OTHER } },
	{ 'E', 22, NULL, 3, (const struct extension[]){ TLS13, OTHER } },
	{ 'k', 22, "\x10\0\0\x05\x04pqrs", 9, NULL },		/* key exchange */
	{ 'f', 22, "\x40\0\x02\x03 encrypted Finished", 23, NULL },
	{ 'F', 22, "\x01\0\x02\x03 encrypted Finished", 23, NULL },	/* begins like a hello */
	{ 'B', 22, "\x01\x02\0\x40\x03\x03 of over 128 KiB", 22, NULL },
	{ 'c', 20, "\x01", 1, NULL },
	{ 'C', 20, "\x01\x01", 2, NULL },
	{ 'a', 21, "\x01\x5a", 2, NULL },
	{ 'A', 21, "\x01\x5a\n", 3, NULL },
	{ 'd', 23, "xx", 2, NULL },
	{ 'x', 24, "xx", 2, NULL },				/* heartbeat */
};

static void put_flight(const char *letters, const struct extension *first, size_t n)
{
	out.n = 0;
	put_hello(&out, first, n, 16384);
	for (; *letters; letters++) {
		size_t i = 0;

		while (records[i].letter != *letters)
			i++;
		if (records[i].bytes)
			put_records(&out, records[i].type, records[i].bytes, records[i].n, 16384);
		else
			put_hello(&out, records[i].ext, 2, records[i].n);
	}
}

/* Another one, but for a bit. */
#define RANDOM	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" \
		"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9d"
#define HELLO(random)	"\x02\0\0\x28\x03\x03" random "\0\x13\x01\0\0\0"

/* What a server sends, a letter a record. */
static const struct {
	char letter;
	unsigned char type;
	const char *bytes;
	size_t n, size;		/* bytes, and how many a record */
} answers[] = {
	{ 'S', 22, HELLO(RANDOM), 44, 16384 },
	{ 's', 22, HELLO(RANDOM), 44, 3 },
	{ 'R', 22, HELLO(RETRY_RANDOM), 44, 16384 },
	{ 'r', 22, HELLO(RETRY_RANDOM), 44, 1 },
	{ 'Q', 22, "\0\0\0\0", 4, 16384 },			/* HelloRequest */
	{ 'd', 22, "\x06\0\0\x02\x03\x03", 6, 16384 },		/* a draft's retry */
	{ '2', 22, "\x02\0\0\x20" RANDOM, 36, 16384 },		/* too short */
	{ 'c', 20, "\x01", 1, 16384 },
	{ 'w', 21, "\x01\x70", 2, 16384 },			/* unrecognized_name, a warning */
	{ 'a', 21, "\x02\x28", 2, 16384 },
	{ 'D', 23, HELLO(RANDOM), 44, 16384 },
	{ 'X', 'H', "TTP/1.1 400 Bad Request\r\n\r\n", 27, 16384 },
	{ 'h', 22, HELLO(RANDOM), 37, 16384 },			/* but its last byte */
};

/* Letters of one flight, put behind `room`. */
static struct str put_answer(const char *letters, struct bytes *room)
{
	struct str s = { (const char *)room->b + room->n, 0 };

	for (; *letters; letters++) {
		size_t i = 0;

		while (answers[i].letter != *letters)
			i++;
		put_records(room, answers[i].type, answers[i].bytes, answers[i].n, answers[i].size);
	}
	s.n = (size_t)((const char *)room->b + room->n - s.s);
	return s;
}

static struct stream with_answers(const char *first, const char *second)
{
	static struct bytes room;
	static struct str flights[2];
	struct stream s = named;

	room.n = 0;
	flights[0] = put_answer(first ? first : "", &room);
	flights[1] = put_answer(second ? second : "", &room);
	s.flights = flights;
	s.n_flights = (first != NULL) + (second != NULL);
	return s;
}

static void test_what_follows(void)
{
	static const struct extension v13[] = { TLS13, NAME }, v12[] = { NAME },
				      early[] = { TLS13, NAME, EARLY };
	static const struct {
		const struct extension *first;
		size_t n;
		const char *records;
		const char *answers[2];		/* to the first hello and to the second */
		enum peek_verdict verdict;
		enum peek_reason reason;
	} flights[] = {
		/* [PT2] Behind a ServerHello everything passes. */
		{ v13, 2, "cd", { "S" }, PEEK_RAW, OK },
		{ v13, 2, "kcf", { "S" }, PEEK_RAW, OK },
		{ v13, 2, "cF", { "S" }, PEEK_RAW, OK },
		{ v13, 2, "B", { "S" }, PEEK_RAW, OK },
		{ v13, 2, "x", { "s" }, PEEK_RAW, OK },
		{ v12, 1, "kcf", { "S" }, PEEK_RAW, OK },
		{ v12, 1, "cF", { "s" }, PEEK_RAW, OK },
		{ v12, 1, "a", { "ww2S" }, PEEK_RAW, OK },
		{ early, 3, "cddf", { "S" }, PEEK_RAW, OK },
		/* After a retry a hello comes, whatever its size. */
		{ v13, 2, "hcd", { "R", "S" }, PEEK_RAW, OK },
		{ v13, 2, "cHcd", { "rc", "s" }, PEEK_RAW, OK },
		{ v13, 2, "ach", { "R" }, PEEK_GO, OK },
		{ v13, 2, "e", { "R" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "E", { "r" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "ce", { "R" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "acacE", { "Rc" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "che", { "R", "R" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "B", { "R" }, PEEK_REFUSED, PEEK_TLS_LONG },
		{ v13, 2, "cB", { "R" }, PEEK_REFUSED, PEEK_TLS_LONG },
		{ v13, 2, "hcB", { "R", "R" }, PEEK_REFUSED, PEEK_TLS_LONG },
		{ v13, 2, "k", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "cf", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "cF", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "d", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "x", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "C", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "A", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ early, 3, "cddhcd", { "R", "S" }, PEEK_RAW, OK },
		{ early, 3, "cddd", { "R" }, PEEK_GO, OK },
		{ early, 3, "de", { "R" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ early, 3, "cdE", { "R" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ early, 3, "cdB", { "R" }, PEEK_REFUSED, PEEK_TLS_LONG },
		{ early, 3, "cddk", { "R" }, PEEK_REFUSED, PEEK_TLS_BAD },
		/* The same while the server says nothing, or something else. */
		{ v13, 2, "cah", { NULL }, PEEK_GO, OK },
		{ early, 3, "cddd", { NULL }, PEEK_GO, OK },
		{ v13, 2, "cae", { NULL }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "cf", { NULL }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v12, 1, "kcf", { NULL }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v12, 1, "cF", { NULL }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v12, 1, "cB", { NULL }, PEEK_REFUSED, PEEK_TLS_LONG },
		{ v12, 1, "d", { NULL }, PEEK_REFUSED, PEEK_TLS_BAD },
		{ v13, 2, "e", { "Q" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "d" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "2" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "a" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "X" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "XS" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "D" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "h" }, PEEK_REFUSED, PEEK_SNI_OTHER },
		{ v13, 2, "e", { "hwS" }, PEEK_REFUSED, PEEK_SNI_OTHER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flights); i++) {
		const char *const *said = flights[i].answers;
		struct stream s = with_answers(said[0], said[1]);
		char name[80];

		put_flight(flights[i].records, flights[i].first, flights[i].n);
		snprintf(name, sizeof(name), "%zu extensions, then %s, answered by %s and %s",
			 flights[i].n, flights[i].records, said[0] ? said[0] : "nothing",
			 said[1] ? said[1] : "nothing");
		check_stream(&s, name, flights[i].verdict, flights[i].reason);
	}
}

/* A record holds one hello, and nothing behind it. */
static void test_shared_records(void)
{
	static const struct extension good[] = { TLS13, NAME };
	static struct bytes body, message;

	body.n = message.n = out.n = 0;
	hello_body(&body, good, 2);
	put_message(&message, 1, &body);
	put_message(&message, 1, &body);
	put_records(&out, 22, message.b, message.n, 16384);
	check_bytes("two hellos", PEEK_REFUSED, PEEK_TLS_BAD);

	message.n = out.n = 0;
	put_hello(&out, good, 2, 16384);
	put(&message, "\x0b\0\0\x02qq", 6);
	put_message(&message, 1, &body);
	put_records(&out, 22, message.b, message.n, 20);
	check_bytes("a hello behind a message", PEEK_REFUSED, PEEK_TLS_BAD);
}

static void test_words(void)
{
	static const struct extension evil[] = { OTHER };
	unsigned char alert[PEEK_ALERT_BYTES];
	struct stream_end e;

	out.n = 0;
	put_hello(&out, evil, 1, 16384);
	e = stream_feed(&named, out.b, out.n, 0, out.n);
	is_text(e.why, "the TLS handshake names evil.test, not allowed.test", "the reason");
	ok(e.may_answer, "an alert may be sent");
	e = stream_feed(&by_addr, out.b, out.n, 0, out.n);
	is_text(e.why, "the TLS handshake names evil.test, not 192.0.2.7", "of an address");
	put_flight("e", (struct extension[]){ TLS13, NAME }, 2);
	e = stream_feed(&named, out.b, out.n, 0, out.n);
	ok(!e.may_answer, "not after the server has begun to answer");
	is_int((long long)peek_answer_tls(alert), 7, "an alert");
	ok(memcmp(alert, "\x15\x03\x03\0\x02\x02\x31", 7) == 0, "fatal, access_denied");
}

static void check_real(const char *name, const unsigned char *bytes, size_t n)
{
	const struct stream other = { .host = "other.test", .port = 443, .open = true };
	const struct stream to = strstr(name, "-retry") ? with_answers("Rc", "S") :
							  with_answers("S", NULL);
	struct stream_end e;

	for (size_t i = 1; i <= n; i++) {
		e = stream_feed(&to, bytes, n, i < n ? i : 0, i < n ? n : 1);
		if (e.verdict != PEEK_RAW)
			ok(false, "%s, cut after %zu: %s", name, i, e.why);
	}
	e = stream_feed(&other, bytes, n, 0, n);
	is_int(e.reason, PEEK_SNI_OTHER, "%s, to another host", name);
	is_int((long long)e.sent, 0, "%s, to another host: nothing passes", name);
}

static void test_real_clients_pass(void)
{
	is_int(corpus_each("client_hello", "real-", check_real) >= 25, 1, "there are recordings");
}

/* What real servers said to a hello. */
static void check_real_server(const char *name, const unsigned char *bytes, size_t n)
{
	bool is_retry = strstr(name, "-retry");

	for (size_t cut = 0; cut <= n; cut++) {
		struct peek_tls_server s = { .n_header = 0 };

		peek_tls_server_feed(&s, bytes, cut);
		peek_tls_server_feed(&s, bytes + cut, n - cut);
		if (s.has_accepted == is_retry || s.is_other)
			ok(false, "%s, cut after %zu", name, cut);
	}
}

static void test_real_servers(void)
{
	is_int(corpus_each("tls_server", "real-", check_real_server), 18, "recordings");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_names), TAP(test_nothing_passes_early), TAP(test_malformed),
		TAP(test_other_beginnings), TAP(test_limits), TAP(test_what_follows),
		TAP(test_shared_records), TAP(test_words),
		TAP(test_real_clients_pass), TAP(test_real_servers), TAP_END });
}

/* TLS as far as it is in clear (see peek_tls.h).
 *
 * Pure; part of the gate.  RFC 8446 and 5246 for the layout, 6066 for the
 * server name, 9849 for ECH.  A message is a row of parts; each part says how
 * many bytes the next one needs, so that a message may come in records and
 * segments of any size.
 */
#include "gate/peek_tls.h"

enum {
	RECORD_CCS = 20, RECORD_ALERT = 21, RECORD_HANDSHAKE = 22, RECORD_DATA = 23,
	MAX_RECORD = (1 << 14) + 2048,	/* encrypted ones of TLS 1.2 have the most */
	HELLO = 1, KEY_EXCHANGE = 16,
	EXT_SERVER_NAME = 0, EXT_EARLY_DATA = 42, EXT_VERSIONS = 43,
	EXT_ECH = 0xfe0d, EXT_ESNI = 0xffce,
};

enum part {
	PART_TYPE, PART_LENGTH, PART_OTHER_MESSAGE, PART_VERSION, PART_RANDOM, PART_SESSION_LENGTH,
	PART_SESSION, PART_SUITES_LENGTH, PART_SUITES, PART_COMPRESSION_LENGTH, PART_COMPRESSION,
	PART_EXTENSIONS_LENGTH, PART_EXTENSION_TYPE, PART_EXTENSION_LENGTH, PART_EXTENSION,
	N_PARTS
};

/* What the end of a part, or of a record's header, leads to. */
enum next { NEXT_GO, NEXT_RAW, NEXT_REFUSE };

static enum next refuse(struct peek_tls *t, enum peek_reason why)
{
	t->refusal->reason = why;
	return NEXT_REFUSE;
}

static void start_message(struct peek_tls *t)
{
	t->part = PART_TYPE;
	t->need = 1;
	t->value = 0;
	t->message_left = 0;
	t->in_hello = false;
}

void peek_tls_init(struct peek_tls *t, const struct peek_target *to, struct peek_refusal *refusal)
{
	*t = (struct peek_tls){ .to = to, .refusal = refusal };
	start_message(t);
}

static bool is_between_messages(const struct peek_tls *t)
{
	return t->part == PART_TYPE;
}

/* The next part and its size, which the message must have left. */
static enum next want(struct peek_tls *t, enum part part, uint32_t n)
{
	if (n > t->message_left)
		return refuse(t, PEEK_TLS_BAD);
	t->message_left -= n;
	t->part = (unsigned char)part;
	t->need = n;
	t->value = 0;
	return NEXT_GO;
}

/* The one entry of a server name list; what is not exactly that is malformed. */
static bool find_name(const struct peek_tls *t, struct str *ret)
{
	const unsigned char *b = t->sni;
	unsigned n = t->n_sni;

	if (n < 6 || n > PEEK_SNI_BYTES || (unsigned)(b[0] << 8 | b[1]) != n - 2 || b[2] != 0 ||
	    (unsigned)(b[3] << 8 | b[4]) != n - 5)
		return false;
	*ret = (struct str){ (const char *)b + 5, n - 5 };
	return true;
}

static enum next check_name(struct peek_tls *t)
{
	struct str text;
	struct host named;

	if (t->has_ech)
		return refuse(t, PEEK_ECH);
	/* RFC 6066 has no form for an address: such a client sends no name. */
	if (!t->has_sni)
		return t->to->host.is_addr ? NEXT_GO : refuse(t, PEEK_SNI_NONE);
	if (!find_name(t, &text) || !peek_host_parse(text, &named))
		return refuse(t, PEEK_SNI_BAD);
	if (!peek_is_host(&named, &t->to->host))
		return refuse(t, peek_refusal_name(t->refusal, text, PEEK_SNI_OTHER));
	return NEXT_GO;
}

static enum next end_hello(struct peek_tls *t)
{
	enum next next = check_name(t);

	if (next != NEXT_GO)
		return next;
	t->n_hellos = (unsigned char)MIN(t->n_hellos + 1, 255);
	start_message(t);
	return NEXT_GO;
}

static enum next after_type(struct peek_tls *t)
{
	t->in_hello = t->value == HELLO;
	if (!t->in_hello && (t->n_hellos == 0 || t->has_early_data))
		return refuse(t, PEEK_TLS_BAD);
	/* Not a hello, so an encrypted Finished: a server that waits for another
	 * hello would give up here.  The reverse is guesswork: of the TLS 1.2
	 * sessions resumed by clients that offer 1.3, one in 2^15 has a Finished
	 * that begins like a hello, and is refused. */
	if (!t->in_hello && t->after_ccs)
		return NEXT_RAW;
	t->had_key_exchange |= t->value == KEY_EXCHANGE;
	t->message_left = 3;
	return want(t, PART_LENGTH, 3);
}

static enum next after_length(struct peek_tls *t)
{
	t->message_left = t->value;
	if (!t->in_hello)
		return want(t, PART_OTHER_MESSAGE, t->value);
	/* No server takes a hello of that size: see after_type(). */
	if (t->after_ccs && t->value >= 1u << 17)
		return NEXT_RAW;
	if (t->value > MAX_PEEK_HELD)
		return refuse(t, PEEK_TLS_LONG);
	t->n_extensions = 0;
	t->n_sni = 0;
	t->has_sni = t->has_ech = false;
	return want(t, PART_VERSION, 2);
}

static enum next after_other_message(struct peek_tls *t)
{
	start_message(t);
	return NEXT_GO;
}

static enum next after_version(struct peek_tls *t)
{
	if (t->value >> 8 != 3)
		return refuse(t, PEEK_TLS_BAD);
	return want(t, PART_RANDOM, 32);
}

static enum next after_random(struct peek_tls *t)
{
	return want(t, PART_SESSION_LENGTH, 1);
}

static enum next after_session_length(struct peek_tls *t)
{
	return t->value > 32 ? refuse(t, PEEK_TLS_BAD) : want(t, PART_SESSION, t->value);
}

static enum next after_session(struct peek_tls *t)
{
	return want(t, PART_SUITES_LENGTH, 2);
}

static enum next after_suites_length(struct peek_tls *t)
{
	if (t->value < 2 || t->value % 2)
		return refuse(t, PEEK_TLS_BAD);
	return want(t, PART_SUITES, t->value);
}

static enum next after_suites(struct peek_tls *t)
{
	return want(t, PART_COMPRESSION_LENGTH, 1);
}

static enum next after_compression_length(struct peek_tls *t)
{
	return t->value < 1 ? refuse(t, PEEK_TLS_BAD) : want(t, PART_COMPRESSION, t->value);
}

static enum next after_compression(struct peek_tls *t)
{
	return t->message_left ? want(t, PART_EXTENSIONS_LENGTH, 2) : end_hello(t);
}

static enum next start_extension(struct peek_tls *t)
{
	return t->message_left ? want(t, PART_EXTENSION_TYPE, 2) : end_hello(t);
}

static enum next after_extensions_length(struct peek_tls *t)
{
	return t->value != t->message_left ? refuse(t, PEEK_TLS_BAD) : start_extension(t);
}

static enum next after_extension_type(struct peek_tls *t)
{
	t->extension = (uint16_t)t->value;
	for (unsigned i = 0; i < t->n_extensions; i++)
		if (t->extensions[i] == t->extension)
			return refuse(t, PEEK_TLS_BAD);
	if (t->n_extensions == MAX_PEEK_EXTENSIONS)
		return refuse(t, PEEK_TLS_LONG);
	t->extensions[t->n_extensions++] = t->extension;
	t->has_sni |= t->extension == EXT_SERVER_NAME;
	t->has_ech |= t->extension == EXT_ECH || t->extension == EXT_ESNI;
	t->may_retry |= t->extension == EXT_VERSIONS;
	t->has_early_data |= t->extension == EXT_EARLY_DATA;
	return want(t, PART_EXTENSION_LENGTH, 2);
}

static enum next after_extension_length(struct peek_tls *t)
{
	if (t->extension == EXT_SERVER_NAME && t->value > PEEK_SNI_BYTES)
		return refuse(t, PEEK_SNI_BAD);
	return want(t, PART_EXTENSION, t->value);
}

static const struct {
	bool is_number;
	enum next (*end)(struct peek_tls *t);
} parts[] = {
	[PART_TYPE] = { true, after_type },
	[PART_LENGTH] = { true, after_length },
	[PART_OTHER_MESSAGE] = { false, after_other_message },
	[PART_VERSION] = { true, after_version },
	[PART_RANDOM] = { false, after_random },
	[PART_SESSION_LENGTH] = { true, after_session_length },
	[PART_SESSION] = { false, after_session },
	[PART_SUITES_LENGTH] = { true, after_suites_length },
	[PART_SUITES] = { false, after_suites },
	[PART_COMPRESSION_LENGTH] = { true, after_compression_length },
	[PART_COMPRESSION] = { false, after_compression },
	[PART_EXTENSIONS_LENGTH] = { true, after_extensions_length },
	[PART_EXTENSION_TYPE] = { true, after_extension_type },
	[PART_EXTENSION_LENGTH] = { true, after_extension_length },
	[PART_EXTENSION] = { false, start_extension },
};
static_assert(ARRAY_SIZE(parts) == N_PARTS, "a part without a row");

/* As much of the present part as `b` has; says how much that was. */
static size_t read_part(struct peek_tls *t, const unsigned char *b, size_t n)
{
	n = MIN(n, t->need);
	for (size_t i = 0; i < n && parts[t->part].is_number; i++)
		t->value = t->value << 8 | b[i];
	if (t->part == PART_EXTENSION && t->extension == EXT_SERVER_NAME) {
		assert(t->n_sni + n <= sizeof(t->sni));
		memcpy(t->sni + t->n_sni, b, n);
		t->n_sni = (uint16_t)(t->n_sni + n);
	}
	t->need -= (uint32_t)n;
	return n;
}

static enum next start_data(struct peek_tls *t)
{
	if (!t->may_retry)
		return refuse(t, PEEK_TLS_BAD);
	return t->has_early_data ? NEXT_GO : NEXT_RAW;
}

/* The CCS of TLS 1.2 comes after the key exchange, or in a resumed session with
 * no TLS 1.3 about.  In 1.3 it means nothing, and a second hello may follow. */
static enum next start_ccs(struct peek_tls *t)
{
	if (!t->has_early_data && (t->had_key_exchange || !t->may_retry))
		return NEXT_RAW;
	t->after_ccs = !t->has_early_data;
	return NEXT_GO;
}

static enum next start_record(struct peek_tls *t)
{
	unsigned char type = t->header[0];

	t->n_header = 0;
	t->record_left = (uint32_t)t->header[3] << 8 | t->header[4];
	if (t->header[1] != 3 || t->record_left > MAX_RECORD || !t->record_left)
		return refuse(t, PEEK_TLS_BAD);
	if (type == RECORD_HANDSHAKE)
		return NEXT_GO;
	/* Data inside a hello ends every handshake, so this was an encrypted Finished
	 * that began like one.  Alerts inside of one are taken by some servers. */
	if (!is_between_messages(t))
		return t->after_ccs && type == RECORD_DATA ? NEXT_RAW : refuse(t, PEEK_TLS_BAD);
	if (t->n_hellos == 0)
		return refuse(t, PEEK_TLS_BAD);
	switch (type) {
	case RECORD_DATA:
		return start_data(t);
	case RECORD_CCS:
		return start_ccs(t);
	case RECORD_ALERT:
		return NEXT_GO;
	default:
		return refuse(t, PEEK_TLS_BAD);
	}
}

/* One piece of the stream: of a header, of a message, or of what is skipped. */
static enum next read_piece(struct peek_tls *t, const unsigned char *b, size_t n, size_t *ret_n)
{
	enum next next = NEXT_GO;

	*ret_n = 1;
	if (!t->record_left) {
		t->header[t->n_header++] = *b;
		return t->n_header < sizeof(t->header) ? NEXT_GO : start_record(t);
	}
	n = MIN(n, t->record_left);
	*ret_n = t->header[0] == RECORD_HANDSHAKE ? read_part(t, b, n) : n;
	t->record_left -= (uint32_t)*ret_n;
	while (t->header[0] == RECORD_HANDSHAKE && !t->need && next == NEXT_GO)
		next = parts[t->part].end(t);
	return next;
}

struct peek_step peek_tls_feed(struct peek_tls *t, const unsigned char *b, size_t n)
{
	size_t at = t->seen, done = 0, piece;
	enum next next = NEXT_GO;

	while (at < n && next == NEXT_GO) {
		bool was_hello = t->in_hello || t->n_hellos == 0;

		next = read_piece(t, b + at, n - at, &piece);
		at += piece;
		if (was_hello && at - done > MAX_PEEK_HELD)
			next = refuse(t, PEEK_TLS_LONG);
		/* [PT1] The first byte of a message stays until its type is known. */
		if (next == NEXT_GO && !t->in_hello && t->n_hellos)
			done = at;
	}
	if (next == NEXT_REFUSE)
		return (struct peek_step){ PEEK_REFUSED, done, done };
	if (next == NEXT_RAW)
		return (struct peek_step){ PEEK_RAW, n, n };
	if ((t->in_hello || !t->n_hellos) && n - done >= MAX_PEEK_HELD) {
		t->refusal->reason = PEEK_TLS_LONG;
		return (struct peek_step){ PEEK_REFUSED, done, done };
	}
	t->seen = n - done;
	return (struct peek_step){ PEEK_GO, done, done };
}

uint64_t peek_tls_unseen(const struct peek_tls *t)
{
	if (t->seen || !t->record_left || !t->n_hellos)
		return 0;
	if (t->header[0] != RECORD_HANDSHAKE)
		return t->record_left;
	return t->part == PART_OTHER_MESSAGE ? MIN(t->record_left, t->need) : 0;
}

void peek_tls_skip(struct peek_tls *t, uint64_t n)
{
	assert(n <= peek_tls_unseen(t));
	t->record_left -= (uint32_t)n;
	if (t->header[0] != RECORD_HANDSHAKE)
		return;
	t->need -= (uint32_t)n;
	if (!t->need)
		start_message(t);
}

/* TLS as far as it is in clear (see peek_tls.h).
 *
 * Pure; part of the gate.  RFC 8446 and 5246 for the layout, 6066 for the
 * server name, 9849 for ECH.  A message is a row of parts; each part says how
 * many bytes the next one needs, so that a message may come in records and
 * segments of any size.
 */
#include "gate/peek_tls.h"

enum {
	HELLO = 1,
	EXT_SERVER_NAME = 0, EXT_EARLY_DATA = 42,
	EXT_ECH = 0xfe0d, EXT_ESNI = 0xffce,
};

enum part {
	PART_TYPE, PART_LENGTH, PART_VERSION, PART_RANDOM, PART_SESSION_LENGTH,
	PART_SESSION, PART_SUITES_LENGTH, PART_SUITES, PART_COMPRESSION_LENGTH, PART_COMPRESSION,
	PART_EXTENSIONS_LENGTH, PART_EXTENSION_TYPE, PART_EXTENSION_LENGTH, PART_EXTENSION,
	N_PARTS
};

/* What the end of a part, or of a record's header, leads to. */
enum next { NEXT_GO, NEXT_REFUSE };

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
	/* The client's next message depends on the server's answer. */
	if (t->record_left)
		return refuse(t, PEEK_TLS_BAD);
	t->has_hello = true;
	start_message(t);
	return NEXT_GO;
}

static enum next after_type(struct peek_tls *t)
{
	if (t->value != HELLO)
		return refuse(t, PEEK_TLS_BAD);
	t->message_left = 3;
	return want(t, PART_LENGTH, 3);
}

static enum next after_length(struct peek_tls *t)
{
	t->message_left = t->value;
	if (t->value > MAX_PEEK_HELD)
		return refuse(t, PEEK_TLS_LONG);
	t->n_extensions = 0;
	t->n_sni = 0;
	t->has_sni = t->has_ech = false;
	return want(t, PART_VERSION, 2);
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

/* Records that the server's answer need not come before. */
static bool may_pass(const struct peek_tls *t)
{
	switch (t->header[0]) {
	case TLS_CCS:
		return t->record_left == 1;
	case TLS_ALERT:
		return t->record_left == 2;
	case TLS_DATA:
		return t->has_early_data;
	default:
		return false;
	}
}

static enum next start_record(struct peek_tls *t)
{
	t->n_header = 0;
	t->record_left = (uint32_t)t->header[3] << 8 | t->header[4];
	if (t->header[1] != 3 || t->record_left > TLS_MAX_RECORD || !t->record_left)
		return refuse(t, PEEK_TLS_BAD);
	if (t->header[0] == TLS_HANDSHAKE)
		return NEXT_GO;
	/* Inside of a hello some servers skip an alert. */
	if (!is_between_messages(t) || !t->has_hello || !may_pass(t))
		return refuse(t, PEEK_TLS_BAD);
	return NEXT_GO;
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
	*ret_n = t->header[0] == TLS_HANDSHAKE ? read_part(t, b, n) : n;
	t->record_left -= (uint32_t)*ret_n;
	while (t->header[0] == TLS_HANDSHAKE && !t->need && next == NEXT_GO)
		next = parts[t->part].end(t);
	return next;
}

/* Between two records, or inside one that is no handshake: all before may pass. */
static bool is_clear(const struct peek_tls *t)
{
	return t->has_hello && is_between_messages(t) && !t->n_header &&
	       (!t->record_left || t->header[0] != TLS_HANDSHAKE);
}

struct peek_step peek_tls_feed(struct peek_tls *t, const unsigned char *b, size_t n)
{
	size_t at = t->seen, done = 0, piece;
	enum next next = NEXT_GO;

	if (t->server.has_accepted)
		return (struct peek_step){ PEEK_RAW, n, n };
	while (at < n && next == NEXT_GO) {
		bool was_clear = is_clear(t);

		next = read_piece(t, b + at, n - at, &piece);
		at += piece;
		if (!was_clear && at - done > MAX_PEEK_HELD)
			next = refuse(t, PEEK_TLS_LONG);
		else if (next == NEXT_GO && is_clear(t))
			done = at;
	}
	if (next == NEXT_GO && n - done >= MAX_PEEK_HELD)
		next = refuse(t, PEEK_TLS_LONG);
	t->seen = n - done;
	return (struct peek_step){ next == NEXT_GO ? PEEK_GO : PEEK_REFUSED, done, done };
}

bool peek_tls_wants_response(const struct peek_tls *t)
{
	return t->has_hello && !t->server.has_accepted && !t->server.is_other;
}

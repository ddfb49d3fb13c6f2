/* The plaintext part of a TLS client's stream: who is it for?
 *
 * Every ClientHello is read through segments, records and messages, without
 * being stored, and must name the target.  There may be two: after a
 * HelloRetryRequest the client says hello again, in clear, and servers act on
 * the second name.  So the stream is watched until what follows is encrypted:
 *
 * [PT1] No byte of a ClientHello passes before the whole of it was judged.
 * [PT2] A stream with early data is watched to its end, since a server that
 *       refuses early data skips it and takes another ClientHello.
 *
 * Encrypted client hello (ECH, and its ancestor ESNI) is refused: the outer name
 * says nothing about the inner one, and a client that only pretends (GREASE,
 * as browsers do) cannot be told from one that hides a name.
 */
#ifndef GATE_PEEK_TLS_H
#define GATE_PEEK_TLS_H

#include "gate/peek_reason.h"
#include "gate/peek_step.h"

/* A server name extension: two lengths, a type, the longest name and its dot. */
#define PEEK_SNI_BYTES	(5 + MAX_HOST_NAME + 1)

struct peek_tls {
	const struct peek_target *to;	/* the caller's; outlives this */
	struct peek_refusal *refusal;
	size_t seen;			/* bytes shown before that did not pass */
	/* the record that is being read */
	unsigned char header[5];
	unsigned char n_header;
	uint32_t record_left;
	/* the handshake message: which part of it, and how many bytes are missing */
	unsigned char part;
	uint32_t need, value;
	uint32_t message_left;		/* bytes of it beyond the present part */
	bool in_hello;
	uint16_t extension;
	uint16_t n_extensions;
	uint16_t extensions[MAX_PEEK_EXTENSIONS];
	uint16_t n_sni;
	unsigned char sni[PEEK_SNI_BYTES];
	bool has_sni, has_ech;
	/* what the hellos and records so far make possible */
	unsigned char n_hellos;
	bool may_retry;			/* TLS 1.3 is offered */
	bool has_early_data;
	bool had_key_exchange;		/* so it is TLS 1.2 */
	bool after_ccs;			/* a handshake record may be encrypted */
};

void peek_tls_init(struct peek_tls *t, const struct peek_target *to,
		   struct peek_refusal *refusal);
/* `bytes`: everything of the stream that has not passed yet. */
struct peek_step peek_tls_feed(struct peek_tls *t, const unsigned char *bytes, size_t n);
/* How many bytes after those that passed may pass without being shown. */
uint64_t peek_tls_unseen(const struct peek_tls *t);
void peek_tls_skip(struct peek_tls *t, uint64_t n);

#endif

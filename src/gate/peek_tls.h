/* The plaintext part of a TLS client's stream: which host is it for?
 *
 * Every ClientHello is read through segments, records and messages, without
 * being stored, and must name the target.  There may be several: after a
 * HelloRetryRequest the client sends another one, in clear, and servers act on
 * its name.  The server says when it takes no more of them:
 *
 * [PT1] No byte of a ClientHello passes before the whole of it was judged.
 * [PT2] Until the server's ServerHello was read, each handshake message of the
 *       client is a ClientHello, at most MAX_PEEK_HELD bytes long with its
 *       records; between them only alerts, changes of keys and early data pass.
 *       After the ServerHello everything passes.
 *
 * Encrypted client hello (ECH, and its ancestor ESNI) is refused: the outer name
 * says nothing about the inner one, and a client that only pretends (GREASE,
 * as browsers do) cannot be told from one that hides a name.
 */
#ifndef GATE_PEEK_TLS_H
#define GATE_PEEK_TLS_H

#include "gate/peek_reason.h"
#include "gate/peek_step.h"
#include "gate/peek_tls_server.h"

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
	uint16_t extension;
	uint16_t n_extensions;
	uint16_t extensions[MAX_PEEK_EXTENSIONS];
	uint16_t n_sni;
	unsigned char sni[PEEK_SNI_BYTES];
	bool has_sni, has_ech;
	bool has_hello;			/* one has passed */
	bool has_early_data;		/* some hello offers it */
	struct peek_tls_server server;
};

void peek_tls_init(struct peek_tls *t, const struct peek_target *to,
		   struct peek_refusal *refusal);
/* `bytes`: everything of the stream that has not passed yet. */
struct peek_step peek_tls_feed(struct peek_tls *t, const unsigned char *bytes, size_t n);
/* While true, the server's bytes must be shown before the client gets them. */
bool peek_tls_wants_response(const struct peek_tls *t);

#endif

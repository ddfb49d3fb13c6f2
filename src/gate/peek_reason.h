/* Why a connection was refused after a look at its bytes, and how that is said. */
#ifndef GATE_PEEK_REASON_H
#define GATE_PEEK_REASON_H

#include "policy/host.h"

/* Whom the connection is for, as the gate knows it: the name that our DNS gave
 * the address for, or the address itself. */
struct peek_target {
	struct host host;
	uint16_t port;
};

enum peek_reason {
	PEEK_NO_REASON,
	/* TLS */
	PEEK_SNI_NONE,
	PEEK_SNI_OTHER,
	PEEK_SNI_BAD,		/* two names, or what is no name */
	PEEK_ECH,
	PEEK_TLS_BAD,
	PEEK_TLS_OLD,		/* an SSL 2 hello: has no room for a name */
	PEEK_TLS_LONG,
	/* HTTP: who is meant */
	PEEK_HOST_NONE,
	PEEK_HOST_OTHER,
	PEEK_HOST_BAD,
	PEEK_HOST_SEVERAL,
	PEEK_PORT_OTHER,
	PEEK_USER_INFO,
	PEEK_CONNECT,
	PEEK_HTTP2,
	/* HTTP: shapes that two parsers read differently */
	PEEK_REQUEST_LINE,
	PEEK_REQUEST_TARGET,
	PEEK_HTTP_VERSION,
	PEEK_LINE_END,
	PEEK_CONTROL,
	PEEK_FIELD,
	PEEK_LENGTH,
	PEEK_CODING,
	PEEK_CHUNK,
	PEEK_TRAILER,
	PEEK_CONNECTION,
	PEEK_BODY_REQUEST,
	PEEK_UPGRADE_LATE,
	PEEK_HEAD_LONG,
	PEEK_CUT_SHORT,
	N_PEEK_REASONS
};

struct peek_refusal {
	enum peek_reason reason;
	char named[MAX_HOST_NAME + 1];	/* the host that was named instead, as it was written;
					 * "" when there is none that can be shown */
};

/* A word for logs ("sni-other"), and the whole sentence. */
const char *peek_reason_word(enum peek_reason r);
void peek_refusal_print(const struct peek_refusal *r, const struct peek_target *to,
			char out[MAX_PEEK_WHY]);

/* Do two canonical hosts name the same? */
bool peek_is_host(const struct host *a, const struct host *b);
/* Read a host out of a client's bytes, strictly: ASCII only, addresses only in
 * the spelling that every parser reads alike.  False when it is no host. */
bool peek_host_parse(struct str text, struct host *ret);
/* Note the host that was named, for people; returns `why`. */
enum peek_reason peek_refusal_name(struct peek_refusal *r, struct str named, enum peek_reason why);

#define PEEK_ALERT_BYTES	7
#define PEEK_ANSWER_BYTES	2048

/* What a refused client gets: a 403 that closes, with `why` as its only line
 * ("cordon: WHY") and as X-Cordon-Deny; returns its length.  To be sent only
 * when no byte of the server has gone to the client and no request before. */
size_t peek_answer_http(const char *why, char out[PEEK_ANSWER_BYTES]);
/* A fatal alert: access_denied (49). */
size_t peek_answer_tls(unsigned char out[PEEK_ALERT_BYTES]);

#endif

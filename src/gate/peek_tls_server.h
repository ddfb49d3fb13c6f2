/* The cleartext beginning of a TLS server's stream: has it accepted a ClientHello?
 *
 * A ServerHello is its yes, and the last thing in clear that the client's next bytes
 * depend on.  Everything else (a HelloRetryRequest, alerts, a record of another kind)
 * leaves the server where it may still take a ClientHello.
 */
#ifndef GATE_PEEK_TLS_SERVER_H
#define GATE_PEEK_TLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of records. */
enum {
	TLS_CCS = 20, TLS_ALERT = 21, TLS_HANDSHAKE = 22, TLS_DATA = 23,
	TLS_MAX_RECORD = (1 << 14) + 2048,	/* encrypted ones of TLS 1.2 have the most */
};

struct peek_tls_server {
	unsigned char header[5];	/* of the record that is being read */
	unsigned char n_header;
	uint32_t record_left;
	/* the handshake message: its type and length, and of a hello version and random */
	unsigned char start[1 + 3 + 2 + 32];
	unsigned char n_start;
	uint32_t message_left;
	bool has_accepted;		/* the ServerHello was read */
	bool is_other;			/* this is not TLS: nothing more is read */
};

/* The server's next bytes, from the first one after the first ClientHello on. */
void peek_tls_server_feed(struct peek_tls_server *s, const unsigned char *bytes, size_t n);

#endif

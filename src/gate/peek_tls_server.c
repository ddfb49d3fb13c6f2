/* A TLS server's first flight (see peek_tls_server.h).
 *
 * Pure; part of the gate.  RFC 8446, sections 4.1.3 and 5.1.
 */
#include "gate/peek_tls_server.h"

#include "base/macros.h"

enum { SERVER_HELLO = 2, MESSAGE_HEADER = 4 };

/* A ServerHello with this random is a HelloRetryRequest: SHA-256 of that word. */
static const unsigned char retry_random[32] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8,
	0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,
	0x33, 0x9c,
};

static void end_header(struct peek_tls_server *s)
{
	unsigned type = s->header[0];

	s->n_header = 0;
	s->record_left = (uint32_t)s->header[3] << 8 | s->header[4];
	/* No record of another type comes between the parts of a message. */
	s->is_other = type < TLS_CCS || type > TLS_DATA || s->header[1] != 3 ||
		      s->record_left > TLS_MAX_RECORD || (s->n_start && type != TLS_HANDSHAKE);
}

static void read_message(struct peek_tls_server *s, unsigned char c)
{
	bool in_header = s->n_start < MESSAGE_HEADER;

	if (s->n_start < sizeof(s->start))
		s->start[s->n_start++] = c;
	if (!in_header)
		s->message_left--;
	else if (s->n_start == MESSAGE_HEADER)
		s->message_left = (uint32_t)s->start[1] << 16 | (uint32_t)s->start[2] << 8 |
				  s->start[3];
	s->has_accepted = s->n_start == sizeof(s->start) && s->start[0] == SERVER_HELLO &&
			  memcmp(s->start + sizeof(s->start) - sizeof(retry_random), retry_random,
				 sizeof(retry_random)) != 0;
	if (s->n_start >= MESSAGE_HEADER && !s->message_left)
		s->n_start = 0;
}

void peek_tls_server_feed(struct peek_tls_server *s, const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n && !s->has_accepted && !s->is_other; i++) {
		if (s->record_left) {
			s->record_left--;
			if (s->header[0] == TLS_HANDSHAKE)
				read_message(s, b[i]);
		} else {
			s->header[s->n_header++] = b[i];
			if (s->n_header == sizeof(s->header))
				end_header(s);
		}
	}
}

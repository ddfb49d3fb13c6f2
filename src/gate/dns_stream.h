/* DNS over TCP: messages with two bytes of length before each (RFC 7766).
 *
 *   p = dns_stream_get_room(s, &n);          where to receive, and how much
 *   dns_stream_add(s, recv(fd, p, n, 0));
 *   while (dns_stream_take(s, &msg, &n) == DNS_STREAM_MESSAGE)
 *           one whole message: answer it
 *
 * Several messages may come at once, and one in any number of pieces; nothing
 * is copied but the beginning of a message whose rest is still to come.
 */
#ifndef GATE_DNS_STREAM_H
#define GATE_DNS_STREAM_H

#include <stddef.h>

#include "base/limits.h"
#include "base/macros.h"

#define DNS_FRAME	2	/* bytes of length before a message */

enum dns_stream_state {
	DNS_STREAM_MESSAGE,
	DNS_STREAM_MORE,	/* no whole message: receive */
	DNS_STREAM_BROKEN,	/* a length no question has: nothing after it has a meaning */
	N_DNS_STREAM_STATES
};

/* [DS1] taken <= n <= the size of bytes.
 * [DS2] Once dns_stream_take() said DNS_STREAM_MORE there is room for the rest
 * of the message that has begun. */
struct dns_stream {
	size_t taken, n;	/* what lies between the two is still to be taken */
	unsigned char bytes[DNS_FRAME + MAX_DNS_QUERY];
};

void dns_stream_init(struct dns_stream *s);
/* Where the next bytes go; messages taken before are gone with this call. */
unsigned char *dns_stream_get_room(struct dns_stream *s, size_t *ret_n);
/* `n` bytes were put there. */
void dns_stream_add(struct dns_stream *s, size_t n);
/* The next message; it stays the stream's.  DNS_STREAM_BROKEN comes again for
 * ever: the connection is of no more use. */
enum dns_stream_state dns_stream_take(struct dns_stream *s, const unsigned char **ret_msg,
				      size_t *ret_n) MUST_USE;

/* The length to send before a message of `n` bytes. */
void dns_frame_write(unsigned char out[DNS_FRAME], size_t n);

#endif

/* How much of a client's stream, on stdin, the gate lets pass when the server says nothing:
 * `passes HOST PORT` prints the bytes and `refused`, `held` or `open`. */
#include <stdio.h>

#include "../unit/peek_stream.h"

int main(int argc, char **argv)
{
	static unsigned char data[1 << 20];
	size_t n = fread(data, 1, sizeof(data), stdin);
	struct stream s = { .open = true };
	struct stream_end e;
	uint64_t port;

	if (argc != 3 || n == sizeof(data) || !str_parse_u64(str_from(argv[2]), &port))
		return 2;
	s.host = argv[1];
	s.port = (uint16_t)port;
	e = stream_feed(&s, data, n, 0, n ? n : 1);
	printf("%zu %s\n", e.sent,
	       e.verdict == PEEK_REFUSED ? "refused" : e.sent < n ? "held" : "open");
	return 0;
}

/* The head of one HTTP/1 request, line by line. */
#ifndef GATE_PEEK_HTTP_HEAD_H
#define GATE_PEEK_HTTP_HEAD_H

#include "gate/peek_reason.h"

struct peek_head {
	bool has_line;			/* the request line was read */
	unsigned char minor;		/* HTTP/1.minor */
	bool has_host, has_length, has_chunked, has_upgrade, is_h2c;
	unsigned n_fields;
	uint64_t length;
};

/* What the lines are checked against. */
struct peek_head_check {
	const struct peek_target *to;
	struct peek_refusal *refusal;	/* gets the host that is named instead */
};

/* Each takes a line without its CR LF, with no control character but HTAB. */
enum peek_reason peek_head_add(struct peek_head *h, struct str line,
			       const struct peek_head_check *check);
/* After the empty line: is the head complete, and not against itself? */
enum peek_reason peek_head_check_whole(const struct peek_head *h);
enum peek_reason peek_trailer_check(struct str line);
/* The size of a chunk; extensions may only be plain tokens. */
enum peek_reason peek_chunk_parse(struct str line, uint64_t *ret_size);

#endif

/* The states of a plain HTTP stream (see peek_http.h).
 *
 * Pure; part of the gate.  Heads are read where the caller holds them, a line
 * at a time, so that nothing is copied and a client that sends single bytes
 * costs no more than one that does not.
 */
#include "gate/peek_http.h"

/* What is held, and how much of it is finished with. */
struct span {
	const unsigned char *b;
	size_t n, done;
};

/* MORE: wait for bytes; ON: go on in the new state. */
enum next { NEXT_MORE, NEXT_ON, NEXT_REFUSE };

void peek_http_init(struct peek_http *p, const struct peek_target *to,
		    struct peek_refusal *refusal)
{
	*p = (struct peek_http){ .to = to, .refusal = refusal };
}

static enum next refuse(struct peek_http *p, enum peek_reason why)
{
	p->refusal->reason = why;
	return NEXT_REFUSE;
}

static enum next enter(struct peek_http *p, enum peek_http_state state)
{
	p->state = state;
	p->line = p->seen = 0;
	return NEXT_ON;
}

/* The next line beyond p->line, complete, without its CR LF.  Control characters
 * and lone CR and LF are refused as soon as they are seen. */
static enum next read_line(struct peek_http *p, const struct span *in, size_t max,
			   struct str *ret)
{
	const unsigned char *b = in->b + in->done;
	size_t n = in->n - in->done;

	for (size_t i = p->seen; i < n; i++) {
		bool after_cr = i > p->line && b[i - 1] == '\r';

		if ((b[i] == '\n') != after_cr)
			return refuse(p, PEEK_LINE_END);
		if (i >= max)
			return refuse(p, PEEK_HEAD_LONG);
		if (b[i] == '\n') {
			*ret = (struct str){ (const char *)b + p->line, i - 1 - p->line };
			p->line = p->seen = i + 1;
			return NEXT_ON;
		}
		if ((b[i] < ' ' && b[i] != '\t' && b[i] != '\r') || b[i] == 0x7f)
			return refuse(p, PEEK_CONTROL);
	}
	p->seen = n;
	return n >= max ? refuse(p, PEEK_HEAD_LONG) : NEXT_MORE;
}

static enum next end_request(struct peek_http *p)
{
	p->head = (struct peek_head){ 0 };
	if (p->change == SWITCH_ASKED)
		return enter(p, HTTP_AWAIT);
	return enter(p, p->change == SWITCH_DONE ? HTTP_SWITCHED : HTTP_HEAD);
}

static enum next end_head(struct peek_http *p, struct span *in)
{
	enum peek_reason why = peek_head_check_whole(&p->head);

	if (why)
		return refuse(p, why);
	if (p->head.has_upgrade && !p->head.is_h2c) {
		/* The first answer belongs to the first request; where a later one
		 * begins could only be known by reading all answers. */
		if (p->n_requests)
			return refuse(p, PEEK_UPGRADE_LATE);
		p->change = SWITCH_ASKED;
	}
	p->n_requests += p->n_requests < UINT32_MAX;
	in->done += p->line;
	if (p->head.has_chunked) {
		p->n_trailers = 0;
		return enter(p, HTTP_CHUNK_LINE);
	}
	if (!p->head.length)
		return end_request(p);
	p->left = p->head.length;
	p->in_first = true;
	peek_line_init(&p->first);
	return enter(p, HTTP_BODY);
}

static enum next read_head(struct peek_http *p, struct span *in)
{
	const struct peek_head_check check = { p->to, p->refusal };
	enum next next;
	struct str line;

	while ((next = read_line(p, in, MAX_PEEK_HELD, &line)) == NEXT_ON) {
		enum peek_reason why;

		if (!line.n)
			return end_head(p, in);
		why = peek_head_add(&p->head, line, &check);
		if (why)
			return refuse(p, why);
	}
	return next;
}

/* A server that does not read the body of a request takes its first line for the
 * next one, and gives up on anything else than a request there.  Some take lines of
 * a megabyte: what may become a request is watched to its end. */
static enum next read_first_line(struct peek_http *p, struct span *in)
{
	while (p->in_first && p->left && in->done < in->n) {
		unsigned char c = in->b[in->done];

		if (c != '\n') {
			peek_line_add(&p->first, c);
		} else if (peek_line_is_request(&p->first)) {
			return refuse(p, PEEK_BODY_REQUEST);
		} else if (peek_line_is_blank(&p->first)) {
			peek_line_init(&p->first);
		} else {
			p->in_first = false;
		}
		if (!p->first.first_is_token)
			p->in_first = false;
		in->done++;
		p->left--;
	}
	if (p->in_first && !p->left && peek_line_is_request(&p->first))
		return refuse(p, PEEK_BODY_REQUEST);
	return NEXT_ON;
}

static enum next read_body(struct peek_http *p, struct span *in)
{
	size_t n;

	if (read_first_line(p, in) == NEXT_REFUSE)
		return NEXT_REFUSE;
	n = MIN(p->left, in->n - in->done);
	in->done += n;
	p->left -= n;
	return p->left ? NEXT_MORE : end_request(p);
}

static enum next read_chunk_line(struct peek_http *p, struct span *in)
{
	enum peek_reason why;
	struct str line;
	enum next next = read_line(p, in, MAX_PEEK_CHUNK_LINE, &line);

	if (next != NEXT_ON)
		return next;
	why = peek_chunk_parse(line, &p->left);
	if (why)
		return refuse(p, why);
	in->done += p->line;
	return enter(p, p->left ? HTTP_CHUNK_DATA : HTTP_TRAILERS);
}

static enum next read_chunk_data(struct peek_http *p, struct span *in)
{
	size_t n = MIN(p->left, in->n - in->done);

	in->done += n;
	p->left -= n;
	return p->left ? NEXT_MORE : enter(p, HTTP_CHUNK_END);
}

static enum next read_chunk_end(struct peek_http *p, struct span *in)
{
	enum peek_reason why = PEEK_NO_REASON;
	struct str line;
	enum next next = read_line(p, in, 2, &line);

	if (next == NEXT_REFUSE || (next == NEXT_ON && line.n))
		why = PEEK_CHUNK;
	if (why)
		return refuse(p, why);
	if (next != NEXT_ON)
		return next;
	in->done += p->line;
	return enter(p, HTTP_CHUNK_LINE);
}

static enum next read_trailers(struct peek_http *p, struct span *in)
{
	enum peek_reason why;
	struct str line;
	enum next next = read_line(p, in, MAX_PEEK_HELD, &line);

	if (next != NEXT_ON)
		return next;
	if (!line.n) {
		in->done += p->line;
		return end_request(p);
	}
	why = ++p->n_trailers > MAX_PEEK_FIELDS ? PEEK_HEAD_LONG : peek_trailer_check(line);
	if (why)
		return refuse(p, why);
	in->done += p->line;
	return enter(p, HTTP_TRAILERS);
}

static enum next read_nothing(struct peek_http *p UNUSED, struct span *in UNUSED)
{
	return NEXT_MORE;
}

static enum next (*const readers[])(struct peek_http *p, struct span *in) = {
	[HTTP_HEAD] = read_head,
	[HTTP_BODY] = read_body,
	[HTTP_CHUNK_LINE] = read_chunk_line,
	[HTTP_CHUNK_DATA] = read_chunk_data,
	[HTTP_CHUNK_END] = read_chunk_end,
	[HTTP_TRAILERS] = read_trailers,
	[HTTP_AWAIT] = read_nothing,
	[HTTP_SWITCHED] = read_nothing,
};
static_assert(ARRAY_SIZE(readers) == N_HTTP_STATES, "a state without a reader");

struct peek_step peek_http_feed(struct peek_http *p, const unsigned char *bytes, size_t n)
{
	struct span in = { bytes, n, 0 };
	enum next next = NEXT_ON;

	while (next == NEXT_ON)
		next = readers[p->state](p, &in);
	return (struct peek_step){ next == NEXT_REFUSE ? PEEK_REFUSED : PEEK_GO, in.done, in.done };
}

uint64_t peek_http_unseen(const struct peek_http *p)
{
	if (p->state == HTTP_CHUNK_DATA)
		return p->left;
	return p->state == HTTP_BODY && !p->in_first ? p->left : 0;
}

void peek_http_skip(struct peek_http *p, uint64_t n)
{
	assert(n <= peek_http_unseen(p));
	p->left -= n;
}

bool peek_http_may_end(const struct peek_http *p)
{
	return p->state != HTTP_BODY || !p->in_first || !peek_line_is_request(&p->first);
}

bool peek_http_wants_response(const struct peek_http *p)
{
	return p->change == SWITCH_ASKED;
}

/* "HTTP/1.1 101" and alike; sizeof(p->status) bytes. */
static bool is_status(const char *s, const char *code)
{
	return memcmp(s, "HTTP/1.", 7) == 0 && s[8] == ' ' &&
	       memcmp(s + 9, code, strlen(code)) == 0;
}

static void end_switch(struct peek_http *p, enum peek_switch change)
{
	p->change = change;
	if (p->state == HTTP_AWAIT)
		enter(p, change == SWITCH_DONE ? HTTP_SWITCHED : HTTP_HEAD);
}

/* The end of an interim answer's head.  Behind that of a 101 the new protocol begins. */
static void end_answer(struct peek_http *p)
{
	p->n_status = p->n_blank = 0;
	if (is_status(p->status, "101"))
		end_switch(p, SWITCH_DONE);
}

static void read_answer(struct peek_http *p, unsigned char c)
{
	if (p->n_status < sizeof(p->status)) {
		p->status[p->n_status++] = (char)c;
		if (p->n_status == sizeof(p->status) && !is_status(p->status, "1"))
			end_switch(p, SWITCH_REFUSED);
		return;
	}
	if (c != '\r')
		p->n_blank = c == '\n' ? p->n_blank + 1 : 0;
	if (p->n_blank == 2)
		end_answer(p);
}

void peek_http_response_feed(struct peek_http *p, const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n && peek_http_wants_response(p); i++)
		read_answer(p, b[i]);
}

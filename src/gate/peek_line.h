/* Is a line of text, or of anything, a request in the eyes of some HTTP server?
 *
 * The servers that matter are the lenient ones: they split a line at any white
 * space (Python also at 0x1c to 0x1f, 0x85 and 0xa0), take any letter case, do
 * without a version, and skip blank lines.  This reader takes a byte at a time
 * and keeps no text.
 */
#ifndef GATE_PEEK_LINE_H
#define GATE_PEEK_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct peek_line {
	unsigned char words;		/* begun on this line; stays at 3 */
	bool in_word;
	unsigned char at;		/* bytes of the present word; stays at 255 */
	unsigned char n_first;		/* length of the first word; stays at 255 */
	char first[8];			/* its start */
	char start[5];			/* start of the present word, in lower case */
	bool first_is_token;		/* has no byte that a method cannot have */
	bool first_is_upper;		/* A to Z, '-' and '_' only */
	bool second_is_path;		/* begins with '/' */
	unsigned char n_scheme;		/* of "://" found in the second word */
	bool last_is_version;		/* the present word, not the first, begins HTTP/ or alike */
	bool had_version;		/* some word did */
};

void peek_line_init(struct peek_line *l);
/* The next byte; not the LF. */
void peek_line_add(struct peek_line *l, unsigned char c);
bool peek_line_is_blank(const struct peek_line *l);
/* Can the line so far, whatever follows, be a request?  Once true it stays so. */
bool peek_line_is_http(const struct peek_line *l);
/* At the end of the line: would a server that expects a request take it?  Narrower:
 * for the first line of a body, which may speak about HTTP. */
bool peek_line_is_request(const struct peek_line *l);
/* Is it a header line that names a host? */
bool peek_line_is_host(const struct peek_line *l);

#endif

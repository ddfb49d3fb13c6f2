/* Writing JSON, one token after the other, into a buffer.
 *
 * Commas and (with `indent`) line breaks come by themselves.  The output is
 * ASCII or UTF-8; bytes that are not UTF-8 become U+FFFD.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdint.h>

#include "base/buf.h"

struct json_out {
	struct buf *out;
	unsigned indent;	/* spaces a level; 0 = everything on one line */
	unsigned depth;
	bool after_value;	/* a comma is due before the next value */
	bool after_key;
};

void json_open(struct json_out *j, char bracket);	/* '{' or '[' */
void json_close(struct json_out *j, char bracket);	/* '}' or ']' */
void json_key(struct json_out *j, const char *key);
void json_key_str(struct json_out *j, struct str key);
void json_put_str(struct json_out *j, struct str s);
void json_put_text(struct json_out *j, const char *s);	/* NULL writes null */
void json_put_int(struct json_out *j, int64_t v);
void json_put_real(struct json_out *j, double v);	/* finite; reads back as the same */
void json_put_bool(struct json_out *j, bool v);
void json_put_null(struct json_out *j);
/* A value that is JSON already, on one line. */
void json_put_raw(struct json_out *j, struct str s);

#endif

/* What was refused in one run: each thing once, with how often. */
#ifndef SUPER_DENIALS_H
#define SUPER_DENIALS_H

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"

enum denial_kind { DENIAL_FILE, DENIAL_COMMAND, DENIAL_NETWORK, N_DENIAL_KINDS };

struct denial {
	enum denial_kind kind;
	char *what;		/* path, command or host */
	unsigned port;		/* of a host; 0: only its name was asked for */
	char *reason;
	char *hint;		/* or "" */
	uint64_t count;
	int leader;		/* of the session of who tried it; 0: nobody can tell */
};

struct denials {
	struct denial *items;	/* room for MAX_DENIALS, once there is one */
	size_t n;
	uint64_t left_out;	/* refusals of things for which there was no room */
};

void denials_release(struct denials *d);
/* One more; the same one again is counted.  A name that is asked for in vain and
 * a connection to it that is refused for the same reason are the same one. */
void denials_add(struct denials *d, enum denial_kind kind, const char *what, unsigned port,
		 const char *reason, const char *hint);
/* All refusals, however often. */
uint64_t denials_count(const struct denials *d);
/* The list, as CONTRACT says. */
void denials_print(const struct denials *d, struct json_out *j);
/* One of them in one line for people, such as
 * denied: evil.test:443 (3×) not in the allowlist; allow with --allow-host evil.test */
void denial_print(const struct denial *d, struct buf *out);

#endif

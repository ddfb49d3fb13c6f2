/* URLs, read strictly: what two parsers could read differently is refused. */
#ifndef POLICY_URL_H
#define POLICY_URL_H

#include "policy/host.h"

struct url {
	struct str scheme;	/* lower case; points into this very struct: do not copy it */
	char scheme_text[16];
	bool has_host;
	struct host host;
	unsigned port;		/* written, or the scheme's own; 0 when unknown */
};

enum url_fault {
	URL_OK,
	URL_INVALID,		/* not a URL: backslash, space, control, %, bad port… */
	URL_NO_SCHEME,
	URL_NO_HOST,		/* https:name, file:///x */
	URL_BAD_HOST,		/* a URL, but its host has no canonical form */
	N_URL_FAULTS
};

/* `why` never quotes user info, path or query.  With URL_NO_HOST and URL_BAD_HOST
 * the scheme is there as well; otherwise a fault leaves *ret alone. */
enum url_fault url_parse(struct str text, struct url *ret, char why[HOST_WHY]);
/* HOST, HOST:PORT, [v6], [v6]:PORT, or a bare v6 address; port 0 if absent (a
 * port that is written is never 0). */
int url_parse_hostport(struct str text, struct host *ret, unsigned *ret_port, char why[HOST_WHY])
	MUST_USE;

#endif

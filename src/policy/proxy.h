/* network.upstream_proxy as it is written.
 *
 * Secrets do not stand in policies: these lie in workspaces, are printed and
 * compared.  So user and password are names of the caller's variables, and so
 * may be the whole URL.
 *
 *     http://proxy.example:3128
 *     http://${PROXY_USER}:${PROXY_PASSWORD}@proxy.example:3128
 *     ${HTTPS_PROXY}
 *     none
 */
#ifndef POLICY_PROXY_H
#define POLICY_PROXY_H

#include "policy/host.h"

/* Pieces of the text; n is 0 for what is not there, and that is all of it where
 * no proxy is meant. */
struct proxy_text {
	struct str whole;		/* the variable that holds the URL: nothing else is set */
	struct str user, password;	/* variables */
	struct str hostport;		/* as written */
};

#define PROXY_SCHEME	"http://"
#define PROXY_NONE	"none"
#define PROXY_PORT	80	/* the scheme's own */

/* `why` never quotes what could be a secret. */
int proxy_text_parse(struct str text, struct proxy_text *ret, char why[HOST_WHY]) MUST_USE;
/* Is this one of the variables that the text takes? */
bool proxy_text_takes(const struct proxy_text *t, struct str name);

#endif

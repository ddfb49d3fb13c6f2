/* The proxy in front; see proxy.h. */
#include "policy/proxy.h"

#include "policy/host_priv.h"
#include "policy/url.h"

/* ${NAME} at the start of `text`: its length, or 0. */
static size_t variable_at(struct str text, struct str *ret_name)
{
	size_t end = str_find(text, '}');

	if (!str_starts(text, "${") || end == text.n || end == 2)
		return 0;
	*ret_name = (struct str){ text.s + 2, end - 2 };
	for (size_t i = 0; i < ret_name->n; i++) {
		char c = ret_name->s[i];

		if (c != '_' && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    !(i && c >= '0' && c <= '9'))
			return 0;
	}
	return end + 1;
}

/* ${USER}, or ${USER}:${PASSWORD}. */
static int parse_credentials(struct str text, struct proxy_text *t, char why[HOST_WHY])
{
	size_t n = variable_at(text, &t->user), more;

	if (n && n == text.n)
		return 0;
	if (n && text.s[n] == ':') {
		more = variable_at(str_from_pos(text, n + 1), &t->password);
		if (more && n + 1 + more == text.n)
			return 0;
	}
	return host_refuse(why, "holds credentials: keep them in variables of the caller and "
				"write http://${USER}:${PASSWORD}@HOST:PORT");
}

static int parse_authority(struct str text, struct proxy_text *t, char why[HOST_WHY])
{
	size_t at = text.n;
	char wrong[HOST_WHY];
	struct host h;
	unsigned port;

	/* The last one: what is before it could only be a secret. */
	for (size_t i = 0; i < text.n; i++)
		if (text.s[i] == '@')
			at = i;
	if (at < text.n) {
		if (parse_credentials(str_first(text, at), t, why) < 0)
			return -1;
		text = str_from_pos(text, at + 1);
	}
	t->hostport = text;
	if (url_parse_hostport(text, &h, &port, wrong) < 0)
		return host_refuse(why, "names no host and port behind http://");
	return 0;
}

int proxy_text_parse(struct str text, struct proxy_text *ret, char why[HOST_WHY])
{
	struct proxy_text t = { 0 };
	struct str rest;

	if (variable_at(text, &t.whole) == text.n && text.n) {
		*ret = t;
		return 0;
	}
	t.whole = (struct str){ 0 };
	if (str_is(text, PROXY_NONE)) {
		*ret = t;
		return 0;
	}
	if (!str_starts(text, PROXY_SCHEME))
		return host_refuse(why, "is no http:// proxy: write http://HOST:PORT or ${NAME}");
	rest = str_from_pos(text, strlen(PROXY_SCHEME));
	if (str_ends(rest, "/"))
		rest.n--;
	if (!rest.n || memchr(rest.s, '/', rest.n))
		return host_refuse(why, "is no proxy: write http://HOST:PORT");
	if (parse_authority(rest, &t, why) < 0)
		return -1;
	*ret = t;
	return 0;
}

bool proxy_text_takes(const struct proxy_text *t, struct str name)
{
	return name.n && (str_eq(t->whole, name) || str_eq(t->user, name) ||
			  str_eq(t->password, name));
}

/* The proxy in front, with its credentials: from names of variables to the
 * header that is sent to it.  What is wrong is told without what it was. */
#include "plan/net_priv.h"
#include "policy/model.h"
#include "policy/proxy.h"
#include "policy/url.h"

struct compiler {
	const char *const *environ;
	struct arena *arena;
	struct cordon_err *err;
};

static int find_variable(const struct compiler *c, struct str name, struct str *ret)
{
	for (size_t i = 0; c->environ[i]; i++) {
		const char *entry = c->environ[i];

		if (strncmp(entry, name.s, name.n) == 0 && entry[name.n] == '=') {
			*ret = str_from(entry + name.n + 1);
			return 0;
		}
	}
	return err_set(c->err, CORDON_E_POLICY,
		       "network.upstream_proxy takes ${%.*s}, which the caller does not have",
		       STR_FMT(name));
}

static const char *print_base64(struct arena *a, const char *before, struct str text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	cleanup_buf struct buf out = BUF(MAX_URL_BYTES * 2);

	buf_puts(&out, before);
	for (size_t i = 0; i < text.n; i += 3) {
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < text.n ? (unsigned char)text.s[i + k] : 0u);
		for (size_t k = 0; k < 4; k++)
			buf_putc(&out, i + k <= text.n ? digits[bits >> (18 - 6 * k) & 63] : '=');
	}
	return buf_ok(&out) ? arena_strndup(a, buf_text(&out), out.n) : NULL;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* User info of a URL: %40 is @. */
static bool unescape(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		int high, low;

		if (text.s[i] != '%') {
			buf_putc(out, text.s[i]);
			continue;
		}
		high = i + 2 < text.n ? hex_digit(text.s[i + 1]) : -1;
		low = high < 0 ? -1 : hex_digit(text.s[i + 2]);
		if (low < 0)
			return false;
		buf_putc(out, (char)(high << 4 | low));
		i += 2;
	}
	return true;
}

/* USER:PASSWORD as one line of HTTP. */
static int put_credentials(const struct compiler *c, const struct buf *pair, struct net_proxy *ret)
{
	if (!buf_ok(pair) || pair->n > MAX_URL_BYTES)
		return err_set(c->err, CORDON_E_POLICY,
			       "network.upstream_proxy: its credentials are too long");
	ret->authorization =
		print_base64(c->arena, "Basic ", (struct str){ buf_text(pair), pair->n });
	return ret->authorization ? 0 : err_nomem(c->err);
}

static int put_address(const struct compiler *c, struct str hostport, struct net_proxy *ret)
{
	cleanup_buf struct buf name = BUF(512);
	char why[HOST_WHY];
	unsigned port;
	struct host h;

	if (url_parse_hostport(hostport, &h, &port, why) < 0)
		return err_set(c->err, CORDON_E_POLICY,
			       "network.upstream_proxy names no host and port behind http://");
	if (h.is_addr)
		host_addr_print(&h.addr, &name);
	else
		buf_puts(&name, h.name);
	ret->host = arena_strndup(c->arena, buf_text(&name), name.n);
	ret->port = (uint16_t)(port ? port : PROXY_PORT);
	return ret->host ? 0 : err_nomem(c->err);
}

/* A whole URL from a variable, as other programs read it: with credentials. */
static int compile_whole(const struct compiler *c, struct str name, struct net_proxy *ret)
{
	cleanup_buf struct buf pair = BUF(MAX_URL_BYTES);
	struct str url, info;
	size_t at = 0;
	bool has_info = false;

	if (find_variable(c, name, &url) < 0)
		return -1;
	if (!str_starts(url, PROXY_SCHEME))
		return err_set(c->err, CORDON_E_POLICY,
			       "network.upstream_proxy: ${%.*s} does not hold http://HOST:PORT",
			       STR_FMT(name));
	url = str_from_pos(url, strlen(PROXY_SCHEME));
	url = str_first(url, str_find(url, '/'));
	for (size_t i = 0; i < url.n; i++)
		if (url.s[i] == '@') {
			at = i;
			has_info = true;
		}
	if (!has_info)
		return put_address(c, url, ret);
	info = str_first(url, at);
	if (!unescape(info, &pair))
		return err_set(c->err, CORDON_E_POLICY,
			       "network.upstream_proxy: ${%.*s} has a '%%' that is no escape",
			       STR_FMT(name));
	if (str_find(info, ':') == info.n)
		buf_putc(&pair, ':');
	if (put_credentials(c, &pair, ret) < 0)
		return -1;
	return put_address(c, str_from_pos(url, at + 1), ret);
}

static int compile_parts(const struct compiler *c, const struct proxy_text *t,
			 struct net_proxy *ret)
{
	cleanup_buf struct buf pair = BUF(MAX_URL_BYTES);
	struct str user = { 0 }, password = { 0 };

	if (put_address(c, t->hostport, ret) < 0)
		return -1;
	if (!t->user.n)
		return 0;
	if (find_variable(c, t->user, &user) < 0 ||
	    (t->password.n && find_variable(c, t->password, &password) < 0))
		return -1;
	if (memchr(user.s, ':', user.n) && t->password.n)
		return err_set(c->err, CORDON_E_POLICY,
			       "network.upstream_proxy: the user in ${%.*s} holds a ':'",
			       STR_FMT(t->user));
	buf_str(&pair, user);
	/* One variable may hold both. */
	if (!memchr(user.s, ':', user.n))
		buf_putc(&pair, ':');
	buf_str(&pair, password);
	return put_credentials(c, &pair, ret);
}

int net_proxy_compile(const struct section *s, const char *const *environ, struct arena *a,
		      struct net_proxy *ret, struct cordon_err *err)
{
	const struct field_value *v = &s->f[F_NETWORK_UPSTREAM_PROXY];
	const struct compiler c = { environ, a, err };
	struct net_proxy proxy = { 0 };
	struct proxy_text text;
	char why[HOST_WHY];

	if (v->set && proxy_text_parse(v->text, &text, why) < 0)
		return err_set(err, CORDON_E_POLICY, "network.upstream_proxy %s", why);
	/* Where the variables are not known, what they hold is not wrong. */
	if (v->set && environ && !str_is(v->text, PROXY_NONE) &&
	    (text.whole.n ? compile_whole(&c, text.whole, &proxy) < 0
			  : compile_parts(&c, &text, &proxy) < 0))
		return -1;
	*ret = proxy;
	return 0;
}

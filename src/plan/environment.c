/* The environment of the command; see environment.h.
 *
 * Names of credentials are left out at the end, whatever put them in.
 */
#include "plan/environment.h"

#include <sched.h>

#include "base/path.h"
#include "plan/landlock.h"
#include "plan/net_inside.h"
#include "plan/presets.h"
#include "policy/proxy.h"
#include "policy/template.h"

struct environment {
	struct arena *arena;
	const char *const *caller;	/* NULL: not known */
	const struct section *section;
	const struct plan *plan;
	const char **out;
	size_t n, cap;
	struct cordon_err *err;
};

static struct str name_of(const char *entry)
{
	struct str all = str_from(entry);

	return str_first(all, str_find(all, '='));
}

/* Credentials of the proxy in front are never seen inside. */
static bool is_of_proxy(const struct environment *e, struct str name)
{
	const struct field_value *proxy = &e->section->f[F_NETWORK_UPSTREAM_PROXY];
	struct proxy_text text;
	char why[HOST_WHY];

	return proxy->set && (proxy_text_parse(proxy->text, &text, why) < 0 ||
			      proxy_text_takes(&text, name));
}

/* openai_api_key and openai.api-key are as good a key. */
static char usual_letter(char c)
{
	if (c == '-' || c == '.')
		return '_';
	return (char)(c - (c >= 'a' && c <= 'z' ? 32 : 0));
}

enum name_kind { SECRET_WORD, PLAIN_NAME, SECRET_NAME };

static const struct {
	enum name_kind kind;
	const char *pattern;
} name_rules[] = {
#define NAME(kind, pattern, why)	{ kind, pattern },
#include "plan/secret_names.def"
#undef NAME
};

static bool matches(struct str text, enum name_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_rules); i++)
		if (name_rules[i].kind == kind &&
		    str_glob(str_from(name_rules[i].pattern), text))
			return true;
	return false;
}

static bool has_secret_word(struct str name)
{
	struct str rest = name, word;

	while (rest.n) {
		word = str_first(rest, str_find(rest, '_'));
		rest = str_from_pos(rest, word.n + (word.n < rest.n));
		while (word.n && word.s[word.n - 1] >= '0' && word.s[word.n - 1] <= '9')
			word.n--;
		if (matches(word, SECRET_WORD))
			return true;
	}
	return false;
}

bool environment_is_credential(struct str name)
{
	char upper[256];
	struct str usual = { upper, name.n };

	/* No known name is that long. */
	if (!name.n || name.n > sizeof(upper))
		return name.n;
	for (size_t i = 0; i < name.n; i++)
		upper[i] = usual_letter(name.s[i]);
	return matches(usual, SECRET_NAME) ||
	       (has_secret_word(usual) && !matches(usual, PLAIN_NAME));
}

static bool is_stripped(const struct environment *e, struct str name)
{
	const struct field_value *strip = &e->section->f[F_ENV_STRIP];

	if (is_of_proxy(e, name) || environment_is_credential(name))
		return true;
	for (size_t i = 0; i < strip->n; i++)
		if (str_glob(strip->items[i].text, name))
			return true;
	return false;
}

static bool is_passed(const struct environment *e, struct str name)
{
	const struct field_value *pass = &e->section->f[F_ENV_PASS];

	for (size_t i = 0; i < pass->n; i++)
		if (str_glob(pass->items[i].text, name))
			return true;
	return false;
}

static bool is_set(const struct environment *e, struct str name)
{
	const struct field_value *set = &e->section->f[F_ENV_SET];

	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->items[i].text, name))
			return true;
	return false;
}

static int add(struct environment *e, const char *entry)
{
	const char **out = arena_grow(e->arena, e->out, e->n, &e->cap, sizeof(*out));

	if (!out || !entry)
		return err_nomem(e->err);
	e->out = out;
	e->out[e->n++] = entry;
	return 0;
}

static const char *caller_value(const struct environment *e, struct str name)
{
	for (size_t i = 0; e->caller && e->caller[i]; i++)
		if (str_eq(name_of(e->caller[i]), name) && e->caller[i][name.n] == '=')
			return e->caller[i] + name.n + 1;
	return NULL;
}

/* A NAME that is always stripped has no value. */
static int expand_one(struct environment *e, const struct template_part *part,
		      struct str variable, struct buf *out)
{
	bool stripped = is_stripped(e, part->name);
	const char *value = stripped ? NULL : caller_value(e, part->name);

	if (value && (value[0] || !part->has_fallback))
		buf_puts(out, value);
	else if (part->has_fallback)
		buf_str(out, part->fallback);
	else if (e->caller || stripped)
		return err_set(e->err, CORDON_E_POLICY,
			       "env.set: %.*s takes ${%.*s}, which %s",
			       STR_FMT(variable), STR_FMT(part->name),
			       stripped ? "is not passed on" : "the caller does not have");
	return 0;
}

static int expand(struct environment *e, struct str value, struct str variable, struct buf *out)
{
	struct template_part part;

	while (value.n) {
		if (!template_next(&value, &part))
			return err_set(e->err, CORDON_E_POLICY,
				       "env.set: %.*s has '${' without '}'", STR_FMT(variable));
		buf_str(out, part.before);
		if (part.is_variable && expand_one(e, &part, variable, out) < 0)
			return -1;
	}
	return 0;
}

static int add_set(struct environment *e, const struct item *item)
{
	cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES);

	buf_str(&text, item->text);
	buf_putc(&text, '=');
	if (expand(e, item->value, item->text, &text) < 0)
		return -1;
	if (!buf_ok(&text))
		return err_nomem(e->err);
	return add(e, arena_strndup(e->arena, text.data, text.n));
}

/* In a root, as far as a plan can tell: whatever is mounted last at a place is there. */
static bool is_writable_root(const struct plan *p, const char *path)
{
	bool writable = false;

	for (size_t i = 0; i < p->n_mounts; i++)
		if (path_within(path, p->mounts[i].target))
			writable = p->mounts[i].kind == MOUNT_RW;
	for (size_t i = 0; !(p->clone_flags & CLONE_NEWNS) && i < p->n_accesses; i++)
		writable |= path_within(path, p->accesses[i].path) &&
			    (p->accesses[i].rights & LL_MAKE_REG);
	return writable;
}

/* A private place is empty, and programs take /tmp where no folder is named: what the caller
 * names is there inside only where it is in a root. */
static bool is_lost_folder(const struct environment *e, struct str name, const char *value)
{
	static const char *const names[] = { "TMPDIR", "TMP", "TEMP" };
	const char *path;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (e->plan->level != LEVEL_NONE && str_is(name, names[i])) {
			path = path_normal(e->arena, str_from(value), e->plan->cwd);
			return !path || !is_writable_root(e->plan, path);
		}
	return false;
}

static int add_passed(struct environment *e)
{
	for (size_t i = 0; e->caller && e->caller[i]; i++) {
		const char *entry = e->caller[i];
		struct str name = name_of(entry);

		if (name.n && entry[name.n] == '=' && is_passed(e, name) && !is_set(e, name) &&
		    !is_stripped(e, name) &&
		    !is_lost_folder(e, name, entry + name.n + 1) &&
		    add(e, arena_strndup(e->arena, entry, strlen(entry))) < 0)
			return -1;
	}
	return 0;
}

int environment_compile(const struct environment_request *r, struct arena *a,
			const char *const **ret, struct cordon_err *err)
{
	struct environment e = { .arena = a, .caller = r->environ, .section = r->section,
				 .plan = r->plan, .err = err };
	const struct field_value *set = &r->section->f[F_ENV_SET];

	if (add_passed(&e) < 0)
		return -1;
	for (size_t i = 0; i < set->n; i++)
		if (!is_stripped(&e, set->items[i].text) && add_set(&e, &set->items[i]) < 0)
			return -1;
	if (add(&e, "") < 0)
		return -1;
	e.out[e.n - 1] = NULL;
	*ret = (const char *const *)e.out;
	return 0;
}

/* ---- before anything starts --------------------------------------------------- */

static int check_asked(const struct environment *e, enum field_id id, const struct item *item)
{
	cleanup_buf struct buf at = BUF(MAX_DIAG_BYTES);
	struct str name = item->text;

	if (!is_stripped(e, name))
		return 0;
	place_print(item->at, &at);
	return err_set(e->err, CORDON_E_POLICY, "%s: %s: '%.*s' %s", buf_text(&at), fields[id].key,
		       STR_FMT(name), environment_is_credential(name) ?
		       "looks like a credential, and none is passed into a sandbox by a variable; "
		       "leave it out, or put it into a file: --read FILE, and a variable of "
		       "another name that holds the path" :
		       "is also left out, by env.strip or as the proxy's; remove it from one");
}

int environment_check(const struct section *s, const char *const *environ, struct arena *a,
		      struct cordon_err *err)
{
	struct environment e = { .arena = a, .caller = environ, .section = s, .err = err };
	const struct field_value *set = &s->f[F_ENV_SET], *pass = &s->f[F_ENV_PASS];

	for (size_t i = 0; i < set->n; i++)
		if (check_asked(&e, F_ENV_SET, &set->items[i]) < 0 ||
		    add_set(&e, &set->items[i]) < 0)
			return -1;
	for (size_t i = 0; i < pass->n; i++)
		if (pass->items[i].at.file &&
		    str_find(pass->items[i].text, '*') == pass->items[i].text.n &&
		    check_asked(&e, F_ENV_PASS, &pass->items[i]) < 0)
			return -1;
	return 0;
}

/* From written values to fields; see reader.h.
 *
 * One function a kind of value, chosen by the field's row in policy.def.
 */
#include "policy/reader.h"

#include <limits.h>
#include <stdio.h>

#include "base/path.h"
#include "policy/letters.h"
#include "policy/proxy.h"
#include "policy/quantity.h"
#include "policy/template.h"

/* ---- what is wrong ------------------------------------------------------ */

const char *read_nearest(struct str word, const char *const *words)
{
	unsigned best = MAX(2u, (unsigned)word.n / 3) + 1;
	const char *nearest = NULL;

	for (; *words; words++) {
		unsigned d = str_distance(word, str_from(*words), best);

		if (d < best) {
			best = d;
			nearest = *words;
		}
	}
	return nearest;
}

static void list_words(const char *const *words, struct buf *out)
{
	for (size_t i = 0; words[i]; i++)
		buf_printf(out, "%s%s", i ? ", " : "", words[i]);
}

static bool is_known(enum field_id id, struct str text)
{
	const char *const *words = field_words(fields[id].kind);

	while (*words && !str_is(text, *words))
		words++;
	return *words != NULL;
}

static int unknown_word(struct reader *r, enum field_id id, struct str word, struct place at)
{
	const char *const *words = field_words(fields[id].kind);
	const char *nearest = read_nearest(word, words);
	cleanup_buf struct buf known = BUF(MAX_DIAG_BYTES);

	list_words(words, &known);
	if (nearest)
		return diag_error(r->diags, at,
				  "'%.*s' is not known for %s; did you mean '%s'? (%s)",
				  STR_FMT(word), fields[id].key, nearest, buf_text(&known));
	return diag_error(r->diags, at, "'%.*s' is not known for %s; write one of %s",
			  STR_FMT(word), fields[id].key, buf_text(&known));
}

static int wrong(struct reader *r, enum field_id id, struct place at, const char *got)
{
	return diag_error(r->diags, at, "%s is %s; write %s", fields[id].key, got,
			  field_expects(fields[id].kind));
}

void read_check_keys(struct reader *r, const struct value *table, const char *const *known,
		     const char *where)
{
	for (size_t i = 0; i < table->table.n; i++) {
		const struct member *m = &table->table.members[i];
		struct place at = { r->file, m->line, m->col };
		const char *nearest;
		size_t k = 0;

		while (known[k] && !str_is(m->key, known[k]))
			k++;
		if (known[k])
			continue;
		/* Guessing costs; nobody reads a thousand guesses. */
		nearest = r->n_guesses++ < 4 * MAX_DIAGS ? read_nearest(m->key, known) : NULL;
		if (r->ignores_unknown && nearest)
			diag_warn(r->diags, at,
				  "unknown key '%.*s'%s is ignored; did you mean '%s'?",
				  STR_FMT(m->key), where, nearest);
		else if (r->ignores_unknown)
			continue;
		else if (nearest)
			diag_error(r->diags, at, "unknown key '%.*s'%s; did you mean '%s'?",
				   STR_FMT(m->key), where, nearest);
		else
			diag_error(r->diags, at, "unknown key '%.*s'%s; remove it", STR_FMT(m->key),
				   where);
	}
}

/* profile with one of its words, [network] with a key `mode`, …: not every `profile` that
 * another program has. */
static bool holds_field(const struct member *m)
{
	enum field_id id = field_find(m->key);

	if (id != N_FIELDS)
		return m->value.kind != VALUE_STRING || !field_words(fields[id].kind) ||
		       is_known(id, m->value.string);
	for (size_t i = 0; m->value.kind == VALUE_TABLE && i < m->value.table.n; i++) {
		cleanup_buf struct buf key = BUF(256);

		buf_printf(&key, "%.*s.%.*s", STR_FMT(m->key),
			   STR_FMT(m->value.table.members[i].key));
		if (field_find(str_from(buf_text(&key))) != N_FIELDS)
			return true;
	}
	return false;
}

void read_check_top(struct reader *r, const struct value *root, const char *own,
		    const char *const *inner)
{
	const char *const words[] = { own, NULL };

	for (size_t i = 0; i < root->table.n; i++) {
		const struct member *m = &root->table.members[i];
		struct place at = { r->file, m->line, m->col };

		if (str_is(m->key, own))
			continue;
		if (r->n_guesses++ < 4 * MAX_DIAGS && read_nearest(m->key, words))
			diag_error(r->diags, at, "unknown key '%.*s'; did you mean '%s'?",
				   STR_FMT(m->key), own);
		else if (str_is_one_of(m->key, inner))
			diag_error(r->diags, at, "'%.*s' would be ignored here; write it into "
				   "'%s'", STR_FMT(m->key), own);
		else if (holds_field(m))
			diag_error(r->diags, at, "'%.*s' belongs to cordon.toml, and would be "
				   "ignored here; name the dialect that this is",
				   STR_FMT(m->key));
	}
}

bool read_expect(struct reader *r, const struct value *v, enum value_kind kind, const char *key)
{
	if (v->kind == kind)
		return true;
	diag_error(r->diags, reader_at(r, v), "%s is %s; write %s", key, value_kind_words(v->kind),
		   value_kind_words(kind));
	return false;
}

/* ---- entries of lists --------------------------------------------------- */

static int no_memory(struct reader *r, struct place at)
{
	return diag_error(r->diags, at, "out of memory");
}

static int keep(struct reader *r, struct str text, struct item *ret)
{
	const char *copy = arena_strndup(r->policy->arena, text.s, text.n);

	if (!copy)
		return no_memory(r, ret->at);
	ret->text = (struct str){ copy, text.n };
	return 0;
}

/* ~/x, x and /x as an absolute path; the reader's base stands before x. */
static int expand(struct reader *r, struct str *path, struct place at)
{
	const char *full;

	if (memchr(path->s, '\0', path->n))
		return diag_error(r->diags, at, "a path holds a NUL byte; remove it");
	if (path->n >= PATH_MAX)
		return diag_error(r->diags, at,
				  "a path of %zu bytes is too long; write a shorter one", path->n);
	/* " ~/x" would be a place that nobody means. */
	if (str_trim(*path).s != path->s)
		return diag_error(r->diags, at, "'%.*s' begins with a space; remove it",
				  STR_FMT(*path));
	if (path->s[0] != '~')
		return 0;
	if (path->n > 1 && path->s[1] != '/')
		return diag_error(r->diags, at, "'%.*s' names another user's home; write its path",
				  STR_FMT(*path));
	if (!r->home || r->home[0] != '/')
		return diag_error(r->diags, at, "'~' has no meaning without HOME; write the path");
	full = arena_printf(r->policy->arena, "%s%.*s", r->home, (int)path->n - 1, path->s + 1);
	if (!full)
		return no_memory(r, at);
	*path = str_from(full);
	return 0;
}

/* Remember how a root was written, if that is not what it is. */
static int note_written(struct reader *r, struct str text, const char *path, struct place at)
{
	struct written_paths *w = r->written;
	struct arena *a = r->policy->arena;
	const char *whole, **items;

	if (!w || str_is(text, path))
		return 0;
	whole = path_normal(a, text, r->base_dir);
	if (whole && strcmp(whole, path) == 0)
		return 0;
	/* With its `..`, which lead elsewhere behind a link. */
	whole = str_starts(text, "/") ? arena_strndup(a, text.s, text.n) :
					arena_printf(a, "%s/%.*s", r->base_dir, STR_FMT(text));
	items = arena_grow(a, w->items, w->n, &w->cap, sizeof(*items));
	if (!whole || !items)
		return diag_error(r->diags, at, "out of memory");
	w->items = items;
	w->items[w->n++] = whole;
	return 0;
}

static int item_root(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	struct cordon_err err;
	const char *path;

	if (memchr(text.s, '*', text.n))
		return diag_error(r->diags, ret->at,
				  "'%.*s' in %s holds a '*'; write a directory or file",
				  STR_FMT(text), fields[id].key);
	if (expand(r, &text, ret->at) < 0)
		return -1;
	if (path_resolve(r->policy->arena, text, r->base_dir, &path, &err) < 0)
		return diag_error(r->diags, ret->at, "%s", err.msg);
	/* What a link leads to can be a name that no text could hold, and that
	 * could not be printed.  An option may name any directory. */
	if (ret->at.line && (strchr(path, '*') || !str_is_utf8(str_from(path))))
		return diag_error(r->diags, ret->at,
				  "'%.*s' leads to '%.300s', which cannot be written in a policy",
				  STR_FMT(text), path);
	ret->text = str_from(path);
	return note_written(r, text, path, ret->at);
}

/* Is one of the parts between slashes this one? */
static bool has_part(struct str path, const char *part)
{
	for (;;) {
		size_t n = str_find(path, '/');

		if (str_is(str_first(path, n), part))
			return true;
		if (n == path.n)
			return false;
		path = str_from_pos(path, n + 1);
	}
}

/* What a path leads to, and what a pattern does from its last folder without a star on; none
 * where that is itself.  Inside there may be no link of that name.  What cannot be found
 * outside (a loop, a closed folder) cannot be reached inside. */
static int find_real(struct reader *r, struct str text, struct item *ret)
{
	struct arena *a = r->policy->arena;
	size_t n = str_find(text, '*');
	struct cordon_err err;
	const char *real, *rest;

	while (n < text.n && n && text.s[n - 1] != '/')
		n--;
	if (path_resolve(a, n ? str_first(text, n) : STR("."), r->base_dir, &real, &err) < 0)
		return err.code == CORDON_E_NOMEM ? no_memory(r, ret->at) : 0;
	if (n < text.n) {
		rest = arena_strndup(a, text.s + n, text.n - n);
		real = rest ? path_join(a, real, rest) : NULL;
	}
	if (!real)
		return no_memory(r, ret->at);
	ret->real = str_is(ret->text, real) ? NULL : real;
	return 0;
}

int read_check_letters(struct reader *r, struct str text, const char *path, struct place at)
{
	char found = letters_find(text, path);

	if (!found)
		return 0;
	return diag_error(r->diags, at,
			  "'%.*s' holds '%c', which is a letter of a name here; * is all that "
			  "patterns have: write an entry for each name",
			  STR_FMT(text), found);
}

/* A path or pattern.  Two stars and a slash before a name stand for any depth;
 * everything else is made absolute.  Both the name and what it leads to are meant. */
static int item_path(struct reader *r, enum field_id id UNUSED, struct str text, struct item *ret)
{
	const char *path;

	if (str_starts(text, "**/")) {
		if (text.n >= PATH_MAX || has_part(text, "") || has_part(text, ".") ||
		    has_part(text, ".."))
			return diag_error(r->diags, ret->at,
					  "'%.*s' can never match; write '**/NAME'", STR_FMT(text));
		if (read_check_letters(r, text, NULL, ret->at) < 0)
			return -1;
		return keep(r, text, ret);
	}
	if (expand(r, &text, ret->at) < 0)
		return -1;
	if (memchr(text.s, '*', text.n) && has_part(text, ".."))
		return diag_error(r->diags, ret->at, "'%.*s' holds '..' beside a '*'; remove it",
				  STR_FMT(text));
	path = path_normal(r->policy->arena, text, r->base_dir);
	if (!path)
		return no_memory(r, ret->at);
	if (read_check_letters(r, text, path, ret->at) < 0)
		return -1;
	ret->text = str_from(path);
	return find_real(r, text, ret);
}

static int item_word(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	const char *const *words = field_words(fields[id].kind);

	for (; *words; words++)
		if (str_is(text, *words)) {
			ret->text = str_from(*words);
			return 0;
		}
	return unknown_word(r, id, text, ret->at);
}

/* A set's name is a bare word; everything with a slash or a dot is a path.  So is any other
 * name in an option, where a shell has completed it. */
static int item_protect(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	bool is_path = memchr(text.s, '/', text.n) || memchr(text.s, '.', text.n) ||
		       memchr(text.s, '*', text.n) || text.s[0] == '~' ||
		       (!ret->at.line && !is_known(id, text));

	return is_path ? item_path(r, id, text, ret) : item_word(r, id, text, ret);
}

static int item_host(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	struct host_rule *rule = arena_new(r->policy->arena, 1, sizeof(*rule));
	char why[HOST_WHY];

	if (!rule)
		return no_memory(r, ret->at);
	if (host_rule_parse(text, r->policy->arena, rule, why) < 0) {
		/* A URL may hold a password. */
		bool shown = str_find(text, '@') == text.n && str_find(text, '/') == text.n;

		return diag_error(r->diags, ret->at, shown ? "%s: '%.*s' %s" : "%s: %.*s%s",
				  fields[id].key, STR_FMT(shown ? text : STR("")), why);
	}
	if ((id == F_NETWORK_ALLOW || id == F_NETWORK_UDP_ALLOW) && rule->form == HOST_EXACT &&
	    str_is(rule->name, HOST_OF_MACHINE))
		return diag_error(r->diags, ret->at, "%s: '%.*s' can never match; %s",
				  fields[id].key, STR_FMT(text),
				  id == F_NETWORK_ALLOW ? "list the port in network.host_ports" :
							  "no datagram leads to this machine: "
							  "remove it");
	ret->host = rule;
	return 0;
}

/* One host with one port, so that there is one socket for it. */
static int item_endpoint(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	const struct host_rule *rule;

	if (item_host(r, id, text, ret) < 0)
		return -1;
	rule = ret->host;
	if ((rule->form != HOST_EXACT && !host_rule_is_address(rule)) ||
	    rule->port_first != rule->port_last)
		return diag_error(r->diags, ret->at,
				  "%s: '%.*s' is not one host with one port; write HOST:PORT",
				  fields[id].key, STR_FMT(text));
	if (rule->port_first == 53)
		return diag_error(r->diags, ret->at,
				  "%s: '%.*s' can never match, since questions to port 53 are "
				  "answered by the cordon; remove it",
				  fields[id].key, STR_FMT(text));
	return 0;
}

static int item_env_name(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	struct str stem = text;

	if (str_ends(stem, "*"))
		stem.n--;
	if (stem.n ? !variable_is_name(stem) : !text.n)
		return diag_error(r->diags, ret->at,
				  "'%.*s' in %s is no variable's name; write NAME or PREFIX*",
				  STR_FMT(text), fields[id].key);
	return keep(r, text, ret);
}

static int item_env_glob(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.s[i] != '*' && !variable_has_char(text.s[i], false))
			return diag_error(r->diags, ret->at,
					  "'%.*s' in %s is no variable's name; write letters, "
					  "digits, _ and *",
					  STR_FMT(text), fields[id].key);
	return keep(r, text, ret);
}

static int item_command(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	struct command_rule *rule = arena_new(r->policy->arena, 1, sizeof(*rule));
	char why[COMMAND_WHY];

	if (!rule)
		return no_memory(r, ret->at);
	if (command_rule_parse(text, r->policy->arena, rule, why) < 0)
		return diag_error(r->diags, ret->at, "%s: %s", fields[id].key, why);
	ret->command = rule;
	ret->text = rule->text;
	return 0;
}

static int item_port(struct reader *r, enum field_id id, struct str text, struct item *ret)
{
	uint64_t port;

	if (!str_parse_u64(text, &port) || port < 1 || port > 65535)
		return diag_error(r->diags, ret->at, "'%.*s' in %s is no port; write 1 to 65535",
				  STR_FMT(text), fields[id].key);
	ret->port = (uint16_t)port;
	return 0;
}

static int (*const item_readers[N_FIELD_KINDS])(struct reader *, enum field_id, struct str,
						struct item *) = {
	[KIND_PROTECTIONS] = item_word,
	[KIND_PRESETS] = item_word,
	[KIND_PROTOCOLS] = item_word,
	[KIND_ROOTS] = item_root,
	[KIND_PATHS] = item_path,
	[KIND_PROTECT] = item_protect,
	[KIND_ALLOW_HOSTS] = item_host,
	[KIND_DENY_HOSTS] = item_host,
	[KIND_PORTS] = item_port,
	[KIND_ENDPOINTS] = item_endpoint,
	[KIND_ENV_NAMES] = item_env_name,
	[KIND_ENV_GLOBS] = item_env_glob,
	[KIND_COMMANDS] = item_command,
};

void read_list_start(struct section *s, enum field_id id, struct place at)
{
	if (!s->f[id].set)
		s->f[id].at = at;
	s->f[id].set = true;
}

static int check_room(struct reader *r, const struct field_value *v, enum field_id id,
		      struct place at)
{
	size_t most = field_most(fields[id].kind);

	if (v->n < most)
		return 0;
	return diag_error(r->diags, at, "%s has more than %zu entries; remove some", fields[id].key,
			  most);
}

static int add_entry(struct reader *r, struct section *s, enum field_id id, struct str text,
		     struct place at)
{
	struct item item = { .at = at };
	struct item *slot;

	if (!str_trim(text).n)
		return diag_error(r->diags, at, "a blank entry in %s; remove it", fields[id].key);
	if (check_room(r, &s->f[id], id, at) < 0)
		return -1;
	if (item_readers[fields[id].kind](r, id, text, &item) < 0)
		return -1;
	slot = field_value_add(&s->f[id], r->policy->arena);
	if (!slot)
		return no_memory(r, at);
	*slot = item;
	return 0;
}

/* Several entries in one text. */
static int add_words(struct reader *r, struct section *s, enum field_id id, struct str text,
		     char between, struct place at)
{
	for (;;) {
		size_t n = str_find(text, between);

		if (add_entry(r, s, id, str_first(text, n), at) < 0)
			return -1;
		if (n == text.n)
			return 0;
		text = str_from_pos(text, n + 1);
	}
}

int read_host(struct reader *r, struct section *s, enum field_id id, const struct host_rule *rule,
	      struct place at)
{
	struct host_rule *copy = arena_new(r->policy->arena, 1, sizeof(*copy));
	struct item *slot;

	read_list_start(s, id, at);
	if (check_room(r, &s->f[id], id, at) < 0)
		return -1;
	slot = copy ? field_value_add(&s->f[id], r->policy->arena) : NULL;
	if (!slot)
		return no_memory(r, at);
	*copy = *rule;
	slot->host = copy;
	slot->at = at;
	return 0;
}

int read_map_entry(struct reader *r, struct section *s, enum field_id id, struct str name,
		   struct str value, struct place at)
{
	struct item item = { .at = at };
	const char *copy = arena_strndup(r->policy->arena, value.s, value.n);
	char why[TEMPLATE_WHY];
	struct item *slot;

	if (!variable_is_name(name))
		return diag_error(r->diags, at,
				  "'%.*s' in %s is no variable's name; write letters, digits and _",
				  STR_FMT(name), fields[id].key);
	if (memchr(value.s, '\0', value.n))
		return diag_error(r->diags, at, "the value of '%.*s' holds a NUL byte; remove it",
				  STR_FMT(name));
	if (template_check(value, why) < 0)
		return diag_error(r->diags, at, "the value of '%.*s' %s", STR_FMT(name), why);
	read_list_start(s, id, at);
	if (check_room(r, &s->f[id], id, at) < 0)
		return -1;
	if (!copy || keep(r, name, &item) < 0)
		return no_memory(r, at);
	item.value = (struct str){ copy, value.n };
	slot = field_value_add(&s->f[id], r->policy->arena);
	if (!slot)
		return no_memory(r, at);
	*slot = item;
	return 0;
}

/* ---- whole values ------------------------------------------------------- */

void read_number(struct section *s, enum field_id id, int64_t number, struct place at)
{
	s->f[id] = (struct field_value){ .set = true, .at = at, .number = number };
}

static int read_word(struct reader *r, struct section *s, enum field_id id, struct str text,
		     struct place at)
{
	const char *const *words = field_words(fields[id].kind);

	for (int i = 0; words[i]; i++)
		if (str_is(text, words[i])) {
			read_number(s, id, i, at);
			return 0;
		}
	return unknown_word(r, id, text, at);
}

static bool parse_number(enum field_kind kind, struct str text, int64_t *ret)
{
	uint64_t count;

	if (kind != KIND_CONNECTIONS && str_is(text, "none")) {
		*ret = LIMIT_NONE;
		return true;
	}
	if (kind == KIND_SIZE)
		return quantity_parse_size(text, ret);
	if (kind == KIND_DURATION)
		return quantity_parse_duration(text, ret);
	if (!str_parse_u64(text, &count) || count < 1 || count >= INT64_MAX ||
	    (kind == KIND_CONNECTIONS && count > MAX_CONNECTIONS))
		return false;
	*ret = (int64_t)count;
	return true;
}

static int read_text(struct reader *r, struct section *s, enum field_id id, struct str text,
		     struct place at)
{
	struct proxy_text proxy;
	char why[HOST_WHY];
	const char *copy;

	if (!str_trim(text).n)
		return diag_error(r->diags, at, "%s is blank; write a text or remove it",
				  fields[id].key);
	if (fields[id].kind == KIND_PROXY && proxy_text_parse(text, &proxy, why) < 0)
		return diag_error(r->diags, at, "%s %s", fields[id].key, why);
	copy = arena_strndup(r->policy->arena, text.s, text.n);
	if (!copy)
		return no_memory(r, at);
	s->f[id] = (struct field_value){ .set = true, .at = at, .text = { copy, text.n } };
	return 0;
}

int read_field_text(struct reader *r, struct section *s, enum field_id id, struct str text,
		    struct place at)
{
	int64_t number = 0;

	switch (field_shape(fields[id].kind)) {
	case SHAPE_WORD:
		return read_word(r, s, id, text, at);
	case SHAPE_NUMBER:
		if (!parse_number(fields[id].kind, text, &number))
			return diag_error(r->diags, at, "'%.*s' is not valid for %s; write %s",
					  STR_FMT(text), fields[id].key,
					  field_expects(fields[id].kind));
		read_number(s, id, number, at);
		return 0;
	case SHAPE_TEXT:
		return read_text(r, s, id, text, at);
	case SHAPE_LIST:
		read_list_start(s, id, at);
		return fields[id].kind == KIND_PROTOCOLS ? add_words(r, s, id, text, ',', at) :
							   add_entry(r, s, id, text, at);
	case SHAPE_MAP:
		if (str_find(text, '=') == text.n)
			return diag_error(r->diags, at, "'%.*s' is not NAME=VALUE", STR_FMT(text));
		return read_map_entry(r, s, id, str_first(text, str_find(text, '=')),
				      str_from_pos(text, str_find(text, '=') + 1), at);
	case N_FIELD_SHAPES:
		break;
	}
	BUG("a field without a shape");
}

static int read_list(struct reader *r, struct section *s, enum field_id id, const struct value *v)
{
	bool numbers = fields[id].kind == KIND_PORTS;
	int bad = 0;

	if (fields[id].kind == KIND_PROTOCOLS && v->kind == VALUE_STRING &&
	    str_is(v->string, field_words(KIND_PROTOCOLS)[PROTOCOL_ANY]))
		return read_field_text(r, s, id, v->string, reader_at(r, v));
	if (v->kind != VALUE_ARRAY)
		return wrong(r, id, reader_at(r, v), value_kind_words(v->kind));
	read_list_start(s, id, reader_at(r, v));
	for (size_t i = 0; i < v->array.n; i++) {
		const struct value *one = &v->array.items[i];
		char digits[32];
		struct str text = { 0 };

		if (numbers && one->kind == VALUE_INT) {
			snprintf(digits, sizeof(digits), "%lld", (long long)one->integer);
			text = str_from(digits);
		} else if (!numbers && one->kind == VALUE_STRING) {
			text = one->string;
		} else {
			bad |= wrong(r, id, reader_at(r, one), value_kind_words(one->kind));
			continue;
		}
		bad |= add_entry(r, s, id, text, reader_at(r, one));
	}
	return bad;
}

static int read_map(struct reader *r, struct section *s, enum field_id id, const struct value *v)
{
	int bad = 0;

	if (v->kind != VALUE_TABLE)
		return wrong(r, id, reader_at(r, v), value_kind_words(v->kind));
	read_list_start(s, id, reader_at(r, v));
	for (size_t i = 0; i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];

		if (!read_expect(r, &m->value, VALUE_STRING, fields[id].key))
			bad = -1;
		else
			bad |= read_map_entry(r, s, id, m->key, m->value.string,
					      (struct place){ r->file, m->line, m->col });
	}
	return bad;
}

int read_field(struct reader *r, struct section *s, enum field_id id, const struct value *v)
{
	enum field_shape shape = field_shape(fields[id].kind);
	char digits[32];

	if (shape == SHAPE_LIST)
		return read_list(r, s, id, v);
	if (shape == SHAPE_MAP)
		return read_map(r, s, id, v);
	if (fields[id].kind == KIND_SWITCH) {
		if (v->kind != VALUE_BOOL)
			return wrong(r, id, reader_at(r, v), value_kind_words(v->kind));
		read_number(s, id, v->boolean ? SWITCH_TRUE : SWITCH_FALSE, reader_at(r, v));
		return 0;
	}
	if (v->kind == VALUE_STRING && fields[id].kind != KIND_CONNECTIONS)
		return read_field_text(r, s, id, v->string, reader_at(r, v));
	if (shape == SHAPE_NUMBER && v->kind == VALUE_INT) {
		snprintf(digits, sizeof(digits), "%lld", (long long)v->integer);
		return read_field_text(r, s, id, str_from(digits), reader_at(r, v));
	}
	return wrong(r, id, reader_at(r, v), value_kind_words(v->kind));
}

int read_strings(struct reader *r, const struct value *v, const char *key,
		 int (*take)(struct reader *r, struct str text, struct place at, void *arg),
		 void *arg)
{
	int bad = 0;

	if (!read_expect(r, v, VALUE_ARRAY, key))
		return -1;
	for (size_t i = 0; i < v->array.n; i++) {
		const struct value *one = &v->array.items[i];

		if (!read_expect(r, one, VALUE_STRING, key))
			bad = -1;
		else
			bad |= take(r, one->string, reader_at(r, one), arg);
	}
	return bad;
}

/* ---- defaults ----------------------------------------------------------- */

static int read_default(struct reader *r, struct section *s, enum field_id id)
{
	static const struct place nowhere = { "default", 0, 0 };
	struct str rest = str_from(fields[id].preset);
	enum field_shape shape = field_shape(fields[id].kind);

	if (shape != SHAPE_LIST && shape != SHAPE_MAP)
		return read_field_text(r, s, id, rest, nowhere);
	read_list_start(s, id, nowhere);
	return rest.n ? add_words(r, s, id, rest, ' ', nowhere) : 0;
}

/* What leads out needs a network, if only for itself. */
static void default_mode(struct section *s)
{
	for (int i = 0; i < N_FIELDS && !s->f[F_NETWORK_MODE].set; i++)
		if (field_leads_out((enum field_id)i) && s->f[i].n) {
			read_number(s, F_NETWORK_MODE, NETWORK_ALLOWLIST, s->f[i].items[0].at);
			read_settle_mode(s);
		}
}

static int default_section(struct reader *r, struct section *s, bool phase)
{
	struct cordon_err err;

	default_mode(s);
	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;

		/* [M4]: the list has no meaning of its own.  A text without a
		 * default stays unsaid. */
		if (s->f[i].set || (phase && !field_in_phase(id)) || id == F_NETWORK_ALLOW ||
		    (field_shape(fields[i].kind) == SHAPE_TEXT && !fields[i].preset[0]))
			continue;
		if (read_default(r, s, id) < 0)
			return -1;
		if (field_value_canonical(id, &s->f[i], r->policy->arena, &err) < 0)
			return diag_error(r->diags, s->f[i].at, "%s", err.msg);
	}
	return 0;
}

int read_defaults(struct reader *r)
{
	const struct field_value *f = r->policy->base.f;
	bool write = !f[F_FILES_WRITE].set, read = !f[F_FILES_READ].set;

	if (default_section(r, &r->policy->base, false) < 0 ||
	    read_settle_defaults(r, write, read) < 0)
		return -1;
	for (size_t i = 0; i < r->policy->n_phases; i++)
		if (default_section(r, &r->policy->phases[i].section, true) < 0)
			return -1;
	return 0;
}

/* What a policy that nobody named opens; see warn.h.
 *
 * Whoever gets a project gets its policy with it: what that opens of the caller's own is not to
 * go unseen.  What it does without (may_lack) is told where that is not there.
 */
#include "lib/warn.h"

#include <limits.h>

#include "base/path.h"
#include "plan/environment.h"
#include "plan/presets.h"
#include "policy/template.h"

/* Is it in the folder that the file is in? */
static bool is_beside(const char *path, const char *file)
{
	size_t n = (size_t)(strrchr(file, '/') - file);

	return strncmp(path, file, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Is it one of those that only a policy that names them opens, or in one? */
static bool is_credential(const struct plan_request *r, const char *path)
{
	const char *const homes[] = { r->home, r->own_home };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		size_t n = homes[i] ? strlen(homes[i]) : 0;

		if (!n || !path_within(path, homes[i]) || path[n] != '/')
			continue;
		for (size_t k = 0; credentials[k]; k++)
			if (path_within(path + n + 1, credentials[k]))
				return true;
	}
	return false;
}

/* The next word of a list that holds where nobody says another one. */
static bool next_usual(struct str *rest, struct str *ret)
{
	size_t n = str_find(*rest, ' ');

	*ret = str_first(*rest, n);
	*rest = str_from_pos(*rest, n < rest->n ? n + 1 : n);
	return ret->n > 0;
}

static bool is_usual(struct str name)
{
	struct str rest = str_from(fields[F_ENV_PASS].preset), pattern;

	while (next_usual(&rest, &pattern))
		if (str_glob(pattern, name))
			return true;
	return false;
}

/* A credential is left out whoever names it, and that is told by itself. */
static bool takes_variable(struct str name)
{
	return !is_usual(name) && (str_ends(name, "*") || !environment_is_credential(name));
}

/* A host by its name is what policies are for. */
static bool opens_hosts(const struct section *s, const struct host_rule *rule)
{
	if (s->f[F_NETWORK_MODE].number != NETWORK_ALLOWLIST)
		return false;
	return rule->form == HOST_ANY ||
	       (rule->form == HOST_NET && host_net_has_special(&rule->addr, rule->bits));
}

/* What is told about: where it is from, and what of that was told. */
struct found {
	const struct composition *c;
	const struct plan_request *r;
	const struct section *s;
	struct buf *line;
};

/* Programs and what belongs to them, which holds nothing of the caller's own. */
static bool is_software(const char *path)
{
	static const char *const folders[] = { "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32",
					       "/lib64", "/nix/store" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (path_within(path, folders[i]))
			return true;
	return false;
}

/* What lies beyond the folder that it came with. */
static bool opens_much(const struct found *f, enum field_id id, const struct item *item)
{
	const char *path = item->text.s;

	switch (id) {
	case F_NETWORK_HOST_PORTS:
	case F_NETWORK_EXPOSE:
	case F_NETWORK_UDP_ALLOW:
		return true;
	case F_NETWORK_ALLOW:
		return opens_hosts(f->s, item->host);
	case F_ENV_PASS:
		return takes_variable(item->text);
	default:
		break;
	}
	if (is_credential(f->r, path))
		return true;
	if (id == F_FILES_READ && is_software(path))
		return false;
	return !is_beside(path, f->c->found) && !path_within(path, f->c->here);
}

static bool is_found(const struct found *f, struct place at)
{
	return at.file && strcmp(at.file, f->c->found) == 0;
}

static bool is_same_place(struct place a, struct place b)
{
	return a.file && b.file && strcmp(a.file, b.file) == 0 && a.line == b.line &&
	       a.col == b.col;
}

/* A phase repeats what it takes over. */
static bool is_of_base(const struct found *f, enum field_id id, struct place at)
{
	const struct field_value *v = &f->c->policy.base.f[id];

	if (f->s == &f->c->policy.base)
		return false;
	for (size_t i = 0; i < v->n; i++)
		if (is_same_place(v->items[i].at, at))
			return true;
	return false;
}

/* Up to a length: who says a lot is told about all the same. */
static bool start_item(struct buf *line)
{
	if (line->n > MAX_DIAG_BYTES)
		return false;
	buf_puts(line, line->n ? ", " : " ");
	return true;
}

static void end_item(struct buf *line)
{
	if (line->n > MAX_DIAG_BYTES)
		buf_puts(line, " and more");
}

static void put_item(enum field_id id, const struct item *item, struct buf *line)
{
	if (!start_item(line))
		return;
	if (fields[id].kind == KIND_PORTS)
		buf_printf(line, "%u", item->port);
	else if (fields[id].kind == KIND_ALLOW_HOSTS || fields[id].kind == KIND_ENDPOINTS)
		host_rule_print(item->host, line);
	else	/* plain, or it would wipe out what is told about it */
		buf_put_plain(line, str_first(item->text, MIN(item->text.n, PATH_MAX)));
	buf_printf(line, " (%s)", fields[id].key);
	end_item(line);
}

/* The caller's variables that a value is made of. */
static void put_template(const struct item *item, struct buf *line)
{
	struct str rest = item->value;
	struct template_part part;

	while (rest.n && template_next(&rest, &part)) {
		if (!part.is_variable || !takes_variable(part.name) || !start_item(line))
			continue;
		buf_puts(line, "${");
		buf_put_plain(line, part.name);
		buf_printf(line, "} (%s)", fields[F_ENV_SET].key);
		end_item(line);
	}
}

static void put_lists(const struct found *f)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_SOCKETS,
					     F_ENV_PASS, F_ENV_SET, F_NETWORK_HOST_PORTS,
					     F_NETWORK_EXPOSE, F_NETWORK_UDP_ALLOW,
					     F_NETWORK_ALLOW };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		for (size_t k = 0; k < f->s->f[ids[i]].n; k++) {
			const struct item *item = &f->s->f[ids[i]].items[k];

			if (!is_found(f, item->at) || is_of_base(f, ids[i], item->at))
				continue;
			if (ids[i] == F_ENV_SET)
				put_template(item, f->line);
			else if (opens_much(f, ids[i], item))
				put_item(ids[i], item, f->line);
		}
}

/* A word is also what a dialect means by its silence. */
static void put_words(const struct found *f)
{
	static const struct {
		enum field_id id;
		int word;
		const char *what;
	} rows[] = { { F_NETWORK_MODE, NETWORK_PUBLIC, "the network" },
		     { F_NETWORK_TLS, TLS_NAME_ONLY, "other names inside TLS" },
		     { F_PROCESSES_DEBUG, SWITCH_TRUE, "processes to each other" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct field_value *v = &f->s->f[rows[i].id];
		const struct field_value *base = &f->c->policy.base.f[rows[i].id];

		if (!v->set || v->number != rows[i].word || !is_found(f, v->at) ||
		    (v != base && is_same_place(v->at, base->at)) || !start_item(f->line))
			continue;
		buf_printf(f->line, "%s (%s = %s)", rows[i].what, fields[rows[i].id].key,
			   field_words(fields[rows[i].id].kind)[v->number]);
		end_item(f->line);
	}
}

/* Sets of names that are held where nobody says otherwise. */
static void put_unprotected(const struct found *f)
{
	const struct field_value *v = &f->s->f[F_FILES_PROTECT];
	struct str rest = str_from(fields[F_FILES_PROTECT].preset), set;

	if (f->s != &f->c->policy.base || !v->set || !is_found(f, v->at))
		return;
	while (next_usual(&rest, &set)) {
		size_t i = 0;

		while (i < v->n && !str_eq(v->items[i].text, set))
			i++;
		if (i < v->n || !start_item(f->line))
			continue;
		buf_printf(f->line, "what %.*s holds (%s)", STR_FMT(set),
			   fields[F_FILES_PROTECT].key);
		end_item(f->line);
	}
}

/* What one section says that is not to go unseen. */
static void put_opened(const struct composition *c, const struct plan_request *r,
		       const struct section *s, struct buf *line)
{
	const struct found f = { c, r, s, line };

	put_words(&f);
	put_lists(&f);
	put_unprotected(&f);
}

void warn_of_found(const struct warner *w, const struct composition *c,
		   const struct plan_request *r)
{
	/* A byte of a name may take four. */
	cleanup_buf struct buf line = BUF(16 * PATH_MAX), opened = BUF(8 * PATH_MAX);

	if (!c->found || !w->tell)
		return;
	put_opened(c, r, &c->policy.base, &opened);
	for (size_t i = 0; i < c->policy.n_phases; i++)
		put_opened(c, r, &c->policy.phases[i].section, &opened);
	buf_puts(&line, "warning: ");
	buf_put_plain(&line, str_from(c->found));
	buf_puts(&line, ", which was found and not named, opens");
	buf_puts(&line, buf_text(&opened));
	buf_puts(&line, "; --policy says that this is meant, --no-policy leaves it out");
	if (opened.n && buf_ok(&line))
		w->tell(w->arg, buf_text(&line));
}

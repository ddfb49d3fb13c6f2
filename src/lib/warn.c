/* Lines of warning; see warn.h. */
#include "lib/warn.h"

#include <limits.h>

#include "base/path.h"
#include "plan/enforce.h"
#include "plan/environment.h"
#include "plan/presets.h"

/* What the plan cannot hold without them. */
static void say_not_held(const struct plan *plan, struct buf *line)
{
	unsigned without = plan->waived;

	if (without & 1u << PROTECTION_MOUNT)
		buf_puts(line, "; protected names inside writable roots, and modes and owners of "
			       "files anywhere, are not held");
	if (without & 1u << PROTECTION_PID)
		buf_puts(line, "; processes outside can be seen");
	if (without & 1u << PROTECTION_PID && plan->landlock < 6)
		buf_puts(line, " and signalled, and what is started may outlive the run");
	if (without & 1u << PROTECTION_SECCOMP)
		buf_puts(line, "; protected names that are not there yet, and blocked commands "
			       "with arguments, are not held");
	if (plan->uncounted)
		buf_printf(line, "; nothing counts memory%s here: these limits are not held",
			   plan->limits.processes == LIMIT_NONE ? ", CPU time and processes"
								: " and CPU time");
	if (plan->net.rung == NET_PROXY)
		buf_puts(line, "; allowed hosts are reached through the proxy that CORDON_PROXY "
			       "names");
}

static void warn_of_kept_root(const struct warner *w, const struct plan *plan)
{
	cleanup_buf struct buf line = BUF(PATH_MAX + 256);

	buf_printf(&line, "warning: the working directory '%s' belongs to the system: it "
			  "can be read; --write %s lets root's command write it",
		   plan->kept_root, plan->kept_root);
	w->tell(w->arg, buf_text(&line));
}

static void warn_of_waived(const struct warner *w, const struct plan *plan)
{
	cleanup_buf struct buf line = BUF(1024);

	buf_puts(&line, "warning: this machine does not offer");
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (plan->waived & 1u << i)
			buf_printf(&line, " %s", protection_name((enum protection)i));
	buf_puts(&line, plan->bare ? "; CORDON_SANDBOX=off runs the command without any protection"
				   : "; the command runs without");
	if (!plan->bare)
		say_not_held(plan, &line);
	w->tell(w->arg, buf_text(&line));
}

void warn_of_none(const struct warner *w, const struct policy *p)
{
	cleanup_buf struct buf line = BUF(PATH_MAX + 256);

	if (!w->tell)
		return;
	buf_puts(&line, "warning: ");
	place_print(p->base.f[F_BACKEND].at, &line);
	buf_puts(&line, " runs the command without any protection");
	w->tell(w->arg, buf_text(&line));
}

/* What a policy says is meant for a cordon, which the caller did not want; an option is said
 * together with that. */
void warn_of_unheld(const struct warner *w, const struct policy *p, bool counts_output)
{
	cleanup_buf struct buf line = BUF(1024);

	if (!w->tell)
		return;
	for (enum field_id id = F_LIMITS_MEMORY; id <= F_LIMITS_OPEN_FILES; id++) {
		bool held = enforcer_find_bare(id, p) && (id != F_LIMITS_OUTPUT || counts_output);

		if (held || !policy_is_written(p, id) || p->base.f[id].at.line)
			continue;
		buf_puts(&line, line.n ? ", " : "warning: nothing holds ");
		place_print(p->base.f[id].at, &line);
	}
	if (!line.n)
		return;
	buf_puts(&line, " for a command without any protection");
	w->tell(w->arg, buf_text(&line));
}

void warn_of_plan(const struct warner *w, const struct plan *plan)
{
	if (plan->kept_root && w->tell)
		warn_of_kept_root(w, plan);
	if (plan->waived && w->tell)
		warn_of_waived(w, plan);
}

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

/* Whoever gets a project gets its policy with it: what that opens of the caller's own is not
 * to go unseen.  A folder that can be read here and there is what policies are for; a socket
 * leads to a program that is in no cordon. */
static bool opens_much(const struct composition *c, const struct plan_request *r,
		       enum field_id id, const struct item *item)
{
	const char *path = item->text.s;

	if (id == F_NETWORK_HOST_PORTS)
		return true;
	/* A list of letters with a star behind each is all there is. */
	if (id == F_ENV_PASS)
		return str_find(item->text, '*') < MIN(item->text.n, 2);
	if (is_credential(r, path))
		return true;
	if (id == F_FILES_READ)
		return r->home && path_within(r->home, path);
	return !is_beside(path, c->found) && !path_within(path, c->cwd);
}

/* A phase repeats what it takes over. */
static bool is_of_base(const struct composition *c, enum field_id id, const struct item *item)
{
	const struct field_value *v = &c->policy.base.f[id];

	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].at.line == item->at.line && v->items[i].at.col == item->at.col)
			return true;
	return false;
}

/* Up to a length: who says a lot is told about all the same. */
static void put_item(enum field_id id, const struct item *item, struct buf *line)
{
	if (line->n > MAX_DIAG_BYTES)
		return;
	buf_puts(line, line->n ? ", " : " ");
	if (id == F_NETWORK_HOST_PORTS)
		buf_printf(line, "%u", item->port);
	else	/* plain, or it would wipe out what is told about it */
		buf_put_plain(line, str_first(item->text, MIN(item->text.n, PATH_MAX)));
	buf_printf(line, " (%s)", fields[id].key);
	if (line->n > MAX_DIAG_BYTES)
		buf_puts(line, " and more");
}

/* What one section says that is not to go unseen. */
static void put_opened(const struct composition *c, const struct plan_request *r,
		       const struct section *s, struct buf *line)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ, F_FILES_SOCKETS,
					     F_ENV_PASS, F_NETWORK_HOST_PORTS };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		for (size_t k = 0; k < s->f[ids[i]].n; k++) {
			const struct item *item = &s->f[ids[i]].items[k];

			if (item->at.file && strcmp(item->at.file, c->found) == 0 &&
			    opens_much(c, r, ids[i], item) &&
			    (s == &c->policy.base || !is_of_base(c, ids[i], item)))
				put_item(ids[i], item, line);
		}
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

/* The same of what was told before. */
static bool is_told(const struct diags *d, struct place at)
{
	for (size_t i = 0; at.line && i < d->n; i++)
		if (d->items[i].is_warning && d->items[i].place.file == at.file &&
		    d->items[i].place.line == at.line && d->items[i].place.col == at.col)
			return true;
	return false;
}

static void warn_of_section(const struct section *s, struct diags *d)
{
	static const enum field_id ids[] = { F_ENV_PASS, F_ENV_SET };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		for (size_t k = 0; k < s->f[ids[i]].n; k++) {
			const struct item *item = &s->f[ids[i]].items[k];

			if (!str_ends(item->text, "*") && environment_is_credential(item->text) &&
			    !is_told(d, item->at))
				diag_warn(d, item->at,
					  "%s: '%.*s' is a credential by its name, and is left out "
					  "whoever names it",
					  fields[ids[i]].key, STR_FMT(item->text));
		}
}

void warn_of_variables(const struct policy *p, struct diags *d)
{
	warn_of_section(&p->base, d);
	for (size_t i = 0; i < p->n_phases; i++)
		warn_of_section(&p->phases[i].section, d);
}

/* Lines of warning; see warn.h. */
#include "lib/warn.h"

#include <limits.h>

#include "base/path.h"
#include "lib/narrow.h"
#include "plan/enforce.h"
#include "plan/environment.h"

static void say_not_enforced(const struct plan *plan, struct buf *line)
{
	buf_puts(line, "; Landlock and seccomp enclose the command: protected names inside "
		       "writable roots and the modes and owners of files are not protected, and "
		       "processes outside can be seen");
	if (plan->uncounted)
		buf_puts(line, "; limits of memory, CPU time and processes are not enforced");
	for (size_t i = 0; i < plan->n_left_out; i++) {
		buf_puts(line, i ? ", " : "; not readable, because of credentials inside: ");
		buf_put_plain(line, str_from(plan->left_out[i]));
	}
}

static void warn_of_kept_root(const struct warner *w, const struct plan *plan)
{
	cleanup_buf struct buf line = BUF(PATH_MAX + 256);

	buf_printf(&line, "warning: the working directory '%s' ", plan->kept_root);
	if (plan->kept_by)
		buf_printf(&line, "is held by files.protect (%s)", plan->kept_by);
	else
		buf_puts(&line, "belongs to the system");
	buf_printf(&line, ": it can be read; --write %s lets %s command write it",
		   plan->kept_root, plan->kept_by ? "the" : "root's");
	w->tell(w->arg, buf_text(&line));
}

static void warn_of_level(const struct warner *w, const struct plan *plan)
{
	cleanup_buf struct buf line = BUF(1024);

	buf_puts(&line,
		 "warning: this machine does not offer what level full needs (cordon doctor)");
	if (plan->level == LEVEL_NONE)
		buf_puts(&line, "; the command runs without any protection");
	else
		say_not_enforced(plan, &line);
	w->tell(w->arg, buf_text(&line));
}

/* What a policy asks for and does not get is explain's to tell: it may be meant for another
 * machine.  An option is meant for this run. */
void warn_of_cuts(const struct warner *w, const struct composition *c)
{
	for (size_t i = 0; w->tell && i < c->cuts.n; i++) {
		const struct cut *cut = &c->cuts.items[i];
		cleanup_buf struct buf line = BUF(2 * PATH_MAX);

		if (!cut->at.file || !str_starts(str_from(cut->at.file), "--"))
			continue;
		buf_puts(&line, "warning: ");
		place_print(cut->at, &line);
		if (field_shape(fields[cut->id].kind) == SHAPE_LIST) {
			buf_putc(&line, ' ');
			buf_put_plain(&line, str_first(cut->what, MIN(cut->what.n, PATH_MAX)));
		}
		buf_puts(&line, ": not allowed by ");
		place_print(cut->by, &line);
		w->tell(w->arg, buf_text(&line));
	}
}

void warn_of_found(const struct warner *w, const struct composition *c)
{
	cleanup_buf struct buf line = BUF(16 * PATH_MAX);
	size_t n = strlen(c->here);
	const char *name = c->found;

	if (!c->n_asks || !w->tell)
		return;
	if (strncmp(name, c->here, n) == 0 && name[n] == '/')
		name += n + 1;
	buf_put_plain(&line, str_from(name));
	buf_puts(&line, " asks for more than the default (");
	narrow_print(c, &line);
	buf_puts(&line, "): cordon trust, or --policy ");
	buf_put_plain(&line, str_from(name));
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
	if (plan->is_lowered && w->tell)
		warn_of_level(w, plan);
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

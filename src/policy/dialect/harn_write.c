/* A policy as Harn's JSON: what harn.c reads back to the same policy.
 *
 * All writable places become workspace_roots, readable ones read_only_roots
 * (those that hold a writable place: process_sandbox.read_roots, which do not
 * take writing away).  A policy that lets nothing be written says so by its
 * capabilities, since an empty list of roots is the execution root to Harn.
 */
#include "policy/dialect/harn_priv.h"

#include "base/path.h"
#include "policy/print.h"

static int refuse(const struct section *s, enum field_id id, const char *what, struct diags *diags)
{
	return dialect_refuse(&dialect_harn, id, s->f[id].at, what, diags);
}

/* ---- capabilities ------------------------------------------------------- */

static bool is_closed(const struct section *s)
{
	return s->f[F_FILES_WRITE].set && !s->f[F_FILES_WRITE].n;
}

static void write_operations(struct json_out *out, const char *capability,
			     const char *const *operations)
{
	json_key(out, capability);
	json_open(out, '[');
	for (; *operations; operations++)
		json_put_text(out, *operations);
	json_close(out, ']');
}

static int write_capabilities(const struct section *s, struct json_out *out, struct diags *diags)
{
	static const char *const all[] = { "read_text",	 "list",   "exists",
					   "write_text", "delete", NULL };
	static const char *const exec[] = { "exec", NULL };
	static const char *const none[] = { NULL };
	const struct field_value *block = &s->f[F_COMMANDS_BLOCK];
	bool starts = !block->n;

	if (block->n > 1 || (block->n && !str_is(block->items[0].text, "*")))
		return refuse(s, F_COMMANDS_BLOCK, "more than that no program may run", diags);
	if (!is_closed(s) && starts)
		return 0;
	json_key(out, "capabilities");
	json_open(out, '{');
	if (!is_closed(s) || !starts)
		write_operations(out, "workspace", is_closed(s) ? none : all);
	if (starts)
		write_operations(out, "process", exec);
	json_close(out, '}');
	return 0;
}

/* ---- files -------------------------------------------------------------- */

/* Where an entry of files.read goes. */
enum read_place { READ_GRANTED, READ_ONLY, READ_BY_PROCESS };

static enum read_place place_of(const struct section *s, const struct item *root)
{
	const struct field_value *write = &s->f[F_FILES_WRITE];

	if (print_skips(s, F_FILES_READ, root))
		return READ_GRANTED;
	for (size_t i = 0; i < write->n; i++)
		if (path_within(write->items[i].text.s, root->text.s))
			return READ_BY_PROCESS;
	/* Nobody knows here where the execution root is. */
	return write->set ? READ_ONLY : READ_BY_PROCESS;
}

static void write_path(const struct section *s, enum field_id id, const struct item *item,
		       struct json_out *out, struct diags *diags)
{
	if (!str_is_utf8(item->text))
		refuse(s, id, "a path that is not UTF-8", diags);
	json_put_str(out, item->text);
}

static void write_reads(const struct section *s, enum read_place place, struct json_out *out,
			struct diags *diags)
{
	const struct field_value *read = &s->f[F_FILES_READ];

	for (size_t i = 0; i < read->n; i++)
		if (place_of(s, &read->items[i]) == place)
			write_path(s, F_FILES_READ, &read->items[i], out, diags);
}

/* files.protect as a read-only root inside a writable one brings it about: the
 * three sets, and paths. */
static void write_protected(const struct section *s, struct json_out *out, struct diags *diags)
{
	const struct field_value *protect = &s->f[F_FILES_PROTECT];
	const char *const *words = field_words(KIND_PROTECT);
	size_t sets = 0, paths = 0, n_words = 0;

	while (words[n_words])
		n_words++;
	for (size_t i = 0; i < protect->n; i++) {
		const struct item *item = &protect->items[i];

		if (item->text.s[0] != '/') {
			sets++;
		} else if (memchr(item->text.s, '*', item->text.n) ||
			   !harn_holds(&s->f[F_FILES_WRITE], item->text.s)) {
			refuse(s, F_FILES_PROTECT, item->text.s, diags);
		} else {
			write_path(s, F_FILES_PROTECT, item, out, diags);
			paths++;
		}
	}
	if (protect->set && (sets != n_words || !paths))
		refuse(s, F_FILES_PROTECT, "these sets", diags);
}

static void write_roots(const struct section *s, struct json_out *out, struct diags *diags)
{
	const struct field_value *write = &s->f[F_FILES_WRITE];

	if (write->n) {
		json_key(out, "workspace_roots");
		json_open(out, '[');
		for (size_t i = 0; i < write->n; i++)
			write_path(s, F_FILES_WRITE, &write->items[i], out, diags);
		json_close(out, ']');
	}
	if (!s->f[F_FILES_READ].n && !s->f[F_FILES_PROTECT].set)
		return;
	json_key(out, "read_only_roots");
	json_open(out, '[');
	write_reads(s, READ_ONLY, out, diags);
	write_protected(s, out, diags);
	json_close(out, ']');
}

static void write_process(const struct section *s, struct json_out *out, struct diags *diags)
{
	const struct field_value *deny = &s->f[F_FILES_DENY], *presets = &s->f[F_FILES_PRESETS];

	json_key(out, "process_sandbox");
	json_open(out, '{');
	json_key(out, "presets");
	if (presets->set) {
		json_open(out, '[');
		for (size_t i = 0; i < presets->n; i++)
			json_put_str(out, presets->items[i].text);
		json_close(out, ']');
	} else {
		json_put_null(out);
	}
	json_key(out, "read_roots");
	json_open(out, '[');
	write_reads(s, READ_BY_PROCESS, out, diags);
	json_close(out, ']');
	json_key(out, "read_deny_roots");
	json_open(out, '[');
	for (size_t i = 0; i < deny->n; i++) {
		if (memchr(deny->items[i].text.s, '*', deny->items[i].text.n))
			refuse(s, F_FILES_DENY, deny->items[i].text.s, diags);
		write_path(s, F_FILES_DENY, &deny->items[i], out, diags);
	}
	json_close(out, ']');
	json_close(out, '}');
}

/* ---- the whole ---------------------------------------------------------- */

int harn_write(const struct policy *p, struct buf *out, struct diags *diags)
{
	static const enum field_id sayable[] = {
		F_PROFILE,	 F_FILES_WRITE,	  F_FILES_READ,	  F_FILES_DENY,
		F_FILES_PROTECT, F_FILES_PRESETS, F_NETWORK_MODE, F_NETWORK_ALLOW,
		F_NETWORK_DENY,	 F_LIMITS_MEMORY, F_LIMITS_CPUS,  F_LIMITS_TIMEOUT,
		F_ENV_PASS,	 F_ENV_SET,	  F_ENV_STRIP,	  F_COMMANDS_BLOCK,
		N_FIELDS
	};
	const struct section *s = &p->base;
	const struct field_value *mode = &s->f[F_NETWORK_MODE];
	struct json_out j = { .out = out, .indent = 2 };
	size_t before = diags->n_errors;

	dialect_refuse_others(p, sayable, false, &dialect_harn, diags);
	json_open(&j, '{');
	if (s->f[F_PROFILE].set) {
		json_key(&j, "sandbox_profile");
		json_put_text(&j, field_words(KIND_PROFILE)[s->f[F_PROFILE].number]);
	}
	if (!mode->set || mode->number == NETWORK_NONE) {
		json_key(&j, "side_effect_level");
		json_put_text(&j, harn_level_words[HARN_PROCESS_EXEC]);
	}
	write_capabilities(s, &j, diags);
	write_roots(s, &j, diags);
	write_process(s, &j, diags);
	harn_write_rest(s, &j, diags);
	json_close(&j, '}');
	buf_putc(out, '\n');
	return diags->n_errors == before ? 0 : -1;
}

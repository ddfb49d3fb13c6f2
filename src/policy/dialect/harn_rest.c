/* The sections beside Harn's capabilities, read and printed: limits and env here,
 * egress and network in harn_net.c.
 */
#include "policy/dialect/harn_priv.h"

#define MB ((int64_t)1 << 20)
#define MOST_SECONDS ((int64_t)1 << 40)

/* ---- reading ------------------------------------------------------------ */

static const char *const limit_keys[] = { "wall_time", "memory_mb", "cpu_count", "idle_timeout",
					  NULL };

static void read_wall_time(struct reader *r, const struct value *v)
{
	double seconds = v->kind == VALUE_INT ? (double)v->integer : v->real;

	if (v->kind != VALUE_INT && v->kind != VALUE_FLOAT) {
		read_expect(r, v, VALUE_INT, "limits.wall_time");
		return;
	}
	if (!(seconds >= 0.001 && seconds <= (double)MOST_SECONDS)) {
		diag_error(r->diags, reader_at(r, v),
			   "limits.wall_time is no time; write a number of seconds over 0");
		return;
	}
	read_number(&r->policy->base, F_LIMITS_TIMEOUT, (int64_t)(seconds * 1000 + 0.5),
		    reader_at(r, v));
}

static void read_count(struct reader *r, const struct value *v, const char *key, enum field_id id,
		       int64_t unit)
{
	if (!v || !read_expect(r, v, VALUE_INT, key))
		return;
	if (v->integer < 1 || v->integer > INT64_MAX / 2 / unit)
		diag_error(r->diags, reader_at(r, v), "%s is %lld; write a number of at least 1",
			   key, (long long)v->integer);
	else
		read_number(&r->policy->base, id, v->integer * unit, reader_at(r, v));
}

static void read_limits(struct reader *r, const struct value *root)
{
	const struct value *limits = harn_get(root, "limits");
	const struct value *wall = harn_get(limits, "wall_time");
	const struct value *idle = harn_get(limits, "idle_timeout");

	if (!limits || !read_expect(r, limits, VALUE_TABLE, "limits"))
		return;
	read_check_keys(r, limits, limit_keys, " in limits");
	if (wall)
		read_wall_time(r, wall);
	read_count(r, harn_get(limits, "memory_mb"), "limits.memory_mb", F_LIMITS_MEMORY, MB);
	read_count(r, harn_get(limits, "cpu_count"), "limits.cpu_count", F_LIMITS_CPUS, 1);
	if (idle)
		diag_error(r->diags, reader_at(r, idle),
			   "limits.idle_timeout: cordon has no such limit; remove it here");
}

static bool is_removed(const struct section *s, struct str name)
{
	const struct field_value *strip = &s->f[F_ENV_STRIP];

	for (size_t i = 0; i < strip->n; i++)
		if (str_eq(strip->items[i].text, name))
			return true;
	return false;
}

static int take_removed(struct reader *r, struct str text, struct place at, void *arg UNUSED)
{
	if (memchr(text.s, '*', text.n))
		return diag_error(r->diags, at, "env_remove: '%.*s' is no variable's name",
				  STR_FMT(text));
	return read_field_text(r, &r->policy->base, F_ENV_STRIP, text, at);
}

static void read_variable(struct reader *r, const struct member *m)
{
	struct place at = { r->file, m->line, m->col };

	if (!read_expect(r, &m->value, VALUE_STRING, "env"))
		return;
	if (harn_is_loader_variable(m->key))
		diag_error(r->diags, at, "env: '%.*s' steers the loader; remove it",
			   STR_FMT(m->key));
	else if (memmem(m->value.string.s, m->value.string.n, "${", 2))
		diag_error(
			r->diags, at,
			"env: the value of '%.*s' holds '${', which cordon would expand and Harn "
			"would not",
			STR_FMT(m->key));
	else if (!is_removed(&r->policy->base, m->key))
		read_map_entry(r, &r->policy->base, F_ENV_SET, m->key, m->value.string, at);
}

/* Without env everything is inherited, whatever env_mode says; removal comes
 * after env. */
static void read_env(struct reader *r, const struct value *root)
{
	const struct value *env = harn_get(root, "env"), *mode = harn_get(root, "env_mode");
	const struct value *removed = harn_get(root, "env_remove");
	struct section *s = &r->policy->base;
	bool replace = false;

	if (mode && read_expect(r, mode, VALUE_STRING, "env_mode")) {
		replace = str_is(mode->string, "replace");
		if (!replace && !str_is(mode->string, "merge"))
			diag_error(r->diags, reader_at(r, mode),
				   "unknown env_mode \"%.*s\"; expected \"merge\" or \"replace\"",
				   STR_FMT(mode->string));
	}
	if (removed)
		read_strings(r, removed, "env_remove", take_removed, NULL);
	read_list_start(s, F_ENV_PASS, reader_at(r, env ? env : root));
	if (!env || !replace)
		read_field_text(r, s, F_ENV_PASS, STR("*"), s->f[F_ENV_PASS].at);
	if (!env || !read_expect(r, env, VALUE_TABLE, "env") || !harn_check_size(r, env, "env"))
		return;
	for (size_t i = 0; i < env->table.n; i++)
		read_variable(r, &env->table.members[i]);
}

void harn_read_rest(struct reader *r, const struct value *root)
{
	harn_read_network(r, root);
	read_limits(r, root);
	read_env(r, root);
}

/* ---- the result of intersect -------------------------------------------- */

static void print_limits(const struct section *s, struct json_out *out)
{
	const struct field_value *time = &s->f[F_LIMITS_TIMEOUT];
	const struct field_value *memory = &s->f[F_LIMITS_MEMORY], *cpus = &s->f[F_LIMITS_CPUS];

	if (!time->set && !memory->set && !cpus->set)
		return;
	json_key(out, "limits");
	json_open(out, '{');
	if (time->set) {
		json_key(out, "wall_time");
		if (time->number % 1000)
			json_put_real(out, (double)time->number / 1000);
		else
			json_put_int(out, time->number / 1000);
	}
	if (memory->set) {
		json_key(out, "memory_mb");
		json_put_int(out, memory->number / MB);
	}
	if (cpus->set) {
		json_key(out, "cpu_count");
		json_put_int(out, cpus->number);
	}
	json_close(out, '}');
}

static void print_env(const struct section *s, struct json_out *out)
{
	const struct field_value *set = &s->f[F_ENV_SET], *strip = &s->f[F_ENV_STRIP];
	bool replace = !s->f[F_ENV_PASS].n;

	if (set->n || replace) {
		json_key(out, "env");
		json_open(out, '{');
		for (size_t i = 0; i < set->n; i++) {
			if (is_removed(s, set->items[i].text))
				continue;
			json_key_str(out, set->items[i].text);
			json_put_str(out, set->items[i].value);
		}
		json_close(out, '}');
	}
	if (replace) {
		json_key(out, "env_mode");
		json_put_text(out, "replace");
	}
	if (!strip->n)
		return;
	json_key(out, "env_remove");
	json_open(out, '[');
	for (size_t i = 0; i < strip->n; i++)
		json_put_str(out, strip->items[i].text);
	json_close(out, ']');
}

void harn_print_rest(const struct section *s, struct json_out *out)
{
	harn_print_egress(s, out);
	print_limits(s, out);
	print_env(s, out);
}

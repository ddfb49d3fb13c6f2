/* Reading task.toml; see task.h.
 *
 * One function a table.  `where` is the table's name for messages.
 */
#include "policy/task.h"

#include <math.h>	/* isinf, a macro */

/* ---- keys --------------------------------------------------------------- */

/* What we read, and what is Harbor's own business, table by table. */
static const char *const root_keys[] = {
	"environment", "agent", "verifier", "steps", "solution", "artifacts",
	"multi_step_reward_strategy", NULL };
static const char *const root_others[] = {
	"schema_version", "version", "task", "metadata", "source", "oracle", "author",
	"difficulty", "category", "tags", NULL };
static const char *const environment_keys[] = { "network_mode",
						"allowed_hosts",
						"allow_internet",
						"env",
						"build_timeout_sec",
						"docker_image",
						"cpus",
						"memory_mb",
						"storage_mb",
						"gpus",
						"tpu",
						"tpus",
						"os",
						"memory",
						"storage",
						"workdir",
						"keep_processes",
						NULL };
static const char *const environment_others[] = {
	"gpu_types", "mcp_servers", "healthcheck", "skills_dir", "user",
	NULL };
static const char *const agent_keys[] = {
	"network_mode", "allowed_hosts", "timeout_sec", "env", "command", "setup", NULL };
static const char *const verifier_keys[] = {
	"network_mode", "allowed_hosts", "timeout_sec", "env", "command", "environment_mode",
	"environment", NULL };
static const char *const phase_others[] = { "user", "collect", NULL };
static const char *const step_keys[] = { "name", "agent", "verifier", "artifacts", "min_reward",
					 NULL };
static const char *const step_others[] = { "healthcheck", "user", NULL };
static const char *const solution_keys[] = { "env", NULL };
static const char *const no_others[] = { NULL };

/* What Harbor does something about and we do not: told to who runs a task. */
static const char *const idle_keys[] = {
	"healthcheck", "mcp_servers", "skills_dir", "user", "collect", NULL };

/* Keys that decide about the network: where they are not known they would be
 * ignored, and the task would run with more than its author meant. */
static const char *const network_keys[] = {
	"network_mode", "allowed_hosts", "allow_internet", "blocked_hosts", NULL };

static bool has_word(const char *const *words, struct str key)
{
	while (*words && !str_is(key, *words))
		words++;
	return *words != NULL;
}

/* The known key that a misspelt one is near to: at most two edits, one where
 * two would be half of the word. */
static const char *near_miss(struct str key, const char *const *known)
{
	for (; *known; known++) {
		unsigned most = strlen(*known) >= 5 ? 2 : 1;

		if (str_distance(key, str_from(*known), most + 1) <= most)
			return *known;
	}
	return NULL;
}

static void odd_key(struct reader *r, const struct member *m, const char *where, const char *hint)
{
	struct place at = { r->file, m->line, m->col };
	cleanup_buf struct buf in = BUF(64);

	buf_printf(&in, *where ? "in [%s]" : "at the top of the file%s", where);
	if (r->ignores_unknown)
		diag_warn(r->diags, at, "unknown key '%.*s' %s is ignored; %s", STR_FMT(m->key),
			  buf_text(&in), hint);
	else
		diag_error(r->diags, at, "unknown key '%.*s' %s; %s", STR_FMT(m->key),
			   buf_text(&in), hint);
}

static void check_keys(struct reader *r, const struct value *table, const char *const *known,
		       const char *const *others, const char *where)
{
	for (size_t i = 0; i < table->table.n; i++) {
		const struct member *m = &table->table.members[i];
		cleanup_buf struct buf hint = BUF(128);
		const char *nearest;

		if (r->ignores_unknown && has_word(others, m->key) && has_word(idle_keys, m->key))
			diag_warn(r->diags, (struct place){ r->file, m->line, m->col },
				  "'%.*s' in [%s] is not acted upon", STR_FMT(m->key), where);
		if (has_word(known, m->key) || has_word(others, m->key))
			continue;
		nearest = near_miss(m->key, known);
		if (nearest) {
			buf_printf(&hint, "did you mean '%s'?", nearest);
			odd_key(r, m, where, buf_text(&hint));
		} else if (near_miss(m->key, network_keys)) {
			odd_key(r, m, where,
				"the network is set by network_mode and allowed_hosts of "
				"[environment], [agent] and [verifier]");
		} else if (!*where && field_is_top(m->key)) {
			odd_key(r, m, where,
				"it belongs to cordon.toml, and would be ignored in a task");
		} else if (r->ignores_unknown) {
			odd_key(r, m, where, "Harbor ignores it, too");
		}
	}
}

/* ---- values ------------------------------------------------------------- */

static int no_memory(struct reader *r, struct place at)
{
	return diag_error(r->diags, at, "out of memory");
}

static int wrong(struct reader *r, const struct value *v, const char *where, const char *key,
		 const char *want)
{
	return diag_error(r->diags, reader_at(r, v), "%s.%s is %s; write %s", where, key,
			  value_kind_words(v->kind), want);
}

static bool expect(struct reader *r, const struct value *v, enum value_kind kind, const char *where,
		   const char *key)
{
	if (v->kind == kind)
		return true;
	wrong(r, v, where, key, value_kind_words(kind));
	return false;
}

/* A table that is there; NULL when it is not, or is something else. */
static const struct value *find_table(struct reader *r, const struct value *in, const char *key)
{
	const struct value *v = value_find(in, key);

	return v && read_expect(r, v, VALUE_TABLE, key) ? v : NULL;
}

static void read_count(struct reader *r, const struct value *table, const char *where,
		       const char *key, int64_t least, struct task_number *ret)
{
	const struct value *v = value_find(table, key);
	int64_t n;

	if (!v)
		return;
	if (v->kind == VALUE_INT) {
		n = v->integer;
	} else if (v->kind == VALUE_FLOAT && v->real > -1e15 && v->real < 1e15 &&
		   v->real == (double)(int64_t)v->real) {
		n = (int64_t)v->real;
	} else {
		wrong(r, v, where, key, "a whole number");
		return;
	}
	if (n < least || n > TASK_MAX_NUMBER) {
		diag_error(r->diags, reader_at(r, v),
			   "%s.%s is %lld; write a whole number of at least %lld", where, key,
			   (long long)n, (long long)least);
		return;
	}
	*ret = (struct task_number){ true, n, reader_at(r, v) };
}

/* Fractions of a millisecond count as a whole one, unless they are only what
 * binary fractions make of a decimal number.  By hand: libm would be a second
 * shared library. */
static int64_t to_ms(double seconds)
{
	double ms = seconds * 1000;
	int64_t whole;

	if (ms >= 9e15)
		return LIMIT_NONE;
	whole = (int64_t)ms;
	if (ms - (double)whole > 1e-3)
		whole++;
	return whole < 1 ? 1 : whole;
}

static void read_seconds(struct reader *r, const struct value *table, const char *where,
			 const char *key, struct task_number *ret)
{
	const struct value *v = value_find(table, key);
	double seconds;

	if (!v)
		return;
	if (v->kind != VALUE_INT && v->kind != VALUE_FLOAT) {
		wrong(r, v, where, key, "a number of seconds");
		return;
	}
	seconds = v->kind == VALUE_INT ? (double)v->integer : v->real;
	if (!(seconds > 0) || (seconds > TASK_MAX_TIMEOUT_MS / 1000 && !isinf(seconds))) {
		diag_error(r->diags, reader_at(r, v),
			   "%s.%s is no time-out; write seconds above 0 and up to 1e9, or inf",
			   where, key);
		return;
	}
	*ret = (struct task_number){ true, to_ms(seconds), reader_at(r, v) };
}

/* "2G", "1.5g", "512M": a number and one letter, in megabytes. */
static bool parse_megabytes(struct str text, int64_t *ret)
{
	static const struct { char letter; double megabytes; } units[] = {
		{ 'G', 1024 }, { 'M', 1 }, { 'K', 1.0 / 1024 } };
	struct str number = str_first(text, text.n ? text.n - 1 : 0), part;
	size_t dot = str_find(number, '.');
	uint64_t whole = 0, decimals = 0;
	double value, scale = 1;

	part = str_from_pos(number, dot < number.n ? dot + 1 : dot);
	if (!str_parse_u64(str_first(number, dot), &whole) || whole > 1u << 30 || part.n > 9 ||
	    (part.n && !str_parse_u64(part, &decimals)))
		return false;
	for (size_t i = 0; i < part.n; i++)
		scale *= 10;
	value = (double)whole + (double)decimals / scale;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if ((text.s[text.n - 1] & ~0x20) == units[i].letter) {
			*ret = (int64_t)(value * units[i].megabytes);
			return true;
		}
	return false;
}

/* The deprecated `memory` and `storage`, beside the fields that replaced them. */
static void read_old_size(struct reader *r, const struct value *table, const char *where,
			  const char *key, struct task_number *mb)
{
	const struct value *v = value_find(table, key);
	int64_t n;

	if (!v || !expect(r, v, VALUE_STRING, where, key))
		return;
	if (!parse_megabytes(str_trim(v->string), &n)) {
		diag_error(
			r->diags, reader_at(r, v),
			"%s.%s: Invalid size format: %.*s. Expected format like '1G', '512M', etc.",
			where, key, STR_FMT(v->string));
		return;
	}
	if (mb->set && mb->value != n) {
		diag_error(r->diags, reader_at(r, v),
			   "%s: Conflicting '%s' and '%s_mb' values; remove '%s'", where, key, key,
			   key);
		return;
	}
	if (n < 1) {
		diag_error(r->diags, reader_at(r, v), "%s.%s is less than 1M; write more", where,
			   key);
		return;
	}
	diag_warn(r->diags, reader_at(r, v), "the '%s' field is deprecated; write '%s_mb = %lld'",
		  key, key, (long long)n);
	*mb = (struct task_number){ true, n, reader_at(r, v) };
}

static void read_text(struct reader *r, const struct value *table, const char *where,
		      const char *key, struct str *ret, struct place *ret_at)
{
	const struct value *v = value_find(table, key);

	if (!v || !expect(r, v, VALUE_STRING, where, key))
		return;
	if (!str_trim(v->string).n) {
		diag_error(r->diags, reader_at(r, v), "%s.%s is blank; write a text or remove it",
			   where, key);
		return;
	}
	*ret = v->string;
	if (ret_at)
		*ret_at = reader_at(r, v);
}

static void read_env(struct reader *r, const struct value *table, const char *where,
		     struct task_env *ret)
{
	const struct value *v = value_find(table, "env");

	if (!v || !expect(r, v, VALUE_TABLE, where, "env"))
		return;
	if (v->table.n > MAX_SHORT_LIST) {
		diag_error(r->diags, reader_at(r, v), "%s.env has more than %d variables", where,
			   MAX_SHORT_LIST);
		return;
	}
	*ret = (struct task_env){ .set = true, .at = reader_at(r, v) };
	ret->items = arena_new(r->policy->arena, v->table.n + 1, sizeof(*ret->items));
	if (!ret->items) {
		no_memory(r, ret->at);
		return;
	}
	for (size_t i = 0; i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];
		struct place at = { r->file, m->line, m->col };

		if (!m->key.n || str_find(m->key, '=') < m->key.n)
			diag_error(r->diags, at, "'%.*s' in %s.env is no variable's name",
				   STR_FMT(m->key), where);
		else if (expect(r, &m->value, VALUE_STRING, where, "env"))
			ret->items[ret->n++] =
				(struct task_variable){ m->key, m->value.string, at };
	}
}

static void read_command(struct reader *r, const struct value *table, const char *where,
			 const char *key, struct task_command *ret)
{
	const struct value *v = value_find(table, key);
	const struct value *words;
	size_t n;

	if (!v)
		return;
	if (v->kind != VALUE_STRING && v->kind != VALUE_ARRAY) {
		wrong(r, v, where, key, "a shell text or an array of words");
		return;
	}
	words = v->kind == VALUE_ARRAY ? v->array.items : v;
	n = v->kind == VALUE_ARRAY ? v->array.n : 1;
	*ret = (struct task_command){ .is_shell = v->kind == VALUE_STRING, .at = reader_at(r, v) };
	ret->words = arena_new(r->policy->arena, n + 1, sizeof(*ret->words));
	if (!ret->words) {
		no_memory(r, ret->at);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (expect(r, &words[i], VALUE_STRING, where, key))
			ret->words[ret->n_words++] = words[i].string;
	if (!n || (ret->n_words && !str_trim(ret->words[0]).n))
		diag_error(r->diags, ret->at, "%s.%s is blank; write a command or remove it",
			   where, key);
}

/* Paths, or tables with a `source`. */
static void read_artifacts(struct reader *r, const struct value *table, struct task_artifacts *ret)
{
	const struct value *v = value_find(table, "artifacts");

	if (!v || !read_expect(r, v, VALUE_ARRAY, "artifacts"))
		return;
	if (v->array.n > MAX_SHORT_LIST) {
		diag_error(r->diags, reader_at(r, v), "more than %d artifacts", MAX_SHORT_LIST);
		return;
	}
	ret->paths = arena_new(r->policy->arena, v->array.n + 1, sizeof(*ret->paths));
	if (!ret->paths) {
		no_memory(r, reader_at(r, v));
		return;
	}
	for (size_t i = 0; i < v->array.n; i++) {
		const struct value *one = &v->array.items[i];
		const struct value *path = value_find(one, "source");

		path = path ? path : one;
		if (!read_expect(r, path, VALUE_STRING, "an entry of artifacts"))
			continue;
		if (!str_starts(path->string, "/"))
			diag_error(r->diags, reader_at(r, path),
				   "artifacts: '%.*s' is no absolute path",
				   STR_FMT(path->string));
		ret->paths[ret->n++] = path->string;
	}
}

static bool read_real(const struct value *v, double *ret)
{
	*ret = v->kind == VALUE_INT ? (double)v->integer : v->real;
	return v->kind == VALUE_INT || (v->kind == VALUE_FLOAT && !isinf(v->real) &&
					v->real == v->real);
}

/* One number is about `reward`; a table names what each is about. */
static void read_floor(struct reader *r, const struct value *table, struct task_floor *ret)
{
	const struct value *v = value_find(table, "min_reward");
	size_t n = v && v->kind == VALUE_TABLE ? v->table.n : 1;

	if (!v)
		return;
	ret->names = arena_new(r->policy->arena, n + 1, sizeof(*ret->names));
	ret->values = arena_new(r->policy->arena, n + 1, sizeof(*ret->values));
	if (!ret->names || !ret->values) {
		no_memory(r, reader_at(r, v));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		bool named = v->kind == VALUE_TABLE;
		const struct value *one = named ? &v->table.members[i].value : v;

		ret->names[i] = named ? v->table.members[i].key : STR("reward");
		if (!read_real(one, &ret->values[i]))
			wrong(r, one, "steps", "min_reward", "a number, or a table of numbers");
	}
	ret->n = n;
}

static void read_strategy(struct reader *r, const struct value *root, enum task_strategy *ret)
{
	static const char *const words[N_TASK_STRATEGIES] = { "mean", "final" };
	const struct value *v = value_find(root, "multi_step_reward_strategy");

	if (!v || !read_expect(r, v, VALUE_STRING, "multi_step_reward_strategy"))
		return;
	for (int i = 0; i < N_TASK_STRATEGIES; i++)
		if (str_is(v->string, words[i])) {
			*ret = (enum task_strategy)i;
			return;
		}
	diag_error(r->diags, reader_at(r, v),
		   "multi_step_reward_strategy: Input should be 'mean' or 'final' (got '%.*s')",
		   STR_FMT(v->string));
}

/* ---- network ------------------------------------------------------------ */

static void read_mode(struct reader *r, const struct value *v, const char *where,
		      struct task_network *ret)
{
	const char *const *words = field_words(KIND_NETWORK_MODE);

	ret->written = true;
	ret->at = reader_at(r, v);
	if (!expect(r, v, VALUE_STRING, where, "network_mode"))
		return;
	for (int i = 0; words[i]; i++)
		if (str_is(v->string, words[i])) {
			ret->mode = (enum network_mode)i;
			return;
		}
	diag_error(r->diags, ret->at,
		   "%s.network_mode: Input should be 'public', 'no-network' or 'allowlist' (got "
		   "'%.*s')",
		   where, STR_FMT(v->string));
}

static void read_hosts(struct reader *r, const struct value *v, const char *where,
		       struct task_network *ret)
{
	struct task_host *hosts;

	if (v->array.n > MAX_LIST_ITEMS) {
		diag_error(r->diags, reader_at(r, v), "%s.allowed_hosts has more than %u entries",
			   where, MAX_LIST_ITEMS);
		return;
	}
	hosts = arena_new(r->policy->arena, v->array.n + 1, sizeof(*hosts));
	if (!hosts) {
		no_memory(r, reader_at(r, v));
		return;
	}
	for (size_t i = 0; i < v->array.n; i++) {
		const struct value *one = &v->array.items[i];
		struct task_host *host = &hosts[ret->n_hosts];
		const char *why;

		if (!expect(r, one, VALUE_STRING, where, "allowed_hosts"))
			continue;
		if (task_host_parse(one->string, r->policy->arena, host, &why) < 0) {
			diag_error(r->diags, reader_at(r, one), "%s: %s (got '%.*s')", where, why,
				   STR_FMT(one->string));
			continue;
		}
		host->at = reader_at(r, one);
		ret->classes |= 1u << host->class;
		ret->n_hosts++;
	}
	ret->hosts = hosts;
}

/* The two keys together.  In a phase even an empty list needs a mode; the
 * table of an environment has one without saying so. */
static void read_network(struct reader *r, const struct value *table, const char *where,
			 bool is_phase, struct task_network *ret)
{
	const struct value *mode = value_find(table, "network_mode");
	const struct value *hosts = value_find(table, "allowed_hosts");

	ret->at = reader_at(r, table);
	if (mode)
		read_mode(r, mode, where, ret);
	if (!hosts || !expect(r, hosts, VALUE_ARRAY, where, "allowed_hosts"))
		return;
	read_hosts(r, hosts, where, ret);
	if (ret->mode != NETWORK_ALLOWLIST && (hosts->array.n || (is_phase && !mode)))
		diag_error(r->diags, reader_at(r, hosts),
			   "%s: allowed_hosts is only valid when network_mode='allowlist'.", where);
}

/* allow_internet counts only where nothing newer is said, even if that is
 * laxer: as Harbor does, and told, since an author may not have meant it. */
static void read_allow_internet(struct reader *r, const struct value *table, const char *where,
				struct task_environment *e)
{
	const struct value *v = value_find(table, "allow_internet");

	if (!v || !expect(r, v, VALUE_BOOL, where, "allow_internet"))
		return;
	e->allow_internet = (struct task_number){ true, v->boolean, reader_at(r, v) };
	if (!e->network.written && !value_find(table, "allowed_hosts")) {
		e->network.mode = v->boolean ? NETWORK_PUBLIC : NETWORK_NONE;
		e->network.at = reader_at(r, v);
		return;
	}
	if (v->boolean || e->network.mode == NETWORK_NONE)
		return;
	if (r->ignores_unknown)
		diag_warn(
			r->diags, reader_at(r, v),
			"%s.allow_internet = false is ignored, since the network is said otherwise",
			where);
	else
		diag_error(r->diags, reader_at(r, v),
			   "%s.allow_internet = false contradicts the network_mode; remove one",
			   where);
}

/* ---- tables ------------------------------------------------------------- */

static void read_keep_processes(struct reader *r, const struct value *table, const char *where,
				struct task_environment *e)
{
	const struct value *v = value_find(table, "keep_processes");

	if (v && expect(r, v, VALUE_BOOL, where, "keep_processes"))
		e->ends_processes = !v->boolean;
}

/* A count, or a table that says which. */
static void read_tpu(struct reader *r, const struct value *table, const char *key,
		     struct task_environment *e)
{
	const struct value *v = value_find(table, key);

	if (!v || (v->kind == VALUE_INT && !v->integer) || (v->kind == VALUE_TABLE && !v->table.n))
		return;
	e->tpu = true;
	e->tpu_at = reader_at(r, v);
}

static void read_environment(struct reader *r, const struct value *table, const char *where,
			     struct task_environment *e)
{
	if (!table)
		return;
	check_keys(r, table, environment_keys, environment_others, where);
	e->present = true;
	e->at = reader_at(r, table);
	read_network(r, table, where, false, &e->network);
	read_allow_internet(r, table, where, e);
	read_seconds(r, table, where, "build_timeout_sec", &e->build_timeout_ms);
	read_count(r, table, where, "cpus", 1, &e->cpus);
	read_count(r, table, where, "memory_mb", 1, &e->memory_mb);
	read_count(r, table, where, "storage_mb", 1, &e->storage_mb);
	read_count(r, table, where, "gpus", 0, &e->gpus);
	read_old_size(r, table, where, "memory", &e->memory_mb);
	read_old_size(r, table, where, "storage", &e->storage_mb);
	read_tpu(r, table, "tpu", e);
	read_tpu(r, table, "tpus", e);
	read_text(r, table, where, "os", &e->os, &e->os_at);
	read_text(r, table, where, "docker_image", &e->docker_image, NULL);
	read_env(r, table, where, &e->env);
	read_keep_processes(r, table, where, e);
	read_text(r, table, where, "workdir", &e->workdir, &e->workdir_at);
	if (e->workdir.n && !str_starts(e->workdir, "/"))
		diag_error(r->diags, e->workdir_at, "%s.workdir is no absolute path", where);
}

static void read_phase(struct reader *r, const struct value *table, const char *where,
		       struct task_phase *ret)
{
	ret->at = reader_at(r, table);
	read_network(r, table, where, true, &ret->network);
	read_seconds(r, table, where, "timeout_sec", &ret->timeout_ms);
	read_env(r, table, where, &ret->env);
	read_command(r, table, where, "command", &ret->command);
}

static void read_agent(struct reader *r, const struct value *table, const char *where,
		       struct task_phase *ret)
{
	if (!table)
		return;
	check_keys(r, table, agent_keys, phase_others, where);
	read_phase(r, table, where, ret);
	read_command(r, table, where, "setup", &ret->setup);
}

static void read_sharing(struct reader *r, const struct value *table, const char *where,
			 struct task_phase *ret)
{
	const struct value *v = value_find(table, "environment_mode");

	if (!v || !expect(r, v, VALUE_STRING, where, "environment_mode"))
		return;
	if (str_is(v->string, "shared"))
		ret->sharing = TASK_SHARED;
	else if (str_is(v->string, "separate"))
		ret->sharing = TASK_SEPARATE;
	else
		diag_error(
			r->diags, reader_at(r, v),
			"%s.environment_mode: Input should be 'shared' or 'separate' (got '%.*s')",
			where, STR_FMT(v->string));
	if (ret->sharing == TASK_SHARED && ret->environment.present)
		diag_error(r->diags, reader_at(r, v),
			   "[%s].environment_mode='shared' is incompatible with [%s.environment]; "
			   "remove one of them", where, where);
}

static void read_verifier(struct reader *r, const struct value *table, const char *where,
			  const char *environment_where, struct task_phase *ret)
{
	if (!table)
		return;
	check_keys(r, table, verifier_keys, phase_others, where);
	read_phase(r, table, where, ret);
	read_environment(r, find_table(r, table, "environment"), environment_where,
			 &ret->environment);
	read_sharing(r, table, where, ret);
}

static void read_step(struct reader *r, const struct value *table, struct task *t)
{
	struct task_step *step = &t->steps[t->n_steps];

	if (!read_expect(r, table, VALUE_TABLE, "an entry of steps"))
		return;
	step->at = reader_at(r, table);
	check_keys(r, table, step_keys, step_others, "steps");
	read_text(r, table, "steps", "name", &step->name, &step->at);
	if (!value_find(table, "name"))
		diag_error(r->diags, step->at, "a step without a name; write name = \"…\"");
	for (size_t i = 0; step->name.n && i < t->n_steps; i++)
		if (str_eq(t->steps[i].name, step->name))
			diag_error(r->diags, step->at, "two steps are named '%.*s'; rename one",
				   STR_FMT(step->name));
	read_agent(r, find_table(r, table, "agent"), "steps.agent", &step->agent);
	read_verifier(r, find_table(r, table, "verifier"), "steps.verifier",
		      "steps.verifier.environment", &step->verifier);
	read_artifacts(r, table, &step->artifacts);
	read_floor(r, table, &step->floor);
	t->n_steps++;
}

static void read_steps(struct reader *r, const struct value *v, struct task *t)
{
	if (!v || !read_expect(r, v, VALUE_ARRAY, "steps"))
		return;
	if (v->array.n > MAX_TASK_STEPS) {
		diag_error(r->diags, reader_at(r, v), "more than %d steps; remove some",
			   MAX_TASK_STEPS);
		return;
	}
	t->steps = arena_new(r->policy->arena, v->array.n + 1, sizeof(*t->steps));
	if (!t->steps) {
		no_memory(r, reader_at(r, v));
		return;
	}
	for (size_t i = 0; i < v->array.n; i++)
		read_step(r, &v->array.items[i], t);
}

int task_read(struct reader *r, const struct value *root, struct task *ret)
{
	size_t before = r->diags->n_errors;
	const struct value *solution;
	struct task task = { 0 };

	check_keys(r, root, root_keys, root_others, "");
	read_environment(r, find_table(r, root, "environment"), "environment", &task.environment);
	read_agent(r, find_table(r, root, "agent"), "agent", &task.agent);
	read_verifier(r, find_table(r, root, "verifier"), "verifier", "verifier.environment",
		      &task.verifier);
	solution = find_table(r, root, "solution");
	if (solution) {
		check_keys(r, solution, solution_keys, no_others, "solution");
		read_env(r, solution, "solution", &task.solution_env);
	}
	read_steps(r, value_find(root, "steps"), &task);
	read_artifacts(r, root, &task.artifacts);
	read_strategy(r, root, &task.strategy);
	if (r->diags->n_errors != before)
		return -1;
	*ret = task;
	return 0;
}

/* ---- what stands in for what -------------------------------------------- */

const struct task_network *task_agent_network(const struct task *t, const struct task_step *step)
{
	if (step && step->agent.network.written)
		return &step->agent.network;
	return t->agent.network.written ? &t->agent.network : NULL;
}

const struct task_network *task_verifier_network(const struct task *t,
						 const struct task_step *step)
{
	if (step && step->verifier.network.written)
		return &step->verifier.network;
	return t->verifier.network.written ? &t->verifier.network : NULL;
}

struct task_number task_agent_timeout(const struct task *t, const struct task_step *step)
{
	return step && step->agent.timeout_ms.set ? step->agent.timeout_ms : t->agent.timeout_ms;
}

struct task_number task_verifier_timeout(const struct task *t, const struct task_step *step)
{
	if (step && step->verifier.timeout_ms.set)
		return step->verifier.timeout_ms;
	if (t->verifier.timeout_ms.set)
		return t->verifier.timeout_ms;
	return (struct task_number){ true, TASK_VERIFIER_TIMEOUT_MS, t->verifier.at };
}

const struct task_environment *task_verifier_environment(const struct task *t,
							 const struct task_step *step)
{
	const struct task_environment *own = t->verifier.environment.present ?
					     &t->verifier.environment : &t->environment;
	enum task_sharing sharing = TASK_SHARING_UNSAID;

	if (step) {
		sharing = step->verifier.sharing;
		if (step->verifier.environment.present)
			return &step->verifier.environment;
	}
	if (sharing == TASK_SHARING_UNSAID)
		sharing = t->verifier.sharing;
	if (sharing == TASK_SHARING_UNSAID)
		return t->verifier.environment.present ? own : NULL;
	return sharing == TASK_SEPARATE ? own : NULL;
}

/* See execs.h. */
#include "plan/execs.h"

#include "base/program.h"

#define MAX_EXEC_LOADERS	4	/* that run one another; more of them are refused */

void exec_view_add(struct exec_view *v, struct str name)
{
	/* As a login shell is called. */
	if (name.n > 1 && name.s[0] == '-')
		name = str_from_pos(name, 1);
	for (size_t i = 0; i < v->n_names; i++)
		if (str_eq(v->names[i], name))
			return;
	v->has_more |= name.n && v->n_names == MAX_EXEC_NAMES;
	if (name.n && v->n_names < MAX_EXEC_NAMES)
		v->names[v->n_names++] = name;
}

static bool breaks(const struct plan_rule *r, const struct exec_view *v)
{
	bool is_shell = false;

	for (size_t i = 0; i < v->n_names; i++) {
		v->words[0] = v->names[i];
		if (command_rule_matches(r->rule, v->words, v->n_words, v->place))
			return true;
		is_shell |= command_is_shell(v->names[i]);
	}
	/* A rule of shell syntax is looked for in all that a shell is given. */
	for (size_t i = 1; i < v->n_words && is_shell; i++)
		if (command_rule_in_text(r->rule, v->words[i]))
			return true;
	return false;
}

/* Applets that start others without an execution. */
static bool starts_applets(struct str name)
{
	name = command_base_name(name);
	return command_is_shell(name) || str_is(name, "xargs") || str_is(name, "find");
}

static bool is_multi_call_shell(const struct exec_view *v)
{
	bool is_multi_call = false, is_shell = v->n_words > 1 && starts_applets(v->words[1]);

	for (size_t i = 0; i < v->n_names; i++)
		is_multi_call |= program_is_multi_call(command_base_name(v->names[i]));
	for (size_t i = 0; i < v->n_names; i++)
		is_shell |= starts_applets(v->names[i]);
	return is_multi_call && is_shell;
}

/* ---- the dynamic loader --------------------------------------------------- */

/* Called as a program, it runs the one it is given without another execution. */
static bool has_loader(const struct exec_view *v)
{
	for (size_t i = 0; i < v->n_names; i++) {
		struct str name = command_base_name(v->names[i]);

		if (str_starts(name, "ld.so") || str_starts(name, "ld64.so") ||
		    str_glob(STR("ld-*.so*"), name))
			return true;
	}
	return false;
}

/* What the loader will run; false when it is given nothing. */
static bool take_loaded(const struct exec_view *v, struct exec_view *ret)
{
	static const char *const valued[] = { "--library-path", "--inhibit-rpath", "--audit",
					      "--preload", "--argv0", "--glibc-hwcaps-prepend",
					      "--glibc-hwcaps-mask", NULL };
	struct exec_view loaded = { .place = v->place };
	size_t i = 1;

	for (; i < v->n_words && str_starts(v->words[i], "--"); i++) {
		bool has_value = i + 1 < v->n_words && str_is_one_of(v->words[i], valued);

		if (has_value && str_is(v->words[i], "--argv0"))
			exec_view_add(&loaded, v->words[i + 1]);
		i += has_value;
	}
	if (i >= v->n_words)
		return false;
	exec_view_add(&loaded, v->words[i]);
	loaded.words = v->words + i;
	loaded.n_words = v->n_words - i;
	*ret = loaded;
	return true;
}

/* Its file may be any: a rule without words is held by its mask, which cannot be read. */
static bool may_break(const struct plan_rule *r, const struct exec_view *loaded)
{
	struct exec_view any = *loaded;

	if (r->rule->has_operators)
		exec_view_add(&any, STR("sh"));
	else if (r->rule->n_words > 1)
		exec_view_add(&any, r->rule->words[0]);
	return breaks(r, &any);
}

static const struct plan_rule *find_rule(const struct plan *p, const struct exec_view *v,
					 bool (*test)(const struct plan_rule *,
						      const struct exec_view *))
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (test(&p->rules[i], v))
			return &p->rules[i];
	return p->n_rules && (v->has_more || is_multi_call_shell(v)) ? &p->rules[0] : NULL;
}

const struct plan_rule *exec_find_rule(const struct plan *p, const struct exec_view *v)
{
	const struct plan_rule *rule = find_rule(p, v, breaks);
	struct exec_view now = *v;

	for (unsigned n = 0; !rule && has_loader(&now) && take_loaded(&now, &now); n++)
		rule = n < MAX_EXEC_LOADERS ? find_rule(p, &now, may_break) : p->rules;
	return rule;
}

/* ---- scripts --------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool exec_parse_script(struct str head, struct str *ret_interpreter, struct str *ret_argument)
{
	size_t n = 0;

	if (!str_starts(head, "#!"))
		return false;
	head = str_from_pos(head, 2);
	head.n = str_find(head, '\n');
	head.n = str_find(head, '\0');
	while (head.n && is_blank(head.s[0]))
		head = str_from_pos(head, 1);
	while (head.n && is_blank(head.s[head.n - 1]))
		head.n--;
	while (n < head.n && !is_blank(head.s[n]))
		n++;
	*ret_interpreter = str_first(head, n);
	while (n < head.n && is_blank(head.s[n]))
		n++;
	*ret_argument = str_from_pos(head, n);
	return ret_interpreter->n > 0;
}

/* A command against the blocked ones; see judge.h. */
#include "lib/judge.h"

int judge_command(const struct policy *p, const struct judged *j, struct arena *a,
		  const char **ret, struct cordon_err *err)
{
	const struct field_value *v = &p->base.f[F_COMMANDS_BLOCK];
	struct command_rule *rules = arena_new(a, v->n + 1, sizeof(*rules));
	struct str *argv = arena_new(a, j->n + 1, sizeof(*argv));
	const struct command_rule *rule = NULL;
	char message[COMMAND_WHY];

	*ret = NULL;
	if (!rules || !argv)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++)
		rules[i] = *v->items[i].command;
	for (size_t i = 0; i < j->n; i++)
		argv[i] = str_from(j->argv[i]);
	if (j->shell_text &&
	    command_text_find(rules, v->n, str_from(j->shell_text), &rule, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n && !rule; i++)
		if (command_rule_matches(&rules[i], argv, j->n, (struct command_place){ 0 }))
			rule = &rules[i];
	if (!rule)
		return 0;
	command_rule_message(rule, message);
	*ret = arena_strndup(a, message, strlen(message));
	return *ret ? 0 : err_nomem(err);
}

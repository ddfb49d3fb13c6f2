/* Which dialects there are, and which one a text is in; see dialect.h. */
#include "policy/dialect/dialect.h"

const struct dialect *const dialects[] = {
	&dialect_cordon, &dialect_ai_harness, &dialect_openharness,
	&dialect_harn,	 &dialect_harbor,     &dialect_srt,
	NULL,
};

const struct dialect *dialect_find(const char *name)
{
	for (size_t i = 0; dialects[i]; i++)
		if (strcmp(dialects[i]->name, name) == 0)
			return dialects[i];
	return NULL;
}

/* Endings of names that say it all; the first one that fits counts.  An ending
 * that starts with a letter is a word of its own: multitask.toml is no task. */
static const struct {
	const char *ending;
	const struct dialect *dialect;
} by_name[] = {
	{ "cordon.toml", &dialect_cordon },
	{ ".harness/config.toml", &dialect_openharness },
	{ "task.toml", &dialect_harbor },
	{ "srt-settings.json", &dialect_srt },
	{ ".md", &dialect_ai_harness },
};

/* Does a line of the text start with this table or key (`[sandbox`)? */
static bool has_line(struct str text, const char *start)
{
	while (text.n) {
		size_t n = str_find(text, '\n');

		if (str_starts(str_trim(str_first(text, n)), start))
			return true;
		text = str_from_pos(text, n < text.n ? n + 1 : n);
	}
	return false;
}

static bool has_word(struct str text, const char *word)
{
	return text.n && memmem(text.s, text.n, word, strlen(word));
}

/* Words that stand in one dialect only. */
static const struct {
	const char *line_start;		/* or NULL */
	const char *word;		/* or NULL */
	char first;			/* the text's first byte, or 0 */
	const struct dialect *dialect;
} by_content[] = {
	{ NULL, "\"allowedDomains\"", '{', &dialect_srt },
	{ NULL, "\"deniedDomains\"", '{', &dialect_srt },
	{ NULL, "\"filesystem\"", '{', &dialect_srt },
	{ NULL, NULL, '{', &dialect_harn },
	{ "---", NULL, '-', &dialect_ai_harness },
	{ "[sandbox", NULL, 0, &dialect_openharness },
	{ "[environment", NULL, 0, &dialect_harbor },
	{ "[agent", NULL, 0, &dialect_harbor },
	{ "[verifier", NULL, 0, &dialect_harbor },
	{ "[[steps", NULL, 0, &dialect_harbor },
};

static bool has_ending(struct str name, const char *ending)
{
	size_t before;

	if (!str_ends(name, ending))
		return false;
	before = name.n - strlen(ending);
	return ending[0] == '.' || !before || strchr("/.-_", name.s[before - 1]);
}

const struct dialect *dialect_detect(const struct source *src)
{
	struct str text = str_trim(src->text);

	for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
		if (has_ending(str_from(src->name), by_name[i].ending))
			return by_name[i].dialect;
	for (size_t i = 0; i < ARRAY_SIZE(by_content); i++) {
		if (by_content[i].first && (!text.n || text.s[0] != by_content[i].first))
			continue;
		if (by_content[i].line_start && !has_line(text, by_content[i].line_start))
			continue;
		if (by_content[i].word && !has_word(text, by_content[i].word))
			continue;
		return by_content[i].dialect;
	}
	return &dialect_cordon;
}

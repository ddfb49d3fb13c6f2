/* Values of env.set; see template.h. */
#include "policy/template.h"

#include <stdio.h>

#include "base/macros.h"

#define MOST_SHOWN	64u	/* bytes of a name that is none */

bool variable_has_char(char c, bool first)
{
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (!first && c >= '0' && c <= '9');
}

bool variable_is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!variable_has_char(name.s[i], i == 0))
			return false;
	return name.n > 0;
}

static size_t find(struct str text, struct str what)
{
	const char *at = text.s && text.n ? memmem(text.s, text.n, what.s, what.n) : NULL;

	return at ? (size_t)(at - text.s) : text.n;
}

bool template_next(struct str *text, struct template_part *ret)
{
	size_t open = find(*text, STR("${")), close, dash;
	struct str inside;

	*ret = (struct template_part){ .before = str_first(*text, open) };
	*text = str_from_pos(*text, open);
	if (!text->n)
		return true;
	close = str_find(*text, '}');
	if (close == text->n)
		return false;
	inside = (struct str){ text->s + 2, close - 2 };
	*text = str_from_pos(*text, close + 1);
	dash = find(inside, STR(":-"));
	ret->is_variable = true;
	ret->name = str_first(inside, dash);
	ret->has_fallback = dash < inside.n;
	if (ret->has_fallback)
		ret->fallback = str_from_pos(inside, dash + 2);
	return true;
}

/* A default is text as it is, up to the first `}`: in ${A:-${B}} that is `${B`. */
int template_check(struct str text, char why[TEMPLATE_WHY])
{
	struct template_part part;

	while (text.n) {
		const char *fault = NULL;

		if (!template_next(&text, &part)) {
			snprintf(why, TEMPLATE_WHY, "has '${' without '}'");
			return -1;
		}
		if (part.is_variable && !variable_is_name(part.name))
			fault = "which is no variable's name";
		else if (part.has_fallback && find(part.fallback, STR("${")) < part.fallback.n)
			fault = "whose default holds another '${'";
		if (fault) {
			part.name.n = MIN(part.name.n, MOST_SHOWN);
			snprintf(why, TEMPLATE_WHY, "takes '${%.*s}', %s; write ${NAME} or "
				 "${NAME:-plain text}", STR_FMT(part.name), fault);
			return -1;
		}
	}
	return 0;
}

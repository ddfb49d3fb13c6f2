/* Values of env.set; see template.h. */
#include "policy/template.h"

static size_t find(struct str text, struct str what)
{
	const char *at = text.n ? memmem(text.s, text.n, what.s, what.n) : NULL;

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

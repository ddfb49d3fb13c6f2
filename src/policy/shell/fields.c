/* From one word to its fields; see fields.h. */
#include "policy/shell/fields.h"

#include "base/buf.h"
#include "base/limits.h"

#define MAX_GROUPS	16	/* of braces in one word */

/* Where the brace group that opens at `open` ends, and whether it is one:
 * {a,b} is, {a} and {} are not.  {a..b} is any. */
static size_t brace_end(struct str text, size_t open, bool *ret_is_group, bool *ret_is_range)
{
	size_t depth = 0;

	*ret_is_group = *ret_is_range = false;
	for (size_t i = open; i + 1 < text.n; i++) {
		if (depth == 1 && text.s[i] == '.' && text.s[i + 1] == '.')
			*ret_is_range = true;
		if (text.s[i] != '\0')
			continue;
		i++;
		depth += text.s[i] == HOLE_BRACE;
		*ret_is_group |= depth == 1 && text.s[i] == HOLE_COMMA;
		if (text.s[i] == HOLE_UNBRACE && --depth == 0)
			return i + 1;
	}
	*ret_is_group = *ret_is_range = false;
	return open + 2;
}

/* Take the marks of braces away: they stand for themselves. */
void fields_add(struct expander *e, struct fields *f, struct str text)
{
	char *copy = expand_new(e, text.n + FIELD_COST, 1);
	size_t n = 0;

	if (!copy)
		return;
	if (f->n == MAX_WAYS) {
		f->too_many = true;
		return;
	}
	for (size_t i = 0; i < text.n; i++) {
		if (text.s[i] == '\0' && i + 1 < text.n && strchr("{,}", text.s[i + 1]))
			i++;
		else if (text.s[i] == '\0' && i + 1 < text.n)
			copy[n++] = text.s[i++];
		copy[n++] = text.s[i];
	}
	f->items[f->n++] = (struct str){ copy, n };
}

/* The first brace group of a text: [open, end). */
struct group {
	size_t open, end;
	bool is_list, is_range;
};

static bool find_group(struct str text, size_t from, struct group *ret)
{
	for (; from + 1 < text.n; from++) {
		if (text.s[from] != '\0')
			continue;
		if (text.s[from + 1] == HOLE_BRACE) {
			ret->open = from;
			ret->end = brace_end(text, from, &ret->is_list, &ret->is_range);
			if (ret->is_list || ret->is_range)
				return true;
		}
		from++;
	}
	return false;
}

static void spread_braces(struct expander *e, struct fields *f, struct str text, size_t from,
			  unsigned depth);

/* `text` with one item of the list in place of its group. */
static void spread_one(struct expander *e, struct fields *f, struct str text,
		       const struct group *g, struct str inside, unsigned depth)
{
	cleanup_buf struct buf out = BUF(4 * MAX_COMMAND_TEXT);

	if (!expand_work(e, text.n + FIELD_COST))
		return;
	buf_add(&out, text.s, g->open);
	buf_str(&out, g->is_list ? inside : (struct str){ "\0S", 2 });
	buf_add(&out, text.s + g->end, text.n - g->end);
	spread_braces(e, f, (struct str){ buf_text(&out), out.n }, g->open, depth + 1);
}

/* The first group from `from` on is spread out, the rest by recursion. */
static void spread_braces(struct expander *e, struct fields *f, struct str text, size_t from,
			  unsigned depth)
{
	size_t start, level = 0;
	struct group g;

	if (depth > MAX_GROUPS || f->too_many) {
		f->too_many = true;
		return;
	}
	if (!find_group(text, from, &g)) {
		fields_add(e, f, text);
		return;
	}
	start = g.open + 2;
	for (size_t i = g.open; i + 1 < g.end; i++) {
		if (text.s[i] != '\0')
			continue;
		i++;
		level += text.s[i] == HOLE_BRACE;
		level -= text.s[i] == HOLE_UNBRACE;
		if (!(text.s[i] == HOLE_COMMA && level == 1) && i + 1 != g.end)
			continue;
		spread_one(e, f, text, &g, (struct str){ text.s + start, i - 1 - start }, depth);
		start = i + 1;
	}
}

/* One way of a word, as fields. */
void fields_split(struct expander *e, struct str text, struct fields *f)
{
	size_t from = 0;

	for (size_t i = 0; i <= text.n; i++) {
		bool at_break = i + 1 < text.n && text.s[i] == '\0' &&
				text.s[i + 1] == HOLE_BREAK;

		if (i < text.n && !at_break) {
			i += text.s[i] == '\0';
			continue;
		}
		if (i > from)
			spread_braces(e, f, (struct str){ text.s + from, i - from }, 0, 0);
		from = i + 2;
		i++;
	}
	if (f->too_many) {
		f->n = 0;
		f->too_many = false;
		fields_add(e, f, (struct str){ "\0S", 2 });
	}
}

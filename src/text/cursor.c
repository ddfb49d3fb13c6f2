/* What the readers share; see cursor_priv.h. */
#include "text/cursor_priv.h"

#include <stdlib.h>

#include "base/limits.h"

int text_check_size(const struct source *src, struct cordon_err *err)
{
	if (src->text.n > MAX_SOURCE_BYTES)
		return err_at(err, 1, 1, "the text is larger than %u bytes; make it smaller",
			      MAX_SOURCE_BYTES);
	return 0;
}

bool text_has_bom(struct str text)
{
	return str_starts(text, "\xef\xbb\xbf");
}

static bool is_odd_break(uint32_t ch)
{
	return ch == 0x85 || ch == 0x2028 || ch == 0x2029;
}

static int refuse_char(const struct cursor *c, uint32_t ch, struct cordon_err *err)
{
	struct spot at = cursor_spot(c, c->p);

	if (ch == '\r')
		return err_at(err, at.line, at.col,
			      "a carriage return stands alone; end lines with LF or CR LF");
	if (is_odd_break(ch))
		return err_at(err, at.line, at.col, "U+%04X is a line break to some readers and "
			      "none to others; write \\u%04x in double quotes", (unsigned)ch,
			      (unsigned)ch);
	return err_at(err, at.line, at.col,
		      "the control character U+%04X is not allowed; remove it", (unsigned)ch);
}

static bool is_allowed(const struct cursor *c, uint32_t ch, enum text_rule rule)
{
	if (!ch || rule == TEXT_ANY)
		return ch != 0;
	if (is_odd_break(ch))
		return rule != TEXT_LINES;
	if (ch == '\r')
		return c->end - c->p > 1 && c->p[1] == '\n';
	return ch == '\t' || ch == '\n' || (ch >= 0x20 && ch != 0x7f);
}

int text_check_chars(struct str text, enum text_rule rule, struct cordon_err *err)
{
	struct cursor c = cursor_from(text);

	while (c.p < c.end) {
		uint32_t ch = 0;
		size_t n = str_utf8((struct str){ c.p, (size_t)(c.end - c.p) }, &ch);

		if (!n)
			return err_at(err, c.line, cursor_spot(&c, c.p).col,
				      "this byte (0x%02X) is not UTF-8; save the file as UTF-8",
				      (unsigned char)*c.p);
		if (!is_allowed(&c, ch, rule))
			return refuse_char(&c, ch, err);
		if (n == 1)
			cursor_step(&c);
		else
			c.p += n;
	}
	return 0;
}

struct shown text_show(struct str s)
{
	static const char more[] = "...";
	struct shown out;
	size_t used = 0;

	while (s.n) {
		uint32_t ch = '?';
		size_t n = str_utf8(s, &ch);
		bool is_safe = n && ch >= 0x20 && (ch < 0x7f || ch >= 0xa0);

		if (used + 4 + sizeof(more) > sizeof(out.text)) {
			memcpy(out.text + used, more, sizeof(more) - 1);
			used += sizeof(more) - 1;
			break;
		}
		if (is_safe) {
			memcpy(out.text + used, s.s, n);
			used += n;
		} else {
			out.text[used++] = '?';
		}
		s = str_from_pos(s, n ? n : 1);
	}
	out.text[used] = '\0';
	return out;
}

/* The slot of the key of member `i`: free (0), or of an equal key (its number
 * from 1). */
static unsigned *slot_of(unsigned *slots, size_t cap, const struct member *members, size_t i)
{
	uint64_t seed = (uint64_t)(uintptr_t)slots;	/* differs from run to run */
	size_t at = str_hash(members[i].key, seed) & (cap - 1);

	while (slots[at] && !str_eq(members[slots[at] - 1].key, members[i].key))
		at = (at + 1) & (cap - 1);
	return &slots[at];
}

static void free_slots(unsigned **slots)
{
	free(*slots);
}

/* A table has all of its keys when this is called, so numbers of four bytes
 * do for an index: a struct map would take twenty times as much. */
int text_check_keys(const struct member *members, size_t n, struct cordon_err *err)
{
	__attribute__((cleanup(free_slots))) unsigned *slots = NULL;
	size_t cap = 4;

	if (n < 2)
		return 0;
	while (cap < 2 * n)
		cap *= 2;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		unsigned *slot = slot_of(slots, cap, members, i);

		if (*slot)
			return err_at(err, members[i].line, members[i].col,
				      "the key '%s' is written twice; remove one",
				      text_show(members[i].key).text);
		*slot = (unsigned)i + 1;
	}
	return 0;
}

/* What must hold for every text, whichever reader it is given to: either a
 * tree whose places lie in the text, without duplicate keys, all strings
 * UTF-8 without NUL; or a message with a place in the text. */
#ifndef TESTS_FUZZ_TEXT_TREE_H
#define TESTS_FUZZ_TEXT_TREE_H

#include "base/limits.h"
#include "base/map.h"
#include "text/value.h"

typedef int read_fn(const struct source *src, struct arena *a, struct value *ret_root,
		    struct cordon_err *err);
/* Is this the byte where such a key (value == NULL) or value may stand? */
typedef bool stands_fn(struct str rest, const struct str *key, const struct value *value);

struct checked {
	struct str text;
	const char **lines;	/* where each starts */
	size_t n_lines;
	stands_fn *stands;
	struct arena arena;
};

static void must(bool holds, const char *what)
{
	if (!holds)
		BUG(what);
}

static void find_lines(struct checked *c)
{
	size_t cap = 0;

	for (size_t i = 0; i <= c->text.n; i++) {
		if (i && c->text.s[i - 1] != '\n')
			continue;
		c->lines = arena_grow(&c->arena, c->lines, c->n_lines, &cap, sizeof(*c->lines));
		must(c->lines != NULL, "memory for the lines");
		c->lines[c->n_lines++] = c->text.s + i;
	}
}

/* The text from a place on. */
static struct str from_place(const struct checked *c, unsigned line, unsigned col)
{
	const char *end = c->text.s + c->text.n, *p;

	must(line >= 1 && line <= c->n_lines, "a line of the text");
	must(col >= 1, "columns start at 1");
	p = c->lines[line - 1] + (col - 1);
	must(p <= (line < c->n_lines ? c->lines[line] : end), "a column of the line");
	return (struct str){ p, (size_t)(end - p) };
}

static void check_str(struct str s)
{
	must(str_is_utf8(s), "strings are UTF-8");
	must(!s.n || !memchr(s.s, '\0', s.n), "strings have no NUL");
}

static void check_value(struct checked *c, const struct value *v, unsigned depth);

static void check_table(struct checked *c, const struct value *v, unsigned depth)
{
	struct map seen = { 0 };

	for (size_t i = 0; i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];
		bool is_new = false;

		check_str(m->key);
		must(map_add(&seen, &c->arena, m->key, i, &is_new) != NULL, "memory for the keys");
		must(is_new, "no key twice");
		must(c->stands(from_place(c, m->line, m->col), &m->key, NULL), "the key is there");
		check_value(c, &m->value, depth + 1);
	}
}

static void check_value(struct checked *c, const struct value *v, unsigned depth)
{
	struct str rest = from_place(c, v->line, v->col);

	must(v->kind < N_VALUE_KINDS, "a known kind");
	must(c->stands(rest, NULL, v), "the value is there");
	if (v->kind == VALUE_STRING || v->kind == VALUE_TIME)
		check_str(v->string);
	if (v->kind == VALUE_ARRAY || v->kind == VALUE_TABLE)
		must(depth <= MAX_TEXT_DEPTH, "not too deep");
	if (v->kind == VALUE_TABLE)
		check_table(c, v, depth);
	for (size_t i = 0; v->kind == VALUE_ARRAY && i < v->array.n; i++)
		check_value(c, &v->array.items[i], depth + 1);
}

static void check_text(read_fn *reader, struct str text, stands_fn *stands)
{
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	struct checked c = { .text = text, .stands = stands, .arena = ARENA(MAX_ARENA_BYTES) };
	struct source src = { "fuzz", text };
	struct cordon_err err = { 0 };
	struct value root, before;

	memset(&root, 0x5a, sizeof(root));
	before = root;
	find_lines(&c);
	if (reader(&src, &arena, &root, &err) == 0) {
		check_value(&c, &root, 1);
	} else {
		must(memcmp(&root, &before, sizeof(root)) == 0, "untouched on failure");
		must(err.code == CORDON_E_POLICY, "it is the text's fault");
		must(strstr(err.msg, "; ") != NULL, "the message says what to do");
		must(str_is_utf8(str_from(err.msg)), "the message is UTF-8");
		from_place(&c, err.line, err.col);
	}
	arena_release(&c.arena);
}

#endif

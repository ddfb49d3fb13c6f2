/* The TOML 1.0 reader: lines, keys, headers, arrays and inline tables.
 *
 * Written by hand, as no library of the field gives the line and column of
 * every key, refuses what the specification refuses, and is bounded in
 * memory.  Runs in the caller's process on text that is not trusted: one
 * pass, no backtracking, recursion bounded by MAX_TEXT_DEPTH.
 */
#include "text/toml_priv.h"

#include "base/limits.h"

static int read_value(struct toml *t, unsigned depth, struct value *ret);

static struct spot here(const struct toml *t)
{
	return cursor_spot(&t->at, t->at.p);
}

static void skip_blanks(struct toml *t)
{
	while (t->at.p < t->at.end && (*t->at.p == ' ' || *t->at.p == '\t'))
		t->at.p++;
}

/* The text has no CR without LF: that was checked first. */
static bool at_line_break(const struct toml *t)
{
	return cursor_peek(&t->at) == '\n' || cursor_peek(&t->at) == '\r';
}

static void skip_comment(struct toml *t)
{
	const char *lf;

	if (cursor_peek(&t->at) != '#')
		return;
	lf = memchr(t->at.p, '\n', (size_t)(t->at.end - t->at.p));
	t->at.p = lf ? lf : t->at.end;
}

/* Blanks, comments and line breaks. */
static void skip_lines(struct toml *t)
{
	for (;;) {
		skip_blanks(t);
		skip_comment(t);
		if (!at_line_break(t))
			return;
		cursor_step(&t->at);
	}
}

static int end_line(struct toml *t, const char *after)
{
	skip_blanks(t);
	skip_comment(t);
	if (t->at.p == t->at.end || at_line_break(t))
		return 0;
	return toml_fail(t, here(t), "there is more text after %s; start a new line for it", after);
}

static bool is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static int read_bare_key(struct toml *t, struct str *ret)
{
	const char *start = t->at.p;

	while (is_bare(cursor_peek(&t->at)))
		t->at.p++;
	*ret = (struct str){ start, (size_t)(t->at.p - start) };
	if (ret->n)
		return 0;
	if (t->at.p == t->at.end || strchr("=.]}\r\n#,", *start))
		return toml_fail(t, here(t), "a key is missing; write one");
	return toml_fail(t, here(t), "a key has letters, digits, - and _ only; "
			 "put any other key in quotes");
}

/* One part of a key, and the blanks around it. */
static int read_part(struct toml *t, struct toml_key *key)
{
	int c;

	skip_blanks(t);
	key->spot = here(t);
	c = cursor_peek(&t->at);
	if ((c == '"' || c == '\'' ? toml_quoted_key(t, &key->name) :
				     read_bare_key(t, &key->name)) < 0)
		return -1;
	skip_blanks(t);
	return 0;
}

typedef struct toml_node *walk_fn(struct toml *t, struct toml_node *from,
				  const struct toml_key *key);

/* A whole key: the parts before the last are walked, the last is left in `key`. */
static int read_key(struct toml *t, walk_fn *walk, struct toml_node **node, struct toml_key *key)
{
	for (;;) {
		if (read_part(t, key) < 0)
			return -1;
		if (cursor_peek(&t->at) != '.')
			return 0;
		t->at.p++;
		*node = walk(t, *node, key);
		if (!*node)
			return -1;
	}
}

static int read_pair(struct toml *t, struct toml_node *table)
{
	struct toml_key key;
	struct toml_node *node;

	if (read_key(t, toml_node_dotted, &table, &key) < 0)
		return -1;
	if (cursor_peek(&t->at) != '=')
		return toml_fail(t, here(t), "a key needs a value; write = and the value after it");
	t->at.p++;
	skip_blanks(t);
	node = toml_node_value(t, table, &key);
	return node ? read_value(t, node->depth, &node->value) : -1;
}

static int read_array(struct toml *t, unsigned depth, struct value *ret)
{
	struct spot start = here(t);
	size_t base = t->items.n;
	void *items;

	if (toml_count_container(t, depth, start) < 0)
		return -1;
	t->at.p++;
	for (;;) {
		struct value item;

		skip_lines(t);
		if (cursor_peek(&t->at) == ']')
			break;
		if (t->at.p == t->at.end)
			return toml_fail(t, start, "an array is not closed; add ] at its end");
		if (toml_count(t, here(t)) < 0 || read_value(t, depth + 1, &item) < 0 ||
		    pile_push(&t->items, &item, t->err) < 0)
			return -1;
		skip_lines(t);
		if (cursor_peek(&t->at) == ',')
			t->at.p++;
		else if (t->at.p == t->at.end)
			return toml_fail(t, start, "an array is not closed; add ] at its end");
		else if (*t->at.p != ']')
			return toml_fail(t, here(t), "the items of an array are not separated; "
					 "add , between them or ] after the last");
	}
	t->at.p++;
	ret->kind = VALUE_ARRAY;
	ret->array.n = t->items.n - base;
	if (pile_take(&t->items, base, t->arena, &items, t->err) < 0)
		return -1;
	ret->array.items = items;
	return 0;
}

static int refuse_in_inline(struct toml *t, struct spot start)
{
	if (t->at.p == t->at.end)
		return toml_fail(t, start, "an inline table is not closed; add } at its end");
	if (at_line_break(t) || *t->at.p == '#')
		return toml_fail(t, here(t), "an inline table must stay on one line; "
				 "join the lines or use a [table]");
	if (*t->at.p == '}')
		return toml_fail(t, here(t), "a comma stands before }; remove it");
	return toml_fail(t, here(t), "the keys of an inline table are not separated; "
			 "add , between them or } after the last");
}

static int read_inline(struct toml *t, unsigned depth, struct value *ret)
{
	struct spot start = here(t);
	struct toml_node *table;

	if (toml_count_container(t, depth, start) < 0)
		return -1;
	table = toml_node_new(t, start, depth);
	if (!table)
		return -1;
	t->at.p++;
	skip_blanks(t);
	while (cursor_peek(&t->at) != '}' || table->first) {
		if (t->at.p == t->at.end || at_line_break(t) || strchr("#}", *t->at.p))
			return refuse_in_inline(t, start);
		if (read_pair(t, table) < 0)
			return -1;
		skip_blanks(t);
		if (cursor_peek(&t->at) == '}')
			break;
		if (cursor_peek(&t->at) != ',')
			return refuse_in_inline(t, start);
		t->at.p++;
		skip_blanks(t);
	}
	t->at.p++;
	return toml_node_close(t, table, ret);
}

static int read_value(struct toml *t, unsigned depth, struct value *ret)
{
	struct spot start = here(t);

	*ret = (struct value){ .line = start.line, .col = start.col };
	switch (cursor_peek(&t->at)) {
	case '"':
	case '\'':
		ret->kind = VALUE_STRING;
		return toml_string(t, &ret->string);
	case '[':
		return read_array(t, depth, ret);
	case '{':
		return read_inline(t, depth, ret);
	default:
		return toml_scalar(t, ret);
	}
}

/* [table] or [[element]] */
static int read_header(struct toml *t, struct toml_node *root, struct toml_node **ret_table)
{
	struct toml_key key;
	struct spot start = here(t);
	struct toml_node *node = root;
	bool is_element;

	t->at.p++;
	is_element = cursor_peek(&t->at) == '[';
	t->at.p += is_element;
	if (read_key(t, toml_node_through, &node, &key) < 0)
		return -1;
	for (int closing = is_element ? 2 : 1; closing; closing--) {
		if (cursor_peek(&t->at) != ']')
			return toml_fail(t, start, "a header is not closed; add %s at its end",
					 is_element ? "]]" : "]");
		t->at.p++;
	}
	node = is_element ? toml_node_append(t, node, &key) : toml_node_define(t, node, &key);
	if (!node)
		return -1;
	*ret_table = node;
	return end_line(t, "a header");
}

static int read_document(struct toml *t, struct toml_node *root)
{
	struct toml_node *table = root;

	for (;;) {
		int c;

		skip_lines(t);
		c = cursor_peek(&t->at);
		if (c < 0)
			return 0;
		if (c == '[') {
			if (read_header(t, root, &table) < 0)
				return -1;
		} else if (read_pair(t, table) < 0 || end_line(t, "a value") < 0) {
			return -1;
		}
	}
}

static void toml_release(struct toml *t)
{
	arena_release(&t->scratch);
	free(t->index.slots);
	pile_release(&t->items);
	if (t->c_locale)
		freelocale(t->c_locale);
}

int toml_parse(const struct source *src, struct arena *a, struct value *ret_root,
	       struct cordon_err *err)
{
	__attribute__((cleanup(toml_release))) struct toml t = {
		.at = cursor_from(src->text), .arena = a,
		.scratch = ARENA(MAX_ARENA_BYTES), .items = PILE(struct value, MAX_TEXT_NODES),
		.n_nodes = 1, .n_containers = 1,	/* the root */
		.err = err,
	};
	struct toml_node *root;
	struct value v;

	if (text_check_size(src, err) < 0)
		return -1;
	if (text_has_bom(src->text))
		return err_at(err, 1, 1, "the text starts with a byte order mark; save it without");
	if (text_check_chars(src->text, TEXT_PLAIN, err) < 0)
		return -1;
	t.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!t.c_locale)
		return err_nomem(err);
	root = toml_node_new(&t, (struct spot){ 1, 1 }, 1);
	if (!root || read_document(&t, root) < 0 || toml_node_close(&t, root, &v) < 0)
		return -1;
	*ret_root = v;
	return 0;
}

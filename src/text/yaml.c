/* The YAML front matter of a Markdown text, on libyaml's events.
 *
 * Of YAML only trees of scalars are read: no anchors, aliases, tags, further
 * documents or keys that are no scalars, and no key twice.  libyaml's own
 * loader would take all of these, and it knows no bounds; the events come
 * one by one, so that what is too deep or too much is refused before libyaml
 * has read on.  Runs in the caller's process on text that is not trusted.
 */
#include <yaml.h>

#include "base/limits.h"
#include "text/cursor_priv.h"
#include "text/pile_priv.h"
#include "text/yaml_priv.h"

struct yaml_reader {
	yaml_parser_t parser;
	struct str text;	/* what libyaml was given */
	struct cursor at;	/* libyaml's latest mark... */
	size_t index;		/* ...in characters */
	struct arena *arena;
	struct pile items, members;	/* of the containers that are still open */
	size_t n_nodes, n_containers;
	locale_t c_locale;
	struct cordon_err *err;
};

#define cleanup_event __attribute__((cleanup(yaml_event_delete)))

static bool is_inside_char(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static void step_char(struct yaml_reader *r)
{
	cursor_step(&r->at);
	while (r->at.p < r->at.end && is_inside_char(*r->at.p))
		r->at.p++;
	r->index++;
}

static void step_back(struct yaml_reader *r)
{
	const char *lf;

	do
		r->at.p--;
	while (is_inside_char(*r->at.p));
	r->index--;
	if (*r->at.p != '\n')
		return;
	lf = memrchr(r->text.s, '\n', (size_t)(r->at.p - r->text.s));
	r->at.line--;
	r->at.line_start = lf ? lf + 1 : r->text.s;
}

/* libyaml counts in characters.  Marks hardly ever go back, so a walk from the
 * last one is short. */
static struct spot spot_of(struct yaml_reader *r, yaml_mark_t mark)
{
	while (r->index < mark.index && r->at.p < r->at.end)
		step_char(r);
	while (r->index > mark.index && r->at.p > r->text.s)
		step_back(r);
	return cursor_spot(&r->at, r->at.p);
}

static int refuse(struct yaml_reader *r, const yaml_event_t *event, const char *why)
{
	struct spot at = spot_of(r, event->start_mark);

	return err_at(r->err, at.line, at.col, "%s", why);
}

static int refuse_syntax(struct yaml_reader *r)
{
	yaml_mark_t mark = r->parser.problem_mark;
	struct spot at;

	if (r->parser.error == YAML_MEMORY_ERROR)
		return err_nomem(r->err);
	if (r->parser.error == YAML_READER_ERROR) {
		/* The reader is ahead of the marks, and counts bytes. */
		struct cursor c = cursor_from(r->text);

		while (c.p < c.end && (size_t)(c.p - r->text.s) < r->parser.problem_offset)
			cursor_step(&c);
		at = cursor_spot(&c, c.p);
	} else {
		at = spot_of(r, mark);
	}
	return err_at(r->err, at.line, at.col,
		      "this is not YAML: %s%s%s; check the indentation and the quotes",
		      r->parser.problem ? r->parser.problem : "unknown problem",
		      r->parser.context ? " " : "", r->parser.context ? r->parser.context : "");
}

static int next_event(struct yaml_reader *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? 0 : refuse_syntax(r);
}

static int count_node(struct yaml_reader *r, const yaml_event_t *event)
{
	struct spot at;

	if (++r->n_nodes <= MAX_TEXT_NODES)
		return 0;
	at = spot_of(r, event->start_mark);
	return err_at(r->err, at.line, at.col, "the text has more than %u keys and values; "
		      "make it smaller", MAX_TEXT_NODES);
}

static int check_plain_node(struct yaml_reader *r, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	default:
		return refuse(r, event, "an alias (*name) is not allowed; write the value out");
	}
	if (anchor)
		return refuse(r, event, "an anchor (&name) is not allowed; remove it");
	if (tag)
		return refuse(r, event, "a tag (!name) is not allowed; remove it, and quote "
			      "what is a string");
	return count_node(r, event);
}

static int check_container(struct yaml_reader *r, const yaml_event_t *event, unsigned depth)
{
	struct spot at;

	if (depth <= MAX_TEXT_DEPTH && ++r->n_containers <= MAX_TEXT_CONTAINERS)
		return 0;
	at = spot_of(r, event->start_mark);
	if (depth > MAX_TEXT_DEPTH)
		return err_at(r->err, at.line, at.col, "mappings and sequences are nested deeper "
			      "than %d; flatten them", MAX_TEXT_DEPTH);
	return err_at(r->err, at.line, at.col, "the text has more than %u mappings and sequences; "
		      "make it smaller", MAX_TEXT_CONTAINERS);
}

/* The text of a scalar; it is the event's. */
static int get_text(struct yaml_reader *r, const yaml_event_t *event, struct str *ret)
{
	*ret = (struct str){ (const char *)event->data.scalar.value, event->data.scalar.length };
	if (memchr(ret->s, '\0', ret->n))
		return refuse(r, event, "the character U+0000 is not allowed in a string; "
			      "leave it out");
	return 0;
}

static int copy_text(struct yaml_reader *r, struct str *text)
{
	text->s = arena_strndup(r->arena, text->s, text->n);
	return text->s ? 0 : err_nomem(r->err);
}

static int read_scalar(struct yaml_reader *r, const yaml_event_t *event, struct value *ret)
{
	struct str text;

	if (get_text(r, event, &text) < 0)
		return -1;
	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
		ret->kind = VALUE_STRING;
		ret->string = text;
	} else if (yaml_resolve(text, r->c_locale, ret, r->err) < 0) {
		return -1;
	}
	return ret->kind == VALUE_STRING ? copy_text(r, &ret->string) : 0;
}

static int read_node(struct yaml_reader *r, const yaml_event_t *event, unsigned depth,
		     struct value *ret);

static int read_key(struct yaml_reader *r, const yaml_event_t *event, struct member *ret)
{
	struct spot at = spot_of(r, event->start_mark);

	if (check_plain_node(r, event) < 0)
		return -1;
	if (event->type != YAML_SCALAR_EVENT)
		return refuse(r, event, "a key must be a word or a string; write it as one");
	if (!event->data.scalar.length &&
	    event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return refuse(r, event, "a key is missing; write one before the colon");
	ret->line = at.line;
	ret->col = at.col;
	return get_text(r, event, &ret->key) < 0 ? -1 : copy_text(r, &ret->key);
}

static int read_mapping(struct yaml_reader *r, unsigned depth, struct value *ret)
{
	size_t base = r->members.n;
	void *members;

	for (;;) {
		cleanup_event yaml_event_t key = { 0 };
		cleanup_event yaml_event_t value = { 0 };
		struct member member;

		if (next_event(r, &key) < 0)
			return -1;
		if (key.type == YAML_MAPPING_END_EVENT)
			break;
		if (read_key(r, &key, &member) < 0 || next_event(r, &value) < 0 ||
		    read_node(r, &value, depth + 1, &member.value) < 0 ||
		    pile_push(&r->members, &member, r->err) < 0)
			return -1;
	}
	ret->kind = VALUE_TABLE;
	ret->table.n = r->members.n - base;
	if (pile_take(&r->members, base, r->arena, &members, r->err) < 0)
		return -1;
	ret->table.members = members;
	return text_check_keys(ret->table.members, ret->table.n, r->err);
}

static int read_sequence(struct yaml_reader *r, unsigned depth, struct value *ret)
{
	size_t base = r->items.n;
	void *items;

	for (;;) {
		cleanup_event yaml_event_t event = { 0 };
		struct value item;

		if (next_event(r, &event) < 0)
			return -1;
		if (event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (read_node(r, &event, depth + 1, &item) < 0 ||
		    pile_push(&r->items, &item, r->err) < 0)
			return -1;
	}
	ret->kind = VALUE_ARRAY;
	ret->array.n = r->items.n - base;
	if (pile_take(&r->items, base, r->arena, &items, r->err) < 0)
		return -1;
	ret->array.items = items;
	return 0;
}

static int read_node(struct yaml_reader *r, const yaml_event_t *event, unsigned depth,
		     struct value *ret)
{
	struct spot at = spot_of(r, event->start_mark);

	*ret = (struct value){ .line = at.line, .col = at.col };
	if (check_plain_node(r, event) < 0)
		return -1;
	if (event->type == YAML_SCALAR_EVENT)
		return read_scalar(r, event, ret);
	if (check_container(r, event, depth) < 0)
		return -1;
	return event->type == YAML_MAPPING_START_EVENT ? read_mapping(r, depth, ret) :
							 read_sequence(r, depth, ret);
}

/* The one value of the text: a mapping, or nothing. */
static int read_root(struct yaml_reader *r, const yaml_event_t *event, struct value *ret)
{
	if (read_node(r, event, 1, ret) < 0)
		return -1;
	if (ret->kind == VALUE_NULL && !event->data.scalar.length) {
		ret->kind = VALUE_TABLE;
		ret->table.members = NULL;
		ret->table.n = 0;
	}
	if (ret->kind != VALUE_TABLE)
		return refuse(r, event, "the front matter is no mapping; write key: value");
	return 0;
}

/* Stream start, document start, the root, document end, stream end. */
static int read_stream(struct yaml_reader *r, struct value *ret)
{
	static const yaml_event_type_t expected[] = {
		YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT, YAML_NO_EVENT,
		YAML_DOCUMENT_END_EVENT, YAML_STREAM_END_EVENT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		cleanup_event yaml_event_t event = { 0 };

		if (next_event(r, &event) < 0)
			return -1;
		if (expected[i] == YAML_NO_EVENT) {
			if (read_root(r, &event, ret) < 0)
				return -1;
		} else if (event.type != expected[i]) {
			return refuse(r, &event, "a second document starts here; "
				      "the front matter must be one");
		}
	}
	return 0;
}

/* Take a line off the front, without its line break. */
static struct str take_line(struct str *rest)
{
	size_t n = str_find(*rest, '\n');
	struct str line = str_first(*rest, n);

	*rest = str_from_pos(*rest, n < rest->n ? n + 1 : n);
	return line;
}

static bool is_fence(struct str line, const char *fence)
{
	while (line.n && strchr(" \t\r", line.s[line.n - 1]))
		line.n--;
	return str_is(line, fence);
}

/* The part of the text that is YAML, from its first line `---` on, as libyaml
 * shall count that line, too.  Empty if there is none.
 *
 * Directives are refused here: libyaml reads on to the last of them before it
 * gives an event, and compares each with all others. */
static int find_front_matter(struct str text, struct str *ret, struct cordon_err *err)
{
	struct str rest = text;
	unsigned number = 1;

	*ret = str_first(text, 0);
	if (!is_fence(take_line(&rest), "---"))
		return 0;
	while (rest.n) {
		const char *start = rest.s;
		struct str line = take_line(&rest);

		number++;
		if (str_starts(line, "%"))
			return err_at(err, number, 1, "a line starts with %%; directives are not "
				      "allowed, remove it");
		if (is_fence(line, "---") || is_fence(line, "...")) {
			ret->n = (size_t)(start - text.s);
			return 0;
		}
	}
	return err_at(err, 1, 1, "the front matter is not closed; add a line --- after it");
}

static void yaml_reader_release(struct yaml_reader *r)
{
	yaml_parser_delete(&r->parser);
	pile_release(&r->items);
	pile_release(&r->members);
	if (r->c_locale)
		freelocale(r->c_locale);
}

static int read_yaml(struct str text, struct arena *a, struct value *ret, struct cordon_err *err)
{
	__attribute__((cleanup(yaml_reader_release))) struct yaml_reader r = {
		.text = text, .at = cursor_from(text), .arena = a,
		.items = PILE(struct value, MAX_TEXT_NODES),
		.members = PILE(struct member, MAX_TEXT_NODES), .err = err,
	};

	r.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!r.c_locale || !yaml_parser_initialize(&r.parser))
		return err_nomem(err);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.s, text.n);
	return read_stream(&r, ret);
}

int yaml_parse_front_matter(const struct source *src, struct arena *a, struct value *ret_root,
			    struct cordon_err *err)
{
	struct value v = { .kind = VALUE_NULL, .line = 1, .col = 1 };
	struct str text = src->text, yaml;

	if (text_check_size(src, err) < 0)
		return -1;
	if (text_has_bom(text))
		text = str_from_pos(text, 3);
	if (find_front_matter(text, &yaml, err) < 0)
		return -1;
	if (yaml.n && (text_check_chars(yaml, TEXT_LINES, err) < 0 ||
		       read_yaml(yaml, a, &v, err) < 0))
		return -1;
	*ret_root = v;
	return 0;
}

/* The JSON reader: jansson says whether the text is JSON and what its values
 * are; a scan in step with jansson's tree adds lines and columns.
 *
 * jansson recurses as deep as the text and takes some 250 bytes for each
 * container, so a scan of the tokens comes first and refuses what would cost
 * too much.  Runs in the caller's process on text that is not trusted.
 */
#include <jansson.h>

#include "base/limits.h"
#include "text/cursor_priv.h"
#include "text/value.h"

enum token_kind {
	TOKEN_END,
	TOKEN_STRING,		/* with its quotes */
	TOKEN_OPEN,		/* { or [ */
	TOKEN_CLOSE,		/* } or ] */
	TOKEN_BETWEEN,		/* , or : */
	TOKEN_WORD,		/* numbers, names, and whatever is no JSON at all */
	N_TOKEN_KINDS
};

struct token {
	enum token_kind kind;
	struct str text;
	struct spot spot;
	bool is_whole;		/* a string has its closing quote */
};

struct json_reader {
	struct cursor at;
	struct arena *arena;
	struct cordon_err *err;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static enum token_kind kind_of(char c)
{
	switch (c) {
	case '"':
		return TOKEN_STRING;
	case '{':
	case '[':
		return TOKEN_OPEN;
	case '}':
	case ']':
		return TOKEN_CLOSE;
	case ',':
	case ':':
		return TOKEN_BETWEEN;
	default:
		return TOKEN_WORD;
	}
}

/* Past the closing quote; or to the control character or end that stops it. */
static bool skip_string(struct cursor *c)
{
	for (c->p++; c->p < c->end && (unsigned char)*c->p >= 0x20; c->p++) {
		if (*c->p == '"') {
			c->p++;
			return true;
		}
		if (*c->p == '\\' && c->end - c->p > 1 && (unsigned char)c->p[1] >= 0x20)
			c->p++;
	}
	return false;
}

static void skip_word(struct cursor *c)
{
	while (c->p < c->end && !is_space(*c->p) && kind_of(*c->p) == TOKEN_WORD)
		c->p++;
}

static struct token next_token(struct cursor *c)
{
	struct token token = { .is_whole = true };
	const char *start;

	while (c->p < c->end && is_space(*c->p))
		cursor_step(c);
	start = c->p;
	token.spot = cursor_spot(c, start);
	if (start == c->end)
		return token;
	token.kind = kind_of(*start);
	if (token.kind == TOKEN_STRING)
		token.is_whole = skip_string(c);
	else if (token.kind == TOKEN_WORD)
		skip_word(c);
	else
		c->p++;
	token.text = (struct str){ start, (size_t)(c->p - start) };
	return token;
}

static int refuse(const struct token *token, struct cordon_err *err, const char *why)
{
	return err_at(err, token->spot.line, token->spot.col, "%s", why);
}

/* What one token adds to the size of the tree, and whether that is allowed. */
static int check_token(const struct token *token, size_t *n_nodes, size_t *n_containers,
		       struct cordon_err *err)
{
	if (token->kind == TOKEN_STRING && !token->is_whole)
		return refuse(token, err, "a string is not closed; add \" at its end");
	if (token->kind == TOKEN_OPEN && ++*n_containers > MAX_TEXT_CONTAINERS)
		return err_at(err, token->spot.line, token->spot.col,
			      "the text has more than %u objects and arrays; make it smaller",
			      MAX_TEXT_CONTAINERS);
	if (token->kind != TOKEN_CLOSE && token->kind != TOKEN_BETWEEN &&
	    ++*n_nodes > MAX_TEXT_NODES)
		return err_at(err, token->spot.line, token->spot.col,
			      "the text has more than %u keys and values; make it smaller",
			      MAX_TEXT_NODES);
	return 0;
}

/* Is the text cheap enough for jansson?  Also finds what was never closed,
 * where jansson only sees the end of the text. */
static int check_cost(struct str text, struct cordon_err *err)
{
	struct cursor c = cursor_from(text);
	struct token open[MAX_TEXT_DEPTH], token;
	size_t n_nodes = 0, n_containers = 0, depth = 0;

	for (;;) {
		token = next_token(&c);
		if (token.kind == TOKEN_END)
			break;
		if (check_token(&token, &n_nodes, &n_containers, err) < 0)
			return -1;
		if (token.kind == TOKEN_CLOSE && depth)
			depth--;
		if (token.kind != TOKEN_OPEN)
			continue;
		if (depth == MAX_TEXT_DEPTH)
			return err_at(err, token.spot.line, token.spot.col,
				      "objects and arrays are nested deeper than %d; flatten them",
				      MAX_TEXT_DEPTH);
		open[depth++] = token;
	}
	if (!n_nodes)
		return refuse(&token, err, "the text is empty; write an object, {}");
	if (depth)
		return refuse(&open[depth - 1], err, open[depth - 1].text.s[0] == '{' ?
			      "an object is not closed; add } at its end" :
			      "an array is not closed; add ] at its end");
	return 0;
}

/* The token that ends at this offset or reaches over it. */
static struct token token_at(struct str text, size_t offset)
{
	struct cursor c = cursor_from(text);
	struct token token;

	do
		token = next_token(&c);
	while (token.kind != TOKEN_END && (size_t)(c.p - text.s) < offset);
	return token;
}

/* What jansson expected, without the piece of text that it adds. */
static struct str expectation(const json_error_t *e)
{
	const char *near = strstr(e->text, " near ");

	return near ? (struct str){ e->text, (size_t)(near - e->text) } : str_from(e->text);
}

static int refuse_syntax(const struct token *token, const json_error_t *e,
			 struct cordon_err *err)
{
	struct str want = expectation(e);

	if (token->text.n && token->text.s[0] == '/')
		return refuse(token, err, "JSON has no comments; remove it");
	if (str_is(want, "invalid token") || str_is(want, "unexpected token"))
		want = STR("write a string in double quotes, a number, true, false or null");
	return err_at(err, token->spot.line, token->spot.col, "%s cannot stand here; %.*s",
		      token->kind == TOKEN_END ? "the end" : text_show(token->text).text,
		      STR_FMT(want));
}

static struct str unquoted(const struct token *string)
{
	return (struct str){ string->text.s + 1, string->text.n - 2 };
}

static int refuse_json(struct str text, const json_error_t *e, struct cordon_err *err)
{
	size_t offset = e->position > 0 ? (size_t)e->position : 0;
	struct token token = token_at(text, offset);

	switch (json_error_code(e)) {
	case json_error_out_of_memory:
		return err_nomem(err);
	case json_error_duplicate_key:
		return err_at(err, token.spot.line, token.spot.col,
			      "the key '%s' is written twice; remove one",
			      text_show(unquoted(&token)).text);
	case json_error_numeric_overflow:
		return refuse(&token, err, "the number is too large; write one that fits "
			      "in 64 bits");
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return refuse(&token, err, "the character U+0000 is not allowed in a string; "
			      "leave it out");
	case json_error_end_of_input_expected:
		return refuse(&token, err, "there is more text after the value; remove it");
	default:
		return refuse_syntax(&token, e, err);
	}
}

/* jansson's copy is needed only where the text spells something else. */
static int fill_str(struct json_reader *r, const struct token *token, const char *decoded,
		    struct str *ret)
{
	struct str raw = unquoted(token);
	const char *copy;

	if (str_find(raw, '\\') == raw.n) {
		if (!str_is(raw, decoded))
			BUG("the scan is not in step with jansson");
		*ret = raw;
		return 0;
	}
	copy = arena_strndup(r->arena, decoded, strlen(decoded));
	if (!copy)
		return err_nomem(r->err);
	*ret = str_from(copy);
	return 0;
}

static int fill_value(struct json_reader *r, json_t *json, struct value *ret);

static int fill_array(struct json_reader *r, json_t *json, struct value *ret)
{
	size_t n = json_array_size(json);
	struct value *items = NULL;

	if (n) {
		items = arena_new(r->arena, n, sizeof(*items));
		if (!items)
			return err_nomem(r->err);
	} else {
		next_token(&r->at);
	}
	for (size_t i = 0; i < n; i++) {
		if (fill_value(r, json_array_get(json, i), &items[i]) < 0)
			return -1;
		next_token(&r->at);		/* , or ] */
	}
	ret->kind = VALUE_ARRAY;
	ret->array.items = items;
	ret->array.n = n;
	return 0;
}

static int fill_member(struct json_reader *r, void *iter, struct member *ret)
{
	struct token key = next_token(&r->at);

	if (key.kind != TOKEN_STRING)
		BUG("the scan is not in step with jansson");
	ret->line = key.spot.line;
	ret->col = key.spot.col;
	if (fill_str(r, &key, json_object_iter_key(iter), &ret->key) < 0)
		return -1;
	next_token(&r->at);			/* : */
	if (fill_value(r, json_object_iter_value(iter), &ret->value) < 0)
		return -1;
	next_token(&r->at);			/* , or } */
	return 0;
}

/* jansson's objects keep the order of the text. */
static int fill_object(struct json_reader *r, json_t *json, struct value *ret)
{
	size_t n = json_object_size(json), i = 0;
	struct member *members = NULL;

	if (n) {
		members = arena_new(r->arena, n, sizeof(*members));
		if (!members)
			return err_nomem(r->err);
	} else {
		next_token(&r->at);
	}
	for (void *iter = json_object_iter(json); iter; iter = json_object_iter_next(json, iter))
		if (fill_member(r, iter, &members[i++]) < 0)
			return -1;
	ret->kind = VALUE_TABLE;
	ret->table.members = members;
	ret->table.n = n;
	return 0;
}

static int fill_value(struct json_reader *r, json_t *json, struct value *ret)
{
	struct token token = next_token(&r->at);

	*ret = (struct value){ .line = token.spot.line, .col = token.spot.col };
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return fill_object(r, json, ret);
	case JSON_ARRAY:
		return fill_array(r, json, ret);
	case JSON_STRING:
		ret->kind = VALUE_STRING;
		return fill_str(r, &token, json_string_value(json), &ret->string);
	case JSON_INTEGER:
		ret->kind = VALUE_INT;
		ret->integer = json_integer_value(json);
		return 0;
	case JSON_REAL:
		ret->kind = VALUE_FLOAT;
		ret->real = json_real_value(json);
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		ret->kind = VALUE_BOOL;
		ret->boolean = json_is_true(json);
		return 0;
	case JSON_NULL:
		ret->kind = VALUE_NULL;
		return 0;
	}
	BUG("jansson has a new type");
}

static void json_release(json_t **json)
{
	json_decref(*json);
}

int json_parse(const struct source *src, struct arena *a, struct value *ret_root,
	       struct cordon_err *err)
{
	struct json_reader r = { cursor_from(src->text), a, err };
	__attribute__((cleanup(json_release))) json_t *json = NULL;
	json_error_t why;
	struct value v;

	if (text_check_size(src, err) < 0)
		return -1;
	if (text_has_bom(src->text))
		return err_at(err, 1, 1, "the text starts with a byte order mark; save it without");
	if (text_check_chars(src->text, TEXT_ANY, err) < 0 || check_cost(src->text, err) < 0)
		return -1;
	json = json_loadb(src->text.s, src->text.n, JSON_REJECT_DUPLICATES, &why);
	if (!json)
		return refuse_json(src->text, &why, err);
	if (fill_value(&r, json, &v) < 0)
		return -1;
	*ret_root = v;
	return 0;
}

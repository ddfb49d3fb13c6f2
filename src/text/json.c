/* The JSON reader: RFC 8259, with no leniency.
 *
 * One pass over the tokens; it recurses as deep as MAX_TEXT_DEPTH.  Runs in the caller's
 * process on text that is not trusted.
 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "text/cursor_priv.h"
#include "text/pile_priv.h"
#include "text/value.h"

enum token_kind {
	TOKEN_END,
	TOKEN_STRING,		/* with its quotes */
	TOKEN_OPEN,		/* { or [ */
	TOKEN_CLOSE,		/* } or ] */
	TOKEN_BETWEEN,		/* , or : */
	TOKEN_WORD,		/* numbers, names, and everything that is not JSON at all */
	N_TOKEN_KINDS
};

struct token {
	enum token_kind kind;
	struct str text;
	struct spot spot;
};

struct json_reader {
	struct cursor at;
	struct token token;			/* the one before `at` */
	struct token open[MAX_TEXT_DEPTH];	/* the brackets around it */
	size_t depth, n_nodes, n_containers;
	struct pile items, members;
	locale_t c_locale;
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

static int refuse(struct json_reader *r, const struct token *token, const char *why)
{
	return err_at(r->err, token->spot.line, token->spot.col, "%s", why);
}

/* The token cannot stand where it does; `want` says what can. */
static int refuse_token(struct json_reader *r, const char *want)
{
	const struct token *open = r->depth ? &r->open[r->depth - 1] : NULL;

	if (r->token.kind == TOKEN_END && open)
		return refuse(r, open, open->text.s[0] == '{' ?
			      "an object is not closed; add } at its end" :
			      "an array is not closed; add ] at its end");
	if (r->token.kind == TOKEN_END)
		return refuse(r, &r->token, "the text is empty; write an object, {}");
	if (r->token.text.s[0] == '/')
		return refuse(r, &r->token, "JSON has no comments; remove it");
	return err_at(r->err, r->token.spot.line, r->token.spot.col, "%s cannot stand here; %s",
		      text_show(r->token.text).text, want);
}

static int refuse_value(struct json_reader *r)
{
	return refuse_token(r, "write a string in double quotes, a number, true, false or null");
}

/* Past the closing quote; false: a control character or the end comes first. */
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

/* Go on to the next token. */
static int advance(struct json_reader *r)
{
	struct cursor *c = &r->at;
	const char *start;
	bool is_whole = true;

	while (c->p < c->end && is_space(*c->p))
		cursor_step(c);
	start = c->p;
	r->token = (struct token){ .kind = TOKEN_END, .spot = cursor_spot(c, start) };
	if (start == c->end)
		return 0;
	r->token.kind = kind_of(*start);
	if (r->token.kind == TOKEN_STRING)
		is_whole = skip_string(c);
	else
		c->p++;
	while (r->token.kind == TOKEN_WORD && c->p < c->end && !is_space(*c->p) &&
	       kind_of(*c->p) == TOKEN_WORD)
		c->p++;
	r->token.text = (struct str){ start, (size_t)(c->p - start) };
	return is_whole ? 0 : refuse(r, &r->token, "a string is not closed; add \" at its end");
}

static bool is_mark(const struct json_reader *r, char mark)
{
	return r->token.kind != TOKEN_END && r->token.text.s[0] == mark;
}

static int skip_mark(struct json_reader *r, char mark, const char *want)
{
	return is_mark(r, mark) ? advance(r) : refuse_token(r, want);
}

static int count_node(struct json_reader *r)
{
	if (++r->n_nodes > MAX_TEXT_NODES)
		return err_at(r->err, r->token.spot.line, r->token.spot.col,
			      "the text has more than %u keys and values; make it smaller",
			      MAX_TEXT_NODES);
	return 0;
}

/* ---- strings ---- */

/* Four hexadecimal digits after \u; -1: they are not. */
static int read_hex(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		char low = (char)(p[i] | 0x20);

		if (p[i] >= '0' && p[i] <= '9')
			v = v * 16 + p[i] - '0';
		else if (low >= 'a' && low <= 'f')
			v = v * 16 + low - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* The character of the escape at `*p`, which is moved behind it. */
static int read_escape(struct json_reader *r, const char **p, const char *end, uint32_t *ret)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter = memchr(letters, (*p)[1], sizeof(letters) - 1);
	int high = read_hex(*p, end), low;

	if (letter) {
		*p += 2;
		*ret = (unsigned char)meant[letter - letters];
		return 0;
	}
	if (high < 0)
		return refuse_token(r, "invalid escape, write \\\\ for a backslash");
	if (high == 0)
		return refuse(r, &r->token, "the character U+0000 is not allowed in a string; "
			      "leave it out");
	*p += 6;
	*ret = (uint32_t)high;
	if (high < 0xd800 || high > 0xdfff)
		return 0;
	low = high < 0xdc00 ? read_hex(*p, end) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return refuse_token(r, "it has half of a surrogate pair, write the whole pair");
	*p += 6;
	*ret = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
	return 0;
}

/* A copy is needed only where the text spells something else. */
static int read_string(struct json_reader *r, struct str *ret)
{
	struct str raw = { r->token.text.s + 1, r->token.text.n - 2 };
	const char *p = raw.s, *end = raw.s + raw.n;
	size_t n = 0;
	char *out;

	if (count_node(r) < 0)
		return -1;
	*ret = raw;
	if (str_find(raw, '\\') == raw.n)
		return advance(r);
	out = arena_new(r->arena, raw.n, 1);
	if (!out)
		return err_nomem(r->err);
	while (p < end) {
		uint32_t ch = 0;

		if (*p != '\\') {
			out[n++] = *p++;
			continue;
		}
		if (read_escape(r, &p, end, &ch) < 0)
			return -1;
		n += str_put_utf8(ch, out + n);
	}
	*ret = (struct str){ out, n };
	return advance(r);
}

/* ---- words ---- */

static size_t skip_digits(struct str s, size_t i)
{
	while (i < s.n && s.s[i] >= '0' && s.s[i] <= '9')
		i++;
	return i;
}

/* The length of a number at the start of the word; 0: there is none. */
static size_t number_length(struct str s, bool *ret_is_real)
{
	size_t sign = s.n && s.s[0] == '-', i = skip_digits(s, sign), from;

	*ret_is_real = false;
	if (i == sign || (s.s[sign] == '0' && i > sign + 1))
		return 0;
	if (i < s.n && s.s[i] == '.') {
		from = i + 1;
		i = skip_digits(s, from);
		*ret_is_real = true;
		if (i == from)
			return 0;
	}
	if (i < s.n && (s.s[i] | 0x20) == 'e') {
		from = i + 1;
		from += from < s.n && (s.s[from] == '+' || s.s[from] == '-');
		i = skip_digits(s, from);
		*ret_is_real = true;
		if (i == from)
			return 0;
	}
	return i;
}

static int refuse_number(struct json_reader *r)
{
	return refuse(r, &r->token, "the number is too large; write one that fits in 64 bits");
}

static int read_integer(struct json_reader *r, struct value *ret)
{
	struct str word = r->token.text;
	bool negative = word.s[0] == '-';
	uint64_t v;

	if (!str_parse_u64(str_from_pos(word, negative), &v) || v > (uint64_t)INT64_MAX + negative)
		return refuse_number(r);
	ret->kind = VALUE_INT;
	ret->integer = (int64_t)(negative ? -v : v);
	return 0;
}

/* strtod() wants a NUL behind the number, and reads a comma in some locales. */
static int read_real(struct json_reader *r, struct value *ret)
{
	char room[64];
	cleanup_buf struct buf text = BUF_IN(room, MAX_SOURCE_BYTES + 1);

	buf_str(&text, r->token.text);
	if (!buf_ok(&text))
		return err_nomem(r->err);
	ret->kind = VALUE_FLOAT;
	ret->real = strtod_l(buf_text(&text), NULL, r->c_locale);
	return isinf(ret->real) ? refuse_number(r) : 0;
}

static int read_word(struct json_reader *r, struct value *ret)
{
	struct str word = r->token.text;
	bool is_real;

	if (count_node(r) < 0)
		return -1;
	if (str_is(word, "null")) {
		ret->kind = VALUE_NULL;
	} else if (str_is(word, "true") || str_is(word, "false")) {
		ret->kind = VALUE_BOOL;
		ret->boolean = str_is(word, "true");
	} else if (number_length(word, &is_real) != word.n) {
		return refuse_value(r);
	} else if ((is_real ? read_real(r, ret) : read_integer(r, ret)) < 0) {
		return -1;
	}
	return advance(r);
}

/* ---- containers ---- */

static int read_value(struct json_reader *r, struct value *ret);

static int open_container(struct json_reader *r)
{
	struct spot at = r->token.spot;

	if (++r->n_containers > MAX_TEXT_CONTAINERS)
		return err_at(r->err, at.line, at.col, "the text has more than %u objects and "
			      "arrays; make it smaller", MAX_TEXT_CONTAINERS);
	if (count_node(r) < 0)
		return -1;
	if (r->depth == MAX_TEXT_DEPTH)
		return err_at(r->err, at.line, at.col, "objects and arrays are nested deeper than "
			      "%d; flatten them", MAX_TEXT_DEPTH);
	r->open[r->depth++] = r->token;
	return advance(r);
}

static int close_container(struct json_reader *r)
{
	r->depth--;
	return advance(r);
}

static int read_array(struct json_reader *r, struct value *ret)
{
	size_t base = r->items.n;
	struct value item;
	void *items;

	if (open_container(r) < 0)
		return -1;
	while (!is_mark(r, ']'))
		if ((r->items.n > base && skip_mark(r, ',', "']' expected") < 0) ||
		    read_value(r, &item) < 0 || pile_push(&r->items, &item, r->err) < 0)
			return -1;
	ret->kind = VALUE_ARRAY;
	ret->array.n = r->items.n - base;
	if (pile_take(&r->items, base, r->arena, &items, r->err) < 0)
		return -1;
	ret->array.items = items;
	return close_container(r);
}

static int read_member(struct json_reader *r, struct member *ret)
{
	ret->line = r->token.spot.line;
	ret->col = r->token.spot.col;
	if (r->token.kind != TOKEN_STRING)
		return refuse_token(r, "string or '}' expected");
	if (read_string(r, &ret->key) < 0 || skip_mark(r, ':', "':' expected") < 0)
		return -1;
	return read_value(r, &ret->value);
}

static int read_object(struct json_reader *r, struct value *ret)
{
	size_t base = r->members.n;
	struct member member;
	void *members;

	if (open_container(r) < 0)
		return -1;
	while (!is_mark(r, '}'))
		if ((r->members.n > base && skip_mark(r, ',', "'}' expected") < 0) ||
		    read_member(r, &member) < 0 || pile_push(&r->members, &member, r->err) < 0)
			return -1;
	ret->kind = VALUE_TABLE;
	ret->table.n = r->members.n - base;
	if (pile_take(&r->members, base, r->arena, &members, r->err) < 0)
		return -1;
	ret->table.members = members;
	if (text_check_keys(ret->table.members, ret->table.n, r->err) < 0)
		return -1;
	return close_container(r);
}

static int read_value(struct json_reader *r, struct value *ret)
{
	*ret = (struct value){ .line = r->token.spot.line, .col = r->token.spot.col };
	switch (r->token.kind) {
	case TOKEN_OPEN:
		return is_mark(r, '{') ? read_object(r, ret) : read_array(r, ret);
	case TOKEN_STRING:
		ret->kind = VALUE_STRING;
		return read_string(r, &ret->string);
	case TOKEN_WORD:
		return read_word(r, ret);
	default:
		return refuse_value(r);
	}
}

static int read_root(struct json_reader *r, struct value *ret)
{
	if (advance(r) < 0)
		return -1;
	if (r->token.kind != TOKEN_OPEN)
		return refuse_token(r, "'[' or '{' expected");
	if (read_value(r, ret) < 0)
		return -1;
	if (r->token.kind != TOKEN_END)
		return refuse(r, &r->token, "there is more text after the value; remove it");
	return 0;
}

static void json_release(struct json_reader *r)
{
	pile_release(&r->items);
	pile_release(&r->members);
	if (r->c_locale)
		freelocale(r->c_locale);
}

int json_parse(const struct source *src, struct arena *a, struct value *ret_root,
	       struct cordon_err *err)
{
	__attribute__((cleanup(json_release))) struct json_reader r = {
		.at = cursor_from(src->text), .arena = a, .err = err,
		.items = PILE(struct value, MAX_TEXT_NODES),
		.members = PILE(struct member, MAX_TEXT_NODES),
	};
	struct value v;

	if (text_check_size(src, err) < 0)
		return -1;
	if (text_has_bom(src->text))
		return err_at(err, 1, 1, "the text starts with a byte order mark; save it without");
	if (text_check_chars(src->text, TEXT_ANY, err) < 0)
		return -1;
	r.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!r.c_locale)
		return err_nomem(err);
	if (read_root(&r, &v) < 0)
		return -1;
	*ret_root = v;
	return 0;
}

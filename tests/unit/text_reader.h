/* What the tests of the three text readers share: read a text into a tree and
 * compare the tree, or the message, with what is written in the test. */
#ifndef TESTS_UNIT_TEXT_READER_H
#define TESTS_UNIT_TEXT_READER_H

#include <inttypes.h>

#include "base/buf.h"
#include "base/limits.h"
#include "text/value.h"

#include "tap.h"

typedef int read_fn(const struct source *src, struct arena *a, struct value *ret_root,
		    struct cordon_err *err);

static struct arena text_arena = { .max = MAX_ARENA_BYTES };

static void print_value(const struct value *v, bool with_places, struct buf *out);

static void print_place(unsigned line, unsigned col, bool with_places, struct buf *out)
{
	if (with_places)
		buf_printf(out, "@%u:%u", line, col);
}

static void print_table(const struct value *v, bool with_places, struct buf *out)
{
	buf_putc(out, '{');
	for (size_t i = 0; i < v->table.n; i++) {
		const struct member *m = &v->table.members[i];

		buf_puts(out, i ? " " : "");
		buf_str(out, m->key);
		print_place(m->line, m->col, with_places, out);
		buf_putc(out, '=');
		print_value(&m->value, with_places, out);
	}
	buf_putc(out, '}');
}

static void print_array(const struct value *v, bool with_places, struct buf *out)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < v->array.n; i++) {
		buf_puts(out, i ? " " : "");
		print_value(&v->array.items[i], with_places, out);
	}
	buf_putc(out, ']');
}

/* {key@1:1=value@1:7 ...}, strings in <>, times in (). */
static void print_value(const struct value *v, bool with_places, struct buf *out)
{
	switch (v->kind) {
	case VALUE_NULL:
		buf_puts(out, "null");
		break;
	case VALUE_BOOL:
		buf_puts(out, v->boolean ? "true" : "false");
		break;
	case VALUE_INT:
		buf_printf(out, "%" PRId64, v->integer);
		break;
	case VALUE_FLOAT:
		buf_printf(out, "%gf", v->real);
		break;
	case VALUE_STRING:
	case VALUE_TIME:
		buf_putc(out, v->kind == VALUE_TIME ? '(' : '<');
		buf_str(out, v->string);
		buf_putc(out, v->kind == VALUE_TIME ? ')' : '>');
		break;
	case VALUE_ARRAY:
		print_array(v, with_places, out);
		break;
	case VALUE_TABLE:
		print_table(v, with_places, out);
		break;
	case N_VALUE_KINDS:
		break;
	}
	print_place(v->line, v->col, with_places, out);
}

/* The tree of a text, or LINE:COL: message. */
static const char *read_text(read_fn *reader, struct str text, bool with_places)
{
	static char shown[16384];
	cleanup_buf struct buf out = BUF(sizeof(shown) - 1);
	/* Exactly as long as it is, so that a sanitizer sees a read beyond. */
	char *copy = malloc(text.n ? text.n : 1);
	struct source src = { "text", { copy, text.n } };
	struct cordon_err err = { 0 };
	struct value root, before;

	memcpy(copy, text.s, text.n);
	memset(&root, 0x5a, sizeof(root));
	before = root;
	if (reader(&src, &text_arena, &root, &err) == 0) {
		print_value(&root, with_places, &out);
	} else {
		ok(memcmp(&root, &before, sizeof(root)) == 0, "untouched on failure");
		ok(err.code == CORDON_E_POLICY && err.line && err.col, "code %d at %u:%u",
		   (int)err.code, err.line, err.col);
		ok(strstr(err.msg, "; ") != NULL, "says what to do: %s", err.msg);
		buf_printf(&out, "%u:%u: %s", err.line, err.col, err.msg);
	}
	snprintf(shown, sizeof(shown), "%s", buf_text(&out));
	free(copy);
	return shown;
}

/* A text and its tree, or its message up to the `;`. */
struct text_case {
	const char *text, *want;
};

static void check_trees(read_fn *reader, const struct text_case *cases, bool with_places)
{
	for (; cases->text; cases++)
		is_text(read_text(reader, str_from(cases->text), with_places), cases->want,
			"%s", cases->text);
	arena_release(&text_arena);
}

/* The tree or message must begin with `want`. */
static void check_start(read_fn *reader, struct str text, const char *want, const char *what)
{
	const char *got = read_text(reader, text, false);

	ok(str_starts(str_from(got), want), "%s\n# gives '%.200s'\n# not '%s'", what, got, want);
	arena_release(&text_arena);
}

static void check_messages(read_fn *reader, const struct text_case *cases)
{
	for (; cases->text; cases++)
		check_start(reader, str_from(cases->text), cases->want, cases->text);
}

/* A text of `head`, `n` times `unit`, and `tail`. */
static void check_repeated(read_fn *reader, const char *const parts[3], size_t n,
			   const char *want)
{
	cleanup_buf struct buf text = BUF(2 * MAX_SOURCE_BYTES);

	buf_puts(&text, parts[0]);
	for (size_t i = 0; i < n; i++)
		buf_puts(&text, parts[1]);
	buf_puts(&text, parts[2]);
	check_start(reader, (struct str){ buf_text(&text), text.n }, want, parts[1]);
}

#define PARTS(head, unit, tail)	((const char *const[3]){ (head), (unit), (tail) })

#endif

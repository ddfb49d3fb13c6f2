/* Policies as text; see print.h. */
#include "policy/print.h"

#include <inttypes.h>

#include "policy/covering.h"
#include "policy/quantity.h"

static void print_toml_char(struct str text, uint32_t c, struct buf *out)
{
	static const char short_form[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',
					   ['\f'] = 'f', ['\r'] = 'r' };

	if (c == '"' || c == '\\')
		buf_printf(out, "\\%c", (char)c);
	else if (c < sizeof(short_form) && short_form[c])
		buf_printf(out, "\\%c", short_form[c]);
	else if (!str_is_shown(c))
		buf_printf(out, "\\u%04X", (unsigned)c);
	else
		buf_str(out, text);
}

/* A TOML basic string. */
static void print_toml_string(struct str s, struct buf *out)
{
	uint32_t c;

	buf_putc(out, '"');
	for (size_t n; s.n; s = str_from_pos(s, n)) {
		n = str_utf8(s, &c);
		if (!n) {
			/* Only a path that an option named can hold it. */
			n = 1;
			buf_puts(out, "\\uFFFD");
		} else {
			print_toml_char(str_first(s, n), c, out);
		}
	}
	buf_putc(out, '"');
}

static void print_item(enum field_kind kind, const struct item *item, struct buf *out)
{
	switch (kind) {
	case KIND_ALLOW_HOSTS:
	case KIND_DENY_HOSTS:
	case KIND_ENDPOINTS:
		host_rule_print(item->host, out);
		break;
	case KIND_PORTS:
		buf_printf(out, "%u", (unsigned)item->port);
		break;
	case KIND_ENV_MAP:
		buf_str(out, item->text);
		buf_putc(out, '=');
		buf_str(out, item->value);
		break;
	default:
		buf_str(out, item->text);
	}
}

static int keep_text(struct buf *text, struct arena *a, struct str *ret)
{
	const char *copy = buf_ok(text) ? arena_strndup(a, buf_text(text), text->n) : NULL;

	if (!copy)
		return -1;
	*ret = (struct str){ copy, text->n };
	return 0;
}

int item_text(enum field_kind kind, const struct item *item, struct arena *a, struct str *ret)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

	print_item(kind, item, &out);
	return keep_text(&out, a, ret);
}

/* Written without quotes. */
static bool is_count(enum field_kind kind)
{
	return kind == KIND_COUNT || kind == KIND_CONNECTIONS;
}

static void print_number(enum field_kind kind, int64_t number, struct buf *out)
{
	if (number == LIMIT_NONE)
		buf_puts(out, "none");
	else if (kind == KIND_SIZE)
		quantity_print_size(number, out);
	else if (kind == KIND_DURATION)
		quantity_print_duration(number, out);
	else
		buf_printf(out, "%" PRId64, number);
}

/* A key of a TOML table: bare where it can be. */
static void print_key(struct str key, struct buf *out)
{
	bool bare = key.n > 0;

	for (size_t i = 0; i < key.n; i++) {
		char c = key.s[i];

		bare &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '_' || c == '-';
	}
	if (bare)
		buf_str(out, key);
	else
		print_toml_string(key, out);
}

static void print_quoted_item(enum field_kind kind, const struct item *item, struct buf *out)
{
	cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES);

	if (kind == KIND_PORTS) {
		print_item(kind, item, out);
		return;
	}
	if (kind == KIND_ENV_MAP) {
		print_key(item->text, out);
		buf_puts(out, " = ");
		print_toml_string(item->value, out);
		return;
	}
	print_item(kind, item, &text);
	if (!buf_ok(&text))
		out->failed = true;
	print_toml_string((struct str){ buf_text(&text), text.n }, out);
}

/* How a list is laid out: on one line if it is short, else an entry a line
 * (arrays only: an inline table may not span lines). */
struct layout {
	const char *open, *close;
	const char *before;		/* each entry */
	const char *before_first;
	const char *end;		/* behind the last of some entries */
};

static const struct layout array_layout = { "[", "]", " ", "", "" };
static const struct layout lines_layout = { "[", "]", "\n  ", "\n  ", ",\n" };
static const struct layout table_layout = { "{", "}", " ", " ", " " };

static void print_items(enum field_id id, const struct section *s, const struct field_value *v,
			bool one_line, struct buf *out)
{
	enum field_kind kind = fields[id].kind;
	const struct layout *l = field_shape(kind) == SHAPE_MAP ? &table_layout
				 : !one_line && v->n > 4	? &lines_layout
								: &array_layout;
	size_t printed = 0;

	buf_puts(out, l->open);
	for (size_t i = 0; i < v->n && buf_ok(out); i++) {
		if (s && print_skips(s, id, &v->items[i]))
			continue;
		buf_puts(out, printed ? "," : "");
		buf_puts(out, printed++ ? l->before : l->before_first);
		print_quoted_item(kind, &v->items[i], out);
	}
	if (printed)
		buf_puts(out, l->end);
	buf_puts(out, l->close);
}

static void print_value(enum field_id id, const struct section *s, const struct field_value *v,
			bool one_line, struct buf *out)
{
	enum field_kind kind = fields[id].kind;

	switch (field_shape(kind)) {
	case SHAPE_WORD:
		buf_printf(out, kind == KIND_SWITCH ? "%s" : "\"%s\"",
			   field_words(kind)[v->number]);
		return;
	case SHAPE_NUMBER:
		if (is_count(kind) && v->number != LIMIT_NONE) {
			print_number(kind, v->number, out);
			return;
		}
		buf_putc(out, '"');
		print_number(kind, v->number, out);
		buf_putc(out, '"');
		return;
	case SHAPE_TEXT:
		print_toml_string(v->text, out);
		return;
	case SHAPE_LIST:
	case SHAPE_MAP:
		print_items(id, s, v, one_line, out);
		return;
	case N_FIELD_SHAPES:
		break;
	}
	BUG("a field without a shape");
}

int value_text(enum field_id id, const struct field_value *v, struct arena *a, struct str *ret)
{
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);

	print_value(id, NULL, v, true, &out);
	return keep_text(&out, a, ret);
}

static void print_people(enum field_id id, const struct field_value *v, struct buf *out)
{
	enum field_kind kind = fields[id].kind;

	switch (field_shape(kind)) {
	case SHAPE_WORD:
		buf_puts(out, field_words(kind)[v->number]);
		return;
	case SHAPE_NUMBER:
		print_number(kind, v->number, out);
		return;
	case SHAPE_TEXT:
		buf_str(out, v->text);
		return;
	default:
		for (size_t i = 0; i < v->n; i++) {
			buf_puts(out, i ? ", " : "");
			print_item(kind, &v->items[i], out);
		}
	}
}

void value_print_plain(enum field_id id, const struct field_value *v, struct buf *out)
{
	cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES);

	if (v->set)
		print_people(id, v, &text);
	if (!buf_ok(&text))
		out->failed = true;
	buf_put_plain(out, text.n ? (struct str){ buf_text(&text), text.n } : STR("nothing"));
}

bool print_skips(const struct section *s, enum field_id id, const struct item *item)
{
	return id == F_FILES_READ &&
	       item_find_covering(KIND_ROOTS, &s->f[F_FILES_WRITE], item);
}

static bool has_default(enum field_id id)
{
	return field_shape(fields[id].kind) != SHAPE_TEXT || fields[id].preset[0];
}

static void print_default(enum field_id id, struct buf *out)
{
	enum field_kind kind = fields[id].kind;
	struct str rest = str_from(fields[id].preset);

	buf_printf(out, "# %s = ", field_leaf(id));
	if (field_shape(kind) == SHAPE_LIST || field_shape(kind) == SHAPE_MAP) {
		bool is_map = field_shape(kind) == SHAPE_MAP;

		buf_puts(out, is_map ? "{" : "[");
		for (bool first = true; rest.n; first = false) {
			size_t n = str_find(rest, ' ');

			buf_puts(out, first ? "" : ", ");
			print_toml_string(str_first(rest, n), out);
			rest = str_from_pos(rest, n < rest.n ? n + 1 : n);
		}
		buf_puts(out, is_map ? "}" : "]");
	} else if (kind == KIND_SWITCH || kind == KIND_CONNECTIONS) {
		buf_str(out, rest);
	} else {
		print_toml_string(rest, out);
	}
	buf_puts(out, "   (default)\n");
}

/* The table header that field `id` needs, printed once: `shown` remembers. */
static void open_table(struct str phase, enum field_id id, struct str *shown, struct buf *out)
{
	struct str table = field_table(id);

	if (str_eq(*shown, table))
		return;
	*shown = table;
	buf_puts(out, out->n ? "\n[" : "[");
	if (phase.n) {
		buf_puts(out, "phase.");
		print_key(phase, out);
		buf_putc(out, '.');
	}
	buf_str(out, table);
	buf_puts(out, "]\n");
}

/* Need it not be said?  A phase takes over what its base has, but for a way out
 * of no network. */
static bool is_implied(const struct section *s, const struct section *base, enum field_id id)
{
	return section_implies(s, id) &&
	       (!base || !base->f[id].set ||
		(field_leads_out(id) && s->f[F_NETWORK_MODE].number == NETWORK_NONE));
}

static void print_section(const struct section *s, const struct section *base, struct str phase,
			  bool defaults, struct buf *out)
{
	struct str shown = STR("");

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		const struct field_value *v = &s->f[i];
		bool said = v->set && !is_implied(s, base, id);

		if (!said && (!defaults || base || !has_default(id)))
			continue;
		/* [M4] needs the list beside the mode even where it is the base's. */
		if (base && (!field_in_phase(id) || field_value_eq(id, v, &base->f[i])) &&
		    !(id == F_NETWORK_ALLOW &&
		      !field_value_eq(F_NETWORK_MODE, &s->f[F_NETWORK_MODE],
				      &base->f[F_NETWORK_MODE])))
			continue;
		open_table(phase, id, &shown, out);
		if (!said) {
			print_default(id, out);
			continue;
		}
		buf_printf(out, "%s = ", field_leaf(id));
		print_value(id, s, v, false, out);
		buf_putc(out, '\n');
	}
}

/* A phase that changes nothing must still be there when it is read again. */
static void print_phase(const struct policy *p, const struct phase *phase, struct buf *out)
{
	size_t before = out->n;

	print_section(&phase->section, &p->base, phase->name, false, out);
	if (out->n != before)
		return;
	buf_puts(out, before ? "\n[phase." : "[phase.");
	print_key(phase->name, out);
	buf_puts(out, "]\n");
}

void policy_print(const struct policy *p, bool defaults, struct buf *out)
{
	print_section(&p->base, NULL, STR(""), defaults, out);
	for (size_t i = 0; i < p->n_phases; i++)
		print_phase(p, &p->phases[i], out);
}

/* ---- JSON --------------------------------------------------------------- */

static void json_item(enum field_kind kind, const struct item *item, struct json_out *out)
{
	cleanup_buf struct buf text = BUF(MAX_OUTPUT_BYTES);

	if (kind == KIND_PORTS) {
		json_put_int(out, item->port);
	} else if (kind == KIND_ENV_MAP) {
		json_key_str(out, item->text);
		json_put_str(out, item->value);
	} else {
		print_item(kind, item, &text);
		json_put_str(out, (struct str){ buf_text(&text), text.n });
	}
}

static void json_value(enum field_id id, const struct section *s, const struct field_value *v,
		       struct json_out *out)
{
	enum field_kind kind = fields[id].kind;
	enum field_shape shape = field_shape(kind);

	if (kind == KIND_SWITCH) {
		json_put_bool(out, v->number == SWITCH_TRUE);
	} else if (shape == SHAPE_WORD) {
		json_put_text(out, field_words(kind)[v->number]);
	} else if (shape == SHAPE_NUMBER && v->number == LIMIT_NONE) {
		json_put_text(out, "none");
	} else if (is_count(kind)) {
		json_put_int(out, v->number);
	} else if (shape == SHAPE_NUMBER) {
		cleanup_buf struct buf text = BUF(64);

		print_number(kind, v->number, &text);
		json_put_text(out, buf_text(&text));
	} else if (shape == SHAPE_TEXT) {
		json_put_str(out, v->text);
	} else {
		json_open(out, shape == SHAPE_MAP ? '{' : '[');
		for (size_t i = 0; i < v->n && buf_ok(out->out); i++)
			if (!print_skips(s, id, &v->items[i]))
				json_item(kind, &v->items[i], out);
		json_close(out, shape == SHAPE_MAP ? '}' : ']');
	}
}

static void json_section(const struct section *s, const struct section *base, struct json_out *out)
{
	struct str shown = STR("");

	for (int i = 0; i < N_FIELDS; i++) {
		enum field_id id = (enum field_id)i;
		struct str table = field_table(id);

		if (!s->f[i].set || is_implied(s, base, id))
			continue;
		if (!str_eq(shown, table)) {
			if (shown.n)
				json_close(out, '}');
			json_key_str(out, table);
			json_open(out, '{');
			shown = table;
		}
		json_key(out, field_leaf(id));
		json_value(id, s, &s->f[i], out);
	}
	if (shown.n)
		json_close(out, '}');
}

void policy_print_json(const struct policy *p, struct json_out *out)
{
	json_open(out, '{');
	json_section(&p->base, NULL, out);
	if (p->n_phases) {
		json_key(out, "phase");
		json_open(out, '{');
		for (size_t i = 0; i < p->n_phases; i++) {
			json_key_str(out, p->phases[i].name);
			json_open(out, '{');
			json_section(&p->phases[i].section, &p->base, out);
			json_close(out, '}');
		}
		json_close(out, '}');
	}
	json_close(out, '}');
}

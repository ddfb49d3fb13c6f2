/* Problems in texts; see diag.h. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

void diags_release(struct diags *d)
{
	arena_release(&d->arena);
	*d = DIAGS;
}

PRINTF_LIKE(4, 0)
static void add(struct diags *d, struct place at, bool is_warning, const char *fmt, va_list args)
{
	char text[MAX_DIAG_BYTES];
	struct diag *items;
	const char *copy;

	/* Warnings leave room for errors. */
	if (d->n >= (is_warning ? MAX_DIAGS / 2 : MAX_DIAGS))
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	copy = arena_strndup(&d->arena, text, strlen(text));
	items = arena_grow(&d->arena, d->items, d->n, &d->cap, sizeof(*items));
	if (!items)
		return;
	d->items = items;
	d->items[d->n++] = (struct diag){ at, copy ? copy : "out of memory", is_warning };
}

int diag_error(struct diags *d, struct place at, const char *fmt, ...)
{
	va_list args;

	d->n_errors++;
	va_start(args, fmt);
	add(d, at, false, fmt, args);
	va_end(args);
	return -1;
}

void diag_warn(struct diags *d, struct place at, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add(d, at, true, fmt, args);
	va_end(args);
}

int err_locate(struct cordon_err *err, struct place at)
{
	err->line = at.line;
	err->col = at.col;
	return -1;
}

int diag_err(struct diags *d, const char *file, const struct cordon_err *err)
{
	return diag_error(d, (struct place){ file, err->line, err->col }, "%s", err->msg);
}

void place_print(struct place at, struct buf *out)
{
	if (!at.file)
		return;
	buf_puts(out, at.file);
	if (at.line)
		buf_printf(out, ":%u:%u", at.line, at.col);
}

void diags_print(const struct diags *d, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct diag *one = &d->items[i];
		cleanup_buf struct buf line = BUF(MAX_SOURCE_BYTES);

		if (one->place.file) {
			place_print(one->place, &line);
			buf_puts(&line, ": ");
		}
		buf_printf(&line, "%s%s", one->is_warning ? "warning: " : "", one->text);
		/* Names and texts are whoever wrote the policy's. */
		buf_put_plain(out, (struct str){ buf_text(&line), line.n });
		buf_putc(out, '\n');
		shown += !one->is_warning;
	}
	if (d->n_errors > shown)
		buf_printf(out, "… and %zu more\n", d->n_errors - shown);
}

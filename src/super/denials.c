/* What was refused; see denials.h. */
#include "super/denials.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	const char *key;	/* of `what` in JSON */
} kinds[] = {
	[DENIAL_FILE] = { "file", "path" },
	[DENIAL_COMMAND] = { "command", "what" },
	[DENIAL_NETWORK] = { "network", "host" },
};
static_assert(ARRAY_SIZE(kinds) == N_DENIAL_KINDS, "a kind without a name");

void denials_release(struct denials *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->items[i].what);
		free(d->items[i].reason);
		free(d->items[i].hint);
	}
	free(d->items);
	d->items = NULL;
	d->n = 0;
}

static struct denial *find(struct denials *d, enum denial_kind kind, const char *what,
			   unsigned port, const char *reason)
{
	for (size_t i = 0; i < d->n; i++) {
		struct denial *one = &d->items[i];

		if (one->kind == kind && strcmp(one->what, what) == 0 &&
		    strcmp(one->reason, reason) == 0 &&
		    (one->port == port || !one->port || !port))
			return one;
	}
	return NULL;
}

void denials_add(struct denials *d, enum denial_kind kind, const char *what, unsigned port,
		 const char *reason, const char *hint)
{
	struct denial *one = find(d, kind, what, port, reason);

	if (one) {
		one->count++;
		one->port = one->port ? one->port : port;
		return;
	}
	if (!d->items)
		d->items = calloc(MAX_DENIALS, sizeof(*d->items));
	if (!d->items || d->n == MAX_DENIALS) {
		d->left_out++;
		return;
	}
	one = &d->items[d->n];
	*one = (struct denial){ kind, strdup(what), port, strdup(reason), strdup(hint), 1,
				 0 };
	if (one->what && one->reason && one->hint) {
		d->n++;
		return;
	}
	free(one->what);
	free(one->reason);
	free(one->hint);
	d->left_out++;
}

uint64_t denials_count(const struct denials *d)
{
	uint64_t n = d->left_out;

	for (size_t i = 0; i < d->n; i++)
		n += d->items[i].count;
	return n;
}

static void print_one(const struct denial *d, struct json_out *j)
{
	json_open(j, '{');
	json_key(j, "kind");
	json_put_text(j, kinds[d->kind].name);
	json_key(j, kinds[d->kind].key);
	json_put_text(j, d->what);
	if (d->kind == DENIAL_NETWORK) {
		json_key(j, "port");
		if (d->port)
			json_put_int(j, d->port);
		else
			json_put_null(j);
	}
	json_key(j, "reason");
	json_put_text(j, d->reason);
	json_key(j, "hint");
	json_put_text(j, d->hint);
	json_key(j, "count");
	json_put_int(j, (int64_t)d->count);
	json_close(j, '}');
}

void denials_print(const struct denials *d, struct json_out *j)
{
	json_open(j, '[');
	for (size_t i = 0; i < d->n; i++)
		print_one(&d->items[i], j);
	json_close(j, ']');
}

void denial_print(const struct denial *d, struct buf *out)
{
	bool is_v6 = d->kind == DENIAL_NETWORK && d->port && strchr(d->what, ':');

	buf_printf(out, "denied: %s%.*s%s", is_v6 ? "[" : "", STR_FMT(str_from(d->what)),
		   is_v6 ? "]" : "");
	if (d->port)
		buf_printf(out, ":%u", d->port);
	if (d->count > 1)
		buf_printf(out, " (%" PRIu64 "×)", d->count);
	buf_printf(out, " %.*s", STR_FMT(str_from(d->reason)));
	if (d->hint[0])
		buf_printf(out, "; allow with %.*s", STR_FMT(str_from(d->hint)));
}

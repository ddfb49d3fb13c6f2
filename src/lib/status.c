/* What a live cordon says about itself, for people; see status.h. */
#include "lib/status.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/limits.h"
#include "text/value.h"

static struct str text_of(const struct value *v, const char *key)
{
	const struct value *found = value_find(v, key);

	return found && found->kind == VALUE_STRING ? found->string : STR("");
}

static int64_t number_of(const struct value *v, const char *key)
{
	const struct value *found = value_find(v, key);

	return found && found->kind == VALUE_INT ? found->integer : 0;
}

static void start_line(struct buf *out, const char *name)
{
	buf_printf(out, "%-12s ", name);
}

/* "; no: " and the names, where there are any. */
static void put_hosts(struct buf *out, const struct value *network, const char *key,
		      const char *before)
{
	const struct value *hosts = value_find(network, key);

	for (size_t i = 0; hosts && hosts->kind == VALUE_ARRAY && i < hosts->array.n; i++) {
		buf_puts(out, i ? ", " : before);
		if (hosts->array.items[i].kind == VALUE_STRING)
			buf_put_plain(out, hosts->array.items[i].string);
	}
}

static void put_denials(struct buf *out, const struct value *denials)
{
	for (size_t i = 0; denials && denials->kind == VALUE_ARRAY && i < denials->array.n; i++) {
		const struct value *d = &denials->array.items[i];
		struct str host = text_of(d, "host");
		int64_t port = number_of(d, "port");

		start_line(out, i ? "" : "denied");
		buf_put_plain(out, host.n ? host : text_of(d, "what"));
		if (port)
			buf_printf(out, ":%" PRId64, port);
		buf_printf(out, " (%" PRId64 "×) ", number_of(d, "count"));
		buf_put_plain(out, text_of(d, "reason"));
		buf_putc(out, '\n');
	}
}

static void put_head(struct buf *out, const struct value *v)
{
	struct str name = text_of(v, "name"), phase = text_of(v, "phase");

	start_line(out, "id");
	buf_put_plain(out, text_of(v, "run_id"));
	if (name.n) {
		buf_puts(out, ", called ");
		buf_put_plain(out, name);
	}
	buf_putc(out, '\n');
	start_line(out, "supervisor");
	buf_printf(out, "pid %" PRId64 ", for %" PRId64 " s\n", number_of(v, "pid"),
		   number_of(v, "alive_ms") / 1000);
	start_line(out, "phase");
	buf_put_plain(out, phase.n ? phase : STR("none"));
	buf_printf(out, ", generation %" PRId64 "\n", number_of(v, "generation"));
}

static void put_counts(struct buf *out, const struct value *v)
{
	const struct value *limits = value_find(v, "limits");
	int64_t memory = number_of(limits, "memory"), processes = number_of(limits, "processes");

	start_line(out, "processes");
	buf_printf(out, "%" PRId64, number_of(v, "processes"));
	if (processes)
		buf_printf(out, " of %" PRId64, processes);
	buf_putc(out, '\n');
	start_line(out, "memory");
	buf_printf(out, "%" PRId64 " KB", number_of(v, "memory_kb"));
	if (memory)
		buf_printf(out, " of %" PRId64 " KB", memory / 1024);
	buf_putc(out, '\n');
	start_line(out, "connections");
	buf_printf(out, "%" PRId64, number_of(v, "connections"));
	if (value_find(v, "buffers_limit_kb"))
		buf_printf(out, ", with %" PRId64 " KB of at most %" PRId64 " KB for buffers",
			   number_of(v, "buffers_kb"), number_of(v, "buffers_limit_kb"));
	buf_putc(out, '\n');
	if (!value_find(v, "commands"))
		return;
	start_line(out, "commands");
	buf_printf(out, "%" PRId64 "\n", number_of(v, "commands"));
}

int status_print(struct str json, struct buf *out, struct cordon_err *err)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	struct source src = { "status", json };
	const struct value *network;
	struct cordon_err why = { 0 };
	struct value v;

	if (json_parse(&src, &a, &v, &why) < 0)
		return err_set(err, CORDON_E_PEER, "the supervisor's status makes no sense: %s",
			       why.msg);
	network = value_find(&v, "network");
	put_head(out, &v);
	start_line(out, "network");
	buf_put_plain(out, text_of(network, "mode"));
	put_hosts(out, network, "allow", ": ");
	put_hosts(out, network, "deny", "; never ");
	buf_putc(out, '\n');
	put_counts(out, &v);
	put_denials(out, value_find(&v, "denials"));
	return buf_ok(out) ? 0 : err_nomem(err);
}

/* The table of events, and the lines that are made from it. */
#include "audit/event.h"
#include "base/limits.h"
#include "read_json.h"
#include "tap.h"

static const struct audit_stamp stamp = { .time_us = 1763186402000001, .run_id = "0123456789abcdef",
					  .seq = 7 };

/* The arena holds the last line alone. */
static struct arena line_arena = { .max = MAX_ARENA_BYTES };

static struct value *read_line(const struct audit_event *e)
{
	cleanup_buf struct buf out = BUF(1 << 20);
	struct value *j;

	arena_release(&line_arena);
	audit_event_print(e, &stamp, &out);
	ok(buf_ok(&out) && out.n && out.data[out.n - 1] == '\n', "a whole line");
	ok(memchr(out.data, '\n', out.n) == out.data + out.n - 1, "one line");
	ok(out.n <= audit_event_max(e->kind), "%s: %zu bytes", audit_events[e->kind].name, out.n);
	for (size_t i = 0; i + 1 < out.n; i++)
		if ((unsigned char)out.data[i] < ' ' || out.data[i] == 0x7f)
			ok(false, "a control byte");
	j = read_json(&line_arena, (struct str){ out.data, out.n });
	ok(j != NULL, "JSON");
	return j;
}

static void test_names_are_unique(void)
{
	for (int i = 0; i < N_AUDIT_EVENT_KINDS; i++) {
		ok(audit_events[i].fields != 0, "%s has fields", audit_events[i].name);
		for (int k = 0; k < i; k++)
			ok(strcmp(audit_events[i].name, audit_events[k].name) != 0, "%s",
			   audit_events[i].name);
	}
	for (int i = 0; i < N_AUDIT_FIELDS; i++) {
		uint64_t used = 0;

		for (int k = 0; k < i; k++)
			ok(strcmp(audit_fields[i].key, audit_fields[k].key) != 0, "%s",
			   audit_fields[i].key);
		for (int k = 0; k < N_AUDIT_EVENT_KINDS; k++)
			used |= audit_events[k].fields;
		ok(used >> i & 1, "%s is in an event", audit_fields[i].key);
	}
}

/* A list of every size, a text of every byte: each kind fits into a line. */
static void test_every_kind_fits_at_its_longest(void)
{
	static const char *const hostile[] = { "\x01", "\xff", "\"", "a", "\xe2\x80\xae", "é" };
	static char text[MAX_AUDIT_LINE * 2 + 1];
	static const char *words[300];

	for (size_t h = 0; h < ARRAY_SIZE(hostile); h++) {
		size_t n = strlen(hostile[h]);

		for (size_t i = 0; i + n < sizeof(text); i += n)
			memcpy(text + i, hostile[h], n);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = i % 3 ? hostile[h] : text;
		for (int k = 0; k < N_AUDIT_EVENT_KINDS; k++) {
			struct audit_event e = { .kind = (enum audit_event_kind)k };

			for (int f = 0; f < N_AUDIT_FIELDS; f++) {
				enum audit_type type = audit_fields[f].type;

				if (!(audit_events[k].fields >> f & 1))
					continue;
				e.values[f] = type == AUDIT_TYPE_TEXT	? AUDIT_TEXT(text)
					      : type == AUDIT_TYPE_LIST ? AUDIT_LIST(words + h, 250)
					      : type == AUDIT_TYPE_FLAG ? AUDIT_FLAG(true)
									: AUDIT_NUMBER(INT64_MIN);
			}
			read_line(&e);
			ok(audit_event_max(e.kind) <= MAX_AUDIT_LINE, "%s", audit_events[k].name);
		}
	}
}

static void test_the_line(void)
{
	struct audit_event e = { EVENT_NETWORK_DECISION, {
		[AUDIT_NETWORK_POLICY] = AUDIT_TEXT("denied"),
		[AUDIT_NETWORK_HOST] = AUDIT_TEXT("evil.test"),
		[AUDIT_PORT] = AUDIT_NUMBER(443),
		[AUDIT_PROTOCOL] = AUDIT_TEXT("tcp"),
		[AUDIT_ADDRESS] = AUDIT_TEXT(NULL),
		[AUDIT_REASON] = AUDIT_TEXT("not \"listed\""),
		[AUDIT_HINT] = AUDIT_TEXT("--allow-host evil.test"),
		[AUDIT_GENERATION] = AUDIT_NUMBER(1),
	} };
	cleanup_buf struct buf out = BUF(MAX_AUDIT_LINE);

	audit_event_print(&e, &stamp, &out);
	is_text(buf_text(&out),
		"{\"time\":\"2025-11-15T06:00:02.000001Z\",\"run_id\":\"0123456789abcdef\","
		"\"seq\":7,\"event\":\"network.decision\",\"network.policy\":\"denied\","
		"\"network.host\":\"evil.test\",\"port\":443,\"protocol\":\"tcp\","
		"\"address\":null,\"generation\":1,\"id\":null,\"reason\":\"not \\\"listed\\\"\","
		"\"hint\":\"--allow-host evil.test\"}\n", "every field of the kind, in order");
}

static void test_time(void)
{
	static const struct {
		int64_t us;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ 951782399999999, "2000-02-28T23:59:59.999999Z" },
		{ 951782400000000, "2000-02-29T00:00:00.000000Z" },
		{ 951868800000000, "2000-03-01T00:00:00.000000Z" },
		{ 1709164800000000, "2024-02-29T00:00:00.000000Z" },
		{ 1735689599000000, "2024-12-31T23:59:59.000000Z" },
		{ 4107542400000000, "2100-03-01T00:00:00.000000Z" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct audit_stamp at = { rows[i].us, "r", 1 };
		struct audit_event e = { EVENT_AUDIT_LOST, { { 0 } } };
		cleanup_buf struct buf out = BUF(MAX_AUDIT_LINE);

		audit_event_print(&e, &at, &out);
		ok(strncmp(buf_text(&out) + 9, rows[i].text, 27) == 0, "%s: %.40s", rows[i].text,
		   buf_text(&out));
	}
}

/* What is cut says so; what is not stays as it is. */
static void test_cutting(void)
{
	static const char *const words[] = { "sh", "-c", "exit 3" };
	struct audit_event e = { .kind = EVENT_FILE_DENIED };
	char text[5000];
	const char *got;
	struct value *j;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	e.values[AUDIT_PATH] = AUDIT_TEXT(text);
	j = read_line(&e);
	got = json_text(&line_arena, j, "path");
	is_int(strlen(got), 2048 - 2, "as much as there is room for");
	is_text(got + strlen(got) - 4, "x…", "and a mark");
	text[2046] = '\0';
	j = read_line(&e);
	is_text(json_text(&line_arena, j, "path"), text, "exactly the most");

	e = (struct audit_event){ .kind = EVENT_RUN_START };
	e.values[AUDIT_COMMAND] = AUDIT_LIST(words, 3);
	j = read_line(&e);
	is_int(json_size(j, "command"), 3, "a list as it is");
}

/* [A1] */
static void test_a_foreign_field_is_a_bug(void)
{
	struct audit_event e = { EVENT_LIMIT_HIT, { [AUDIT_PORT] = AUDIT_NUMBER(1) } };
	cleanup_buf struct buf out = BUF(MAX_AUDIT_LINE);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "we", stderr))
			_exit(1);
		audit_event_print(&e, &stamp, &out);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "stops");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_names_are_unique), TAP(test_every_kind_fits_at_its_longest),
		TAP(test_the_line), TAP(test_time), TAP(test_cutting),
		TAP(test_a_foreign_field_is_a_bug), TAP_END });
}

/* Events as lines; see event.h. */
#include "audit/event.h"

#include <stdio.h>

#include "base/json.h"
#include "base/limits.h"

static_assert(N_AUDIT_FIELDS <= 64, "fields are bits of 64");

const struct audit_field_info audit_fields[N_AUDIT_FIELDS] = {
#define FIELD(id, key, type, max, help)	[AUDIT_##id] = { key, AUDIT_TYPE_##type, max, help },
#define EVENT(...)
#include "audit/event.def"
#undef FIELD
#undef EVENT
};

const struct audit_event_info audit_events[N_AUDIT_EVENT_KINDS] = {
#define HAS(id)	(UINT64_C(1) << AUDIT_##id)
#define FIELD(...)
#define EVENT(id, name, fields, help)	[EVENT_##id] = { name, fields, help },
#include "audit/event.def"
#undef FIELD
#undef EVENT
#undef HAS
};

#define ELLIPSIS	"…"
#define STAMP_BYTES	160	/* time, run_id, seq and event with their keys */

static bool has_field(enum audit_event_kind kind, int field)
{
	return audit_events[kind].fields >> field & 1;
}

size_t audit_event_max(enum audit_event_kind kind)
{
	size_t n = STAMP_BYTES;

	for (int i = 0; i < N_AUDIT_FIELDS; i++)
		if (has_field(kind, i))
			n += strlen(audit_fields[i].key) + audit_fields[i].max + sizeof("\"\":,");
	return n;
}

/* RFC 3339.  Not gmtime_r(), which reads the machine's time zone first. */
static void put_time(int64_t us, struct buf *out)
{
	int64_t s = us / 1000000, days = s / 86400, in_day = s % 86400;
	/* Days are counted from 0000-03-01, so that a leap day ends its year; an
	 * era is the 400 years after which the calendar repeats. */
	int64_t z = days + 719468, era = z / 146097, doe = z % 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int64_t day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
	int64_t year = yoe + era * 400 + (month <= 2);

	buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", (int)year, (int)month, (int)day,
		   (int)(in_day / 3600), (int)(in_day / 60 % 60), (int)(in_day % 60),
		   (int)(us % 1000000));
}

/* Bytes of one character as JSON; what is no character becomes an escape. */
static size_t cost(struct str s, size_t *ret_n)
{
	uint32_t c;

	*ret_n = str_utf8(s, &c);
	if (!*ret_n) {
		*ret_n = 1;
		return 6;
	}
	if (c == '"' || c == '\\' || c == '\n' || c == '\t')
		return 2;
	return str_is_shown(c) ? *ret_n : 6;
}

/* As much of the text as fits into *left bytes between its quotes. */
static void put_text(struct json_out *j, const char *text, size_t *left)
{
	struct str s = str_from(text), rest = s;
	size_t used = 2, n, keep = 0, keep_used = 0;

	for (; rest.n; rest = str_from_pos(rest, n)) {
		used += cost(rest, &n);
		if (used > *left)
			break;
		if (used + sizeof(ELLIPSIS) - 1 <= *left) {
			keep = s.n - rest.n + n;
			keep_used = used;
		}
	}
	if (rest.n) {
		cleanup_buf struct buf cut = BUF(MAX_AUDIT_LINE);

		buf_str(&cut, str_first(s, keep));
		buf_puts(&cut, ELLIPSIS);
		json_put_text(j, buf_text(&cut));
		used = keep_used + sizeof(ELLIPSIS) - 1;
	} else {
		json_put_str(j, s);
	}
	*left -= MIN(*left, used);
}

static void put_list(struct json_out *j, const struct audit_value *v, size_t left)
{
	/* Its brackets, and a last word that says that there were more. */
	const size_t end = 2 + sizeof(",\"" ELLIPSIS "\"") - 1;

	left -= MIN(left, end);
	json_open(j, '[');
	for (size_t i = 0; i < v->list.n; i++) {
		/* Too little for a word that tells anything. */
		if (left < 16) {
			json_put_text(j, ELLIPSIS);
			break;
		}
		put_text(j, v->list.items[i], &left);
		left -= MIN(left, 1);
	}
	json_close(j, ']');
}

static void put_value(struct json_out *j, const struct audit_value *v, size_t max)
{
	switch (v->type) {
	case AUDIT_TYPE_TEXT:
		put_text(j, v->text, &max);
		break;
	case AUDIT_TYPE_NUMBER:
		json_put_int(j, v->number);
		break;
	case AUDIT_TYPE_FLAG:
		json_put_bool(j, v->flag);
		break;
	case AUDIT_TYPE_LIST:
		put_list(j, v, max);
		break;
	default:
		json_put_null(j);
	}
}

void audit_event_print(const struct audit_event *e, const struct audit_stamp *stamp,
		       struct buf *out)
{
	struct json_out j = { .out = out };

	buf_puts(out, "{\"time\":\"");
	put_time(stamp->time_us, out);
	buf_puts(out, "\",\"run_id\":");
	json_put_text(&j, stamp->run_id);
	json_key(&j, "seq");
	json_put_int(&j, (int64_t)stamp->seq);
	json_key(&j, "event");
	json_put_text(&j, audit_events[e->kind].name);
	for (int i = 0; i < N_AUDIT_FIELDS; i++) {
		const struct audit_value *v = &e->values[i];

		/* [A1] */
		if (v->type != AUDIT_TYPE_NULL &&
		    (!has_field(e->kind, i) || v->type != audit_fields[i].type))
			BUG("an event with a field that its kind does not have");
		if (!has_field(e->kind, i))
			continue;
		json_key(&j, audit_fields[i].key);
		put_value(&j, v, audit_fields[i].max);
	}
	buf_puts(out, "}\n");
}

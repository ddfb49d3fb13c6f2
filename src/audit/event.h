/* Events as data: the table of event.def, and the one line that each makes. */
#ifndef AUDIT_EVENT_H
#define AUDIT_EVENT_H

#include <stdint.h>

#include "base/buf.h"

enum audit_field {
#define FIELD(id, ...)	AUDIT_##id,
#define EVENT(...)
#include "audit/event.def"
#undef FIELD
#undef EVENT
	N_AUDIT_FIELDS
};

enum audit_event_kind {
#define FIELD(...)
#define EVENT(id, ...)	EVENT_##id,
#include "audit/event.def"
#undef FIELD
#undef EVENT
	N_AUDIT_EVENT_KINDS
};

enum audit_type { AUDIT_TYPE_NULL, AUDIT_TYPE_TEXT, AUDIT_TYPE_NUMBER, AUDIT_TYPE_FLAG,
		  AUDIT_TYPE_LIST, N_AUDIT_TYPES };

struct audit_field_info {
	const char *key;
	enum audit_type type;
	size_t max;		/* bytes of its value in a line */
	const char *help;
};
extern const struct audit_field_info audit_fields[N_AUDIT_FIELDS];

struct audit_event_info {
	const char *name;
	uint64_t fields;	/* bits of enum audit_field */
	const char *help;
};
extern const struct audit_event_info audit_events[N_AUDIT_EVENT_KINDS];

struct audit_value {
	enum audit_type type;
	union {
		const char *text;
		int64_t number;
		bool flag;
		struct {
			const char *const *items;
			size_t n;
		} list;
	};
};

/* A NULL text is null in the line. */
#define AUDIT_NULL		((struct audit_value){ AUDIT_TYPE_NULL, { NULL } })
#define AUDIT_TEXT(value)	audit_text(value)
#define AUDIT_NUMBER(value)	\
	((struct audit_value){ AUDIT_TYPE_NUMBER, { .number = (int64_t)(value) } })
#define AUDIT_FLAG(value)	((struct audit_value){ AUDIT_TYPE_FLAG, { .flag = (value) } })
#define AUDIT_LIST(words, n_words)	\
	((struct audit_value){ AUDIT_TYPE_LIST, { .list = { (words), (n_words) } } })

static inline struct audit_value audit_text(const char *text)
{
	return (struct audit_value){ text ? AUDIT_TYPE_TEXT : AUDIT_TYPE_NULL, { .text = text } };
}

/* One thing that happened.  Pointers are borrowed until it is a line.
 * [A1] A value stands only at a field of its kind, and has that field's type. */
struct audit_event {
	enum audit_event_kind kind;
	struct audit_value values[N_AUDIT_FIELDS];
};

/* What every line starts with. */
struct audit_stamp {
	int64_t time_us;	/* since 1970 */
	const char *run_id;
	uint64_t seq;		/* in this run, from 1 */
};

/* THE way from an event to a line of JSON, newline included. */
void audit_event_print(const struct audit_event *e, const struct audit_stamp *stamp,
		       struct buf *out);
/* Most bytes that an event of this kind takes. */
size_t audit_event_max(enum audit_event_kind kind);

#endif

/* The tables behind help, completion and manual pages. */
#include "cordon.h"
#include "audit/event.h"
#include "policy/dialect/dialect.h"

static const char *const merge_words[] = {
	[MERGE_STRICTEST] = "the strictest of both",
	[MERGE_LEAST] = "the smaller one",
	[MERGE_UNION] = "what either of them names",
	[MERGE_COMMON] = "what both of them name",
	[MERGE_ROOTS] = "what lies inside both",
	[MERGE_HOSTS] = "what both of them match",
	[MERGE_JOIN] = "both; the ceiling's value where they differ",
	[MERGE_FIRST] = "the ceiling's; none where a ceiling restricts hosts without naming it",
};
static_assert(ARRAY_SIZE(merge_words) == N_FIELD_MERGES, "a merge without words");

const char *cordon_dialect_name(size_t i)
{
	return dialects[i] ? dialects[i]->name : NULL;
}

const char *cordon_dialect_about(size_t i)
{
	return dialects[i] ? dialects[i]->about : NULL;
}

bool cordon_field_info(size_t i, struct cordon_field_info *ret)
{
	if (i >= N_FIELDS)
		return false;
	*ret = (struct cordon_field_info){
		.key = fields[i].key,
		.takes = field_expects(fields[i].kind),
		.merge = merge_words[fields[i].merge],
		.preset = fields[i].preset,
		.promise = fields[i].promise,
		.help = fields[i].help,
		.words = field_words(fields[i].kind),
	};
	return true;
}

bool cordon_event_info(size_t i, struct cordon_event_info *ret)
{
	if (i >= N_AUDIT_EVENT_KINDS)
		return false;
	*ret = (struct cordon_event_info){ audit_events[i].name, audit_events[i].help };
	return true;
}

bool cordon_event_field_info(size_t i, size_t field, struct cordon_event_field_info *ret)
{
	static const char *const types[] = { "null", "text", "number", "true or false",
					     "list of texts" };

	static_assert(ARRAY_SIZE(types) == N_AUDIT_TYPES, "a type without words");
	for (size_t f = 0; i < N_AUDIT_EVENT_KINDS && f < N_AUDIT_FIELDS; f++) {
		if (!(audit_events[i].fields >> f & 1) || field-- > 0)
			continue;
		*ret = (struct cordon_event_field_info){
			.key = audit_fields[f].key,
			.type = types[audit_fields[f].type],
			.help = audit_fields[f].help,
		};
		return true;
	}
	return false;
}

const char *cordon_version(void)
{
	return CORDON_VERSION;
}

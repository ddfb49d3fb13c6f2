/* A policy in memory.
 *
 * A policy is a base section and phases; a section holds one value for each
 * field of the table.  A value that no one wrote is not `set`: it has no
 * opinion in an intersection, and the default holds in the end.  A value that
 * is set and empty means *nothing*, never *everything*.
 *
 * [M1] Lists are canonical: sorted, no entry equal to another; of roots, names
 *      to pass and hosts none implied by another.
 * [M2] A phase holds every field that it or its base had set (only fields of
 *      network, limits and env), so it can be read without its base.
 * [M3] When both are set, all that files.write holds lies in files.read as well:
 *      the writable roots are added when a text is read, and cut when policies
 *      are composed.  As read, a read root inside a writable one is a protected
 *      path instead.
 * [M4] network.allow is set exactly when network.mode is allowlist.  A mode that
 *      is set and not public is a word about everything that leads out:
 *      network.tls, network.host_ports and network.udp_allow are set as well,
 *      strict and empty unless written; both lists are empty under no-network.
 * [M5] Nothing is granted that is denied altogether: no rule of network.allow or
 *      network.udp_allow is covered by a deny rule, no root lies in a denied path,
 *      and what is required is not in may_lack.  Reading refuses it, composing
 *      drops it; so what is printed can be read.
 */
#ifndef POLICY_MODEL_H
#define POLICY_MODEL_H

#include "base/arena.h"
#include "base/diag.h"
#include "policy/command.h"
#include "policy/field.h"
#include "policy/host.h"

/* One entry of a list or map. */
struct item {
	struct str text;	/* canonical */
	struct str value;	/* maps: the value; else a note of the dialect */
	struct place at;	/* where it was written */
	union {
		const struct host_rule *host;		/* host lists and endpoints */
		const struct command_rule *command;	/* command lists */
		uint16_t port;				/* port lists */
		const char *real;	/* path lists: what it leads to, where that is
					 * another; or NULL */
	};
};

/* The note of what is in files.protect because it is a read root inside a writable one. */
#define READ_ROOT_NOTE	"files.read"

struct field_value {
	bool set;
	struct place at;	/* where it was written (lists: the whole list) */
	int64_t number;		/* words: place in field_words(); numbers: bytes, ms, count */
	struct str text;	/* SHAPE_TEXT */
	struct item *items;	/* lists and maps */
	size_t n, cap;
};

struct section {
	struct field_value f[N_FIELDS];
	bool rerouted;		/* no field: not the host's network (--connect-to, trials) */
};

struct phase {
	struct str name;
	struct place at;
	struct section section;
};

struct policy {
	struct arena *arena;		/* holds everything below; not owned */
	const struct dialect *dialect;	/* what it was written in; NULL when composed */
	struct section base;
	struct phase *phases;		/* sorted by name */
	size_t n_phases, cap_phases;
};

/* Was this said by somebody, and is not just the default? */
bool policy_is_written(const struct policy *p, enum field_id id);
void policy_init(struct policy *p, struct arena *arena);
/* The phase, or NULL. */
struct phase *policy_find_phase(const struct policy *p, struct str name);
/* The phase, added if it was not there; NULL without memory. */
struct phase *policy_add_phase(struct policy *p, struct str name, struct place at) MUST_USE;

/* One more entry; the caller fills it.  NULL without memory. */
struct item *field_value_add(struct field_value *v, struct arena *a) MUST_USE;
/* Do both hold the very same entries, as a phase does that takes over a list? */
bool field_value_is_shared(const struct field_value *a, const struct field_value *b);
/* Is it what [M4] makes of it when nobody writes it? */
bool section_implies(const struct section *s, enum field_id id);
/* Same meaning, places aside? */
bool field_value_eq(enum field_id id, const struct field_value *a, const struct field_value *b);
bool policy_eq(const struct policy *a, const struct policy *b);

/* Canonical order of the entries of a list field. */
int item_cmp(enum field_kind kind, const struct item *a, const struct item *b);
/* Does entry `a`, which does not sort behind `b`, say all that `b` says? */
bool item_implies(enum field_kind kind, const struct item *a, const struct item *b);
/* [M1]: sort, and drop what is implied by another entry. */
int field_value_canonical(enum field_id id, struct field_value *v, struct arena *a,
			  struct cordon_err *err) MUST_USE;

#endif

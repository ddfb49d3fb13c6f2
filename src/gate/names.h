/* The names that were asked for, and the addresses that stand for them.
 *
 * [N1] An address stands for one name as long as a connection uses it, and then until
 *      the table is full and the name is the one that was used least recently.  So the
 *      questions of one process, however many, take no room from the names that
 *      another process asks for afterwards.
 * [N2] An address that was taken back is given to another name only after 30 other
 *      names had its slot of the table: a program that kept it is refused, and not led
 *      elsewhere.
 * [N3] Only names that decide() allowed are in the table; being in it allows
 *      nothing.
 */
#ifndef GATE_NAMES_H
#define GATE_NAMES_H

#include "policy/host.h"

#define MAX_NAME_ANSWERS	16

struct conn;

struct name {
	struct host host;
	uint32_t index;			/* of its address in the range */
	unsigned users;			/* connections and flows */
	struct name *older, *newer;	/* by the time of the last use */
	struct name *next;		/* of the same hash */
	/* What it resolves to outside. */
	struct host_addr answers[MAX_NAME_ANSWERS];
	size_t n_answers;
	int64_t fresh_until_us;		/* the answers can be used again until then */
	bool is_asked;			/* the resolver is at it */
	struct name *next_asked;	/* behind it in the resolver's queue */
	struct conn *waiting;		/* for the answers */
};

struct names;

struct names *names_new(void) MUST_USE;
struct names *names_free(struct names *t);
/* The entry of the name, or NULL. */
struct name *names_find(const struct names *t, const struct host *h);
/* The same, made if it is not there; NULL when the table is full of names in
 * use, or without memory. */
struct name *names_add(struct names *t, const struct host *h) MUST_USE;
/* The address that stands for it. */
struct host_addr name_addr(const struct name *n);
/* Is this an address of the range? */
bool names_covers(const struct host_addr *a);
/* The name that it stands for, or NULL. */
struct name *names_find_addr(const struct names *t, const struct host_addr *a);
/* It is in use now. */
void names_touch(struct names *t, struct name *n);

#endif

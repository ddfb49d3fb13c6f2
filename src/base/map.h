/* From text to a number: open addressing in an arena, never shrinking.
 *
 * The keys are not copied and must live as long as the map.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"
#include "base/str.h"

struct map_slot {
	struct str key;		/* key.s == NULL: free */
	uint64_t hash;
	size_t value;
};

struct map {
	struct map_slot *slots;
	size_t n, cap;
	uint64_t seed;
};

/* The slot of `key`, or NULL. */
struct map_slot *map_find(const struct map *m, struct str key);
/* The slot of `key`, made with `value` if it was not there (*ret_new says
 * which); NULL when there is no memory. */
struct map_slot *map_add(struct map *m, struct arena *a, struct str key, size_t value,
			 bool *ret_new) MUST_USE;

#endif

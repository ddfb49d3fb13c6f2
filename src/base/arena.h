/* Memory that is given back all at once.
 *
 * Long-lived data (a parsed text, a policy, a plan) lives in one arena each;
 * strings inside point into it.  An arena has a maximum from birth.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdalign.h>
#include <stddef.h>

#include "base/macros.h"

struct arena_block;

/* [AR1] The free part is zeros. */
struct arena {
	struct arena_block *head;
	char *next, *end;	/* free part of the newest block */
	size_t used, max;	/* bytes taken from the heap, and how many may be */
};

#define ARENA(max_bytes)	((struct arena){ .max = (max_bytes) })
/* One that begins with a room of its user's, and so mostly takes nothing from the heap. */
struct arena_room {
	alignas(16) char bytes[2048];
};
#define ARENA_IN(room, max_bytes)	((struct arena){					\
	.next = (room)->bytes, .end = (room)->bytes + sizeof((room)->bytes), .max = (max_bytes) })

void arena_release(struct arena *a);

/* Zeroed memory, or NULL when malloc or the arena's maximum says no. */
void *arena_new(struct arena *a, size_t n, size_t size) MUST_USE;
/* So much will be asked for: let the kernel give it at once.  Page by page it takes longer, and
 * what is read before it is written (the slots of a map) twice.  A hint. */
void arena_expect(struct arena *a, size_t n);
/* A NUL-terminated copy. */
char *arena_strndup(struct arena *a, const char *s, size_t n) MUST_USE;
char *arena_printf(struct arena *a, const char *fmt, ...) MUST_USE PRINTF_LIKE(2, 3);

/* Room for one more item in a growing array: returns the array (moved if it
 * had to grow; the old copy stays in the arena), or NULL.  `cap` is updated. */
void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size) MUST_USE;

#define cleanup_arena __attribute__((cleanup(arena_release)))

#endif

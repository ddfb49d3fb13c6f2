/* Bump allocation in growing blocks; see arena.h. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/copy.h"

#define ALIGN		16u

#ifndef MADV_POPULATE_WRITE	/* Linux 5.14 */
#define MADV_POPULATE_WRITE	23
#endif

/* So much is mapped by every C library: it comes as zeros, and costs a page once it is used. */
#define FIRST_BLOCK	(256u << 10)
#define LAST_BLOCK	(1u << 20)
#define PAGE		4096u		/* at least */

struct arena_block {
	struct arena_block *older;
	size_t size;
};

static_assert(sizeof(struct arena_block) % ALIGN == 0, "blocks must keep the alignment");

void arena_release(struct arena *a)
{
	while (a->head) {
		struct arena_block *older = a->head->older;

		free(a->head);
		a->head = older;
	}
	*a = ARENA(a->max);
}

static bool add_block(struct arena *a, size_t want)
{
	size_t size = a->head ? MIN(a->head->size * 2, LAST_BLOCK) : FIRST_BLOCK;
	size_t left = (a->max - a->used) & ~(size_t)(ALIGN - 1);
	struct arena_block *b;

	if (want > a->max)
		return false;
	size = MAX(MIN(size, left), want + sizeof(*b));
	if (size > a->max - a->used)
		return false;
	b = calloc(1, size);
	if (!b)
		return false;
	b->older = a->head;
	b->size = size;
	a->head = b;
	a->used += size;
	a->next = (char *)(b + 1);
	a->end = (char *)b + size;
	return true;
}

void arena_expect(struct arena *a, size_t n)
{
	uintptr_t from, to;

	if (!a->head && !add_block(a, n))
		return;
	from = ((uintptr_t)a->next + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	to = MIN((uintptr_t)a->next + n, (uintptr_t)a->end) & ~(uintptr_t)(PAGE - 1);
	if (to > from)
		(void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

/* All blocks and what is taken of them are multiples of it: so is what is left. */
static size_t padded(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

void *arena_new(struct arena *a, size_t n, size_t size)
{
	size_t want;
	void *p;

	if (__builtin_mul_overflow(n, size, &want) || want > SIZE_MAX / 2)
		return NULL;
	want = padded(want);
	if (want > (size_t)(a->end - a->next) && !add_block(a, want))
		return NULL;
	p = a->next;
	a->next += want;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = n < SIZE_MAX ? arena_new(a, n + 1, 1) : NULL;

	if (copy)
		copy_bytes(copy, s, n);
	return copy;
}

/* Most texts fit into what is left of the block, and are written once. */
char *arena_printf(struct arena *a, const char *fmt, ...)
{
	size_t room = (size_t)(a->end - a->next);
	char *text = a->next;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, room, fmt, args);
	va_end(args);
	if (n < 0)
		return NULL;
	if ((size_t)n < room) {
		a->next += padded((size_t)n + 1);
		return text;
	}
	text = arena_new(a, (size_t)n + 1, 1);
	if (!text) {
		if (room)
			memset(a->next, 0, room);	/* [AR1] */
		return NULL;
	}
	va_start(args, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, args);
	va_end(args);
	return text;
}

void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
	size_t wider;
	void *moved;

	if (n < *cap)
		return items;
	wider = *cap ? *cap * 2 : 4;
	moved = arena_new(a, wider, size);
	if (!moved)
		return NULL;
	if (n)
		memcpy(moved, items, n * size);
	*cap = wider;
	return moved;
}

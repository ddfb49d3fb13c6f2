/* Items whose number is not known yet: pushed one by one, taken as an array
 * of exactly their size.
 *
 * Containers nest, so one pile serves all that are open: an inner one takes
 * what it pushed before its outer one goes on.
 */
#ifndef TEXT_PILE_PRIV_H
#define TEXT_PILE_PRIV_H

#include "base/arena.h"
#include "base/err.h"

struct pile {
	char *items;		/* malloc'd */
	size_t n, cap, max;
	size_t item_bytes;
};

#define PILE(type, max_items) \
	((struct pile){ .max = (max_items), .item_bytes = sizeof(type) })

void pile_release(struct pile *p);
int pile_push(struct pile *p, const void *item, struct cordon_err *err) MUST_USE;
/* Move the items from number `base` on into the arena; NULL if there are none. */
int pile_take(struct pile *p, size_t base, struct arena *a, void **ret_items,
	      struct cordon_err *err) MUST_USE;

#endif

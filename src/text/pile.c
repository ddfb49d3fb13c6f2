/* Items on the way to an array; see pile_priv.h. */
#include "text/pile_priv.h"

#include <string.h>

void pile_release(struct pile *p)
{
	free(p->items);
	p->items = NULL;
	p->n = p->cap = 0;
}

int pile_push(struct pile *p, const void *item, struct cordon_err *err)
{
	if (p->n >= p->max)
		return err_nomem(err);
	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 32;
		char *items = realloc(p->items, cap * p->item_bytes);

		if (!items)
			return err_nomem(err);
		p->items = items;
		p->cap = cap;
	}
	memcpy(p->items + p->n * p->item_bytes, item, p->item_bytes);
	p->n++;
	return 0;
}

int pile_take(struct pile *p, size_t base, struct arena *a, void **ret_items,
	      struct cordon_err *err)
{
	size_t n = p->n - base;
	void *items = NULL;

	if (n) {
		items = arena_new(a, n, p->item_bytes);
		if (!items)
			return err_nomem(err);
		memcpy(items, p->items + base * p->item_bytes, n * p->item_bytes);
	}
	p->n = base;
	*ret_items = items;
	return 0;
}

/* Hash map of borrowed keys; see map.h.
 *
 * The seed is the address of the map's first table: it differs from run to
 * run, so a file cannot be written to collide.
 */
#include "base/map.h"

static struct map_slot *slot_of(const struct map *m, struct str key, uint64_t hash)
{
	size_t i = hash & (m->cap - 1);

	while (m->slots[i].key.s && (m->slots[i].hash != hash || !str_eq(m->slots[i].key, key)))
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

struct map_slot *map_find(const struct map *m, struct str key)
{
	struct map_slot *s;

	if (!m->cap)
		return NULL;
	s = slot_of(m, key, str_hash(key, m->seed));
	return s->key.s ? s : NULL;
}

static bool grow(struct map *m, struct arena *a)
{
	struct map wider = { .cap = m->cap ? m->cap * 2 : 8, .n = m->n };

	wider.slots = arena_new(a, wider.cap, sizeof(*wider.slots));
	if (!wider.slots)
		return false;
	wider.seed = m->seed ? m->seed : (uint64_t)(uintptr_t)wider.slots | 1;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key.s)
			*slot_of(&wider, m->slots[i].key,
				 str_hash(m->slots[i].key, wider.seed)) = m->slots[i];
	*m = wider;
	return true;
}

struct map_slot *map_add(struct map *m, struct arena *a, struct str key, size_t value,
			 bool *ret_new)
{
	struct map_slot *s;
	uint64_t hash;

	if (m->n * 4 >= m->cap * 3 && !grow(m, a))
		return NULL;
	hash = str_hash(key, m->seed);
	s = slot_of(m, key, hash);
	*ret_new = !s->key.s;
	if (*ret_new) {
		*s = (struct map_slot){ key.s ? key : STR(""), hash, value };
		m->n++;
	}
	return s;
}

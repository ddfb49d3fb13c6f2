/* The tables of a TOML text while it is read: nodes, an index over all of
 * them, and the rules [T1] to [T5] of toml_priv.h.
 *
 * Nodes are linked and never move; once the text has ended they become the
 * arrays of the value tree, each of exactly its size.
 */
#include "text/toml_priv.h"

#include "base/limits.h"

int toml_count(struct toml *t, struct spot spot)
{
	if (++t->n_nodes > MAX_TEXT_NODES)
		return toml_fail(t, spot, "the text has more than %u values; make it smaller",
				 MAX_TEXT_NODES);
	return 0;
}

int toml_count_container(struct toml *t, unsigned depth, struct spot spot)
{
	if (depth > MAX_TEXT_DEPTH)
		return toml_fail(t, spot, "tables and arrays are nested deeper than %d; "
				 "flatten them", MAX_TEXT_DEPTH);
	if (++t->n_containers > MAX_TEXT_CONTAINERS)
		return toml_fail(t, spot,
				 "the text has more than %u tables and arrays; make it smaller",
				 MAX_TEXT_CONTAINERS);
	return 0;
}

/* The node's address tells tables apart and seeds the hash: it differs from
 * run to run, so a text cannot be written to collide. */
static size_t slot_of(const struct toml_index *x, const struct toml_node *parent, struct str key)
{
	size_t i = str_hash(key, (uint64_t)(uintptr_t)parent) & (x->cap - 1);

	while (x->slots[i] && (x->slots[i]->parent != parent || !str_eq(x->slots[i]->key, key)))
		i = (i + 1) & (x->cap - 1);
	return i;
}

static struct toml_node *find(const struct toml *t, const struct toml_node *parent,
			      struct str key)
{
	return t->index.cap ? t->index.slots[slot_of(&t->index, parent, key)] : NULL;
}

static int index_grow(struct toml *t)
{
	struct toml_index wider = { .n = t->index.n, .cap = MAX(t->index.cap * 2, 64) };

	wider.slots = calloc(wider.cap, sizeof(struct toml_node *));
	if (!wider.slots)
		return err_nomem(t->err);
	for (size_t i = 0; i < t->index.cap; i++) {
		struct toml_node *node = t->index.slots[i];

		if (node)
			wider.slots[slot_of(&wider, node->parent, node->key)] = node;
	}
	free(t->index.slots);
	t->index = wider;
	return 0;
}

static int index_add(struct toml *t, struct toml_node *node)
{
	if (t->index.n * 4 >= t->index.cap * 3 && index_grow(t) < 0)
		return -1;
	t->index.slots[slot_of(&t->index, node->parent, node->key)] = node;
	t->index.n++;
	return 0;
}

static struct toml_node *add_child(struct toml *t, struct toml_node *parent,
				   const struct toml_key *key, enum toml_form form)
{
	struct toml_node *node;

	if (toml_count(t, key->spot) < 0)
		return NULL;
	if (form != TOML_CLOSED && toml_count_container(t, parent->depth + 1, key->spot) < 0)
		return NULL;
	node = arena_new(&t->scratch, 1, sizeof(*node));
	if (!node) {
		err_nomem(t->err);
		return NULL;
	}
	node->key = key->name;
	node->key_spot = key->spot;
	node->form = form;
	node->depth = (parent->depth + 1) & 0xffff;
	node->parent = parent;
	node->value.kind = form == TOML_ELEMENTS ? VALUE_ARRAY : VALUE_TABLE;
	node->value.line = key->spot.line;
	node->value.col = key->spot.col;
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->n_children++;
	return node;
}

static struct toml_node *add_named(struct toml *t, struct toml_node *parent,
				   const struct toml_key *key, enum toml_form form)
{
	struct toml_node *node = add_child(t, parent, key, form);

	return node && index_add(t, node) == 0 ? node : NULL;
}

struct toml_node *toml_node_new(struct toml *t, struct spot spot, unsigned depth)
{
	struct toml_node *node = arena_new(&t->scratch, 1, sizeof(*node));

	if (!node) {
		err_nomem(t->err);
		return NULL;
	}
	node->form = TOML_HEADER;
	node->depth = depth & 0xffff;
	node->value.kind = VALUE_TABLE;
	node->value.line = spot.line;
	node->value.col = spot.col;
	return node;
}

static struct toml_node *refuse_twice(struct toml *t, const struct toml_key *key,
				      const struct toml_node *first)
{
	toml_fail(t, key->spot, "the key '%s' is written twice (first on line %u); remove one",
		  text_show(key->name).text, first->key_spot.line);
	return NULL;
}

static struct toml_node *refuse_closed(struct toml *t, const struct toml_key *key,
				       const struct toml_node *closed)
{
	toml_fail(t, key->spot,
		  "'%s' is %s already (line %u), nothing can be added to it; use another key",
		  text_show(key->name).text, value_kind_words(closed->value.kind),
		  closed->key_spot.line);
	return NULL;
}

struct toml_node *toml_node_through(struct toml *t, struct toml_node *from,
				    const struct toml_key *key)
{
	struct toml_node *node = find(t, from, key->name);

	if (!node)
		return add_named(t, from, key, TOML_IMPLIED);
	if (node->form == TOML_CLOSED)
		return refuse_closed(t, key, node);
	return node->form == TOML_ELEMENTS ? node->last : node;
}

struct toml_node *toml_node_dotted(struct toml *t, struct toml_node *from,
				   const struct toml_key *key)
{
	struct toml_node *node = find(t, from, key->name);

	if (!node)
		return add_named(t, from, key, TOML_DOTTED);
	if (node->form == TOML_CLOSED)
		return refuse_closed(t, key, node);
	if (node->form == TOML_HEADER || node->form == TOML_ELEMENTS) {
		toml_fail(t, key->spot,
			  "the table '%s' has a header (line %u); write its keys below that",
			  text_show(key->name).text, node->key_spot.line);
		return NULL;
	}
	node->form = TOML_DOTTED;
	return node;
}

struct toml_node *toml_node_define(struct toml *t, struct toml_node *from,
				   const struct toml_key *key)
{
	struct toml_node *node = find(t, from, key->name);

	if (!node)
		return add_named(t, from, key, TOML_HEADER);
	if (node->form == TOML_IMPLIED) {
		node->form = TOML_HEADER;
		node->key_spot = key->spot;
		node->value.line = key->spot.line;
		node->value.col = key->spot.col;
		return node;
	}
	if (node->form == TOML_CLOSED)
		return refuse_closed(t, key, node);
	toml_fail(t, key->spot, node->form == TOML_ELEMENTS
		  ? "'%s' is an array of tables already (line %u); write [[...]] to add to it"
		  : "the table '%s' is defined twice (first on line %u); join the two",
		  text_show(key->name).text, node->key_spot.line);
	return NULL;
}

struct toml_node *toml_node_append(struct toml *t, struct toml_node *from,
				   const struct toml_key *key)
{
	struct toml_key element = { STR(""), key->spot };
	struct toml_node *node = find(t, from, key->name);

	if (!node)
		node = add_named(t, from, key, TOML_ELEMENTS);
	else if (node->form == TOML_CLOSED)
		node = refuse_closed(t, key, node);
	else if (node->form != TOML_ELEMENTS) {
		toml_fail(t, key->spot, "'%s' is a table already (line %u); write [...] or "
			  "use another key", text_show(key->name).text, node->key_spot.line);
		return NULL;
	}
	return node ? add_child(t, node, &element, TOML_HEADER) : NULL;
}

struct toml_node *toml_node_value(struct toml *t, struct toml_node *from,
				  const struct toml_key *key)
{
	struct toml_node *node = find(t, from, key->name);

	return node ? refuse_twice(t, key, node) : add_named(t, from, key, TOML_CLOSED);
}

static int close_table(struct toml *t, const struct toml_node *node, struct value *ret)
{
	struct member *members = NULL;
	size_t n = 0;

	if (node->n_children)
		members = arena_new(t->arena, node->n_children, sizeof(*members));
	if (node->n_children && !members)
		return err_nomem(t->err);
	for (const struct toml_node *c = node->first; c; c = c->next) {
		struct member *m = &members[n++];

		m->key = c->key;
		m->line = c->key_spot.line;
		m->col = c->key_spot.col;
		if (toml_node_close(t, c, &m->value) < 0)
			return -1;
	}
	ret->table.members = members;
	ret->table.n = n;
	return 0;
}

static int close_elements(struct toml *t, const struct toml_node *node, struct value *ret)
{
	struct value *items = arena_new(t->arena, node->n_children, sizeof(*items));
	size_t n = 0;

	if (!items)
		return err_nomem(t->err);
	for (const struct toml_node *c = node->first; c; c = c->next)
		if (toml_node_close(t, c, &items[n++]) < 0)
			return -1;
	ret->array.items = items;
	ret->array.n = n;
	return 0;
}

int toml_node_close(struct toml *t, const struct toml_node *node, struct value *ret)
{
	*ret = node->value;
	if (node->form == TOML_CLOSED)
		return 0;
	return node->form == TOML_ELEMENTS ? close_elements(t, node, ret) :
					     close_table(t, node, ret);
}

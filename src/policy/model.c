/* A policy in memory; see model.h. */
#include "policy/model.h"

#include "base/path.h"

bool policy_is_written(const struct policy *p, enum field_id id)
{
	const struct field_value *v = &p->base.f[id];

	return v->set && (!v->at.file || strcmp(v->at.file, "default") != 0);
}

void policy_init(struct policy *p, struct arena *arena)
{
	*p = (struct policy){ .arena = arena };
}

struct phase *policy_find_phase(const struct policy *p, struct str name)
{
	for (size_t i = 0; i < p->n_phases; i++)
		if (str_eq(p->phases[i].name, name))
			return &p->phases[i];
	return NULL;
}

struct phase *policy_add_phase(struct policy *p, struct str name, struct place at)
{
	struct phase *phase = policy_find_phase(p, name);
	struct phase *phases;
	size_t i;

	if (phase)
		return phase;
	phases = arena_grow(p->arena, p->phases, p->n_phases, &p->cap_phases, sizeof(*phases));
	if (!phases)
		return NULL;
	p->phases = phases;
	for (i = p->n_phases++; i > 0 && str_cmp(phases[i - 1].name, name) > 0; i--)
		phases[i] = phases[i - 1];
	phases[i] = (struct phase){ .name = name, .at = at };
	return &phases[i];
}

struct item *field_value_add(struct field_value *v, struct arena *a)
{
	struct item *items;

	if (v->n >= MAX_LIST_ITEMS)
		return NULL;
	items = arena_grow(a, v->items, v->n, &v->cap, sizeof(*items));
	if (!items)
		return NULL;
	v->items = items;
	v->items[v->n] = (struct item){ 0 };
	return &v->items[v->n++];
}

bool field_value_is_shared(const struct field_value *a, const struct field_value *b)
{
	return a->set && b->set && a->items && a->items == b->items && a->n == b->n;
}

bool section_implies(const struct section *s, enum field_id id)
{
	const struct field_value *mode = &s->f[F_NETWORK_MODE], *v = &s->f[id];

	if (!mode->set || mode->number == NETWORK_PUBLIC || !v->set)
		return false;
	return (field_leads_out(id) && !v->n) ||
	       (id == F_NETWORK_TLS && v->number == TLS_STRICT);
}

/* Orders in which what implies an entry stands right before it: all below a
 * directory follows it ("/a", "/a/c", "/a-b"), and all that PREFIX* matches,
 * PREFIX itself too, follows PREFIX*. */
static int cmp_ranked(struct str a, struct str b, char low, int end)
{
	size_t i = 0;
	int x, y;

	while (i < a.n && i < b.n && a.s[i] == b.s[i])
		i++;
	x = i == a.n ? end : a.s[i] == low ? 1 : 3 + (unsigned char)a.s[i];
	y = i == b.n ? end : b.s[i] == low ? 1 : 3 + (unsigned char)b.s[i];
	return x - y;
}

int item_cmp(enum field_kind kind, const struct item *a, const struct item *b)
{
	switch (kind) {
	case KIND_ALLOW_HOSTS:
	case KIND_DENY_HOSTS:
	case KIND_ENDPOINTS:
		return host_rule_cmp(a->host, b->host);
	case KIND_PORTS:
		return (a->port > b->port) - (a->port < b->port);
	case KIND_ROOTS:
		return cmp_ranked(a->text, b->text, '/', 0);
	case KIND_ENV_NAMES:
		return cmp_ranked(a->text, b->text, '*', 2);
	default:
		return str_cmp(a->text, b->text);
	}
}

bool item_implies(enum field_kind kind, const struct item *a, const struct item *b)
{
	switch (kind) {
	case KIND_ROOTS:
		return path_within(b->text.s, a->text.s);
	case KIND_ENV_NAMES:
		return str_glob(a->text, b->text);
	case KIND_PROTOCOLS:
		return str_is(a->text, field_words(kind)[PROTOCOL_ANY]) || str_eq(a->text, b->text);
	default:
		return item_cmp(kind, a, b) == 0;
	}
}

static void merge_items(const struct item **to, const struct item *const *a, size_t n_a,
			const struct item *const *b, size_t n_b, enum field_kind kind)
{
	while (n_a && n_b)
		if (item_cmp(kind, *b, *a) < 0)
			*to++ = *b++, n_b--;
		else
			*to++ = *a++, n_a--;
	memcpy(to, a, n_a * sizeof(*to));
	memcpy(to + n_a, b, n_b * sizeof(*to));
}

/* By merging pointers: qsort() of musl moves whole items, and compares twice as often. */
static int sort_items(struct field_value *v, enum field_kind kind, struct cordon_err *err)
{
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	const struct item **from = arena_new(&scratch, v->n, sizeof(*from));
	const struct item **to = arena_new(&scratch, v->n, sizeof(*to)), **other;
	struct item *sorted = arena_new(&scratch, v->n, sizeof(*sorted));

	if (!from || !to || !sorted)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++)
		from[i] = &v->items[i];
	for (size_t run = 1; run < v->n; run *= 2) {
		for (size_t i = 0; i < v->n; i += 2 * run) {
			size_t n_a = MIN(run, v->n - i), n_b = MIN(run, v->n - i - n_a);

			merge_items(to + i, from + i, n_a, from + i + n_a, n_b, kind);
		}
		other = from;
		from = to;
		to = other;
	}
	for (size_t i = 0; i < v->n; i++)
		sorted[i] = *from[i];
	memcpy(v->items, sorted, v->n * sizeof(*sorted));
	return 0;
}

/* Host lists: an entry covered by another one goes.  In a deny list `*`
 * covers addresses as well, which host_rule_covers() does not know; keeping
 * both there changes nothing in meaning. */
static int drop_covered_hosts(struct field_value *v, struct arena *a, struct cordon_err *err)
{
	cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
	struct host_rule *rules = arena_new(&scratch, v->n + 1, sizeof(*rules));
	struct host_meets reduced;
	struct item *out;

	if (!rules)
		return err_nomem(err);
	for (size_t i = 0; i < v->n; i++)
		rules[i] = *v->items[i].host;
	if (host_rules_reduce((struct host_rules){ rules, v->n }, &scratch, &reduced, err) < 0)
		return -1;
	out = arena_new(a, reduced.n + 1, sizeof(*out));
	if (!out)
		return err_nomem(err);
	for (size_t i = 0; i < reduced.n; i++)
		out[i] = v->items[reduced.items[i].a];
	*v = (struct field_value){ .set = true, .at = v->at, .items = out,
				   .n = reduced.n, .cap = reduced.n };
	return 0;
}

int field_value_canonical(enum field_id id, struct field_value *v, struct arena *a,
			  struct cordon_err *err)
{
	enum field_kind kind = fields[id].kind;
	size_t kept = 0;

	if (v->n < 2)
		return 0;
	if (sort_items(v, kind, err) < 0)
		return -1;
	for (size_t i = 0; i < v->n; i++)
		if (!kept || !item_implies(kind, &v->items[kept - 1], &v->items[i]))
			v->items[kept++] = v->items[i];
	v->n = kept;
	if (kind == KIND_ALLOW_HOSTS || kind == KIND_DENY_HOSTS)
		return drop_covered_hosts(v, a, err);
	return 0;
}

bool field_value_eq(enum field_id id, const struct field_value *a, const struct field_value *b)
{
	enum field_kind kind = fields[id].kind;

	if (a->set != b->set)
		return false;
	if (!a->set || field_value_is_shared(a, b))
		return true;
	if (a->number != b->number || !str_eq(a->text, b->text) || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (item_cmp(kind, &a->items[i], &b->items[i]) != 0 ||
		    (field_shape(kind) == SHAPE_MAP &&
		     !str_eq(a->items[i].value, b->items[i].value)))
			return false;
	return true;
}

static bool section_eq(const struct section *a, const struct section *b)
{
	for (int id = 0; id < N_FIELDS; id++)
		if (!field_value_eq((enum field_id)id, &a->f[id], &b->f[id]))
			return false;
	return true;
}

bool policy_eq(const struct policy *a, const struct policy *b)
{
	if (a->n_phases != b->n_phases || !section_eq(&a->base, &b->base))
		return false;
	for (size_t i = 0; i < a->n_phases; i++)
		if (!str_eq(a->phases[i].name, b->phases[i].name) ||
		    !section_eq(&a->phases[i].section, &b->phases[i].section))
			return false;
	return true;
}

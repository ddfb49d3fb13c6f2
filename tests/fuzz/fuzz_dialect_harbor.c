/* task.toml: a policy that reads prints and writes to texts that read alike,
 * and a trial of any text gets a verdict. */
#include "policy/dialect/dialect.h"
#include "policy/print.h"
#include "policy/trial_plan.h"

#include "target.h"

/* A policy with all it points to. */
struct reading {
	struct arena arena;
	struct diags diags;
	struct policy policy;
};

static void reading_release(struct reading *r)
{
	arena_release(&r->arena);
	diags_release(&r->diags);
}

#define cleanup_reading __attribute__((cleanup(reading_release)))

static bool read_policy(struct reading *ret, const struct dialect *d, struct str text)
{
	struct source src = { "task.toml", text };
	struct reader r = { .policy = &ret->policy, .diags = &ret->diags, .file = src.name,
			    .base_dir = "/" };
	struct cordon_err err;
	struct value root;

	*ret = (struct reading){ .arena = ARENA(64u << 20), .diags = DIAGS };
	policy_init(&ret->policy, &ret->arena);
	if (d->parse(&src, &ret->arena, &root, &err) < 0)
		return false;
	d->read(&r, &root);
	return read_finish(&r) == 0;
}

static void check_same(const struct policy *p, const struct dialect *d, const struct buf *text)
{
	cleanup_reading struct reading again;
	cleanup_buf struct buf first = BUF(MAX_OUTPUT_BYTES), second = BUF(MAX_OUTPUT_BYTES);

	if (!buf_ok(text))
		return;
	if (!read_policy(&again, d, (struct str){ buf_text(text), text->n }))
		BUG("a printed policy that does not read");
	if (!policy_eq(p, &again.policy))
		BUG("a printed policy that reads as another one");
	policy_print(p, false, &first);
	policy_print(&again.policy, false, &second);
	if (strcmp(buf_text(&first), buf_text(&second)) != 0)
		BUG("equal policies that print differently");
}

static void fuzz_policy(struct str text)
{
	cleanup_reading struct reading one;
	cleanup_buf struct buf native = BUF(MAX_OUTPUT_BYTES), written = BUF(MAX_OUTPUT_BYTES);

	if (!read_policy(&one, &dialect_harbor, text))
		return;
	policy_print(&one.policy, false, &native);
	check_same(&one.policy, &dialect_cordon, &native);
	if (dialect_harbor.write(&one.policy, &written, &one.diags) == 0)
		check_same(&one.policy, &dialect_harbor, &written);
}

static void fuzz_trial(struct str text, const struct trial_capabilities *can)
{
	static const char *const hosts[] = { "api.example.com", "*.example.org" };
	const struct trial_check_options o = {
		.capabilities = can,
		.agent_hosts = hosts,
		.n_agent_hosts = 2,
		.environment_hosts = hosts,
		.n_environment_hosts = 1,
	};
	struct source src = { "task.toml", text };
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out json = { .out = &out };
	struct cordon_err err;
	bool accepted;

	if (trial_check(&src, &o, &json, &accepted, &err) < 0 && err.code != CORDON_E_NOMEM)
		BUG("a trial without a verdict");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct trial_capabilities none;
	struct str text = { (const char *)data, n };

	fuzz_policy(text);
	fuzz_trial(text, &none);
	fuzz_trial(text, NULL);
	return 0;
}

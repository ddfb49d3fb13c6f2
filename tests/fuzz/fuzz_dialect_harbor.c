/* task.toml: a policy that reads prints and writes to texts that read alike,
 * and a trial of any text gets a verdict. */
#include "dialect.h"
#include "../trial_verdict.h"

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
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct cordon_err err;
	bool accepted;

	if (print_verdict(text, &o, &out, &accepted, &err) < 0 && err.code != CORDON_E_NOMEM)
		BUG("a trial without a verdict");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct trial_capabilities none;
	struct str text = { (const char *)data, n };

	dialect_check(&dialect_harbor, text);
	fuzz_trial(text, &none);
	fuzz_trial(text, NULL);
	return 0;
}

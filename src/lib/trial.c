/* Tasks as data: could this one run? */
#include "lib/answer.h"
#include "lib/backend.h"
#include "policy/trial_plan.h"

int cordon_trial_check(const char *file, const struct cordon_trial_options *options,
		       struct cordon_answer *ret, struct cordon_err *err)
{
	struct cordon_request req = CORDON_REQUEST;
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct json_out j = { .out = &out };
	struct trial_capabilities capabilities;
	struct trial_check_options o = {
		.capabilities = &capabilities,
		.agent_hosts = options->agent_hosts,
		.n_agent_hosts = options->n_agent_hosts,
		.environment_hosts = options->environment_hosts,
		.n_environment_hosts = options->n_environment_hosts,
	};
	struct source src;
	bool accepted;

	if (composition_init(&c, &req, err) < 0)
		return -1;
	if (options->size != sizeof(*options))
		return err_set(err, CORDON_E_USAGE,
			       "the options are of another version of cordon.h");
	if (options->capabilities
		    ? trial_capabilities_parse(str_from(options->capabilities), &capabilities,
					       err) < 0
		    : backend_probe_capabilities(NULL, &capabilities, err) < 0)
		return -1;
	if (compose_read_source(&c, file, &src) < 0)
		return answer_fill(ret, false, NULL, &c, -1, err);
	if (trial_check(&src, &o, &j, &accepted, err) < 0)
		return -1;
	buf_putc(&out, '\n');
	return answer_fill(ret, accepted, &out, &c, 0, err);
}

/* The control socket: the bytes as a message; what is accepted can be read to its
 * end. */
#include <stdlib.h>
#include <string.h>

#include "super/control.h"
#include "super/result_message.h"
#include "target.h"

static void check_lists(const struct control_message *m)
{
	cleanup_arena struct arena a = ARENA(64 << 20);
	size_t bytes = 0;

	for (size_t i = 0; i < N_CONTROL_LISTS; i++) {
		const char *const *list = control_list(m, i, &a);

		if (!list || list[m->head.counts[i]])
			BUG("a list of another length");
		for (size_t k = 0; k < m->head.counts[i]; k++)
			bytes += strlen(list[k]) + 1;
		if (control_text(m, i, m->head.counts[i]))
			BUG("a text behind the last one");
	}
	if (bytes != m->head.n_bytes)
		BUG("texts that are in no list");
}

static void check_result(const struct control_message *m)
{
	cleanup_arena struct arena a = ARENA(64 << 20);
	struct plan plan = { .argv = NULL };
	struct run_result res;
	struct cordon_err err;

	run_result_init(&res);
	if (result_message_take(m, &a, &res, &plan, &err) == 0 && res.limit >= N_LIMIT_KINDS)
		BUG("a limit that is none");
	run_result_release(&res);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_message m = CONTROL_MESSAGE;
	struct cordon_err err = { 0 };

	if (control_check(data, size, &err) < 0) {
		if (!err.msg[0])
			BUG("refused without a word");
		return 0;
	}
	memcpy(&m.head, data, sizeof(m.head));
	if (m.head.outside)
		return 0;
	m.texts = malloc(m.head.n_bytes + 1);
	if (!m.texts)
		return 0;
	memcpy(m.texts, data + sizeof(m.head), m.head.n_bytes);
	check_lists(&m);
	if (m.head.type == CONTROL_RESULT)
		check_result(&m);
	control_release(&m);
	return 0;
}

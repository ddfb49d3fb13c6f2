/* Shell text against blocked commands.
 *
 * The first line holds rules, separated by 0x1f; the rest is the text.  A rule that is added
 * at the end changes nothing where another one is found.
 */
#include "policy/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_RULES	8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = ARENA(1u << 20);
	struct str all = { (const char *)data, size };
	struct str head = str_first(all, str_find(all, '\n'));
	struct str text = str_from_pos(all, head.n < all.n ? head.n + 1 : head.n);
	struct command_rule rules[MAX_RULES + 1];
	const struct command_rule *few, *more;
	struct cordon_err err;
	char why[COMMAND_WHY];
	size_t n = 0;

	while (n < MAX_RULES) {
		size_t end = str_find(head, '\x1f');

		if (command_rule_parse(str_first(head, end), &a, &rules[n], why) == 0)
			n++;
		if (end == head.n)
			break;
		head = str_from_pos(head, end + 1);
	}
	if (command_rule_parse(STR("curl"), &a, &rules[n], why) < 0)
		abort();
	if (command_text_find(rules, n, text, &few, &err) < 0 ||
	    command_text_find(rules, n + 1, text, &more, &err) < 0)
		abort();
	if (few && more != few)
		abort();
	if (few && (few < rules || few >= rules + n))
		abort();
	return 0;
}

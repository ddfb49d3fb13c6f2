/* The YAML reader.  The front matter is put around the input, as a fuzzer
 * would find the second fence only by chance; the bare input is read as well. */
#include "target.h"
#include "text_tree.h"

#include "base/buf.h"

static bool stands(struct str rest, const struct str *key, const struct value *value)
{
	/* Nothing may stand for null, and folding changes strings. */
	(void)rest;
	return key ? true : value->kind != VALUE_TIME;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf whole = BUF(size + 16);

	check_text(yaml_parse_front_matter, (struct str){ (const char *)data, size }, stands);
	buf_puts(&whole, "---\n");
	buf_add(&whole, (const char *)data, size);
	buf_puts(&whole, "\n---\n");
	check_text(yaml_parse_front_matter, (struct str){ buf_text(&whole), whole.n }, stands);
	return 0;
}

/* Paths; see path.h. */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/buf.h"

#define MAX_LINKS	40	/* as the kernel */

/* Append one component to a normal path held in `out` ("" is the root). */
static void push(struct buf *out, struct str part)
{
	if (part.n == 0 || str_is(part, "."))
		return;
	if (str_is(part, "..")) {
		while (out->n && out->data[--out->n] != '/')
			;
		if (out->data)
			out->data[out->n] = '\0';
		return;
	}
	buf_putc(out, '/');
	buf_str(out, part);
}

static char *finish(struct arena *a, struct buf *out)
{
	if (!out->n)
		buf_putc(out, '/');
	return buf_ok(out) ? arena_strndup(a, out->data, out->n) : NULL;
}

static struct str next_part(struct str *rest)
{
	size_t n = str_find(*rest, '/');
	struct str part = str_first(*rest, n);

	*rest = str_from_pos(*rest, n < rest->n ? n + 1 : n);
	return part;
}

char *path_normal(struct arena *a, struct str path, const char *base)
{
	cleanup_buf struct buf out = BUF(4 * PATH_MAX);
	struct str from = str_from(base);

	if (!str_starts(path, "/"))
		while (from.n)
			push(&out, next_part(&from));
	while (path.n)
		push(&out, next_part(&path));
	return finish(a, &out);
}

/* Follow the links of `path`, which starts at what `out` holds. */
static int follow(struct buf *out, struct str path, unsigned *links, struct cordon_err *err)
{
	while (path.n) {
		struct str part = next_part(&path);
		char target[PATH_MAX];
		ssize_t n;

		push(out, part);
		if (!buf_ok(out))
			return err_set(err, CORDON_E_POLICY, "the path is too long");
		if (!part.n || str_is(part, ".") || str_is(part, ".."))
			continue;
		n = readlink(out->data, target, sizeof(target));
		if (n < 0)
			continue;	/* no link, or nothing there */
		if ((size_t)n == sizeof(target) || ++*links > MAX_LINKS)
			return err_set(err, CORDON_E_POLICY, "too many symbolic links in '%s'",
				       out->data);
		push(out, STR(".."));
		if (target[0] == '/')
			buf_clear(out);
		if (follow(out, (struct str){ target, (size_t)n }, links, err) < 0)
			return -1;
	}
	return 0;
}

int path_resolve(struct arena *a, struct str path, const char *base, const char **ret,
		 struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(4 * PATH_MAX);
	unsigned links = 0;

	if (!str_starts(path, "/") && follow(&out, str_from(base), &links, err) < 0)
		return -1;
	if (follow(&out, path, &links, err) < 0)
		return -1;
	*ret = finish(a, &out);
	return *ret ? 0 : err_nomem(err);
}

bool path_within(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	if (strcmp(outer, "/") == 0)
		return inner[0] == '/';
	return strncmp(inner, outer, n) == 0 && (inner[n] == '\0' || inner[n] == '/');
}

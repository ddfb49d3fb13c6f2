/* Paths; see path.h. */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/copy.h"

#define MAX_LINKS	40	/* as the kernel */
#define USUAL_PATH	256

/* Append one component to a normal path held in `out` ("" is the root). */
static void push(struct buf *out, struct str part)
{
	if (part.n == 0 || str_is(part, "."))
		return;
	if (str_is(part, "..")) {
		while (out->n && out->data[--out->n] != '/')
			;
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
	char room[USUAL_PATH];
	cleanup_buf struct buf out = BUF_IN(room, 4 * PATH_MAX);
	struct str from = str_from(base);

	if (!str_starts(path, "/"))
		while (from.n)
			push(&out, next_part(&from));
	while (path.n)
		push(&out, next_part(&path));
	return finish(a, &out);
}

/* A path on its way to being resolved. */
struct walk {
	struct buf out;
	unsigned links;
	size_t missing;		/* length of the first part that is not there; 0: all is */
};

/* One more part; what lies below something missing is not asked for. */
static void step(struct walk *w, struct str part)
{
	push(&w->out, part);
	if (w->out.n < w->missing)
		w->missing = 0;		/* `..` went above it */
}

/* What the last part links to; 0 when it is no link, or not there. */
static size_t read_link(struct walk *w, char target[PATH_MAX])
{
	ssize_t n;

	if (w->missing && w->out.n > w->missing)
		return 0;
	n = readlink(w->out.data, target, PATH_MAX);
	if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
		w->missing = w->out.n;
	return n < 0 ? 0 : (size_t)n;
}

/* Follow the links of `path`, which starts at what the walk has so far. */
static int follow(struct walk *w, struct str path, struct cordon_err *err)
{
	while (path.n) {
		struct str part = next_part(&path);
		char target[PATH_MAX];
		size_t n;

		step(w, part);
		if (!buf_ok(&w->out))
			return err_set(err, CORDON_E_POLICY, "the path is too long");
		if (!part.n || str_is(part, ".") || str_is(part, ".."))
			continue;
		n = read_link(w, target);
		if (!n)
			continue;
		if (n == sizeof(target) || ++w->links > MAX_LINKS)
			return err_set(err, CORDON_E_POLICY, "too many symbolic links in '%s'",
				       w->out.data);
		step(w, STR(".."));
		if (target[0] == '/') {
			buf_clear(&w->out);
			w->missing = 0;
		}
		if (follow(w, (struct str){ target, n }, err) < 0)
			return -1;
	}
	return 0;
}

static void walk_release(struct walk *w)
{
	buf_release(&w->out);
}

int path_resolve(struct arena *a, struct str path, const char *base, const char **ret,
		 struct cordon_err *err)
{
	char room[USUAL_PATH];
	__attribute__((cleanup(walk_release))) struct walk w = {
		.out = BUF_IN(room, 4 * PATH_MAX) };

	if (!str_starts(path, "/") && follow(&w, str_from(base), err) < 0)
		return -1;
	if (follow(&w, path, err) < 0)
		return -1;
	*ret = finish(a, &w.out);
	return *ret ? 0 : err_nomem(err);
}

/* `..` is taken back by text alone: true where that is what the kernel does. */
static int leads_alike(struct arena *a, const char *path, const char *other, bool *ret,
		       struct cordon_err *err)
{
	const char *one, *two;

	if (path_resolve(a, str_from(path), "/", &one, err) < 0 ||
	    path_resolve(a, str_from(other), "/", &two, err) < 0)
		return -1;
	*ret = strcmp(one, two) == 0;
	return 0;
}

int path_follow(struct arena *a, const char *path, const char **ret, struct cordon_err *err)
{
	char part[PATH_MAX], target[PATH_MAX];
	const char *next = NULL;
	bool alike = true;

	for (size_t folder = 0, n; !next && path[folder]; folder = n) {
		ssize_t got;

		n = folder + 1 + strcspn(path + folder + 1, "/");
		if (n >= sizeof(part))
			break;
		memcpy(part, path, n);
		part[n] = '\0';
		got = readlink(part, target, sizeof(target));
		if (got <= 0 || got == (ssize_t)sizeof(target))
			continue;
		part[folder] = '\0';
		next = arena_printf(a, "%.*s%s", (int)got, target, path + n);
		next = next ? path_normal(a, str_from(next), folder ? part : "/") : NULL;
		if (!next)
			return err_nomem(err);
	}
	if (next && leads_alike(a, path, next, &alike, err) < 0)
		return -1;
	*ret = alike ? next : NULL;
	return 0;
}

int path_follow_all(struct arena *a, const char *path, path_act_fn *act, void *data,
		    struct cordon_err *err)
{
	for (int i = 0; i <= MAX_LINKS; i++) {
		if (act(data, path, err) < 0 || path_follow(a, path, &path, err) < 0)
			return -1;
		if (!path)
			return 0;
	}
	return err_set(err, CORDON_E_POLICY, "there are over %d links on the way to '%s'",
		       MAX_LINKS, path);
}

/* A plan joins hundreds of paths, and asks thousands of times which lies in which. */
char *path_join(struct arena *a, const char *base, const char *name)
{
	size_t n_base = strcmp(base, "/") == 0 ? 0 : strlen(base), n_name = strlen(name);
	char *path = arena_new(a, n_base + n_name + 2, 1);

	if (!path)
		return NULL;
	copy_bytes(path, base, n_base);
	path[n_base] = '/';
	copy_bytes(path + n_base + 1, name, n_name + 1);
	return path;
}

bool path_within(const char *inner, const char *outer)
{
	if (outer[0] == '/' && !outer[1])
		return inner[0] == '/';
	while (*outer && *inner == *outer) {
		inner++;
		outer++;
	}
	return !*outer && (!*inner || *inner == '/');
}

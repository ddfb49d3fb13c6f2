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

/* ---- each name on the way ------------------------------------------------------ */

/* A text on its way, from a folder that no link leads to. */
struct stage {
	struct str folder, text;
	struct str out, rest;		/* up to the first link in it, and behind */
	bool has_link;
	char target[PATH_MAX];		/* of that link */
	size_t n_target;
};

static bool is_self(struct str part)
{
	return !part.n || str_is(part, ".");
}

/* Is the name before this text taken back in it? */
static bool is_taken_back(struct str text)
{
	size_t depth = 1;

	while (text.n && depth) {
		struct str part = next_part(&text);

		if (str_is(part, ".."))
			depth--;
		else if (!is_self(part))
			depth++;
	}
	return !depth;
}

static int visit_back(struct arena *a, const struct path_visitor *v, struct str path,
		      struct cordon_err *err)
{
	const char *name = v->back ? arena_strndup(a, path.s, path.n) : "";

	if (!name)
		return err_nomem(err);
	return v->back ? v->back(v->data, name, err) : 0;
}

/* What a text leads to by the folders that it begins with, and none of them is a link. */
struct plain_walk {
	struct buf out;
	size_t n_names;			/* of the text, and not taken back */
};

/* One more part: bytes of what it links to, 0, or -1. */
static ssize_t step_plain(struct arena *a, struct plain_walk *w, struct str part, char *target,
			  const struct path_visitor *v, struct cordon_err *err)
{
	ssize_t n;

	if (is_self(part))
		return 0;
	if (str_is(part, "..")) {
		struct str name = { w->out.data, w->out.n };

		if (w->n_names && w->n_names-- && visit_back(a, v, name, err) < 0)
			return -1;
		push(&w->out, part);
		return 0;
	}
	push(&w->out, part);
	w->n_names++;
	if (!buf_ok(&w->out))
		return err_set(err, CORDON_E_POLICY, "the path is too long");
	n = readlink(w->out.data, target, PATH_MAX);
	return n == PATH_MAX ? 0 : MAX(n, 0);
}

static void plain_walk_release(struct plain_walk *w)
{
	buf_release(&w->out);
}

/* Up to the first link; names that are taken back on the way are visited. */
static int walk_to_link(struct arena *a, struct stage *st, const struct path_visitor *v,
			struct cordon_err *err)
{
	char room[USUAL_PATH];
	__attribute__((cleanup(plain_walk_release))) struct plain_walk w = {
		.out = BUF_IN(room, 4 * PATH_MAX) };
	ssize_t n = 0;

	if (!str_starts(st->text, "/"))
		buf_str(&w.out, st->folder);
	st->rest = st->text;
	while (st->rest.n && n == 0)
		n = step_plain(a, &w, next_part(&st->rest), st->target, v, err);
	while (str_starts(st->rest, "/"))
		st->rest = str_from_pos(st->rest, 1);
	if (n < 0)
		return -1;
	st->has_link = n > 0;
	st->n_target = (size_t)n;
	st->out.n = w.out.n;
	st->out.s = arena_strndup(a, w.out.n ? w.out.data : "", w.out.n);
	return st->out.s ? 0 : err_nomem(err);
}

/* The whole text by the link's name, unless that is taken back: then the name alone. */
static int visit_stage(struct arena *a, const struct stage *st, const struct path_visitor *v,
		       struct cordon_err *err)
{
	const char *whole;

	if (st->has_link && is_taken_back(st->rest))
		return visit_back(a, v, st->out, err);
	whole = path_normal(a, st->rest, st->out.s);
	return whole ? v->act(v->data, whole, err) : err_nomem(err);
}

/* The text with what the link says in its place. */
static int enter_link(struct arena *a, struct stage *st, struct cordon_err *err)
{
	char *text = arena_printf(a, "%.*s/%.*s", (int)st->n_target, st->target, (int)st->rest.n,
				  st->rest.s);
	size_t slash = st->out.n;

	if (!text)
		return err_nomem(err);
	while (slash && st->out.s[--slash] != '/')
		;
	st->folder = str_first(st->out, slash);
	st->text = str_from(text);
	return 0;
}

int path_follow_all(struct arena *a, struct str path, const char *base,
		    const struct path_visitor *v, struct cordon_err *err)
{
	struct stage st = { .text = path };
	const char *folder = "/";

	if (!str_starts(path, "/") && path_resolve(a, str_from(base), "/", &folder, err) < 0)
		return -1;
	st.folder = str_from(folder[1] ? folder : "");
	for (int i = 0; i <= MAX_LINKS; i++) {
		if (walk_to_link(a, &st, v, err) < 0 || visit_stage(a, &st, v, err) < 0)
			return -1;
		if (!st.has_link)
			return 0;
		if (enter_link(a, &st, err) < 0)
			return -1;
	}
	return err_set(err, CORDON_E_POLICY, "there are over %d links on the way to '%.*s'",
		       MAX_LINKS, STR_FMT(path));
}

/* ---- joining -------------------------------------------------------------------- */

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

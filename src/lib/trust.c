/* The record of trusted policies; see trust.h.
 *
 * $XDG_STATE_HOME/cordon/trust has a line for each: the SHA-256 of the text and the path.
 * The folder is that of the default log, which is hidden from every cordon.  The file is
 * made anew for each change and renamed over the old one.
 */
#include "lib/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/place.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sha256.h"
#include "lib/accounts.h"
#include "lib/answer.h"
#include "lib/narrow.h"

#define TRUST_FILE	"trust"
#define TRUST_NEW	"trust.new"

/* A line of the record. */
struct trusted {
	struct str hash, path;
};

/* The record, open for the time of one call. */
struct record_file {
	char folder[MAX_AUDIT_PATH];
	int dir;		/* or -1 */
	struct str text;
};

static bool next_line(struct str *rest, struct trusted *ret)
{
	while (rest->n) {
		size_t n = str_find(*rest, '\n');
		struct str line = str_first(*rest, n);
		size_t gap = str_find(line, ' ');

		*rest = str_from_pos(*rest, n < rest->n ? n + 1 : n);
		if (gap != SHA256_HEX - 1 || gap + 1 >= line.n)
			continue;
		*ret = (struct trusted){ str_first(line, gap), str_from_pos(line, gap + 1) };
		return true;
	}
	return false;
}

static void hash_text(struct str text, char ret[SHA256_HEX])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, text);
	sha256_print(&sha, ret);
}

static bool find_folder(struct composition *c, char ret[MAX_AUDIT_PATH])
{
	const struct audit_homes homes = { getenv("XDG_STATE_HOME"), c->home,
					   account_find_home(&c->arena) };

	return audit_find_folder(&homes, ret);
}

/* Only a file that no other user can have written counts. */
static int read_record(struct composition *c, struct record_file *f, struct cordon_err *err)
{
	cleanup_fd int fd = openat(f->dir, TRUST_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
						       O_NOCTTY | O_CLOEXEC);
	struct stat st;

	f->text = STR("");
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s/" TRUST_FILE "'", f->folder);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) ||
	    st.st_nlink != 1)
		return err_set(err, CORDON_E_SETUP,
			       "'%s/" TRUST_FILE "' is not a file that this user alone can write; "
			       "remove it, and trust the policies again", f->folder);
	return fd_read_text(fd, TRUST_FILE, MAX_SOURCE_BYTES, &c->arena, &f->text, err);
}

bool trust_has(struct composition *c, const char *path, struct str text)
{
	struct record_file f;
	struct cordon_err ignored;
	struct trusted line;
	char hash[SHA256_HEX];
	bool has = false;

	if (!find_folder(c, f.folder))
		return false;
	f.dir = audit_folder_get(f.folder, false, &ignored);
	if (f.dir < 0)
		return false;
	hash_text(text, hash);
	if (read_record(c, &f, &ignored) == 0)
		for (struct str rest = f.text; !has && next_line(&rest, &line);)
			has = str_is(line.path, path) && str_is(line.hash, hash);
	fd_close(&f.dir);
	return has;
}

/* ---- changing it --------------------------------------------------------- */

/* For one process at a time: the folder's lock goes with the descriptor. */
static int open_record(struct composition *c, struct record_file *f, struct cordon_err *err)
{
	cleanup_fd int path = -1;

	f->dir = -1;
	f->text = STR("");
	if (!find_folder(c, f->folder))
		return err_set(err, CORDON_E_SETUP, "there is no place to record trust: neither "
			       "XDG_STATE_HOME nor HOME is a directory of this user");
	path = audit_folder_get(f->folder, true, err);
	if (path < 0)
		return -1;
	f->dir = openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0 || flock(f->dir, LOCK_EX) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot lock '%s'", f->folder);
	return read_record(c, f, err);
}

static int write_record(const struct record_file *f, const struct buf *lines,
			struct cordon_err *err)
{
	cleanup_fd int fd = -1;

	unlinkat(f->dir, TRUST_NEW, 0);
	fd = openat(f->dir, TRUST_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    write(fd, buf_text(lines), lines->n) != (ssize_t)lines->n || fsync(fd) < 0 ||
	    renameat(f->dir, TRUST_NEW, f->dir, TRUST_FILE) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s/" TRUST_FILE "'", f->folder);
	return 0;
}

/* The record without `path`, and with `hash` for it where that is not NULL. */
static int replace_line(struct composition *c, const char *path, const char *hash, bool *ret_was,
			struct cordon_err *err)
{
	cleanup_buf struct buf lines = BUF(MAX_SOURCE_BYTES);
	struct record_file f;
	struct trusted line;
	int rc = open_record(c, &f, err);

	*ret_was = false;
	for (struct str rest = f.text; rc == 0 && next_line(&rest, &line);) {
		*ret_was |= str_is(line.path, path);
		if (!str_is(line.path, path))
			buf_printf(&lines, "%.*s %.*s\n", STR_FMT(line.hash), STR_FMT(line.path));
	}
	if (hash)
		buf_printf(&lines, "%s %s\n", hash, path);
	if (rc == 0 && !buf_ok(&lines))
		rc = err_set(err, CORDON_E_SETUP, "too many policies are trusted; cordon trust "
			     "--remove takes one away");
	if (rc == 0 && (hash || *ret_was))
		rc = write_record(&f, &lines, err);
	fd_close(&f.dir);
	return rc;
}

/* ---- cordon trust -------------------------------------------------------- */

/* The path by which a run in its folder would find the file, whose folder need not be there. */
static int name_file(struct composition *c, const char *file, const char **ret,
		     struct cordon_err *err)
{
	const char *full = path_normal(&c->arena, str_from(file), c->here);
	const char *slash = full ? strrchr(full, '/') : NULL, *folder;

	if (!slash)
		return err_nomem(err);
	if (strchr(full, '\n'))
		return err_set(err, CORDON_E_USAGE,
			       "the path of a policy that is trusted has no line feed in it");
	if (path_resolve(&c->arena, (struct str){ full, (size_t)(slash - full) + 1 }, "/", &folder,
			 err) < 0)
		return -1;
	*ret = arena_printf(&c->arena, "%s%s", strcmp(folder, "/") == 0 ? "" : folder, slash);
	return *ret ? 0 : err_nomem(err);
}

/* The folder that a run starts in to find this file there; NULL: no run would. */
static const char *find_project(struct composition *c, const char *path)
{
	for (size_t i = 0; i < N_FOUND_POLICIES; i++) {
		size_t n = strlen(path), k = strlen(project_policies[i]);

		if (n > k && path[n - k - 1] == '/' &&
		    strcmp(path + n - k, project_policies[i]) == 0)
			return arena_strndup(&c->arena, path, n - k > 1 ? n - k - 1 : 1);
	}
	return NULL;
}

/* The file of the request, or the one that a run would find here. */
static int find_file(struct composition *c, const struct cordon_request *req,
		     struct source *ret, struct cordon_err *err)
{
	if (!req->n_files) {
		if (compose_find(c, ret) < 0 || c->found)
			return 0;
		return err_set(err, CORDON_E_USAGE,
			       "there is no policy here or above that a run would find; name one");
	}
	if (name_file(c, req->files[0], &c->found, err) < 0)
		return -1;
	c->here = find_project(c, c->found);
	if (!c->here)
		return err_set(err, CORDON_E_USAGE,
			       "'%s' is no policy that a run would find, so there is nothing to "
			       "trust; use it by --policy", req->files[0]);
	if (compose_read_source(c, c->found, ret) < 0)
		c->found = NULL;
	return 0;
}

/* What it opens is told, and so is what is wrong with it. */
static int add_trust(struct composition *c, const struct source *src, struct buf *out,
		     struct cordon_err *err)
{
	const struct cordon_request no_options = CORDON_REQUEST;
	char hash[SHA256_HEX];
	bool was;

	if (compose_text(c, src, dialect_detect(src), &c->policy) < 0 ||
	    narrow_policy(c, &no_options) < 0)
		return 0;
	hash_text(src->text, hash);
	if (replace_line(c, c->found, hash, &was, err) < 0)
		return -1;
	buf_puts(out, "trusted: ");
	buf_put_plain(out, str_from(c->found));
	buf_puts(out, c->n_asks ? " (opens " : " (opens no more than the default");
	narrow_print(c, out);
	buf_puts(out, ")\n");
	return 0;
}

static int list_trust(struct composition *c, struct buf *out, struct cordon_err *err)
{
	struct record_file f;
	struct trusted line;
	int rc = open_record(c, &f, err);

	for (struct str rest = f.text; rc == 0 && next_line(&rest, &line);) {
		cleanup_arena struct arena scratch = ARENA(MAX_ARENA_BYTES);
		const char *path = arena_strndup(&scratch, line.path.s, line.path.n);
		struct cordon_err ignored;
		char hash[SHA256_HEX] = "";
		struct str text;

		if (!path)
			rc = err_nomem(err);
		else if (fd_read_file(path, MAX_SOURCE_BYTES, &scratch, &text, &ignored) == 0)
			hash_text(text, hash);
		buf_put_plain(out, line.path);
		buf_puts(out, !hash[0] ? " (cannot be read)\n" :
			      str_is(line.hash, hash) ? "\n" : " (has changed: not trusted)\n");
	}
	fd_close(&f.dir);
	return rc;
}

static int remove_trust(struct composition *c, const struct cordon_request *req, struct buf *out,
			bool *ret_was, struct cordon_err *err)
{
	struct source src;

	if (req->n_files ? name_file(c, req->files[0], &c->found, err) < 0
			 : find_file(c, req, &src, err) < 0)
		return -1;
	if (!c->found)
		return 0;
	if (replace_line(c, c->found, NULL, ret_was, err) < 0)
		return -1;
	buf_puts(out, *ret_was ? "not trusted any more: " : "was not trusted: ");
	buf_put_plain(out, str_from(c->found));
	buf_putc(out, '\n');
	return 0;
}

int cordon_trust(const struct cordon_request *req, enum cordon_trust_act act,
		 struct cordon_answer *ret, struct cordon_err *err)
{
	cleanup_composition struct composition c;
	cleanup_buf struct buf out = BUF(MAX_OUTPUT_BYTES);
	struct source src;
	bool yes = true;
	int rc = 0;

	if (composition_init(&c, req, err) < 0)
		return -1;
	if (req->n_files > 1)
		return err_set(err, CORDON_E_USAGE, "%zu policy files are given; 1 at most",
			       req->n_files);
	if (act == CORDON_TRUST_LIST)
		rc = list_trust(&c, &out, err);
	else if (act == CORDON_TRUST_REMOVE)
		rc = remove_trust(&c, req, &out, &yes, err);
	else if (find_file(&c, req, &src, err) < 0 ||
		 (c.found && add_trust(&c, &src, &out, err) < 0))
		rc = -1;
	if (rc < 0)
		return -1;
	return answer_fill(ret, yes, &out, &c, c.diags.n_errors ? -1 : 0, err);
}

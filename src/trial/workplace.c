/* A trial's own folder; see workplace.h. */
#include "trial/workplace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

struct folder_room workplace_room(void)
{
	return (struct folder_room){ .bytes = MAX_TRIAL_COPY_BYTES,
				     .entries = MAX_WALK_ENTRIES };
}

static int make_logs(struct workplace *p, struct cordon_err *err)
{
	static const char *const parts[] = { "agent", "verifier", "artifacts" };

	p->logs = folder_make(p->dir, "logs", err);
	for (size_t i = 0; p->logs >= 0 && i < ARRAY_SIZE(parts); i++) {
		cleanup_fd int fd = folder_make(p->logs, parts[i], err);

		if (fd < 0)
			return -1;
	}
	return p->logs < 0 ? -1 : 0;
}

static int name_parts(struct workplace *p, struct arena *a, struct cordon_err *err)
{
	static const char *const names[PLACE_PARTS] = {
		[PLACE_APP] = "app",		 [PLACE_LOGS] = "logs",
		[PLACE_TESTS] = "tests",	 [PLACE_SOLUTION] = "solution",
		[PLACE_INSTRUCTION] = "instruction.md",
	};
	const char *const inside[PLACE_PARTS] = {
		[PLACE_APP] = p->workdir,	 [PLACE_LOGS] = TRIAL_LOGS,
		[PLACE_TESTS] = TRIAL_TESTS,	 [PLACE_SOLUTION] = TRIAL_SOLUTION,
		[PLACE_INSTRUCTION] = TRIAL_INSTRUCTION,
	};

	for (int i = 0; i < PLACE_PARTS; i++) {
		p->roots[i] = arena_printf(a, "%s/%s", p->path, names[i]);
		if (!p->roots[i])
			return err_nomem(err);
		p->aliases[i] = (struct plan_alias){ inside[i], p->roots[i] };
	}
	return 0;
}

int workplace_make(int dir, const char *path, struct str workdir, struct arena *a,
		   struct workplace *ret, struct cordon_err *err)
{
	struct workplace p = WORKPLACE;

	p.path = path;
	p.workdir = workdir.n ? path_normal(a, workdir, "/") : TRIAL_APP;
	if (!p.workdir)
		return err_nomem(err);
	p.dir = open_beneath(dir, ".", O_RDONLY | O_DIRECTORY);
	if (p.dir < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", path);
	*ret = p;
	ret->app = folder_make(p.dir, "app", err);
	ret->tests = ret->app < 0 ? -1 : folder_make(p.dir, "tests", err);
	ret->solution = ret->tests < 0 ? -1 : folder_make(p.dir, "solution", err);
	if (ret->solution < 0 || make_logs(ret, err) < 0 ||
	    folder_write(p.dir, "instruction.md", STR(""), err) < 0 ||
	    name_parts(ret, a, err) < 0)
		return err_wrap(err, "'%s'", path);
	return 0;
}

void workplace_close(struct workplace *p)
{
	fd_close(&p->dir);
	fd_close(&p->app);
	fd_close(&p->tests);
	fd_close(&p->solution);
	fd_close(&p->logs);
}

int workplace_fill(int to, const struct task_folder *f, const char *name,
	       bool (*skip)(const char *name), struct cordon_err *err)
{
	cleanup_fd int from = task_folder_part(f, name, O_DIRECTORY);
	struct folder_room room = workplace_room();

	if (from < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (from < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s' of the task", name);
	if (folder_copy(from, to, skip, &room, err) < 0)
		return err_wrap(err, "copying '%s' of the task", name);
	return 0;
}

int workplace_allow_exec(int dir, const char *name, struct cordon_err *err)
{
	cleanup_fd int fd = open_beneath(dir, name, O_RDONLY | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fchmod(fd, 0755) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s' executable", name);
	return 0;
}

int workplace_open_verifier(const struct workplace *p, struct cordon_err *err)
{
	int fd = open_beneath(p->logs, "verifier", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(err, CORDON_E_PEER, "/logs/verifier is no folder any more");
	return fd;
}

static void reopen(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		(void)!fchmod(fd, (st.st_mode & 0777) | 0700);
}

void workplace_reopen(const struct workplace *p)
{
	reopen(p->app);
	reopen(p->logs);
}

/* Out of logs/, under a name that nothing has. */
static int move_away(const struct workplace *p, char *ret, size_t size)
{
	unsigned n = 0;
	struct stat st;

	do {
		snprintf(ret, size, "verifier.old-%u", n++);
	} while (entry_stat(p->dir, ret, &st) == 0);
	/* A directory that changes its parent has to be writable. */
	(void)!entry_chmod(p->logs, "verifier", 0700);
	return entry_move(p->logs, "verifier", p->dir, ret, 0) < 0 && errno != ENOENT ? -1 : 0;
}

/* The new one is made where no command sees it, so that it takes over nothing of what an
 * agent did to /logs: no mode, no default ACL. */
int workplace_renew_verifier(const struct workplace *p, struct cordon_err *err)
{
	cleanup_fd int fresh = folder_make(p->dir, "verifier.new", err);
	struct cordon_err ignored;
	char old[32];

	if (fresh < 0)
		return -1;
	if (fchmod(fresh, 0755) < 0 || move_away(p, old, sizeof(old)) < 0 ||
	    entry_move(p->dir, "verifier.new", p->logs, "verifier", 0) < 0)
		return err_sys(err, CORDON_E_PEER, "cannot replace /logs/verifier");
	/* What cannot be removed, such as millions of files, is in the way of nothing there. */
	(void)!folder_remove(p->dir, old, &ignored);
	return 0;
}

int workplace_instruct(const struct workplace *p, const struct task_folder *f,
		   const struct task_step *step, struct arena *a, struct cordon_err *err)
{
	const char *name = task_folder_step_part(step, "instruction.md", a);
	cleanup_fd int in = name ? task_folder_part(f, name, 0) : -1;
	cleanup_fd int out = open_beneath(p->dir, "instruction.md",
					  O_WRONLY | O_TRUNC | O_NOFOLLOW);
	struct str text = STR("");

	if (in < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s' of the task", name);
	if (in >= 0 && fd_read_text(in, name, MAX_SOURCE_BYTES, a, &text, err) < 0)
		return -1;
	if (out < 0 || write(out, text.s, text.n) != (ssize_t)text.n)
		return err_sys(err, CORDON_E_SETUP, "cannot write instruction.md");
	return 0;
}

/* ---- what the agent leaves ---------------------------------------------- */

/* From the place's own top: "app/x" for /app/x; NULL: it is not kept. */
static const char *outside_of(const struct workplace *p, struct str path, struct arena *a)
{
	const char *whole = path_normal(a, path, "/");

	if (whole && path_within(whole, p->workdir))
		return arena_printf(a, "app%s", whole + strlen(p->workdir));
	if (whole && path_within(whole, TRIAL_LOGS) && strcmp(whole, TRIAL_LOGS) != 0 &&
	    !path_within(whole, TRIAL_LOGS "/verifier"))
		return arena_printf(a, "logs%s", whole + strlen(TRIAL_LOGS));
	return NULL;
}

/* The folder `path` below `dir`, made as far as need be. */
static int make_inside(int dir, struct str path, struct cordon_err *err)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	while (fd >= 0 && path.n) {
		char name[256];
		size_t n = str_find(path, '/');
		int next;

		if (n >= sizeof(name)) {
			close(fd);
			return err_set(err, CORDON_E_SETUP, "too long a name");
		}
		memcpy(name, path.s, n);
		name[n] = '\0';
		path = str_from_pos(path, n < path.n ? n + 1 : n);
		next = folder_make(fd, name, err);
		close(fd);
		if (next < 0)
			return -1;
		fd = next;
	}
	return fd < 0 ? err_sys(err, CORDON_E_SETUP, "cannot open a folder") : fd;
}

int workplace_keep(const struct workplace *p, struct str path, int to, struct folder_room *room,
		   struct arena *a, struct cordon_err *err)
{
	const char *outside = outside_of(p, path, a), *name;
	cleanup_fd int from = -1, into = -1;
	struct str parent;

	if (!outside)
		return 1;
	room->tame = true;
	name = strrchr(outside, '/');
	parent = name ? (struct str){ outside, (size_t)(name - outside) } : STR("");
	name = name ? name + 1 : outside;
	from = open_beneath(p->dir, parent.n ? arena_strndup(a, parent.s, parent.n) : ".",
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (from < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (from < 0)
		return err_sys(err, CORDON_E_PEER, "artifacts: '%.*s' cannot be opened",
			       STR_FMT(path));
	into = make_inside(to, parent, err);
	if (into < 0 || folder_copy_one(from, name, into, room, err) < 0)
		return err_wrap(err, "artifacts: '%.*s'", STR_FMT(path));
	return 0;
}

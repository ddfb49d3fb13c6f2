/* Live cordons; see live.h.
 *
 * What is in the file of one: the supervisor's pid with its start time, so that
 * a number used again is not taken for it, when it began, where, and what; of a
 * session its name, too.  The folder of a run whose supervisor is gone is swept
 * away by whoever lists next; that of a session says what happened until it is
 * asked to stop, its name is used again, or a day is over.
 */
#include "super/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/pidfd.h"
#include "super/limiter.h"
#include "super/proc_read.h"

#define MAX_ABOUT	(24u << 10)	/* bytes of its file: a path of four times its length */
#define MAX_SHOWN	512	/* bytes of the command's words */
#define MAX_RUN_ID	40
#define KILL_WAIT_MS	2000
#define DEAD_KEPT_S	86400	/* how long a dead session is told of */

/* ---- the folder of all -------------------------------------------------- */

void live_root_at(size_t i, char ret[MAX_LIVE_ROOT])
{
	snprintf(ret, MAX_LIVE_ROOT, i ? "/run/user/%u/cordon" : "/tmp/cordon-%u",
		 (unsigned)geteuid());
}

static bool is_same(const char *path, const struct stat *st)
{
	struct stat other;

	return path && path[0] == '/' && stat(path, &other) == 0 &&
	       other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Its "cordon" is where a ceiling lies, which must not become a folder of this user alone:
 * whoever cannot look into it for one runs nothing. */
static bool holds_ceiling(const struct stat *st)
{
	const char *home = getenv("HOME");
	char config[PATH_MAX];

	if (is_same("/etc", st) || is_same(getenv("XDG_CONFIG_HOME"), st))
		return true;
	return home && snprintf(config, sizeof(config), "%s/.config", home) <
			       (int)sizeof(config) && is_same(config, st);
}

/* Nothing is made in a folder of the kernel's, or what is made there means something, though
 * root may write to it. */
static bool can_make_in(const char *folder)
{
	struct statfs fs;

	return access(folder, W_OK | X_OK) == 0 && statfs(folder, &fs) == 0 &&
	       fs.f_type != PROC_SUPER_MAGIC && fs.f_type != SYSFS_MAGIC &&
	       fs.f_type != CGROUP_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC;
}

/* Everybody answers alike, before the folder is there and after: who lists looks where who
 * runs has made it. */
void live_root(char ret[MAX_LIVE_ROOT])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st, there;

	live_root_at(0, ret);
	/* One of another user, as after su, is not ours to use. */
	if (!runtime || runtime[0] != '/' || strlen(runtime) >= MAX_LIVE_ROOT - 16 ||
	    stat(runtime, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    holds_ceiling(&st))
		return;
	snprintf(ret, MAX_LIVE_ROOT, "%s/cordon", runtime);
	if (lstat(ret, &there) < 0 && !can_make_in(runtime))
		live_root_at(0, ret);
}

/* Others can write to /tmp: what is there must be a folder of ours alone. */
static int check_root(const char *root, struct cordon_err *err)
{
	struct stat st;

	if (lstat(root, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot look at '%s'", root);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(err, CORDON_E_SETUP,
			       "'%s' is not a folder of this user alone; remove it, or set "
			       "XDG_RUNTIME_DIR", root);
	return 0;
}

int live_make_root(const char *root, struct cordon_err *err)
{
	if (mkdir(root, 0700) < 0 && errno != EEXIST)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", root);
	return check_root(root, err);
}

/* ---- its files ----------------------------------------------------------- */

/* When a process began, in ticks since the machine did; 0: it has ended. */
static unsigned long long start_time(pid_t pid)
{
	struct proc_stat stat;
	char name[24];

	snprintf(name, sizeof(name), "/proc/%d", pid);
	if (!proc_read_stat(AT_FDCWD, name, &stat) || stat.state == 'Z' || stat.state == 'X')
		return 0;
	return (unsigned long long)stat.start;
}

/* The words in one line, shortened. */
static void put_words(const struct plan *plan, struct buf *out)
{
	size_t left = MAX_SHOWN;

	for (size_t i = 0; plan->argv[i] && left; i++) {
		struct str word = str_from(plan->argv[i]);

		if (i)
			buf_putc(out, ' ');
		buf_put_plain(out, str_first(word, MIN(left, word.n)));
		if (word.n > left)
			buf_puts(out, "…");
		left -= MIN(left, word.n);
	}
}

/* The usual case is one call; the folder of all is made once. */
static int make_folder(const char *root, const char *path)
{
	struct cordon_err ignored;
	int rc = mkdir(path, 0700);

	if (rc < 0 && errno == ENOENT && live_make_root(root, &ignored) == 0)
		rc = mkdir(path, 0700);
	if (rc == 0 && check_root(root, &ignored) < 0) {
		rmdir(path);
		errno = EACCES;
		rc = -1;
	}
	return rc;
}

static int write_about(const char *folder, const struct buf *text)
{
	char path[sizeof(((struct live *)0)->path) + 8];
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/about", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 || !buf_ok(text) || write(fd, text->data, text->n) != (ssize_t)text->n ? -1
											     : 0;
}

/* By a descriptor of the folder, whose path may be longer than an address. */
static socklen_t address_in(int folder, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/control", folder);
	return sizeof(*ret);
}

/* By its name where that fits: by that other cordons find it, and mask it (find.c). */
static socklen_t address_of(int folder, const char *path, struct sockaddr_un *ret)
{
	static const char name[] = "/control";
	size_t n = strlen(path);

	if (path[0] != '/' || n + sizeof(name) > sizeof(ret->sun_path))
		return address_in(folder, ret);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, n);
	memcpy(ret->sun_path + n, name, sizeof(name));
	return sizeof(*ret);
}

static int listen_in(const char *path)
{
	cleanup_fd int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at;

	if (folder < 0 || fd < 0 ||
	    bind(fd, (struct sockaddr *)&at, address_of(folder, path, &at)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -1;
	return fd_take(&fd);
}

static void put_about(struct buf *out, const char *cwd)
{
	buf_printf(out, "%d %llu %lld\n", getpid(), start_time(getpid()), (long long)time(NULL));
	/* It is shown to people, and a line here. */
	buf_put_plain(out, str_from(cwd));
	buf_putc(out, '\n');
}

/* All that may be in a folder. */
static void remove_folder(const char *path)
{
	static const char status[] = "inside/" PLAN_STATUS_FILE;
	static const char *const names[] = { "control", "about", status, "inside/new" };
	char name[MAX_LIVE_ROOT + 64];

	assert(path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[i]);
		unlink(name);
	}
	/* Of a run there is none. */
	if (rmdir(path) == 0)
		return;
	snprintf(name, sizeof(name), "%s/inside", path);
	rmdir(name);
	rmdir(path);
}

void live_remove(struct live *l)
{
	if (l->path[0])
		remove_folder(l->path);
	live_forget(l);
}

void live_forget(struct live *l)
{
	l->path[0] = '\0';
	fd_close(&l->control);
}

/* ---- all of them -------------------------------------------------------- */

struct entry {
	char id[MAX_RUN_ID];
	char folder[MAX_LIVE_ROOT + 64];
	pid_t pid;
	unsigned long long ticks;
	long long begun;
	bool dead;			/* its supervisor is gone */
	char text[MAX_ABOUT];
	const char *cwd, *words;
	const char *name;		/* of a session, or ""; NULL: a run */
};

/* The next line; NULL where there is none. */
static char *take_line(char **rest)
{
	char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

	*rest = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return end ? line : NULL;
}

/* What a folder's file says.  False: it says nothing that makes sense. */
static bool read_entry(const char *id, struct entry *e)
{
	char path[sizeof(e->folder) + 8], *rest = e->text, *first;
	cleanup_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/about", e->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	n = fd < 0 ? -1 : read(fd, e->text, sizeof(e->text) - 1);
	if (n <= 0 || strlen(id) >= sizeof(e->id))
		return false;
	e->text[n] = '\0';
	first = take_line(&rest);
	if (!first || sscanf(first, "%d %llu %lld", &e->pid, &e->ticks, &e->begun) != 3 ||
	    e->pid <= 0)
		return false;
	e->cwd = take_line(&rest);
	e->words = take_line(&rest);
	e->name = take_line(&rest);
	snprintf(e->id, sizeof(e->id), "%s", id);
	e->dead = start_time(e->pid) != e->ticks;
	return e->cwd && e->words;
}

/* Just made, it may not be written yet. */
static bool is_fresh(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && time(NULL) - st.st_mtime < 5;
}

typedef int entry_fn(const struct entry *e, void *arg, struct cordon_err *err);

/* What is left of a dead one, for as long as somebody may want to know. */
static bool is_kept(const struct entry *e)
{
	return e->name && time(NULL) - e->begun < DEAD_KEPT_S;
}

/* Call fn for each live one, and each dead session, until it does not return 0.
 * Returns what it did. */
static int for_each(entry_fn *fn, void *arg, struct cordon_err *err)
{
	char root[MAX_LIVE_ROOT];
	struct dirent *d;
	struct entry *e;
	DIR *dir;
	int rc = 0;

	live_root(root);
	dir = opendir(root);
	if (!dir)
		return errno == ENOENT ? 0 : err_sys(err, CORDON_E_SETUP, "cannot open '%s'", root);
	e = malloc(sizeof(*e));
	if (!e || check_root(root, err) < 0)
		rc = e ? -1 : err_nomem(err);
	while (rc == 0 && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || strlen(d->d_name) >= MAX_RUN_ID)
			continue;
		snprintf(e->folder, sizeof(e->folder), "%s/%s", root, d->d_name);
		if (read_entry(d->d_name, e) && (!e->dead || is_kept(e)))
			rc = fn(e, arg, err);
		else if (!is_fresh(e->folder))
			remove_folder(e->folder);
	}
	free(e);
	closedir(dir);
	return rc;
}

/* ---- adding one ---------------------------------------------------------- */

bool live_name_is_good(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > MAX_SESSION_NAME || name[strspn(name, "0123456789")] == '\0' ||
	    !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", name[0]))
		return false;
	if (n == 16 && strspn(name, "0123456789abcdef") == n)
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
	       == n;
}

static int check_name(const struct entry *e, void *arg, struct cordon_err *err)
{
	const char *name = arg;

	if (!e->name || strcmp(e->name, name) != 0)
		return 0;
	if (!e->dead)
		return err_set(err, CORDON_E_USAGE,
			       "there is a live session '%s' (%s); stop it, or use another name",
			       name, e->id);
	remove_folder(e->folder);
	return 0;
}

void live_inside(const struct live *l, char ret[MAX_LIVE_ROOT + 64])
{
	snprintf(ret, MAX_LIVE_ROOT + 64, "%s/inside", l->path);
}

/* A session is nothing without its socket. */
static int add(struct live *l, const char *root, const char *run_id, bool is_session,
	       const struct buf *about, struct cordon_err *err)
{
	char inside[MAX_LIVE_ROOT + 64];

	snprintf(l->path, sizeof(l->path), "%s/%s", root, run_id);
	if (make_folder(root, l->path) < 0) {
		err_sys(err, CORDON_E_SETUP, "cannot make '%s'", l->path);
		l->path[0] = '\0';
		return -1;
	}
	live_inside(l, inside);
	if (!is_session || mkdir(inside, 0755) == 0)
		l->control = listen_in(l->path);
	if ((l->control >= 0 || !is_session) && write_about(l->path, about) == 0)
		return 0;
	err_sys(err, CORDON_E_SETUP, "cannot write to '%s'", l->path);
	live_remove(l);
	return -1;
}

void live_try_add(struct live *l, const char *root, const char *run_id, const struct plan *plan)
{
	cleanup_buf struct buf text = BUF(MAX_ABOUT);
	struct cordon_err ignored;

	*l = LIVE_NONE;
	put_about(&text, plan->cwd);
	put_words(plan, &text);
	buf_putc(&text, '\n');
	(void)!add(l, root, run_id, false, &text, &ignored);
}

int live_add_session(struct live *l, const char *run_id, const char *name, const char *cwd,
		     struct cordon_err *err)
{
	cleanup_buf struct buf text = BUF(MAX_ABOUT);
	cleanup_fd int lock = -1;
	char root[MAX_LIVE_ROOT];

	*l = LIVE_NONE;
	live_root(root);
	if (live_make_root(root, err) < 0)
		return -1;
	/* [L1]: those who start look and add one after the other. */
	lock = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot lock '%s'", root);
	if (name && for_each(check_name, (void *)(uintptr_t)name, err) < 0)
		return -1;
	put_about(&text, cwd);
	buf_printf(&text, "(session)\n%s\n", name ? name : "");
	return add(l, root, run_id, true, &text, err);
}

/* ---- listing ------------------------------------------------------------ */

struct listing {
	bool json;
	struct json_out j;
	struct buf *out;
};

static int print_entry(const struct entry *e, void *arg, struct cordon_err *err UNUSED)
{
	struct listing *l = arg;
	char begun[32];
	time_t at = (time_t)e->begun;
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(begun, sizeof(begun), "%FT%TZ", &tm);
	if (!l->json) {
		buf_printf(l->out, "%-16s %8d %s %s: %s%s%s\n", e->id, e->pid, begun, e->cwd,
			   e->name && e->name[0] ? e->name : e->words,
			   e->name && e->name[0] ? " (session)" : "",
			   e->dead ? ", dead: its supervisor was killed" : "");
		return 0;
	}
	json_open(&l->j, '{');
	json_key(&l->j, "run_id");
	json_put_text(&l->j, e->id);
	json_key(&l->j, "pid");
	json_put_int(&l->j, e->pid);
	json_key(&l->j, "started_at");
	json_put_text(&l->j, begun);
	json_key(&l->j, "cwd");
	json_put_text(&l->j, e->cwd);
	json_key(&l->j, "command");
	json_put_text(&l->j, e->name ? NULL : e->words);
	json_key(&l->j, "session");
	json_put_bool(&l->j, e->name != NULL);
	json_key(&l->j, "name");
	json_put_text(&l->j, e->name && e->name[0] ? e->name : NULL);
	json_key(&l->j, "dead");
	json_put_bool(&l->j, e->dead);
	json_close(&l->j, '}');
	return 0;
}

int live_list(bool json, struct buf *out, struct cordon_err *err)
{
	struct listing l = { .json = json, .j = { .out = out }, .out = out };
	int rc;

	if (json)
		json_open(&l.j, '[');
	rc = for_each(print_entry, &l, err);
	if (json) {
		json_close(&l.j, ']');
		buf_putc(out, '\n');
	}
	return rc;
}

/* ---- ending one --------------------------------------------------------- */

struct search {
	const char *id;
	int pidfd;
	bool dead;
	char folder[MAX_LIVE_ROOT + 64];	/* "": there is none such */
};

static int find_entry(const struct entry *e, void *arg, struct cordon_err *err UNUSED)
{
	struct search *s = arg;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", e->pid);
	if (strcmp(s->id, e->id) != 0 && (e->dead || strcmp(s->id, pid) != 0) &&
	    (!e->name || !e->name[0] || strcmp(s->id, e->name) != 0))
		return 0;
	memcpy(s->folder, e->folder, sizeof(s->folder));
	s->pidfd = e->dead ? -1 : pidfd_of(e->pid);
	/* The descriptor is of the process that was looked at, or of none. */
	if (s->pidfd >= 0 && start_time(e->pid) != e->ticks)
		fd_close(&s->pidfd);
	s->dead = s->pidfd < 0;
	return 1;
}

/* A run id is the name of the folder; everything else is looked for. */
static int search(struct search *s, struct cordon_err *err)
{
	struct entry *e;
	int rc = 0;

	if (strlen(s->id) != 16 || strspn(s->id, "0123456789abcdef") != 16)
		return for_each(find_entry, s, err);
	e = malloc(sizeof(*e));
	if (!e)
		return err_nomem(err);
	live_root(e->folder);
	if (check_root(e->folder, err) == 0) {
		size_t n = strlen(e->folder);

		snprintf(e->folder + n, sizeof(e->folder) - n, "/%s", s->id);
		rc = read_entry(s->id, e) && (!e->dead || is_kept(e)) ? find_entry(e, s, err) : 0;
	}
	free(e);
	return rc;
}

int live_connect(const char *id, struct cordon_err *err)
{
	struct search s = { .id = id, .pidfd = -1 };
	cleanup_fd int folder = -1, fd = -1;
	struct sockaddr_un at;

	if (search(&s, err) < 0)
		return -1;
	fd_close(&s.pidfd);
	if (!s.folder[0])
		return err_set(err, CORDON_E_USAGE, "no live cordon is called '%s'; see cordon ps",
			       id);
	if (s.dead)
		return err_set(err, CORDON_E_PEER,
			       "the supervisor of '%s' was killed, and everything inside with it; "
			       "cordon session stop %s clears it away", id, id);
	folder = open(s.folder, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (folder < 0 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&at, address_in(folder, &at)) < 0)
		return err_sys(err, CORDON_E_PEER, "cannot speak to the supervisor of '%s'", id);
	return fd_take(&fd);
}

static bool has_ended(int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* What a supervisor that was killed left.  The removal of a cgroup of ours removes
 * its cgroups as well. */
static void clear_away(const char *folder)
{
	static const struct plan_limits none = { .memory = INT64_MAX, .cpu_ms = INT64_MAX,
						 .processes = INT64_MAX };
	struct cordon_err ignored;
	struct limiter *l;

	remove_folder(folder);
	if (limiter_new(&none, limiter_detect(), &l, &ignored) == 0)
		limiter_free(l);
}

int live_kill(const char *id, struct cordon_err *err)
{
	struct search s = { .id = id, .pidfd = -1 };
	siginfo_t end = { 0 };
	int rc = search(&s, err);

	if (rc < 0)
		return -1;
	if (s.dead && s.folder[0])
		clear_away(s.folder);
	if (s.pidfd < 0)
		return s.folder[0] ? 0 : 1;
	/* A supervisor that is stopped hears nothing before it goes on. */
	end.si_signo = SIGTERM;
	end.si_code = SI_QUEUE;
	end.si_pid = getpid();
	end.si_uid = getuid();
	end.si_value.sival_int = LIVE_END;
	syscall(SYS_pidfd_send_signal, s.pidfd, SIGTERM, &end, 0);
	pidfd_signal(s.pidfd, SIGCONT);
	if (!has_ended(s.pidfd, KILL_WAIT_MS))
		pidfd_signal(s.pidfd, SIGKILL);
	rc = has_ended(s.pidfd, KILL_WAIT_MS);
	close(s.pidfd);
	if (!rc)
		return err_set(err, CORDON_E_PEER, "the supervisor of '%s' does not end", id);
	/* What it could not remove itself, since it was killed. */
	if (access(s.folder, F_OK) == 0)
		clear_away(s.folder);
	return 0;
}

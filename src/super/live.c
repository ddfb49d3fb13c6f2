/* Live runs; see live.h.
 *
 * A run has one file of lines: the supervisor's pid with its start time, so that
 * a number used again is not taken for it, when it began, where, and what.  A
 * file whose supervisor is gone is swept away by whoever lists next.
 */
#include "super/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define MAX_STATUS	2048
#define MAX_SHOWN	512	/* bytes of the command's words */
#define MAX_RUN_ID	40
#define KILL_WAIT_MS	2000

/* ---- the folder of all -------------------------------------------------- */

void live_root(char ret[MAX_LIVE_ROOT])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	/* One of another user, as after su, is not ours to use. */
	if (runtime && runtime[0] == '/' && strlen(runtime) < MAX_LIVE_ROOT - 16 &&
	    stat(runtime, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		snprintf(ret, MAX_LIVE_ROOT, "%s/cordon", runtime);
	else
		snprintf(ret, MAX_LIVE_ROOT, "/tmp/cordon-%u", (unsigned)geteuid());
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

/* ---- this run ----------------------------------------------------------- */

/* When a process began, in ticks since the machine did; 0: it is not there. */
static unsigned long long start_time(pid_t pid)
{
	char path[32], text[1024], *at;
	unsigned long long ticks = 0;
	cleanup_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %llu", &ticks) == 1 ? ticks : 0;
}

/* The words in one line, shortened. */
static void put_words(const struct plan *plan, struct buf *out)
{
	size_t left = MAX_SHOWN;

	for (size_t i = 0; plan->argv[i] && left; i++) {
		const char *word = plan->argv[i];

		if (i)
			buf_putc(out, ' ');
		for (; *word && left; word++, left--)
			buf_putc(out, (unsigned char)*word < ' ' ? ' ' : *word);
		if (*word)
			buf_puts(out, "…");
	}
}

static int open_new(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The usual case is one call; the folder of all is made once. */
static int make_file(const char *root, const char *path)
{
	struct cordon_err ignored;
	int fd = open_new(path);

	if (fd < 0 && errno == ENOENT && live_make_root(root, &ignored) == 0)
		fd = open_new(path);
	if (fd < 0 || check_root(root, &ignored) == 0)
		return fd;
	unlink(path);
	close(fd);
	return -1;
}

void live_try_add(struct live *l, const char *root, const char *run_id, const struct plan *plan)
{
	cleanup_buf struct buf text = BUF(MAX_STATUS + 8192);
	char path[sizeof(l->path)];
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", root, run_id);
	fd = make_file(root, path);
	if (fd < 0)
		return;
	memcpy(l->path, path, sizeof(path));
	buf_printf(&text, "%d %llu %lld\n%s\n", getpid(), start_time(getpid()),
		   (long long)time(NULL), plan->cwd);
	put_words(plan, &text);
	buf_putc(&text, '\n');
	if (!buf_ok(&text) || write(fd, text.data, text.n) != (ssize_t)text.n)
		live_remove(l);
}

void live_remove(struct live *l)
{
	if (l->path[0])
		unlink(l->path);
	l->path[0] = '\0';
}

/* ---- all of them -------------------------------------------------------- */

struct entry {
	char id[MAX_RUN_ID];
	pid_t pid;
	unsigned long long ticks;
	long long begun;
	char text[MAX_STATUS + 8192];
	const char *cwd, *words;
};

/* What a file says.  False: it says nothing that makes sense. */
static bool read_entry(const char *path, const char *id, struct entry *e)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;
	char *line, *end;

	n = fd < 0 ? -1 : read(fd, e->text, sizeof(e->text) - 1);
	if (n <= 0 || strlen(id) >= sizeof(e->id))
		return false;
	e->text[n] = '\0';
	if (sscanf(e->text, "%d %llu %lld", &e->pid, &e->ticks, &e->begun) != 3 || e->pid <= 0)
		return false;
	line = strchr(e->text, '\n');
	end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		return false;
	*end = '\0';
	e->cwd = line + 1;
	e->words = end + 1;
	end[1 + strcspn(end + 1, "\n")] = '\0';
	snprintf(e->id, sizeof(e->id), "%s", id);
	return true;
}

/* Just made, it may not be written yet. */
static bool is_fresh(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && time(NULL) - st.st_mtime < 5;
}

typedef int entry_fn(const struct entry *e, void *arg, struct cordon_err *err);

/* Call fn for each live one until it does not return 0.  Returns what it did. */
static int for_each(entry_fn *fn, void *arg, struct cordon_err *err)
{
	char root[MAX_LIVE_ROOT], path[MAX_LIVE_ROOT + 64];
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
		snprintf(path, sizeof(path), "%s/%s", root, d->d_name);
		if (read_entry(path, d->d_name, e) && start_time(e->pid) == e->ticks)
			rc = fn(e, arg, err);
		else if (!is_fresh(path))
			unlink(path);
	}
	free(e);
	closedir(dir);
	return rc;
}

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
		buf_printf(l->out, "%-16s %8d %s %s: %s\n", e->id, e->pid, begun, e->cwd, e->words);
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
	json_put_text(&l->j, e->words);
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
};

static int find_entry(const struct entry *e, void *arg, struct cordon_err *err UNUSED)
{
	struct search *s = arg;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", e->pid);
	if (strcmp(s->id, e->id) != 0 && strcmp(s->id, pid) != 0)
		return 0;
	s->pidfd = (int)syscall(SYS_pidfd_open, e->pid, 0);
	/* The descriptor is of the process that was looked at, or of none. */
	if (s->pidfd >= 0 && start_time(e->pid) != e->ticks)
		fd_close(&s->pidfd);
	return 1;
}

static bool has_ended(int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

int live_kill(const char *id, struct cordon_err *err)
{
	struct search s = { .id = id, .pidfd = -1 };
	siginfo_t end = { 0 };
	int rc = for_each(find_entry, &s, err);

	if (rc < 0)
		return -1;
	if (s.pidfd < 0)
		return rc == 0;
	/* A supervisor that is stopped hears nothing before it goes on. */
	end.si_signo = SIGTERM;
	end.si_code = SI_QUEUE;
	end.si_pid = getpid();
	end.si_uid = getuid();
	end.si_value.sival_int = LIVE_END;
	syscall(SYS_pidfd_send_signal, s.pidfd, SIGTERM, &end, 0);
	syscall(SYS_pidfd_send_signal, s.pidfd, SIGCONT, NULL, 0);
	if (!has_ended(s.pidfd, KILL_WAIT_MS))
		syscall(SYS_pidfd_send_signal, s.pidfd, SIGKILL, NULL, 0);
	rc = has_ended(s.pidfd, KILL_WAIT_MS);
	close(s.pidfd);
	/* What it could not remove itself. */
	if (!rc)
		return err_set(err, CORDON_E_PEER, "the supervisor of '%s' does not end", id);
	s.pidfd = -1;
	return for_each(find_entry, &s, err) < 0 ? -1 : 0;
}

/* The standard streams of a run; see stdio.h.
 *
 * A pipe or file of the caller is handed on untouched.  A terminal is never
 * handed on: the command gets one of its own, so that nothing can be typed
 * into the caller's.  Where the caller's input is no terminal, or its output is
 * read by another program, the new terminal is for output alone.
 *
 * A bare command would read the keyboard only when it wants a line; we do not
 * know when it does, and would take keys from whom they are meant for.  So we
 * read only while we are in the foreground, and while the terminal gives whole
 * lines: a pager that reads our output takes the keyboard by ending that.
 *
 * A socket is not handed on either, unless it is
 * one end of a unix stream: it could be pointed elsewhere from inside.  Nor is a
 * file as input: its descriptor lies on the host's
 * mount, where it could be opened again for writing, and its mode changed.  Nor is
 * a pipe to read from, for the same reason: who reads it next may be a shell that
 * takes commands there (`cat script | sh`), and a pipe has no mount to be read-only
 * and no rule of Landlock.  Nor is a disk, nor a device that the command has none of.
 *
 * What the command does not read of its input is left to whoever comes after it; but
 * of a pipe of which it has read LEND_BYTES it is taken to read the rest, as a page at a
 * time is slow.
 */
#include "super/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "super/run_priv.h"

#define LAST_WORDS_MS	50	/* until a terminal that stays open has said all */
#define LAST_WORDS_MOST_MS	1000
#define LEND_BYTES	(1u << 20)
#define PIPE_ROOM	(1 << 20)

static int add_stream(struct stdio *s, int from, int to, struct buf *keep, struct cordon_err *err)
{
	struct stream *t = &s->streams[s->n_streams];

	*t = (struct stream){ .from = from, .to = to, .output = -1, .keep = keep, .open = true,
			      .due = INT64_MAX, .back = -1 };
	t->room = malloc(STREAM_ROOM);
	if (!t->room)
		return err_nomem(err);
	s->n_streams++;
	return 0;
}

/* One of the caller's descriptors, so that nothing on it ever waits: a reader
 * that does not read must not keep us from our limits.  Opened anew, since a
 * flag of the caller's own would be seen by everybody who shares it. */
static int open_patient(int fd, int access)
{
	char path[32];
	struct stat st;
	int mine;

	if (fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode))
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	mine = open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return mine < 0 ? fd : mine;
}

static void give(struct stdio *s, int which, int fd, bool ours)
{
	s->child.fd[which] = fd;
	if (ours)
		s->close_after[s->n_close_after++] = fd;
}

static int open_pipe(int ends[2], struct cordon_err *err)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	return 0;
}

/* Output through us: kept, or passed on and counted. */
static int open_output(struct stdio *s, int which, struct buf *keep, struct cordon_err *err)
{
	int ends[2];

	if (open_pipe(ends, err) < 0)
		return -1;
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_ROOM);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	give(s, which, ends[1], true);
	if (add_stream(s, ends[0], keep ? -1 : open_patient(which, O_WRONLY), keep, err) < 0)
		return -1;
	s->streams[s->n_streams - 1].output = which - 1;
	return 0;
}

static int open_input(struct stdio *s, struct cordon_err *err)
{
	int ends[2];
	struct stat st = { 0 };
	struct stream *t;

	if (open_pipe(ends, err) < 0)
		return -1;
	(void)fstat(0, &st);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	give(s, 0, ends[0], true);
	if (add_stream(s, S_ISFIFO(st.st_mode) ? open_patient(0, O_RDONLY) : 0, ends[1], NULL,
		       err) < 0)
		return -1;
	t = &s->streams[s->n_streams - 1];
	t->lends = S_ISFIFO(st.st_mode);
	/* One page: there is room if and only if all was read. */
	if (t->lends && fcntl(ends[1], F_SETPIPE_SZ, 1) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set the size of a pipe");
	t->back = S_ISREG(st.st_mode) ? fcntl(ends[0], F_DUPFD_CLOEXEC, 0) : -1;
	return 0;
}

/* ---- what the caller gave us -------------------------------------------- */

/* Nothing can be written to it, and poll() never says so. */
static bool is_listening(int fd)
{
	int listens = 0;
	socklen_t n = sizeof(listens);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens;
}

enum give_how { GIVE_AS_IS, GIVE_THROUGH_US, GIVE_REFUSED };

/* What is only to be read could be opened again for writing, where no mount is in the way:
 * it is no output. */
static enum give_how judge_output(int fd)
{
	return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? GIVE_REFUSED : GIVE_AS_IS;
}

/* A file of /proc may be another process's memory. */
static enum give_how judge_file(int fd, bool input)
{
	struct statfs fs;

	if (input || fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC)
		return GIVE_THROUGH_US;
	return judge_output(fd);
}

/* A socket is of the network in which it was made, unix ones as well: it tells the interfaces
 * there and takes abstract names. */
static enum give_how judge_socket(int fd)
{
	return is_listening(fd) ? GIVE_REFUSED : GIVE_THROUGH_US;
}

static enum give_how judge(int fd, bool input)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return GIVE_REFUSED;
	if (S_ISREG(st.st_mode))
		return judge_file(fd, input);
	if (S_ISSOCK(st.st_mode))
		return judge_socket(fd);
	if (isatty(fd) || S_ISBLK(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && !native_find_device(&st)))
		return GIVE_THROUGH_US;
	if (S_ISFIFO(st.st_mode) && !input)
		return judge_output(fd);
	/* Not a directory, which is a way out of every mount; nor what has no kind at all:
	 * processes, rings and contexts act with the rights of whoever made them. */
	return S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) ? GIVE_AS_IS : GIVE_REFUSED;
}

bool stdio_is_harmless(int fd, bool input)
{
	return judge(fd, input) == GIVE_AS_IS;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static int open_plain(struct stdio *s, int which, struct cordon_err *err)
{
	enum give_how how = judge(which, which == 0);

	if (how == GIVE_REFUSED)
		return err_set(err, CORDON_E_SETUP,
			       "standard stream %d is closed, a directory, a socket that listens, "
			       "only to be read or no file at all; redirect it", which);
	if (how == GIVE_AS_IS && which == 0 && is_pipe(0))
		how = GIVE_THROUGH_US;
	if (how == GIVE_THROUGH_US)
		return which ? open_output(s, which, NULL, err) : open_input(s, err);
	give(s, which, which, false);
	return 0;
}

/* ---- terminal ----------------------------------------------------------- */

/* This stream is the terminal that init will make. */
static int plan_terminal(struct stdio *s, int which, struct cordon_err *err)
{
	s->child.fd[which] = -1;
	if (s->child.terminal)
		return 0;
	if (tcgetattr(which, &s->saved) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read the terminal's settings");
	ioctl(which, TIOCGWINSZ, &s->child.size);
	s->child.settings = s->saved;
	s->child.controlling = which == 0;
	/* The caller's own does what is done to output, unless it is raw. */
	if (!s->child.controlling)
		s->child.settings.c_oflag &= ~(tcflag_t)OPOST;
	s->child.terminal = true;
	return 0;
}

/* Setting the terminal from the background would stop us. */
static bool in_foreground(void)
{
	pid_t group = tcgetpgrp(0);

	return group < 0 || group == getpgrp();
}

/* 0 also where it is not for us to set; then s->raw is false. */
static int try_raw(struct stdio *s)
{
	struct termios raw = s->saved;

	s->raw = false;
	if (!in_foreground())
		return 0;
	cfmakeraw(&raw);
	s->raw = tcsetattr(0, TCSANOW, &raw) == 0;
	return s->raw ? 0 : -1;
}

#define ASK_US	100000

/* Are the keys that are there meant for the command? */
static bool is_our_keyboard(struct stdio *s)
{
	struct termios now;
	bool ours;

	if (!s->keyboard)
		return true;
	if (s->child.controlling)
		ours = s->raw || (try_raw(s) == 0 && s->raw);
	else
		ours = in_foreground() && tcgetattr(0, &now) == 0 && (now.c_lflag & ICANON);
	s->ask_at_us = ours ? 0 : run_now_us() + ASK_US;
	return ours;
}

int64_t stdio_next_us(const struct stdio *s)
{
	return s->ask_at_us ? s->ask_at_us : INT64_MAX;
}

int stdio_join(struct stdio *s, int master, struct cordon_err *err)
{
	s->master = master;
	s->show = s->child.fd[1] < 0 ? 1 : 2;
	fcntl(master, F_SETFL, O_NONBLOCK);
	if (s->child.controlling) {
		if (try_raw(s) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot set the terminal");
		if (!s->raw)
			s->ask_at_us = run_now_us() + ASK_US;
		if (add_stream(s, 0, master, NULL, err) < 0)
			return -1;
	}
	if (add_stream(s, master, open_patient(s->show, O_WRONLY), NULL, err) < 0)
		return -1;
	s->streams[s->n_streams - 1].output = s->show - 1;
	return 0;
}

void stdio_resize(struct stdio *s)
{
	struct winsize size;

	if (s->master >= 0 && ioctl(s->show, TIOCGWINSZ, &size) == 0)
		ioctl(s->master, TIOCSWINSZ, &size);
}

void stdio_pause(struct stdio *s)
{
	if (s->raw)
		tcsetattr(0, TCSADRAIN, &s->saved);
}

void stdio_resume(struct stdio *s)
{
	if (!s->raw)
		return;
	(void)!try_raw(s);
	if (!s->raw)
		s->ask_at_us = run_now_us() + ASK_US;
	stdio_resize(s);
}

/* ---- opening and closing ------------------------------------------------ */

int stdio_open(struct stdio *s, struct buf *out, bool *truncated, int64_t limit, bool limited,
	       struct cordon_err *err)
{
	bool through = out || limited;
	int rc;

	*s = (struct stdio){ .show = -1, .master = -1, .left = limit, .truncated = truncated,
			     .keyboard = isatty(0) };
	rc = !out && isatty(0) && isatty(1) ? plan_terminal(s, 0, err) : open_plain(s, 0, err);
	/* A terminal of the command's own counts its output by itself. */
	for (int i = 1; rc == 0 && i < 3; i++)
		if (!out && isatty(i) && (s->child.controlling || !through))
			rc = plan_terminal(s, i, err);
		else if (through)
			rc = open_output(s, i, out ? &out[i - 1] : NULL, err);
		else
			rc = open_plain(s, i, err);
	return rc;
}

void stdio_started(struct stdio *s)
{
	for (size_t i = 0; i < s->n_close_after; i++)
		close(s->close_after[i]);
	s->n_close_after = 0;
}

static bool is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

/* What the command has read of what it was lent is read for good. */
static void settle(struct stream *t)
{
	char trash[4096];
	int left = 0;
	ssize_t n = 1;

	if (ioctl(t->to, FIONREAD, &left) < 0)
		left = 0;
	for (size_t took = t->lent - MIN((size_t)left, t->lent); took && n > 0; took -= (size_t)n) {
		if (t->from <= 2 && !is_ready(t->from, POLLIN))
			break;
		n = read(t->from, trash, MIN(took, sizeof(trash)));
		if (n <= 0)
			break;
	}
	t->lent = 0;
}

static void end_stream(struct stdio *s, struct stream *t)
{
	if (!t->open)
		return;
	t->open = false;
	if (t->lends)
		settle(t);
	/* The caller's own descriptors stay open; the master has two users. */
	if (t->from > 2 && t->from != s->master)
		close(t->from);
	if (t->to > 2 && t->to != s->master)
		close(t->to);
}

/* Of a file: what the command did not read is read by the next one. */
static void give_back(struct stream *t)
{
	int left = 0;

	if (t->back < 0)
		return;
	if (ioctl(t->back, FIONREAD, &left) == 0)
		(void)lseek(t->from, -(off_t)((size_t)left + t->end - t->begin), SEEK_CUR);
	fd_close(&t->back);
}

void stdio_close(struct stdio *s)
{
	stdio_started(s);
	for (size_t i = 0; i < s->n_streams; i++) {
		end_stream(s, &s->streams[i]);
		give_back(&s->streams[i]);
		free(s->streams[i].room);
	}
	s->n_streams = 0;
	if (s->raw)
		tcsetattr(0, TCSADRAIN, &s->saved);
	s->raw = false;
	fd_close(&s->master);
}

/* ---- moving bytes ------------------------------------------------------- */

size_t stdio_poll(struct stdio *s, struct pollfd *fds)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_streams; i++) {
		const struct stream *t = &s->streams[i];

		if (!t->open || (t->from == 0 && t->begin == t->end && s->ask_at_us))
			continue;
		if (t->begin < t->end || t->lent)
			fds[n++] = (struct pollfd){ .fd = t->to, .events = POLLOUT };
		else
			fds[n++] = (struct pollfd){ .fd = t->from, .events = POLLIN };
	}
	return n;
}

/* What was read: kept, or waiting to be written. */
static void take(struct stdio *s, struct stream *t, size_t n)
{
	int which = t->output;
	size_t fits = n;

	if (which >= 0 && (int64_t)n > s->left) {
		fits = (size_t)s->left;
		s->over = t->cut = true;
		if (s->truncated)
			s->truncated[which] = true;
	}
	if (which >= 0)
		s->left -= (int64_t)fits;
	if (t->keep)
		buf_add(t->keep, t->room, fits);
	else
		t->end = fits;
	t->begin = 0;
}

static void read_some(struct stdio *s, struct stream *t)
{
	ssize_t n;

	if (!t->due || !is_ready(t->from, POLLIN) || (t->from == 0 && !is_our_keyboard(s)))
		return;
	n = read(t->from, t->room, (size_t)MIN((int64_t)STREAM_ROOM, t->due));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* We are in the background by now. */
	if (n < 0 && errno == EIO && t->from == 0 && s->keyboard && !in_foreground())
		return;
	if (n <= 0) {
		end_stream(s, t);	/* the end; a pty says EIO */
		return;
	}
	if (t->due != INT64_MAX)
		t->due -= n;
	take(s, t, (size_t)n);
}

/* Where there is room: as much as surely fits, if the descriptor could not be
 * opened anew. */
static ssize_t write_now(int fd, const char *data, size_t n)
{
	ssize_t done;

	if (fd > 2)
		return write(fd, data, n);
	done = send(fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return done < 0 && errno == ENOTSOCK ? write(fd, data, MIN(n, (size_t)PIPE_BUF)) : done;
}

/* A reader that went away wants no more; a file has not got what it was to have. */
static void lose(struct stdio *s, const struct stream *t)
{
	if (t->output < 0 || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
		return;
	s->unwritten = errno;
	if (s->truncated)
		s->truncated[t->output] = true;
}

static void write_some(struct stdio *s, struct stream *t)
{
	ssize_t n;

	if (!is_ready(t->to, POLLOUT))
		return;
	n = write_now(t->to, t->room + t->begin, t->end - t->begin);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		lose(s, t);
		end_stream(s, t);	/* nobody reads any more */
		return;
	}
	if (n > 0)
		t->begin += (size_t)n;
	if (t->begin == t->end)
		t->begin = t->end = 0;
}

/* A copy of the next bytes of a pipe, once those before were read. */
static void lend(struct stdio *s, struct stream *t)
{
	ssize_t n;

	if (t->lent && !is_ready(t->to, POLLOUT))
		return;
	t->n_lent += t->lent;
	settle(t);
	if (t->n_lent >= LEND_BYTES) {
		t->lends = false;
		(void)fcntl(t->to, F_SETPIPE_SZ, STREAM_ROOM);
		return;
	}
	n = tee(t->from, t->to, STREAM_ROOM, SPLICE_F_NONBLOCK);
	if (n > 0)
		t->lent = (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		end_stream(s, t);	/* the end, or nobody reads any more */
}

bool stdio_move(struct stdio *s)
{
	if (s->ask_at_us && run_now_us() >= s->ask_at_us)
		(void)is_our_keyboard(s);
	for (size_t i = 0; i < s->n_streams; i++) {
		struct stream *t = &s->streams[i];

		if (t->open && t->lends)
			lend(s, t);
		if (t->open && t->begin < t->end)
			write_some(s, t);
		if (t->open && !t->lends && t->begin == t->end)
			read_some(s, t);
	}
	return !s->over;
}

/* Of a terminal the kernel keeps some kilobytes where FIONREAD does not see them, but less
 * than there is room for here. */
static int64_t count_there(const struct stdio *s, const struct stream *t)
{
	int n = 0;

	if (t->from == s->master)
		return STREAM_ROOM;
	return ioctl(t->from, FIONREAD, &n) < 0 ? PIPE_ROOM : n;
}

void stdio_end(struct stdio *s)
{
	if (s->ended)
		return;
	s->ended = true;
	for (size_t i = 0; i < s->n_streams; i++)
		if (s->streams[i].open && s->streams[i].output >= 0)
			s->streams[i].due = count_there(s, &s->streams[i]);
}

/* May the terminal still have something to say? */
static bool has_words(const struct stdio *s)
{
	for (size_t i = 0; i < s->n_streams; i++)
		if (s->master >= 0 && s->streams[i].from == s->master)
			return s->streams[i].open && s->streams[i].due;
	return false;
}

void stdio_wait(struct stdio *s)
{
	struct pollfd p = { .fd = s->master, .events = POLLIN };
	int64_t end = run_later_us(run_now_us(), LAST_WORDS_MOST_MS);

	/* Others may write to it for ever. */
	while (has_words(s) && run_now_us() < end && poll(&p, 1, LAST_WORDS_MS) > 0 &&
	       !(p.revents & POLLHUP))
		if (!stdio_move(s))
			return;
}

/* Has the caller been told to end? */
static bool is_told_to_end(int signals)
{
	struct signalfd_siginfo si;
	bool told = false;

	while (read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		told |= run_is_end((int)si.ssi_signo);
	return told;
}

/* Until somebody reads, for a while.  False: there is no use in it any more. */
static bool wait_for_reader(const struct stream *t, int signals, int64_t end_us)
{
	struct pollfd fds[] = { { .fd = t->to, .events = POLLOUT },
				{ .fd = signals, .events = POLLIN } };
	int64_t left_us = end_us - run_now_us();

	if (left_us <= 0 || poll(fds, 2, (int)MIN(left_us / 1000 + 1, 1000)) < 0)
		return left_us > 0 && errno == EINTR;
	return !fds[1].revents || !is_told_to_end(signals);
}

/* One step of an output: written, where something was read before, else read.  A cut one is
 * not read again. */
static bool drain_some(struct stdio *s, struct stream *t, int signals, int64_t end_us,
		       bool *waits)
{
	if (t->begin < t->end) {
		*waits = *waits && wait_for_reader(t, signals, end_us);
		write_some(s, t);
		if (!*waits && t->begin < t->end && s->truncated)
			s->truncated[t->output] = true;
		return true;
	}
	if (t->cut || !t->due || !is_ready(t->from, POLLIN))
		return false;
	read_some(s, t);
	return true;
}

/* Input has no more use; output ends at the end of its pipe, with what was there when the
 * command ended, or where it is cut. */
bool stdio_drain(struct stdio *s, int signals, bool ended_well)
{
	int64_t end_us = INT64_MAX;
	bool moved = true, waits = true;

	stdio_end(s);
	while (moved && waits) {
		moved = false;
		if (end_us == INT64_MAX && (s->over || !ended_well))
			end_us = run_later_us(run_now_us(), LAST_WORDS_MOST_MS);
		for (size_t i = 0; i < s->n_streams; i++) {
			struct stream *t = &s->streams[i];

			if (t->open && t->output >= 0)
				moved |= drain_some(s, t, signals, end_us, &waits);
		}
	}
	return !s->over;
}

/* The standard streams of a run: passed through, captured, or a terminal. */
#ifndef SUPER_STDIO_H
#define SUPER_STDIO_H

#include <poll.h>
#include <termios.h>

#include "backend/native/native.h"
#include "base/buf.h"

/* Bytes that go one way. */
struct stream {
	int from, to;		/* to == -1: kept in `keep` */
	int output;		/* 0: stdout, 1: stderr, -1: input */
	struct buf *keep;
	char *room;		/* STREAM_ROOM bytes, read and not yet written */
	size_t begin, end;
	bool open;
	bool cut;		/* more came than the limit lets pass */
	int64_t due;		/* bytes that are still to be read, at most */
	bool lends;		/* `from` is a pipe that keeps what the command has not read */
	size_t lent;		/* bytes of it that `to` has as well */
	size_t n_lent;		/* of all time before */
	int back;		/* `from` is a file: the command's end, to see what it left */
};

#define STREAM_ROOM	(64u << 10)

struct stdio {
	struct native_stdio child;	/* what the command gets */
	int close_after[6];		/* its ends, closed here once it has them */
	size_t n_close_after;
	struct stream streams[3];
	size_t n_streams;
	bool keyboard;			/* stdin is the caller's terminal */
	bool raw;			/* which is in raw mode, by us */
	int64_t ask_at_us;		/* it was another's: when to ask again, or 0 */
	int show;			/* where the terminal's output goes, or -1 */
	int master;			/* of the terminal inside, or -1 */
	struct termios saved;
	int64_t left;			/* bytes of output that may still come */
	bool over;			/* more came: for good, whoever ends the command */
	bool ended;			/* the command has: what is there is all that is its own */
	bool *truncated;		/* of stdout and stderr, or NULL */
	int unwritten;			/* why a file of the caller's took no more, or 0 */
};

/* `out`: where to keep stdout and stderr, or NULL to pass them on.  `limit`:
 * bytes of output; counted only where bytes go through us. */
int stdio_open(struct stdio *s, struct buf *out, bool *truncated, int64_t limit, bool limited,
	       struct cordon_err *err) MUST_USE;
/* May this descriptor be a command's as it is?  Not what leads out of its cordon. */
bool stdio_is_harmless(int fd, bool input);
/* The command has its ends: close ours. */
void stdio_started(struct stdio *s);
/* The master of the terminal that was made inside; taken over. */
int stdio_join(struct stdio *s, int master, struct cordon_err *err) MUST_USE;
/* Give the caller's terminal back while everything is stopped, and take it
 * again. */
void stdio_pause(struct stdio *s);
void stdio_resume(struct stdio *s);
/* When to move bytes at the latest, though nothing can be polled for it. */
int64_t stdio_next_us(const struct stdio *s);
/* Descriptors to poll; returns how many were added. */
size_t stdio_poll(struct stdio *s, struct pollfd *fds);
/* Move bytes.  False: the output limit is over. */
bool stdio_move(struct stdio *s);
/* The command has ended: its output is what is there by now, whoever else writes on. */
void stdio_end(struct stdio *s);
/* Where the command had a terminal: what it wrote last comes through the kernel a
 * moment later.  Waits for that, but not for those who keep the terminal open. */
void stdio_wait(struct stdio *s);
/* Everything that is left at the end of the command; of what nobody reads it is given up
 * when a signal ends us, or soon where the run was ended.  False: the output limit is over,
 * since before or only now. */
bool stdio_drain(struct stdio *s, int signals, bool ended_well);
/* The caller's terminal changed its size. */
void stdio_resize(struct stdio *s);
void stdio_close(struct stdio *s);

#endif

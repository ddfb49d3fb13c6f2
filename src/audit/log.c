/* The log of one run; see log.h.  Runs in the supervisor. */
#include "audit/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"

#define BATCH_BYTES	(32u << 10)	/* are written at once */
#define BATCH_US	100000		/* and whatever there is after this time */
#define RETRY_US	500000		/* after a write that failed */
#define LAST_WRITE_MS	200
#define TELL_LOST_US	1000000		/* between two lines of audit.lost */

/* The number of lines, how many more there are each second, the part of the file,
 * and how full the memory may be before a line of the class: while a reader is
 * slow, questions run out of room before refusals, and these before connections. */
static const struct {
	int64_t lines, per_s;
	uint64_t bytes;
	size_t waiting;
} classes[N_AUDIT_CLASSES] = {
	[AUDIT_CLASS_RUN] = { INT64_MAX, 0, MAX_AUDIT_BYTES / 8,
			      MAX_AUDIT_WAITING - 2 * MAX_AUDIT_LINE },
	[AUDIT_CLASS_REFUSAL] = { MAX_AUDIT_REFUSALS, 1, MAX_AUDIT_BYTES / 4,
				  MAX_AUDIT_WAITING / 2 },
	[AUDIT_CLASS_CONNECTION] = { MAX_AUDIT_CONNECTIONS, 100, MAX_AUDIT_BYTES / 2,
				     MAX_AUDIT_WAITING / 4 * 3 },
	[AUDIT_CLASS_QUESTION] = { MAX_AUDIT_QUESTIONS, 1, MAX_AUDIT_BYTES / 8,
				   MAX_AUDIT_WAITING / 4 },
};

/* What is left of it, and when that was last counted. */
struct class_left {
	int64_t lines, at_us;
	uint64_t bytes;
};

struct audit {
	struct audit_file file;
	char run_id[64];
	struct buf waiting;		/* whole lines */
	uint64_t seq;
	struct class_left left[N_AUDIT_CLASSES];
	uint64_t lost, untold[N_AUDIT_CLASSES];	/* untold: no line says so yet */
	int64_t told_us;
	int64_t due_us;
	bool begun;			/* something was written */
	bool torn;			/* the file ends inside a line */
};

static int64_t now_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

struct audit *audit_new(struct audit_file file, const char *run_id)
{
	struct audit *a = calloc(1, sizeof(*a));

	if (!a) {
		fd_close(&file.fd);
		return NULL;
	}
	a->file = file;
	a->waiting = BUF(MAX_AUDIT_WAITING);
	a->due_us = INT64_MAX;
	for (int i = 0; i < N_AUDIT_CLASSES; i++)
		a->left[i] = (struct class_left){ classes[i].lines, now_us(CLOCK_MONOTONIC),
						  classes[i].bytes };
	snprintf(a->run_id, sizeof(a->run_id), "%s", run_id);
	return a;
}

/* ---- adding -------------------------------------------------------------- */

/* The end, and what is missing before it, always find room. */
static bool is_last(const struct audit_event *e)
{
	return e->kind == EVENT_RUN_END || e->kind == EVENT_AUDIT_LOST;
}

static bool has_room(const struct audit *a, enum audit_class class, const struct audit_event *e)
{
	if (is_last(e))
		return a->waiting.n + MAX_AUDIT_LINE <= MAX_AUDIT_WAITING;
	return a->waiting.n + MAX_AUDIT_LINE <= classes[class].waiting &&
	       a->left[class].bytes >= MAX_AUDIT_LINE;
}

/* Takes one line of the class; false: there is none. */
static bool take_line(struct audit *a, enum audit_class class)
{
	struct class_left *left = &a->left[class];
	int64_t seconds = (now_us(CLOCK_MONOTONIC) - left->at_us) / 1000000;

	if (class == AUDIT_CLASS_RUN)
		return true;
	if (seconds) {
		left->at_us += seconds * 1000000;
		left->lines = MIN(left->lines + seconds * classes[class].per_s,
				  classes[class].lines);
	}
	if (!left->lines)
		return false;
	left->lines--;
	return true;
}

static void count_lost(struct audit *a, enum audit_class class, uint64_t n)
{
	a->lost += n;
	a->untold[class] += n;
}

/* False: it has no line. */
static bool add_line(struct audit *a, enum audit_class class, const struct audit_event *e)
{
	struct audit_stamp stamp = { .time_us = now_us(CLOCK_REALTIME), .run_id = a->run_id,
				     .seq = a->seq + 1 };
	size_t before = a->waiting.n;

	if (!has_room(a, class, e))
		return false;
	audit_event_print(e, &stamp, &a->waiting);
	if (buf_ok(&a->waiting) && a->waiting.n - before <= MAX_AUDIT_LINE) {
		a->seq++;
		a->left[class].bytes -= MIN(a->left[class].bytes, a->waiting.n - before);
		return true;
	}
	a->waiting.n = before;
	a->waiting.failed = false;
	return false;
}

static void tell_lost(struct audit *a)
{
	const uint64_t *n = a->untold;
	uint64_t all = 0;
	struct audit_event e = { EVENT_AUDIT_LOST, {
		[AUDIT_LOST_REFUSALS] = AUDIT_NUMBER(n[AUDIT_CLASS_REFUSAL]),
		[AUDIT_LOST_CONNECTIONS] = AUDIT_NUMBER(n[AUDIT_CLASS_CONNECTION]),
		[AUDIT_LOST_QUESTIONS] = AUDIT_NUMBER(n[AUDIT_CLASS_QUESTION]),
	} };

	for (int i = 0; i < N_AUDIT_CLASSES; i++)
		all += n[i];
	e.values[AUDIT_COUNT] = AUDIT_NUMBER(all);
	if (!all || !add_line(a, AUDIT_CLASS_RUN, &e))
		return;
	memset(a->untold, 0, sizeof(a->untold));
	a->told_us = now_us(CLOCK_MONOTONIC);
}

void audit_add(struct audit *a, enum audit_class class, const struct audit_event *e)
{
	int64_t now;
	size_t before;

	if (!a)
		return;
	now = now_us(CLOCK_MONOTONIC);
	before = a->waiting.n;
	/* Not before each line: two floods at one time would have twice the lines. */
	if (e->kind == EVENT_RUN_END || now - a->told_us >= TELL_LOST_US)
		tell_lost(a);
	if (!take_line(a, class) || !add_line(a, class, e))
		count_lost(a, class, 1);
	if (a->due_us == INT64_MAX)
		a->due_us = now + BATCH_US;
	/* Once a batch, also while nothing goes out. */
	if (before / BATCH_BYTES != a->waiting.n / BATCH_BYTES)
		audit_write(a);
}

void audit_add_lost(struct audit *a, enum audit_class class, uint64_t n)
{
	if (a)
		count_lost(a, class, n);
}

/* ---- writing ------------------------------------------------------------- */

/* A pipe without a reader and a file at the caller's limit send signals that
 * would end us; what they mean is in errno, too. */
static ssize_t write_quietly(int fd, const char *data, size_t n)
{
	static const int both[] = { SIGPIPE, SIGXFSZ };
	const struct timespec none = { 0 };
	sigset_t quiet, old;
	ssize_t rc;
	int error;

	sigemptyset(&quiet);
	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		sigaddset(&quiet, both[i]);
	sigprocmask(SIG_BLOCK, &quiet, &old);
	rc = write(fd, data, n);
	error = errno;
	if (rc < 0 && (error == EPIPE || error == EFBIG))
		sigtimedwait(&quiet, NULL, &none);
	/* Not all of `old`: musl leaves out of it what it keeps for itself, and with that a signal
	 * of real time, which would end us from then on. */
	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		if (sigismember(&old, both[i]))
			sigdelset(&quiet, both[i]);
	sigprocmask(SIG_UNBLOCK, &quiet, NULL);
	errno = error;
	return rc;
}

/* An earlier run may have been cut short by a full disk.  What looks like it may
 * also be a write of another run that is under way: the line feed comes behind all
 * of that, and makes a blank line. */
static bool ends_torn(const struct audit *a)
{
	struct stat st;
	char last;

	return a->file.is_regular && fstat(a->file.fd, &st) == 0 && st.st_size > 0 &&
	       pread(a->file.fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* How much goes into one write: whole lines, at least one. */
static size_t piece(const struct audit *a)
{
	const char *data = a->waiting.data, *end;

	if (a->file.is_regular || a->waiting.n <= PIPE_BUF)
		return a->waiting.n;
	end = memrchr(data, '\n', PIPE_BUF);
	return (size_t)(end - data) + 1;
}
static_assert(MAX_AUDIT_LINE <= PIPE_BUF, "a line is added to a pipe as one");

static void drop(struct audit *a, size_t n)
{
	a->waiting.n -= n;
	memmove(a->waiting.data, a->waiting.data + n, a->waiting.n);
}

/* False: not now. */
static bool write_piece(struct audit *a)
{
	size_t n = piece(a);
	const char *end;
	ssize_t done;

	if (!a->begun)
		a->torn = ends_torn(a);
	a->begun = true;
	if (a->torn && write_quietly(a->file.fd, "\n", 1) != 1)
		return false;
	a->torn = false;
	done = write_quietly(a->file.fd, a->waiting.data, n);
	if (done <= 0)
		return done < 0 && errno == EINTR;
	end = memrchr(a->waiting.data, '\n', (size_t)done);
	n = end ? (size_t)(end - a->waiting.data) + 1 : 0;
	a->torn = n < (size_t)done;
	drop(a, n);
	return true;
}

void audit_write(struct audit *a)
{
	if (!a)
		return;
	while (a->waiting.n && write_piece(a))
		;
	a->due_us = a->waiting.n ? now_us(CLOCK_MONOTONIC) + RETRY_US : INT64_MAX;
}

int64_t audit_next_us(const struct audit *a)
{
	return a ? a->due_us : INT64_MAX;
}

static uint64_t count_lines(const struct buf *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->data[i] == '\n';
	return n;
}

uint64_t audit_free(struct audit *a)
{
	int64_t end_us = now_us(CLOCK_MONOTONIC) + LAST_WRITE_MS * 1000, left_us;
	uint64_t lost;

	if (!a)
		return 0;
	tell_lost(a);
	audit_write(a);
	while (a->waiting.n && !a->file.is_regular &&
	       (left_us = end_us - now_us(CLOCK_MONOTONIC)) > 0) {
		struct pollfd p = { .fd = a->file.fd, .events = POLLOUT };

		/* A pipe whose reader is gone is ready, and takes nothing. */
		if (poll(&p, 1, (int)(left_us / 1000) + 1) <= 0 || (p.revents & POLLERR) ||
		    !write_piece(a))
			break;
	}
	lost = a->lost + count_lines(&a->waiting);
	close(a->file.fd);
	buf_release(&a->waiting);
	free(a);
	return lost;
}

/* Texts, written whole; see write.h. */
#include "cli/write.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A reader that takes little at a time gets no more time. */
static int wait_for_room(int fd, const struct timespec *begin, int wait_s)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (wait_s != WRITE_PATIENT && now.tv_sec - begin->tv_sec >= wait_s) {
		errno = ETIMEDOUT;
		return -1;
	}
	return poll(&p, 1, 1000) < 0 && errno != EINTR ? -1 : 0;
}

int write_text(int fd, const char *text, int wait_s)
{
	size_t n = strlen(text);
	struct timespec begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno == EAGAIN && wait_for_room(fd, &begin, wait_s) == 0)
			continue;
		if (done < 0 && errno != EINTR)
			return -1;
		if (done > 0) {
			text += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

/* Lines of a file; see lines.h. */
#include "host/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

void lines_open(struct lines *l, const char *path)
{
	l->at = l->n = 0;
	l->in_long = false;
	l->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

void lines_close(struct lines *l)
{
	fd_close(&l->fd);
}

/* Move what is left to the front and read more behind it. */
static bool fill(struct lines *l)
{
	ssize_t n;

	memmove(l->data, l->data + l->at, l->n - l->at);
	l->n -= l->at;
	l->at = 0;
	if (l->fd < 0)
		return false;
	do
		n = read(l->fd, l->data + l->n, sizeof(l->data) - l->n);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	l->n += (size_t)n;
	return true;
}

bool lines_next(struct lines *l, struct str *ret)
{
	for (;;) {
		struct str rest = { l->data + l->at, l->n - l->at };
		size_t end = str_find(rest, '\n');
		bool skip = l->in_long;

		if (end < rest.n) {
			l->at += end + 1;
			l->in_long = false;
		} else if (rest.n == sizeof(l->data)) {
			l->at = l->n;
			l->in_long = true;
		} else if (fill(l)) {
			continue;
		} else {
			/* Without a newline at the end. */
			l->at = l->n = 0;
			l->in_long = false;
			if (!rest.n)
				return false;
			rest.s = l->data;
		}
		if (!skip) {
			*ret = str_first(rest, end);
			return true;
		}
	}
}

struct str field_of(struct str line, char separator, unsigned n)
{
	for (; n; n--) {
		size_t end = str_find(line, separator);

		line = str_from_pos(line, end < line.n ? end + 1 : end);
	}
	return str_first(line, str_find(line, separator));
}

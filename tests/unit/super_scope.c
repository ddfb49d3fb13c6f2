/* Asking systemd for a scope, against a server that answers as it is told. */
#include "super/scope.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum behaviour { MOVES, MOVES_LATE, REFUSES, STAYS, STRANGERS, GARBAGE, HANGS_UP, HUGE_ANSWER };

static char folder[] = "/tmp/cordon-scope-XXXXXX";
static char path[64], self[64];

static void read_until(int fd, const char *end, char *buf, size_t room)
{
	size_t n = 0, len = strlen(end);

	while (n + 1 < room && read(fd, buf + n, 1) == 1)
		if (++n >= len && memcmp(buf + n - len, end, len) == 0)
			break;
	buf[n] = '\0';
}

static unsigned u32(const unsigned char *b)
{
	return b[0] | (unsigned)b[1] << 8 | (unsigned)b[2] << 16 | (unsigned)b[3] << 24;
}

/* A whole message; returns its bytes. */
static size_t read_message(int fd, unsigned char *m, size_t room)
{
	size_t n = 0, all = 16;

	while (n < all && all <= room) {
		ssize_t got = read(fd, m + n, all - n);

		if (got <= 0)
			return 0;
		n += (size_t)got;
		if (n == 16)
			all = 16 + (u32(m + 12) + 7) / 8 * 8 + u32(m + 4);
	}
	return n;
}

/* An answer of this type to a call: the header has one field, its number; the
 * body is one text. */
static void answer(int fd, char type, unsigned serial, const char *text)
{
	unsigned char m[256] = { 'l', (unsigned char)type, 0, 1 };
	size_t n = strlen(text);

	m[4] = (unsigned char)(4 + n + 1);
	m[8] = 7;
	m[12] = 8;
	m[16] = 5;
	m[17] = 1;
	m[18] = 'u';
	m[20] = (unsigned char)serial;
	m[24] = (unsigned char)n;
	memcpy(m + 28, text, n + 1);
	(void)!write(fd, m, 28 + n + 1);
}

static void move(const unsigned char *m, size_t n)
{
	const char *name = memmem(m, n, "cordon-run-", 11);
	FILE *f = fopen(self, "we");

	fprintf(f, "0::/user.slice/%s\n", name);
	fclose(f);
}

/* The properties, as the specification lays them out: a text is its length, its
 * bytes and a NUL; a variant its signature and its value. */
static bool is_asked_well(const unsigned char *m, size_t n)
{
	unsigned pid = (unsigned)getppid();
	unsigned char pids[] = { 4, 0, 0, 0, 'P', 'I', 'D', 's', 0, 2, 'a', 'u', 0, 0, 0, 0,
				 4, 0, 0, 0, (unsigned char)pid, (unsigned char)(pid >> 8),
				 (unsigned char)(pid >> 16), (unsigned char)(pid >> 24) };
	static const unsigned char delegate[] = { 8,   0,   0,   0,   'D', 'e', 'l', 'e', 'g', 'a',
						  't', 'e', 0,   1,   'b', 0,   1,   0,   0,   0 };

	return memmem(m, n, pids, sizeof(pids)) && memmem(m, n, delegate, sizeof(delegate)) &&
	       memmem(m, n, "StartTransientUnit", 19) && memmem(m, n, "\4\0\0\0fail", 9) &&
	       memmem(m, n, "\20ssa(sv)a(sa(sv))", 18);
}

static void serve_one(int fd, bool is_bus, enum behaviour how)
{
	unsigned char m[4096];
	char line[256];
	size_t n;

	read_until(fd, "\n", line, sizeof(line));
	(void)!write(fd, "OK 0123\r\n", 9);
	read_until(fd, "BEGIN\r\n", line, sizeof(line));
	if (is_bus) {
		read_message(fd, m, sizeof(m));
		answer(fd, 2, 1, ":1.5");
	}
	n = read_message(fd, m, sizeof(m));
	if (how == STRANGERS)
		answer(fd, 4, 77, "a signal");
	if (how == GARBAGE)
		(void)!write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	else if (how == HUGE_ANSWER)
		(void)!write(fd, "l\2\0\1\377\377\377\377\1\0\0\0\377\377\377\377", 16);
	else if (how == REFUSES || !is_asked_well(m, n))
		answer(fd, 3, 2, "Unit is not wanted.");
	else if (how != HANGS_UP)
		answer(fd, 2, 2, "/job/1");
	if (how == MOVES_LATE)
		usleep(50000);
	if (how == MOVES || how == MOVES_LATE || how == STRANGERS)
		move(m, n);
}

static int ask(bool is_bus, enum behaviour how, struct cordon_err *err)
{
	struct scope_paths paths = { is_bus ? NULL : path, is_bus ? path : NULL, self };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
	FILE *f = fopen(self, "we");
	pid_t pid;

	fputs("0::/user.slice/session-1.scope\n", f);
	fclose(f);
	unlink(path);
	memcpy(addr.sun_path, path, strlen(path));
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(sock, 1) < 0)
		return -2;
	pid = fork();
	if (pid == 0) {
		int fd = accept(sock, NULL, NULL);

		serve_one(fd, is_bus, how);
		_exit(0);
	}
	close(sock);
	rc = scope_start_at(&paths, err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}

static void test_moved(void)
{
	struct cordon_err err = { 0 };

	is_int(ask(false, MOVES, &err), 0, "by its own socket: %s", err.msg);
	is_int(ask(true, MOVES, &err), 0, "by the bus: %s", err.msg);
	is_int(ask(true, STRANGERS, &err), 0, "other messages do not matter: %s", err.msg);
	is_int(ask(false, MOVES_LATE, &err), 0, "the answer comes before the move: %s", err.msg);
}

static void test_refused(void)
{
	static const struct {
		enum behaviour how;
		const char *says;
	} rows[] = {
		{ REFUSES, "says: Unit is not wanted." },
		{ STAYS, "did not move this process" },
		{ GARBAGE, "not understood" },
		{ HANGS_UP, "does not answer" },
		{ HUGE_ANSWER, "not understood" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cordon_err err = { 0 };

		is_int(ask(i % 2, rows[i].how, &err), -1, "row %zu", i);
		ok(strstr(err.msg, rows[i].says) != NULL, "row %zu says: %s", i, err.msg);
	}
}

static void test_nobody(void)
{
	struct scope_paths paths = { "/nonexistent/private", "/nonexistent/bus", self };
	struct cordon_err err = { 0 };

	is_int(scope_start_at(&paths, &err), -1, "nobody listens");
	ok(strstr(err.msg, "cannot reach systemd") != NULL, "%s", err.msg);
	paths.private = paths.bus = NULL;
	is_int(scope_start_at(&paths, &err), -1, "no place to look");
}

int main(void)
{
	int rc;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	snprintf(self, sizeof(self), "%s/self", folder);
	rc = tap_run((struct tap_case[]){
		TAP(test_moved),
		TAP(test_refused),
		TAP(test_nobody),
		TAP_END,
	});
	unlink(path);
	unlink(self);
	rmdir(folder);
	return rc;
}

/* Both ends of a connection, for tests/bench/gate.py.
 *
 *   gate-peer serve              prints its port; answers until its input ends
 *   gate-peer MODE HOST PORT N [PROXY_PORT]
 *
 * connect   N connections, a byte there and back on each: microseconds, median
 * request   N requests on one connection, the same
 * rate      N requests on each of 64 connections: requests a second
 * bulk      N megabytes to the client on one connection: megabytes a second
 * hold      N connections at once, each answered twice: seconds
 *
 * Prints the number and lives until its input ends, so that what lies between can
 * be looked at.  With PROXY_PORT each connection is asked of an HTTP proxy on the
 * loopback by CONNECT, as programs with proxy variables do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BULK_BYTES	(256 << 10)
#define RATE_CONNECTIONS	64

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void raise_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* ---- the server ---------------------------------------------------------- */

/* A byte is answered by itself; 'B' by bytes without end. */
static void serve_one(int epoll, int fd)
{
	static char piece[BULK_BYTES];
	char byte[4096];
	ssize_t n = recv(fd, byte, sizeof(byte), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		close(fd);
		return;
	}
	if (byte[0] == 'B') {
		struct epoll_event e = { .events = 0, .data.fd = fd };

		epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &e);
		if (fork() == 0) {
			while (send(fd, piece, sizeof(piece), MSG_NOSIGNAL) > 0)
				;
			_exit(0);
		}
		close(fd);
		return;
	}
	if (send(fd, byte, (size_t)n, MSG_NOSIGNAL) < 0)
		close(fd);
}

static void serve(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), epoll = epoll_create1(0), one = 1;
	struct epoll_event events[64], e = { .events = EPOLLIN, .data.fd = fd };

	signal(SIGCHLD, SIG_IGN);
	if (bind(fd, (struct sockaddr *)&in, n) < 0 || listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &n) < 0)
		die("listen");
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
	e.data.fd = 0;
	epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &e);
	printf("%u\n", ntohs(in.sin_port));
	fflush(stdout);
	for (;;) {
		int got = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < got; i++) {
			if (events[i].data.fd == 0)
				exit(0);
			if (events[i].data.fd != fd) {
				serve_one(epoll, events[i].data.fd);
				continue;
			}
			e.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
			if (e.data.fd < 0)
				continue;
			setsockopt(e.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			epoll_ctl(epoll, EPOLL_CTL_ADD, e.data.fd, &e);
		}
	}
}

/* ---- the client ---------------------------------------------------------- */

struct target {
	const char *host, *port;
	struct sockaddr_in at;
	bool by_proxy;
};

static void find(struct target *t, const char *proxy_port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *list;

	t->by_proxy = proxy_port;
	if (getaddrinfo(proxy_port ? "127.0.0.1" : t->host, proxy_port ? proxy_port : t->port,
			&hints, &list) != 0) {
		fprintf(stderr, "%s does not resolve\n", t->host);
		exit(1);
	}
	memcpy(&t->at, list->ai_addr, sizeof(t->at));
}

static int dial(const struct target *t)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	char text[512];

	if (connect(fd, (const struct sockaddr *)&t->at, sizeof(t->at)) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (t->by_proxy) {
		int n = snprintf(text, sizeof(text),
				 "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", t->host,
				 t->port, t->host, t->port);

		if (send(fd, text, (size_t)n, 0) != n || recv(fd, text, sizeof(text), 0) < 12 ||
		    memcmp(text + 9, "200", 3) != 0)
			die("CONNECT");
	}
	return fd;
}

/* Not a byte that begins a request or a handshake. */
static void echo(int fd)
{
	char byte = 1;

	if (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
		die("echo");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double measure(const struct target *t, int n, bool connects)
{
	struct linger hard = { .l_onoff = 1 };
	double *us = calloc((size_t)n, sizeof(*us)), median;
	int fd = connects ? -1 : dial(t);

	for (int i = 0; i < n; i++) {
		double begin = now_us();

		if (connects)
			fd = dial(t);
		echo(fd);
		us[i] = now_us() - begin;
		if (connects) {
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
			close(fd);
		}
	}
	qsort(us, (size_t)n, sizeof(*us), compare);
	median = us[n / 2];
	free(us);
	return median;
}

static double measure_connect(const struct target *t, int n)
{
	return measure(t, n, true);
}

static double measure_request(const struct target *t, int n)
{
	return measure(t, n, false);
}

static double measure_rate(const struct target *t, int n)
{
	char byte = 1;
	int fds[RATE_CONNECTIONS];
	double begin;

	for (int i = 0; i < RATE_CONNECTIONS; i++) {
		fds[i] = dial(t);
		echo(fds[i]);
	}
	begin = now_us();
	for (int round = 0; round < n; round++) {
		for (int i = 0; i < RATE_CONNECTIONS; i++)
			if (send(fds[i], &byte, 1, 0) != 1)
				die("send");
		for (int i = 0; i < RATE_CONNECTIONS; i++)
			if (recv(fds[i], &byte, 1, 0) != 1)
				die("recv");
	}
	return (double)n * RATE_CONNECTIONS / ((now_us() - begin) / 1e6);
}

static double measure_bulk(const struct target *t, int megabytes)
{
	static char piece[BULK_BYTES];
	int64_t left = (int64_t)megabytes << 20;
	int fd = dial(t);
	double begin = now_us();

	if (send(fd, "B", 1, 0) != 1)
		die("send");
	while (left > 0) {
		ssize_t n = recv(fd, piece, sizeof(piece), 0);

		if (n <= 0)
			die("recv");
		left -= n;
	}
	return megabytes / ((now_us() - begin) / 1e6);
}

static double measure_hold(const struct target *t, int n)
{
	int *fds = calloc((size_t)n, sizeof(*fds));
	double begin = now_us();

	for (int i = 0; i < n; i++) {
		fds[i] = dial(t);
		echo(fds[i]);
	}
	for (int i = 0; i < n; i++)
		echo(fds[i]);
	free(fds);
	return (now_us() - begin) / 1e6;
}

static const struct {
	const char *name;
	double (*measure)(const struct target *t, int n);
} modes[] = {
	{ "connect", measure_connect }, { "request", measure_request }, { "rate", measure_rate },
	{ "bulk", measure_bulk },	{ "hold", measure_hold },
};

int main(int argc, char **argv)
{
	struct target t;
	char byte;
	int n;

	raise_files();
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		serve();
	if (argc < 5)
		return 2;
	t.host = argv[2];
	t.port = argv[3];
	n = (int)strtol(argv[4], NULL, 10);
	find(&t, argc > 5 ? argv[5] : NULL);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			printf("%.3f\n", modes[i].measure(&t, n));
			fflush(stdout);
			(void)!read(0, &byte, 1);
			return 0;
		}
	return 2;
}

/* The gate against clients and servers that end in every order, read nothing or
 * send for ever: it is never busy with what does not move, and nothing is left.
 *
 * weight: 2/8
 * sanitized: --all
 */
#include <dirent.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "gate_box.h"

#define MAX_TURNS	5000	/* of the gate before it has nothing to do */

/* Lets the gate work; false: it always finds something to do. */
static bool settles(struct box *b)
{
	struct pollfd p = { .fd = gate_event_fd(b->gate), .events = POLLIN };

	for (int i = 0; i < MAX_TURNS; i++) {
		if (poll(&p, 1, 3) == 0)
			return true;
		gate_work(b->gate);
	}
	return false;
}

static void reset(int *fd)
{
	struct linger hard = { .l_onoff = 1 };

	if (*fd >= 0)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	fd_close(fd);
}

/* As much as goes; nobody reads it. */
static bool stuff(struct box *b, int from)
{
	static const char piece[1 << 16];

	for (int idle = 0; idle < 2;) {
		idle++;
		while (send(from, piece, sizeof(piece), MSG_NOSIGNAL) > 0)
			idle = 0;
		if (!settles(b))
			return false;
	}
	return true;
}

/* What the gate dialled. */
static int accepted(struct box *b)
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < MAX_WAITS && settles(b); i++)
		fd = accept4(b->server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return fd;
}

/* Connections, when they become none, or those that stay. */
static unsigned left(struct box *b)
{
	struct gate_status s = { .connections = 1 };

	for (int i = 0; s.connections && i < MAX_WAITS && settles(b); i++)
		gate_get_status(b->gate, &s);
	return s.connections;
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Acts: of the client in small letters, of the server in capitals.
 *   e  its half ends      f  sends until nobody takes more      r  resets */
#define ACTS	"efrEFR"

static bool act(struct box *b, char what, int *client, int *server)
{
	int *fd = strchr("efr", what) ? client : server;

	switch (what | 0x20) {
	case 'e':
		shutdown(*fd, SHUT_WR);
		break;
	case 'f':
		return stuff(b, *fd);
	default:
		reset(fd);
	}
	return settles(b);
}

/* Nobody acts after a reset or sends after its end, and nobody does a thing twice. */
static bool makes_sense(const char *acts, char next)
{
	bool small = strchr("efr", next);

	if (strchr(acts, next) || strchr(acts, small ? 'r' : 'R'))
		return false;
	return (next | 0x20) != 'f' || !strchr(acts, small ? 'e' : 'E');
}

static void play(struct box *b, const char *acts)
{
	int client = dial(b), server = accepted(b);

	ok(server >= 0, "%s: dialled", acts);
	for (const char *c = acts; *c; c++)
		ok(act(b, *c, &client, &server), "%s: busy for ever after %c", acts, *c);
	/* Who has gone, having said all it had to say, is waited for no longer. */
	if (!strpbrk(acts, "fF") && (strpbrk(acts, "rR") || strlen(acts) == 2))
		is_int(left(b), 0, "%s: it is over", acts);
	reset(&client);
	reset(&server);
	ok(settles(b), "%s: busy for ever after the end", acts);
	is_int(left(b), 0, "%s: nothing is left", acts);
}

static void play_all(struct box *b, char *acts, size_t n, unsigned *played)
{
	if (n) {
		play(b, acts);
		++*played;
	}
	for (const char *next = ACTS; *next && n < 4; next++) {
		if (!makes_sense(acts, *next))
			continue;
		acts[n] = *next;
		acts[n + 1] = '\0';
		play_all(b, acts, n + 1, played);
		acts[n] = '\0';
	}
}

static void test_every_order_of_ends(void)
{
	char acts[8] = "";
	struct box b;
	unsigned played = 0;
	int before;

	open_box(&b, ALLOWED "tls = \"name-only\"\n");
	/* Pipes that are kept for the next one come first. */
	play(&b, "fFrR");
	before = count_fds();
	play_all(&b, acts, 0, &played);
	ok(played > 100, "%u orders", played);
	ok(count_fds() <= before + 32, "descriptors: %d before, %d after", before, count_fds());
	close_box(&b);
}

/* Who does not read may have all descriptors of the gate, and no more than that. */
static void test_no_descriptors_are_left(void)
{
	static char piece[1 << 16];
	struct rlimit limit = { 0, 0 };
	int client[2], server[2], next;
	size_t sent = 0, got = 0;
	struct box b;

	open_box(&b, ALLOWED "tls = \"name-only\"\n");
	for (size_t i = 0; i < ARRAY_SIZE(client); i++) {
		client[i] = dial(&b);
		server[i] = accepted(&b);
	}
	ok(stuff(&b, server[0]), "the first client does not read");
	next = dup(server[0]);
	close(next);
	limit.rlim_cur = limit.rlim_max = (rlim_t)next;
	ok(setrlimit(RLIMIT_NOFILE, &limit) == 0, "no more descriptors");
	for (int i = 0; i < 200 || (got < sent && i < MAX_WAITS); i++) {
		ssize_t n = i < 200 ? send(server[1], piece, sizeof(piece), MSG_NOSIGNAL) : 0;

		sent += n > 0 ? (size_t)n : 0;
		ok(settles(&b), "it settles");
		while ((n = recv(client[1], piece, sizeof(piece), 0)) > 0)
			got += (size_t)n;
	}
	ok(got > 1u << 20 && got == sent, "the second is served: %zu of %zu", got, sent);
	close_box(&b);
}

#define CROWD		100
#define CROWD_MEMORY	(16u << 20)

struct crowd {
	struct box b;
	int client[CROWD], server[CROWD];
};

static bool is_ours(const struct crowd *c, int fd)
{
	for (int i = 0; i < CROWD; i++)
		if (c->client[i] == fd || c->server[i] == fd)
			return true;
	return false;
}

/* Bytes in the kernel for the gate's sockets and pipes. */
static size_t held_by_kernel(const struct crowd *c)
{
	size_t sum = 0;

	for (int fd = 3; fd < 4096; fd++) {
		uint32_t mem[SK_MEMINFO_VARS];
		socklen_t n = sizeof(mem);
		int piped = 0;

		if (is_ours(c, fd))
			continue;
		if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &n) == 0)
			sum += mem[SK_MEMINFO_RMEM_ALLOC] + mem[SK_MEMINFO_WMEM_QUEUED];
		else if (errno == ENOTSOCK && ioctl(fd, FIONREAD, &piped) == 0 && piped > 0)
			sum += (size_t)piped;
	}
	return sum;
}

/* Connections that both sides fill and neither reads; what is held for them then. */
static size_t hold_crowd(struct gate_status *ret)
{
	static struct crowd c;
	size_t held;

	open_box(&c.b, ALLOWED "tls = \"name-only\"\nconnections = 100\n");
	for (int i = 0; i < CROWD; i++) {
		c.client[i] = dial(&c.b);
		c.server[i] = accepted(&c.b);
	}
	for (int i = 0; i < CROWD; i++)
		ok(c.server[i] >= 0 && stuff(&c.b, c.server[i]) && stuff(&c.b, c.client[i]),
		   "connection %d is full", i);
	held = held_by_kernel(&c);
	gate_get_status(c.b.gate, ret);
	for (int i = 0; i < CROWD; i++) {
		reset(&c.client[i]);
		reset(&c.server[i]);
	}
	is_int(left(&c.b), 0, "nothing is left");
	close_box(&c.b);
	return held;
}

/* [B1] */
static void test_a_crowd_holds_no_more_than_the_budget(void)
{
	struct gate_status s;
	size_t held;

	held = hold_crowd(&s);
	ok(held > 2 * CROWD_MEMORY, "with much memory, %zu bytes are held", held);
	box_memory = CROWD_MEMORY;
	held = hold_crowd(&s);
	box_memory = MAX_GATE_MEMORY;
	ok(held > 0 && held <= s.memory, "%zu bytes are held, and %zu were given", held, s.memory);
	ok(s.memory <= CROWD_MEMORY, "of %u", CROWD_MEMORY);
	is_int((long long)s.memory_limit, CROWD_MEMORY, "which is told");
	ok(s.memory_most >= s.memory && s.memory_most <= CROWD_MEMORY, "the most: %zu",
	   s.memory_most);
}

/* More connections than the budget carries are refused, and shares come back. */
static void test_a_budget_for_few(void)
{
	char text[4096];
	int client[4];
	unsigned cut = 0;
	struct gate_status s;
	struct box b;

	box_memory = 4 * 62 << 10;
	open_box(&b, ALLOWED);
	box_memory = MAX_GATE_MEMORY;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(client); i++) {
			client[i] = dial(&b);
			ok(settles(&b), "it settles");
		}
		for (size_t i = 0; i < ARRAY_SIZE(client); i++) {
			cut += strcmp(heard_by(client[i], text), "!ECONNRESET") == 0;
			reset(&client[i]);
		}
		is_int(left(&b), 0, "nothing is left");
	}
	is_int(cut, 4, "two each time");
	ok(strstr(b.last, "too many connections"), "%s", b.last);
	gate_get_status(b.gate, &s);
	is_int((long long)s.memory, 0, "all was given back");
	close_box(&b);
}

static _Noreturn void send_for_ever(const struct box *b)
{
	static const char bad[] = "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n";
	static const char piece[1 << 16];
	int fd = dial(b);

	fcntl(fd, F_SETFL, 0);
	if (send(fd, bad, sizeof(bad) - 1, 0) < 0)
		_exit(1);
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			break;
	while (send(fd, piece, sizeof(piece), MSG_NOSIGNAL) > 0)
		;
	_exit(0);
}

/* A refused client that never stops sending is cut, also if several do it. */
static void test_a_refused_client_that_sends_for_ever(void)
{
	struct gate_status s = { .connections = 1 };
	struct box b;
	int status = 1;
	pid_t pid;

	open_box(&b, ALLOWED);
	pid = fork();
	if (pid == 0)
		send_for_ever(&b);
	while (s.connections || !b.n_denied) {
		struct pollfd p = { .fd = gate_event_fd(b.gate), .events = POLLIN };

		poll(&p, 1, 10);
		gate_work(b.gate);
		gate_get_status(b.gate, &s);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "it was cut: %x", status);
	is_int(b.n_denied, 1, "%s", b.last);
	close_box(&b);
}

#define OTHER	0xc0000209u	/* 192.0.2.9 */

/* A network of our own in which OTHER is an address like any: the loopback's are
 * never dialled outside. */
static bool enter_network(void)
{
	struct ifreq up = { .ifr_name = "lo" }, alias = { .ifr_name = "lo:1" };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(OTHER) } };
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	up.ifr_flags = IFF_UP;
	memcpy(&alias.ifr_addr, &in, sizeof(in));
	ok(ioctl(fd, SIOCSIFFLAGS, &up) == 0 && ioctl(fd, SIOCSIFADDR, &alias) == 0, "an address");
	close(fd);
	return true;
}

/* Half an answer of the proxy in front keeps nobody busy; what follows a whole one
 * is the server's. */
static void test_a_slow_proxy(void)
{
	struct cordon_err err;
	char text[4096];
	struct box b;
	struct sockaddr_in in;
	socklen_t n = sizeof(in);
	int client, proxy;

	if (!enter_network()) {
		skip("this kernel lets no ordinary user make a network namespace");
		return;
	}
	open_box(&b, CLOSED);
	ok(getsockname(b.server, (struct sockaddr *)&in, &n) == 0, "its port");
	snprintf(text, sizeof(text), "[network]\nallow = [\"192.0.2.9:%u\"]\n"
		 "upstream_proxy = \"http://127.0.0.1:%u\"\n", b.port, ntohs(in.sin_port));
	ok(gate_set_policy(b.gate, read_net(&b.arena, text, NULL, 0), &err) == 0, "%s", err.msg);
	client = dial_at(&b, OTHER);
	proxy = accepted(&b);
	ok(strncmp(hears(&b, proxy, text), "CONNECT 192.0.2.9:", 18) == 0, "asked: %s", text);
	ok(send(proxy, "HTTP/1.1 200 OK\r\nA:", 20, 0) == 20, "half an answer");
	ok(settles(&b), "which is waited for");
	is_text(heard_by(client, text), "!EAGAIN", "and not passed on");
	ok(send(proxy, " b\r\n\r\n220 hello\r\n", 17, 0) == 17, "the rest and more");
	is_text(hears(&b, client, text), "220 hello\r\n", "what is the server's");
	ok(send(client, "EHLO\r\n", 6, 0) == 6, "answered");
	is_text(hears(&b, proxy, text), "EHLO\r\n", "to the server");
	close(client);
	close(proxy);
	close_box(&b);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);	/* as the supervisor does: splice(2) has no flag for it */
	return tap_run((struct tap_case[]){
		TAP(test_every_order_of_ends), TAP(test_a_crowd_holds_no_more_than_the_budget),
		TAP(test_a_budget_for_few), TAP(test_no_descriptors_are_left),
		TAP(test_a_refused_client_that_sends_for_ever), TAP(test_a_slow_proxy), TAP_END });
}

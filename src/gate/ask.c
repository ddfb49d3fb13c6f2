/* Asking name servers (see ask.h).  Run by a worker of the resolver, which is killed when it
 * takes too long. */
#include "gate/ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/dns_reply.h"
#include "gate/gate_priv.h"

#define DNS_PORT	53
/* With the addresses of one kind there, so long is waited for the others: a server that drops
 * questions of a kind that it does not know would hold up every connection. */
#define SECOND_MS	300

/* ---- the list of servers --------------------------------------------------- */

/* As text, with the interface of a link-local address (`fe80::1%eth0`). */
static void add_server(struct name_servers *s, const char *text)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found = NULL;

	if (s->n == MAX_NAME_SERVERS || getaddrinfo(text, NULL, &hints, &found) != 0)
		return;
	memcpy(&s->list[s->n], found->ai_addr, found->ai_addrlen);
	if (found->ai_family == AF_INET6)
		((struct sockaddr_in6 *)&s->list[s->n])->sin6_port = htons(DNS_PORT);
	else
		((struct sockaddr_in *)&s->list[s->n])->sin_port = htons(DNS_PORT);
	s->size[s->n++] = found->ai_addrlen;
	freeaddrinfo(found);
}

static void read_option(struct name_servers *s, struct str word)
{
	static const struct str wait = STR("timeout:"), rounds = STR("attempts:");
	uint64_t n;

	if (str_starts(word, wait.s) && str_parse_u64(str_from_pos(word, wait.n), &n))
		s->wait_ms = (int)MIN(MAX(n, 1), 30) * 1000;
	else if (str_starts(word, rounds.s) && str_parse_u64(str_from_pos(word, rounds.n), &n))
		s->rounds = (int)MIN(MAX(n, 1), 5);
}

void name_servers_read(struct name_servers *s, char *line)
{
	static const char space[] = " \t\r\n";
	char *rest, *word;

	/* A mark in the middle is no comment: see resolv.conf(5). */
	if (*line == '#' || *line == ';')
		return;
	word = strtok_r(line, space, &rest);
	if (word && strcmp(word, "nameserver") == 0) {
		word = strtok_r(NULL, space, &rest);
		if (word)
			add_server(s, word);
	} else if (word && strcmp(word, "options") == 0) {
		while ((word = strtok_r(NULL, space, &rest)))
			read_option(s, str_from(word));
	}
}

/* ---- one server ------------------------------------------------------------ */

struct question {
	struct dns_asked asked;
	bool is_told;			/* by some server */
	bool is_over;			/* this server has said what it can */
	struct host_addr addrs[MAX_NAME_ANSWERS];
	size_t n;
};

#define N_KINDS	2	/* of addresses */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* False: nothing came before `end_ms`. */
static bool wait_for(int fd, short events, int64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left;

	while ((left = end_ms - now_ms()) > 0) {
		int n = poll(&p, 1, (int)left);

		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static enum dns_reply take_reply(struct question *q, const void *msg, size_t n)
{
	size_t n_addrs;
	enum dns_reply reply = dns_reply_parse(msg, n, &q->asked, q->addrs,
					       ARRAY_SIZE(q->addrs), &n_addrs);

	if (reply == DNS_REPLY_ADDRS) {
		q->is_told = true;
		q->n = n_addrs;
	}
	if (reply != DNS_REPLY_OTHER && reply != DNS_REPLY_CUT)
		q->is_over = true;
	return reply;
}

/* All of the bytes, or false. */
static bool pass_all(int fd, unsigned char *bytes, size_t n, bool is_out, int64_t end_ms)
{
	while (n) {
		ssize_t done;

		if (!wait_for(fd, is_out ? POLLOUT : POLLIN, end_ms))
			return false;
		done = is_out ? send(fd, bytes, n, MSG_NOSIGNAL) : recv(fd, bytes, n, 0);
		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

static int open_socket(const struct sockaddr_storage *server, socklen_t size, int type)
{
	int fd = socket(server->ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)server, size) < 0 &&
	    errno != EINPROGRESS)
		fd_close(&fd);
	return fd;
}

/* What did not fit into a datagram: the same, with its length before it. */
static void ask_by_stream(const struct sockaddr_storage *server, socklen_t size,
			  struct question *q, int64_t end_ms)
{
	static unsigned char reply[64 << 10];
	unsigned char out[2 + sizeof(q->asked.b)], head[2];
	cleanup_fd int fd = open_socket(server, size, SOCK_STREAM);
	size_t n;

	q->is_over = true;
	out[0] = (unsigned char)(q->asked.n >> 8);
	out[1] = (unsigned char)q->asked.n;
	memcpy(out + 2, q->asked.b, q->asked.n);
	if (fd < 0 || !pass_all(fd, out, 2 + q->asked.n, true, end_ms) ||
	    !pass_all(fd, head, sizeof(head), false, end_ms))
		return;
	n = (size_t)(head[0] << 8 | head[1]);
	if (pass_all(fd, reply, n, false, end_ms))
		(void)!take_reply(q, reply, n);
}

/* False: this server says nothing at all. */
static bool take_datagram(int fd, const struct sockaddr_storage *server, socklen_t size,
			  struct question q[N_KINDS], int64_t end_ms)
{
	static unsigned char reply[4096];
	ssize_t n = recv(fd, reply, sizeof(reply), 0);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	for (int i = 0; i < N_KINDS; i++)
		if (!q[i].is_over && take_reply(&q[i], reply, (size_t)n) == DNS_REPLY_CUT)
			ask_by_stream(server, size, &q[i], end_ms);
	return true;
}

static void ask_server(const struct name_servers *s, size_t i, struct question q[N_KINDS])
{
	cleanup_fd int fd = open_socket(&s->list[i], s->size[i], SOCK_DGRAM);
	int64_t end_ms = now_ms() + s->wait_ms;
	bool hurries = false;

	for (int k = 0; k < N_KINDS; k++) {
		q[k].is_over = q[k].is_told;
		if (fd >= 0 && !q[k].is_told &&
		    send(fd, q[k].asked.b, q[k].asked.n, MSG_NOSIGNAL) < 0)
			return;
	}
	while (fd >= 0 && !(q[0].is_over && q[1].is_over) && wait_for(fd, POLLIN, end_ms)) {
		if (!take_datagram(fd, &s->list[i], s->size[i], q, end_ms))
			return;
		if (!hurries && (q[0].n || q[1].n)) {
			end_ms = MIN(end_ms, now_ms() + SECOND_MS);
			hurries = true;
		}
	}
}

/* ---- all of them ------------------------------------------------------------- */

/* Does the machine have a way there?  Nothing is sent. */
static bool has_way(const struct host_addr *a)
{
	struct sockaddr_storage ss;
	socklen_t size = addr_to_socket(a, DNS_PORT, &ss);
	cleanup_fd int fd = open_socket(&ss, size, SOCK_DGRAM);

	return fd >= 0;
}

/* Those first that can be reached; of two kinds each has its part of the room. */
static void put_answer(const struct question q[N_KINDS], struct resolve_answer *ret)
{
	int first = q[1].n && has_way(&q[1].addrs[0]) ? 1 : 0;
	size_t room = q[0].n && q[1].n ? MAX_NAME_ANSWERS / 2 : MAX_NAME_ANSWERS;

	for (int k = 0; k < N_KINDS; k++) {
		const struct question *from = &q[k ? !first : first];

		for (size_t i = 0; i < from->n && i < room; i++)
			ret->answers[ret->n++] = from->addrs[i];
	}
}

void ask_servers(const struct name_servers *servers, const char *name, struct resolve_answer *ret)
{
	static const enum dns_type types[N_KINDS] = { DNS_TYPE_A, DNS_TYPE_AAAA };
	struct name_servers s = *servers;
	struct question q[N_KINDS] = { 0 };
	uint16_t ids[N_KINDS];

	if (!s.n)
		add_server(&s, "127.0.0.1");
	if (getrandom(ids, sizeof(ids), 0) != sizeof(ids))
		return;
	for (int k = 0; k < N_KINDS; k++)
		if (!dns_ask(ids[k], str_from(name), types[k], &q[k].asked))
			return;
	for (int round = 0; round < s.rounds; round++)
		for (size_t i = 0; i < s.n; i++) {
			/* What one of them knows is enough to begin with. */
			if (q[0].n || q[1].n || (q[0].is_told && q[1].is_told))
				break;
			ask_server(&s, i, q);
		}
	put_answer(q, ret);
}

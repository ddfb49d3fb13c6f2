/* The gate under load while its policy changes, for tests/suite-all/gate-soak:
 * CORDON_SOAK_SECONDS, or ten minutes.
 *
 * This process holds the gate and switches between generations; others are the
 * servers and the clients.  In the end each connection that a client made must
 * have been decided once, each that was allowed must have been closed once, no
 * descriptor may be left, and the second half may not have grown what the first
 * one took.  Nobody may have waited for longer than STALL_SECONDS.
 */
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "gate_box.h"

#define SERVERS		12
#define CLIENTS		4
#define STALL_SECONDS	20
#define SWITCH_MS	50
#define BULK_BYTES	(1 << 20)
#define MAX_GROWTH_KB	1024
#define N_NETS		3
#define SPARE_FILES	32	/* pipes that the gate keeps for the next */
#define OWN_FILES	3	/* its epoll, its listener, and our server's */

/* What became of a connection, by its number. */
enum { FATE_ALLOWED = 1, FATE_DENIED = 2, FATE_CLOSED = 4 };

struct soak {
	struct box box;			/* its reports go to us */
	unsigned char *fates;
	size_t n_fates, cap_fates;
	size_t n_twice;			/* told again, or closed and not allowed */
};

/* What all clients did, in memory that they share with us. */
struct tally {
	unsigned long connections, answered, refused, cut, stalls, bytes;
};

static void heard_soak(void *arg, const struct gate_report *r)
{
	static const unsigned char fate_of[N_GATE_REPORT_KINDS] = {
		[GATE_ALLOWED] = FATE_ALLOWED, [GATE_DENIED] = FATE_DENIED,
		[GATE_CLOSED] = FATE_CLOSED,
	};
	struct soak *s = arg;
	unsigned char fate = fate_of[r->kind], *old;

	if (r->id >= s->cap_fates) {
		s->cap_fates = 2 * r->id + 4096;
		s->fates = realloc(s->fates, s->cap_fates);
		if (!s->fates)
			abort();
		memset(s->fates + s->n_fates, 0, s->cap_fates - s->n_fates);
	}
	s->n_fates = MAX(s->n_fates, r->id + 1);
	old = &s->fates[r->id];
	s->n_twice += (*old & fate) || (fate == FATE_CLOSED && !(*old & FATE_ALLOWED)) ||
		      (fate == FATE_ALLOWED && *old);
	*old |= fate;
}

/* ---- peers --------------------------------------------------------------- */

static void set_patience(int fd)
{
	struct timeval t = { .tv_sec = STALL_SECONDS };
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A request gets an answer, 'B' a stream, and everything else itself. */
static void serve_one(int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	static char piece[BULK_BYTES];
	char bytes[4096];
	ssize_t n;

	set_patience(fd);
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		if (bytes[0] == 'B')
			n = send(fd, piece, sizeof(piece), MSG_NOSIGNAL);
		else if (bytes[0] == 'G')
			n = send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
		else
			n = send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
		if (n <= 0)
			break;
	}
	close(fd);
}

static _Noreturn void serve(int listener_fd)
{
	struct pollfd p = { .fd = listener_fd, .events = POLLIN };

	for (;;) {
		int fd = poll(&p, 1, -1) > 0 ? accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC) : -1;

		if (fd >= 0)
			serve_one(fd);
	}
}

/* Sends, and reads up to `want` bytes; how it went is counted.  False: no more
 * can be done with it. */
static bool exchange(struct tally *t, int fd, const char *text, size_t n, size_t want)
{
	static char room[65536];
	size_t got = 0;

	if (send(fd, text, n, MSG_NOSIGNAL) < 0) {
		t->stalls += errno == EAGAIN;
		t->cut++;
		return false;
	}
	while (got < want) {
		ssize_t k = recv(fd, room, MIN(sizeof(room), want - got), 0);

		if (k <= 0) {
			t->stalls += k < 0 && errno == EAGAIN;
			t->cut++;
			return false;
		}
		if (got == 0 && k > 12 && memcmp(room, "HTTP/1.1 403", 12) == 0) {
			t->refused++;
			return false;
		}
		got += (size_t)k;
	}
	t->bytes += got;
	t->answered++;
	return true;
}

enum act { ACT_ECHO, ACT_KEEP, ACT_HTTP, ACT_OTHER_HOST, ACT_BULK, ACT_LEAVE, ACT_RESET, N_ACTS };

static void act(struct tally *t, enum act what, int fd, uint16_t port)
{
	struct linger hard = { .l_onoff = 1 };
	char text[128];
	int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s:%u\r\n\r\n",
			 what == ACT_OTHER_HOST ? "other.test" : "127.0.0.1", port);
	bool more = true;

	switch (what) {
	case ACT_ECHO:
		exchange(t, fd, "\001", 1, 1);
		break;
	case ACT_KEEP:
		for (int i = 0; i < 30 && more; i++)
			more = exchange(t, fd, "\001ping\n", 6, 6);
		break;
	case ACT_HTTP:
	case ACT_OTHER_HOST:
		for (int i = 0; i < 10 && more; i++)
			more = exchange(t, fd, text, (size_t)n, 40);
		break;
	case ACT_BULK:
		exchange(t, fd, "B", 1, BULK_BYTES);
		break;
	case ACT_LEAVE:			/* with a megabyte under way */
		exchange(t, fd, "B", 1, 1);
		break;
	default:
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	}
}

static _Noreturn void be_client(struct tally *t, const struct box *b, int64_t end_ms, unsigned seed)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons(b->port) };
	struct timespec now;

	srandom(seed);
	do {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		set_patience(fd);
		if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0) {
			t->connections++;
			act(t, (enum act)(random() % N_ACTS), fd, b->port);
		} else {
			/* Refused before we had a look at it, or not at all. */
			t->connections += errno == ECONNRESET;
			t->stalls += errno != ECONNRESET;
		}
		close(fd);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000 < end_ms);
	_exit(0);
}

/* ---- the gate ------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static size_t count_files(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static long resident_kb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		abort();
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void open_soak(struct soak *s, struct plan_net *nets[N_NETS])
{
	static const char *const policies[] = {
		ALLOWED, CLOSED, "[network]\nallow = [\"127.0.0.1:%u\"]\ntls = \"name-only\"\n",
	};
	struct box *b = &s->box;
	struct gate_options o = { .report = heard_soak, .arg = s, .memory = MAX_GATE_MEMORY };
	struct gate_fds fds;
	struct cordon_err err;
	uint16_t to;

	*s = (struct soak){ .box = { .arena = ARENA(64 << 20) } };
	memset(&fds, 0xff, sizeof(fds));
	fds.listener = listener(&b->port, INADDR_LOOPBACK);
	b->server = listener(&to, INADDR_LOOPBACK);
	host_from_addr(&(struct host_addr){ .b = { 127, 0, 0, 1 } }, &b->reroute.host);
	b->reroute.port = b->port;
	b->reroute.addr = b->reroute.host.addr;
	b->reroute.to_port = to;
	for (size_t i = 0; i < N_NETS; i++)
		nets[i] = net_of(b, policies[i]);
	o.net = nets[0];
	ok(gate_start(&o, &b->gate, &err) == 0, "the gate starts");
	ok(gate_join(b->gate, &fds, &err) == 0, "and takes its sockets");
}

/* How many clients have not ended. */
static size_t count_living(pid_t *clients)
{
	size_t n = 0;

	for (size_t i = 0; i < CLIENTS; i++) {
		if (clients[i] && waitpid(clients[i], NULL, WNOHANG) == clients[i])
			clients[i] = 0;
		n += clients[i] != 0;
	}
	return n;
}

/* Until all clients have ended; what half of the time took is in *ret_half_kb. */
static unsigned long work_and_switch(struct soak *s, struct plan_net *nets[N_NETS], pid_t *clients,
				     int64_t half_ms, long *ret_half_kb)
{
	struct pollfd p = { .fd = gate_event_fd(s->box.gate), .events = POLLIN };
	struct cordon_err err;
	int64_t next_ms = now_ms() + SWITCH_MS;
	unsigned long n = 0;

	*ret_half_kb = 0;
	while (count_living(clients)) {
		poll(&p, 1, 10);
		gate_work(s->box.gate);
		if (now_ms() < next_ms)
			continue;
		next_ms += SWITCH_MS;
		n++;
		if (gate_set_policy(s->box.gate, nets[n % N_NETS], &err) < 0)
			abort();
		if (!*ret_half_kb && now_ms() > half_ms)
			*ret_half_kb = resident_kb();
	}
	return n;
}

static void check_fates(const struct soak *s, const struct tally *t)
{
	size_t undecided = 0, unclosed = 0, n_allowed = 0, n_denied = 0;

	for (size_t i = 1; i < s->n_fates; i++) {
		undecided += !s->fates[i];
		unclosed += (s->fates[i] & FATE_ALLOWED) && !(s->fates[i] & FATE_CLOSED);
		n_allowed += s->fates[i] & FATE_ALLOWED;
		n_denied += (s->fates[i] & FATE_DENIED) != 0;
	}
	printf("# %lu connections: %zu allowed, %zu denied; ", t->connections, n_allowed, n_denied);
	printf("%lu answers, %lu 403, %lu cut, %lu MB\n", t->answered, t->refused, t->cut,
	       t->bytes >> 20);
	is_int((long long)s->n_fates - 1, (long long)t->connections,
	       "each connection of a client has a decision");
	is_int((long long)undecided, 0, "there is none without one");
	is_int((long long)unclosed, 0, "each that was allowed was closed");
	is_int((long long)s->n_twice, 0, "nothing was told twice, or in another order");
	is_int((long long)t->stalls, 0, "nobody waited for %d seconds", STALL_SECONDS);
	ok(t->answered > 100 && t->refused > 0 && t->cut > 0, "all of it happened");
}

/* It does not outlive us. */
static pid_t fork_peer(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void start_peers(const struct soak *s, pid_t *servers, pid_t *clients, struct tally *tallies,
			int64_t end_ms)
{
	fflush(stdout);
	for (size_t i = 0; i < SERVERS; i++) {
		servers[i] = fork_peer();
		if (servers[i] == 0)
			serve(s->box.server);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = fork_peer();
		if (clients[i] == 0)
			be_client(&tallies[i], &s->box, end_ms, i + 1);
	}
}

static struct tally sum_up(const struct tally *tallies)
{
	struct tally sum = { 0 };

	for (size_t i = 0; i < CLIENTS; i++) {
		sum.connections += tallies[i].connections;
		sum.answered += tallies[i].answered;
		sum.refused += tallies[i].refused;
		sum.cut += tallies[i].cut;
		sum.stalls += tallies[i].stalls;
		sum.bytes += tallies[i].bytes;
	}
	return sum;
}

static void test_soak(void)
{
	const char *text = getenv("CORDON_SOAK_SECONDS");
	long seconds = text ? strtol(text, NULL, 10) : 600, half_kb, end_kb;
	int64_t begin_ms = now_ms();
	struct tally *tallies = mmap(NULL, CLIENTS * sizeof(*tallies), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0), sum;
	pid_t servers[SERVERS], clients[CLIENTS];
	struct plan_net *nets[N_NETS];
	unsigned long n_switches;
	struct soak s;
	size_t n_files;

	signal(SIGPIPE, SIG_IGN);	/* as the supervisor does */
	open_soak(&s, nets);
	n_files = count_files();
	start_peers(&s, servers, clients, tallies, begin_ms + seconds * 1000);
	n_switches = work_and_switch(&s, nets, clients, begin_ms + seconds * 500, &half_kb);
	work(&s.box, 2000);	/* also those that are refused and do not read why */
	end_kb = resident_kb();
	sum = sum_up(tallies);
	printf("# %lu generations in %ld seconds; %ld KB, at half time %ld KB\n", n_switches,
	       seconds, end_kb, half_kb);
	check_fates(&s, &sum);
	ok(end_kb < half_kb + MAX_GROWTH_KB + (long)(s.cap_fates >> 10), "memory does not grow");
	for (size_t i = 0; i < SERVERS; i++) {
		kill(servers[i], SIGKILL);
		waitpid(servers[i], NULL, 0);
	}
	ok(count_files() <= n_files + SPARE_FILES, "no descriptor is left: %zu, %zu", n_files,
	   count_files());
	close_box(&s.box);
	is_int((long long)count_files(), (long long)n_files - OWN_FILES, "nor the gate's own");
	free(s.fates);
	munmap(tallies, CLIENTS * sizeof(*tallies));
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_soak), TAP_END });
}

/* Asking systemd for a scope; see scope.h.
 *
 * One call, StartTransientUnit, over D-Bus: by systemd's own socket, where
 * there is no bus between, or by the bus of the user (of the system, for root).
 * The few parts of the protocol that this takes are here; a library for the
 * rest would be a dependency of every run.
 *
 * https://dbus.freedesktop.org/doc/dbus-specification.html
 */
#include "super/scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "super/cgroup.h"
#include "super/run_priv.h"

#define SYSTEMD		"org.freedesktop.systemd1"
#define BUS		"org.freedesktop.DBus"
#define WAIT_SECONDS	2	/* for an answer, and for the move */

enum message_type { MESSAGE_CALL = 1, MESSAGE_RETURN = 2, MESSAGE_ERROR = 3 };
enum header_field {
	HEADER_PATH = 1,
	HEADER_INTERFACE = 2,
	HEADER_MEMBER = 3,
	HEADER_REPLY_SERIAL = 5,
	HEADER_DESTINATION = 6,
	HEADER_SIGNATURE = 8,
};
#define FIXED_BYTES	16u	/* of a header, with the length of its fields */

/* --- writing ------------------------------------------------------------------ */

static void put_align(struct buf *b, size_t to)
{
	while (b->n % to && buf_ok(b))
		buf_putc(b, '\0');
}

static void put_u32(struct buf *b, uint32_t n)
{
	put_align(b, 4);
	for (int i = 0; i < 4; i++, n >>= 8)
		buf_putc(b, (char)(n & 0xff));
}

static void put_string(struct buf *b, const char *text)
{
	put_u32(b, (uint32_t)strlen(text));
	buf_add(b, text, strlen(text) + 1);
}

static void put_signature(struct buf *b, const char *text)
{
	buf_putc(b, (char)strlen(text));
	buf_add(b, text, strlen(text) + 1);
}

/* Room for the length of what follows; put_end() fills it in. */
static size_t put_begin(struct buf *b, size_t align)
{
	size_t at;

	put_u32(b, 0);
	at = b->n;
	put_align(b, align);
	return at;
}

static void put_end(struct buf *b, size_t at, size_t align)
{
	size_t from = (at + align - 1) / align * align;
	uint32_t n = (uint32_t)(b->n - from);

	for (int i = 0; i < 4 && buf_ok(b); i++, n >>= 8)
		b->data[at - 4 + (size_t)i] = (char)(n & 0xff);
}

static void put_field(struct buf *b, enum header_field field, const char *type, const char *text)
{
	put_align(b, 8);
	buf_putc(b, (char)field);
	put_signature(b, type);
	if (*type == 'g')
		put_signature(b, text);
	else
		put_string(b, text);
}

struct call {
	const char *destination, *path, *interface, *member, *signature;
};

/* The whole of a call: header, then what `body` has. */
static void put_call(struct buf *b, const struct call *c, uint32_t serial, const struct buf *body)
{
	const char head[] = { 'l', MESSAGE_CALL, 0, 1 };
	size_t list;

	buf_add(b, head, sizeof(head));
	put_u32(b, (uint32_t)body->n);
	put_u32(b, serial);
	list = put_begin(b, 8);
	put_field(b, HEADER_PATH, "o", c->path);
	put_field(b, HEADER_INTERFACE, "s", c->interface);
	put_field(b, HEADER_MEMBER, "s", c->member);
	put_field(b, HEADER_DESTINATION, "s", c->destination);
	if (c->signature)
		put_field(b, HEADER_SIGNATURE, "g", c->signature);
	put_end(b, list, 8);
	put_align(b, 8);
	buf_add(b, buf_text(body), body->n);
}

/* ssa(sv)a(sa(sv)): a name, what to do if it is taken, properties, other units. */
static void put_unit(struct buf *b, const char *name)
{
	size_t list, pids;

	put_string(b, name);
	put_string(b, "fail");
	list = put_begin(b, 8);
	put_string(b, "PIDs");
	put_signature(b, "au");
	pids = put_begin(b, 4);
	put_u32(b, (uint32_t)getpid());
	put_end(b, pids, 4);
	put_align(b, 8);
	put_string(b, "Delegate");
	put_signature(b, "b");
	put_u32(b, 1);
	put_align(b, 8);
	put_string(b, "Description");
	put_signature(b, "s");
	put_string(b, "a run of cordon");
	put_end(b, list, 8);
	list = put_begin(b, 8);
	put_end(b, list, 8);
}

/* --- reading ------------------------------------------------------------------ */

static int refuse(struct cordon_err *err, const char *why)
{
	return err_set(err, CORDON_E_PEER, "systemd was asked for a cgroup, and %s", why);
}

static int read_all(int sock, char *to, size_t n, struct cordon_err *err)
{
	while (n) {
		ssize_t got = recv(sock, to, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return refuse(err, "does not answer");
		to += got;
		n -= (size_t)got;
	}
	return 0;
}

static uint32_t get_u32(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The call that a message answers, or 0.  Fields are a code, a signature of one
 * type, and a number or a text. */
static uint32_t find_reply_serial(const char *list, size_t n)
{
	size_t at = 0;

	while (at + 8 <= n) {
		char code = list[at], type = list[at + 2];
		size_t value = type == 'g' ? at + 4 : (at + 4 + 3) / 4 * 4, used;

		if (list[at + 1] != 1 || value + 4 > n)
			return 0;
		if (code == HEADER_REPLY_SERIAL && type == 'u')
			return get_u32(list + value);
		if (type == 'g')
			used = 2 + (size_t)(unsigned char)list[value];
		else if (type == 's' || type == 'o')
			used = 5 + (size_t)get_u32(list + value);
		else
			used = 4;
		if (used > n - value)
			return 0;
		at = (value + used + 7) / 8 * 8;
	}
	return 0;
}

/* Read messages until the one that answers; an error of theirs becomes ours. */
static int read_reply(int sock, uint32_t serial, struct cordon_err *err)
{
	char head[FIXED_BYTES], rest[MAX_BUS_MESSAGE];

	for (;;) {
		size_t body, n_list, padded;

		if (read_all(sock, head, sizeof(head), err) < 0)
			return -1;
		body = get_u32(head + 4);
		n_list = get_u32(head + 12);
		padded = (n_list + 7) / 8 * 8;
		if (head[0] != 'l' || n_list > sizeof(rest) || body > sizeof(rest) ||
		    padded + body > sizeof(rest))
			return refuse(err, "answers in a way that is not understood");
		if (read_all(sock, rest, padded + body, err) < 0)
			return -1;
		if (find_reply_serial(rest, n_list) != serial)
			continue;
		if (head[1] == MESSAGE_RETURN)
			return 0;
		/* Its first argument is a text, if it has one. */
		if (body > 4 && get_u32(rest + padded) < body - 4)
			return err_set(err, CORDON_E_PEER,
				       "systemd was asked for a cgroup, and says: %.*s",
				       (int)MIN(get_u32(rest + padded), 300u), rest + padded + 4);
		return refuse(err, "refuses");
	}
}

/* --- the conversation ----------------------------------------------------------- */

static int open_socket(const char *path, int *ret, struct cordon_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval wait = { .tv_sec = WAIT_SECONDS };
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(addr.sun_path))
		return refuse(err, "its socket has too long a name");
	memcpy(addr.sun_path, path, strlen(path));
	if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(sock, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return err_sys(err, CORDON_E_PEER, "cannot reach systemd at '%s'", path);
	*ret = fd_take(&sock);
	return 0;
}

static int send_all(int sock, const struct buf *b, struct cordon_err *err)
{
	const char *from = buf_text(b);
	size_t n = b->n;

	if (!buf_ok(b))
		return err_nomem(err);
	while (n) {
		ssize_t done = send(sock, from, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return refuse(err, "does not listen");
		from += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Who we are, the kernel says; the digits only name it. */
static int log_in(int sock, struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(256);
	char uid[16], answer[256], *end = answer;

	snprintf(uid, sizeof(uid), "%u", geteuid());
	buf_putc(&out, '\0');
	buf_puts(&out, "AUTH EXTERNAL ");
	for (const char *c = uid; *c; c++)
		buf_printf(&out, "%02x", (unsigned)*c);
	buf_puts(&out, "\r\n");
	if (send_all(sock, &out, err) < 0)
		return -1;
	do {
		if (end == answer + sizeof(answer))
			return refuse(err, "answers in a way that is not understood");
		if (read_all(sock, end, 1, err) < 0)
			return -1;
	} while (*end++ != '\n');
	if (end - answer < 3 || memcmp(answer, "OK ", 3) != 0)
		return refuse(err, "does not know us");
	buf_clear(&out);
	buf_puts(&out, "BEGIN\r\n");
	return send_all(sock, &out, err);
}

static int call(int sock, const struct call *c, uint32_t serial, const struct buf *body,
		struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_BUS_MESSAGE);

	put_call(&out, c, serial, body);
	if (send_all(sock, &out, err) < 0)
		return -1;
	return read_reply(sock, serial, err);
}

static int ask(const char *path, bool is_bus, const char *unit, struct cordon_err *err)
{
	static const struct call hello = { BUS, "/org/freedesktop/DBus", BUS, "Hello", NULL };
	static const struct call start = { SYSTEMD, "/org/freedesktop/systemd1",
					   SYSTEMD ".Manager", "StartTransientUnit",
					   "ssa(sv)a(sa(sv))" };
	cleanup_buf struct buf body = BUF(MAX_BUS_MESSAGE);
	cleanup_fd int sock = -1;

	if (open_socket(path, &sock, err) < 0 || log_in(sock, err) < 0 ||
	    (is_bus && call(sock, &hello, 1, &body, err) < 0))
		return -1;
	put_unit(&body, unit);
	return call(sock, &start, 2, &body, err);
}

/* The answer says that it will be done: see that it is. */
static int wait_for_move(const char *self, const char *unit, struct cordon_err *err)
{
	int64_t end = run_now_us() + WAIT_SECONDS * 1000000;
	struct timespec pause = { .tv_nsec = 1000000 };
	char text[CGROUP_SELF_BYTES];

	while (run_now_us() < end) {
		struct cgroup_own own;

		if (cgroup_self_read(self, text, err) < 0)
			return -1;
		if (cgroup_self_find(text, "", &own) && str_ends(own.path, unit))
			return 0;
		nanosleep(&pause, NULL);
	}
	return refuse(err, "did not move this process");
}

int scope_start_at(const struct scope_paths *paths, struct cordon_err *err)
{
	char unit[64];

	snprintf(unit, sizeof(unit), "cordon-run-%d-%lld.scope", getpid(), (long long)run_now_us());
	if ((!paths->private || ask(paths->private, false, unit, err) < 0) &&
	    (!paths->bus || ask(paths->bus, true, unit, err) < 0))
		return paths->private || paths->bus ? -1 : refuse(err, "there is none to be found");
	return wait_for_move(paths->self, unit, err);
}

int scope_start(struct cordon_err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char private[256] = "/run/systemd/private", bus[256] = "/run/dbus/system_bus_socket";
	bool has = geteuid() == 0 || (runtime && runtime[0] == '/' && strlen(runtime) < 200);

	if (geteuid() != 0 && has) {
		snprintf(private, sizeof(private), "%s/systemd/private", runtime);
		snprintf(bus, sizeof(bus), "%s/bus", runtime);
	}
	return scope_start_at(&(struct scope_paths){ has ? private : NULL, has ? bus : NULL,
						     "/proc/self/cgroup" }, err);
}

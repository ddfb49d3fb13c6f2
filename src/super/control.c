/* The protocol of the control socket; see control.h. */
#include "super/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"

/* ---- what a message may hold -------------------------------------------- */

#define ANY	MAX_CONTROL_WORDS

static const struct {
	const char *name;
	uint32_t max_bytes;
	uint32_t least[N_CONTROL_LISTS], most[N_CONTROL_LISTS];
	size_t max_fds;
} rows[] = {
	[CONTROL_HELLO] = { "hello", 0, { 0 }, { 0 }, 0 },
	[CONTROL_EXEC] = { "exec", MAX_CONTROL_BYTES, { 1, 0, N_EXEC_WORDS, 0 },
			   { ANY, ANY, N_EXEC_WORDS, MAX_SHORT_LIST }, 3 },
	[CONTROL_SIGNAL] = { "signal", 0, { 0 }, { 0 }, 0 },
	[CONTROL_PHASE] = { "phase", 4096, { 0 }, { 1 }, 0 },
	[CONTROL_NETWORK] = { "network", 1 << 20, { 1 }, { 1, MAX_SHORT_LIST }, 0 },
	[CONTROL_ALLOW] = { "allow", 1 << 20, { 1 }, { MAX_SHORT_LIST }, 0 },
	[CONTROL_STATUS] = { "status", 0, { 0 }, { 0 }, 0 },
	[CONTROL_STARTED] = { "started", 0, { 0 }, { 0 }, 1 },
	[CONTROL_STOPPED] = { "stopped", 0, { 0 }, { 0 }, 0 },
	[CONTROL_RESULT] = { "result", MAX_CONTROL_BYTES, { 5 }, { 5, 4 * MAX_DENIALS }, 0 },
	[CONTROL_DONE] = { "done", MAX_CONTROL_BYTES, { 1 }, { 1 }, 0 },
	[CONTROL_REFUSED] = { "refused", 4096, { 1 }, { 1 }, 0 },
};
static_assert(ARRAY_SIZE(rows) == N_CONTROL_TYPES, "a message without a row");

const char *control_type_name(enum control_type type)
{
	return rows[type].name;
}

static int check_head(const struct control_head *h, struct cordon_err *err)
{
	uint64_t words = 0;

	if (h->magic != CONTROL_MAGIC || h->type >= N_CONTROL_TYPES || h->outside > 1)
		return err_set(err, CORDON_E_PEER, "a message of another version of cordon");
	for (size_t i = 0; i < N_CONTROL_LISTS; i++) {
		if (h->counts[i] < rows[h->type].least[i] || h->counts[i] > rows[h->type].most[i])
			return err_set(err, CORDON_E_PEER,
				       "a message '%s' with %u texts in list %zu",
				       rows[h->type].name, h->counts[i], i);
		words += h->counts[i];
	}
	if (h->n_bytes > rows[h->type].max_bytes || words > h->n_bytes)
		return err_set(err, CORDON_E_PEER, "a message '%s' of %u bytes",
			       rows[h->type].name, h->n_bytes);
	return 0;
}

int control_check_texts(const struct control_head *h, const char *texts, size_t n,
			struct cordon_err *err)
{
	uint64_t words = 0, ends = 0;

	for (size_t i = 0; i < N_CONTROL_LISTS; i++)
		words += h->counts[i];
	for (size_t i = 0; i < n; i++)
		ends += !texts[i];
	if (n != h->n_bytes || ends != words || (n && texts[n - 1]))
		return err_set(err, CORDON_E_PEER, "a message '%s' with other texts than it says",
			       rows[h->type].name);
	return 0;
}

int control_check(const void *data, size_t n, struct cordon_err *err)
{
	struct control_head h;

	if (n < sizeof(h))
		return err_set(err, CORDON_E_PEER, "a message of %zu bytes", n);
	memcpy(&h, data, sizeof(h));
	if (check_head(&h, err) < 0)
		return -1;
	if (h.outside)
		return n == sizeof(h) ? 0 : err_set(err, CORDON_E_PEER,
						    "a message with texts in two places");
	return control_check_texts(&h, (const char *)data + sizeof(h), n - sizeof(h), err);
}

/* ---- reading one -------------------------------------------------------- */

void control_release(struct control_message *m)
{
	/* The environment of a command has passed through here. */
	if (m->texts)
		explicit_bzero(m->texts, m->head.n_bytes);
	free(m->texts);
	for (size_t i = 0; i < m->n_fds; i++)
		fd_close(&m->fds[i]);
	*m = CONTROL_MESSAGE;
}

static const char *skip(const char *at, uint64_t n)
{
	while (n--)
		at += strlen(at) + 1;
	return at;
}

static const char *list_begin(const struct control_message *m, size_t list)
{
	const char *at = m->texts;

	for (size_t i = 0; i < list; i++)
		at = skip(at, m->head.counts[i]);
	return at;
}

const char *const *control_list(const struct control_message *m, size_t list, struct arena *a)
{
	const char **out = arena_new(a, m->head.counts[list] + 1, sizeof(*out));
	const char *at = list_begin(m, list);

	for (size_t i = 0; out && i < m->head.counts[list]; i++) {
		out[i] = at;
		at = skip(at, 1);
	}
	return (const char *const *)out;
}

const char *control_text(const struct control_message *m, size_t list, size_t at)
{
	return at < m->head.counts[list] ? skip(list_begin(m, list), at) : NULL;
}

/* ---- sending ------------------------------------------------------------ */

void control_out_init(struct control_out *o, enum control_type type)
{
	*o = (struct control_out){ .head = { .magic = CONTROL_MAGIC, .type = (uint16_t)type },
				   .texts = BUF(MAX_CONTROL_BYTES), .fds = { -1, -1, -1 } };
}

void control_out_release(struct control_out *o)
{
	if (o->texts.data)
		explicit_bzero(o->texts.data, o->texts.n);
	buf_release(&o->texts);
}

void control_put(struct control_out *o, size_t list, const char *text)
{
	buf_add(&o->texts, text, strlen(text) + 1);
	o->head.counts[list]++;
}

/* A copy that can only be read from the front is enough. */
static int open_outside(const struct buf *texts)
{
	cleanup_fd int fd = memfd_create("cordon-control", MFD_CLOEXEC);

	if (fd < 0 || write(fd, texts->data, texts->n) != (ssize_t)texts->n)
		return -1;
	return fd_take(&fd);
}

union fd_room {
	struct cmsghdr head;
	char room[CMSG_SPACE((N_CONTROL_FDS + 1) * sizeof(int))];
};

int control_send(int fd, struct control_out *o, struct cordon_err *err)
{
	union fd_room room = { .room = { 0 } };
	struct iovec iov[] = { { &o->head, sizeof(o->head) }, { o->texts.data, o->texts.n } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	cleanup_fd int outside = -1;
	int list[N_CONTROL_FDS + 1];
	size_t n = o->n_fds;

	if (!buf_ok(&o->texts) || o->texts.n > rows[o->head.type].max_bytes)
		return err_set(err, CORDON_E_USAGE, "more than %u bytes of words",
			       rows[o->head.type].max_bytes);
	memcpy(list, o->fds, n * sizeof(int));
	o->head.n_bytes = (uint32_t)o->texts.n;
	if (o->texts.n > MAX_CONTROL_INLINE) {
		outside = open_outside(&o->texts);
		if (outside < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot hand a long message over");
		o->head.outside = 1;
		msg.msg_iovlen = 1;
		list[n++] = outside;
	}
	if (n) {
		msg.msg_control = &room;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(n * sizeof(int));
		room.head.cmsg_level = SOL_SOCKET;
		room.head.cmsg_type = SCM_RIGHTS;
		room.head.cmsg_len = (socklen_t)CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&room.head), list, n * sizeof(int));
	}
	if (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_sys(err, CORDON_E_PEER, "the other side does not listen");
	return 0;
}

/* ---- receiving ---------------------------------------------------------- */

/* Read, and not mapped: the sender could make it shorter. */
static int read_outside(int fd, struct control_message *m, struct cordon_err *err)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)m->head.n_bytes)
		return err_set(err, CORDON_E_PEER, "a message with texts of another size");
	m->texts = malloc(m->head.n_bytes + 1);
	if (!m->texts)
		return err_nomem(err);
	n = pread(fd, m->texts, m->head.n_bytes, 0);
	return control_check_texts(&m->head, m->texts, n < 0 ? 0 : (size_t)n, err);
}

static int take_fds(struct control_message *m, const int *fds, size_t n, struct cordon_err *err)
{
	size_t n_own = m->head.outside && n ? n - 1 : n;
	int rc = 0;

	if (n_own > rows[m->head.type].max_fds || (m->head.outside && !n))
		rc = err_set(err, CORDON_E_PEER, "a message with %zu descriptors", n);
	else if (m->head.outside)
		rc = read_outside(fds[n - 1], m, err);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0 && i < n_own)
			m->fds[m->n_fds++] = fds[i];
		else
			close(fds[i]);
	}
	return rc;
}

static int take(struct control_message *m, const char *data, size_t n, struct cordon_err *err)
{
	if (control_check(data, n, err) < 0)
		return -1;
	memcpy(&m->head, data, sizeof(m->head));
	if (m->head.outside)
		return 0;
	m->texts = malloc(m->head.n_bytes + 1);
	if (!m->texts)
		return err_nomem(err);
	memcpy(m->texts, data + sizeof(m->head), m->head.n_bytes);
	return 0;
}

int control_recv(int fd, int flags, struct control_message *ret, struct cordon_err *err)
{
	char data[sizeof(struct control_head) + MAX_CONTROL_INLINE + 1];
	union fd_room room;
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	struct control_message m = CONTROL_MESSAGE;
	int fds[N_CONTROL_FDS + 1], rc;
	size_t n_fds = 0;
	ssize_t n;

	err->code = CORDON_E_NONE;
	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -1 : 0;
	if (CMSG_FIRSTHDR(&msg)) {
		n_fds = (CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), n_fds * sizeof(int));
	}
	if (!n && !n_fds)
		return 0;
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		rc = err_set(err, CORDON_E_PEER, "a message that is too long");
		while (n_fds)
			close(fds[--n_fds]);
	} else {
		rc = take(&m, data, (size_t)n, err);
		if (rc == 0)
			rc = take_fds(&m, fds, n_fds, err);
		else
			while (n_fds)
				close(fds[--n_fds]);
	}
	explicit_bzero(data, (size_t)n);
	if (rc < 0) {
		control_release(&m);
		return -1;
	}
	*ret = m;
	return 1;
}

/* The reader: receives calls and takes down what the caller asked for.
 *
 * It has CAP_SYS_PTRACE over the tree's user namespace and nothing else; it
 * opens no path of the caller, only what /proc has of it, with O_PATH, and copies
 * descriptors where that is not enough.  Memory is read once; but for executions,
 * which guard_exec.c judges.  That the call was still waiting after each look is
 * what makes the number of the thread mean that thread.
 */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/syscalls.h"
#include "plan/guard_filter.h"
#include "super/proc_read.h"

#define N_KNOWN		64	/* callers whose files stay open */
#define STATUS_BYTES	(16 << 10)	/* also of a user who is in a thousand groups */

#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL	/* Linux 6.9 */
#endif

/* --- one caller ------------------------------------------------------------- */

/* A thread that called before: opening its files again costs more than the
 * rest.  They stay those of that very thread, and fail once it is gone. */
struct known {
	pid_t tid;			/* here; 0: none */
	int proc, status;
};

struct reader {
	struct guard_worker *w;
	struct known known[N_KNOWN];	/* by number */
	char own[STATUS_BYTES];		/* our uid, gid and groups, as status has them */
	bool told_root;			/* the actor has it */
	uint64_t root_mount, root_inode;
	int null;			/* /dev/null of the callers (O_PATH); -1: not known */
	/* What is being served. */
	struct guard_request req;
	int fds[N_GUARD_SLOTS];
	int proc;			/* folder of the calling thread; of `known` */
	pid_t tid;			/* its number here */
	pid_t tgid;
	bool is_traced;			/* by somebody inside */
	struct guard_vector *vector;	/* of executions */
	struct guard_program program;	/* the same */
};

/* Which argument of a call is what; -1: it has none. */
static const struct shape {
	int nr;
	enum guard_op op;
	int8_t old_dir, old_path, new_dir, new_path, flags, mode, dev;
} shapes[] = {
	/*                                      od  op  nd  np  fl  mo  dev */
#ifdef SYS_open
	{ SYS_open,      GUARD_OPEN,            -1, -1, -1,  0,  1,  2, -1 },
	{ SYS_creat,     GUARD_OPEN,            -1, -1, -1,  0, -1,  1, -1 },
	{ SYS_mkdir,     GUARD_MKDIR,           -1, -1, -1,  0, -1,  1, -1 },
	{ SYS_mknod,     GUARD_MKNOD,           -1, -1, -1,  0, -1,  1,  2 },
	{ SYS_symlink,   GUARD_SYMLINK,         -1,  0, -1,  1, -1, -1, -1 },
	{ SYS_link,      GUARD_LINK,            -1,  0, -1,  1, -1, -1, -1 },
	{ SYS_rename,    GUARD_RENAME,          -1,  0, -1,  1, -1, -1, -1 },
#endif
#ifdef SYS_renameat
	{ SYS_renameat,  GUARD_RENAME,           0,  1,  2,  3, -1, -1, -1 },
#endif
	{ SYS_openat,    GUARD_OPEN,            -1, -1,  0,  1,  2,  3, -1 },
	{ SYS_mkdirat,   GUARD_MKDIR,           -1, -1,  0,  1, -1,  2, -1 },
	{ SYS_mknodat,   GUARD_MKNOD,           -1, -1,  0,  1, -1,  2,  3 },
	{ SYS_symlinkat, GUARD_SYMLINK,         -1,  0,  1,  2, -1, -1, -1 },
	{ SYS_linkat,    GUARD_LINK,             0,  1,  2,  3,  4, -1, -1 },
	{ SYS_renameat2, GUARD_RENAME,           0,  1,  2,  3,  4, -1, -1 },
	{ SYS_bind,      GUARD_BIND,            -1, -1, -1, -1, -1, -1, -1 },
	/* The size is the argument after the path. */
	{ SYS_truncate,  GUARD_TRUNCATE,        -1, -1, -1,  0, -1, -1, -1 },
	/* The vector is the argument after the path. */
	{ SYS_execve,    GUARD_EXEC,            -1, -1, -1,  0, -1, -1, -1 },
	{ SYS_execveat,  GUARD_EXEC,            -1, -1,  0,  1,  4, -1, -1 },
};

int guard_read_memory(pid_t tid, uint64_t from, void *to, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t first = MIN(n, page - from % page);
	struct iovec local = { .iov_base = to, .iov_len = n };
	struct iovec remote[2] = {
		{ .iov_base = (void *)(uintptr_t)from, .iov_len = first },
		{ .iov_base = (void *)(uintptr_t)(from + first), .iov_len = n - first },
	};

	return guard_rc(process_vm_readv(tid, &local, 1, remote, n > first ? 2 : 1, 0));
}

static int read_memory(const struct reader *r, uint64_t from, void *to, size_t n)
{
	return guard_read_memory(r->tid, from, to, n);
}

/* A path into texts at `at`: bytes with the NUL, or -errno.  Most are short, and each page
 * that is looked at costs. */
static int read_path(struct reader *r, uint64_t from, size_t at)
{
	static const size_t sizes[] = { 256, PATH_MAX };
	char *to = r->req.texts + at;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int n = read_memory(r, from, to, sizes[i]);
		const char *end = n < 0 ? NULL : memchr(to, '\0', (size_t)n);

		if (n < 0)
			return n;
		if (end)
			return (int)(end - to) + 1;
		if ((size_t)n < sizes[i])
			return -EFAULT;
	}
	return -ENAMETOOLONG;
}

/* --- descriptors of the caller ---------------------------------------------- */

/* Is the copy of its leader's descriptor one of the calling thread's?  It is with one table
 * for both; or, where the kernel does not compare those, if it is the same file. */
static bool is_callers(const struct reader *r, int fd, int copy)
{
	struct stat there, st;
	char name[32];

	if (r->tid == r->tgid || syscall(SYS_kcmp, r->tid, r->tgid, KCMP_FILES, 0, 0) == 0)
		return true;
	snprintf(name, sizeof(name), "fd/%d", fd);
	return fstatat(r->proc, name, &there, 0) == 0 && fstat(copy, &st) == 0 &&
	       there.st_dev == st.st_dev && there.st_ino == st.st_ino;
}

/* A thread may have a table of its own, from which only Linux 6.9 copies.  Threads
 * are found by number here: it is the caller's only as long as the call waits. */
static int copy_fd(const struct reader *r, int fd)
{
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, r->tid, PIDFD_THREAD);
	bool is_thread = pidfd >= 0;
	cleanup_fd int copy = -1;

	if (!is_thread)
		pidfd = pidfd_of(r->tgid);
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy < 0)
		return guard_rc(copy);
	if (!is_thread && !is_callers(r, fd, copy))
		return -EBADF;
	return guard_is_valid(r->w->listener, r->req.id) ? fd_take(&copy) : -ESRCH;
}

/* What a descriptor stands for.  Where the caller is not dumpable, its folder of them
 * belongs to root, who is nobody in the tree of an ordinary user; a copy needs only
 * the capability. */
static int open_fd(const struct reader *r, int fd)
{
	cleanup_fd int copy = -1;
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "fd/%d", fd);
	rc = guard_rc(openat(r->proc, name, O_PATH | O_CLOEXEC));
	if (rc != -EACCES)
		return rc;
	copy = copy_fd(r, fd);
	if (copy < 0)
		return copy == -EBADF ? -ENOENT : copy;	/* as /proc says it */
	snprintf(name, sizeof(name), "self/fd/%d", copy);
	return guard_rc(openat(r->w->proc, name, O_PATH | O_CLOEXEC));
}

/* The directory from which a path begins, into a slot. */
static int take_base(struct reader *r, int fd, const char *path, enum guard_slot slot)
{
	int rc;

	if (path[0] == '/')
		return 0;
	if (fd == AT_FDCWD)
		rc = guard_rc(openat(r->proc, "cwd", O_PATH | O_CLOEXEC));
	else
		rc = open_fd(r, fd);
	if (rc < 0)
		return fd == AT_FDCWD ? rc : -EBADF;
	r->fds[slot] = rc;
	return 0;
}

/* --- who calls -------------------------------------------------------------- */

/* A file of procfs, which comes in one piece; bytes or -errno. */
static int read_proc(int fd, char *text, size_t n)
{
	int got = guard_rc(pread(fd, text, n - 1, 0));

	text[MAX(got, 0)] = '\0';
	return got;
}

static int read_proc_at(int proc, const char *name, char *text, size_t n)
{
	cleanup_fd int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? guard_rc(fd) : read_proc(fd, text, n);
}

static int open_known(const struct reader *r, struct known *k)
{
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "%d", k->tid);
	k->proc = openat(r->w->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (k->proc < 0)
		return guard_rc(k->proc);
	k->status = openat(k->proc, "status", O_RDONLY | O_CLOEXEC);
	rc = guard_rc(k->status);
	if (rc < 0)
		fd_close(&k->proc);
	return MIN(rc, 0);
}

/* Find the caller's folder and its status; bytes of that, or -errno. */
static int find_caller(struct reader *r, char *status, size_t n)
{
	struct known *k = &r->known[(unsigned)r->tid % N_KNOWN];
	int rc = -ESRCH;

	if (k->tid == r->tid)
		rc = read_proc(k->status, status, n);
	if (rc < 0) {
		if (k->tid) {
			fd_close(&k->proc);
			fd_close(&k->status);
		}
		k->tid = r->tid;
		rc = open_known(r, k);
		if (rc < 0) {
			k->tid = 0;
			return rc;
		}
		rc = read_proc(k->status, status, n);
	}
	r->proc = k->proc;
	return rc;
}

/* Whose rights: the lines that must be equal for caller and actor. */
static int rights_of(struct str status, char *out, size_t n)
{
	struct str uid = proc_find_line(status, "Uid:"), gid = proc_find_line(status, "Gid:");
	struct str groups = proc_find_line(status, "Groups:");
	int used = snprintf(out, n, "%.*s|%.*s|%.*s", (int)uid.n, uid.s, (int)gid.n, gid.s,
			    (int)groups.n, groups.s);

	return uid.n && gid.n && used > 0 && (size_t)used < n ? 0 : -EPERM;
}

static int last_number(struct str line)
{
	size_t n = line.n;
	uint64_t v;

	while (n && line.s[n - 1] != '\t')
		n--;
	return str_parse_u64(str_from_pos(line, n), &v) && v <= INT_MAX ? (int)v : -1;
}

static unsigned octal(struct str s)
{
	unsigned v = 0;

	for (size_t i = 0; i < s.n && s.s[i] >= '0' && s.s[i] <= '7'; i++)
		v = v * 8 + (unsigned)(s.s[i] - '0');
	return v & 0777;
}

/* Umask, numbers and rights of the caller. */
static int take_status(struct reader *r, struct str status)
{
	char rights[STATUS_BYTES];

	if (rights_of(status, rights, sizeof(rights)) < 0 || strcmp(rights, r->own) != 0)
		return -EPERM;
	r->req.umask = octal(proc_find_line(status, "Umask:"));
	r->req.tgid = last_number(proc_find_line(status, "NStgid:"));
	r->req.tid = last_number(proc_find_line(status, "NSpid:"));
	r->req.leader = MAX(last_number(proc_find_line(status, "NSsid:")), 0);
	r->tgid = last_number(proc_find_line(status, "Tgid:"));
	r->is_traced = !str_is(proc_find_line(status, "TracerPid:"), "0");
	return r->tgid > 0 ? 0 : -EPERM;
}

/* All callers have the root of the first; the actor gets it once. */
static int take_root(struct reader *r)
{
	struct guard_shared *s = r->w->shared;
	struct statx st;
	int rc;

	if (sys_statx(r->proc, "root", 0, STATX_INO | STATX_MNT_ID, &st) < 0)
		return guard_rc(-1);
	if (!r->told_root) {
		guard_lock(r->w, true);
		if (!s->root_known) {
			s->root_known = true;
			s->root_mount = st.stx_mnt_id;
			s->root_inode = st.stx_ino;
		}
		guard_unlock(r->w);
		r->root_mount = s->root_mount;
		r->root_inode = s->root_inode;
	}
	if (r->root_mount != st.stx_mnt_id || r->root_inode != st.stx_ino)
		return -EPERM;
	if (r->told_root)
		return 0;
	rc = guard_rc(openat(r->proc, "root", O_PATH | O_CLOEXEC));
	if (rc < 0)
		return rc;
	r->fds[GUARD_SLOT_ROOT] = rc;
	return 0;
}

/* --- bind ------------------------------------------------------------------- */

/* The caller's socket; what is none is refused as by the kernel. */
static int take_socket(struct reader *r, int fd)
{
	int domain, rc = copy_fd(r, fd);
	socklen_t n = sizeof(domain);

	if (rc < 0)
		return rc;
	r->fds[GUARD_SLOT_SOCKET] = rc;
	return guard_rc(getsockopt(rc, SOL_SOCKET, SO_DOMAIN, &domain, &n));
}

/* The address is `old`; the path in it, if there is one, `new`. */
static int take_bind(struct reader *r, const __u64 *args)
{
	union {
		struct sockaddr_un un;
		char bytes[sizeof(struct sockaddr_storage)];
	} addr = { 0 };
	size_t path_at = offsetof(struct sockaddr_un, sun_path), n;
	int len = (int)args[2], rc = take_socket(r, (int)args[0]);

	if (rc < 0)
		return rc;
	if (len < 0 || (size_t)len > sizeof(addr))
		return -EINVAL;
	if (len && read_memory(r, args[1], &addr, (size_t)len) != len)
		return -EFAULT;
	memcpy(r->req.texts, &addr, (size_t)len);
	r->req.n_old = (size_t)len;
	if ((size_t)len <= path_at || addr.un.sun_family != AF_UNIX || !addr.un.sun_path[0])
		return 0;
	n = strnlen(addr.un.sun_path, MIN((size_t)len - path_at, sizeof(addr.un.sun_path)));
	memcpy(r->req.texts + len, addr.un.sun_path, n);
	r->req.texts[(size_t)len + n] = '\0';
	r->req.n_new = n + 1;
	return take_base(r, AT_FDCWD, r->req.texts + len, GUARD_SLOT_NEW);
}

/* --- one call --------------------------------------------------------------- */

static const struct shape *find_shape(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		if (shapes[i].nr == nr)
			return &shapes[i];
	return NULL;
}

static int take_texts(struct reader *r, const struct shape *s, const __u64 *args)
{
	struct guard_request *q = &r->req;
	int rc;

	if (s->old_path >= 0) {
		rc = read_path(r, args[s->old_path], 0);
		if (rc < 0)
			return rc;
		q->n_old = (size_t)rc;
	}
	rc = read_path(r, args[s->new_path], q->n_old);
	if (rc < 0)
		return rc;
	q->n_new = (size_t)rc;
	/* An empty path names nothing, but the old one of linkat and that of
	 * execveat may be a descriptor. */
	if ((q->n_new == 1 && (q->op != GUARD_EXEC || !(q->flags & AT_EMPTY_PATH))) ||
	    (q->n_old == 1 && (q->op != GUARD_LINK || !(q->flags & AT_EMPTY_PATH))))
		return -ENOENT;
	if (q->op != GUARD_EXEC)
		return 0;
	return guard_vector_read(r->vector, r->tid, args[s->new_path + 1]);
}

static int take_bases(struct reader *r, const struct shape *s, const __u64 *args)
{
	const char *old_path = r->req.texts, *new_path = r->req.texts + r->req.n_old;
	int rc = 0;

	if (s->old_path >= 0 && s->op != GUARD_SYMLINK)
		rc = take_base(r, s->old_dir < 0 ? AT_FDCWD : (int)args[s->old_dir], old_path,
			       GUARD_SLOT_OLD);
	if (rc == 0)
		rc = take_base(r, s->new_dir < 0 ? AT_FDCWD : (int)args[s->new_dir], new_path,
			       GUARD_SLOT_NEW);
	return rc;
}

/* The limit of the actor's own files is another one. */
static void take_size(struct reader *r, int64_t size)
{
	struct rlimit most = { 0 };

	r->req.flags = O_WRONLY | O_NONBLOCK;
	r->req.size = size;
	if (prlimit(r->tid, RLIMIT_FSIZE, NULL, &most) == 0)
		r->req.size_max = most.rlim_cur;
}

/* What is called, by its numbers and texts; 0 or -errno for the caller. */
static int take_call(struct reader *r, const struct seccomp_notif *call, const struct shape *s)
{
	const __u64 *args = call->data.args;

	if (!s)
		return -ENOSYS;
	r->req.id = call->id;
	r->req.op = s->op;
	r->req.flags = s->flags < 0 ? 0 : (unsigned)args[s->flags];
	r->req.mode = s->mode < 0 ? 0 : (unsigned)args[s->mode];
	r->req.dev = s->dev < 0 ? 0 : (unsigned)args[s->dev];
#ifdef SYS_creat
	if (s->nr == SYS_creat)
		r->req.flags = O_CREAT | O_WRONLY | O_TRUNC;
#endif
	return s->op == GUARD_BIND ? 0 : take_texts(r, s, args);
}

/* By whom, and from where: with it the actor knows everything. */
static int take_down(struct reader *r, const struct seccomp_notif *call, const struct shape *s,
		     struct str status)
{
	const __u64 *args = call->data.args;
	int rc = take_status(r, status);

	if (s->op == GUARD_TRUNCATE)
		take_size(r, (int64_t)args[1]);
	if (rc == 0)
		rc = take_root(r);
	if (rc < 0)
		return rc;
	return s->op == GUARD_BIND ? take_bind(r, args) : take_bases(r, s, args);
}

/* --- /dev/null -------------------------------------------------------------- */

#define NULL_FLAGS	(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_NOCTTY | \
			 GUARD_LARGE_FILE | O_CLOEXEC)

static bool is_null(const struct guard_request *q)
{
	return q->op == GUARD_OPEN && !(q->flags & ~(unsigned)NULL_FLAGS) &&
	       strcmp(q->texts, "/dev/null") == 0;
}

/* What stands there for all callers, who have one root; or -1.  A name that none of them can
 * change; but whatever it is, nobody gains anything by a descriptor of this device. */
static int find_null(const struct reader *r)
{
	cleanup_fd int fd = -1;
	struct stat st;
	char name[40];

	snprintf(name, sizeof(name), "%d/root/dev/null", r->tid);
	fd = openat(r->w->proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return -1;
	/* Of a caller that is gone it may be somebody else's. */
	return guard_is_valid(r->w->listener, r->req.id) ? fd_take(&fd) : -1;
}

/* Opened to write more often than all else together, so it takes no second process, and
 * nobody is asked who he is: anyone may have it.  False: let the actor see. */
static bool give_null(struct reader *r)
{
	char name[32];
	int fd;

	if (r->null < 0)
		r->null = find_null(r);
	if (r->null < 0)
		return false;
	snprintf(name, sizeof(name), "self/fd/%d", r->null);
	fd = openat(r->w->proc, name, (int)(r->req.flags & ~(unsigned)O_CREAT) | O_CLOEXEC);
	if (fd < 0)
		return false;
	guard_give_device(r->w->listener, &r->req, fd);
	return true;
}

/* --- the other half --------------------------------------------------------- */

static int controlling_tty(const struct reader *r)
{
	char text[1024], *at;
	int n = read_proc_at(r->proc, "stat", text, sizeof(text)), tty = 0;

	at = n < 0 ? NULL : strrchr(text, ')');	/* the name may hold anything */
	if (!at || sscanf(at, ") %*c %*d %*d %*d %d", &tty) != 1 || tty == 0)
		return -ENXIO;
	return tty;
}

/* Processes of one user may have only so many descriptors on their way to others: when the
 * tree does, that is no reason to end. */
static bool send_reply(const struct reader *r, struct guard_reply reply, int fd)
{
	int rc = guard_send(r->w->sock, &reply, sizeof(reply), &fd, fd >= 0);

	if (rc == -ETOOMANYREFS) {
		reply.rc = rc;
		rc = guard_send(r->w->sock, &reply, sizeof(reply), NULL, 0);
	}
	return rc >= 0;
}

/* Answer what the actor asks until it is done; false: it is gone. */
static bool attend(struct reader *r)
{
	struct guard_question q;
	size_t n_fds;
	int none[N_GUARD_SLOTS];

	while (guard_recv(r->w->sock, &r->program, sizeof(r->program), none, &n_fds) >=
	       (int)sizeof(q)) {
		struct guard_reply reply = { 0 };
		cleanup_fd int fd = -1;

		q = r->program.question;
		if (q.ask == GUARD_DONE)
			return true;
		if (q.ask == GUARD_PROGRAM)
			continue;
		if (q.ask == GUARD_ASK_TTY) {
			reply.rc = controlling_tty(r);
		} else if (q.ask == GUARD_ASK_COPY) {
			fd = copy_fd(r, q.fd);
			reply.rc = MIN(fd, 0);
		} else if (q.ask == GUARD_ASK_FD) {
			fd = open_fd(r, q.fd);
			reply.rc = MIN(fd, 0);
		} else if (q.ask == GUARD_ASK_CWD) {
			fd = guard_rc(openat(r->proc, "cwd", O_PATH | O_CLOEXEC));
			reply.rc = MIN(fd, 0);
		}
		if (!send_reply(r, reply, fd))
			return false;
	}
	return false;
}

static void close_slots(struct reader *r)
{
	for (size_t i = 0; i < N_GUARD_SLOTS; i++)
		fd_close(&r->fds[i]);
}

static bool hand_over(struct reader *r)
{
	int fds[N_GUARD_SLOTS], rc;
	size_t n = 0;

	for (size_t i = 0; i < N_GUARD_SLOTS; i++) {
		r->req.slots[i] = r->fds[i] >= 0;
		if (r->fds[i] >= 0)
			fds[n++] = r->fds[i];
	}
	/* What is not told is not what was told of another. */
	if (r->req.op == GUARD_EXEC)
		memset(&r->program, 0, sizeof(r->program));
	rc = guard_send(r->w->sock, &r->req, GUARD_REQUEST_HEAD + r->req.n_old + r->req.n_new, fds,
			n);
	if (rc == -ETOOMANYREFS)
		guard_answer(r->w->listener, r->req.id, rc);
	if (rc < 0)
		return rc == -ETOOMANYREFS;
	r->told_root = true;
	close_slots(r);
	if (!attend(r))
		return false;
	if (r->req.op == GUARD_EXEC)
		guard_answer_exec(&(struct guard_exec){ r->w, r->req.id, r->tid, r->req.leader,
							r->is_traced,
							r->req.texts + r->req.n_old, &r->program,
							r->vector });
	return true;
}

/* It opens terminals for the commands of a session. */
static bool serve_init(const struct guard_worker *w, uint64_t id)
{
	guard_go_on(w->listener, id);
	return true;
}

/* As the actor gets it; 0 or -errno for the caller. */
static int look_at_caller(struct reader *r, const struct seccomp_notif *call,
			  const struct shape *s)
{
	char status[STATUS_BYTES];
	int rc = find_caller(r, status, sizeof(status));

	/* Whose memory was read must be who asks. */
	if (rc >= 0)
		rc = guard_is_valid(r->w->listener, call->id) ?
			     take_down(r, call, s, (struct str){ status, (size_t)rc }) : -ESRCH;
	return rc >= 0 && !guard_is_valid(r->w->listener, call->id) ? -ESRCH : rc;
}

static bool serve(struct reader *r, const struct seccomp_notif *call)
{
	const struct shape *s = find_shape(call->data.nr);
	bool good = true;
	int rc;

	guard_share_cpu(r->w);
	if (r->w->init && (pid_t)call->pid == r->w->init)
		return serve_init(r->w, call->id);
	memset(&r->req, 0, GUARD_REQUEST_HEAD);
	for (size_t i = 0; i < N_GUARD_SLOTS; i++)
		r->fds[i] = -1;
	r->tid = (pid_t)call->pid;
	rc = take_call(r, call, s);
	if (rc == 0 && is_null(&r->req) && give_null(r))
		return true;
	if (rc == 0)
		rc = look_at_caller(r, call, s);
	if (rc < 0)
		guard_answer(r->w->listener, call->id, rc);
	else
		good = hand_over(r);
	close_slots(r);
	return good;
}

void guard_reader_loop(struct guard_worker *w)
{
	static struct reader r = { .null = -1 };
	struct seccomp_notif call;
	char status[STATUS_BYTES];
	int n = read_proc_at(w->proc, "self/status", status, sizeof(status));

	r.w = w;
	r.vector = w->commands->plan ? guard_vector_new() : NULL;
	if (w->commands->plan && !r.vector)
		return;
	if (n < 0 || rights_of((struct str){ status, (size_t)n }, r.own, sizeof(r.own)) < 0)
		return;
	for (;;) {
		struct pollfd listener = { .fd = w->listener, .events = POLLIN };
		int rc;

		memset(&call, 0, sizeof(call));
		rc = guard_rc(ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, &call));
		if (rc == 0 && !serve(&r, &call))
			return;
		/* ENOENT: that caller is gone; or the last one of all.  Then the supervisor has
		 * more urgent things to do than we: it ends us, and all of us with it. */
		if (rc < 0 && rc != -EINTR && rc != -ENOENT)
			return;
		if (rc == -ENOENT && poll(&listener, 1, 0) > 0 && listener.revents & POLLHUP)
			pause();
	}
}

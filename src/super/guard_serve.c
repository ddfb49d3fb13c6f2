/* The actor: judges one call at a time, does it, and answers.
 *
 * Its root is the root of the tree, its rights are those of the tree (user
 * namespace, Landlock) without a single capability.  The paths it follows are
 * hostile; what the kernel answers to the act is the answer to the caller.
 */
#include "super/guard_priv.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/native/native.h"
#include "base/fd.h"
#include "base/syscalls.h"
#include "super/aside.h"

static const char *old_text(const struct guard_actor *a)
{
	return a->req.texts;
}

static const char *new_text(const struct guard_actor *a)
{
	return a->req.texts + a->req.n_old;
}

/* A worker that ends while it holds the lock ends all the others. */
void guard_lock(struct guard_worker *w, bool alone)
{
	struct guard_shared *s = w->shared;

	pthread_mutex_lock(&s->turn);
	if (alone)
		pthread_rwlock_wrlock(&s->lock);
	else
		pthread_rwlock_rdlock(&s->lock);
	pthread_mutex_unlock(&s->turn);
}

void guard_unlock(struct guard_worker *w)
{
	pthread_rwlock_unlock(&w->shared->lock);
}

int guard_refuse(struct guard_actor *a, const char *path, const struct guard_name *by)
{
	guard_report(a->w, &(struct guard_denial){ .name = by ? 1 + (uint32_t)by->given : 0,
						   .leader = a->req.leader }, path);
	return -EACCES;
}

int guard_ask(struct guard_actor *a, enum guard_ask what, int fd, int *ret_fd)
{
	struct guard_question q = { .ask = what, .fd = fd };
	struct guard_reply reply;
	int fds[N_GUARD_SLOTS];
	size_t n;

	if (guard_send(a->w->sock, &q, sizeof(q), NULL, 0) < 0 ||
	    guard_recv(a->w->sock, &reply, sizeof(reply), fds, &n) != sizeof(reply))
		return -EACCES;
	if (ret_fd && n == 1)
		*ret_fd = fds[0];
	else if (ret_fd && reply.rc >= 0)
		return -EACCES;
	return reply.rc;
}

/* --- acts that make one name ------------------------------------------------ */

static bool exists(const struct guard_place *p)
{
	struct stat st;

	return fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int make(struct guard_actor *a, const struct guard_place *p)
{
	switch (a->req.op) {
	case GUARD_MKDIR:
		return guard_rc(mkdirat(p->dir, p->last, a->req.mode));
	case GUARD_MKNOD:
		if (a->req.mode & (S_ISUID | S_ISGID))
			return exists(p) ? -EEXIST : -EPERM;
		return guard_rc(mknodat(p->dir, p->last, a->req.mode & (S_IFMT | 0777),
					a->req.dev));
	case GUARD_SYMLINK:
		return guard_rc(symlinkat(old_text(a), p->dir, p->last));
	default:
		return -ENOSYS;
	}
}

/* Only a directory may stand where a guarded name's path leads through. */
static bool may_stand(const struct guard_actor *a, enum guard_verdict verdict)
{
	return verdict == GUARD_FREE || (verdict == GUARD_LOOSE && a->req.op != GUARD_SYMLINK) ||
	       (verdict == GUARD_PREFIX && a->req.op == GUARD_MKDIR);
}

static int make_one(struct guard_actor *a)
{
	cleanup_place struct guard_place p = GUARD_PLACE;
	int rc = guard_resolve(a, a->fds[GUARD_SLOT_NEW], new_text(a), &p);

	if (rc < 0)
		return rc;
	guard_lock(a->w, false);
	rc = guard_judge(a, &p);
	if (rc == 0 && !may_stand(a, p.is.verdict))
		rc = exists(&p) ? -EEXIST : guard_refuse(a, p.path, p.is.by);
	else if (rc == 0)
		rc = make(a, &p);
	guard_unlock(a->w);
	return rc;
}

/* --- link ------------------------------------------------------------------- */

/* The object to link, as a descriptor. */
static int find_source(struct guard_actor *a, int *ret_fd)
{
	if (a->req.flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!*old_text(a)) {
		*ret_fd = fcntl(a->fds[GUARD_SLOT_OLD], F_DUPFD_CLOEXEC, 0);
		return *ret_fd < 0 ? guard_rc(-1) : 0;
	}
	return guard_find(a, a->fds[GUARD_SLOT_OLD], old_text(a), a->req.flags & AT_SYMLINK_FOLLOW,
			  ret_fd);
}

static int link_alone(struct guard_actor *a, int source, struct guard_place *p)
{
	struct guard_finding source_is;
	char path[PATH_MAX], name[32];
	struct stat st;
	int rc = guard_judge(a, p);

	if (rc < 0)
		return rc;
	if (fstat(source, &st) < 0)
		return guard_rc(-1);
	if (p->is.verdict >= GUARD_PREFIX ||
	    (p->is.verdict == GUARD_LOOSE && S_ISLNK(st.st_mode)))
		return exists(p) ? -EEXIST : guard_refuse(a, p->path, p->is.by);
	/* Another name for what is guarded would not be. */
	rc = guard_fd_path(a->w, source, path, sizeof(path));
	if (rc < 0)
		return rc;
	source_is = guard_match(a->w->names, str_from(path));
	if (st.st_nlink && source_is.verdict == GUARD_HELD)
		return guard_refuse(a, path, source_is.by);
	snprintf(name, sizeof(name), "fd/%d", source);
	return guard_rc(linkat(a->w->self, name, p->dir, p->last, AT_SYMLINK_FOLLOW));
}

static int make_link(struct guard_actor *a)
{
	cleanup_place struct guard_place p = GUARD_PLACE;
	cleanup_fd int source = -1;
	int rc = find_source(a, &source);

	if (rc == 0)
		rc = guard_resolve(a, a->fds[GUARD_SLOT_NEW], new_text(a), &p);
	if (rc < 0)
		return rc;
	guard_lock(a->w, true);
	rc = link_alone(a, source, &p);
	guard_unlock(a->w);
	return rc;
}

/* --- rename ----------------------------------------------------------------- */

/* 0, or -errno when what stands at `from` may not come to `to`. */
static int may_move(struct guard_actor *a, const struct guard_place *from,
		    const struct guard_place *to)
{
	const struct guard_name *by;
	int rc = guard_check_leaving(a, from, &by);

	if (rc)
		return rc == 1 ? guard_refuse(a, from->path, by) : rc;
	rc = guard_check_landing(a, from, to, &by);
	return rc == 1 ? guard_refuse(a, to->path, by) : rc;
}

static int rename_alone(struct guard_actor *a, struct guard_place *from, struct guard_place *to)
{
	int rc = guard_judge(a, from);

	if (rc == 0)
		rc = guard_judge(a, to);
	if (rc < 0)
		return rc;
	if (!exists(from))
		return guard_rc(-1);
	rc = may_move(a, from, to);
	if (rc == 0 && a->req.flags & RENAME_EXCHANGE && exists(to))
		rc = may_move(a, to, from);
	if (rc < 0)
		return rc;
	return guard_rc(syscall(SYS_renameat2, from->dir, from->last, to->dir, to->last,
				a->req.flags));
}

static int make_rename(struct guard_actor *a)
{
	cleanup_place struct guard_place from = GUARD_PLACE, to = GUARD_PLACE;
	int rc;

	/* With RENAME_WHITEOUT a device would come to stand at the old name. */
	if (a->req.flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	rc = guard_resolve(a, a->fds[GUARD_SLOT_OLD], old_text(a), &from);
	if (rc == 0)
		rc = guard_resolve(a, a->fds[GUARD_SLOT_NEW], new_text(a), &to);
	if (rc < 0)
		return rc;
	guard_lock(a->w, true);
	rc = rename_alone(a, &from, &to);
	guard_unlock(a->w);
	return rc;
}

/* --- bind ------------------------------------------------------------------- */

/* Bind to a path.  The kernel keeps the text for getsockname(), so it gets the
 * caller's own, from the caller's directory: we are alone, so the path leads
 * where we go first.  Not so through procfs, where only we can follow:
 * then the last component has to do. */
static int bind_alone(struct guard_actor *a, struct guard_place *p)
{
	int sock = a->fds[GUARD_SLOT_SOCKET], base = a->fds[GUARD_SLOT_NEW];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int rc = guard_resolve(a, base, new_text(a), p);

	if (rc == 0)
		rc = guard_judge(a, p);
	if (rc < 0)
		return rc;
	if (p->is.verdict >= GUARD_PREFIX)
		return exists(p) ? -EADDRINUSE : guard_refuse(a, p->path, p->is.by);
	if (!p->magic) {
		if (base >= 0 && fchdir(base) < 0)
			return guard_rc(-1);
		return guard_rc(bind(sock, (const struct sockaddr *)(const void *)old_text(a),
				     (socklen_t)a->req.n_old));
	}
	if (fchdir(p->dir) < 0)
		return guard_rc(-1);
	if (strlen(p->last) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, p->last, strlen(p->last));
	return guard_rc(bind(sock, (const struct sockaddr *)&addr, sizeof(addr)));
}

static int make_bind(struct guard_actor *a)
{
	cleanup_place struct guard_place p = GUARD_PLACE;
	struct sockaddr_storage addr = { 0 };
	/* The caller may close the socket at once, and then nobody may hold it. */
	int rc = guard_ask(a, GUARD_ASK_CLOSED, -1, NULL);

	if (rc < 0)
		return rc;
	if (!a->req.n_new) {
		memcpy(&addr, old_text(a), a->req.n_old);
		return guard_rc(bind(a->fds[GUARD_SLOT_SOCKET], (const struct sockaddr *)&addr,
				     (socklen_t)a->req.n_old));
	}
	guard_lock(a->w, true);
	rc = bind_alone(a, &p);
	if (chdir("/") < 0)
		rc = -EIO;
	guard_unlock(a->w);
	return rc;
}

/* --- execve ----------------------------------------------------------------- */

static void describe(struct guard_actor *a, int fd, struct guard_program *ret)
{
	cleanup_fd int file = -1;
	char name[32];
	struct stat st;
	ssize_t n;

	if (guard_fd_path(a->w, fd, ret->path, sizeof(ret->path)) < 0 || fstat(fd, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->is_mask = (st.st_mode & 07777) == NATIVE_MASK_MODE && st.st_size == 0;
	snprintf(name, sizeof(name), "fd/%d", fd);
	file = openat(a->w->self, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	n = file < 0 ? -1 : pread(file, ret->head, sizeof(ret->head), 0);
	ret->n_head = n < 0 ? 0 : (size_t)n;
}

/* Tell the reader, who judges, what the path leads to.  What we cannot follow
 * it sees when it is executed. */
static int tell_program(struct guard_actor *a)
{
	struct guard_program p = { .question.ask = GUARD_PROGRAM };
	int base = a->fds[GUARD_SLOT_NEW];
	cleanup_fd int fd = -1;

	if (!*new_text(a)) {
		describe(a, base, &p);
	} else {
		int rc = guard_find(a, base, new_text(a), true, &fd);

		p.is_missing = rc == -ENOENT || rc == -ENOTDIR;
		if (rc == 0)
			describe(a, fd, &p);
	}
	/* If the reader is gone, so are we soon. */
	(void)!guard_send(a->w->sock, &p, sizeof(p), NULL, 0);
	return GUARD_ANSWERED;
}

/* --- the loop --------------------------------------------------------------- */

static int (*const acts[])(struct guard_actor *) = {
	[GUARD_OPEN] = guard_open_file,
	[GUARD_MKDIR] = make_one,
	[GUARD_MKNOD] = make_one,
	[GUARD_SYMLINK] = make_one,
	[GUARD_LINK] = make_link,
	[GUARD_RENAME] = make_rename,
	[GUARD_BIND] = make_bind,
	[GUARD_TRUNCATE] = guard_truncate_file,
	[GUARD_EXEC] = tell_program,
};
static_assert(ARRAY_SIZE(acts) == N_GUARD_OPS, "an act for each kind of call");

static bool is_root(int fd)
{
	struct statx root, other;

	return sys_statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &root) == 0 &&
	       sys_statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &other) == 0 &&
	       (root.stx_mask & other.stx_mask & STATX_MNT_ID) &&
	       root.stx_mnt_id == other.stx_mnt_id && root.stx_ino == other.stx_ino;
}

/* The root of the tree becomes ours; then the last capability goes. */
static int enter_root(struct guard_actor *a)
{
	int root = a->fds[GUARD_SLOT_ROOT];
	struct cordon_err err = { 0 };
	bool settled;

	if (root < 0)
		return 0;
	settled = is_root(root);
	if (fchdir(root) < 0 || chroot(".") < 0 || aside_set_caps(0, &err) < 0)
		return -1;
	return settled ? 0 : guard_names_settle(a->w->names, &err);
}

/* Does the message hold what it says?  The reader is ours; its memory is not
 * the caller's.  So this can only fail by a mistake, and then we end. */
static bool take_request(struct guard_actor *a, size_t n, const int *fds, size_t n_fds)
{
	const struct guard_request *q = &a->req;
	size_t used = 0;

	if (n < GUARD_REQUEST_HEAD || n != GUARD_REQUEST_HEAD + q->n_old + q->n_new ||
	    q->op >= N_GUARD_OPS)
		return false;
	for (size_t i = 0; i < N_GUARD_SLOTS; i++) {
		if (q->slots[i] && used == n_fds)
			return false;
		a->fds[i] = q->slots[i] ? fds[used++] : -1;
	}
	return used == n_fds;
}

void guard_actor_loop(struct guard_worker *w)
{
	static struct guard_actor a;
	struct guard_question done = { .ask = GUARD_DONE };
	int fds[N_GUARD_SLOTS], n, rc;
	size_t n_fds;

	a.w = w;
	while ((n = guard_recv(w->sock, &a.req, sizeof(a.req), fds, &n_fds)) > 0) {
		if (!take_request(&a, (size_t)n, fds, n_fds) || enter_root(&a) < 0)
			return;
		guard_share_cpu(w);
		a.links = 0;
		a.opened = a.own_fd = -1;
		umask(a.req.umask);
		rc = acts[a.req.op](&a);
		for (size_t i = 0; i < N_GUARD_SLOTS; i++)
			fd_close(&a.fds[i]);
		/* First, so that the caller's next call finds the reader waiting. */
		if (guard_send(w->sock, &done, sizeof(done), NULL, 0) < 0)
			return;
		if (a.opened >= 0)
			guard_give(w->listener, &a.req, a.opened);
		else if (rc != GUARD_ANSWERED)
			guard_answer(w->listener, a.req.id, rc);
	}
}

/* System calls that a C library has no function for, or only a newer one (glibc, musl). */
#ifndef BASE_SYSCALLS_H
#define BASE_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_TYPE
#include <linux/stat.h>
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH	0x1000
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE	0x8000
#endif

static inline int sys_close_range(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

static inline ssize_t sys_getdents64(int dir, void *entries, size_t n)
{
	return syscall(SYS_getdents64, dir, entries, n);
}

static inline int sys_statx(int dir, const char *path, int flags, unsigned mask,
			    struct statx *ret)
{
	return (int)syscall(SYS_statx, dir, path, flags, mask, ret);
}

/* Of one thread, where POSIX means a process: so musl has them answer ENOSYS. */
static inline int sys_sched_getscheduler(pid_t tid)
{
	return (int)syscall(SYS_sched_getscheduler, tid);
}

static inline int sys_sched_getparam(pid_t tid, int *ret_priority)
{
	return (int)syscall(SYS_sched_getparam, tid, ret_priority);
}

static inline int sys_sched_setscheduler(pid_t tid, int policy, int priority)
{
	return (int)syscall(SYS_sched_setscheduler, tid, policy, &priority);
}

/* Below a root (RESOLVE_IN_ROOT) the kernel is not sure of a `..` if anything was renamed or
 * mounted meanwhile, anywhere on the machine: then it has to be asked again. */
#define OPENAT2_TRIES	1024

static inline int sys_openat2(int dir, const char *path, const struct open_how *how)
{
	int fd = -1;

	for (int i = 0; i < OPENAT2_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path,
				 unsigned flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int sys_mount_setattr(int dir, const char *path, unsigned flags,
				    struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof(*attr));
}

static inline int sys_fsopen(const char *type)
{
	return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, 0);
}

static inline int sys_fsmount(int fd, unsigned attrs)
{
	return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attrs);
}

#endif

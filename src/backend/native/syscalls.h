/* System calls that the C library has no function for, or only a newer one. */
#ifndef BACKEND_SYSCALLS_H
#define BACKEND_SYSCALLS_H

#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE	0x8000
#endif

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

/* The calls that could make a name, or change what has one; see guard_filter.h. */
#include "plan/guard_filter.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include "base/macros.h"

const struct guard_call guard_calls[] = {
	{ SYS_openat, 2, GUARD_OPEN_MASK, GUARD_OPEN_EXCEPT },
	{ SYS_mkdirat, -1, 0, 0 },
	{ SYS_mknodat, -1, 0, 0 },
	{ SYS_symlinkat, -1, 0, 0 },
	{ SYS_linkat, -1, 0, 0 },
	{ SYS_renameat2, -1, 0, 0 },
	{ SYS_bind, -1, 0, 0 },
	{ SYS_truncate, -1, 0, 0 },
#ifdef SYS_renameat
	{ SYS_renameat, -1, 0, 0 },
#endif
#ifdef SYS_open
	{ SYS_open, 1, GUARD_OPEN_MASK, GUARD_OPEN_EXCEPT },
	{ SYS_creat, -1, 0, 0 },
	{ SYS_mkdir, -1, 0, 0 },
	{ SYS_mknod, -1, 0, 0 },
	{ SYS_symlink, -1, 0, 0 },
	{ SYS_link, -1, 0, 0 },
	{ SYS_rename, -1, 0, 0 },
#endif
};
const size_t n_guard_calls = ARRAY_SIZE(guard_calls);

/* A caller's own Landlock rules could not be kept by the guard, which acts for
 * it: so it can not make any. */
const struct guard_refusal guard_refusals[] = {
	{ SYS_openat2, ENOSYS, -1, 0 },
	{ SYS_io_uring_setup, ENOSYS, -1, 0 },
	{ SYS_io_uring_enter, ENOSYS, -1, 0 },
	{ SYS_io_uring_register, ENOSYS, -1, 0 },
	{ SYS_open_by_handle_at, ENOSYS, -1, 0 },
	{ SYS_clone3, ENOSYS, -1, 0 },
	{ SYS_landlock_create_ruleset, ENOSYS, -1, 0 },
	{ SYS_landlock_restrict_self, ENOSYS, -1, 0 },
	{ SYS_seccomp, EBUSY, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER },
	{ SYS_clone, EPERM, 0, CLONE_NEWUSER },
	{ SYS_unshare, EPERM, 0, CLONE_NEWUSER },
	{ SYS_setns, EPERM, -1, 0 },
	{ SYS_chroot, EPERM, -1, 0 },
	{ SYS_pivot_root, EPERM, -1, 0 },
	{ SYS_mount, EPERM, -1, 0 },
	{ SYS_move_mount, EPERM, -1, 0 },
	{ SYS_open_tree, EPERM, -1, 0 },
	{ SYS_fsopen, EPERM, -1, 0 },
	{ SYS_fsmount, EPERM, -1, 0 },
	{ SYS_mount_setattr, EPERM, -1, 0 },
};
const size_t n_guard_refusals = ARRAY_SIZE(guard_refusals);

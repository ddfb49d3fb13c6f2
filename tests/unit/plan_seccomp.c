/* What the seccomp filter answers to every number, and to arguments: asked of
 * the simulator, against lists that are written by the names of the C library's
 * header and share nothing with syscalls.def.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "plan/seccomp.h"
#include "seccomp_sim.h"
#include "tap.h"

#ifdef __x86_64__
#define NATIVE	AUDIT_ARCH_X86_64
#else
#define NATIVE	AUDIT_ARCH_AARCH64
#endif
#define ERR(e)	(SECCOMP_RET_ERRNO | (e))
#define ALLOW	SECCOMP_RET_ALLOW
#define NOTIFY	SECCOMP_RET_USER_NOTIF
#define NUMBERS	601

static const struct seccomp_options ordinary = { .inet = true, .memfd = true, .buffers = true };
static const struct seccomp_options uncounted = { .inet = true };

struct filter {
	struct arena arena;
	struct sock_filter *code;
	size_t n;
};

static struct filter compile(const struct seccomp_options *o)
{
	struct filter f = { .arena = ARENA(1u << 20) };
	struct cordon_err err;

	if (seccomp_compile(o, &f.arena, &f.code, &f.n, &err) < 0) {
		printf("# %s\n", err.msg);
		exit(1);
	}
	return f;
}

static uint32_t ask(const struct filter *f, struct seccomp_data data)
{
	return seccomp_simulate(f->code, f->n, &data);
}

/* By name, as an ordinary program may call them; arguments are zero. */
static const short allowed[] = {
	SYS_accept, SYS_accept4, SYS_adjtimex, SYS_bind, SYS_brk, SYS_capget, SYS_capset,
	SYS_chdir, SYS_clock_adjtime, SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep,
	SYS_close, SYS_close_range, SYS_connect, SYS_copy_file_range, SYS_dup, SYS_dup3,
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2,
	SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_faccessat, SYS_faccessat2,
	SYS_fadvise64, SYS_fallocate, SYS_fchdir, SYS_fchown, SYS_fchownat, SYS_fdatasync,
	SYS_fgetxattr, SYS_flistxattr, SYS_flock, SYS_fremovexattr, SYS_fsetxattr, SYS_fstat,
	SYS_fstatfs, SYS_fsync, SYS_ftruncate, SYS_futex, SYS_futex_waitv, SYS_get_mempolicy,
	SYS_get_robust_list, SYS_getcpu, SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid,
	SYS_getgid, SYS_getgroups, SYS_getitimer, SYS_getpeername, SYS_getpgid, SYS_getpid,
	SYS_getppid, SYS_getpriority, SYS_getrandom, SYS_getresgid, SYS_getresuid, SYS_getrlimit,
	SYS_getrusage, SYS_getsid, SYS_getsockname, SYS_getsockopt, SYS_gettid, SYS_gettimeofday,
	SYS_getuid, SYS_getxattr, SYS_inotify_add_watch, SYS_inotify_init1, SYS_inotify_rm_watch,
	SYS_io_cancel, SYS_io_destroy, SYS_io_getevents, SYS_io_pgetevents,
	SYS_io_submit, SYS_ioprio_get, SYS_ioprio_set, SYS_kill, SYS_lgetxattr, SYS_linkat,
	SYS_listen, SYS_listxattr, SYS_llistxattr, SYS_lremovexattr, SYS_lseek, SYS_lsetxattr,
	SYS_madvise, SYS_membarrier, SYS_mincore, SYS_mkdirat, SYS_mlock, SYS_mlock2, SYS_mlockall,
	SYS_mprotect, SYS_mq_getsetattr, SYS_mq_notify, SYS_mq_open, SYS_mq_timedreceive,
	SYS_mq_timedsend, SYS_mq_unlink, SYS_mremap, SYS_msgctl, SYS_msgget, SYS_msgrcv,
	SYS_msgsnd, SYS_msync, SYS_munlock, SYS_munlockall, SYS_munmap, SYS_nanosleep,
	SYS_newfstatat, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_pipe2, SYS_pkey_alloc,
	SYS_pkey_free, SYS_pkey_mprotect, SYS_ppoll, SYS_pread64, SYS_preadv, SYS_preadv2,
	SYS_process_mrelease, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2,
	SYS_read, SYS_readahead, SYS_readlinkat, SYS_readv, SYS_recvfrom, SYS_recvmmsg,
	SYS_recvmsg, SYS_remap_file_pages, SYS_removexattr, SYS_renameat, SYS_renameat2,
	SYS_restart_syscall, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigpending, SYS_rt_sigprocmask,
	SYS_rt_sigqueueinfo, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
	SYS_rt_tgsigqueueinfo, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
	SYS_sched_getaffinity, SYS_sched_getattr, SYS_sched_getparam, SYS_sched_getscheduler,
	SYS_sched_rr_get_interval, SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam,
	SYS_sched_setscheduler, SYS_sched_yield, SYS_semctl, SYS_semop, SYS_semtimedop,
	SYS_sendfile, SYS_sendmmsg, SYS_sendmsg, SYS_sendto, SYS_set_robust_list,
	SYS_set_tid_address, SYS_setfsgid, SYS_setfsuid, SYS_setgid, SYS_setgroups, SYS_setitimer,
	SYS_setpgid, SYS_setpriority, SYS_setregid, SYS_setresgid, SYS_setresuid, SYS_setreuid,
	SYS_setsid, SYS_setuid, SYS_setxattr, SYS_shmat, SYS_shmctl, SYS_shmdt,
	SYS_shutdown, SYS_sigaltstack, SYS_signalfd4, SYS_splice, SYS_statfs, SYS_statx,
	SYS_symlinkat, SYS_sync, SYS_sync_file_range, SYS_syncfs, SYS_sysinfo, SYS_tee, SYS_tgkill,
	SYS_timer_create, SYS_timer_delete, SYS_timer_getoverrun, SYS_timer_gettime,
	SYS_timer_settime, SYS_timerfd_create, SYS_timerfd_gettime, SYS_timerfd_settime, SYS_times,
	SYS_tkill, SYS_truncate, SYS_umask, SYS_uname, SYS_unlinkat, SYS_utimensat, SYS_vmsplice,
	SYS_wait4, SYS_waitid, SYS_write, SYS_writev,
#ifdef __x86_64__
	SYS_access, SYS_alarm, SYS_arch_prctl, SYS_chown, SYS_dup2, SYS_epoll_create,
	SYS_epoll_wait, SYS_eventfd, SYS_fork, SYS_futimesat, SYS_getdents, SYS_getpgrp,
	SYS_inotify_init, SYS_lchown, SYS_link, SYS_lstat, SYS_mkdir, SYS_pause, SYS_pipe,
	SYS_poll, SYS_readlink, SYS_rename, SYS_rmdir, SYS_select, SYS_signalfd, SYS_stat,
	SYS_symlink, SYS_time, SYS_unlink, SYS_utime, SYS_utimes, SYS_vfork,
#endif
};
/* cachestat, map_shadow_stack, futex_wake, _wait, _requeue, mseal, *xattrat but setxattrat:
 * younger than the headers of some systems this is built on. */
static const short allowed_young[] = { 451, 453, 454, 455, 456, 462, 464, 465, 466,
#ifdef __x86_64__
	335, 336,	/* uretprobe, uprobe */
#endif
};
/* Allowed as zero, whatever else is tested about them. */
static const short tested[] = {
	SYS_clone, SYS_unshare, SYS_setsockopt, SYS_ioctl, SYS_fcntl, SYS_prctl, SYS_seccomp,
	SYS_personality, SYS_setrlimit, SYS_prlimit64, SYS_mmap, SYS_shmget, SYS_semget, SYS_fchmod,
	SYS_fchmodat, 452 /* fchmodat2 */,
	SYS_mknodat, SYS_openat, SYS_memfd_create, SYS_landlock_create_ruleset,
	SYS_landlock_add_rule, SYS_landlock_restrict_self,
#ifdef __x86_64__
	SYS_chmod, SYS_creat, SYS_mknod, SYS_open,
#endif
};
static const short refused_eperm[] = {
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_umount2,
	SYS_pivot_root, SYS_chroot, SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen,
	SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_sethostname,
	SYS_setdomainname, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_pidfd_getfd, SYS_kcmp,
	SYS_process_madvise, SYS_fanotify_init, SYS_fanotify_mark, SYS_acct, SYS_kexec_load,
	SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot,
	SYS_swapon, SYS_swapoff, SYS_quotactl, SYS_quotactl_fd, SYS_settimeofday,
	SYS_clock_settime, SYS_vhangup, SYS_syslog, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
	SYS_mbind, SYS_set_mempolicy, SYS_set_mempolicy_home_node, SYS_migrate_pages,
	SYS_move_pages,
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm,
#endif
};

static bool is_in(const short *list, size_t n, int nr)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == nr)
			return true;
	return false;
}
#define IS_IN(list, nr)	is_in(list, ARRAY_SIZE(list), nr)

/* For the options `ordinary`; what is in no list is ENOSYS. */
static uint32_t expected(int nr)
{
	if (IS_IN(allowed, nr) || IS_IN(allowed_young, nr) || IS_IN(tested, nr))
		return ALLOW;
	if (IS_IN(refused_eperm, nr))
		return ERR(EPERM);
	if (nr == SYS_socket)
		return ERR(EAFNOSUPPORT);
	return nr == SYS_socketpair ? ERR(EOPNOTSUPP) : ERR(ENOSYS);
}

static void test_every_number_is_answered_as_listed(void)
{
	struct filter f = compile(&ordinary);

	for (int nr = 0; nr < NUMBERS; nr++)
		is_int(ask(&f, (struct seccomp_data){ .nr = nr, .arch = NATIVE }), expected(nr),
		       "number %d", nr);
	for (unsigned shift = 9; shift < 32; shift++)
		for (int off = -1; off <= 1; off++)
			is_int(ask(&f, (struct seccomp_data){ .nr = (int)((1u << shift) + off),
							      .arch = NATIVE }),
			       ERR(ENOSYS), "2^%u%+d", shift, off);
	is_int(ask(&f, (struct seccomp_data){ .nr = -1, .arch = NATIVE }), ERR(ENOSYS), "-1");
	arena_release(&f.arena);
}

static void test_foreign_programs_are_killed(void)
{
	static const uint32_t foreign[] = {
		0, AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64 ^ AUDIT_ARCH_AARCH64 ^ NATIVE,
		NATIVE ^ __AUDIT_ARCH_64BIT, NATIVE ^ __AUDIT_ARCH_LE, ~NATIVE,
	};
	struct filter f = compile(&ordinary);

	for (int nr = 0; nr < NUMBERS; nr++) {
		for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
			is_int(ask(&f, (struct seccomp_data){ .nr = nr, .arch = foreign[i] }),
			       SECCOMP_RET_KILL_PROCESS, "number %d of 0x%x", nr, foreign[i]);
		is_int(ask(&f, (struct seccomp_data){ .nr = nr | 0x40000000, .arch = NATIVE }),
		       ERR(ENOSYS), "x32 %d", nr);
	}
	arena_release(&f.arena);
}

/* One call, and the verdicts for `ordinary` and `uncounted`. */
struct row {
	int nr;
	uint64_t args[4];
	uint32_t ordinary, uncounted;
	bool wide;		/* the upper half of an argument counts as well */
};
#define BOTH(verdict)	verdict, verdict
#define SOCKET(verdict, ...)	{ SYS_socket, { __VA_ARGS__ }, BOTH(verdict), false }
#define UPPER	0x100000000
#define SUID	04755
#define SGID	02755

static const struct row rows[] = {
	{ SYS_clone, { SIGCHLD }, BOTH(ALLOW), false },
	{ SYS_clone, { 0x3d0f00 }, BOTH(ALLOW), false },	/* a thread of glibc */
	{ SYS_clone, { CLONE_NEWUSER | SIGCHLD }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_NEWNS }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_NEWPID }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_NEWNET }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_NEWIPC }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_NEWUTS }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_NEWCGROUP }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { 0x80 }, BOTH(ALLOW), false },		/* a signal there */
	{ SYS_clone, { CLONE_VM | CLONE_VFORK | SIGCHLD }, BOTH(ALLOW), false },
	{ SYS_clone, { CLONE_VFORK | SIGCHLD }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_FILES | SIGCHLD }, BOTH(ERR(EPERM)), false },
	{ SYS_clone, { CLONE_VM | CLONE_FILES | CLONE_SIGHAND }, BOTH(ERR(EPERM)), false },
	{ SYS_unshare, { CLONE_FS | CLONE_FILES | CLONE_SYSVSEM }, BOTH(ALLOW), false },
	{ SYS_unshare, { CLONE_NEWUSER }, BOTH(ERR(EPERM)), false },
	{ SYS_unshare, { CLONE_FILES | CLONE_NEWNS }, BOTH(ERR(EPERM)), false },
	{ SYS_unshare, { 0x80 }, BOTH(ERR(EPERM)), false },	/* CLONE_NEWTIME */
	{ SYS_unshare, { CLONE_NEWCGROUP }, BOTH(ERR(EPERM)), false },

	SOCKET(ALLOW, AF_UNIX, SOCK_STREAM), SOCKET(ALLOW, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC),
	SOCKET(ALLOW, AF_INET, SOCK_STREAM), SOCKET(ALLOW, AF_INET6, SOCK_STREAM, 6),
	SOCKET(ALLOW, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6),
	SOCKET(ALLOW, AF_INET, SOCK_DGRAM), SOCKET(ALLOW, AF_INET6, SOCK_DGRAM, 17),
	SOCKET(ALLOW, AF_INET, SOCK_DGRAM, 1), SOCKET(ALLOW, AF_INET6, SOCK_DGRAM, 58),
	SOCKET(ALLOW, AF_NETLINK, SOCK_RAW, 0), SOCKET(ALLOW, AF_NETLINK, SOCK_DGRAM, 0),
	SOCKET(ERR(EPERM), AF_INET, SOCK_RAW, 1), SOCKET(ERR(EPERM), AF_INET6, SOCK_RAW, 255),
	SOCKET(ERR(EPERM), AF_INET, SOCK_PACKET, 768),
	SOCKET(ERR(EPERM), AF_INET, SOCK_RAW | SOCK_NONBLOCK, 6),
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET, SOCK_STREAM, 262),	/* MPTCP */
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET, SOCK_STREAM, 132),	/* SCTP */
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET, SOCK_STREAM, 17),
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET, SOCK_SEQPACKET, 132),
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET6, SOCK_DGRAM, 136),	/* UDP-Lite */
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET, SOCK_DCCP, 33),
	SOCKET(ERR(EPROTONOSUPPORT), AF_INET, 0, 0),
	SOCKET(ERR(EPROTONOSUPPORT), AF_NETLINK, SOCK_RAW, 12),		/* netfilter */
	SOCKET(ERR(EPROTONOSUPPORT), AF_NETLINK, SOCK_RAW, 9),		/* audit */
	SOCKET(ERR(EAFNOSUPPORT), AF_VSOCK, SOCK_STREAM), SOCKET(ERR(EAFNOSUPPORT), AF_ALG, 5),
	SOCKET(ERR(EAFNOSUPPORT), AF_PACKET, SOCK_RAW), SOCKET(ERR(EAFNOSUPPORT), AF_XDP, 3),
	SOCKET(ERR(EAFNOSUPPORT), AF_KEY, SOCK_RAW, 2), SOCKET(ERR(EAFNOSUPPORT), AF_TIPC, 1),
	SOCKET(ERR(EAFNOSUPPORT), AF_SMC, SOCK_STREAM), SOCKET(ERR(EAFNOSUPPORT), AF_RDS, 5),
	SOCKET(ERR(EAFNOSUPPORT), AF_QIPCRTR, SOCK_DGRAM),
	SOCKET(ERR(EAFNOSUPPORT), (uint32_t)-1, SOCK_STREAM), SOCKET(ERR(EAFNOSUPPORT), 255, 1),
	{ SYS_socketpair, { AF_UNIX, SOCK_STREAM }, BOTH(ALLOW), false },
	{ SYS_socketpair, { AF_TIPC, SOCK_STREAM }, BOTH(ERR(EOPNOTSUPP)), false },
	{ SYS_socketpair, { AF_INET, SOCK_STREAM }, BOTH(ERR(EOPNOTSUPP)), false },

	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_SNDBUF }, ALLOW, ERR(0), false },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_RCVBUF }, ALLOW, ERR(0), false },
	{ SYS_setsockopt, { 3, 6, SO_SNDBUF }, BOTH(ALLOW), false },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_REUSEADDR }, BOTH(ALLOW), false },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_ATTACH_FILTER }, BOTH(ERR(EPERM)), false },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_ATTACH_BPF }, BOTH(ERR(EPERM)), false },
	{ SYS_setsockopt, { 3, SOL_SOCKET, 51 }, BOTH(ERR(EPERM)), false },
	{ SYS_setsockopt, { 3, SOL_SOCKET, 52 }, BOTH(ERR(EPERM)), false },
	{ SYS_setsockopt, { 3, 41, SO_ATTACH_FILTER }, BOTH(ALLOW), false },
	{ SYS_ioctl, { 0, TIOCSTI }, BOTH(ERR(EPERM)), false },
	{ SYS_ioctl, { 0, TIOCLINUX }, BOTH(ERR(EPERM)), false },
	{ SYS_ioctl, { 0, TIOCSETD }, BOTH(ERR(EPERM)), false },
	{ SYS_ioctl, { 0, TIOCCONS }, BOTH(ERR(EPERM)), false },
	{ SYS_ioctl, { 0, TIOCSCTTY }, BOTH(ALLOW), false },
	{ SYS_ioctl, { 0, TIOCGWINSZ }, BOTH(ALLOW), false },
	{ SYS_ioctl, { TIOCSTI, FIONREAD }, BOTH(ALLOW), false },
	{ SYS_ioctl, { 3, FS_IOC_GETFLAGS }, BOTH(ALLOW), false },
	{ SYS_ioctl, { 3, FS_IOC_SETFLAGS }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, FS_IOC_FSSETXATTR }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, FS_IOC_ADD_ENCRYPTION_KEY }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, FS_IOC_REMOVE_ENCRYPTION_KEY }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, UPPER | FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS }, BOTH(ERR(ENOTTY)),
	  false },
	{ SYS_ioctl, { 3, FS_IOC_SET_ENCRYPTION_POLICY }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, BTRFS_IOC_SNAP_CREATE }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, UPPER | BTRFS_IOC_SNAP_CREATE_V2 }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, BTRFS_IOC_SUBVOL_CREATE }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, BTRFS_IOC_SUBVOL_CREATE_V2 }, BOTH(ERR(ENOTTY)), false },
	{ SYS_ioctl, { 3, FICLONE }, BOTH(ALLOW), false },
	{ SYS_fcntl, { 3, F_SETLEASE, F_WRLCK }, BOTH(ERR(EINVAL)), false },
	{ SYS_fcntl, { 3, 1040, 1 }, BOTH(ERR(EINVAL)), false },	/* F_SETDELEG */
	{ SYS_fcntl, { 3, 1039, 1 }, BOTH(ALLOW), false },
	{ SYS_fcntl, { 3, F_GETLEASE }, BOTH(ALLOW), false },
	{ SYS_fcntl, { 0, F_SETPIPE_SZ, 65536 }, BOTH(ALLOW), false },
	{ SYS_fcntl, { 0, F_SETPIPE_SZ, 65537 }, ALLOW, ERR(EPERM), false },
	{ SYS_fcntl, { 0, F_SETPIPE_SZ, UPPER }, ALLOW, ERR(EPERM), true },
	{ SYS_fcntl, { 0, F_SETFD, 1u << 20 }, BOTH(ALLOW), false },
	{ SYS_fcntl, { 0, F_SETLK }, BOTH(ALLOW), false },
	{ SYS_fcntl, { 0, 36 }, BOTH(ERR(EINVAL)), false },	/* F_OFD_GETLK */
	{ SYS_fcntl, { 0, 37 }, BOTH(ERR(EINVAL)), false },
	{ SYS_fcntl, { 0, 38 }, BOTH(ERR(EINVAL)), false },
	{ SYS_prctl, { 35 /* PR_SET_MM */ }, BOTH(ERR(EPERM)), false },
	{ SYS_prctl, { 31 }, BOTH(ERR(EPERM)), false },
	{ SYS_prctl, { 32 }, BOTH(ERR(EPERM)), false },
	{ SYS_prctl, { 4 /* PR_SET_DUMPABLE */ }, BOTH(ALLOW), false },
	{ SYS_prctl, { 22 /* PR_SET_SECCOMP */, 2 }, BOTH(ALLOW), false },
	{ SYS_seccomp, { 1, 0 }, BOTH(ALLOW), false },
	{ SYS_seccomp, { 1, 1 | 2 | 4 }, BOTH(ALLOW), false },
	{ SYS_seccomp, { 1, 8 }, BOTH(ERR(EBUSY)), false },
	{ SYS_seccomp, { 1, 8 | 32 }, BOTH(ERR(EBUSY)), false },
	{ SYS_personality, { 0x0040000 }, BOTH(ALLOW), false },
	{ SYS_personality, { 0xffffffff }, BOTH(ALLOW), false },
	{ SYS_personality, { 0x0020000 }, BOTH(ERR(EPERM)), false },
	{ SYS_personality, { 8 }, BOTH(ERR(EPERM)), false },
	{ SYS_personality, { 0x0400000 }, BOTH(ERR(EPERM)), false },
	{ SYS_setrlimit, { RLIMIT_CORE, 1 }, BOTH(ERR(0)), false },
	{ SYS_setrlimit, { UPPER | RLIMIT_CORE, 1 }, BOTH(ERR(0)), true },
	{ SYS_setrlimit, { RLIMIT_NOFILE, 1 }, BOTH(ALLOW), false },
	{ SYS_sched_setscheduler, { 1, 5 }, BOTH(ERR(EPERM)), false },
	{ SYS_sched_setscheduler, { 0, 5 }, BOTH(ALLOW), false },
	{ SYS_sched_setaffinity, { UPPER | 1, 8 }, BOTH(ERR(EPERM)), false },
	{ SYS_setpriority, { PRIO_PROCESS, 1, 19 }, BOTH(ERR(EPERM)), false },
	{ SYS_setpriority, { PRIO_USER, 0, 19 }, BOTH(ERR(EPERM)), false },
	{ SYS_setpriority, { PRIO_PROCESS, 0, 19 }, BOTH(ALLOW), false },
	{ SYS_setpgid, { 0, 1 }, BOTH(ERR(EPERM)), false },
	{ SYS_setpgid, { 1, 0 }, BOTH(ALLOW), false },
	{ SYS_setxattr, { 1, 1, 1, 512 }, BOTH(ALLOW), true },
	{ SYS_setxattr, { 1, 1, 1, 513 }, BOTH(ERR(E2BIG)), false },
	{ SYS_fsetxattr, { 1, 1, 1, UPPER }, BOTH(ERR(E2BIG)), false },
	{ SYS_fallocate, { 3, 0, 0, 9 }, BOTH(ALLOW), true },
	{ SYS_fallocate, { 3, 3, 0, 9 }, BOTH(ALLOW), true },	/* a hole */
	{ SYS_fallocate, { 3, 0x10, 0, 9 }, BOTH(ALLOW), true },
	{ SYS_fallocate, { 3, 1, 0, 9 }, BOTH(ERR(EOPNOTSUPP)), false },
	{ SYS_fallocate, { 3, 0x11, 0, 9 }, BOTH(ERR(EOPNOTSUPP)), false },
	{ SYS_fallocate, { 3, 0x20, 0, 9 }, BOTH(ERR(EOPNOTSUPP)), false },
	{ SYS_fallocate, { 3, 0x41, 0, 9 }, BOTH(ERR(EOPNOTSUPP)), false },
	{ SYS_setsockopt, { 3, IPPROTO_IPV6, MCAST_MSFILTER }, BOTH(ERR(ENOPROTOOPT)), false },
	{ SYS_setsockopt, { 3, IPPROTO_IP, MCAST_MSFILTER }, BOTH(ERR(ENOPROTOOPT)), false },
	{ SYS_setsockopt, { 3, IPPROTO_IPV6, 6 }, BOTH(ERR(ENOPROTOOPT)), false },
	{ SYS_setsockopt, { 3, IPPROTO_IP, 6 }, BOTH(ALLOW), false },
	{ SYS_setsockopt, { 3, IPPROTO_IPV6, 32 }, BOTH(ERR(ENOPROTOOPT)), false },
	{ SYS_setsockopt, { 3, IPPROTO_TCP, 14 }, BOTH(ERR(ENOPROTOOPT)), false },
	{ SYS_setsockopt, { 3, IPPROTO_TCP, 1 }, BOTH(ALLOW), false },
	{ SYS_setsockopt, { 3, IPPROTO_TCP, MCAST_MSFILTER }, BOTH(ALLOW), false },
	{ SYS_prctl, { 78, 1, 1 << 21 }, BOTH(ERR(EINVAL)), false },
	{ SYS_prlimit64, { 1, RLIMIT_CPU, 1, 0 }, BOTH(ERR(EPERM)), true },
	{ SYS_prlimit64, { UPPER | 1, RLIMIT_CPU, UPPER, 0 }, BOTH(ERR(EPERM)), true },
	{ SYS_prlimit64, { 1, RLIMIT_CPU, 0, 1 }, BOTH(ALLOW), true },
	{ SYS_prlimit64, { 2, RLIMIT_CPU, 1, 0 }, BOTH(ALLOW), true },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 0, 1 }, BOTH(ALLOW), true },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 1, 0 }, BOTH(ERR(0)), true },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, UPPER, 0 }, BOTH(ERR(0)), true },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 1, 1 }, BOTH(ERR(EPERM)), true },
	{ SYS_prlimit64, { 0, RLIMIT_CORE, 1, UPPER }, BOTH(ERR(EPERM)), true },
	{ SYS_prlimit64, { 0, RLIMIT_NOFILE, 1, 1 }, BOTH(ALLOW), false },
	{ SYS_memfd_create, { 0 }, ALLOW, ERR(ENOSYS), false },
	{ SYS_landlock_create_ruleset, { 0 }, ALLOW, ERR(ENOSYS), false },
	{ SYS_landlock_add_rule, { 0 }, ALLOW, ERR(ENOSYS), false },
	{ SYS_memfd_create, { 0, 4 }, ERR(ENOMEM), ERR(ENOSYS), false },
	{ SYS_memfd_create, { 0, 0xfc00001f }, ERR(ENOMEM), ERR(ENOSYS), false },
	{ SYS_memfd_create, { 0, 0x24 }, ERR(EINVAL), ERR(ENOSYS), false },
	{ SYS_memfd_create, { 0, 0xffffffff }, ERR(EINVAL), ERR(ENOSYS), false },
	{ SYS_mmap, { 0, 4096, 3, 0x22 }, BOTH(ALLOW), false },
	{ SYS_mmap, { 0, 4096, 3, 0x40022 }, BOTH(ERR(ENOMEM)), false },
	{ SYS_shmget, { 0, 4096, 04000 }, BOTH(ERR(ENOMEM)), false },
	{ SYS_shmget, { 0, 4096 }, BOTH(ALLOW), false },
	{ SYS_shmget, { 0, 4097 }, ALLOW, ERR(EINVAL), false },
	{ SYS_shmget, { 0, UPPER }, ALLOW, ERR(EINVAL), true },
	{ SYS_semget, { 0, 32 }, BOTH(ALLOW), false },
	{ SYS_semget, { 0, 33 }, ALLOW, ERR(EINVAL), false },
	{ SYS_semget, { 0, 0xffffffff }, ALLOW, ERR(EINVAL), false },

	{ SYS_fchmod, { 3, 01777 }, BOTH(ALLOW), false },
	{ SYS_fchmod, { 3, SUID }, BOTH(ERR(EPERM)), false },
	{ SYS_fchmod, { 3, SGID }, BOTH(ERR(EPERM)), false },
	{ SYS_fchmodat, { 3, 0, SUID }, BOTH(ERR(EPERM)), false },
	{ SYS_fchmodat, { SUID, SUID, 0755 }, BOTH(ALLOW), false },
	{ 452, { 3, 0, SGID }, BOTH(ERR(EPERM)), false },
	{ SYS_mkdirat, { 3, 0, SGID }, BOTH(ALLOW), false },
	{ SYS_mknodat, { 3, 0, 0010644 }, BOTH(ALLOW), false },
	{ SYS_mknodat, { 3, 0, 0140755 }, BOTH(ALLOW), false },
	{ SYS_mknodat, { 3, 0, 0020666 }, BOTH(ERR(EPERM)), false },
	{ SYS_mknodat, { 3, 0, 0060666 }, BOTH(ERR(EPERM)), false },
	{ SYS_mknodat, { 3, 0, 0100000 | SUID }, BOTH(ERR(EPERM)), false },
	{ SYS_mknodat, { 3, 0, 0100000 | SGID }, BOTH(ERR(EPERM)), false },
	{ SYS_openat, { 3, 0, O_RDONLY, SUID }, BOTH(ALLOW), false },
	{ SYS_openat, { 3, 0, O_WRONLY | O_CREAT, 0644 }, BOTH(ALLOW), false },
	{ SYS_openat, { 3, 0, O_WRONLY | O_CREAT, SUID }, BOTH(ERR(EPERM)), false },
	{ SYS_openat, { 3, 0, O_WRONLY | O_TMPFILE, SGID }, BOTH(ERR(EPERM)), false },
	{ SYS_openat, { 3, 0, O_DIRECTORY, SUID }, BOTH(ALLOW), false },
#ifdef __x86_64__
	{ SYS_open, { 0, O_RDWR, SUID }, BOTH(ALLOW), false },
	{ SYS_open, { 0, O_RDWR | O_CREAT, SUID }, BOTH(ERR(EPERM)), false },
	{ SYS_creat, { 0, SUID }, BOTH(ERR(EPERM)), false },
	{ SYS_creat, { SUID, 0600 }, BOTH(ALLOW), false },
	{ SYS_chmod, { 0, SGID }, BOTH(ERR(EPERM)), false },
	{ SYS_mknod, { 0, 0060600 }, BOTH(ERR(EPERM)), false },
	{ SYS_mknod, { 0, 0010600 }, BOTH(ALLOW), false },
#endif
};

/* `upper` is put into the upper halves of all arguments. */
static uint32_t ask_row(const struct filter *f, const struct row *r, uint64_t upper)
{
	struct seccomp_data data = { .nr = r->nr, .arch = NATIVE };

	for (size_t i = 0; i < ARRAY_SIZE(data.args); i++)
		data.args[i] = (i < ARRAY_SIZE(r->args) ? r->args[i] : 0) | upper;
	return ask(f, data);
}

static void test_arguments_decide(void)
{
	struct filter a = compile(&ordinary), b = compile(&uncounted);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		is_int(ask_row(&a, r, 0), r->ordinary, "row %zu, call %d", i, r->nr);
		is_int(ask_row(&b, r, 0), r->uncounted, "row %zu, call %d, uncounted", i, r->nr);
	}
	arena_release(&a.arena);
	arena_release(&b.arena);
}

/* Where space is counted afterwards, calls give it back or change nothing. */
static void test_space_is_not_taken_in_advance(void)
{
	static const struct seccomp_options counted = { .inet = true, .disk = true };
	static const uint64_t modes[] = { 0, 1, 2, 3, 8, 9, 0x10, 0x11, 0x20, 0x40, 0x83 };
	struct filter f = compile(&counted);

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct row r = { SYS_fallocate, { 3, modes[i], 0, 9 }, 0, 0, false };
		bool gives_back = modes[i] == 3 || modes[i] == 8;

		is_int(ask_row(&f, &r, 0), gives_back ? ALLOW : ERR(EOPNOTSUPP), "mode %llx",
		       (unsigned long long)modes[i]);
	}
	arena_release(&f.arena);
}

/* The kernel reads ints, so the halves above them change nothing; of a size it
 * reads both. */
static void test_upper_halves_count_for_sizes_only(void)
{
	static const uint64_t uppers[] = { UPPER, 0xffffffff00000000, 0x5412deadull << 32 };
	struct filter a = compile(&ordinary), b = compile(&uncounted);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		uint32_t want = r->uncounted;

		/* They have pointers, or sizes in all modes, of which both halves count. */
		if (r->nr == SYS_prlimit64 || r->nr == SYS_setxattr)
			continue;
		if (r->nr == SYS_shmget)
			want = ERR(EINVAL);
		if (r->nr == SYS_fcntl && r->args[1] == F_SETPIPE_SZ)
			want = ERR(EPERM);
		ok(!r->wide || r->uncounted == want, "row %zu is wide", i);
		for (size_t u = 0; u < ARRAY_SIZE(uppers); u++) {
			is_int(ask_row(&a, r, uppers[u]), r->ordinary, "row %zu upper %zu", i, u);
			is_int(ask_row(&b, r, uppers[u]), want, "row %zu upper %zu", i, u);
		}
	}
	arena_release(&a.arena);
	arena_release(&b.arena);
}

/* One call under one option besides `uncounted`: answers with it off and on. */
static void test_options_open_what_they_say(void)
{
	static const struct {
		const char *name;
		struct seccomp_options o;
		struct row row;		/* ordinary: with the option; uncounted: without */
	} cases[] = {
		{ "inet off", { .ptrace = true },
		  { SYS_socket, { AF_INET, 1 }, ERR(EACCES), ALLOW, 0 } },
		{ "inet off", { .ptrace = true },
		  { SYS_socket, { AF_INET6, 2 }, ERR(EACCES), ALLOW, 0 } },
		{ "inet off", { .ptrace = true },
		  { SYS_socket, { AF_UNIX, 1 }, ALLOW, ALLOW, 0 } },
		{ "ptrace", { .ptrace = true },
		  { SYS_ptrace, { 0 }, ALLOW, ERR(EPERM), 0 } },
		{ "ptrace", { .ptrace = true },
		  { SYS_process_vm_readv, { 0 }, ALLOW, ERR(EPERM), 0 } },
		{ "ptrace", { .ptrace = true },
		  { SYS_pidfd_getfd, { 0 }, ERR(EPERM), ERR(EPERM), 0 } },
		{ "ptrace", { .ptrace = true },
		  { SYS_clone, { CLONE_FILES }, ALLOW, ERR(EPERM), 0 } },
		{ "namespaces", { .namespaces = true },
		  { SYS_clone3, { 0 }, ALLOW, ERR(ENOSYS), 0 } },
		{ "namespaces", { .namespaces = true },
		  { SYS_mount, { 0 }, ALLOW, ERR(EPERM), 0 } },
		{ "namespaces", { .namespaces = true },
		  { SYS_clone, { CLONE_NEWUSER }, ALLOW, ERR(EPERM), 0 } },
		{ "namespaces", { .namespaces = true },
		  { SYS_unshare, { CLONE_NEWNS }, ALLOW, ERR(EPERM), 0 } },
		{ "namespaces", { .namespaces = true },
		  { SYS_bpf, { 0 }, ERR(EPERM), ERR(EPERM), 0 } },
		{ "setid", { .setid = true },
		  { SYS_fchmod, { 3, SUID }, ALLOW, ERR(EPERM), 0 } },
		{ "setid", { .setid = true },
		  { SYS_openat, { 3, 0, O_CREAT, SGID }, ALLOW, ERR(EPERM), 0 } },
		{ "setid", { .setid = true },
		  { SYS_mknodat, { 3, 0, 0100000 | SUID }, ALLOW, ERR(EPERM), 0 } },
		{ "setid", { .setid = true },
		  { SYS_mknodat, { 3, 0, 0020000 | SUID }, ERR(EPERM), ERR(EPERM), 0 } },
		{ "setid", { .setid = true },
		  { SYS_openat2, { 0 }, ERR(ENOSYS), ERR(ENOSYS), 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter with = compile(&cases[i].o), without = compile(&uncounted);

		is_int(ask_row(&with, &cases[i].row, 0), cases[i].row.ordinary, "%s (%zu)",
		       cases[i].name, i);
		is_int(ask_row(&without, &cases[i].row, 0), cases[i].row.uncounted, "no %s (%zu)",
		       cases[i].name, i);
		arena_release(&with.arena);
		arena_release(&without.arena);
	}
}

static void test_what_makes_names_goes_to_the_guard(void)
{
	static const struct row makes[] = {
		{ SYS_mkdirat, { 0 }, BOTH(NOTIFY), 0 }, { SYS_symlinkat, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_linkat, { 0 }, BOTH(NOTIFY), 0 }, { SYS_renameat, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_renameat2, { 0 }, BOTH(NOTIFY), 0 }, { SYS_bind, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_mknodat, { 0, 0, 0010644 }, BOTH(NOTIFY), 0 },
		{ SYS_mknodat, { 0, 0, 0020644 }, BOTH(ERR(EPERM)), 0 },
		{ SYS_openat, { 0, 0, O_CREAT, 0644 }, BOTH(NOTIFY), 0 },
		{ SYS_openat, { 0, 0, O_CREAT | O_TMPFILE, 0644 }, BOTH(NOTIFY), 0 },
		{ SYS_openat, { 0, 0, O_CREAT, SUID }, ERR(EPERM), NOTIFY, 0 },
		{ SYS_openat, { 0, 0, O_TMPFILE | O_RDWR, 0644 }, BOTH(ALLOW), 0 },
		{ SYS_openat, { 0, 0, O_TMPFILE | O_RDWR, SUID }, ERR(EPERM), ALLOW, 0 },
		{ SYS_openat, { 0, 0, O_RDONLY, SUID }, BOTH(ALLOW), 0 },
		{ SYS_openat, { 0, 0, O_RDWR, SUID }, BOTH(NOTIFY), 0 },
		{ SYS_openat, { 0, 0, O_WRONLY }, BOTH(NOTIFY), 0 },
		{ SYS_openat, { 0, 0, O_RDONLY | O_TRUNC }, BOTH(NOTIFY), 0 },
		{ SYS_openat, { 0, 0, O_PATH | O_RDWR }, BOTH(ALLOW), 0 },
		{ SYS_truncate, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_unlinkat, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_openat2, { 0 }, BOTH(ERR(ENOSYS)), 0 },
		{ SYS_landlock_restrict_self, { 0 }, BOTH(ERR(ENOSYS)), 0 },
		{ SYS_seccomp, { 1, 8 }, BOTH(ERR(EBUSY)), 0 },
#ifdef __x86_64__
		{ SYS_open, { 0, O_CREAT, 0644 }, BOTH(NOTIFY), 0 },
		{ SYS_creat, { 0, 0644 }, BOTH(NOTIFY), 0 }, { SYS_mkdir, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_creat, { 0, SUID }, ERR(EPERM), NOTIFY, 0 },
		{ SYS_rename, { 0 }, BOTH(NOTIFY), 0 }, { SYS_link, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_symlink, { 0 }, BOTH(NOTIFY), 0 },
		{ SYS_mknod, { 0, 0100644 }, BOTH(NOTIFY), 0 },
#endif
	};
	struct filter a = compile(&(struct seccomp_options){ .guard = true });
	struct filter b = compile(&(struct seccomp_options){ .guard = true, .setid = true });

	for (size_t i = 0; i < ARRAY_SIZE(makes); i++) {
		is_int(ask_row(&a, &makes[i], 0), makes[i].ordinary, "row %zu", i);
		is_int(ask_row(&b, &makes[i], 0), makes[i].uncounted, "row %zu with setid", i);
	}
	arena_release(&a.arena);
	arena_release(&b.arena);
}

static void test_executions_go_to_the_guard(void)
{
	static const int execs[] = { SYS_execve, SYS_execveat };
	struct filter none = compile(&(struct seccomp_options){ .guard = true });
	struct filter alone = compile(&(struct seccomp_options){ .execs = true });
	struct filter both = compile(&(struct seccomp_options){ .guard = true, .execs = true });

	for (size_t i = 0; i < ARRAY_SIZE(execs); i++) {
		struct row row = { execs[i], { 0 }, BOTH(NOTIFY), 0 };

		is_int(ask_row(&none, &row, 0), ALLOW, "%d where none is judged", execs[i]);
		is_int(ask_row(&alone, &row, 0), NOTIFY, "%d", execs[i]);
		is_int(ask_row(&both, &row, 0), NOTIFY, "%d with guarded names", execs[i]);
	}
	is_int(ask_row(&alone, &(struct row){ SYS_mkdirat, { 0 }, BOTH(ALLOW), 0 }, 0), ALLOW,
	       "names are free");
	is_int(ask_row(&alone, &(struct row){ SYS_seccomp, { 1, 8 }, BOTH(ALLOW), 0 }, 0),
	       ERR(EBUSY), "no second listener");
	arena_release(&none.arena);
	arena_release(&alone.arena);
	arena_release(&both.arena);
}

/* With arguments that a command would be refused for, too: what the supervisor and the
 * guard do. */
static void test_supervisor_executes_nothing(void)
{
	static const struct row own[] = {
		{ SYS_execve, { 0 }, BOTH(ERR(EPERM)), 0 },
		{ SYS_execveat, { 0 }, BOTH(ERR(EPERM)), 0 },
		{ SYS_bpf, { 0 }, BOTH(ERR(EPERM)), 0 },
		{ SYS_finit_module, { 0 }, BOTH(ERR(EPERM)), 0 },
		{ SYS_perf_event_open, { 0 }, BOTH(ERR(EPERM)), 0 },
		{ SYS_keyctl, { 0 }, BOTH(ERR(ENOSYS)), 0 },
		{ SYS_io_uring_setup, { 0 }, BOTH(ERR(ENOSYS)), 0 },
		{ NUMBERS, { 0 }, BOTH(ERR(ENOSYS)), 0 },
		{ SYS_clone, { CLONE_NEWNET }, BOTH(ALLOW), 0 },
		{ SYS_setns, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_chroot, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_ptrace, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_process_vm_readv, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_pidfd_getfd, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_kcmp, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_openat2, { 0 }, BOTH(ALLOW), 0 },
		{ SYS_openat, { 0, 0, O_CREAT, S_ISUID }, BOTH(ALLOW), 0 },
		{ SYS_socket, { AF_NETLINK, 0, 12 }, BOTH(ALLOW), 0 },
		{ SYS_setrlimit, { RLIMIT_CORE }, BOTH(ALLOW), 0 },
	};
	struct filter f = compile(&(struct seccomp_options){ .supervisor = true });

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		is_int(ask_row(&f, &own[i], 0), own[i].ordinary, "number %d", own[i].nr);
	arena_release(&f.arena);
}

/* How far a verdict lets a call go. */
static int openness(uint32_t verdict)
{
	return verdict == ALLOW ? 2 : verdict == NOTIFY || verdict == ERR(0) ? 1 : 0;
}

static struct seccomp_options options_of(unsigned bits)
{
	return (struct seccomp_options){
		.inet = bits & 1, .ptrace = bits & 2, .namespaces = bits & 4, .memfd = bits & 8,
		.buffers = bits & 16, .setid = bits & 32, .guard = bits & 64,
		.execs = bits & 256,
		.arch = bits & 128 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64,
	};
}

static void check_options(unsigned bits, const struct filter *strict)
{
	struct seccomp_options o = options_of(bits);
	struct filter f = compile(&o), again = compile(&o);

	ok(f.n == again.n && memcmp(f.code, again.code, f.n * sizeof(*f.code)) == 0,
	   "options %x: the same bytes twice", bits);
	ok(f.n < 370, "options %x: %zu instructions", bits, f.n);
	for (int nr = 0; nr < NUMBERS; nr++) {
		struct seccomp_data data = { .nr = nr, .arch = o.arch };

		if (!o.guard && !o.execs)
			ok(openness(ask(&f, data)) >= openness(ask(strict, data)),
			   "options %x refuse %d, none allow it", bits, nr);
	}
	arena_release(&f.arena);
	arena_release(&again.arena);
}

static void test_every_set_of_options_compiles(void)
{
	struct seccomp_options none[] = { options_of(0), options_of(128) };
	struct filter strict[] = { compile(&none[0]), compile(&none[1]) };

	for (unsigned bits = 0; bits < 512; bits++)
		check_options(bits, &strict[bits / 128 % 2]);
	arena_release(&strict[0].arena);
	arena_release(&strict[1].arena);
}

static void test_unknown_processors_are_refused(void)
{
	struct arena a = ARENA(1u << 20), tiny = ARENA(64);
	struct sock_filter mark, *code = &mark;
	struct cordon_err err = { 0 };
	size_t n = 7;

	is_int(seccomp_compile(&(struct seccomp_options){ .arch = AUDIT_ARCH_I386 }, &a, &code, &n,
			       &err), -1, "i386");
	is_int(err.code, CORDON_E_HOST, "the machine's fault");
	is_int(seccomp_compile(&ordinary, &tiny, &code, &n, &err), -1, "no memory");
	is_int(err.code, CORDON_E_NOMEM, "and says so");
	ok(code == &mark && n == 7, "outputs are untouched");
	arena_release(&a);
	arena_release(&tiny);
}

static uint32_t run(const struct sock_filter *code, size_t n)
{
	struct seccomp_data data = { .nr = 7, .arch = NATIVE, .args = { 0x1122334455667788 } };

	return seccomp_simulate(code, n, &data);
}
#define RUN(...)	run((const struct sock_filter[]){ __VA_ARGS__ }, \
			    sizeof((const struct sock_filter[]){ __VA_ARGS__ }) / \
			    sizeof(struct sock_filter))
#define ALU(op, v)	RUN(BPF_STMT(BPF_LD | BPF_IMM, 0xf0), BPF_STMT(BPF_ALU | (op), v), \
			    BPF_STMT(BPF_RET | BPF_A, 0))

static void test_simulator_knows_all_of_bpf(void)
{
	is_int(ALU(BPF_ADD, 1), 0xf1, "add");
	is_int(ALU(BPF_SUB, 0xf1), 0xffffffff, "sub");
	is_int(ALU(BPF_MUL, 2), 0x1e0, "mul");
	is_int(ALU(BPF_DIV, 16), 15, "div");
	is_int(ALU(BPF_AND, 0x3c), 0x30, "and");
	is_int(ALU(BPF_OR, 0xf), 0xff, "or");
	is_int(ALU(BPF_XOR, 0xff), 0xf, "xor");
	is_int(ALU(BPF_LSH, 4), 0xf00, "lsh");
	is_int(ALU(BPF_RSH, 4), 0xf, "rsh");
	is_int(ALU(BPF_NEG, 0), 0xffffff10, "neg");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16), BPF_STMT(BPF_RET | BPF_A, 0)),
	       0x55667788, "the low half of an argument");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_RET | BPF_A, 0)), 64, "len");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_IMM, 5), BPF_STMT(BPF_ST, 3),
		   BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_STX, 4),
		   BPF_STMT(BPF_LD | BPF_MEM, 4),
		   BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0), BPF_STMT(BPF_MISC | BPF_TAX, 0),
		   BPF_STMT(BPF_LD | BPF_IMM, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0),
		   BPF_STMT(BPF_RET | BPF_A, 0)), 10, "memory and x");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_IMM, 5), BPF_STMT(BPF_LDX | BPF_IMM, 4),
		   BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 1, 0), BPF_STMT(BPF_RET, 1),
		   BPF_JUMP(BPF_JMP | BPF_JSET, 2, 0, 2), BPF_STMT(BPF_RET, 2),
		   BPF_STMT(BPF_RET, 3),
		   BPF_JUMP(BPF_JMP | BPF_JGE, 5, 0, 1), BPF_STMT(BPF_JMP | BPF_JA, 1),
		   BPF_STMT(BPF_RET, 4), BPF_STMT(BPF_RET, 5)), 5, "jumps");
}

static void test_simulator_kills_what_the_kernel_would_not_load(void)
{
	const uint32_t killed = SECCOMP_RET_KILL_PROCESS;

	is_int(run(NULL, 0), killed, "an empty program");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_IMM, 1)), killed, "no return");
	is_int(RUN(BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), BPF_STMT(BPF_RET, 1)), killed, "away");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), BPF_STMT(BPF_RET, 1)), killed,
	       "unaligned");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), BPF_STMT(BPF_RET, 1)), killed, "beyond");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), BPF_STMT(BPF_RET, 1)), killed, "a byte");
	is_int(RUN(BPF_STMT(BPF_LD | BPF_MEM, 16), BPF_STMT(BPF_RET, 1)), killed, "no such memory");
	is_int(RUN(BPF_STMT(BPF_ST, 16), BPF_STMT(BPF_RET, 1)), killed, "nor to store");
	is_int(ALU(BPF_DIV, 0), killed, "division by nothing");
	is_int(ALU(BPF_LSH, 32), killed, "a shift out of the word");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_every_number_is_answered_as_listed), TAP(test_foreign_programs_are_killed),
		TAP(test_space_is_not_taken_in_advance), TAP(test_arguments_decide),
		TAP(test_upper_halves_count_for_sizes_only),
		TAP(test_options_open_what_they_say), TAP(test_what_makes_names_goes_to_the_guard),
		TAP(test_executions_go_to_the_guard), TAP(test_supervisor_executes_nothing),
		TAP(test_every_set_of_options_compiles), TAP(test_unknown_processors_are_refused),
		TAP(test_simulator_knows_all_of_bpf),
		TAP(test_simulator_kills_what_the_kernel_would_not_load), TAP_END });
}

/* The tests of arguments; see seccomp_priv.h. */
#include "plan/seccomp_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "plan/guard_filter.h"

#ifndef F_SETDELEG			/* Linux 6.19 */
#define F_SETDELEG		1040
#endif
#ifndef TCP_AO_ADD_KEY			/* Linux 6.7 */
#define TCP_AO_ADD_KEY		38
#endif
#ifndef IPV6_FLOWLABEL_MGR		/* linux/in6.h, which the C library's does not bear */
#define IPV6_FLOWLABEL_MGR	32
#endif

/* fallocate() with FALLOC_FL_KEEP_SIZE, as XFS had it first and all file systems have it;
 * the kernel's headers for programs do not bear them. */
#define FS_IOC_RESVSP		_IOC(_IOC_WRITE, 'X', 40, 48)
#define FS_IOC_RESVSP64		_IOC(_IOC_WRITE, 'X', 42, 48)
#define FS_IOC_ZERO_RANGE	_IOC(_IOC_WRITE, 'X', 57, 48)

/* The kernel reads the low half of clone's flags only.  Its lowest byte is a
 * signal there, but CLONE_NEWTIME for unshare, which refuses high bits itself. */
#define CLONE_NEW_ANY	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
			 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* Locks of files belong to whoever shares the descriptors, under the number of the
 * process that took them: when that has ended, no list says that they are there.  Only
 * threads share descriptors, and the one that looks for leaks by ptrace(). */
static size_t test_clone(struct emitter *e, unsigned arg)
{
	/* Who waits for a child as vfork() does has one memory with it: so it is counted. */
	size_t vfork = branch(e, BPF_JSET, CLONE_VM, e->allow, e->eperm);
	size_t last = branch(e, BPF_JSET, CLONE_VFORK, vfork, e->allow);
	size_t thread = branch(e, BPF_JSET, CLONE_THREAD, e->allow, e->eperm);
	size_t next = e->o->ptrace ? last : branch(e, BPF_JSET, CLONE_FILES, thread, last);

	return load_low(e, arg, branch(e, BPF_JSET, CLONE_NEW_ANY, e->eperm, next));
}

static size_t test_unshare(struct emitter *e, unsigned arg)
{
	return load_low(e, arg, branch(e, BPF_JSET, CLONE_NEW_ANY | CLONE_NEWTIME, e->eperm,
				       e->allow));
}

/* Type and protocol of an inet socket: TCP, UDP and the ping that needs no
 * rights.  SOCK_PACKET makes a packet socket of AF_INET.  MPTCP is answered as
 * by a kernel without it: no rule of ours on TCP would hold for it. */
static size_t test_inet(struct emitter *e, size_t unknown)
{
	size_t tcp, udp, next;

	next = ONE_OF(e, e->allow, unknown, IPPROTO_IP, IPPROTO_TCP);
	tcp = load_low(e, 2, next);
	next = ONE_OF(e, e->allow, unknown, IPPROTO_IP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6);
	udp = load_low(e, 2, next);
	next = ONE_OF(e, e->eperm, unknown, SOCK_RAW, SOCK_PACKET);
	next = branch(e, BPF_JEQ, SOCK_DGRAM, udp, next);
	next = branch(e, BPF_JEQ, SOCK_STREAM, tcp, next);
	return load_low(e, 1, keep_bits(e, 0xf, next));	/* the rest are SOCK_CLOEXEC and alike */
}

static size_t test_socket(struct emitter *e, unsigned arg)
{
	size_t no_family = refuse(e, EAFNOSUPPORT), no_protocol = refuse(e, EPROTONOSUPPORT);
	size_t inet, netlink, next;

	netlink = load_low(e, 2, branch(e, BPF_JEQ, NETLINK_ROUTE, e->allow, no_protocol));
	inet = e->o->inet ? test_inet(e, no_protocol) : refuse(e, EACCES);
	next = branch(e, BPF_JEQ, AF_NETLINK, netlink, no_family);
	next = ONE_OF(e, inet, next, AF_INET6, AF_INET);
	next = branch(e, BPF_JEQ, AF_UNIX, e->o->no_unix ? e->eperm : e->allow, next);
	return load_low(e, arg, next);
}

static size_t test_socketpair(struct emitter *e, unsigned arg)
{
	size_t no_pairs = refuse(e, EOPNOTSUPP);

	return load_low(e, arg, branch(e, BPF_JEQ, AF_UNIX, e->allow, no_pairs));
}

/* Nobody is charged for the lists of senders of a multicast group, for the options of
 * a socket's packets, nor for keys of TCP; of flow labels the machine has 4096.  The numbers
 * of the first are the same in both protocols, but for those that IPv4 had before. */
static size_t test_ip_options(struct emitter *e, unsigned arg, size_t next)
{
	size_t none = refuse(e, ENOPROTOOPT), of_six, of_four, of_tcp, both;

	both = ONE_OF(e, none, e->allow, MCAST_BLOCK_SOURCE, MCAST_JOIN_SOURCE_GROUP,
		      MCAST_MSFILTER);
	of_six = load_low(e, arg + 1, ONE_OF(e, none, both, IPV6_2292PKTOPTIONS,
					     IPV6_FLOWLABEL_MGR));
	of_four = load_low(e, arg + 1, ONE_OF(e, none, both, IP_BLOCK_SOURCE,
					      IP_ADD_SOURCE_MEMBERSHIP, IP_MSFILTER));
	of_tcp = load_low(e, arg + 1, ONE_OF(e, none, e->allow, TCP_MD5SIG, TCP_MD5SIG_EXT,
					     TCP_AO_ADD_KEY));
	next = branch(e, BPF_JEQ, IPPROTO_TCP, of_tcp, next);
	next = branch(e, BPF_JEQ, IPPROTO_IP, of_four, next);
	return branch(e, BPF_JEQ, IPPROTO_IPV6, of_six, next);
}

/* Buffers of sockets are in no count of memory: whoever asks for larger ones is
 * told that it worked, as the kernel does when it gives less than was asked.  With
 * SO_ZEROCOPY they would hold whole pages of the program's, as vmsplice() does. */
static size_t test_setsockopt(struct emitter *e, unsigned arg)
{
	size_t next = ONE_OF(e, e->eperm, e->allow, SO_ATTACH_REUSEPORT_EBPF,
			     SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_BPF, SO_ATTACH_FILTER);

	if (!e->o->buffers) {
		size_t pretend = refuse(e, 0);

		next = proceed(e, next);
		next = ONE_OF(e, pretend, next, SO_RCVBUF, SO_SNDBUF);
		next = branch(e, BPF_JEQ, SO_ZEROCOPY, e->eperm, next);
	}
	next = load_low(e, arg + 1, next);
	next = branch(e, BPF_JEQ, SOL_SOCKET, next, e->allow);
	return load_low(e, arg, test_ip_options(e, arg, proceed(e, next)));
}

/* Of file systems whose headers few machines have. */
#define OCFS2_IOC_REFLINK		_IOW('o', 4, uint64_t[3])
#define BCH_IOCTL_SUBVOLUME_CREATE	_IOW(0xbc, 16, uint64_t[4])
#define BCH_IOCTL_SUBVOLUME_DESTROY	_IOW(0xbc, 17, uint64_t[4])

/* A snapshot of btrfs shows all of a subvolume under another name: what is masked and (before
 * Linux 6.7) what lies in no root as well.  It and a new subvolume are names that the guard does
 * not see, as is a copy by ocfs2; one that is removed takes its mounts along, and others tell
 * names of what lies in no root.  Those have a page of arguments, and what else has is for the
 * machine's owner. */
static size_t no_subvolumes(struct emitter *e, size_t no_such)
{
	size_t next = branch(e, BPF_JEQ, _IOC(0, BTRFS_IOCTL_MAGIC, 0, 4096), no_such, e->allow);

	next = keep_bits(e, _IOC(0, _IOC_TYPEMASK, 0, _IOC_SIZEMASK), next);
	return ONE_OF(e, no_such, next, BTRFS_IOC_SUBVOL_SETFLAGS, OCFS2_IOC_REFLINK,
		      BCH_IOCTL_SUBVOLUME_CREATE, BCH_IOCTL_SUBVOLUME_DESTROY);
}

/* TIOCSTI and TIOCLINUX type into the terminal, which may be the caller's;
 * TIOCCONS takes the console's output; a line discipline is kernel code.  Keys of
 * encryption are the file system's, for all its folders, and names can be hidden and
 * shown again by them; flags of files say what names are alike; blocks behind the end of
 * a file are under no limit (test_fallocate()).  Answered as by a file system without them. */
static size_t test_ioctl(struct emitter *e, unsigned arg)
{
	size_t no_such = refuse(e, ENOTTY);
	size_t next = ONE_OF(e, no_such, no_subvolumes(e, no_such), FS_IOC_SET_ENCRYPTION_POLICY,
			     FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY,
			     FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS, FS_IOC_SETFLAGS,
			     FS_IOC_FSSETXATTR, FS_IOC_RESVSP, FS_IOC_RESVSP64,
			     FS_IOC_ZERO_RANGE);

	next = proceed(e, next);
	return load_low(e, arg, ONE_OF(e, e->eperm, next, TIOCSETD, TIOCCONS, TIOCLINUX,
				       TIOCSTI));
}

/* As the kernel, where a user's pages in pipes are used up. */
static size_t test_pipe_size(struct emitter *e, unsigned arg)
{
	size_t next = branch(e, BPF_JGT, 65536, e->eperm, e->allow);

	next = load_low(e, arg, next);
	next = branch(e, BPF_JEQ, 0, next, e->eperm);
	return branch(e, BPF_JEQ, F_SETPIPE_SZ, load_high(e, arg, next), e->allow);
}

/* Locks of open files stand in every list of locks, as nobody's: whose memory they are
 * cannot be told.  With a lease or a delegation, which need no right to write, whoever opens
 * the file outside has to wait.  Programs take EINVAL for a kernel or a file system without
 * them. */
static size_t test_fcntl(struct emitter *e, unsigned arg)
{
	size_t older = refuse(e, EINVAL);
	size_t next = e->o->buffers ? e->allow : test_pipe_size(e, arg + 1);

	return load_low(e, arg, ONE_OF(e, older, next, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW,
				       F_SETLEASE, F_SETDELEG));
}

#ifndef PR_FUTEX_HASH
#define PR_FUTEX_HASH	78	/* Linux 6.16 */
#endif

/* A table of futexes is as large as its process wants, and in no process's size. */
static size_t test_prctl(struct emitter *e, unsigned arg)
{
	size_t older = refuse(e, EINVAL);
	size_t next = branch(e, BPF_JEQ, PR_FUTEX_HASH, older, e->allow);

	return load_low(e, arg, ONE_OF(e, e->eperm, next, PR_TASK_PERF_EVENTS_DISABLE,
				       PR_TASK_PERF_EVENTS_ENABLE, PR_SET_MM));
}

/* A second listener is what the kernel answers EBUSY to. */
static size_t test_seccomp(struct emitter *e, unsigned arg)
{
	size_t busy = refuse(e, EBUSY);

	return load_low(e, arg, branch(e, BPF_JSET, SECCOMP_FILTER_FLAG_NEW_LISTENER, busy,
				       e->allow));
}

static size_t test_personality(struct emitter *e, unsigned arg)
{
	return load_low(e, arg, ONE_OF(e, e->allow, e->eperm, 0xffffffff, ADDR_NO_RANDOMIZE,
				       PER_LINUX));
}

/* The limit of core files is 1, the only one with which no program outside is
 * started to take a core; less, which anybody may ask for, is none.  So whoever
 * asks is told that it worked. */
static size_t test_setrlimit(struct emitter *e, unsigned arg)
{
	size_t pretend = refuse(e, 0);

	return load_low(e, arg, branch(e, BPF_JEQ, RLIMIT_CORE, pretend, e->allow));
}

/* The same; but whoever also asks what it was would be told nothing.  Nobody sets the
 * limits of init, whose uid is the command's. */
static size_t test_prlimit(struct emitter *e, unsigned arg)
{
	size_t pretend = refuse(e, 0), next, init;

	next = load_low(e, arg + 2, branch(e, BPF_JEQ, 0, pretend, e->eperm));
	pretend = load_high(e, arg + 2, branch(e, BPF_JEQ, 0, next, e->eperm));
	next = load_low(e, arg + 1, branch(e, BPF_JEQ, 0, e->allow, pretend));
	next = load_high(e, arg + 1, branch(e, BPF_JEQ, 0, next, pretend));
	next = load_low(e, arg, branch(e, BPF_JEQ, RLIMIT_CORE, next, e->allow));
	init = load_low(e, arg + 1, branch(e, BPF_JEQ, 0, e->allow, e->eperm));
	init = load_high(e, arg + 1, branch(e, BPF_JEQ, 0, init, e->eperm));
	return load_low(e, arg - 1, branch(e, BPF_JEQ, 1, init, next));
}

/* Pages that the machine's owner has set apart: no limit of memory counts them.
 * Answered as where there are none. */
static size_t no_huge_pages(struct emitter *e, unsigned arg, uint32_t flag, size_t good)
{
	size_t none = refuse(e, ENOMEM);

	return load_low(e, arg, branch(e, BPF_JSET, flag, none, proceed(e, good)));
}

static size_t test_mmap(struct emitter *e, unsigned arg)
{
	return no_huge_pages(e, arg, MAP_HUGETLB, e->allow);
}

/* Between the flags and the size of a page. */
#define MFD_UNKNOWN	0x03ffffe0

/* Chromium asks with every flag whether there is such a call, and ends at any answer
 * but the kernel's to that. */
static size_t test_memfd_create(struct emitter *e, unsigned arg)
{
	size_t unknown = refuse(e, EINVAL), none = refuse(e, ENOMEM);
	size_t huge = branch(e, BPF_JSET, MFD_UNKNOWN, unknown, none);

	return load_low(e, arg, branch(e, BPF_JSET, MFD_HUGETLB, huge, proceed(e, e->allow)));
}

/* With the kernel's 4096 segments a page each makes 16 MB.  Larger than allowed
 * is EINVAL, as over kernel.shmmax and kernel.sem. */
static size_t test_shmget(struct emitter *e, unsigned arg)
{
	size_t too_large, next = no_huge_pages(e, arg + 1, SHM_HUGETLB, e->allow);

	if (e->o->memfd)
		return next;
	too_large = refuse(e, EINVAL);
	next = load_low(e, arg, branch(e, BPF_JGT, 4096, too_large, proceed(e, next)));
	return load_high(e, arg, branch(e, BPF_JEQ, 0, next, too_large));
}

/* 32000 sets of 32 semaphores make 75 MB; 32000 of 32000 make 65 GB. */
static size_t test_semget(struct emitter *e, unsigned arg)
{
	size_t too_many = refuse(e, EINVAL);

	return load_low(e, arg, branch(e, BPF_JGT, 32, too_many, e->allow));
}

/* A page that is passed on without a copy stays with all that are joined with it, though
 * its file may be cut: 2 MB for a byte.  Programs take EINVAL for files that cannot do it. */
static size_t test_pages(struct emitter *e, unsigned arg UNUSED)
{
	return refuse(e, EINVAL);
}

/* Lists of rights are attributes, and nobody is charged for those that a file system
 * keeps in memory alone. */
#define MOST_ATTRIBUTE	512

static size_t test_xattr(struct emitter *e, unsigned arg)
{
	size_t too_big = refuse(e, E2BIG), next;

	next = load_low(e, arg, branch(e, BPF_JGT, MOST_ATTRIBUTE, too_big, e->allow));
	return load_high(e, arg, branch(e, BPF_JEQ, 0, next, too_big));
}

/* Blocks behind the end of a file are under no limit of its size, nor is what is pushed
 * behind its end; what nobody writes takes no time, and a file of the largest size is there
 * before anybody has counted.  Programs do without. */
static size_t test_fallocate(struct emitter *e, unsigned arg)
{
	size_t no_such = refuse(e, EOPNOTSUPP), next;

	if (e->o->disk)
		return load_low(e, arg, ONE_OF(e, e->allow, no_such, FALLOC_FL_COLLAPSE_RANGE,
					       FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE));
	next = branch(e, BPF_JEQ, FALLOC_FL_KEEP_SIZE, no_such, e->allow);
	next = keep_bits(e, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, next);
	return load_low(e, arg, branch(e, BPF_JSET, ~(FALLOC_FL_INSERT_RANGE - 1u), no_such, next));
}

/* init, whose uid is the command's, ends the tree: it must get its CPU for that. */
static size_t test_pid(struct emitter *e, unsigned arg)
{
	return load_low(e, arg, branch(e, BPF_JEQ, 1, e->eperm, e->allow));
}

/* The same by its number, or with all that are the user's: the numbers of both calls. */
static size_t test_who(struct emitter *e, unsigned arg)
{
	size_t next = ONE_OF(e, e->eperm, test_pid(e, arg + 1), PRIO_USER, IOPRIO_WHO_USER);

	return load_low(e, arg, next);
}

/* `good` if no set-user-id or set-group-id file comes of it. */
static size_t plain_mode(struct emitter *e, unsigned arg, size_t good)
{
	if (e->o->setid)
		return good;
	return load_low(e, arg, branch(e, BPF_JSET, S_ISUID | S_ISGID, e->eperm, good));
}

static size_t test_mode(struct emitter *e, unsigned arg)
{
	return plain_mode(e, arg, e->allow);
}

static size_t test_creat(struct emitter *e, unsigned arg)
{
	return plain_mode(e, arg, e->make);
}

/* mkdir needs no test of its mode: the kernel leaves those bits out. */
static size_t test_mknod(struct emitter *e, unsigned arg)
{
	size_t next = ONE_OF(e, e->eperm, e->make, S_IFBLK, S_IFCHR);

	next = load_low(e, arg, keep_bits(e, S_IFMT, next));
	return plain_mode(e, arg, next);
}

/* The mode counts only where a file is made; elsewhere it may be any garbage.  A
 * file without a name is not the guard's: linkat, which gives it one, is. */
static size_t test_open(struct emitter *e, unsigned arg)
{
	size_t named = plain_mode(e, arg + 1, e->make), next = e->allow;

	if (named == e->allow)
		return e->allow;
	if (e->o->guard) {
		size_t nameless = plain_mode(e, arg + 1, e->allow);

		next = branch(e, BPF_JSET, GUARD_OPEN_MASK & ~O_CREAT, e->make, next);
		next = branch(e, BPF_JSET, O_PATH, e->allow, next);
		next = branch(e, BPF_JSET, GUARD_TMPFILE_BIT, nameless, next);
		next = branch(e, BPF_JSET, O_CREAT, named, next);
	} else {
		next = branch(e, BPF_JSET, O_CREAT | GUARD_TMPFILE_BIT, named, next);
	}
	return load_low(e, arg, next);
}

static const struct {
	size_t (*emit)(struct emitter *e, unsigned arg);
	unsigned arg;
} tests[N_VERDICTS] = {
	[VERDICT_CLONE] = { test_clone, 0 },
	[VERDICT_UNSHARE] = { test_unshare, 0 },
	[VERDICT_SOCKET] = { test_socket, 0 },
	[VERDICT_SOCKETPAIR] = { test_socketpair, 0 },
	[VERDICT_SETSOCKOPT] = { test_setsockopt, 1 },
	[VERDICT_IOCTL] = { test_ioctl, 1 },
	[VERDICT_FCNTL] = { test_fcntl, 1 },
	[VERDICT_PRCTL] = { test_prctl, 0 },
	[VERDICT_SECCOMP] = { test_seccomp, 1 },
	[VERDICT_PERSONALITY] = { test_personality, 0 },
	[VERDICT_SETRLIMIT] = { test_setrlimit, 0 },
	[VERDICT_PRLIMIT] = { test_prlimit, 1 },
	[VERDICT_MMAP] = { test_mmap, 3 },
	[VERDICT_MEMFD_CREATE] = { test_memfd_create, 1 },
	[VERDICT_SHMGET] = { test_shmget, 1 },
	[VERDICT_SEMGET] = { test_semget, 1 },
	[VERDICT_PAGES] = { test_pages, 0 },
	[VERDICT_XATTR] = { test_xattr, 3 },
	[VERDICT_FALLOCATE] = { test_fallocate, 1 },
	[VERDICT_PID_0] = { test_pid, 0 },
	[VERDICT_PID_1] = { test_pid, 1 },
	[VERDICT_WHO] = { test_who, 0 },
	[VERDICT_MODE_1] = { test_mode, 1 },
	[VERDICT_MODE_2] = { test_mode, 2 },
	[VERDICT_CREAT] = { test_creat, 1 },
	[VERDICT_MKNOD_1] = { test_mknod, 1 },
	[VERDICT_MKNOD_2] = { test_mknod, 2 },
	[VERDICT_OPEN_1] = { test_open, 1 },
	[VERDICT_OPEN_2] = { test_open, 2 },
};

size_t seccomp_put_test(struct emitter *e, enum verdict v)
{
	return tests[v].emit(e, tests[v].arg);
}

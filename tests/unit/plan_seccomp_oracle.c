/* The filter against libseccomp: the same policy built with its rules, and both
 * programs asked about every number and many arguments, on both processors.
 *
 * libseccomp knows the numbers by name, so the table's are checked as well.  Its
 * rules for one call cannot overlap, so there are three filters which are taken
 * together as the kernel does it: the strictest answer counts.
 *
 *   names   what is allowed at all; the rest is ENOSYS
 *   denies  arguments that are refused; the rest is allowed
 *   guard   what is handed over; the rest is allowed
 */
#include "plan/seccomp.h"
#include "tap.h"

#ifndef HAVE_LIBSECCOMP
static void test_filters_agree_with_libseccomp(void)
{
	skip("built without libseccomp; install libseccomp-dev");
}
#else
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "seccomp_sim.h"

#define MASKED	SCMP_CMP_MASKED_EQ
#define LOW	0xffffffff
/* libseccomp refuses it as an action of a rule where it is the default. */
#define NOSYS	SCMP_ACT_ERRNO(ENOSYS)

#define NONE	(-1)
static const struct call {
	const char *name, *verdict;
	int x86_64, aarch64;
} calls[] = {
#define CALL(name, x86_64, aarch64, verdict)	{ #name, #verdict, x86_64, aarch64 },
#include "plan/syscalls.def"
#undef CALL
};

enum { NAMES, DENIES, HUGE, GUARD, N_PARTS };

struct oracle {
	uint32_t arch;				/* SCMP_ARCH_… */
	scmp_filter_ctx ctx[N_PARTS];
	struct sock_filter *code[N_PARTS];
	size_t n[N_PARTS];
};

static void add(struct oracle *o, int part, uint32_t action, const char *name,
		const struct scmp_arg_cmp *args, size_t n)
{
	int nr = seccomp_syscall_resolve_name(name), r;

	if (seccomp_syscall_resolve_name_arch(o->arch, name) < 0)
		return;
	r = seccomp_rule_add_array(o->ctx[part], action, nr, (unsigned)n, args);
	ok(r == 0, "%s: rule: %d", name, r);
}
#define ARGS(...)		((const struct scmp_arg_cmp[]){ __VA_ARGS__ })
#define ADD_ALL(o, p, act, name)	add(o, p, act, name, NULL, 0)
#define ADD(o, p, act, name, ...)	add(o, p, act, name, ARGS(__VA_ARGS__), \
					    sizeof(ARGS(__VA_ARGS__)) / \
					    sizeof(struct scmp_arg_cmp))
#define IS(arg, value)		{ arg, MASKED, LOW, (uint32_t)(value) }
#define HAS(arg, bit)		{ arg, MASKED, bit, bit }
#define OVER(arg, value)	{ arg, SCMP_CMP_GT, value, 0 }
#define PART(arg, mask, value)	{ arg, MASKED, mask, value }

/* Of Landlock: nobody makes rules where the guard is, or nobody counts them. */
static uint32_t act_on_rules(const struct seccomp_options *opt, bool allowed)
{
	return allowed || (opt->memfd && !opt->guard) ? SCMP_ACT_ALLOW : NOSYS;
}

/* Without an ipc namespace there are no IPC objects. */
static uint32_t act_on_ipc(const struct seccomp_options *opt, bool allowed)
{
	return allowed && !opt->enters ? SCMP_ACT_ALLOW : NOSYS;
}

/* What the table says about names alone. */
static void add_names(struct oracle *o, const struct seccomp_options *opt)
{
	const struct {
		const char *verdict;
		uint32_t action;
	} actions[] = {
		{ "EPERM", SCMP_ACT_ERRNO(EPERM) }, { "ENOSYS", NOSYS }, { "SOCKET", NOSYS },
		{ "SOCKETPAIR", NOSYS }, { "PERSONALITY", NOSYS },
		{ "PTRACE", opt->ptrace ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM) },
		{ "NAMESPACES", opt->namespaces ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM) },
		{ "NAMESPACES_ENOSYS", opt->namespaces ? SCMP_ACT_ALLOW : NOSYS },
		{ "MEMFD", opt->memfd ? SCMP_ACT_ALLOW : NOSYS },
		{ "MEMFD_CREATE", opt->memfd ? SCMP_ACT_ALLOW : NOSYS },
		{ "PAGES", opt->memfd ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EINVAL) },
		{ "NO_GUARD", act_on_rules(opt, false) },
		{ "ENTER", act_on_rules(opt, opt->enters) },
		{ "AFFINITY", opt->few_cpus ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW },
		{ "MSGGET", act_on_ipc(opt, opt->memfd) },
		{ "IPC", act_on_ipc(opt, true) },
		{ "SHMGET", act_on_ipc(opt, true) },
		{ "SEMGET", act_on_ipc(opt, true) },
		{ "OWN", SCMP_ACT_ERRNO(EPERM) }, { "OWN_ENOSYS", NOSYS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		uint32_t action = SCMP_ACT_ALLOW;

		for (size_t k = 0; k < ARRAY_SIZE(actions); k++)
			if (strcmp(actions[k].verdict, calls[i].verdict) == 0)
				action = actions[k].action;
		if (action != NOSYS)
			ADD_ALL(o, NAMES, action, calls[i].name);
	}
}

static void add_sockets(struct oracle *o, const struct seccomp_options *opt)
{
	static const int families[] = { AF_INET, AF_INET6 };
	static const int kinds[][2] = {
		{ SOCK_STREAM, 0 }, { SOCK_STREAM, 6 }, { SOCK_DGRAM, 0 }, { SOCK_DGRAM, 17 },
		{ SOCK_DGRAM, 1 }, { SOCK_DGRAM, 58 },
	};

	ADD(o, NAMES, SCMP_ACT_ALLOW, "socket", IS(0, AF_UNIX));
	ADD(o, NAMES, SCMP_ACT_ALLOW, "socket", IS(0, AF_NETLINK), IS(2, 0));
	ADD(o, NAMES, SCMP_ACT_ALLOW, "socketpair", IS(0, AF_UNIX));
	for (size_t f = 0; f < ARRAY_SIZE(families); f++) {
		if (!opt->inet) {
			ADD(o, NAMES, SCMP_ACT_ERRNO(EACCES), "socket", IS(0, families[f]));
			continue;
		}
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			ADD(o, NAMES, SCMP_ACT_ALLOW, "socket", IS(0, families[f]),
			     PART(1, 0xf, (unsigned)kinds[k][0]),
			     IS(2, kinds[k][1]));
		ADD(o, NAMES, SCMP_ACT_ERRNO(EPERM), "socket", IS(0, families[f]),
		     PART(1, 0xf, SOCK_RAW));
		ADD(o, NAMES, SCMP_ACT_ERRNO(EPERM), "socket", IS(0, families[f]),
		     PART(1, 0xf, SOCK_PACKET));
	}
	ADD(o, NAMES, SCMP_ACT_ALLOW, "personality", IS(0, 0));
	ADD(o, NAMES, SCMP_ACT_ALLOW, "personality", IS(0, 0x40000));
	ADD(o, NAMES, SCMP_ACT_ALLOW, "personality", IS(0, -1));
}

/* With other pids than 0: without a pid namespace all of them, else that of init. */
static void deny_pids(struct oracle *o, const struct seccomp_options *opt, const char *name,
		      int arg)
{
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);

	for (unsigned bit = 0; opt->enters && bit < 32; bit++)
		ADD(o, DENIES, eperm, name, HAS(arg, 1ull << bit));
	if (!opt->enters)
		ADD(o, DENIES, eperm, name, IS(arg, 1));
}

static void deny_limits(struct oracle *o, const struct seccomp_options *opt)
{
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);

	for (unsigned bit = 0; opt->enters && bit < 32; bit++)
		ADD(o, DENIES, eperm, "prlimit64", HAS(0, 1ull << bit), OVER(2, 0));
	if (!opt->enters)
		ADD(o, DENIES, eperm, "prlimit64", IS(0, 1), OVER(2, 0));
}

/* What is forbidden about pid 1, and what nobody is charged for. */
static void add_bounds(struct oracle *o, const struct seccomp_options *opt)
{
	static const char *const of_pid[] = { "sched_setparam", "sched_setscheduler",
					      "sched_setattr", "sched_setaffinity" };
	static const char *const of_who[] = { "setpriority", "ioprio_set" };
	static const char *const attributes[] = { "setxattr", "lsetxattr", "fsetxattr" };
	static const int of_six[] = { 6, 32, 43, 46, 48 }, of_four[] = { 38, 39, 41, 43, 46, 48 };
	static const int of_tcp[] = { 14, 32, 38 };
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM), none = SCMP_ACT_ERRNO(ENOPROTOOPT);

	for (size_t i = 0; i < ARRAY_SIZE(of_pid) - (opt->few_cpus ? 1 : 0); i++)
		deny_pids(o, opt, of_pid[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(of_who); i++) {
		ADD(o, DENIES, eperm, of_who[i], IS(0, 2));
		ADD(o, DENIES, eperm, of_who[i], IS(0, 3));
		deny_pids(o, opt, of_who[i], 1);
	}
	deny_limits(o, opt);
	if (!opt->memfd && !opt->enters) {
		ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "shmget", OVER(1, 4096));
		ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "semget", OVER(1, 32));
	}
	ADD(o, DENIES, eperm, "setpgid", IS(1, 1));
	ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "prctl", IS(0, 78));
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		ADD(o, DENIES, SCMP_ACT_ERRNO(E2BIG), attributes[i], OVER(3, 512));
	ADD(o, DENIES, SCMP_ACT_ERRNO(EOPNOTSUPP), "fallocate", PART(1, 3, 1));
	for (unsigned bit = 5; bit < 32; bit++)
		ADD(o, DENIES, SCMP_ACT_ERRNO(EOPNOTSUPP), "fallocate", HAS(1, 1ull << bit));
	for (size_t i = 0; i < ARRAY_SIZE(of_six); i++)
		ADD(o, DENIES, none, "setsockopt", IS(1, IPPROTO_IPV6), IS(2, of_six[i]));
	for (size_t i = 0; i < ARRAY_SIZE(of_four); i++)
		ADD(o, DENIES, none, "setsockopt", IS(1, IPPROTO_IP), IS(2, of_four[i]));
	for (size_t i = 0; i < ARRAY_SIZE(of_tcp); i++)
		ADD(o, DENIES, none, "setsockopt", IS(1, IPPROTO_TCP), IS(2, of_tcp[i]));
}

static void add_values(struct oracle *o, const struct seccomp_options *opt)
{
	static const int ioctls[] = { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD };
	static const unsigned of_files[] = {
		FS_IOC_SET_ENCRYPTION_POLICY, FS_IOC_ADD_ENCRYPTION_KEY,
		FS_IOC_REMOVE_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS,
		FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, 0x40305828, 0x4030582a, 0x40305839,
		/* BTRFS_IOC_SUBVOL_SETFLAGS, OCFS2_IOC_REFLINK, BCH_IOCTL_SUBVOLUME_… */
		0x4008941a, 0x40186f04, 0x4020bc10, 0x4020bc11,
	};
	static const int prctls[] = { 31, 32, 35 }, attaches[] = { 26, 50, 51, 52 };
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);

	for (unsigned bit = 7; bit < 31; bit++) {
		uint64_t flag = 1ull << bit;

		if (opt->namespaces || !(flag & 0x7e020080))
			continue;
		ADD(o, DENIES, eperm, "unshare", HAS(0, flag));
		if (bit != 7)
			ADD(o, DENIES, eperm, "clone", HAS(0, flag));
	}
	if (!opt->ptrace && !opt->namespaces)
		ADD(o, DENIES, eperm, "clone", PART(0, CLONE_FILES | CLONE_THREAD, CLONE_FILES));
	if (!opt->namespaces)
		ADD(o, DENIES, eperm, "clone", PART(0, CLONE_VFORK | CLONE_VM, CLONE_VFORK));
	for (int cmd = 36; cmd <= 38; cmd++)	/* F_OFD_… */
		ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "fcntl", IS(1, cmd));
	ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "fcntl", IS(1, F_SETLEASE));
	ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "fcntl", IS(1, 1040));	/* F_SETDELEG */
	ADD(o, DENIES, SCMP_ACT_ERRNO(ENOTTY), "ioctl", PART(1, 0x3fffff00, 0x10009400));
	for (size_t i = 0; i < ARRAY_SIZE(of_files); i++)
		ADD(o, DENIES, SCMP_ACT_ERRNO(ENOTTY), "ioctl", IS(1, of_files[i]));
	for (size_t i = 0; i < ARRAY_SIZE(ioctls); i++)
		ADD(o, DENIES, eperm, "ioctl", IS(1, ioctls[i]));
	for (size_t i = 0; i < ARRAY_SIZE(prctls); i++)
		ADD(o, DENIES, eperm, "prctl", IS(0, prctls[i]));
	for (size_t i = 0; i < ARRAY_SIZE(attaches); i++)
		ADD(o, DENIES, eperm, "setsockopt", IS(1, SOL_SOCKET), IS(2, attaches[i]));
	ADD(o, DENIES, SCMP_ACT_ERRNO(EBUSY), "seccomp", HAS(1, 8));
	if (!opt->buffers) {
		ADD(o, DENIES, SCMP_ACT_ERRNO(0), "setsockopt", IS(1, SOL_SOCKET), IS(2, 7));
		ADD(o, DENIES, SCMP_ACT_ERRNO(0), "setsockopt", IS(1, SOL_SOCKET), IS(2, 8));
		ADD(o, DENIES, eperm, "setsockopt", IS(1, SOL_SOCKET), IS(2, SO_ZEROCOPY));
		ADD(o, DENIES, eperm, "fcntl", IS(1, F_SETPIPE_SZ), OVER(2, 65536));
	}
}

static void add_huge_pages(struct oracle *o, const struct seccomp_options *opt)
{
	const uint32_t none = SCMP_ACT_ERRNO(ENOMEM);

	ADD(o, HUGE, none, "mmap", HAS(3, MAP_HUGETLB));
	if (!opt->enters)
		ADD(o, HUGE, none, "shmget", HAS(2, SHM_HUGETLB));
	ADD(o, HUGE, none, "memfd_create", HAS(1, MFD_HUGETLB));
	/* Before the part of the huge ones, which they are as well. */
	for (int bit = 5; bit < 26; bit++)
		ADD(o, DENIES, SCMP_ACT_ERRNO(EINVAL), "memfd_create",
		    HAS(1, MFD_HUGETLB | 1u << bit));
}

static void add_modes(struct oracle *o, const struct seccomp_options *opt)
{
	static const struct {
		const char *name;
		unsigned mode, flags;	/* flags 0: none */
	} moded[] = {
		{ "chmod", 1, 0 }, { "fchmod", 1, 0 }, { "creat", 1, 0 }, { "fchmodat", 2, 0 },
		{ "fchmodat2", 2, 0 }, { "mknod", 1, 0 }, { "mknodat", 2, 0 }, { "open", 2, 1 },
		{ "openat", 3, 2 },
	};
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);

	for (unsigned bit = S_ISGID; bit <= S_ISUID && !opt->setid; bit *= 2)
		for (size_t i = 0; i < ARRAY_SIZE(moded); i++) {
			unsigned flags = moded[i].flags, mode = moded[i].mode;

			if (!flags) {
				ADD(o, DENIES, eperm, moded[i].name, HAS(mode, bit));
				continue;
			}
			ADD(o, DENIES, eperm, moded[i].name, HAS(flags, O_CREAT), HAS(mode, bit));
			ADD(o, DENIES, eperm, moded[i].name, HAS(flags, 020000000),
			     HAS(mode, bit));
		}
	for (unsigned type = S_IFCHR; type <= S_IFBLK; type += S_IFBLK - S_IFCHR) {
		ADD(o, DENIES, eperm, "mknod", PART(1, S_IFMT, type));
		ADD(o, DENIES, eperm, "mknodat", PART(2, S_IFMT, type));
	}
}

static void add_guard(struct oracle *o)
{
	static const char *const makes[] = {
		"mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "rename", "renameat",
		"renameat2", "bind", "creat", "mknod", "mknodat", "truncate",
	};
	static const unsigned bits[] = { O_WRONLY, O_RDWR, O_TRUNC };
	const unsigned tmp = 020000000;

	for (size_t i = 0; i < ARRAY_SIZE(makes); i++)
		ADD_ALL(o, GUARD, SCMP_ACT_NOTIFY, makes[i]);
	ADD(o, GUARD, SCMP_ACT_NOTIFY, "open", HAS(1, O_CREAT));
	ADD(o, GUARD, SCMP_ACT_NOTIFY, "openat", HAS(2, O_CREAT));
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		ADD(o, GUARD, SCMP_ACT_NOTIFY, "open", PART(1, bits[i] | O_PATH | tmp, bits[i]));
		ADD(o, GUARD, SCMP_ACT_NOTIFY, "openat", PART(2, bits[i] | O_PATH | tmp, bits[i]));
	}
}

static scmp_filter_ctx new_part(const struct oracle *o, uint32_t otherwise)
{
	scmp_filter_ctx ctx = seccomp_init(otherwise);

	seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (o->arch != seccomp_arch_native()) {
		seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
		seccomp_arch_add(ctx, o->arch);
	}
	return ctx;
}

static void export_part(struct oracle *o, int part)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st = { 0 };

	ok(seccomp_export_bpf(o->ctx[part], fd) == 0 && fstat(fd, &st) == 0, "exports");
	o->n[part] = (size_t)st.st_size / sizeof(struct sock_filter);
	o->code[part] = malloc((size_t)st.st_size + 1);
	is_int(pread(fd, o->code[part], (size_t)st.st_size, 0), st.st_size, "is read");
	close(fd);
	seccomp_release(o->ctx[part]);
}

static void build_oracle(struct oracle *o, const struct seccomp_options *opt)
{
	o->arch = opt->arch == AUDIT_ARCH_AARCH64 ? SCMP_ARCH_AARCH64 : SCMP_ARCH_X86_64;
	o->ctx[NAMES] = new_part(o, NOSYS);
	o->ctx[DENIES] = new_part(o, SCMP_ACT_ALLOW);
	o->ctx[HUGE] = new_part(o, SCMP_ACT_ALLOW);
	o->ctx[GUARD] = new_part(o, SCMP_ACT_ALLOW);
	add_names(o, opt);
	add_sockets(o, opt);
	add_values(o, opt);
	add_bounds(o, opt);
	add_huge_pages(o, opt);
	add_modes(o, opt);
	if (opt->guard)
		add_guard(o);
	if (opt->execs) {
		ADD_ALL(o, GUARD, SCMP_ACT_NOTIFY, "execve");
		ADD_ALL(o, GUARD, SCMP_ACT_NOTIFY, "execveat");
	}
	for (int part = 0; part < N_PARTS; part++)
		export_part(o, part);
}

/* As the kernel takes several filters together: the lowest action wins. */
static uint32_t ask_oracle(const struct oracle *o, const struct seccomp_data *data)
{
	uint32_t strictest = SECCOMP_RET_ALLOW;

	for (int part = 0; part < N_PARTS; part++) {
		uint32_t v = seccomp_simulate(o->code[part], o->n[part], data);

		if ((int32_t)(v & SECCOMP_RET_ACTION_FULL) <
		    (int32_t)(strictest & SECCOMP_RET_ACTION_FULL))
			strictest = v;
	}
	return strictest;
}

/* Refusals that are not ENOSYS there: the names part has no rule for them. */
static bool is_same(uint32_t ours, uint32_t theirs, const char *name)
{
	static const char *const open_ended[] = { "socket", "socketpair", "personality" };

	if (ours == theirs)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(open_ended); i++)
		if (name && strcmp(name, open_ended[i]) == 0)
			return theirs == (SECCOMP_RET_ERRNO | ENOSYS) &&
			       (ours & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
	return false;
}

/* A value near something that is tested, from a generator that starts the same
 * each time; `upper` may fill the upper half. */
static uint64_t pick(uint64_t *state, bool upper)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 5, 6, 7, 8, 10, 15, 16, 17, 26, 31, 32, 33, 35, 40, 41, 50, 51, 52, 58,
		64, 128, 262, 0x100, 04000, 0x20000, 0x40000, 0x80001, 0x800, 0xfff, 4096, 4097,
		65535, 65536, 65537, 0100, 0101, 02755, 04755, 0644, 01777, 020644, 060644, 0100644,
		020000000, 020200000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000,
		0x40000000, 0x80000000, 0xffffffff, TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, 38, 39,
		41, 43, 46, 48, 78, 512, 513, 1024, 1039, 1040,
		0x50009417, 0x5000940d, 0x4020bc10, 0xd000943e,
		1031, 1032, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ADD_ENCRYPTION_KEY,
		0x40305828, 0x40305829, 0x4030582a, 0x40305839,
	};
	uint64_t v;

	*state = *state * 6364136223846793005u + 1442695040888963407u;
	v = values[(*state >> 33) % ARRAY_SIZE(values)];
	if (upper && *state >> 62 == 0)
		v |= (*state << 7) & 0xffffffff00000000;
	return v;
}

/* How many calls to ask about: one that has no arguments tested needs few.
 * None if the table has a number that this libseccomp is too old for. */
static int count_asked(const struct oracle *o, int nr, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call *c = &calls[i];

		if (nr != (o->arch == SCMP_ARCH_X86_64 ? c->x86_64 : c->aarch64))
			continue;
		if (!name)
			return 0;
		is_text(c->name, name, "number %d", nr);
		return strcmp(c->verdict, "ALLOW") && strcmp(c->verdict, "EPERM") ? 1500 : 10;
	}
	return 10;
}

static void print_difference(const struct seccomp_data *d, uint32_t ours, uint32_t theirs)
{
	printf("# %d(%llx, %llx, %llx, %llx): %x, libseccomp %x\n", d->nr, d->args[0], d->args[1],
	       d->args[2], d->args[3], ours, theirs);
}

static void compare(const struct seccomp_options *opt, const struct oracle *o)
{
	struct arena a = ARENA(1u << 20);
	struct sock_filter *code;
	struct cordon_err err;
	uint64_t state = 1;
	size_t n;

	ok(seccomp_compile(opt, &a, &code, &n, &err) == 0, "compiles");
	for (int nr = 0; nr <= 600; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(o->arch, nr);
		bool is_plain = name && strcmp(name, "semget") == 0;	/* OVER reads 64 bits */
		int n_asked = count_asked(o, nr, name), n_differ = 0;

		for (int i = 0; i < n_asked; i++) {
			struct seccomp_data data = { .nr = nr, .arch = opt->arch };
			uint32_t ours, theirs;

			for (size_t k = 0; i && k < 4; k++)
				data.args[k] = pick(&state, !is_plain);
			ours = seccomp_simulate(code, n, &data);
			theirs = ask_oracle(o, &data);
			if (!is_same(ours, theirs, name) && n_differ++ == 0)
				print_difference(&data, ours, theirs);
		}
		is_int(n_differ, 0, "number %d (%s), of %d", nr, name ? name : "unknown", n_asked);
		free(name);
	}
	arena_release(&a);
}

static void test_filters_agree_with_libseccomp(void)
{
	static const struct seccomp_options sets[] = {
		{ .inet = true }, { .inet = false },
		{ .inet = true, .memfd = true, .buffers = true },
		{ .inet = true, .guard = true }, { .inet = true, .guard = true, .setid = true },
		{ .inet = true, .ptrace = true, .namespaces = true, .setid = true },
		{ .inet = true, .execs = true, .few_cpus = true },
		{ .inet = true, .guard = true, .execs = true },
		{ .inet = true, .guard = true, .enters = true },
	};

	seccomp_api_set(5);	/* building a filter asks nothing of this kernel */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sets); i++) {
		struct seccomp_options opt = sets[i / 2];
		struct oracle o = { 0 };

		opt.arch = i % 2 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64;
		build_oracle(&o, &opt);
		compare(&opt, &o);
		for (int part = 0; part < N_PARTS; part++)
			free(o.code[part]);
	}
}
#endif

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_filters_agree_with_libseccomp), TAP_END });
}

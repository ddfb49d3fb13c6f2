/* A plan for people: one line a step, with the kernel feature behind it. */
#include <inttypes.h>
#include <sched.h>

#include "plan/plan.h"

static const struct {
	unsigned long flag;
	const char *name, *effect;
} namespaces[] = {
	{ CLONE_NEWUSER, "user", "no privilege outside" },
	{ CLONE_NEWNS, "mount", "a file system of its own" },
	{ CLONE_NEWPID, "pid", "sees and signals only its own processes; nothing survives" },
	{ CLONE_NEWIPC, "ipc", "shared memory of its own" },
	{ CLONE_NEWUTS, "uts", "a host name of its own" },
	{ CLONE_NEWCGROUP, "cgroup", "does not see the host's groups" },
	{ CLONE_NEWNET, "net", "no network but its own loopback" },
};

static const char *const mount_words[] = {
	[MOUNT_RO] = "read-only",	 [MOUNT_SYSTEM] = "read-only", [MOUNT_RW] = "writable",
	[MOUNT_DEV] = "device",		 [MOUNT_MASK] = "masked",      [MOUNT_TMPFS] = "private",
	[MOUNT_PROC] = "own processes",	 [MOUNT_DEVPTS] = "terminals", [MOUNT_LINK] = "link",
	[MOUNT_DIR] = "directory",
};
static_assert(ARRAY_SIZE(mount_words) == N_PLAN_MOUNT_KINDS, "a mount without words");

static void print_limit(const char *name, int64_t value, const char *unit, const char *by,
			struct buf *out)
{
	if (value != INT64_MAX)
		buf_printf(out, "limit      %-12s %" PRId64 " %-10s %s\n", name, value, unit, by);
}

static void print_limits(const struct plan_limits *l, struct buf *out)
{
	print_limit("memory", l->memory, "bytes", "cgroup, or accounting of the tree", out);
	print_limit("cpu", l->cpu_ms, "ms", "cgroup, or accounting of the tree", out);
	print_limit("cpus", l->cpus, "", "sched_setaffinity", out);
	print_limit("processes", l->processes, "", "cgroup, or RLIMIT_NPROC in a user namespace",
		    out);
	print_limit("file size", l->file_size, "bytes", "RLIMIT_FSIZE", out);
	print_limit("wall", l->wall_ms, "ms", "timer, SIGTERM, SIGKILL to pid 1", out);
	print_limit("output", l->output, "bytes", "counted where it is captured", out);
	print_limit("disk", l->disk, "bytes", "size of each private tmpfs", out);
	print_limit("open files", l->open_files, "", "RLIMIT_NOFILE", out);
}

void plan_print(const struct plan *p, struct buf *out)
{
	buf_printf(out, "backend    %s\nprofile    %s\n", p->backend, p->profile);
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (p->clone_flags & namespaces[i].flag)
			buf_printf(out, "namespace  %-12s %s\n", namespaces[i].name,
				   namespaces[i].effect);
	for (size_t i = 0; i < p->n_mounts; i++)
		buf_printf(out, "mount      %-12s %s%s\n", mount_words[p->mounts[i].kind],
			   p->mounts[i].target, p->mounts[i].optional ? " (if it is there)" : "");
	for (size_t i = 0; i < p->n_guarded; i++)
		buf_printf(out, "guard      %-12s %s\n", "no creation", p->guarded[i]);
	if (p->landlock)
		buf_printf(out, "landlock   ABI %-8d %zu places\n", p->landlock, p->n_accesses);
	if (p->filter)
		buf_printf(out, "seccomp    %-12s %zu instructions\n", "filter", p->n_filter);
	print_limits(&p->limits, out);
	buf_puts(out, "environ   ");
	for (size_t i = 0; p->envp && p->envp[i]; i++) {
		struct str entry = str_from(p->envp[i]);

		/* Names only: a plan is pasted into reports. */
		buf_printf(out, " %.*s", (int)str_find(entry, '='), entry.s);
	}
	buf_printf(out, "\ncwd        %s\ncommand   ", p->cwd);
	for (size_t i = 0; p->argv[i]; i++)
		buf_printf(out, " %s", p->argv[i]);
	buf_putc(out, '\n');
}

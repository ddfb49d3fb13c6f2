/* A plan for people: one line a step, with the kernel feature behind it. */
#include <inttypes.h>
#include <sched.h>

#include "plan/landlock.h"
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
	[MOUNT_DEV] = "device",		 [MOUNT_MASK] = "masked",      [MOUNT_PRIVATE] = "private",
	[MOUNT_PROC] = "own processes",	 [MOUNT_DEVPTS] = "terminals", [MOUNT_LINK] = "link",
	[MOUNT_DIR] = "directory",	 [MOUNT_TEXT] = "replaced",
};
static_assert(ARRAY_SIZE(mount_words) == N_PLAN_MOUNT_KINDS, "a mount without words");

static const char *const mount_features[] = {
	[MOUNT_RO] = "bind, MOUNT_ATTR_RDONLY",
	[MOUNT_SYSTEM] = "bind, MOUNT_ATTR_RDONLY",
	[MOUNT_RW] = "bind",
	[MOUNT_DEV] = "bind",
	[MOUNT_MASK] = "bind of something unreadable",
	[MOUNT_PRIVATE] = "tmpfs",
	[MOUNT_PROC] = "proc",
	[MOUNT_DEVPTS] = "devpts",
	[MOUNT_LINK] = "symlink",
	[MOUNT_DIR] = "mkdir",
	[MOUNT_TEXT] = "bind of a file of its own",
};
static_assert(ARRAY_SIZE(mount_features) == N_PLAN_MOUNT_KINDS, "a mount without a feature");

/* Rights in words: the most that each of the lists of files.c gives. */
static const struct {
	uint64_t rights;
	const char *word;
} rights_of[] = {
	{ LL_WRITE, "write" },	 { LL_READ, "read" },	      { LL_TERMINAL, "terminal" },
	{ LL_DEVICE, "device" }, { LL_READ_DIR, "list" },
};

static const char *rights_word(uint64_t rights)
{
	for (size_t i = 0; i < ARRAY_SIZE(rights_of); i++)
		if (rights == rights_of[i].rights)
			return rights_of[i].word;
	return "other";
}

static void print_limits(const struct plan *p, struct buf *out)
{
	const struct plan_limits *l = &p->limits;
	const struct {
		const char *name, *unit;
		int64_t value;
	} rows[] = {
		[PLAN_MEMORY] = { "memory", "bytes", l->memory },
		[PLAN_CPU] = { "cpu", "ms", l->cpu_ms },
		[PLAN_CPUS] = { "cpus", "", l->cpus },
		[PLAN_PROCESSES] = { "processes", "", l->processes },
		[PLAN_FILE_SIZE] = { "file size", "bytes", l->file_size },
		[PLAN_WALL] = { "wall", "ms", l->wall_ms },
		[PLAN_OUTPUT] = { "output", "bytes", l->output },
		[PLAN_DISK] = { "disk", "bytes", l->disk },
		[PLAN_ROOTS] = { "roots' disk", "bytes", l->roots },
		[PLAN_OPEN_FILES] = { "open files", "", l->open_files },
	};
	static_assert(ARRAY_SIZE(rows) == N_PLAN_LIMITS, "a limit without words");

	for (int i = 0; i < N_PLAN_LIMITS; i++)
		if (rows[i].value != INT64_MAX)
			buf_printf(out, "limit      %-12s %" PRId64 "%s%s: %s\n", rows[i].name,
				   rows[i].value, rows[i].unit[0] ? " " : "", rows[i].unit,
				   p->limited_by[i]);
}

static void print_protections(const struct plan *p, struct buf *out)
{
	static const char *const levels[] = { "full", "landlock", "none" };

	static_assert(ARRAY_SIZE(levels) == N_PLAN_LEVELS, "a level without a name");
	buf_printf(out, "level      %s\n", levels[p->level]);
	if (p->enforced)
		buf_puts(out, "enforced  ");
	for (int i = 0; i < N_PARTS; i++)
		if (p->enforced & 1u << i)
			buf_printf(out, " %s", plan_part_name((enum plan_part)i));
	buf_puts(out, p->enforced && p->lacking ? "\n" : "");
	if (p->lacking)
		buf_puts(out, "missing   ");
	for (int i = 0; i < N_PROTECTIONS; i++)
		if (p->lacking & 1u << i)
			buf_printf(out, " %s", protection_name((enum protection)i));
	buf_putc(out, '\n');
}

/* Names are other people's: they end no line, and the terminal obeys none of them. */
static void put_name(struct buf *out, const char *name)
{
	buf_put_plain(out, str_from(name));
}

/* What a line is about; the rest of it is the caller's. */
static void start_line(struct buf *out, const char *what, const char *kind, const char *name)
{
	buf_printf(out, "%-10s %-12s ", what, kind);
	put_name(out, name);
}

static void print_mount(const struct plan *p, const struct plan_mount *m, struct buf *out)
{
	int64_t most = p->limits.disk;
	const char *condition = m->kind == MOUNT_LINK ? ", if nothing else is there"
						      : ", if it is there";

	start_line(out, "mount", mount_words[m->kind], m->target);
	if (m->kind == MOUNT_LINK) {
		buf_puts(out, " to ");
		put_name(out, m->source);
	}
	if (m->kind == MOUNT_PRIVATE && most != INT64_MAX)
		buf_printf(out, " of at most %" PRId64 " bytes", most);
	buf_printf(out, ": %s%s\n", mount_features[m->kind],
		   m->optional ? condition : "");
}

/* The ABI, and what later ones hold and this one does not. */
static void print_landlock(int abi, struct buf *out)
{
	static const struct {
		int since;
		const char *what;
	} held[] = {
		{ 3, "truncation" },
		{ 5, "ioctls of devices" },
		{ 6, "signals and abstract sockets" },
	};
	const char *before = "; does not hold ";

	if (!abi)
		return;
	buf_printf(out, "landlock   ABI %d", abi);
	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		if (abi < held[i].since) {
			buf_printf(out, "%s%s", before, held[i].what);
			before = ", ";
		}
	buf_putc(out, '\n');
}

static void print_files(const struct plan *p, struct buf *out)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		print_mount(p, &p->mounts[i], out);
	for (size_t i = 0; i < p->n_aliases; i++) {
		start_line(out, "mount", "alias", p->aliases[i].path);
		buf_puts(out, " is ");
		put_name(out, p->aliases[i].target);
		buf_puts(out, ": mount\n");
	}
	for (size_t i = 0; i < p->n_blocked; i++) {
		start_line(out, "blocked", "program", p->blocked[i]);
		buf_puts(out, ": mount (mask of each file of that name)\n");
	}
	for (size_t i = 0; i < p->n_rules; i++) {
		start_line(out, "blocked", "command", p->rules[i].text);
		buf_puts(out, ": seccomp notification (execve, execveat)\n");
	}
	for (size_t i = 0; i < p->n_guarded; i++) {
		start_line(out, "guard", "no creation", p->guarded[i].name);
		buf_puts(out, ": seccomp notification\n");
	}
	print_landlock(p->landlock, out);
	for (size_t i = 0; i < p->n_accesses; i++) {
		start_line(out, "landlock", rights_word(p->accesses[i].rights),
			   p->accesses[i].path);
		buf_puts(out, p->accesses[i].optional ? ", if it is there\n" : "\n");
	}
	for (size_t i = 0; i < p->n_left_out; i++) {
		start_line(out, "landlock", "left out", p->left_out[i]);
		buf_puts(out, ": credentials inside\n");
	}
}

static void print_cage(const struct plan *p, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (p->clone_flags & namespaces[i].flag)
			buf_printf(out, "namespace  %-12s %s\n", namespaces[i].name,
				   namespaces[i].effect);
	print_files(p, out);
	buf_puts(out, "rights     none         no capability, PR_SET_NO_NEW_PRIVS\n");
	net_print(&p->net, out);
	if (p->filter)
		buf_printf(out, "seccomp    %-12s %zu instructions\n", "filter", p->n_filter);
	if (p->no_inet)
		buf_puts(out, "seccomp    network      no inet socket can be made\n");
	if (p->no_unix)
		buf_puts(out, "seccomp    network      no unix socket can be made but pairs\n");
	print_limits(p, out);
}

void plan_print(const struct plan *p, struct buf *out)
{
	buf_printf(out, "backend    %s\nprofile    %s\n", p->backend, p->profile);
	print_protections(p, out);
	if (p->level != LEVEL_NONE)
		print_cage(p, out);
	buf_puts(out, "environ   ");
	for (size_t i = 0; p->envp && p->envp[i]; i++) {
		struct str entry = str_from(p->envp[i]);

		/* Names only: a plan is pasted into reports. */
		buf_putc(out, ' ');
		buf_put_plain(out, str_first(entry, str_find(entry, '=')));
	}
	buf_puts(out, "\ncwd        ");
	put_name(out, p->cwd);
	buf_puts(out, "\ncommand   ");
	for (size_t i = 0; p->argv[i]; i++) {
		buf_putc(out, ' ');
		put_name(out, p->argv[i]);
	}
	buf_putc(out, '\n');
}

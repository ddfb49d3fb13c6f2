/* From a field to the kernel feature behind it; see enforce.h. */
#include "plan/enforce.h"

#define LL_WRITES	"Landlock WRITE_FILE, MAKE_*, REMOVE_*, REFER, TRUNCATE"
#define LL_READS	"Landlock READ_FILE, READ_DIR, EXECUTE"
#define LATER		"seccomp notification (names made later)"
#define NO_INET		"seccomp (socket of AF_INET, AF_INET6)"

/* Level full, level full on a kernel with Landlock, level landlock. */
#define EACH(by)			by, by, by
#define FULL(by)			by, by, "nothing"
#define LEVELS(full, landlock)		full, full, landlock
#define FILES(full, landlock)		full, full " + " landlock, landlock

static const struct {
	enum field_id id;
	const char *full, *with_landlock, *landlock;
} rows[] = {
	{ F_PROFILE, EACH("checked before the run") },
	{ F_BACKEND, EACH("checked before the run") },
	{ F_REQUIRE, EACH("checked before the run") },
	{ F_MAY_LACK, EACH("checked before the run") },
	{ F_FILES_WRITE, FILES("mount namespace (bind)", LL_WRITES) },
	{ F_FILES_READ, FILES("mount namespace (bind, read-only)", LL_READS) },
	{ F_FILES_DENY, LEVELS("mount namespace (mask) + " LATER, "Landlock (no right is given)") },
	{ F_FILES_PROTECT, FULL("mount namespace (bind, read-only) + " LATER) },
	{ F_FILES_SOCKETS, LEVELS("mount namespace (the others are masked)",
				  "seccomp (no unix socket but pairs)") },
	{ F_FILES_PRESETS, FILES("mount namespace (bind, read-only; tmpfs)", LL_READS) },
	{ F_NETWORK_MODE, LEVELS("network namespace", NO_INET) },
	{ F_NETWORK_TLS, EACH("nothing leads out") },
	{ F_NETWORK_PROTOCOLS, EACH("nothing leads out") },
	{ F_NETWORK_UPSTREAM_PROXY, EACH("nothing leads out") },
	{ F_NETWORK_CONNECTIONS, EACH("nothing leads out") },
	{ F_LIMITS_MEMORY, FULL("accounting of the tree (/proc), SIGKILL") },
	{ F_LIMITS_CPU_SECONDS, FULL("accounting of the tree (task clock, /proc), SIGXCPU") },
	{ F_LIMITS_CPUS, EACH("sched_setaffinity, seccomp") },
	{ F_LIMITS_PROCESSES, FULL("RLIMIT_NPROC in a user namespace") },
	{ F_LIMITS_FILE_SIZE, EACH("RLIMIT_FSIZE") },
	{ F_LIMITS_TIMEOUT, LEVELS("timer, SIGTERM, then SIGKILL to pid 1 of the pid namespace",
				   "timer, SIGTERM, then SIGKILL to what init adopted") },
	{ F_LIMITS_OUTPUT, EACH("counted where it is captured") },
	{ F_LIMITS_DISK, FULL("size of the private tmpfs") },
	{ F_LIMITS_OPEN_FILES, EACH("RLIMIT_NOFILE") },
	{ F_ENV_PASS, EACH("a new environment at execve") },
	{ F_ENV_SET, EACH("a new environment at execve") },
	{ F_ENV_STRIP, EACH("a new environment at execve") },
	{ F_PROCESSES_DEBUG, EACH("seccomp (ptrace)") },
	{ F_COMMANDS_BLOCK, FULL("mount namespace (mask of the program); with arguments: "
				 "seccomp notification (execve)") },
};

/* Limits that the kernel keeps itself where there is a cgroup. */
static const struct {
	enum field_id id;
	const char *by;
} cgroup_rows[] = {
	{ F_LIMITS_MEMORY, "cgroup v2 memory.max" },
	{ F_LIMITS_CPU_SECONDS, "cgroup v2 cpu.stat, SIGXCPU" },
	{ F_LIMITS_CPUS, "cgroup v2 cpu.max, or sched_setaffinity; seccomp" },
	{ F_LIMITS_PROCESSES, "cgroup v2 pids.max" },
};

/* Fields that the gate enforces, where there is one. */
static const struct {
	enum field_id id;
	const char *by;
} gate_rows[] = {
	{ F_NETWORK_ALLOW, "the gate: judged by name, resolved and dialled outside" },
	{ F_NETWORK_DENY, "the gate: judged by name and by what it resolves to" },
	{ F_NETWORK_EXPOSE, "the gate: a listener on the caller's loopback" },
	{ F_NETWORK_HOST_PORTS, "the gate: dialled outside" },
	{ F_NETWORK_UDP_ALLOW, "the gate: datagrams of one socket a port" },
	{ F_NETWORK_TLS, "the gate: ClientHello and HTTP requests are read" },
	{ F_NETWORK_PROTOCOLS, "the gate: the client's first bytes are read" },
	{ F_NETWORK_UPSTREAM_PROXY, "the gate: HTTP CONNECT" },
	{ F_NETWORK_CONNECTIONS, "the gate: counted where they are accepted" },
};

/* Fields that the supervisor enforces by itself, whatever the level. */
static const struct {
	enum field_id id;
	const char *by;
} bare_rows[] = {
	{ F_LIMITS_FILE_SIZE, "RLIMIT_FSIZE" },
	{ F_LIMITS_TIMEOUT, "timer, SIGTERM, then SIGKILL to the command's process group" },
	{ F_LIMITS_OUTPUT, "counted where it is captured" },
	{ F_LIMITS_OPEN_FILES, "RLIMIT_NOFILE" },
	{ F_ENV_PASS, "a new environment at execve" },
	{ F_ENV_SET, "a new environment at execve" },
	{ F_ENV_STRIP, "a new environment at execve" },
	{ F_COMMANDS_BLOCK, "the words of the command, before it starts" },
};

const char *enforcer_find_bare(enum field_id id, const struct policy *p)
{
	/* Without a sandbox, a default does not lower a limit of the caller's own. */
	if ((id == F_LIMITS_FILE_SIZE || id == F_LIMITS_OPEN_FILES) && !policy_is_written(p, id))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bare_rows); i++)
		if (bare_rows[i].id == id)
			return bare_rows[i].by;
	return NULL;
}

static const char *find_of_network(enum field_id id, const struct section *s,
				   const struct enforcement *e)
{
	enum net_kind kind = net_find_kind(s);

	if (kind == NET_OPEN)
		return net_kind_about(NET_OPEN);
	if (kind == NET_CLOSED)
		return NULL;
	if (e->level != LEVEL_FULL)
		return "nothing: refused";
	if (id == F_NETWORK_MODE)
		return net_kind_about(kind);
	for (size_t i = 0; i < ARRAY_SIZE(gate_rows); i++)
		if (gate_rows[i].id == id)
			return gate_rows[i].by;
	return NULL;
}

static const char *find_of_limit(enum field_id id, const struct policy *p,
				 const struct enforcement *e)
{
	for (size_t i = 0; e->cgroup != HOST_CGROUP_NONE && i < ARRAY_SIZE(cgroup_rows); i++)
		if (cgroup_rows[i].id == id)
			return cgroup_rows[i].by;
	if (id == F_LIMITS_DISK && policy_is_written(p, id) && p->base.f[F_FILES_WRITE].n)
		return "size of the private tmpfs; accounting of writable roots, SIGKILL";
	if (id == F_LIMITS_PROCESSES && e->is_root && e->level == LEVEL_FULL)
		return "accounting of the tree (/proc), SIGKILL";
	return NULL;
}

const char *enforcer_find(enum field_id id, const struct policy *p, const struct section *s,
			  const struct enforcement *e)
{
	const char *by = NULL;

	if (e->level == LEVEL_NONE && id > F_MAY_LACK) {
		by = enforcer_find_bare(id, p);
		return by ? by : "nothing: no sandbox";
	}
	if (str_is(field_table(id), "network"))
		by = find_of_network(id, s, e);
	else if (str_is(field_table(id), "limits"))
		by = find_of_limit(id, p, e);
	for (size_t i = 0; !by && i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id)
			by = e->level != LEVEL_FULL ? rows[i].landlock
			     : e->landlock	    ? rows[i].with_landlock
						    : rows[i].full;
	return by ? by : "nothing";
}

/* From a field to the kernel feature behind it; see enforce.h.
 *
 * One table, best first: the first row of a field whose protections are all
 * there is the one that holds.  A field without such a row is enforced by
 * nothing, which the last row of each says where it can happen.
 */
#include "plan/enforce.h"

#define BIT(name)	(1u << PROTECTION_##name)
#define ANY_CGROUP	N_HOST_CGROUPS

#define LL_WRITES	"Landlock WRITE_FILE, MAKE_*, REMOVE_*, REFER, TRUNCATE"
#define LL_READS	"Landlock READ_FILE, READ_DIR, EXECUTE"
#define LATER		"seccomp notification (names made later)"

static const struct {
	enum field_id id;
	unsigned needs;			/* protections */
	enum host_cgroup cgroup;	/* or ANY_CGROUP */
	const char *by;
} rows[] = {
	{ F_PROFILE, 0, ANY_CGROUP, "checked before the run" },
	{ F_BACKEND, 0, ANY_CGROUP, "checked before the run" },
	{ F_REQUIRE, 0, ANY_CGROUP, "checked before the run" },
	{ F_MAY_LACK, 0, ANY_CGROUP, "checked before the run" },
	{ F_FILES_WRITE, BIT(MOUNT) | BIT(LANDLOCK), ANY_CGROUP,
	  "mount namespace (bind) + " LL_WRITES },
	{ F_FILES_WRITE, BIT(MOUNT), ANY_CGROUP, "mount namespace (bind)" },
	{ F_FILES_WRITE, BIT(LANDLOCK), ANY_CGROUP, LL_WRITES },
	{ F_FILES_READ, BIT(MOUNT) | BIT(LANDLOCK), ANY_CGROUP,
	  "mount namespace (bind, read-only) + " LL_READS },
	{ F_FILES_READ, BIT(MOUNT), ANY_CGROUP, "mount namespace (bind, read-only)" },
	{ F_FILES_READ, BIT(LANDLOCK), ANY_CGROUP, LL_READS },
	{ F_FILES_DENY, BIT(MOUNT) | BIT(SECCOMP), ANY_CGROUP, "mount namespace (mask) + " LATER },
	{ F_FILES_DENY, BIT(MOUNT), ANY_CGROUP, "mount namespace (mask)" },
	{ F_FILES_DENY, BIT(LANDLOCK), ANY_CGROUP, "Landlock (no right is given)" },
	{ F_FILES_PROTECT, BIT(MOUNT) | BIT(SECCOMP), ANY_CGROUP,
	  "mount namespace (bind, read-only) + " LATER },
	{ F_FILES_PROTECT, BIT(MOUNT), ANY_CGROUP, "mount namespace (bind, read-only)" },
	{ F_FILES_SOCKETS, BIT(MOUNT), ANY_CGROUP, "mount namespace (the others are masked)" },
	{ F_FILES_SOCKETS, BIT(SECCOMP), ANY_CGROUP, "seccomp (no unix socket but pairs)" },
	{ F_FILES_PRESETS, BIT(MOUNT) | BIT(LANDLOCK), ANY_CGROUP,
	  "mount namespace (bind, read-only; tmpfs) + " LL_READS },
	{ F_FILES_PRESETS, BIT(MOUNT), ANY_CGROUP, "mount namespace (bind, read-only; tmpfs)" },
	{ F_FILES_PRESETS, BIT(LANDLOCK), ANY_CGROUP, LL_READS },
	{ F_NETWORK_MODE, BIT(NET), ANY_CGROUP, "network namespace" },
	{ F_NETWORK_MODE, BIT(SECCOMP), ANY_CGROUP, "seccomp (socket of AF_INET, AF_INET6)" },
	{ F_NETWORK_LISTEN, BIT(NET), ANY_CGROUP, "network namespace" },
	{ F_NETWORK_LISTEN, BIT(SECCOMP), ANY_CGROUP, "seccomp (socket of AF_INET, AF_INET6)" },
	{ F_NETWORK_TLS, 0, ANY_CGROUP, "nothing leads out" },
	{ F_NETWORK_PROTOCOLS, 0, ANY_CGROUP, "nothing leads out" },
	{ F_NETWORK_UPSTREAM_PROXY, 0, ANY_CGROUP, "nothing leads out" },
	{ F_NETWORK_CONNECTIONS, 0, ANY_CGROUP, "nothing leads out" },
	{ F_LIMITS_MEMORY, 0, HOST_CGROUP_V2, "cgroup v2 memory.max" },
	{ F_LIMITS_MEMORY, 0, HOST_CGROUP_V1, "cgroup v1 memory.limit_in_bytes" },
	{ F_LIMITS_MEMORY, BIT(PID), ANY_CGROUP, "accounting of the tree (/proc), SIGKILL" },
	{ F_LIMITS_CPU_SECONDS, 0, HOST_CGROUP_V2, "cgroup v2 cpu.stat, SIGXCPU" },
	{ F_LIMITS_CPU_SECONDS, 0, HOST_CGROUP_V1, "cgroup v1 cpuacct.usage, SIGXCPU" },
	{ F_LIMITS_CPU_SECONDS, BIT(PID), ANY_CGROUP,
	  "accounting of the tree (task clock, /proc), SIGXCPU" },
	{ F_LIMITS_CPUS, BIT(SECCOMP), HOST_CGROUP_V2,
	  "cgroup v2 cpu.max, or sched_setaffinity; seccomp" },
	{ F_LIMITS_CPUS, BIT(SECCOMP), ANY_CGROUP, "sched_setaffinity, seccomp" },
	{ F_LIMITS_PROCESSES, 0, HOST_CGROUP_V2, "cgroup v2 pids.max" },
	{ F_LIMITS_PROCESSES, 0, HOST_CGROUP_V1, "cgroup v1 pids.max" },
	{ F_LIMITS_PROCESSES, BIT(USERNS), ANY_CGROUP, "RLIMIT_NPROC in a user namespace" },
	{ F_LIMITS_PROCESSES, BIT(PID), ANY_CGROUP, "accounting of the tree (/proc), SIGKILL" },
	{ F_LIMITS_FILE_SIZE, 0, ANY_CGROUP, "RLIMIT_FSIZE" },
	{ F_LIMITS_TIMEOUT, BIT(PID), ANY_CGROUP,
	  "timer, SIGTERM, then SIGKILL to pid 1 of the pid namespace" },
	{ F_LIMITS_TIMEOUT, 0, ANY_CGROUP, "timer, SIGTERM, then SIGKILL to what init adopted" },
	{ F_LIMITS_OUTPUT, 0, ANY_CGROUP, "counted where it is captured" },
	{ F_LIMITS_DISK, BIT(MOUNT), ANY_CGROUP, "size of the private tmpfs" },
	{ F_LIMITS_OPEN_FILES, 0, ANY_CGROUP, "RLIMIT_NOFILE" },
	{ F_ENV_PASS, 0, ANY_CGROUP, "a new environment at execve" },
	{ F_ENV_SET, 0, ANY_CGROUP, "a new environment at execve" },
	{ F_ENV_STRIP, 0, ANY_CGROUP, "a new environment at execve" },
	{ F_PROCESSES_DEBUG, BIT(SECCOMP), ANY_CGROUP, "seccomp (ptrace)" },
	{ F_COMMANDS_BLOCK, BIT(MOUNT) | BIT(SECCOMP), ANY_CGROUP,
	  "mount namespace (mask of the program); with arguments: seccomp notification (execve)" },
	{ F_COMMANDS_BLOCK, BIT(MOUNT), ANY_CGROUP, "mount namespace (mask of the program)" },
};

/* What holds where the gate does; the rung itself says what is behind it. */
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

/* What the supervisor keeps by itself, whatever the backend. */
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
	/* What nobody asked for does not come between a command and its caller's own. */
	if ((id == F_LIMITS_FILE_SIZE || id == F_LIMITS_OPEN_FILES) && !policy_is_written(p, id))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bare_rows); i++)
		if (bare_rows[i].id == id)
			return bare_rows[i].by;
	return NULL;
}

static const char *find_of_network(enum field_id id, enum net_rung rung)
{
	if (rung == NET_OPEN)
		return net_rung_about(NET_OPEN);
	if (rung == NET_CLOSED)
		return NULL;
	if (rung == N_NET_RUNGS)
		return "nothing: refused";
	if (id == F_NETWORK_MODE)
		return net_rung_about(rung);
	for (size_t i = 0; i < ARRAY_SIZE(gate_rows); i++)
		if (gate_rows[i].id == id)
			return gate_rows[i].by;
	return NULL;
}

const char *enforcer_find(enum field_id id, const struct policy *p, unsigned enforced,
			  enum host_cgroup cgroup, enum net_rung rung)
{
	const char *by;

	if (p->base.f[F_BACKEND].number == BACKEND_NONE && id > F_MAY_LACK) {
		by = enforcer_find_bare(id, p);
		return by ? by : "nothing: backend none";
	}
	by = str_is(field_table(id), "network") ? find_of_network(id, rung) : NULL;
	if (by)
		return by;
	if (id == F_LIMITS_DISK && policy_is_written(p, id) && p->base.f[F_FILES_WRITE].n)
		return "size of the private tmpfs; accounting of writable roots, SIGKILL";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].id == id && (rows[i].needs & ~enforced) == 0 &&
		    (rows[i].cgroup == ANY_CGROUP || rows[i].cgroup == cgroup))
			return rows[i].by;
	return "nothing";
}

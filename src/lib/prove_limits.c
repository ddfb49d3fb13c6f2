/* Acts over the limits of a run, P4, and for secrets, P5.  Sizes are small, and
 * so are the limits that they go over. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "lib/prove.h"

#define MEMORY_BYTES	(96u << 20)
#define N_CHILDREN	24
#define N_OPEN		96
#define FILE_BYTES	(192u << 10)

/* Touched, and held long enough to be seen by who counts. */
static int use_memory(const struct prove_place *p, struct cordon_err *say)
{
	char *at = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	(void)p;
	if (at == MAP_FAILED)
		return err_sys(say, CORDON_E_NOMEM, "mmap");
	for (size_t i = 0; i < MEMORY_BYTES; i += 4096)
		((volatile char *)at)[i] = 1;
	usleep(300000);
	return 0;
}

static int fork_many(const struct prove_place *p, struct cordon_err *say)
{
	pid_t pids[N_CHILDREN];
	int n = 0, rc = 0;

	(void)p;
	while (n < N_CHILDREN && rc == 0) {
		pids[n] = fork();
		if (pids[n] == 0) {
			pause();
			_exit(0);
		}
		if (pids[n] < 0)
			rc = err_sys(say, CORDON_E_SETUP, "fork");
		else
			n++;
	}
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return rc;
}

static int fill_file(const char *path, struct cordon_err *say)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static const char block[4096];
	int rc = 0;

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "open");
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < FILE_BYTES && rc == 0; i += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			rc = err_sys(say, CORDON_E_SETUP, "write");
	unlink(path);
	return rc;
}

static int large_file(const struct prove_place *p, struct cordon_err *say)
{
	return fill_file(prove_path(p, "work/large"), say);
}

static int fill_temp(const struct prove_place *p, struct cordon_err *say)
{
	char path[96];

	snprintf(path, sizeof(path), "%s-disk", p->base);
	return fill_file(path, say);
}

static int open_many(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	for (int i = 0; i < N_OPEN; i++)
		if (fcntl(1, F_DUPFD_CLOEXEC, 0) < 0)
			return err_sys(say, CORDON_E_SETUP, "dup");
	return 0;
}

static int take_time(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	(void)say;
	usleep(900000);
	return 0;
}

const struct probe probes_limits[] = {
	{ "P4", PROBE_ENDS, "memory", "use more memory than the limit", use_memory,
	  { "--memory", "48M" } },
	{ "P4", PROBE_REFUSED, "processes", "make more processes than the limit", fork_many,
	  { "--processes", "12" } },
	{ "P4", PROBE_REFUSED, "file-size", "write a larger file than the limit", large_file,
	  { "--file-size", "64K" } },
	{ "P4", PROBE_REFUSED, "disk", "fill the private /tmp over the limit", fill_temp,
	  { "--disk", "64K" } },
	{ "P4", PROBE_REFUSED, "open-files", "open more files than the limit", open_many,
	  { "--open-files", "32" } },
	{ "P4", PROBE_ENDS, "wall-time", "run longer than the limit", take_time,
	  { "--timeout", "300ms" } },
	{ 0 },
};

/* ---- secrets ------------------------------------------------------------ */

static int find_variable(const char *name, struct cordon_err *say)
{
	const char *value = getenv(name);

	return value && strcmp(value, PROVE_CANARY) == 0
		       ? 0
		       : err_set(say, CORDON_E_SETUP, "not in the environment");
}

static int read_variable(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return find_variable("CORDON_PROVE_CANARY", say);
}

static int read_stripped(const struct prove_place *p, struct cordon_err *say)
{
	(void)p;
	return find_variable("CORDON_PROVE_API_KEY", say);
}

static int read_init_environment(const struct prove_place *p, struct cordon_err *say)
{
	cleanup_fd int fd = open("/proc/1/environ", O_RDONLY | O_CLOEXEC);
	char byte;

	(void)p;
	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "open");
	return read(fd, &byte, 1) == 1 && byte ? 0 : err_set(say, CORDON_E_SETUP, "it is empty");
}

static bool holds_canary(const char *pid)
{
	char path[300], text[32768];
	cleanup_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return n > 0 && memmem(text, (size_t)n, PROVE_CANARY, strlen(PROVE_CANARY));
}

static int read_other_environments(const struct prove_place *p, struct cordon_err *say)
{
	DIR *d = opendir("/proc");
	bool found = false;
	uint64_t pid;

	(void)p;
	for (struct dirent *e; d && (e = readdir(d));)
		found |= str_parse_u64(str_from(e->d_name), &pid) &&
			 pid != (uint64_t)getpid() && holds_canary(e->d_name);
	if (d)
		closedir(d);
	return found ? 0 : err_set(say, CORDON_E_SETUP, "in no environment");
}

static int read_descriptor(const struct prove_place *p, struct cordon_err *say)
{
	char text[64] = "";

	(void)p;
	if (pread(PROVE_FD, text, sizeof(text) - 1, 0) < 0)
		return err_sys(say, CORDON_E_SETUP, "read");
	return strstr(text, PROVE_CANARY) ? 0 : err_set(say, CORDON_E_SETUP, "another file");
}

const struct probe probes_secrets[] = {
	{ "P5", PROBE_REFUSED, "variable", "read a variable of the caller", read_variable, { 0 } },
	{ "P5", PROBE_REFUSED, "stripped", "read a key that was passed on by name", read_stripped,
	  { "--env", "CORDON_PROVE_API_KEY" } },
	{ "P5", PROBE_REFUSED, "init-environ", "read the environment of pid 1",
	  read_init_environment, { 0 } },
	{ "P5", PROBE_REFUSED, "other-environ", "find the variable in any process's /proc",
	  read_other_environments, { 0 } },
	{ "P5", PROBE_REFUSED, "descriptor", "read a descriptor that was left open",
	  read_descriptor, { 0 } },
	{ "P5", PROBE_ADMITTED, "named-variable", "read a variable that was named", read_variable,
	  { "--env", "CORDON_PROVE_CANARY" } },
	{ 0 },
};

/* The canaries and their acts; see prove.h. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "lib/prove.h"

#define MEMORY_BYTES	(96u << 20)	/* twice the limit */
#define N_CHILDREN	24		/* twice the limit */

const char *prove_path(const struct prove_place *p, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", p->base, name);
	return path;
}

/* ---- files -------------------------------------------------------------- */

static int read_secret(const char *path, struct cordon_err *say)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "open");
	if (read(fd, text, sizeof(text) - 1) < 0)
		return err_sys(say, CORDON_E_SETUP, "read");
	return strstr(text, PROVE_SECRET) ? 0 : err_set(say, CORDON_E_SETUP, "another file");
}

static int append(const char *path, int flags, struct cordon_err *say)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "open");
	return write(fd, "x", 1) == 1 ? 0 : err_sys(say, CORDON_E_SETUP, "write");
}

static int create(const char *path, struct cordon_err *say)
{
	if (append(path, O_CREAT | O_EXCL, say) < 0)
		return -1;
	return unlink(path) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "unlink");
}

static int read_outside(const struct prove_place *p, struct cordon_err *say)
{
	return read_secret(prove_path(p, "outside/secret"), say);
}

static int read_key(const struct prove_place *p, struct cordon_err *say)
{
	return read_secret(prove_path(p, "home/.ssh/id_canary"), say);
}

static int write_outside(const struct prove_place *p, struct cordon_err *say)
{
	return append(prove_path(p, "outside/target"), 0, say);
}

static int create_hook(const struct prove_place *p, struct cordon_err *say)
{
	return create(prove_path(p, "work/.git/hooks/post-checkout"), say);
}

static int write_workspace(const struct prove_place *p, struct cordon_err *say)
{
	return create(prove_path(p, "work/mine"), say);
}

/* ---- network ------------------------------------------------------------ */

static int connect_to(const struct sockaddr *to, socklen_t n, struct cordon_err *say)
{
	cleanup_fd int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "socket");
	return connect(fd, to, n) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "connect");
}

static int connect_loopback(const struct prove_place *p, struct cordon_err *say)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)p->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return connect_to((struct sockaddr *)&to, sizeof(to), say);
}

static int connect_abstract(const struct prove_place *p, struct cordon_err *say)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int n = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", p->base);

	return connect_to((struct sockaddr *)&to,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n), say);
}

/* ---- processes and the kernel ------------------------------------------- */

static bool is_witness(const char *pid)
{
	char path[300], name[32] = "";
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 &&
	       strcmp(name, PROVE_WITNESS "\n") == 0;
}

/* Found by its name, since its number may be that of another process inside. */
static int signal_process(const struct prove_place *p UNUSED, struct cordon_err *say)
{
	DIR *d = opendir("/proc");
	uint64_t pid = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		if (is_witness(e->d_name) && str_parse_u64(str_from(e->d_name), &pid))
			break;
		pid = 0;
	}
	if (d)
		closedir(d);
	if (!pid)
		return err_set(say, CORDON_E_SETUP, "not in /proc");
	return kill((pid_t)pid, 0) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "kill");
}

static int make_userns(const struct prove_place *p UNUSED, struct cordon_err *say)
{
	return unshare(CLONE_NEWUSER) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "unshare");
}

static int make_io_uring(const struct prove_place *p UNUSED, struct cordon_err *say)
{
	char params[256] = { 0 };
	cleanup_fd int fd = (int)syscall(SYS_io_uring_setup, 1, params);

	return fd < 0 ? err_sys(say, CORDON_E_SETUP, "io_uring_setup") : 0;
}

/* ---- limits and secrets ------------------------------------------------- */

/* Without a cgroup, the limit ends it when the pages are counted next. */
static int use_memory(const struct prove_place *p UNUSED, struct cordon_err *say)
{
	volatile char *at = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return err_sys(say, CORDON_E_NOMEM, "mmap");
	for (size_t i = 0; i < MEMORY_BYTES; i += 4096)
		at[i] = 1;
	usleep(300000);
	return 0;
}

#define COUNT_US	500000

static int make_processes(const struct prove_place *p UNUSED, struct cordon_err *say)
{
	pid_t pids[N_CHILDREN];
	int n = 0, rc = 0;

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
	/* To root no fork is refused without a cgroup: the supervisor counts, and ends the tree. */
	if (rc == 0)
		(void)!usleep(COUNT_US);
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return rc;
}

static int read_variable(const struct prove_place *p UNUSED, struct cordon_err *say)
{
	return getenv(PROVE_VARIABLE) ? 0 : err_set(say, CORDON_E_SETUP, "not set");
}

const struct canary canaries[] = {
	{ "P1", "read-outside", "read a file outside the roots", read_outside, MUST_FAIL, 0, 0 },
	{ "P1", "write-outside", "write to a file outside the roots", write_outside, MUST_FAIL, 0,
	  0 },
	{ "P1", "create-hook", "create a hook in .git", create_hook, MUST_FAIL, 0, 0 },
	{ "P1", "write-workspace", "make and remove a file in the workspace", write_workspace,
	  MUST_WORK, 0, 0 },
	{ "P2", "loopback", "connect to a TCP server of the host's loopback", connect_loopback,
	  MUST_FAIL, 0, 0 },
	{ "P2", "abstract-socket", "connect to an abstract unix socket of the host",
	  connect_abstract, MUST_FAIL, 0, 0 },
	{ "P3", "signal-process", "find and signal a process of the host", signal_process,
	  MUST_FAIL, 0, 0 },
	{ "P3", "userns", "make a user namespace", make_userns, MUST_FAIL, 0, 0 },
	{ "P3", "io-uring", "make an io_uring", make_io_uring, MUST_FAIL, 0, 0 },
	{ "P4", "memory", "use more memory than the limit", use_memory, MUST_END, "--memory",
	  "48M" },
	{ "P4", "processes", "make more processes than the limit", make_processes, MUST_END,
	  "--processes", "12" },
	{ "P5", "read-key", "read a key in HOME/.ssh", read_key, MUST_FAIL, 0, 0 },
	{ "P5", "variable", "read a variable of the caller", read_variable, MUST_FAIL, 0, 0 },
	{ 0 },
};

int cordon_prove_act(const char *const *words, size_t n, struct cordon_err *err)
{
	struct prove_place place = { .port = 0 };
	uint64_t port;

	if (n != 3 || !str_parse_u64(str_from(words[2]), &port) || port > UINT16_MAX)
		return err_set(err, CORDON_E_USAGE, "prove-act takes NAME BASE PORT");
	snprintf(place.base, sizeof(place.base), "%s", words[1]);
	place.port = (int)port;
	for (const struct canary *c = canaries; c->name; c++)
		if (strcmp(c->name, words[0]) == 0)
			return c->act(&place, err);
	return err_set(err, CORDON_E_USAGE, "prove-act knows no act '%s'", words[0]);
}

/* The private place in which acts are tried, and trying them; see prove.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "lib/prove.h"

/* Numbers that no process inside has. */
#define LEAST_PID	64

struct prove_place_open {
	struct prove_place place;
	const char *program;
	pid_t server, witness;
	int inherited;		/* becomes PROVE_FD of each act */
	char env[5][96];
};

const char *prove_path(const struct prove_place *p, const char *name)
{
	static char paths[4][128];
	static unsigned at;
	char *path = paths[at++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", p->base, name);
	return path;
}

const struct prove_place *prove_place_of(const struct prove_place_open *o)
{
	return &o->place;
}

/* ---- the server --------------------------------------------------------- */

enum { SERVE_TCP, SERVE_UDP, SERVE_PATH, SERVE_WORK, SERVE_ABSTRACT, N_SERVES };

static int bind_inet(int type, int *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return -1;
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* A name that begins with NUL is abstract. */
static int bind_unix(const char *path, bool abstract)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int n = snprintf(at.sun_path + abstract, sizeof(at.sun_path) - 1, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1)) < 0)
		return -1;
	return fd;
}

static int bind_all(struct prove_place *p, int fds[N_SERVES])
{
	fds[SERVE_TCP] = bind_inet(SOCK_STREAM, &p->tcp);
	fds[SERVE_UDP] = bind_inet(SOCK_DGRAM, &p->udp);
	fds[SERVE_PATH] = bind_unix(prove_path(p, "outside/socket"), false);
	fds[SERVE_WORK] = bind_unix(prove_path(p, "work/socket"), false);
	fds[SERVE_ABSTRACT] = bind_unix(p->base, true);
	for (int i = 0; i < N_SERVES; i++)
		if (fds[i] < 0 || (i != SERVE_UDP && listen(fds[i], 64) < 0))
			return -1;
	return 0;
}

/* Connections wait in the queue, which is enough to be connected. */
static _Noreturn void server_main(int udp)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct sockaddr_in from;
		socklen_t n = sizeof(from);
		char byte;

		if (recvfrom(udp, &byte, 1, 0, (struct sockaddr *)&from, &n) == 1)
			(void)!sendto(udp, &byte, 1, 0, (struct sockaddr *)&from, n);
	}
}

static int start_server(struct prove_place_open *o, struct cordon_err *err)
{
	int fds[N_SERVES], rc = bind_all(&o->place, fds);

	if (rc == 0) {
		o->server = fork();
		if (o->server == 0)
			server_main(fds[SERVE_UDP]);
		rc = o->server < 0 ? -1 : 0;
	}
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot start a server to prove with");
	for (int i = 0; i < N_SERVES; i++)
		fd_close(&fds[i]);
	return rc;
}

/* ---- the witness -------------------------------------------------------- */

static _Noreturn void exec_program(const struct prove_place_open *o, const char *const *argv)
{
	const char *envp[ARRAY_SIZE(o->env) + 1] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(o->env); i++)
		envp[i] = o->env[i];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve(o->program, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* It says one byte when it is there. */
static _Noreturn void witness_main(const struct prove_place_open *o, int out)
{
	const char *const argv[] = { o->program, "prove-act", "wait", NULL };

	if (getpid() < LEAST_PID || dup2(out, 1) < 0)
		_exit(125);
	exec_program(o, argv);
}

/* Its number must not be one that somebody inside has as well. */
static int start_witness(struct prove_place_open *o, struct cordon_err *err)
{
	int ends[2];
	char byte;
	bool there;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	for (int i = 0; i < 2 * LEAST_PID && o->witness < LEAST_PID; i++) {
		if (o->witness > 0)
			waitpid(o->witness, NULL, 0);
		o->witness = fork();
		if (o->witness == 0)
			witness_main(o, ends[1]);
	}
	close(ends[1]);
	there = o->witness > 0 && read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	o->place.pid = o->witness;
	return there ? 0 : err_set(err, CORDON_E_SETUP, "cannot start a process to prove with");
}

/* ---- the place ---------------------------------------------------------- */

static int make_file(const struct prove_place *p, const char *name, struct cordon_err *err)
{
	const char *path = prove_path(p, name);
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || dprintf(fd, "# %s\n", PROVE_CANARY) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s'", path);
	return 0;
}

static int copy_program(const struct prove_place_open *o, const char *name, mode_t mode,
			struct cordon_err *err)
{
	const char *path = prove_path(&o->place, name);
	cleanup_fd int from = open(o->program, O_RDONLY | O_CLOEXEC);
	cleanup_fd int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t n;

	if (from < 0 || to < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot copy '%s'", o->program);
	while ((n = sendfile(to, from, NULL, 1u << 20)) > 0)
		;
	if (n < 0 || fchmod(to, mode) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot write '%s'", path);
	return 0;
}

static int fill_place(struct prove_place_open *o, struct cordon_err *err)
{
	static const char *const dirs[] = { "outside", "work", "work/.git", "work/.git/hooks",
					    "work/bin", "home", "home/.ssh" };
	static const char *const files[] = { "outside/canary", "outside/target",
					     "work/.git/config", "home/.ssh/id_canary" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdir(prove_path(&o->place, dirs[i]), 0755) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", dirs[i]);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (make_file(&o->place, files[i], err) < 0)
			return -1;
	if (symlink("../outside/canary", prove_path(&o->place, "work/link")) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a link");
	/* Another user must reach the set-user-id program outside. */
	if (geteuid() == 0 && chmod(o->place.base, 0711) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", o->place.base);
	o->inherited = open(prove_path(&o->place, "outside/canary"), O_RDONLY | O_CLOEXEC);
	if (o->inherited < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open the canary");
	return copy_program(o, "work/bin/prove-tool", 0755, err) < 0
		       ? -1
		       : copy_program(o, "work/raised", 04755, err);
}

struct prove_place_open *prove_open(const char *program, struct cordon_err *err)
{
	struct prove_place_open *o = calloc(1, sizeof(*o));

	if (!o) {
		err_nomem(err);
		return NULL;
	}
	o->program = program;
	o->inherited = -1;
	snprintf(o->place.base, sizeof(o->place.base), "/tmp/cordon-prove-XXXXXX");
	if (!mkdtemp(o->place.base)) {
		err_sys(err, CORDON_E_SETUP, "cannot make a directory in /tmp");
		free(o);
		return NULL;
	}
	snprintf(o->env[0], sizeof(o->env[0]), "HOME=%s/home", o->place.base);
	snprintf(o->env[1], sizeof(o->env[1]), "PATH=%s/work/bin:/usr/bin:/bin", o->place.base);
	snprintf(o->env[2], sizeof(o->env[2]), "CORDON_PROVE_CANARY=%s", PROVE_CANARY);
	snprintf(o->env[3], sizeof(o->env[3]), "CORDON_PROVE_API_KEY=%s", PROVE_CANARY);
	/* What the caller's own runs would do without is done without here. */
	snprintf(o->env[4], sizeof(o->env[4]), "CORDON_SANDBOX=%s",
		 getenv("CORDON_SANDBOX") ? getenv("CORDON_SANDBOX") : "");
	if (fill_place(o, err) < 0 || start_server(o, err) < 0 || start_witness(o, err) < 0) {
		prove_close(o);
		return NULL;
	}
	return o;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 && errno != ENOENT;
}

void prove_close(struct prove_place_open *o)
{
	const pid_t pids[] = { o->server, o->witness };

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		if (pids[i] > 0) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	fd_close(&o->inherited);
	nftw(o->place.base, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(o);
}

/* ---- an act ------------------------------------------------------------- */

/* The words of `cordon prove-act …`, behind those of `cordon run … --`. */
struct words {
	const char *argv[32];
	size_t n;
	char numbers[3][16];
};

static void add_word(struct words *w, const char *word)
{
	w->argv[w->n++] = word;
}

static void add_act(struct words *w, const struct prove_place_open *o, const struct probe *probe)
{
	const int numbers[] = { o->place.tcp, o->place.udp, o->place.pid };

	add_word(w, o->program);
	add_word(w, "prove-act");
	add_word(w, probe->name);
	add_word(w, o->place.base);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		snprintf(w->numbers[i], sizeof(w->numbers[i]), "%d", numbers[i]);
		add_word(w, w->numbers[i]);
	}
}

static void add_run(struct words *w, const struct prove_place_open *o, const struct probe *probe)
{
	const char *work = prove_path(&o->place, "work");
	const char *const words[] = { o->program, "run", "--no-policy", "--read", o->program,
				      "--write", work, "--cwd", work };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		add_word(w, words[i]);
	for (size_t i = 0; i < ARRAY_SIZE(probe->options) && probe->options[i]; i++)
		add_word(w, probe->options[i]);
	add_word(w, "--");
}

static _Noreturn void act_main(const struct prove_place_open *o, const struct words *w, int out)
{
	if (dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(o->inherited, PROVE_FD) < 0)
		_exit(125);
	exec_program(o, w->argv);
}

/* What it says, and how it ended.  -1: it did not. */
static int read_act(pid_t pid, int in, char *says, size_t size)
{
	struct pollfd wait = { .fd = in, .events = POLLIN };
	size_t n = 0;
	ssize_t got = 1;
	int status;

	while (got > 0 && n < size - 1) {
		if (poll(&wait, 1, 4 * MAX_PROBE_MS) != 1)
			break;
		got = read(in, says + n, size - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got > 0 && n < size - 1)
		kill(pid, SIGKILL);
	says[n] = '\0';
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return got > 0 && n < size - 1 ? -1 : status;
}

/* Is something of an earlier act still alive?  Ends it. */
static bool has_survivor(const struct prove_place *p)
{
	const char *path = prove_path(p, "work/daemon");
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool alive = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

	unlink(path);
	return alive;
}

static bool is_end(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == 124 || WEXITSTATUS(status) == 137);
}

/* Why it was refused stands last, behind what a run has to say; why a run could
 * not start stands first. */
static void take_line(const char *text, bool last, struct prove_try *t)
{
	struct str rest = str_trim(str_from(text)), line = rest;

	while (last && str_find(rest, '\n') < rest.n)
		line = rest = str_from_pos(rest, str_find(rest, '\n') + 1);
	line = str_first(line, str_find(line, '\n'));
	snprintf(t->says, sizeof(t->says), "%.*s", STR_FMT(line));
}

static void judge_act(const struct prove_place_open *o, const struct probe *probe, int status,
		      const char *text, struct prove_try *t)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	t->end = code == 0 ? TRY_DONE : code == PROVE_REFUSED ? TRY_REFUSED : TRY_FAILED;
	take_line(text, t->end == TRY_REFUSED, t);
	if (status == -1) {
		t->end = TRY_FAILED;
		snprintf(t->says, sizeof(t->says), "it did not end");
	} else if (probe->kind == PROBE_ENDS && is_end(status)) {
		t->end = TRY_REFUSED;
		snprintf(t->says, sizeof(t->says), "ended by the limit");
	} else if (probe->kind == PROBE_LEFT && code == 0 && !has_survivor(&o->place)) {
		t->end = TRY_REFUSED;
		snprintf(t->says, sizeof(t->says), "it ended with the run");
	} else if (t->end == TRY_FAILED && !t->says[0]) {
		snprintf(t->says, sizeof(t->says), "exit status %d", code);
	}
}

int prove_act_run(struct prove_place_open *o, const struct probe *probe, bool inside,
		  struct prove_try *ret, struct cordon_err *err)
{
	struct words w = { .n = 0 };
	struct prove_try t = { 0 };
	char text[2048];
	int ends[2], status;
	pid_t pid;

	if (inside)
		add_run(&w, o, probe);
	add_act(&w, o, probe);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		act_main(o, &w, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_sys(err, CORDON_E_SETUP, "cannot start a process to prove with");
	}
	status = read_act(pid, ends[0], text, sizeof(text));
	close(ends[0]);
	judge_act(o, probe, status, text, &t);
	*ret = t;
	return 0;
}

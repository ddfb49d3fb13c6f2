/* Trying the canaries, and their verdicts; see prove.h. */
#include "lib/prove.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

struct prover {
	struct prove_place place;
	const char *program;
	int dir, tcp, abstract;
	pid_t witness;
};

/* ---- the private directory ---------------------------------------------- */

static int listen_on(const struct sockaddr *at, socklen_t n)
{
	cleanup_fd int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, at, n) < 0 || listen(fd, 64) < 0)
		return -1;
	return fd_take(&fd);
}

/* Connections wait in the queue, which is enough to be connected. */
static int open_sockets(struct prover *o, struct cordon_err *err)
{
	struct sockaddr_in tcp = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un unix_name = { .sun_family = AF_UNIX };
	socklen_t n = sizeof(tcp);
	int length = snprintf(unix_name.sun_path + 1, sizeof(unix_name.sun_path) - 1, "%s",
			      o->place.base);

	o->tcp = listen_on((struct sockaddr *)&tcp, n);
	o->abstract = listen_on((struct sockaddr *)&unix_name,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	if (o->tcp < 0 || o->abstract < 0 || getsockname(o->tcp, (struct sockaddr *)&tcp, &n) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot listen on the loopback");
	o->place.port = ntohs(tcp.sin_port);
	return 0;
}

static int fill(struct prover *o, struct cordon_err *err)
{
	static const char *const dirs[] = { "outside", "work", "work/.git", "work/.git/hooks",
					    "home", "home/.ssh" };
	static const struct {
		const char *dir, *name;
	} files[] = {
		{ "outside", "secret" },
		{ "outside", "target" },
		{ "home/.ssh", "id_canary" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(o->dir, dirs[i], 0755) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", dirs[i]);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_fd int dir = openat(o->dir, files[i].dir,
					    O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (dir < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", files[i].dir);
		if (folder_write(dir, files[i].name, STR(PROVE_SECRET "\n"), err) < 0)
			return -1;
	}
	return open_sockets(o, err);
}

/* The child inherits its name, so it has it from its first moment on. */
static int start_witness(struct prover *o, struct cordon_err *err)
{
	char own[16] = "";

	prctl(PR_GET_NAME, own);
	prctl(PR_SET_NAME, PROVE_WITNESS);
	o->witness = fork();
	if (o->witness == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	prctl(PR_SET_NAME, own);
	return o->witness < 0 ? err_sys(err, CORDON_E_SETUP, "cannot start a process") : 0;
}

static int prover_open(struct prover *o, struct cordon_err *err)
{
	snprintf(o->place.base, sizeof(o->place.base), "/tmp/cordon-prove-XXXXXX");
	if (!mkdtemp(o->place.base))
		return err_sys(err, CORDON_E_SETUP, "cannot make a directory in /tmp");
	o->dir = open(o->place.base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->dir < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", o->place.base);
	return fill(o, err) < 0 ? -1 : start_witness(o, err);
}

static void prover_close(struct prover *o)
{
	struct cordon_err ignored;

	if (o->witness > 0) {
		kill(o->witness, SIGKILL);
		waitpid(o->witness, NULL, 0);
	}
	fd_close(&o->tcp);
	fd_close(&o->abstract);
	if (o->dir >= 0)
		(void)!folder_clear(o->dir, &ignored);
	fd_close(&o->dir);
	rmdir(o->place.base);
}

/* ---- one act ------------------------------------------------------------ */

enum try_end { TRY_DONE, TRY_REFUSED, TRY_FAILED, N_TRY_ENDS };

struct try {
	enum try_end end;
	char says[160]; /* why it was refused, or why it did not run at all */
};

static _Noreturn void exec_act(const struct prover *o, const struct canary *c, bool inside,
			       int out)
{
	char home[96], work[96], port[16], sandbox[96];
	const char *argv[20] = { o->program, "run", "--no-policy", "--read", o->program,
				 "--write", work, "--cwd", work, c->option ? c->option : "--",
				 c->value, "--" };
	const char *const envp[] = { home, "PATH=/usr/bin:/bin", PROVE_VARIABLE "=" PROVE_SECRET,
				     sandbox, NULL };
	const char *const act[] = { o->program, "prove-act", c->name, o->place.base, port, NULL };

	snprintf(home, sizeof(home), "HOME=%s/home", o->place.base);
	snprintf(work, sizeof(work), "%s/work", o->place.base);
	snprintf(port, sizeof(port), "%d", o->place.port);
	/* A protection that the caller's own runs may lack may be missing here. */
	snprintf(sandbox, sizeof(sandbox), "CORDON_SANDBOX=%.60s",
		 getenv("CORDON_SANDBOX") ? getenv("CORDON_SANDBOX") : "");
	memcpy(argv + (!inside ? 0 : c->option ? 12 : 10), act, sizeof(act));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(out, 1) == 1 && dup2(out, 2) == 2)
		execve(o->program, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* Fills `says`, and returns the wait status; -1: it did not end. */
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
	says[n] = '\0';
	if (got > 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return got > 0 ? -1 : status;
}

/* The reason of a refusal is the last line, behind the warnings of the run; the reason for
 * which a run did not start is the first. */
static void take_line(const char *text, bool last, struct try *t)
{
	struct str line = str_trim(str_from(text));

	while (last && str_find(line, '\n') < line.n)
		line = str_from_pos(line, str_find(line, '\n') + 1);
	line = str_first(line, str_find(line, '\n'));
	snprintf(t->says, sizeof(t->says), "%.*s", STR_FMT(line));
}

static void classify(const struct canary *c, int status, const char *text, struct try *t)
{
	int code = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	t->end = code == 0 ? TRY_DONE : code == PROVE_REFUSED ? TRY_REFUSED : TRY_FAILED;
	take_line(text, t->end == TRY_REFUSED, t);
	if (status == -1) {
		snprintf(t->says, sizeof(t->says), "it did not end");
	} else if (c->must == MUST_END && (code == 124 || code == 137)) {
		t->end = TRY_REFUSED;
		snprintf(t->says, sizeof(t->says), "ended by the limit");
	} else if (t->end == TRY_FAILED && !t->says[0]) {
		snprintf(t->says, sizeof(t->says), "exit status %d", code);
	}
}

static int try_act(const struct prover *o, const struct canary *c, bool inside, struct try *ret,
		   struct cordon_err *err)
{
	char text[2048];
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		exec_act(o, c, inside, ends[1]);
	close(ends[1]);
	status = pid < 0 ? -1 : read_act(pid, ends[0], text, sizeof(text));
	close(ends[0]);
	if (pid < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start a process");
	classify(c, status, text, ret);
	return 0;
}

/* ---- verdicts ----------------------------------------------------------- */

enum verdict {
	VERDICT_HOLDS,
	VERDICT_WORKS,
	VERDICT_UNKNOWN,
	VERDICT_BREACH,
	VERDICT_BROKEN,
	N_VERDICTS
};

static const char *const verdict_words[] = {
	[VERDICT_HOLDS] = "holds",	    [VERDICT_WORKS] = "works",
	[VERDICT_UNKNOWN] = "not measured", [VERDICT_BREACH] = "BREACH",
	[VERDICT_BROKEN] = "BROKEN",
};
static_assert(ARRAY_SIZE(verdict_words) == N_VERDICTS, "a verdict without a word");

/* An act that cannot be done outside either proves nothing.  Neither does one that did not
 * even run inside; that counts against the sandbox. */
static enum verdict verdict_of(const struct canary *c, enum try_end outside, enum try_end inside)
{
	if (c->must == MUST_WORK)
		return inside == TRY_DONE    ? VERDICT_WORKS
		       : outside == TRY_DONE ? VERDICT_BROKEN
					     : VERDICT_UNKNOWN;
	if (inside != TRY_REFUSED)
		return inside == TRY_DONE ? VERDICT_BREACH : VERDICT_BROKEN;
	return outside == TRY_DONE ? VERDICT_HOLDS : VERDICT_UNKNOWN;
}

static void put(struct json_out *j, const char *key, const char *text)
{
	json_key(j, key);
	json_put_text(j, text);
}

/* One canary, to `out` as text or to `j` as JSON. */
static int prove_one(const struct prover *o, const struct canary *c, struct json_out *j,
		     struct buf *out, int n[N_VERDICTS], struct cordon_err *err)
{
	struct try tries[2] = { 0 };
	const char *says[2];
	enum verdict v;

	for (int inside = 0; inside < 2; inside++) {
		if (try_act(o, c, inside, &tries[inside], err) < 0)
			return -1;
		says[inside] = tries[inside].end == TRY_DONE ? "done" : tries[inside].says;
	}
	v = verdict_of(c, tries[0].end, tries[1].end);
	n[v]++;
	if (!j) {
		buf_printf(out, "%-13s %s  %s\n%16s  outside: %s\n%16s  inside:  %s\n",
			   verdict_words[v], c->promise, c->about, "", says[0], "", says[1]);
		return 0;
	}
	json_open(j, '{');
	put(j, "name", c->name);
	put(j, "promise", c->promise);
	put(j, "about", c->about);
	put(j, "must", c->must == MUST_WORK ? "work" : "fail");
	put(j, "outside", says[0]);
	put(j, "inside", says[1]);
	put(j, "verdict", verdict_words[v]);
	json_close(j, '}');
	return 0;
}

static void print_sum(const int n[N_VERDICTS], struct json_out *j, struct buf *out)
{
	for (int i = 0; i < N_VERDICTS; i++) {
		if (j) {
			json_key(j, verdict_words[i]);
			json_put_int(j, n[i]);
		} else {
			buf_printf(out, "%s%d %s", i ? ", " : "\n", n[i], verdict_words[i]);
		}
	}
}

static int report(const struct prover *o, struct json_out *j, struct buf *out, bool *ret_holds,
		  struct cordon_err *err)
{
	int n[N_VERDICTS] = { 0 };

	if (j) {
		json_open(j, '{');
		json_key(j, "proofs");
		json_open(j, '[');
	}
	for (const struct canary *c = canaries; c->name; c++)
		if (prove_one(o, c, j, out, n, err) < 0)
			return -1;
	if (j) {
		json_close(j, ']');
		json_key(j, "sum");
		json_open(j, '{');
	}
	print_sum(n, j, out);
	if (j) {
		json_close(j, '}');
		json_close(j, '}');
	}
	buf_putc(out, '\n');
	*ret_holds = !n[VERDICT_BREACH] && !n[VERDICT_BROKEN];
	return 0;
}

int prove_all(const char *program, bool json, struct buf *out, bool *ret_holds,
	      struct cordon_err *err)
{
	struct prover o = { .program = program, .dir = -1, .tcp = -1, .abstract = -1 };
	struct json_out j = { .out = out, .indent = 2 };
	char self[PATH_MAX] = "";
	int rc;

	if (!program && readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot tell the program's own path");
	if (!program)
		o.program = self;
	rc = prover_open(&o, err);
	if (rc == 0)
		rc = report(&o, json ? &j : NULL, out, ret_holds, err);
	prover_close(&o);
	return rc;
}

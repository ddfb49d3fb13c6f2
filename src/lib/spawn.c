/* A run in a process of its own, for programs that do other things meanwhile.
 *
 * The library starts the installed program by posix_spawn(), which a host with threads may do
 * at any time, and gives it two descriptors: the request as text, and a pipe for the end.
 * The read end of that pipe is what the caller polls.
 *
 * The request is words that each end with a NUL: the name of a field, then its values.  The
 * end is the exit code, the result and the problems, in the same way.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "cordon.h"
#include "lib/installed.h"	/* made by meson: CORDON_PROGRAM */

#define REQUEST_FD		3	/* in the program; the pipe is the next one */
#define FREE_FD			16	/* above all that have a number there */
#define MAX_REQUEST_BYTES	(64u << 20)
#define MAX_RESULT_BYTES	(8ul << 30)

struct cordon_child {
	pid_t pid;
	int pidfd;
	int fd;				/* the read end of the pipe */
	bool is_over;
	struct buf said;		/* what came of it so far */
};

/* ---- the request as text ------------------------------------------------------ */

static void put(struct buf *b, const char *word)
{
	buf_add(b, word ? word : "", word ? strlen(word) + 1 : 1);
}

static void put_text(struct buf *b, const char *name, const char *value)
{
	if (!value)
		return;
	put(b, name);
	put(b, value);
}

static void put_list(struct buf *b, const char *name, const char *const *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_text(b, name, values[i]);
}

static void put_settings(struct buf *b, const struct cordon_request *req)
{
	char op[16];

	for (size_t i = 0; i < req->n_settings; i++) {
		const struct cordon_setting *s = &req->settings[i];

		snprintf(op, sizeof(op), "%d", (int)s->op);
		put_text(b, "setting", op);
		put(b, s->key);
		put(b, s->value);
		put(b, s->origin);
	}
}

static void put_request(struct buf *b, const struct cordon_request *req,
			const struct cordon_start_options *o)
{
	put_list(b, "file", req->files, req->n_files);
	put_text(b, "dialect", req->dialect);
	put_text(b, "cwd", req->cwd);
	put_text(b, "discover", req->discover ? "" : NULL);
	put_text(b, "ceilings", req->ceilings ? "" : NULL);
	put_settings(b, req);
	put_list(b, "command", req->command, req->n_command);
	put_text(b, "audit", req->audit);
	put_list(b, "connect-to", req->connect_to, req->n_connect_to);
	put_text(b, "shell", o->shell_text);
	put_text(b, "capture", o->capture ? "" : NULL);
}

/* ---- and back -------------------------------------------------------------------- */

/* Words of lists are in the order in which they came: behind each other in one array. */
struct served {
	struct cordon_request req;
	struct cordon_run_options run;
	struct str rest;		/* of the text */
	const char **files, **command, **connect_to;
	struct cordon_setting *settings;
	struct cordon_answer answer;
	struct buf warnings;
};

/* The next word; NULL: there is none that ends. */
static const char *take(struct served *s)
{
	const char *word = s->rest.s;
	size_t n = str_find(s->rest, '\0');

	if (n == s->rest.n)
		return NULL;
	s->rest = str_from_pos(s->rest, n + 1);
	return word;
}

static bool take_setting(struct served *s, const char *op)
{
	struct cordon_setting *to = &s->settings[s->req.n_settings++];
	uint64_t number;

	if (!str_parse_u64(str_from(op), &number) || number >= CORDON_N_SETTING_OPS)
		return false;
	to->op = (enum cordon_setting_op)number;
	to->key = take(s);
	to->value = take(s);
	to->origin = take(s);
	return to->key && to->value && to->origin;
}

static bool take_field(struct served *s, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **text;	/* one of these */
		bool *flag;
		const char **list;
		size_t *n;
	} fields[] = {
		{ "file", NULL, NULL, s->files, &s->req.n_files },
		{ "dialect", &s->req.dialect, NULL, NULL, NULL },
		{ "cwd", &s->req.cwd, NULL, NULL, NULL },
		{ "discover", NULL, &s->req.discover, NULL, NULL },
		{ "ceilings", NULL, &s->req.ceilings, NULL, NULL },
		{ "command", NULL, NULL, s->command, &s->req.n_command },
		{ "audit", &s->req.audit, NULL, NULL, NULL },
		{ "connect-to", NULL, NULL, s->connect_to, &s->req.n_connect_to },
		{ "shell", &s->run.shell_text, NULL, NULL, NULL },
		{ "capture", NULL, &s->run.capture, NULL, NULL },
	};

	if (strcmp(name, "setting") == 0)
		return take_setting(s, value);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcmp(name, fields[i].name) != 0)
			continue;
		if (fields[i].text)
			*fields[i].text = value;
		else if (fields[i].flag)
			*fields[i].flag = true;
		else
			fields[i].list[(*fields[i].n)++] = value;
		return true;
	}
	return false;
}

/* No list is longer than there are words. */
static int make_room(struct served *s, struct arena *a, struct cordon_err *err)
{
	size_t n = 1;

	for (size_t i = 0; i < s->rest.n; i++)
		n += !s->rest.s[i];
	s->files = arena_new(a, n, sizeof(*s->files));
	s->command = arena_new(a, n, sizeof(*s->command));
	s->connect_to = arena_new(a, n, sizeof(*s->connect_to));
	s->settings = arena_new(a, n, sizeof(*s->settings));
	if (!s->files || !s->command || !s->connect_to || !s->settings)
		return err_nomem(err);
	s->req.files = s->files;
	s->req.command = s->command;
	s->req.connect_to = s->connect_to;
	s->req.settings = s->settings;
	return 0;
}

static int read_request(int fd, struct served *s, struct arena *a, struct cordon_err *err)
{
	const char *name, *value;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd_read_file(path, MAX_REQUEST_BYTES, a, &s->rest, err) < 0 ||
	    make_room(s, a, err) < 0)
		return -1;
	while (s->rest.n) {
		name = take(s);
		value = name ? take(s) : NULL;
		if (!value || !take_field(s, name, value))
			return err_set(err, CORDON_E_USAGE,
				       "the request is none of this version of cordon");
	}
	return 0;
}

/* ---- in the program ------------------------------------------------------------------ */

static void keep_warning(void *arg, const char *line)
{
	struct buf *warnings = arg;

	buf_printf(warnings, "cordon: %s\n", line);
}

static int send_end(int fd, const struct served *s, int code, const struct cordon_err *err)
{
	cleanup_buf struct buf out = BUF(MAX_RESULT_BYTES);
	char number[16];

	snprintf(number, sizeof(number), "%d", code);
	put(&out, number);
	put(&out, s->answer.text);
	buf_puts(&out, buf_text(&s->warnings));
	buf_puts(&out, s->answer.problems ? s->answer.problems : "");
	if (err)
		buf_printf(&out, "cordon: %s\n", err->msg);
	buf_putc(&out, '\0');
	for (size_t sent = 0; sent < out.n;) {
		ssize_t n = write(fd, out.data + sent, out.n - sent);

		if (n < 0 && errno != EINTR)
			return -1;	/* nobody waits for it any more */
		sent += n < 0 ? 0 : (size_t)n;
	}
	return buf_ok(&out) ? 0 : -1;
}

/* The request, once it is read. */
static int run_served(struct served *s, int *ret_code, struct cordon_err *err)
{
	s->run.json = true;
	s->run.warn = keep_warning;
	s->run.warn_arg = &s->warnings;
	s->run.own_process = true;
	return cordon_run(&s->req, &s->run, ret_code, &s->answer, err);
}

int cordon_serve(int fd)
{
	struct served s = { .req = CORDON_REQUEST, .run = CORDON_RUN_OPTIONS,
			    .warnings = BUF(MAX_OUTPUT_BYTES) };
	cleanup_arena struct arena arena = ARENA(MAX_ARENA_BYTES);
	struct cordon_err err;
	int code = 2, rc;

	/* Neither is the command's. */
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd + 1, F_SETFD, FD_CLOEXEC);
	rc = read_request(fd, &s, &arena, &err);
	if (rc == 0)
		rc = run_served(&s, &code, &err);
	if (rc < 0)
		code = 2;
	signal(SIGPIPE, SIG_IGN);
	if (send_end(fd + 1, &s, code, rc < 0 ? &err : NULL) < 0)
		code = 125;
	cordon_answer_release(&s.answer);
	buf_release(&s.warnings);
	return code;
}

/* ---- in the caller ---------------------------------------------------------------------- */

static int write_request(const struct cordon_request *req, const struct cordon_start_options *o,
			 struct cordon_err *err)
{
	cleanup_buf struct buf text = BUF(MAX_REQUEST_BYTES);
	cleanup_fd int made = memfd_create("cordon-request", MFD_CLOEXEC), fd = -1;

	put_request(&text, req, o);
	if (!buf_ok(&text))
		return err_nomem(err);
	if (made >= 0)
		fd = fcntl(made, F_DUPFD_CLOEXEC, FREE_FD);
	if (fd < 0 || write(fd, buf_text(&text), text.n) != (ssize_t)text.n)
		return err_sys(err, CORDON_E_SETUP, "cannot write the request");
	return fd_take(&fd);
}

static int open_pipe(int ret[2], struct cordon_err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot make a pipe");
	ret[0] = ends[0];
	ret[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, FREE_FD);
	close(ends[1]);
	if (ret[1] >= 0 && fcntl(ret[0], F_SETFL, O_NONBLOCK) == 0)
		return 0;
	err_sys(err, CORDON_E_SETUP, "cannot keep a pipe");
	fd_close(&ret[0]);
	fd_close(&ret[1]);
	return -1;
}

/* Streams first: one of them may have a number that is given away then. */
static int list_acts(posix_spawn_file_actions_t *acts, const struct cordon_start_options *o,
		     int request, int end)
{
	int rc = 0;

	for (int i = 0; i < 3 && rc == 0; i++)
		if (o->streams[i] >= 0)
			rc = posix_spawn_file_actions_adddup2(acts, o->streams[i], i);
		else if (i > 0 && o->capture)
			rc = posix_spawn_file_actions_addopen(acts, i, "/dev/null", O_WRONLY, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(acts, request, REQUEST_FD);
	return rc ? rc : posix_spawn_file_actions_adddup2(acts, end, REQUEST_FD + 1);
}

static int spawn(struct cordon_child *c, const struct cordon_start_options *o, int request,
		 int end, struct cordon_err *err)
{
	const char *program = o->program ? o->program : CORDON_PROGRAM;
	char *const argv[] = { (char[]){ "cordon" }, (char[]){ "run" }, (char[]){ "--request" },
			       (char[]){ "3" }, NULL };
	posix_spawn_file_actions_t acts;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	/* A thread may have blocked what the supervisor waits for. */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&acts);
	rc = list_acts(&acts, o, request, end);
	if (rc == 0)
		rc = posix_spawn(&c->pid, program, &acts, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&acts);
	posix_spawnattr_destroy(&attr);
	if (rc == 0)
		return 0;
	c->pid = 0;
	errno = rc;
	return err_sys(err, CORDON_E_SETUP, "cannot start '%s'", program);
}

static void child_free(struct cordon_child *c)
{
	fd_close(&c->fd);
	fd_close(&c->pidfd);
	buf_release(&c->said);
	free(c);
}

/* They are given their places in order. */
static int check_streams(const struct cordon_start_options *o, struct cordon_err *err)
{
	for (int i = 0; i < 3; i++)
		if (o->streams[i] >= 0 && o->streams[i] < i)
			return err_set(err, CORDON_E_USAGE,
				       "the descriptor of stream %d is the number of another "
				       "stream; give a copy of it", i);
	return 0;
}

int cordon_start(const struct cordon_request *req, const struct cordon_start_options *o,
		 struct cordon_child **ret, struct cordon_err *err)
{
	cleanup_fd int request = -1, end = -1;
	struct cordon_child *c;
	int ends[2];

	if (req->size != sizeof(*req) || o->size != sizeof(*o))
		return err_set(err, CORDON_E_USAGE,
			       "the request is of another version of cordon.h");
	if (check_streams(o, err) < 0)
		return -1;
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_nomem(err);
	*c = (struct cordon_child){ .pidfd = -1, .fd = -1, .said = BUF(MAX_RESULT_BYTES) };
	request = write_request(req, o, err);
	if (request < 0 || open_pipe(ends, err) < 0) {
		child_free(c);
		return -1;
	}
	c->fd = ends[0];
	end = ends[1];
	if (spawn(c, o, request, end, err) < 0) {
		child_free(c);
		return -1;
	}
	/* Ours as long as nobody else waits for it: its number is not given away before. */
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	*ret = c;
	return 0;
}

int cordon_child_fd(const struct cordon_child *c)
{
	return c->fd;
}

int cordon_child_signal(const struct cordon_child *c, int signal, struct cordon_err *err)
{
	if (c->pidfd < 0 || syscall(SYS_pidfd_send_signal, c->pidfd, signal, NULL, 0) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot signal the run");
	return 0;
}

bool cordon_child_is_over(struct cordon_child *c)
{
	char room[65536];

	while (!c->is_over) {
		ssize_t n = read(c->fd, room, sizeof(room));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n > 0)
			buf_add(&c->said, room, (size_t)n);
		c->is_over = n <= 0;
	}
	return true;
}

/* One of the three texts of the end; NULL: there is no such. */
static const char *take_end(struct str *rest)
{
	const char *text = rest->s;
	size_t n = str_find(*rest, '\0');

	if (n == rest->n)
		return NULL;
	*rest = str_from_pos(*rest, n + 1);
	return text;
}

static int read_end(struct cordon_child *c, int *ret_code, struct cordon_answer *ret,
		    struct cordon_err *err)
{
	struct str rest = { buf_text(&c->said), c->said.n };
	const char *code = take_end(&rest), *text = code ? take_end(&rest) : NULL;
	const char *problems = text ? take_end(&rest) : NULL;
	uint64_t number;

	if (!problems || !str_parse_u64(str_from(code), &number) || number > 255)
		return err_set(err, CORDON_E_PEER,
			       "the run ended without a result: its supervisor was killed, or is "
			       "another version of cordon");
	*ret_code = (int)number;
	ret->yes = number == 0;
	ret->text = text[0] ? strdup(text) : NULL;
	ret->problems = problems[0] ? strdup(problems) : NULL;
	if ((text[0] && !ret->text) || (problems[0] && !ret->problems))
		return err_nomem(err);
	return 0;
}

int cordon_child_end(struct cordon_child *c, int *ret_code, struct cordon_answer *ret,
		     struct cordon_err *err)
{
	int rc;

	fcntl(c->fd, F_SETFL, 0);
	(void)cordon_child_is_over(c);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	rc = read_end(c, ret_code, ret, err);
	child_free(c);
	return rc;
}

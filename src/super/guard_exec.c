/* Executions against blocked commands: checked before the kernel executes, and again when the
 * new image is there.
 *
 * The first check gives the caller EACCES.  It reads memory that other threads may change
 * until the kernel reads it, so it is no wall.  The second check is: the reader traces the
 * caller over the execution and reads what the kernel made of it (arguments, file, the script
 * that was named) from memory that no other process has yet.  A process that a rule matches is
 * killed before its first instruction.
 *
 * GAP: a caller that another process inside traces (processes.debug) cannot be traced again.
 * It is checked once.
 *
 * Processes inside do not see that they are traced: the tracer is in another pid namespace.
 */
#include "super/guard_priv.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/execs.h"

#define MAX_SHOWN	512	/* bytes of a command that a denial quotes */

static struct str find_home(const struct plan *plan)
{
	for (const char *const *e = plan->envp; *e; e++)
		if (strncmp(*e, "HOME=", 5) == 0)
			return str_from(*e + 5);
	return STR("");
}

int guard_commands_init(struct guard_commands *c, const struct plan *plan, struct cordon_err *err)
{
	struct program_files many = { 0 };

	c->arena = (struct arena)ARENA(MAX_ARENA_BYTES);
	c->plan = plan;
	if (!plan || !plan->n_rules)
		return 0;
	c->home = find_home(plan);
	if (programs_add_multi_calls(&many, plan->envp, &c->arena, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_rules; i++)
		if (plan->rules[i].program &&
		    programs_add(&c->known, plan->rules[i].program, plan->envp, &c->arena, err) < 0)
			return -1;
	/* The file of a program that is many says nothing about which one it is. */
	for (size_t i = 0; i < c->known.n; i++)
		if (programs_find(&many, c->known.items[i].dev, c->known.items[i].ino, NULL))
			c->known.items[i--] = c->known.items[--c->known.n];
	return 0;
}

void guard_commands_release(struct guard_commands *c)
{
	arena_release(&c->arena);
}

/* --- the vector ------------------------------------------------------------- */

/* Words before those of the caller, which the kernel puts there for a script. */
#define N_PREFIX	3

struct guard_vector {
	size_t n_text, n;
	char text[MAX_EXEC_BYTES];
	struct str room[N_PREFIX + MAX_EXEC_WORDS];
	/* The page that was read last: words lie close together. */
	uint64_t page;
	size_t n_page;
	char bytes[4096];
};

struct guard_vector *guard_vector_new(void)
{
	return calloc(1, sizeof(struct guard_vector));
}

static struct str *words_of(struct guard_vector *v)
{
	return v->room + N_PREFIX;
}

static void vector_clear(struct guard_vector *v)
{
	v->n_text = v->n = v->n_page = 0;
}

/* The text from v->n_text up to `n` bytes later is one more word. */
static int vector_push(struct guard_vector *v, size_t n)
{
	if (v->n == MAX_EXEC_WORDS)
		return -E2BIG;
	words_of(v)[v->n++] = (struct str){ v->text + v->n_text, n };
	v->n_text += n;
	return 0;
}

static int read_page(struct guard_vector *v, pid_t tid, uint64_t page)
{
	int n;

	if (v->n_page && v->page == page)
		return 0;
	n = guard_read_memory(tid, page, v->bytes, sizeof(v->bytes));
	v->n_page = n < 0 ? 0 : (size_t)n;
	v->page = page;
	return n < 0 ? n : 0;
}

/* Append the word at `from`. */
static int read_word(struct guard_vector *v, pid_t tid, uint64_t from)
{
	size_t n = 0;

	for (;;) {
		uint64_t at = from + n;
		size_t skip = at % sizeof(v->bytes), have, len;
		int rc = read_page(v, tid, at - skip);

		if (rc < 0)
			return rc;
		if (skip >= v->n_page)
			return -EFAULT;
		have = v->n_page - skip;
		len = strnlen(v->bytes + skip, have);
		if (v->n_text + n + len > sizeof(v->text))
			return -E2BIG;
		memcpy(v->text + v->n_text + n, v->bytes + skip, len);
		n += len;
		if (len < have)
			return vector_push(v, n);
	}
}

int guard_vector_read(struct guard_vector *v, pid_t tid, uint64_t argv)
{
	uint64_t at[64];
	int rc = 0;

	vector_clear(v);
	while (argv && rc == 0) {
		int n = guard_read_memory(tid, argv, at, sizeof(at));

		if (n < (int)sizeof(at[0]))
			return n < 0 ? n : -EFAULT;
		for (size_t i = 0; i < (size_t)n / sizeof(at[0]) && rc == 0; i++) {
			if (!at[i])
				return 0;
			rc = read_word(v, tid, at[i]);
		}
		argv += (size_t)n / sizeof(at[0]) * sizeof(at[0]);
	}
	return rc;
}

/* What the kernel has of a process that stands still. */
static int vector_take(struct guard_vector *v, int proc)
{
	cleanup_fd int fd = openat(proc, "cmdline", O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	vector_clear(v);
	if (fd < 0)
		return guard_rc(fd);
	while ((got = read(fd, v->text + n, sizeof(v->text) - n)) > 0)
		n += (size_t)got;
	if (got < 0 || n == sizeof(v->text))
		return -E2BIG;
	while (v->n_text < n) {
		size_t len = strnlen(v->text + v->n_text, n - v->n_text);
		int rc = vector_push(v, len);

		if (rc < 0)
			return rc;
		v->n_text++;
	}
	return 0;
}

/* --- judging ---------------------------------------------------------------- */

/* The command in one line. */
static void show(struct guard_vector *v, char text[MAX_SHOWN])
{
	size_t n = 0;

	for (size_t i = 0; i < v->n && n + 2 < MAX_SHOWN; i++) {
		struct str word = words_of(v)[i];
		size_t len = MIN(word.n, MAX_SHOWN - 2 - n);

		memcpy(text + n, word.s, len);
		n += len;
		text[n++] = ' ';
	}
	text[n ? n - 1 : 0] = '\0';
}

static void add_known(const struct guard_commands *c, struct exec_view *view, dev_t dev, ino_t ino)
{
	const struct program_file *f = NULL;

	while ((f = programs_find(&c->known, dev, ino, f)))
		exec_view_add(view, str_from(f->name));
}

/* A mask has no name but those of its place, where the program stands outside.  What is
 * refused for that the mask would refuse, too. */
static void add_masked(const struct guard_commands *c, struct exec_view *view,
		       const struct guard_program *p)
{
	struct stat st;

	if (p->is_mask && stat(p->path, &st) == 0)
		add_known(c, view, st.st_dev, st.st_ino);
}

static struct str read_link(int proc, const char *name, char path[PATH_MAX])
{
	ssize_t n = proc < 0 ? -1 : readlinkat(proc, name, path, PATH_MAX);

	return (struct str){ path, n < 0 ? 0 : (size_t)n };
}

/* Of the process or thread whose folder of /proc this is, as it sees it.  The kernel tells it
 * from where the root of its mounts is, if it is no longer than a path may be. */
static struct str read_cwd(int proc, char path[PATH_MAX])
{
	char text[PATH_MAX];
	struct str root = read_link(proc, "root", text), cwd = read_link(proc, "cwd", path);

	if (!root.n || !cwd.n || cwd.n == PATH_MAX)
		return COMMAND_CWD_LOST;
	if (root.n == 1)
		return cwd;
	if (cwd.n < root.n || memcmp(cwd.s, root.s, root.n) != 0)
		return COMMAND_CWD_LOST;
	return cwd.n > root.n ? str_from_pos(cwd, root.n) : STR("/");
}

static struct command_place read_place(const struct guard_exec *e, int proc, char path[PATH_MAX])
{
	return (struct command_place){ read_cwd(proc, path), e->w->commands->home };
}

static int open_process(const struct guard_exec *e, pid_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "%d", pid);
	return openat(e->w->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Before: the path, argv[0], the file that the path leads to. */
static const struct plan_rule *judge_call(const struct guard_exec *e)
{
	cleanup_fd int proc = open_process(e, e->tid);
	struct guard_vector *v = e->vector;
	char cwd[PATH_MAX];
	struct exec_view view = { .words = words_of(v), .n_words = MAX(v->n, 1),
				  .place = read_place(e, proc, cwd) };
	const struct guard_program *p = e->program;
	const struct plan_rule *rule;
	struct str interpreter, argument;

	exec_view_add(&view, str_from(e->path));
	if (v->n)
		exec_view_add(&view, view.words[0]);
	exec_view_add(&view, str_from(p->path));
	add_known(e->w->commands, &view, (dev_t)p->dev, (ino_t)p->ino);
	add_masked(e->w->commands, &view, p);
	rule = exec_find_rule(e->w->commands->plan, &view);
	if (rule || !exec_parse_script((struct str){ p->head, p->n_head }, &interpreter, &argument))
		return rule;
	/* A script: the interpreter, its argument, the path, the rest. */
	view.words[0] = str_from(e->path);
	if (argument.n) {
		*--view.words = argument;
		view.n_words++;
	}
	*--view.words = interpreter;
	view.n_words++;
	view.n_names = 0;
	exec_view_add(&view, interpreter);
	return exec_find_rule(e->w->commands->plan, &view);
}

/* The path that execve was given, which the kernel tells the new program. */
static struct str read_execfn(int proc, pid_t pid, char text[PATH_MAX])
{
	cleanup_fd int fd = openat(proc, "auxv", O_RDONLY | O_CLOEXEC);
	unsigned long aux[128];
	ssize_t got = fd < 0 ? -1 : read(fd, aux, sizeof(aux));
	size_t n = got < 0 ? 0 : (size_t)got / sizeof(aux[0]), i = 0;
	int len = -1;

	while (i + 1 < n && aux[i] != AT_EXECFN)
		i += 2;
	if (i + 1 < n)
		len = guard_read_memory(pid, aux[i + 1], text, PATH_MAX);
	return (struct str){ text, len < 0 ? 0 : strnlen(text, (size_t)len) };
}

/* After: what the kernel made of it.  False: it cannot be told. */
static bool judge_program(const struct guard_exec *e, int proc, pid_t pid,
			  const struct plan_rule **ret)
{
	struct guard_vector *v = e->vector;
	char path[PATH_MAX], execfn[PATH_MAX], cwd[PATH_MAX];
	struct exec_view view = { .words = words_of(v), .place = read_place(e, proc, cwd) };
	struct stat st;
	ssize_t n = readlinkat(proc, "exe", path, sizeof(path));
	struct str named = read_execfn(proc, pid, execfn);

	if (n < 0 || fstatat(proc, "exe", &st, 0) < 0 || vector_take(v, proc) < 0)
		return false;
	view.n_words = MAX(v->n, 1);
	if (v->n)
		exec_view_add(&view, view.words[0]);
	exec_view_add(&view, (struct str){ path, (size_t)n });
	add_known(e->w->commands, &view, st.st_dev, st.st_ino);
	*ret = exec_find_rule(e->w->commands->plan, &view);
	/* A script's own name and arguments stand behind its interpreter's. */
	for (size_t i = 1; !*ret && named.n && i < v->n; i++)
		if (str_eq(words_of(v)[i], named)) {
			struct exec_view script = { .words = words_of(v) + i,
						    .n_words = v->n - i, .place = view.place };

			exec_view_add(&script, named);
			*ret = exec_find_rule(e->w->commands->plan, &script);
			break;
		}
	return true;
}

/* --- letting it go on ------------------------------------------------------- */

static uint32_t number_of(const struct guard_exec *e, const struct plan_rule *rule)
{
	return 1 + (uint32_t)(rule - e->w->commands->plan->rules);
}

/* May the program that stands there begin? */
static bool examine(const struct guard_exec *e, pid_t pid)
{
	const struct plan_rule *rule = NULL;
	cleanup_fd int proc = open_process(e, pid);
	char shown[MAX_SHOWN];

	if (proc < 0 || !judge_program(e, proc, pid, &rule))
		return false;
	if (!rule)
		return true;
	(void)!vector_take(e->vector, proc);
	show(e->vector, shown);
	guard_report(e->w, &(struct guard_denial){ .rule = number_of(e, rule),
						   .leader = e->leader }, shown);
	return false;
}

/* Until the call has come to its end, good or bad. */
static void watch(const struct guard_exec *e)
{
	bool good = true;
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		if (!WIFSTOPPED(status))
			return;
		if (status >> 16 == PTRACE_EVENT_EXEC)
			good = examine(e, pid);
		if (good) {
			ptrace(PTRACE_DETACH, pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
			return;
		}
		kill(pid, SIGKILL);
	}
}

static void go_on(const struct guard_exec *e)
{
	long seized = ptrace(PTRACE_SEIZE, e->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);

	if (seized < 0 && !e->is_traced) {
		guard_answer(e->w->listener, e->id, -EPERM);
		return;
	}
	/* The trap waits for the end of the call, as the caller sleeps where only
	 * a kill wakes it: so it stops even if the execution fails. */
	if (seized == 0)
		ptrace(PTRACE_INTERRUPT, e->tid, 0, 0);
	guard_go_on(e->w->listener, e->id);
	if (seized == 0)
		watch(e);
}

void guard_answer_exec(const struct guard_exec *e)
{
	const struct plan_rule *rule;
	char shown[MAX_SHOWN];

	show(e->vector, shown);
	/* What is not there is not found: a search of PATH goes on. */
	rule = e->program->is_missing ? NULL : judge_call(e);
	if (!rule) {
		go_on(e);
		return;
	}
	guard_report(e->w, &(struct guard_denial){ .rule = number_of(e, rule), .thread = e->tid,
						   .leader = e->leader,
						   .path = str_hash(str_from(e->path), 0) },
		     shown[0] ? shown : e->path);
	guard_answer(e->w->listener, e->id, -EACCES);
}

/* What lies beside a task.toml; see task_folder.h. */
#include "trial/task_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/program.h"

int task_folder_open(const char *file, struct arena *a, struct task_folder *ret,
		     struct cordon_err *err)
{
	const char *slash = strrchr(file, '/');
	struct task_folder f = { .file = file, .dir = -1 };

	f.path = slash == file ? "/" : arena_strndup(a, file, (size_t)(slash - file));
	if (!f.path)
		return err_nomem(err);
	f.dir = open_named(f.path, O_RDONLY | O_DIRECTORY);
	if (f.dir < 0)
		return err_sys(err, CORDON_E_USAGE, "cannot open '%s'", f.path);
	*ret = f;
	return 0;
}

void task_folder_close(struct task_folder *f)
{
	fd_close(&f->dir);
}

int task_folder_part(const struct task_folder *f, const char *name, int flags)
{
	return open_beneath(f->dir, name, O_RDONLY | flags);
}

static int refuse_outside(const char *name, struct cordon_err *err)
{
	return err_set(err, CORDON_E_POLICY,
		       "the task's '%s' is a symlink that leads out of the task's folder; put a "
		       "copy in its place", name);
}

/* Only to see whether it is there: a part that is missing is no fault. */
static int check_part(const struct task_folder *f, const char *name, mode_t kind,
		      struct cordon_err *err)
{
	cleanup_fd int fd = open_beneath(f->dir, name, O_PATH);
	struct stat st;

	if (fd < 0 && is_outside())
		return refuse_outside(name, err);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, CORDON_E_POLICY, "cannot open '%s' of the task", name);
	if ((st.st_mode & S_IFMT) != kind)
		return err_set(err, CORDON_E_POLICY, "the task's '%s' is not a %s; replace it",
			       name, kind == S_IFDIR ? "directory" : "regular file");
	return 0;
}

static int check_parts(const struct task_folder *f, const struct task_step *step, struct arena *a,
		       struct cordon_err *err)
{
	static const struct { const char *name; mode_t kind; bool of_task, of_step; } parts[] = {
		{ "instruction.md", S_IFREG, true, true },
		{ "environment", S_IFDIR, true, false },
		{ "workdir", S_IFDIR, false, true },
		{ "workdir/setup.sh", S_IFREG, false, true },
		{ "solution", S_IFDIR, true, true },
		{ "solution/solve.sh", S_IFREG, true, true },
		{ "tests", S_IFDIR, true, true },
		{ "tests/test.sh", S_IFREG, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *name = task_folder_step_part(step, parts[i].name, a);

		if (!name)
			return err_nomem(err);
		if ((step ? parts[i].of_step : parts[i].of_task) &&
		    check_part(f, name, parts[i].kind, err) < 0)
			return -1;
	}
	return 0;
}

int task_folder_check(const struct task_folder *f, const struct task *t, struct arena *a,
		      struct cordon_err *err)
{
	if (check_parts(f, NULL, a, err) < 0)
		return -1;
	for (size_t i = 0; i < t->n_steps; i++)
		if (check_parts(f, &t->steps[i], a, err) < 0)
			return -1;
	return 0;
}

int task_folder_read(const struct task_folder *f, struct arena *a, struct str *ret,
		     struct cordon_err *err)
{
	const char *name = strrchr(f->file, '/') + 1;
	cleanup_fd int fd = task_folder_part(f, name, 0);
	struct stat st;

	if (fd < 0 && is_outside())
		return refuse_outside(name, err);
	if (fd < 0)
		return err_sys(err, CORDON_E_POLICY, "cannot open '%s'", f->file);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, CORDON_E_POLICY, "'%s' is no regular file; name a task.toml",
			       f->file);
	return fd_read_text(fd, f->file, MAX_SOURCE_BYTES, a, ret, err);
}

static bool has_file(const struct task_folder *f, const char *name)
{
	cleanup_fd int fd = task_folder_part(f, name, O_PATH);
	struct stat st;

	return fd >= 0 ? fstat(fd, &st) == 0 && S_ISREG(st.st_mode) : is_outside();
}

const char *task_folder_image(const struct task_folder *f, const struct task *t)
{
	static const char *const files[] = { "environment/Dockerfile",
					     "environment/docker-compose.yaml",
					     "environment/docker-compose.yml" };

	if (t->environment.docker_image.n)
		return "environment.docker_image";
	if (t->verifier.environment.docker_image.n)
		return "verifier.environment.docker_image";
	for (size_t i = 0; i < t->n_steps; i++)
		if (t->steps[i].verifier.environment.docker_image.n)
			return "steps.verifier.environment.docker_image";
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (has_file(f, files[i]))
			return files[i];
	return NULL;
}

const char *task_folder_step_part(const struct task_step *step, const char *part, struct arena *a)
{
	return step ? arena_printf(a, "steps/%.*s/%s", (int)step->name.n, step->name.s, part)
		    : part;
}

/* ---- commands ----------------------------------------------------------- */

static int no_command(struct cordon_err *err, const char *who, const char *file)
{
	return err_set(err, CORDON_E_POLICY,
		       "the task has no %s: write [%s] command or %s, or give --%s CMD", who, who,
		       file, who);
}

static int from_text(const char *text, struct arena *a, struct trial_command *ret)
{
	const char **argv = arena_new(a, MAX_SHELL_WORDS, sizeof(*argv));

	if (!argv)
		return -1;
	program_shell(text, argv);
	*ret = (struct trial_command){ (const char *const *)argv, text, false };
	return 0;
}

static int from_task(const struct task_command *c, struct arena *a, struct trial_command *ret)
{
	const char **argv = arena_new(a, c->n_words + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < c->n_words; i++) {
		argv[i] = arena_strndup(a, c->words[i].s, c->words[i].n);
		if (!argv[i])
			return -1;
	}
	if (!argv)
		return -1;
	if (c->is_shell)
		return from_text(argv[0], a, ret);
	*ret = (struct trial_command){ (const char *const *)argv, NULL, false };
	return 0;
}

/* A script that lies at `inside` by then; one without a first line is a shell's. */
static int from_script(const struct task_folder *f, const char *name, const char *inside,
		       struct arena *a, struct trial_command *ret)
{
	cleanup_fd int fd = task_folder_part(f, name, 0);
	const char **argv = arena_new(a, 3, sizeof(*argv));
	char mark[2] = "";
	struct stat st;
	size_t n = 0;

	if (!argv)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (read(fd, mark, 2) != 2 || memcmp(mark, "#!", 2) != 0)
		argv[n++] = "/bin/sh";
	argv[n] = inside;
	*ret = (struct trial_command){ (const char *const *)argv, NULL, false };
	return 0;
}

struct source_of {
	const char *text;			/* the operator's */
	const struct task_command *step, *task;	/* or NULL */
	const char *folder, *script;		/* "solution", "solve.sh" */
	const char *inside;			/* where the script is by then */
};

static int find(const struct task_folder *f, const struct task_step *step,
		const struct source_of *s, struct arena *a, struct trial_command *ret)
{
	const char *name;
	int rc;

	if (s->text)
		return from_text(s->text, a, ret);
	if (s->step && s->step->n_words)
		return from_task(s->step, a, ret);
	if (s->task->n_words)
		return from_task(s->task, a, ret);
	for (int own = step ? 1 : 0; s->folder && own >= 0; own--) {
		name = arena_printf(a, "%s/%s", s->folder, s->script);
		name = name ? task_folder_step_part(own ? step : NULL, name, a) : NULL;
		rc = name ? from_script(f, name, s->inside, a, ret) : -1;
		if (rc < 0 || ret->argv) {
			ret->is_solution = ret->argv && strcmp(s->folder, "solution") == 0;
			return rc;
		}
	}
	return 0;
}

int task_folder_commands(const struct task_folder *f, const struct trial_asked *asked,
			 struct arena *a, struct trial_commands *ret, struct cordon_err *err)
{
	const struct task *t = asked->task;
	const struct task_step *step = asked->step;
	const struct trial_texts *texts = asked->texts;
	const struct source_of setup = { texts->setup, NULL, &t->agent.setup, NULL, NULL, NULL };
	const struct source_of agent = { texts->agent, step ? &step->agent.command : NULL,
					 &t->agent.command, "solution", "solve.sh",
					 TRIAL_SOLUTION "/solve.sh" };
	const struct source_of verifier = { texts->verifier,
					    step ? &step->verifier.command : NULL,
					    &t->verifier.command, "tests", "test.sh",
					    TRIAL_TESTS "/test.sh" };
	struct trial_commands c = { 0 };

	if (find(f, step, &setup, a, &c.setup) < 0 || find(f, step, &agent, a, &c.agent) < 0 ||
	    find(f, step, &verifier, a, &c.verifier) < 0)
		return err_nomem(err);
	if (step) {
		const char *name = task_folder_step_part(step, "workdir/setup.sh", a);

		if (!name || from_script(f, name, "./setup.sh", a, &c.step_setup) < 0)
			return err_nomem(err);
		if (!c.step_setup.argv && step->agent.setup.n_words &&
		    from_task(&step->agent.setup, a, &c.step_setup) < 0)
			return err_nomem(err);
	}
	if (!c.agent.argv)
		return no_command(err, "agent", "solution/solve.sh");
	if (!c.verifier.argv)
		return no_command(err, "verifier", "tests/test.sh");
	*ret = c;
	return 0;
}

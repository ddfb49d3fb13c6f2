/* A command as data, and on its way to init; see command.h.
 *
 * In a session it crosses as one piece of memory, in a memfd, since it may be as
 * large as what the kernel executes.  Pointers in it are offsets from its begin
 * until init, which must not allocate, has it in its own memory and turns them
 * into pointers in place.
 */
#include "backend/native/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

/* ---- what to execute ---------------------------------------------------- */

static const char *path_of(const char *const *envp)
{
	for (size_t i = 0; envp[i]; i++)
		if (strncmp(envp[i], "PATH=", 5) == 0)
			return envp[i] + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* The files that argv[0] may mean, in the order of PATH. */
static int list_programs(const struct native_command *c, struct arena *a,
			 const char *const **ret, struct cordon_err *err)
{
	struct str rest = str_from(path_of(c->envp)), name = str_from(c->argv[0]);
	const char **list;
	size_t n = 0, most = 2;

	if (!name.n)
		return err_set(err, CORDON_E_USAGE, "the command is empty");
	for (size_t i = 0; i < rest.n; i++)
		most += rest.s[i] == ':';
	list = arena_new(a, most, sizeof(*list));
	if (!list)
		return err_nomem(err);
	for (;;) {
		size_t len = str_find(rest, ':');

		if (str_find(name, '/') < name.n) {
			list[n++] = c->argv[0];
			break;
		}
		list[n] = arena_printf(a, "%.*s/%s", len ? (int)len : 1, len ? rest.s : ".",
				       c->argv[0]);
		if (!list[n++])
			return err_nomem(err);
		if (len == rest.n)
			break;
		rest = str_from_pos(rest, len + 1);
	}
	*ret = (const char *const *)list;
	return 0;
}

/* sh FILE ARG…, for a script without #!, as execvp does. */
static int list_shell_argv(const struct native_command *c, struct arena *a, const char ***ret,
			   struct cordon_err *err)
{
	size_t n = 0;

	while (c->argv[n])
		n++;
	*ret = arena_new(a, n + 2, sizeof(**ret));
	if (!*ret)
		return err_nomem(err);
	(*ret)[0] = "sh";
	for (size_t i = 1; i < n; i++)
		(*ret)[i + 1] = c->argv[i];
	return 0;
}

int native_command_compile(const char *const *argv, const char *const *envp, struct arena *a,
			   struct native_command *ret, struct cordon_err *err)
{
	struct native_command c = { .argv = argv, .envp = envp,
				    .file_size = INT64_MAX, .open_files = INT64_MAX };

	if (list_programs(&c, a, &c.programs, err) < 0 ||
	    list_shell_argv(&c, a, &c.shell_argv, err) < 0)
		return -1;
	*ret = c;
	return 0;
}

/* ---- one piece of memory ------------------------------------------------ */

/* Where the next list and the next text go.  Without memory it only counts. */
struct layout {
	char *memory;
	size_t lists, texts;
};

static const char *lay_text(struct layout *l, const char *text)
{
	size_t at = l->texts, n = strlen(text) + 1;

	l->texts += n;
	if (l->memory)
		memcpy(l->memory + at, text, n);
	return (const char *)at;
}

/* `hole`: a place that stays empty, or SIZE_MAX. */
static const char **lay_list(struct layout *l, const char *const *list, size_t hole)
{
	size_t at = l->lists;
	const char **to = l->memory ? (const char **)(void *)(l->memory + at) : NULL;

	for (size_t i = 0; list[i] || i == hole; i++) {
		const char *offset = i == hole ? NULL : lay_text(l, list[i]);

		if (to)
			to[i] = offset;
		l->lists += sizeof(char *);
	}
	l->lists += sizeof(char *);
	return (const char **)at;
}

/* shell_argv[1] is filled in by whoever executes. */
static struct native_command lay_out(struct layout *l, const struct native_command *c)
{
	struct native_command out = *c;

	l->lists = sizeof(out);
	out.argv = (const char *const *)lay_list(l, c->argv, SIZE_MAX);
	out.envp = (const char *const *)lay_list(l, c->envp, SIZE_MAX);
	out.programs = (const char *const *)lay_list(l, c->programs, SIZE_MAX);
	out.shell_argv = lay_list(l, (const char *const *)c->shell_argv, 1);
	out.cwd = lay_text(l, c->cwd);
	if (l->memory)
		memcpy(l->memory, &out, sizeof(out));
	return out;
}

static int open_block(const struct native_command *c, struct cordon_err *err)
{
	struct layout count = { .texts = 0 }, l;
	cleanup_fd int fd = -1;
	char *memory;
	ssize_t n;

	lay_out(&count, c);
	memory = calloc(1, count.lists + count.texts);
	if (!memory)
		return err_nomem(err);
	l = (struct layout){ .memory = memory, .texts = count.lists };
	lay_out(&l, c);
	fd = memfd_create("cordon-command", MFD_CLOEXEC);
	n = fd < 0 ? -1 : write(fd, memory, l.texts);
	explicit_bzero(memory, l.texts);
	free(memory);
	if (n != (ssize_t)l.texts)
		return err_sys(err, CORDON_E_SETUP, "cannot hand the command over");
	return fd_take(&fd);
}

/* From an offset behind the head to a pointer; NULL: it leads outside. */
static void *place(const void *offset, char *memory, size_t n)
{
	size_t at = (size_t)offset;

	return at < sizeof(struct native_command) || at >= n ? NULL : memory + at;
}

/* `hole`: as it was laid out. */
static const char **place_list(const void *offset, size_t hole, char *memory, size_t n)
{
	const char **list = (size_t)offset % sizeof(char *) ? NULL : place(offset, memory, n);

	for (size_t i = 0; list && (list[i] || i == hole); i++) {
		if (i == hole)
			continue;
		list[i] = place(list[i], memory, n);
		if (!list[i])
			return NULL;
	}
	return list;
}

const struct native_command *native_command_place(void *memory, size_t n)
{
	struct native_command *c = memory;

	/* All texts end inside: the last byte is the end of one. */
	if (n <= sizeof(*c) || ((char *)memory)[n - 1])
		return NULL;
	c->argv = (const char *const *)place_list(c->argv, SIZE_MAX, memory, n);
	c->envp = (const char *const *)place_list(c->envp, SIZE_MAX, memory, n);
	c->programs = (const char *const *)place_list(c->programs, SIZE_MAX, memory, n);
	c->shell_argv = place_list(c->shell_argv, 1, memory, n);
	c->cwd = place(c->cwd, memory, n);
	return c->argv && c->envp && c->programs && c->shell_argv && c->cwd ? c : NULL;
}

int native_command_send(const struct native_child *c, int id, const struct native_command *cmd,
			struct cordon_err *err)
{
	struct native_message m = { .kind = NATIVE_EXEC, .id = id };
	struct native_fds fds = NATIVE_NO_FDS;
	int rc, block = open_block(cmd, err);

	if (block < 0)
		return -1;
	fds.fd[NATIVE_BLOCK] = block;
	for (int i = 0; i < 3; i++)
		fds.fd[NATIVE_STREAM + i] = cmd->io.fd[i];
	rc = native_send_fds(c->control, &m, &fds, MSG_DONTWAIT);
	if (rc < 0)
		err_sys(err, CORDON_E_SETUP, "cannot hand the command to init");
	close(block);
	return rc;
}

/* Acts on files: P1. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/prove.h"

/* Does this file hold the canary? */
static int read_canary(const char *path, struct cordon_err *say)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n;

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "open");
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return err_sys(say, CORDON_E_SETUP, "read");
	text[n] = '\0';
	return strstr(text, PROVE_CANARY) ? 0 : err_set(say, CORDON_E_SETUP, "nothing in it");
}

static int append(const char *path, int flags, struct cordon_err *say)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "open");
	return write(fd, "x", 1) == 1 ? 0 : err_sys(say, CORDON_E_SETUP, "write");
}

/* Make it, and take it away again. */
static int create(const char *path, struct cordon_err *say)
{
	int rc = append(path, O_CREAT | O_EXCL, say);

	if (rc == 0)
		unlink(path);
	return rc;
}

static int read_outside(const struct prove_place *p, struct cordon_err *say)
{
	return read_canary(prove_path(p, "outside/canary"), say);
}

static int read_key(const struct prove_place *p, struct cordon_err *say)
{
	return read_canary(prove_path(p, "home/.ssh/id_canary"), say);
}

static int read_link(const struct prove_place *p, struct cordon_err *say)
{
	return read_canary(prove_path(p, "work/link"), say);
}

static int list_outside(const struct prove_place *p, struct cordon_err *say)
{
	DIR *d = opendir(prove_path(p, "outside"));

	if (!d)
		return err_sys(say, CORDON_E_SETUP, "opendir");
	closedir(d);
	return 0;
}

static int write_outside(const struct prove_place *p, struct cordon_err *say)
{
	return append(prove_path(p, "outside/target"), 0, say);
}

static int create_outside(const struct prove_place *p, struct cordon_err *say)
{
	return create(prove_path(p, "outside/new"), say);
}

static int chmod_outside(const struct prove_place *p, struct cordon_err *say)
{
	return chmod(prove_path(p, "outside/target"), 0640) == 0
		       ? 0
		       : err_sys(say, CORDON_E_SETUP, "chmod");
}

static int rename_outside(const struct prove_place *p, struct cordon_err *say)
{
	const char *from = prove_path(p, "outside/target"), *to = prove_path(p, "outside/moved");

	if (rename(from, to) < 0)
		return err_sys(say, CORDON_E_SETUP, "rename");
	return rename(to, from) == 0 ? 0 : err_sys(say, CORDON_E_SETUP, "rename");
}

static int link_outside(const struct prove_place *p, struct cordon_err *say)
{
	const char *to = prove_path(p, "work/hard");

	if (link(prove_path(p, "outside/canary"), to) < 0)
		return err_sys(say, CORDON_E_SETUP, "link");
	unlink(to);
	return 0;
}

static int create_protected(const struct prove_place *p, struct cordon_err *say)
{
	return create(prove_path(p, "work/.envrc"), say);
}

static int rename_to_protected(const struct prove_place *p, struct cordon_err *say)
{
	const char *from = prove_path(p, "work/innocent"), *to = prove_path(p, "work/.mcp.json");

	if (append(from, O_CREAT, say) < 0)
		return -1;
	if (rename(from, to) < 0) {
		err_sys(say, CORDON_E_SETUP, "rename");
		unlink(from);
		return -1;
	}
	unlink(to);
	return 0;
}

static int create_in_protected(const struct prove_place *p, struct cordon_err *say)
{
	return create(prove_path(p, "work/.git/hooks/post-checkout"), say);
}

static int write_protected(const struct prove_place *p, struct cordon_err *say)
{
	return append(prove_path(p, "work/.git/config"), 0, say);
}

static int make_device(const struct prove_place *p, struct cordon_err *say)
{
	const char *path = prove_path(p, "work/device");

	if (mknod(path, S_IFCHR | 0600, makedev(1, 3)) < 0)
		return err_sys(say, CORDON_E_SETUP, "mknod");
	unlink(path);
	return 0;
}

/* ---- what must work ----------------------------------------------------- */

static int write_workspace(const struct prove_place *p, struct cordon_err *say)
{
	const char *path = prove_path(p, "work/mine"), *other = prove_path(p, "work/renamed");

	if (append(path, O_CREAT, say) < 0)
		return -1;
	if (chmod(path, 0600) < 0 || rename(path, other) < 0 || unlink(other) < 0)
		return err_sys(say, CORDON_E_SETUP, "chmod, rename, unlink");
	return 0;
}

static int read_system(const struct prove_place *p, struct cordon_err *say)
{
	DIR *d = opendir("/usr/bin");
	struct dirent *e = d ? readdir(d) : NULL;

	(void)p;
	if (!e)
		err_sys(say, CORDON_E_SETUP, "opendir");
	if (d)
		closedir(d);
	return e ? 0 : -1;
}

static int write_temp(const struct prove_place *p, struct cordon_err *say)
{
	char name[] = "/tmp/cordon-prove-temp-XXXXXX";
	cleanup_fd int fd = mkostemp(name, O_CLOEXEC);

	(void)p;
	if (fd < 0)
		return err_sys(say, CORDON_E_SETUP, "mkostemp");
	unlink(name);
	return 0;
}

static int read_protected(const struct prove_place *p, struct cordon_err *say)
{
	return read_canary(prove_path(p, "work/.git/config"), say);
}

const struct probe probes_files[] = {
	{ "P1", PROBE_REFUSED, "read-outside", "read a file outside the roots", read_outside,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "list-outside", "list a directory outside the roots", list_outside,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "read-link", "read through a link that leads out", read_link,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "link-outside", "make a hard link to a file outside", link_outside,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "write-outside", "write to a file outside", write_outside, { 0 } },
	{ "P1", PROBE_REFUSED, "create-outside", "create a file outside", create_outside, { 0 } },
	{ "P1", PROBE_REFUSED, "chmod-outside", "change the mode of a file outside", chmod_outside,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "rename-outside", "rename a file outside", rename_outside, { 0 } },
	{ "P1", PROBE_REFUSED, "create-protected", "create a protected name", create_protected,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "rename-protected", "rename to a protected name",
	  rename_to_protected, { 0 } },
	{ "P1", PROBE_REFUSED, "create-hook", "create a hook in .git", create_in_protected,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "write-protected", "write to a protected file", write_protected,
	  { 0 } },
	{ "P1", PROBE_REFUSED, "mknod", "make a device node", make_device, { 0 } },
	{ "P1", PROBE_ADMITTED, "write-workspace", "write, rename, remove in the workspace",
	  write_workspace, { 0 } },
	{ "P1", PROBE_ADMITTED, "read-protected", "read a protected file", read_protected, { 0 } },
	{ "P1", PROBE_ADMITTED, "read-usr", "read /usr", read_system, { 0 } },
	{ "P1", PROBE_ADMITTED, "write-temp", "write to a private /tmp", write_temp, { 0 } },
	{ "P5", PROBE_REFUSED, "read-key", "read a key in HOME/.ssh", read_key, { 0 } },
	{ 0 },
};

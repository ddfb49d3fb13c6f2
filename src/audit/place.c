/* Where the log is; see place.h.
 *
 * Commands of earlier runs may have written wherever a root of theirs was: what
 * stands at the place is looked at before anything is added to it.
 */
#include "audit/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* ---- the folder ---------------------------------------------------------- */

/* Is the nearest folder that is there ours, or the machine's? */
static bool is_ours(const char *path)
{
	char text[MAX_AUDIT_PATH];
	struct stat st;
	char *slash;

	snprintf(text, sizeof(text), "%s", path);
	while (stat(text, &st) < 0) {
		slash = strrchr(text, '/');
		if (!slash || slash == text)
			return true;
		*slash = '\0';
	}
	return st.st_uid == geteuid() || st.st_uid == 0;
}

struct place {
	const char *base, *below;
	bool is_made;		/* a home is not ours to make */
};

static struct place place_at(const struct audit_homes *homes, size_t i)
{
	const struct place places[N_AUDIT_FOLDERS] = {
		{ homes->state, "cordon", true },
		{ homes->home, ".local/state/cordon", false },
		{ homes->own_home, ".local/state/cordon", false },
	};

	return places[i];
}

bool audit_folder_at(const struct audit_homes *homes, size_t i, char ret[MAX_AUDIT_PATH])
{
	struct place p = place_at(homes, i);

	/* A relative one is to be ignored: XDG Base Directory Specification. */
	if (!p.base || p.base[0] != '/' || strlen(p.base) >= MAX_AUDIT_PATH - 64)
		return false;
	snprintf(ret, MAX_AUDIT_PATH, "%s/%s", p.base, p.below);
	return true;
}

bool audit_find_folder(const struct audit_homes *homes, char ret[MAX_AUDIT_PATH])
{
	for (size_t i = 0; i < N_AUDIT_FOLDERS; i++) {
		struct place p = place_at(homes, i);

		if (audit_folder_at(homes, i, ret) && is_ours(p.base) &&
		    (p.is_made || access(p.base, F_OK) == 0))
			return true;
	}
	return false;
}

static int make_folders(const char *folder, struct cordon_err *err)
{
	char text[MAX_AUDIT_PATH];

	snprintf(text, sizeof(text), "%s", folder);
	for (char *at = strchr(text + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(text, 0700);
		*at = '/';
	}
	if (mkdir(text, 0700) < 0 && errno != EEXIST)
		return err_sys(err, CORDON_E_SETUP, "cannot make '%s'", folder);
	return 0;
}

int audit_folder_get(const char *folder, bool make, struct cordon_err *err)
{
	const int how = O_PATH | O_DIRECTORY | O_NOFOLLOW;
	cleanup_fd int fd = open(folder, how | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && make) {
		if (make_folders(folder, err) < 0)
			return -1;
		fd = open(folder, how | O_CLOEXEC);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", folder);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(err, CORDON_E_SETUP,
			       "'%s' is not a folder that this user alone can write", folder);
	return fd_take(&fd);
}

/* ---- the file ------------------------------------------------------------ */

static int check_file(const char *shown, const struct stat *st, struct cordon_err *err)
{
	if (!S_ISREG(st->st_mode))
		return 0;
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return err_set(err, CORDON_E_SETUP, "'%s' belongs to another user", shown);
	/* The other name may be any file of this user. */
	if (st->st_nlink != 1)
		return err_set(err, CORDON_E_SETUP, "'%s' has another name as well", shown);
	return 0;
}

/* Nothing that ran can have made a link there. */
static bool is_trusted(const char *name)
{
	return strncmp(name, "/dev/", 5) == 0 || strncmp(name, "/proc/", 6) == 0;
}

static int refuse_link(const char *shown, struct cordon_err *err)
{
	return err_set(err, CORDON_E_SETUP, "'%s' is a link", shown);
}

/* Nothing is ever waited for. */
#define APPEND	(O_APPEND | O_NONBLOCK | O_NOCTTY)

/* A file is opened to be read as well: its last line may have been cut short. */
static int open_regular(int dir, const char *name, int follow)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | APPEND | follow | O_CLOEXEC, 0600);

	return fd >= 0 || errno != EACCES
		       ? fd
		       : openat(dir, name, O_WRONLY | APPEND | follow | O_CLOEXEC);
}

static int open_at(int dir, const char *name, const char *shown, struct audit_file *ret,
		   struct cordon_err *err)
{
	bool trusted = is_trusted(name);
	int follow = trusted ? 0 : O_NOFOLLOW;
	cleanup_fd int fd = -1;
	struct stat st;
	bool is_there = fstatat(dir, name, &st, trusted ? 0 : AT_SYMLINK_NOFOLLOW) == 0;

	if (is_there && S_ISLNK(st.st_mode))
		return refuse_link(shown, err);
	/* A pipe must not be opened to be read: its reader would see its end. */
	if (is_there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		fd = openat(dir, name, O_WRONLY | APPEND | follow | O_CLOEXEC);
	else
		fd = open_regular(dir, name, follow);
	if (fd < 0 && errno == ENXIO)
		return err_set(err, CORDON_E_SETUP, "nobody reads from '%s'", shown);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", shown);
	if (check_file(shown, &st, err) < 0)
		return -1;
	*ret = (struct audit_file){ fd_take(&fd), S_ISREG(st.st_mode) };
	return 0;
}

int audit_folder_open(const char *folder, struct audit_file *ret, struct cordon_err *err)
{
	cleanup_fd int dir = audit_folder_get(folder, true, err);
	char shown[MAX_AUDIT_PATH + 16];

	if (dir < 0)
		return -1;
	snprintf(shown, sizeof(shown), "%s/" AUDIT_FILE_NAME, folder);
	return open_at(dir, AUDIT_FILE_NAME, shown, ret, err);
}

int audit_file_open(const char *path, struct audit_file *ret, struct cordon_err *err)
{
	return open_at(AT_FDCWD, path, path, ret, err);
}

/* Where it is not there it would be made. */
static int check_folder_of(const char *path, struct cordon_err *err)
{
	const char *slash = strrchr(path, '/');
	char folder[MAX_AUDIT_PATH];

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	if (slash && !slash[1])
		errno = EISDIR;
	else if (access(folder, W_OK | X_OK) == 0)
		return 0;
	return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", path);
}

int audit_file_check(const char *path, struct cordon_err *err)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, is_trusted(path) ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return check_folder_of(path, err);
	if (S_ISLNK(st.st_mode))
		return refuse_link(path, err);
	if (S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (access(path, W_OK) == 0)
		return check_file(path, &st, err);
	return err_sys(err, CORDON_E_SETUP, "cannot open '%s'", path);
}

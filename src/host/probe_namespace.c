/* Acts inside namespaces: mounts, /proc, loopback, host name, overlay.
 *
 * Each runs in a child whose namespaces are proved to be its own (child.c).
 */
#include "host/probe_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/syscalls.h"

int try_userns(struct cordon_err *say)
{
	/* That the maps were written is the proof: the kernel asks for a capability
	 * in the new namespace, which AppArmor's restriction takes away. */
	say_found(say, "maps uid %u to itself", geteuid());
	return 0;
}

/* Mounts made from here on stay in this mount namespace; in one that belongs to
 * another user namespace they would anyway, for real root they would not. */
static int make_private(struct cordon_err *say)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(say, CORDON_E_HOST, "cannot make mounts private");
	return 0;
}

static int new_tmpfs(int *ret_fd, struct cordon_err *say)
{
	cleanup_fd int fs = sys_fsopen("tmpfs");
	int fd;

	if (fs < 0)
		return err_sys(say, CORDON_E_HOST, "fsopen of a tmpfs");
	if (sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", "1M") < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return err_sys(say, CORDON_E_HOST, "fsconfig of a tmpfs");
	fd = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fd < 0)
		return err_sys(say, CORDON_E_HOST, "fsmount of a tmpfs");
	*ret_fd = fd;
	return 0;
}

/* Any directory will do: it is covered in this namespace only. */
static int cover_somewhere(int fd, struct cordon_err *say)
{
	static const char *const places[] = { "/tmp", "/mnt", "/usr", "/proc" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (sys_move_mount(fd, "", AT_FDCWD, places[i], MOVE_MOUNT_F_EMPTY_PATH) == 0)
			return 0;
		if (errno != ENOENT && errno != ENOTDIR)
			break;
	}
	return err_sys(say, CORDON_E_HOST, "move_mount of a tmpfs");
}

static int prove_read_only(int fd, struct cordon_err *say)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (mkdirat(fd, "before", 0700) < 0)
		return err_sys(say, CORDON_E_HOST, "cannot write to a tmpfs of its own");
	if (sys_mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return err_sys(say, CORDON_E_HOST, "mount_setattr of a tmpfs");
	if (mkdirat(fd, "after", 0700) == 0 || errno != EROFS)
		return err_set(say, CORDON_E_HOST, "a tmpfs made read-only can still be written");
	return 0;
}

int try_mount(struct cordon_err *say)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	cleanup_fd int tmpfs = -1;
	cleanup_fd int tree = -1;

	if (make_private(say) < 0 || new_tmpfs(&tmpfs, say) < 0 ||
	    cover_somewhere(tmpfs, say) < 0 || prove_read_only(tmpfs, say) < 0)
		return -1;
	tree = sys_open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return err_sys(say, CORDON_E_HOST, "open_tree of a copy of /");
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return err_sys(say, CORDON_E_HOST, "mount_setattr of a copy of /");
	say_found(say, "a tree of its own, read-only recursively");
	return 0;
}

int try_pid(struct cordon_err *say)
{
	char self[16] = "";

	if (make_private(say) < 0)
		return -1;
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return err_sys(say, CORDON_E_HOST, "mounting a /proc of its own");
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || strcmp(self, "1") != 0)
		return err_set(say, CORDON_E_HOST, "the new /proc shows other processes");
	say_found(say, "its first process is pid 1, with a /proc of its own");
	return 0;
}

int try_net(struct cordon_err *say)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0)
		return err_sys(say, CORDON_E_HOST, "a socket in a network namespace");
	if (ioctl(fd, SIOCGIFFLAGS, &lo) < 0)
		return err_sys(say, CORDON_E_HOST, "looking at lo in a network namespace");
	lo.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return err_sys(say, CORDON_E_HOST, "bringing lo up in a network namespace");
	if (ioctl(fd, SIOCGIFFLAGS, &lo) < 0 || !(lo.ifr_flags & IFF_UP))
		return err_set(say, CORDON_E_HOST, "lo does not come up in a network namespace");
	say_found(say, "only its own loopback, which comes up");
	return 0;
}

int try_ipc(struct cordon_err *say)
{
	(void)say;	/* that the namespace is another one was proved before */
	return 0;
}

int try_uts(struct cordon_err *say)
{
	char name[16] = "";

	if (sethostname("cordon", 6) < 0)
		return err_sys(say, CORDON_E_HOST, "setting a host name");
	if (gethostname(name, sizeof(name)) < 0 || strcmp(name, "cordon") != 0)
		return err_set(say, CORDON_E_HOST, "a host name that was set does not hold");
	return 0;
}

/* Acts that concern one process: filters, Landlock, counters. */
#include "host/probe_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"

static int no_new_privs(struct cordon_err *say)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(say, CORDON_E_HOST, "giving up new privileges");
	return 0;
}

int try_seccomp(struct cordon_err *say)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ESTALE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	if (no_new_privs(say) < 0)
		return -1;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return err_sys(say, CORDON_E_HOST, "installing a seccomp filter");
	if (syscall(SYS_getpgid, 0) >= 0 || errno != ESTALE)
		return err_set(say, CORDON_E_HOST, "a filter was installed and does not hold");
	say_found(say, "a filter was installed and holds");
	return 0;
}

int try_notify(struct cordon_err *say)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { ARRAY_SIZE(code), code };
	struct seccomp_notif_sizes sizes;
	cleanup_fd int fd = -1;

	if (no_new_privs(say) < 0)
		return -1;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return err_sys(say, CORDON_E_HOST, "asking for the sizes of notifications");
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			  SECCOMP_FILTER_FLAG_NEW_LISTENER |
				  SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
	if (fd < 0)
		return err_sys(say, CORDON_E_HOST, "installing a filter with a listener");
	say_found(say, "a listener was installed; calls wait killably");
	return 0;
}

int landlock_abi(struct cordon_err *why)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0) {
		err_sys(why, CORDON_E_HOST, "asking for Landlock's ABI");
		return 0;
	}
	return (int)abi;
}

int try_landlock(struct cordon_err *say)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_DIR };
	int abi = landlock_abi(say);
	cleanup_fd int ruleset = -1;
	cleanup_fd int root = -1;

	if (!abi || no_new_privs(say) < 0)
		return -1;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return err_sys(say, CORDON_E_HOST, "making a Landlock ruleset");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_sys(say, CORDON_E_HOST, "entering a Landlock ruleset");
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 || errno != EACCES)
		return err_set(say, CORDON_E_HOST, "a ruleset was entered and does not hold");
	say_found(say, "ABI %d", abi);
	return 0;
}

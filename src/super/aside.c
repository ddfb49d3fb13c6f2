/* Processes beside the supervisor; see aside.h. */
#include "super/aside.h"

#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/syscalls.h"

int aside_keep_only(const int *fds, size_t n, struct cordon_err *err)
{
	unsigned from = 0;

	for (;;) {
		unsigned next = UINT_MAX;

		for (size_t i = 0; i < n; i++)
			if (fds[i] >= 0 && (unsigned)fds[i] >= from && (unsigned)fds[i] < next)
				next = (unsigned)fds[i];
		if (next > from && sys_close_range(from, next == UINT_MAX ? next : next - 1) < 0)
			return err_sys(err, CORDON_E_HOST, "cannot close descriptors");
		if (next == UINT_MAX)
			return 0;
		from = next + 1;
	}
}

int aside_detach(const char *name, const int *fds, size_t n, struct cordon_err *err)
{
	struct rlimit no_core = { 0, 0 };
	sigset_t all;

	/* One call instead of one for each; whoever waits for a signal lets it in. */
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || setrlimit(RLIMIT_CORE, &no_core) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_NAME, name) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot prepare %s", name);
	return aside_keep_only(fds, n, err);
}

int aside_bind(pid_t parent, struct cordon_err *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot bind a process to its parent");
	if (getppid() != parent)
		return err_set(err, CORDON_E_SETUP, "the supervisor is gone");
	return 0;
}

int aside_set_caps(uint64_t caps, struct cordon_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (int i = 0; i < 2; i++)
		data[i].permitted = data[i].effective = (uint32_t)(caps >> (32 * i));
	if (syscall(SYS_capset, &head, data) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot set capabilities");
	return 0;
}

int aside_enter_userns(int userns, uint64_t caps, struct cordon_err *err)
{
	if (userns >= 0 && setns(userns, CLONE_NEWUSER) < 0)
		return err_sys(err, CORDON_E_HOST,
			       "cannot enter the user namespace of the tree, which must be the"
			       " caller's own");
	return aside_set_caps(caps, err);
}

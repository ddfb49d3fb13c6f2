/* The network namespace, made while init mounts; runs in init.
 *
 * It takes the kernel longer to make than all other namespaces together, and
 * nothing but the network waits for it: so a second task makes it, on another
 * CPU where there is one, and init goes over to it when it gets there.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/native/init_priv.h"
#include "backend/native/syscalls.h"

/* Shares init's memory and descriptors, and so its errno: it makes no call that
 * fails unless the run does. */
static int make_main(void *arg)
{
	struct init *in = arg;
	int fd = unshare(CLONE_NEWNET) < 0 ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* Not from /proc, over which the masks hang meanwhile. */
	in->netns = fd < 0 ? -1 : ioctl(fd, SIOCGSKNS);
	if (in->netns < 0)
		in->netns_error = errno;
	if (fd >= 0)
		close(fd);
	_exit(0);
}

int step_begin_network(struct init *in, struct cordon_err *err)
{
	static char stack[16 << 10] __attribute__((aligned(16)));

	if (!(in->plan->clone_flags & CLONE_NEWNET))
		return 0;
	in->netns_maker = clone(make_main, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
				in);
	return in->netns_maker < 0
		       ? err_sys(err, CORDON_E_SETUP, "cannot start making the network namespace")
		       : 0;
}

int step_enter_network(struct init *in, struct cordon_err *err)
{
	int rc;

	if (!(in->plan->clone_flags & CLONE_NEWNET) || in->in_network)
		return 0;
	while ((rc = waitpid(in->netns_maker, NULL, 0)) < 0 && errno == EINTR)
		;
	if (rc >= 0)
		errno = in->netns_error;
	if (rc < 0 || in->netns < 0)
		return err_sys(err, CORDON_E_HOST,
			       "cannot make the network namespace; cordon doctor says what to do");
	if (setns(in->netns, CLONE_NEWNET) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot enter the network namespace");
	close(in->netns);
	in->in_network = true;
	return 0;
}

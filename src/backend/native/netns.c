/* The network namespace, made while init mounts; runs in init.
 *
 * It takes the kernel longer to make than all other namespaces together, and
 * only the network and /proc wait for it: so where a CPU is idle a second task makes it, and
 * them, and init goes over to it when it gets there.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/native/init_priv.h"
#include "backend/native/quiet.h"
#include "base/cpus.h"
#include "base/syscalls.h"
#include "plan/net_inside.h"

static bool mounts_proc(const struct init *in)
{
	for (size_t i = 0; i < in->n_mounts; i++)
		if (in->mounts[i].kind == MOUNT_PROC)
			return true;
	return false;
}

/* The namespace as a descriptor, with its loopback up unless there is more to set
 * up; or -errno. */
static int make_netns(const struct init *in)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd, netns;
	long rc;

	rc = in->in_network ? 0 : QUIET1(unshare, CLONE_NEWNET);
	fd = (int)(rc < 0 ? rc : QUIET3(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return fd;
	rc = net_has_gate(&in->plan->net) ? 0 : QUIET3(ioctl, fd, SIOCSIFFLAGS, &ifr);
	/* Not from /proc, over which the masks hang meanwhile. */
	netns = (int)(rc < 0 ? rc : QUIET2(ioctl, fd, SIOCGSKNS));
	QUIET1(close, fd);
	return netns;
}

/* Shares init's memory and descriptors, and so its errno, which it leaves alone. */
static int make_main(void *arg)
{
	struct init *in = arg;
	int netns = make_netns(in);

	if (netns < 0) {
		in->made.error = -netns;
	} else {
		in->netns = netns;
		if (mounts_proc(in))
			make_proc(in);
	}
	ask_for_grants(in);
	_exit(0);
}

static int say_unmade(struct cordon_err *err)
{
	return err_sys(err, CORDON_E_HOST,
		       "cannot make the network namespace; cordon doctor says what to do");
}

/* By init itself; /proc when its turn comes. */
static int make_alone(struct init *in, struct cordon_err *err)
{
	int netns = make_netns(in);

	if (netns < 0) {
		errno = -netns;
		return say_unmade(err);
	}
	close(netns);
	in->in_network = true;
	ask_for_grants(in);
	return 0;
}

int step_begin_network(struct init *in, struct cordon_err *err)
{
	static char stack[16 << 10] __attribute__((aligned(16)));

	if (!(in->plan->clone_flags & CLONE_NEWNET)) {
		ask_for_grants(in);
		return 0;
	}
	/* Behind others the second task would begin when it is waited for. */
	if (!in->has_idle_cpu)
		return make_alone(in, err);
	in->netns_maker = clone(make_main, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
				in);
	if (in->netns_maker < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot start making the network namespace");
	cpus_part(&in->cpus, in->netns_maker);
	return 0;
}

int check_made(const struct init *in, struct cordon_err *err)
{
	if (!in->made.error)
		return 0;
	errno = in->made.error;
	return err_sys(err, CORDON_E_SETUP, "%s%s", in->made.what, in->made.path);
}

int step_enter_network(struct init *in, struct cordon_err *err)
{
	int rc;

	if (!(in->plan->clone_flags & CLONE_NEWNET) || !in->netns_maker)
		return 0;
	ask_for_grants(in);
	while ((rc = waitpid(in->netns_maker, NULL, 0)) < 0 && errno == EINTR)
		;
	in->netns_maker = 0;
	if (rc >= 0)
		errno = in->made.error;
	if (rc < 0 || in->netns < 0)
		return say_unmade(err);
	if (!in->in_network && setns(in->netns, CLONE_NEWNET) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot enter the network namespace");
	close(in->netns);
	in->in_network = true;
	return check_made(in, err);
}

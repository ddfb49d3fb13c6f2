/* The process that calls; see caller.h. */
#include "super/caller.h"

#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"

void caller_init(struct caller *c)
{
	*c = (struct caller){ .dumpable = prctl(PR_GET_DUMPABLE) == 1 };
	sigaction(SIGCHLD, NULL, &c->on_child);
	sigaction(SIGPIPE, NULL, &c->on_pipe);
	sigaction(SIGXFSZ, NULL, &c->on_file_size);
	sigprocmask(SIG_BLOCK, NULL, &c->mask);
}

/* In a user namespace of an ordinary user root's groups are that user's, and
 * nobody can leave them. */
static bool is_root_of_a_user(void)
{
	cleanup_fd int fd = open("/proc/self/setgroups", O_RDONLY | O_CLOEXEC);
	char text[4];

	return fd >= 0 && read(fd, text, sizeof(text)) == 4 && memcmp(text, "deny", 4) == 0;
}

int caller_leave_groups(struct caller *c, struct cordon_err *err)
{
	int n = getgroups(0, NULL);

	if (n <= 0)
		return 0;
	c->groups = calloc((size_t)n, sizeof(*c->groups));
	if (!c->groups)
		return err_nomem(err);
	c->n_groups = getgroups(n, c->groups);
	if (c->n_groups == n && setgroups(0, NULL) == 0)
		return 0;
	free(c->groups);
	c->groups = NULL;
	if (is_root_of_a_user())
		return 0;
	return err_sys(err, CORDON_E_SETUP, "cannot leave the caller's groups");
}

void caller_release(struct caller *c)
{
	if (c->groups)
		(void)!setgroups((size_t)c->n_groups, c->groups);
	free(c->groups);
	c->groups = NULL;
	sigaction(SIGCHLD, &c->on_child, NULL);
	sigaction(SIGPIPE, &c->on_pipe, NULL);
	sigaction(SIGXFSZ, &c->on_file_size, NULL);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	prctl(PR_SET_DUMPABLE, c->dumpable);
}

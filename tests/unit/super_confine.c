/* A supervisor that is confined: what it gave up is tried, by the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "super/confine.h"
#include "tap.h"

static char name[] = "true";
static char *const argv[] = { name, NULL };

enum { EXECUTED = 1, FAILED_OTHERWISE, NO_CHILD, NOT_OPENED, NO_SOCKET, NOT_CONFINED, HAS_KEYS };

static int try_all(void)
{
	struct open_how how = { .flags = O_PATH };
	struct cordon_err err;
	int status;
	pid_t pid;

	if (confine_self(&err) < 0)
		return NOT_CONFINED;
	execve("/bin/true", argv, environ);
	if (errno != EPERM)
		return FAILED_OTHERWISE;
	if (syscall(SYS_keyctl, 0, -3, 0) != -1 || errno != ENOSYS)
		return HAS_KEYS;
	if (syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how)) < 0)
		return NOT_OPENED;
	if (socket(AF_NETLINK, SOCK_RAW, 0) < 0)
		return NO_SOCKET;
	pid = fork();
	if (pid == 0) {
		execve("/bin/true", argv, environ);
		_exit(errno == EPERM ? 7 : EXECUTED);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 7 << 8)
		return NO_CHILD;
	return 0;
}

static void test_what_is_given_up_is_gone(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(try_all());
	is_int(waitpid(pid, &status, 0), pid, "it ended");
	is_int(status, 0, "it executes nothing, nor do its children; the rest works");
}

static void test_the_caller_is_not_confined(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execve("/bin/true", argv, environ);
		_exit(1);
	}
	is_int(waitpid(pid, &status, 0), pid, "it ended");
	is_int(status, 0, "who is not confined executes it");
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_what_is_given_up_is_gone),
					    TAP(test_the_caller_is_not_confined), TAP_END });
}

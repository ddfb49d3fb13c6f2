/* What a supervisor gives up; see confine.h.
 *
 * It reads what hostile programs and hosts send (the gate), with all rights of the caller: who
 * finds a way into it shall find little to go on with.
 */
#include "super/confine.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "plan/seccomp.h"

int confine_self(struct cordon_err *err)
{
	const struct seccomp_options o = { .supervisor = true };
	struct arena_room room = { 0 };
	cleanup_arena struct arena arena = ARENA_IN(&room, 1u << 20);
	struct sock_filter *filter;
	struct sock_fprog program;
	size_t n;

	if (seccomp_compile(&o, &arena, &filter, &n, err) < 0)
		return -1;
	program = (struct sock_fprog){ .len = (unsigned short)n, .filter = filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot confine the supervisor");
	return 0;
}

/* See signals.h. */
#include "base/signals.h"

#include <signal.h>

#include "base/macros.h"

void signal_command(pid_t command, int signal)
{
	/* The last is that of a limit, which all have used up together. */
	static const int for_all[] = { SIGINT,	SIGTERM, SIGHUP,   SIGQUIT, SIGKILL, SIGTSTP,
				       SIGSTOP, SIGCONT, SIGWINCH, SIGXCPU };

	for (size_t i = 0; i < ARRAY_SIZE(for_all); i++)
		if (for_all[i] == signal)
			command = -command;
	kill(command, signal);
}

void signals_ignore_writes(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

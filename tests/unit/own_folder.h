/* A folder of its own for a case, which is a process of its own. */
#ifndef TEST_OWN_FOLDER_H
#define TEST_OWN_FOLDER_H

#include <fcntl.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "tap.h"

static char top[64];		/* its path */
static int place = -1;

static void remove_folder(void)
{
	struct cordon_err ignored;

	(void)!folder_clear(place, &ignored);
	rmdir(top);
}

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(top, sizeof(top), "%.40s/cordon-unit-XXXXXX", tmp ? tmp : "/tmp");
	place = mkdtemp(top) ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (!ok(place >= 0 && fchdir(place) == 0, "a place"))
		exit(1);
	atexit(remove_folder);
}

#endif

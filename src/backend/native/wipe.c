/* Taking what the caller's memory held out of init's; runs in init.
 *
 * init is a copy of the supervisor, and where executions are judged, each command
 * of a session starts as a copy of init that anybody inside may look into.  So
 * init of such a session gives up all memory but its code, its static data, its
 * stack and what the C library keeps of the thread: nothing is allocated here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/native/init_priv.h"

#define PAGE		((uintptr_t)4096)
#define MAX_MAPS	(64u << 10)
#define STALE_STACK	(192u << 10)	/* more than any call before has used */
#define THREAD_BYTES	3072		/* of the C library from the thread pointer on; 2304 are */

extern char _end[];		/* of the program's static data: by the linker */

/* One line of maps(5), as far as it is of use. */
struct mapping {
	uintptr_t begin, end;
	bool is_file, is_written, is_stack, is_heap;
};

static bool parse_mapping(const char *line, struct mapping *ret)
{
	unsigned long begin, end, inode;
	char rights[5];

	if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &begin, &end, rights, &inode) != 4)
		return false;
	*ret = (struct mapping){ begin, end, inode != 0, rights[1] == 'w' && rights[3] == 'p',
				 strstr(line, "[stack]") != NULL,
				 strstr(line, "[heap]") != NULL };
	return true;
}

/* Pages of the C library's own stay: what it keeps of the thread lies around the thread
 * pointer.  In a static program that is the beginning of the heap, and what was allocated
 * first lies behind it. */
static int drop(const struct mapping *m)
{
	uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
	uintptr_t kept_begin = (thread & ~(PAGE - 1)) - PAGE, kept_end = kept_begin + 3 * PAGE;

	if (kept_end <= m->begin || kept_begin >= m->end)
		return madvise((void *)m->begin, m->end - m->begin, MADV_DONTNEED);
	if (kept_begin > m->begin &&
	    madvise((void *)m->begin, kept_begin - m->begin, MADV_DONTNEED) < 0)
		return -1;
	if (m->is_heap && m->end > thread + THREAD_BYTES)
		explicit_bzero((void *)(thread + THREAD_BYTES),
			       MIN(kept_end, m->end) - thread - THREAD_BYTES);
	if (kept_end < m->end)
		return madvise((void *)kept_end, m->end - kept_end, MADV_DONTNEED);
	return 0;
}

/* Behind a program's data from its file lies the rest of it, and behind that, in the same
 * mapping, what was mapped there by chance. */
static void skip_static(struct mapping *m, const struct mapping *before)
{
	uintptr_t end = ((uintptr_t)_end + PAGE - 1) & ~(PAGE - 1);

	if (!before->is_file || !before->is_written || before->end != m->begin)
		return;
	m->begin = end > m->begin && end < m->end ? end : m->end;
}

static int read_maps(char *text, size_t size)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	while (fd >= 0 && n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	return n > 0 && n < size - 1 ? 0 : -1;
}

/* What earlier calls have left below the present one. */
static __attribute__((noinline)) void wipe_stack(void)
{
	char stale[STALE_STACK];

	explicit_bzero(stale, sizeof(stale));
}

int wipe_memory(struct init *in, struct cordon_err *err)
{
	static char text[MAX_MAPS];
	static struct plan plan;
	/* Something that is known to lie where the rest does. */
	const unsigned char *was = (const unsigned char *)in->plan->filter;
	size_t n_was = in->plan->n_filter * sizeof(*in->plan->filter);
	struct mapping m, at, before = { .end = 0 };
	unsigned left = 0;

	/* Numbers and flags are all that is needed of it from here on. */
	plan = (struct plan){ .clone_flags = in->plan->clone_flags, .session = true,
			      .n_rules = in->plan->n_rules };
	if (read_maps(text, sizeof(text)) < 0)
		return err_sys(err, CORDON_E_SETUP, "cannot read the map of init's memory");
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!parse_mapping(line, &m))
			return err_set(err, CORDON_E_SETUP, "cannot read the map of init's memory");
		at = m;
		skip_static(&at, &before);
		if (m.is_written && !m.is_file && !m.is_stack && at.begin < at.end && drop(&at) < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot give memory up");
		before = m;
	}
	in->plan = &plan;
	wipe_stack();
	for (size_t i = 0; i < n_was; i++)
		left |= was[i];
	return left || !n_was ? err_set(err, CORDON_E_SETUP, "init's memory is still there") : 0;
}

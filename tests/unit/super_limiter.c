/* Limits of live trees: hogs are caught, the innocent are not, nothing is left.
 *
 * What runs in a tree is bounded in memory (under 1 GiB) and ends by itself.
 *
 * weight: 5/12
 */
#include <dirent.h>
#include <pthread.h>
#include <time.h>

#include "base/limits.h"
#include "limiter_tree.h"

/* --- memory ------------------------------------------------------------------- */

static void hog_anonymous(void)
{
	touch(map_bytes(512 * MB, MAP_PRIVATE), 512 * MB);
	rest_ms(5000);
}

static void hog_from_four(void)
{
	for (int i = 0; i < 4; i++) {
		if (fork() == 0) {
			touch(map_bytes(128 * MB, MAP_PRIVATE), 128 * MB);
			rest_ms(5000);
			_exit(0);
		}
	}
	rest_ms(5000);
}

static void hog_shared(void)
{
	touch(map_bytes(512 * MB, MAP_SHARED), 512 * MB);
	rest_ms(5000);
}

static void hog_tmpfs(void)
{
	static char block[1 << 16];
	int fd = open("/tmp/hog", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 256 * 16 && write(fd, block, sizeof(block)) > 0; i++)
		shared->touched += sizeof(block);
	rest_ms(5000);
}

static void hog_page_tables(void)
{
	int64_t size = 64LL << 30;
	volatile char *p = mmap(NULL, (size_t)size, PROT_READ,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		_exit(93);
	madvise((void *)(uintptr_t)p, (size_t)size, MADV_NOHUGEPAGE);
	for (int64_t at = 0; at < size; at += 2 * MB) {
		(void)p[at];
		shared->touched += 4096;
	}
	rest_ms(5000);
}

static void test_sweep_catches_a_hog(void)
{
	struct tree t = { .run = hog_anonymous, .limits = memory_limit(64 * MB) };

	run_hog(&t);
	is_caught(&t, LIMIT_MEMORY);
	overshoot_is_small(&t);
	ok(t.usage.max_rss_kb > 64 * 1024, "what was seen is in the usage");
	ok(!t.usage.oom_killed, "the kernel did not");
}

static void test_sweep_adds_processes_up(void)
{
	struct tree t = { .run = hog_from_four, .limits = memory_limit(200 * MB) };

	run_hog(&t);
	is_caught(&t, LIMIT_MEMORY);
	/* Looking in proportion takes longer where all CPUs are busy with hogs. */
	ok(shared->touched < 400 * MB, "%lld MB", (long long)(shared->touched / MB));
}

static void test_sweep_catches_shared_memory(void)
{
	struct tree t = { .run = hog_shared, .limits = memory_limit(64 * MB) };

	run_hog(&t);
	is_caught(&t, LIMIT_MEMORY);
	overshoot_is_small(&t);
}

static void test_sweep_catches_tmpfs(void)
{
	struct tree t = { .run = hog_tmpfs, .limits = memory_limit(64 * MB),
			  .counts_tmpfs = true };

	run_hog(&t);
	is_caught(&t, LIMIT_MEMORY);
	overshoot_is_small(&t);
}

static void test_sweep_catches_page_tables(void)
{
	struct tree t = { .run = hog_page_tables, .limits = memory_limit(64 * MB) };

	run_hog(&t);
	is_caught(&t, LIMIT_MEMORY);
	overshoot_is_small(&t);
}

static void map_tmpfs_file(void)
{
	int fd = open("/tmp/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char *p;

	if (ftruncate(fd, 128 * MB) < 0)
		_exit(94);
	p = mmap(NULL, 128 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		_exit(93);
	touch(p, 128 * MB);
	rest_ms(300);
}

static void test_sweep_counts_a_mapped_tmpfs_file_once(void)
{
	struct tree t = { .run = map_tmpfs_file, .limits = memory_limit(200 * MB),
			  .counts_tmpfs = true };

	run_tree(&t);
	is_innocent(&t);
	ok(t.usage.max_rss_kb >= 128 * 1024, "it was seen: %lld kB",
	   (long long)t.usage.max_rss_kb);
}

static char *inherited;

static void share_between_four(void)
{
	inherited = map_bytes(300 * MB, MAP_PRIVATE);
	touch(inherited, 300 * MB);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			rest_ms(5000);
			_exit(0);
		}
	}
	rest_ms(400);
}

static void copy_what_is_shared(void)
{
	share_between_four();
	touch(inherited, 300 * MB);
	rest_ms(5000);
}

static void test_sweep_spares_what_forks_share(void)
{
	struct tree t = { .run = share_between_four, .limits = memory_limit(450 * MB) };

	run_tree(&t);
	is_innocent(&t);
	ok(t.usage.max_rss_kb < 450 * 1024, "shared pages count once");
	ok(t.usage.processes_peak >= 4, "%lld tasks", (long long)t.usage.processes_peak);
}

static void test_sweep_catches_copies_of_what_was_shared(void)
{
	struct tree t = { .run = copy_what_is_shared, .limits = memory_limit(450 * MB) };

	run_tree(&t);
	is_caught(&t, LIMIT_MEMORY);
	ok(shared->touched > 300 * MB, "not before the copying");
}

static void wait_for_a_child_of_vfork(void)
{
	if (fork() == 0) {
		touch(map_bytes(120 * MB, MAP_PRIVATE), 120 * MB);
		if (vfork() == 0) {
			rest_ms(400);
			_exit(0);
		}
		_exit(0);
	}
	wait(NULL);
}

static void test_sweep_spares_a_child_of_vfork(void)
{
	struct tree t = { .run = wait_for_a_child_of_vfork, .limits = memory_limit(200 * MB) };

	run_tree(&t);
	is_innocent(&t);
}

#define N_WAITING	30
#define WAITING_BYTES	(20 * MB)

/* Whoever writes to a file makes all others wait for it, as if for a child of vfork(). */
static void write_in_turn(int64_t ms)
{
	static char block[8 << 20];
	int64_t end = limiter_now_us() + ms * 1000;
	int fd = open("/tmp/turn", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	do
		(void)!pwrite(fd, block, sizeof(block), 0);
	while (limiter_now_us() < end);
	close(fd);
}

/* Each is as large as its parent, who waits, and copies all that they share. */
static void copy_and_wait(void)
{
	bool is_last = true;

	inherited = map_bytes(WAITING_BYTES, MAP_PRIVATE);
	touch(inherited, WAITING_BYTES);
	for (int i = 1; i < N_WAITING && is_last; i++)
		is_last = fork() == 0;
	write_in_turn(300);
	for (int64_t at = 0; at < WAITING_BYTES; at += 4 * MB) {
		touch(inherited + at, 4 * MB);
		write_in_turn(0);
	}
	write_in_turn(4000);
	while (wait(NULL) > 0)
		;
}

static void test_sweep_catches_copies_of_who_waits(void)
{
	struct tree t = { .run = copy_and_wait, .limits = memory_limit(150 * MB) };

	run_tree(&t);
	is_caught(&t, LIMIT_MEMORY);
}

#define N_MAPPINGS	60000		/* fewer than vm.max_map_count lets one have */

static char *many;

static void *change_mappings(void *unused)
{
	for (;;)
		for (int64_t i = 0; i < N_MAPPINGS; i += 2) {
			mprotect(many + i * 4096, 4096, PROT_READ);
			mprotect(many + i * 4096, 4096, PROT_READ | PROT_WRITE);
		}
	return unused;
}

static void grow_alone(void)
{
	munmap(many, N_MAPPINGS * 4096LL);
	rest_ms(300);
	touch(map_bytes(90 * MB, MAP_PRIVATE), 90 * MB);
}

/* A look at this process waits at each of its mappings.  Two share its memory, so that
 * one is needed; meanwhile the others grow. */
static void hinder_looks(void)
{
	many = map_bytes(N_MAPPINGS * 4096LL, MAP_PRIVATE);
	for (int64_t i = 0; i < N_MAPPINGS; i += 2) {
		many[i * 4096] = 1;
		mprotect(many + (i + 1) * 4096, 4096, PROT_NONE);
	}
	for (int i = 0; i < 10; i++)
		if (fork() == 0) {
			if (i >= 2)
				grow_alone();
			rest_ms(20000);
			_exit(0);
		}
	for (int i = 0; i < 4; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, change_mappings, NULL) != 0)
			_exit(94);
	}
	rest_ms(20000);
}

static void test_sweep_sees_growth_while_a_look_is_hindered(void)
{
	struct tree t = { .run = hinder_looks, .limits = memory_limit(250 * MB) };

	run_tree(&t);
	is_caught(&t, LIMIT_MEMORY);
	ok(shared->touched < 600 * MB, "%lld MB", (long long)(shared->touched / MB));
}

static void *toggle_mapping(void *unused)
{
	for (;;) {
		mprotect(many, 4096, PROT_READ);
		mprotect(many, 4096, PROT_READ | PROT_WRITE);
	}
	return unused;
}

/* The last process that a look comes to. */
static void hold_up(void)
{
	many = map_bytes(N_MAPPINGS * 4096LL, MAP_PRIVATE);
	for (int64_t i = 1; i < N_MAPPINGS; i += 2)
		mprotect(many + i * 4096, 4096, PROT_NONE);
	shared->forks = 1;
	toggle_mapping(NULL);
}

/* The copies are written by a child that has its parent's memory and is gone at once: neither
 * what the parent seems to have nor its count of faults tells of them. */
static void copy_by_vfork(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	while (!shared->forks)
		rest_ms(1);
	rest_ms(200);
	sigaction(SIGCHLD, &ignore, NULL);
	if (vfork() == 0) {
		for (int64_t at = 0; at < WAITING_BYTES; at += 4096)
			((volatile char *)inherited)[at] = 2;
		_exit(0);
	}
	rest_ms(20000);
}

static void copy_while_a_look_is_held_up(void)
{
	inherited = map_bytes(WAITING_BYTES, MAP_PRIVATE);
	madvise(inherited, WAITING_BYTES, MADV_NOHUGEPAGE);
	touch(inherited, WAITING_BYTES);
	for (int i = 0; i < 12; i++)
		if (fork() == 0)
			copy_by_vfork();
	if (fork() == 0)
		hold_up();
	rest_ms(10000);
}

static void test_sweep_catches_copies_that_nobody_seems_to_have(void)
{
	struct tree t = { .run = copy_while_a_look_is_held_up, .limits = memory_limit(100 * MB) };

	run_tree(&t);
	is_caught(&t, LIMIT_MEMORY);
}

static void fork_and_vanish(void)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid > 0 && i % 3)
			waitpid(pid, NULL, 0);
	}
	while (wait(NULL) > 0)
		continue;
}

static void test_sweep_survives_processes_that_vanish(void)
{
	struct tree t = { .run = fork_and_vanish, .limits = memory_limit(400 * MB),
			  .no_wait = true };

	t.limits.cpu_ms = 60000;
	run_tree(&t);
	is_innocent(&t);
	ok(t.n_checks > 1, "it was looked at");
}

/* --- CPU time ------------------------------------------------------------------ */

static void spin(void)
{
	burn_ms(5000);
}

static void *spin_thread(void *arg)
{
	burn_ms(3000);
	return arg;
}

static void spin_in_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, spin_thread, NULL) != 0)
			_exit(95);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* The kernel forgets the time of children whose parent does not want to know. */
static void spin_in_forgotten_children(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 40; i++) {
		if (fork() == 0) {
			burn_ms(100);
			_exit(0);
		}
		while (waitpid(-1, NULL, 0) >= 0 || errno == EINTR)
			continue;
	}
}

static void is_caught_for_cpu(struct tree *t)
{
	run_tree(t);
	is_caught(t, LIMIT_CPU);
	ok(t->usage.cpu_ms >= t->limits.cpu_ms, "%lld ms are over", (long long)t->usage.cpu_ms);
}

static void fork_twenty(void)
{
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			rest_ms(5000);
			_exit(0);
		}
	}
	rest_ms(1500);
}

/* The kernel refuses processes to everyone but root. */
static void test_sweep_catches_processes_of_root(void)
{
	struct tree t = { .run = fork_twenty, .limits = memory_limit(512 * MB) };
	struct tree fewer = t;

	t.limits.processes = 15;
	run_tree(&t);
	if (geteuid() == 0)
		is_caught(&t, LIMIT_PROCESSES);
	else
		is_innocent(&t);
	fewer.limits.processes = 30;
	run_tree(&fewer);
	is_innocent(&fewer);
}

static void test_sweep_catches_spinners(void)
{
	static void (*const runs[])(void) = { spin, spin_in_threads, spin_in_forgotten_children };

	for (int perf = 0; perf < 2; perf++) {
		refuse_perf = !perf;
		for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
			struct tree t = { .run = runs[i], .limits = cpu_limit(400) };

			is_caught_for_cpu(&t);
		}
	}
}

static void rest_a_while(void)
{
	rest_ms(300);
}

static void test_sweep_spares_the_idle(void)
{
	struct tree t = { .run = rest_a_while, .limits = cpu_limit(10000) };

	t.limits.memory = 2048 * MB;
	run_tree(&t);
	is_innocent(&t);
	ok(t.usage.cpu_ms >= 0 && t.usage.cpu_ms < 10000, "little CPU time");
	is_int(t.usage.processes_peak, 1, "one task");
}

/* --- cgroups --------------------------------------------------------------------- */

/* The cgroup to test with; without one, that it is refused is the test. */
static bool find_cgroup(enum host_cgroup *ret)
{
	struct plan_limits limits = no_limits();
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;

	*ret = limiter_detect();
	if (*ret != HOST_CGROUP_NONE)
		return true;
	is_int(limiter_new(&limits, HOST_CGROUP_V2, &l, &err), -1, "refused: version 2");
	ok(strchr(err.msg, '/') && !l, "it names the file: %s", err.msg);
	return false;
}

static int count_left(const char *dir, const char *prefix, int depth)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[4096];
	int n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n += depth > 0 ? count_left(path, prefix, depth - 1) : 0;
	}
	if (d)
		closedir(d);
	return n;
}

static void nothing_is_left(void)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "cordon-%d-", getpid());
	is_int(count_left("/sys/fs/cgroup", prefix, 8), 0, "no group is left");
}

static void hog_in_a_child(void)
{
	if (fork() == 0) {
		hog_anonymous();
		_exit(0);
	}
	/* Others of the tree outlive the one whom the kernel kills. */
	rest_ms(5000);
}

static void hog_memfd(void)
{
	static char block[1 << 16];
	int fd = memfd_create("hog", MFD_CLOEXEC);

	if (fork() == 0) {
		for (int i = 0; i < 256 * 16 && write(fd, block, sizeof(block)) > 0; i++)
			continue;
		_exit(0);
	}
	rest_ms(5000);
}

static void test_cgroup_catches_hogs(void)
{
	static void (*const runs[])(void) = { hog_in_a_child, hog_memfd };
	enum host_cgroup cgroup;

	if (!find_cgroup(&cgroup))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct tree t = { .run = runs[i], .cgroup = cgroup,
				  .limits = memory_limit(64 * MB) };

		run_tree(&t);
		is_caught(&t, LIMIT_MEMORY);
		ok(t.usage.oom_killed, "by the kernel's counter");
		ok(t.usage.max_rss_kb > 0 && t.usage.max_rss_kb <= 64 * 1024, "%lld kB",
		   (long long)t.usage.max_rss_kb);
	}
	nothing_is_left();
}

static void test_cgroup_counts_cpu_time(void)
{
	struct tree t = { .run = spin_in_forgotten_children, .limits = cpu_limit(400) };

	if (!find_cgroup(&t.cgroup))
		return;
	is_caught_for_cpu(&t);
	ok(!t.usage.oom_killed && !t.usage.processes_refused, "for nothing else");
	nothing_is_left();
}

static void fork_bomb(void)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			rest_ms(5000);
			_exit(0);
		}
		shared->forks += pid > 0;
	}
}

static void test_cgroup_refuses_forks(void)
{
	struct tree t = { .run = fork_bomb, .limits = no_limits() };

	t.limits.processes = 20;
	if (!find_cgroup(&t.cgroup))
		return;
	run_tree(&t);
	is_innocent(&t);
	is_int(shared->forks, 19, "the first process counts");
	ok(t.usage.processes_refused, "it is known");
	ok(t.usage.processes_peak <= 20, "%lld tasks", (long long)t.usage.processes_peak);
	nothing_is_left();
}

static void test_cgroup_spares_the_innocent(void)
{
	struct tree t = { .run = rest_a_while, .limits = memory_limit(64 * MB) };

	t.limits.processes = 20;
	t.limits.cpu_ms = 10000;
	if (!find_cgroup(&t.cgroup))
		return;
	run_tree(&t);
	is_innocent(&t);
	ok(!t.usage.oom_killed && !t.usage.processes_refused, "nothing was refused");
	is_int(t.usage.processes_peak, 1, "one task");
	ok(t.usage.cpu_ms >= 0 && t.usage.max_rss_kb > 0, "all is known");
	nothing_is_left();
}

static void test_groups_of_one_process_have_names_of_their_own(void)
{
	struct plan_limits limits = no_limits();
	struct cordon_err err = { 0 };
	struct limiter *l[3] = { NULL };
	enum host_cgroup cgroup;

	if (!find_cgroup(&cgroup))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(l); i++)
		is_int(limiter_new(&limits, cgroup, &l[i], &err), 0, "%s", err.msg);
	limiter_free(l[1]);
	l[1] = NULL;
	is_int(limiter_new(&limits, cgroup, &l[1], &err), 0, "%s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(l); i++)
		limiter_free(l[i]);
	nothing_is_left();
}

/* --- without a tree ---------------------------------------------------------------- */

static void test_names(void)
{
	for (int i = 0; i < N_LIMIT_KINDS; i++)
		ok(limit_kind_name((enum limit_kind)i), "limit %d has a name", i);
	is_text(limit_kind_name(LIMIT_FILE_SIZE), "file_size", "as in the result");
}

static void test_waits_follow_the_headroom(void)
{
	int64_t last = 0;

	for (int64_t room = 1; room < INT64_MAX / 4; room *= 4) {
		int64_t wait = limiter_memory_wait_us(room, 2);

		ok(wait >= last, "more room, no shorter wait");
		ok(room >= 1 << 30 || wait <= 20000, "20 ms at most for %lld", (long long)room);
		last = wait;
	}
	is_int(last, 250000, "the longest");
	is_int(limiter_memory_wait_us(-1, 2), 200, "the shortest");
	ok(limiter_memory_wait_us(64 * MB, 8) < limiter_memory_wait_us(64 * MB, 2), "CPUs count");
	is_int(limiter_memory_wait_us(64 * MB, 64), limiter_memory_wait_us(64 * MB, 8),
	       "up to eight of them");
}

static void test_wrong_starts_are_refused(void)
{
	struct plan_limits limits = memory_limit(64 * MB), bad = memory_limit(-1);
	cleanup_fd int dir_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cordon_err err = { 0 };
	struct limiter *l = NULL;

	is_int(limiter_new(&bad, HOST_CGROUP_NONE, &l, &err), -1, "a negative limit");
	ok(!l, "untouched");
	is_int(limiter_new(&limits, HOST_CGROUP_NONE, &l, &err), 0, "%s", err.msg);
	is_int(limiter_start(l, -1, &err), -1, "without a /proc");
	is_int(limiter_start(l, dir_fd, &err), -1, "what is not a /proc");
	is_int(limiter_add_fs(l, -1, &err), -1, "no file system");
	for (int i = 0; i < MAX_LIMITER_FS; i++)
		ok(limiter_add_fs(l, dir_fd, &err) == 0, "file system %d", i);
	is_int(limiter_add_fs(l, dir_fd, &err), -1, "too many file systems");
	limiter_free(l);
	limiter_free(NULL);
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_names),
		TAP(test_waits_follow_the_headroom),
		TAP(test_wrong_starts_are_refused),
		TAP(test_sweep_catches_a_hog),
		TAP(test_sweep_adds_processes_up),
		TAP(test_sweep_catches_shared_memory),
		TAP(test_sweep_catches_tmpfs),
		TAP(test_sweep_catches_page_tables),
		TAP(test_sweep_counts_a_mapped_tmpfs_file_once),
		TAP(test_sweep_spares_what_forks_share),
		TAP(test_sweep_catches_copies_of_what_was_shared),
		TAP(test_sweep_spares_a_child_of_vfork),
		TAP(test_sweep_catches_copies_of_who_waits),
		TAP(test_sweep_sees_growth_while_a_look_is_hindered),
		TAP(test_sweep_catches_copies_that_nobody_seems_to_have),
		TAP(test_sweep_survives_processes_that_vanish),
		TAP(test_sweep_catches_processes_of_root),
		TAP(test_sweep_catches_spinners),
		TAP(test_sweep_spares_the_idle),
		TAP(test_cgroup_catches_hogs),
		TAP(test_cgroup_counts_cpu_time),
		TAP(test_cgroup_refuses_forks),
		TAP(test_cgroup_spares_the_innocent),
		TAP(test_groups_of_one_process_have_names_of_their_own),
		TAP_END });
}

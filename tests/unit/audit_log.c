/* The writer of the audit log: batches, whole lines, nothing waited for, and
 * nothing lost in silence. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/log.h"
#include "base/fd.h"
#include "base/limits.h"
#include "read_json.h"
#include "tap.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static struct audit *open_log(const char *path, const char *run_id)
{
	struct audit_file file;
	struct cordon_err err;
	struct audit *a;

	if (!ok(audit_file_open(path, &file, &err) == 0, "%s: %s", path, err.msg))
		exit(1);
	a = audit_new(file, run_id);
	ok(a != NULL, "a log");
	return a;
}

static void add(struct audit *a, const char *path)
{
	struct audit_event e = { EVENT_FILE_DENIED, { [AUDIT_PATH] = AUDIT_TEXT(path) } };

	audit_add(a, AUDIT_CLASS_RUN, &e);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* What a log says: each line is JSON with the next number of its run. */
struct seen {
	size_t lines, not_json, lost, last_seq, gaps;
	size_t n_lost, last_count;	/* lines of audit.lost, and the number of the last */
	size_t refusals, connections, questions;
};

static size_t number(const struct value *j, const char *key)
{
	return (size_t)json_int(j, key);
}

static void add_lost(const struct value *j, struct seen *s)
{
	if (!value_find(j, "count"))
		return;
	s->n_lost++;
	s->last_count = number(j, "seq");
	s->lost += number(j, "count");
	s->refusals += number(j, "refusals");
	s->connections += number(j, "connections");
	s->questions += number(j, "refused_questions");
}

static void read_lines(FILE *f, const char *run_id, struct seen *s)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, f) > 0) {
		cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
		struct value *j = read_json(&a, str_from(line));
		size_t seq;

		if (!j) {
			s->not_json += line[0] != '\n';
			continue;
		}
		if (strcmp(json_text(&a, j, "run_id"), run_id) == 0) {
			s->lines++;
			seq = number(j, "seq");
			s->gaps += seq - s->last_seq - 1;
			s->last_seq = seq;
			add_lost(j, s);
		}
	}
	free(line);
}

static struct seen read_log(const char *path, const char *run_id)
{
	struct seen s = { 0 };
	FILE *f = fopen(path, "re");

	if (ok(f != NULL, "%s", path)) {
		read_lines(f, run_id, &s);
		fclose(f);
	}
	return s;
}

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void test_written_in_batches(void)
{
	const char *path = in_folder("batches");
	struct audit *a = open_log(path, "one");
	struct seen s;
	struct stat st;

	stat(path, &st);
	is_int(st.st_mode & 07777, 0600, "its user's alone");
	ok(audit_next_us(a) == INT64_MAX, "nothing is due");
	add(a, "/a");
	add(a, "/b");
	is_int(size_of(path), 0, "kept for a while");
	ok(audit_next_us(a) > now_us() - 1000000 && audit_next_us(a) < now_us() + 1000000,
	   "but not for long");
	audit_write(a);
	s = read_log(path, "one");
	is_int(s.lines, 2, "both");
	ok(audit_next_us(a) == INT64_MAX, "nothing is due any more");
	for (int i = 0; i < 1000; i++)
		add(a, "/c");
	ok(size_of(path) > 50000, "a full batch is written at once");
	is_int(audit_free(a), 0, "nothing lost");
	s = read_log(path, "one");
	is_int(s.lines, 1002, "all");
	is_int(s.gaps + s.not_json, 0, "[L1] without a gap");
}

static void test_hostile_bytes(void)
{
	const char *path = in_folder("hostile");
	struct audit *a = open_log(path, "h");
	char name[260];
	struct seen s;

	for (int i = 1; i < 256; i++) {
		snprintf(name, sizeof(name), "/x%c\"\n%c\\", i, i);
		add(a, name);
	}
	add(a, "\xf0\x9f\x92");
	add(a, "\xed\xa0\x80");
	is_int(audit_free(a), 0, "nothing lost");
	s = read_log(path, "h");
	is_int(s.lines, 257, "each is one line of JSON");
	is_int(s.not_json, 0, "and nothing else");
}

/* [L2] */
static void test_several_runs_share_a_file(void)
{
	const char *path = in_folder("shared");
	char id[16];

	for (int run = 0; run < 4; run++)
		if (fork() == 0) {
			struct audit *a;

			snprintf(id, sizeof(id), "run%d", run);
			a = open_log(path, id);
			for (int i = 0; i < 3000; i++) {
				add(a, "/some/name/that/is/not/short/at/all/to/make/it/longer");
				if (i % 7 == 0)
					audit_write(a);
			}
			_exit(audit_free(a) != 0);
		}
	for (int run = 0; run < 4; run++) {
		int status = 1;

		wait(&status);
		is_int(status, 0, "a run");
	}
	for (int run = 0; run < 4; run++) {
		struct seen s;

		snprintf(id, sizeof(id), "run%d", run);
		s = read_log(path, id);
		is_int(s.lines, 3000, "all lines of %s", id);
		is_int(s.gaps + s.not_json, 0, "whole, and in order");
	}
}

static void test_full_disk(void)
{
	struct audit *a = open_log("/dev/full", "full");

	for (int i = 0; i < 10; i++)
		add(a, "/x");
	audit_write(a);
	ok(audit_next_us(a) != INT64_MAX, "tried again later");
	is_int(audit_free(a), 10, "each one is counted");
}

/* The caller's limit stands for a disk that fills up in the middle of a line. */
static void test_cut_short(void)
{
	const char *path = in_folder("short");
	struct rlimit limit;
	struct audit *a = open_log(path, "first");
	uint64_t lost;
	struct seen s;

	for (int i = 0; i < 20; i++)
		add(a, "/x");
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 1000;
	setrlimit(RLIMIT_FSIZE, &limit);
	audit_write(a);
	is_int(size_of(path), 1000, "full, and alive");
	lost = audit_free(a);
	s = read_log(path, "first");
	ok(lost > 0, "some are lost");
	is_int(s.lines + lost, 20, "and counted");
	is_int(s.not_json, 1, "a piece of a line is left");
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);

	a = open_log(path, "second");
	add(a, "/y");
	is_int(audit_free(a), 0, "the next run");
	s = read_log(path, "second");
	is_int(s.lines, 1, "has a line of its own");
	is_int(s.not_json, 1, "behind the piece");
}

/* The same with room again before the end. */
static void test_room_again(void)
{
	const char *path = in_folder("again");
	struct rlimit limit;
	struct audit *a = open_log(path, "again");
	struct seen s;

	for (int i = 0; i < 20; i++)
		add(a, "/x");
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 1000;
	setrlimit(RLIMIT_FSIZE, &limit);
	audit_write(a);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	is_int(audit_free(a), 0, "nothing is lost");
	s = read_log(path, "again");
	is_int(s.lines, 20, "every line is there");
	is_int(s.not_json, 1, "and the piece of the one that was written once more");
}

static void test_pipe_without_reader(void)
{
	struct audit_file file;
	struct cordon_err err;

	mkfifo(in_folder("nobody"), 0600);
	ok(audit_file_open(in_folder("nobody"), &file, &err) < 0, "refused");
	ok(strstr(err.msg, "nobody reads") != NULL, "%s", err.msg);
}

/* Nobody waits for a reader that does not read; what fits is whole. */
static void test_slow_reader(void)
{
	const char *path = in_folder("slow");
	struct seen s = { 0 };
	struct audit *a;
	uint64_t lost;
	int fd;
	FILE *f;

	mkfifo(path, 0600);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	a = open_log(path, "slow");
	for (int i = 0; i < 5000; i++)
		add(a, "/some/name/that/is/not/short/at/all/to/make/the/line/longer");
	f = fdopen(fd, "r");
	read_lines(f, "slow", &s);
	ok(s.lines > 100 && s.lines < 5000, "%zu lines were in the pipe", s.lines);
	/* What the reader takes makes room, and the gap is told. */
	for (int i = 0; i < 100 && audit_next_us(a) != INT64_MAX; i++) {
		audit_write(a);
		clearerr(f);
		read_lines(f, "slow", &s);
	}
	add(a, "/after");
	lost = audit_free(a);
	clearerr(f);
	read_lines(f, "slow", &s);
	fclose(f);
	ok(lost > 0, "some are lost");
	is_int(s.not_json, 0, "no line is cut");
	ok(s.lost > 0, "the log itself says so");
	is_int(s.gaps, 0, "[L1] no line is missing");
	is_int(s.lines - s.n_lost + s.lost, 5001, "[L1] each event has a line or is counted");
}

static void test_reader_goes_away(void)
{
	const char *path = in_folder("gone");
	struct audit *a;
	int fd;

	mkfifo(path, 0600);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	a = open_log(path, "gone");
	close(fd);
	signal(SIGPIPE, SIG_DFL);
	add(a, "/x");
	audit_write(a);
	is_int(audit_free(a), 1, "counted, and alive");
}

/* The bound on what waits leaves room for the end. */
static void test_the_end_finds_room(void)
{
	const char *path = in_folder("end");
	struct audit_event end = { EVENT_RUN_END, { { 0 } } };
	struct seen s = { 0 };
	char text[65536];
	struct audit *a;
	int fd, go[2];
	FILE *f;

	mkfifo(path, 0600);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (pipe2(go, O_CLOEXEC) < 0 || fork() == 0) {
		int out = open(in_folder("copy"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		ssize_t n = read(go[0], text, 1);

		fcntl(fd, F_SETFL, 0);
		while (n > 0 && (n = read(fd, text, sizeof(text))) > 0)
			if (write(out, text, (size_t)n) != n)
				break;
		_exit(n != 0);
	}
	a = open_log(path, "end");
	for (int i = 0; i < 5000; i++)
		add(a, "/some/name/that/is/not/short/at/all/to/make/the/line/longer");
	audit_add(a, AUDIT_CLASS_RUN, &end);
	/* From here on somebody reads. */
	ok(write(go[1], "x", 1) == 1, "go");
	while (audit_next_us(a) != INT64_MAX) {
		usleep(1000);
		audit_write(a);
	}
	ok(audit_free(a) > 0, "many are lost");
	close(fd);
	wait(NULL);
	f = fopen(in_folder("copy"), "re");
	read_lines(f, "end", &s);
	fclose(f);
	is_int(s.last_seq, s.lines, "[L1] no line is missing");
	is_int(s.lines - s.n_lost + s.lost, 5001, "[L1] each event has a line or is counted");
	is_int(s.last_count, s.last_seq - 1, "the count stands before the end");
}

static void test_events_of_others_that_are_lost(void)
{
	const char *path = in_folder("others");
	struct audit *a = open_log(path, "o");
	struct seen s;

	add(a, "/x");
	audit_add_lost(a, AUDIT_CLASS_REFUSAL, 5);
	add(a, "/y");
	is_int(audit_free(a), 5, "counted");
	s = read_log(path, "o");
	is_int(s.lost, 5, "told");
	is_int(s.refusals, 5, "as refusals");
	is_int(s.gaps, 0, "[L1]");
}

static void add_of(struct audit *a, enum audit_class class, int n)
{
	struct audit_event e = { EVENT_NETWORK_DECISION,
				 { [AUDIT_NETWORK_HOST] = AUDIT_TEXT("h.test") } };

	for (int i = 0; i < n; i++)
		audit_add(a, class, &e);
}

/* Each class has its own lines: more of one are counted, and the others have theirs. */
static void test_classes_take_no_lines_of_each_other(void)
{
	const char *path = in_folder("classes");
	const int questions = 2 * MAX_AUDIT_QUESTIONS, refusals = 2 * MAX_AUDIT_REFUSALS;
	struct audit *a = open_log(path, "c");
	struct seen s;
	size_t lost;

	/* More lines may come with the seconds that this takes. */
	add_of(a, AUDIT_CLASS_QUESTION, questions);
	add_of(a, AUDIT_CLASS_REFUSAL, refusals);
	add_of(a, AUDIT_CLASS_CONNECTION, 100);
	add(a, "/x");
	lost = audit_free(a);
	s = read_log(path, "c");
	is_int(s.gaps, 0, "[L1] no line is missing");
	is_int(s.lost, lost, "the log says the same");
	is_int(s.lines - s.n_lost + s.lost, questions + refusals + 101,
	       "[L1] each event has a line or is counted");
	is_int(s.questions + s.refusals, lost, "each loss has its class");
	is_int(s.connections, 0, "no connection is lost");
	ok(s.questions > 0 && s.questions <= MAX_AUDIT_QUESTIONS, "%zu questions", s.questions);
	ok(s.refusals > 0 && s.refusals <= MAX_AUDIT_REFUSALS, "%zu refusals", s.refusals);
}

/* While a reader is slow, questions do not fill the memory that connections need. */
static void test_a_slow_reader_loses_questions_first(void)
{
	const char *path = in_folder("first");
	struct seen s = { 0 };
	struct audit *a;
	int fd;
	FILE *f;

	mkfifo(path, 0600);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	a = open_log(path, "f");
	add_of(a, AUDIT_CLASS_QUESTION, 3000);
	add_of(a, AUDIT_CLASS_CONNECTION, 50);
	f = fdopen(fd, "r");
	for (int i = 0; i < 100 && audit_next_us(a) != INT64_MAX; i++) {
		audit_write(a);
		clearerr(f);
		read_lines(f, "f", &s);
	}
	audit_free(a);
	clearerr(f);
	read_lines(f, "f", &s);
	fclose(f);
	ok(s.questions > 0, "questions are counted");
	is_int(s.connections, 0, "no connection is");
	is_int(s.lines - s.n_lost + s.lost, 3050, "[L1]");
}

static void test_no_log(void)
{
	add(NULL, "/x");
	audit_add_lost(NULL, AUDIT_CLASS_RUN, 1);
	audit_write(NULL);
	ok(audit_next_us(NULL) == INT64_MAX, "never due");
	is_int(audit_free(NULL), 0, "nothing");
}

/* ---- places ------------------------------------------------------------- */

static bool refused(const char *path, const char *why)
{
	struct audit_file file = { -1, false };
	struct cordon_err err = { 0 };
	int rc = audit_file_open(path, &file, &err);

	ok(file.fd == -1, "nothing is given on failure");
	return ok(rc < 0 && strstr(err.msg, why), "%s: %s", path, rc < 0 ? err.msg : "opened");
}

static void test_led_elsewhere(void)
{
	struct audit_file file;
	struct cordon_err err;
	int fd = open(in_folder("victim"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	close(fd);
	ok(symlink(in_folder("victim"), in_folder("link")) == 0, "a link");
	refused(in_folder("link"), "is a link");
	ok(symlink("not-there", in_folder("dangling")) == 0, "a link to nothing");
	refused(in_folder("dangling"), "is a link");
	refused(folder, "Is a directory");
	refused(in_folder("no/such"), "cannot open");
	ok(link(in_folder("victim"), in_folder("twice")) == 0, "two names");
	refused(in_folder("victim"), "another name");
	unlink(in_folder("twice"));
	ok(audit_file_open(in_folder("victim"), &file, &err) == 0, "one name: %s", err.msg);
	close(file.fd);
	if (geteuid() == 0 && chown(in_folder("victim"), 12345, 12345) == 0)
		refused(in_folder("victim"), "another user");
	is_int(size_of(in_folder("victim")), 0, "nothing was written");
}

static void test_the_default_folder(void)
{
	char found[MAX_AUDIT_PATH], home[128], want[256];
	struct audit_homes homes = { NULL, home, NULL };
	struct audit_file file;
	struct cordon_err err;
	struct stat st;

	snprintf(home, sizeof(home), "%s", in_folder("home"));
	mkdir(home, 0755);
	snprintf(want, sizeof(want), "%s/.local/state/cordon", home);
	ok(audit_find_folder(&homes, found), "found");
	is_text(found, want, "below HOME");
	ok(audit_folder_open(found, &file, &err) == 0, "%s", err.msg);
	close(file.fd);
	for (int i = 0; i < 3; i++) {
		ok(stat(want, &st) == 0 && (st.st_mode & 0777) == 0700, "%s", want);
		*strrchr(want, '/') = '\0';
	}
	homes = (struct audit_homes){ NULL, in_folder("no-home"), home };
	ok(audit_find_folder(&homes, found) && strstr(found, home) == found, "no home is made");
	homes = (struct audit_homes){ NULL, home, NULL };
	homes.state = "relative";
	ok(audit_find_folder(&homes, found) && strstr(found, "/.local/"), "no relative one");
	homes.state = in_folder("state");
	ok(audit_find_folder(&homes, found), "found");
	is_text(found, in_folder("state/cordon"), "XDG_STATE_HOME comes first");
	/* One that others can write, or a link. */
	ok(audit_folder_open(found, &file, &err) == 0, "%s", err.msg);
	close(file.fd);
	chmod(found, 0777);
	ok(audit_folder_open(found, &file, &err) < 0, "others can write it");
	chmod(found, 0700);
	ok(rename(found, in_folder("moved")) == 0 && symlink(in_folder("moved"), found) == 0,
	   "a link in its stead");
	ok(audit_folder_open(found, &file, &err) < 0, "a link");
	if (geteuid() != 0)
		return;
	/* After su: not into the other user's home. */
	ok(chown(home, 12345, 12345) == 0, "another user's");
	homes = (struct audit_homes){ NULL, home, "/root" };
	ok(audit_find_folder(&homes, found), "found");
	is_text(found, "/root/.local/state/cordon", "our own home");
}

int main(void)
{
	int rc;

	snprintf(folder, sizeof(folder), "/tmp/cordon-audit-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	rc = tap_run((struct tap_case[]){
		TAP(test_written_in_batches), TAP(test_hostile_bytes),
		TAP(test_several_runs_share_a_file), TAP(test_full_disk), TAP(test_cut_short),
		TAP(test_room_again), TAP(test_pipe_without_reader), TAP(test_slow_reader),
		TAP(test_reader_goes_away), TAP(test_the_end_finds_room),
		TAP(test_events_of_others_that_are_lost),
		TAP(test_classes_take_no_lines_of_each_other),
		TAP(test_a_slow_reader_loses_questions_first), TAP(test_no_log),
		TAP(test_led_elsewhere), TAP(test_the_default_folder), TAP_END });
	if (fork() == 0)
		execl("/bin/rm", "rm", "-rf", folder, NULL);
	wait(NULL);
	return rc;
}

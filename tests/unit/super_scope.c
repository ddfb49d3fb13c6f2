/* Asking systemd for a scope, by a client that does as it is told. */
#include "super/scope.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "tap.h"

static char folder[] = "/tmp/cordon-scope-XXXXXX";
static char client[64], self[64], words[64];

static void put_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0 || chmod(path, mode) < 0)
		exit(1);
}

/* `then` is shell text: $1 is the unit, $2 the file with the cgroup of the caller. */
static int ask(const char *then, struct cordon_err *err)
{
	char text[1024];

	put_file(self, "0::/user.slice/session-1.scope\n", 0600);
	snprintf(text, sizeof(text), "#!/bin/sh\nprintf '%%s\\n' \"$*\" >%s\nshift 8\n"
		 "set -- \"$2\" %s\n%s\n", words, self, then);
	put_file(client, text, 0700);
	*err = (struct cordon_err){ 0 };
	return scope_start_by(client, self, err);
}

#define MOVE	"echo \"0::/user.slice/$1\" >$2"

/* busctl(1): a signature, and then its values as words. */
static void test_words(void)
{
	struct cordon_err err;
	char said[1024] = "", start[256], end[256];
	FILE *f;

	is_int(ask(MOVE, &err), 0, "%s", err.msg);
	f = fopen(words, "re");
	ok(f && fgets(said, sizeof(said), f), "the client was started");
	if (f)
		fclose(f);
	snprintf(start, sizeof(start), "--%s --quiet --timeout=2 call org.freedesktop.systemd1 "
		 "/org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartTransientUnit "
		 "ssa(sv)a(sa(sv)) cordon-run-%d-", geteuid() == 0 ? "system" : "user", getpid());
	snprintf(end, sizeof(end), ".scope fail 3 PIDs au 1 %d Delegate b true Description s "
		 "a run of cordon 0\n", getpid());
	ok(str_starts(str_from(said), start) && str_ends(str_from(said), end), "%s", said);
}

static void test_moved(void)
{
	struct cordon_err err;

	is_int(ask("(exec 2>&-; sleep 0.05; " MOVE ") &", &err), 0,
	       "the answer comes before the move: %s", err.msg);
	signal(SIGCHLD, SIG_IGN);
	is_int(ask(MOVE, &err), 0, "the caller takes no note of children: %s", err.msg);
	is_int(ask("exit 1", &err), -1, "nor of those that fail");
	signal(SIGCHLD, SIG_DFL);
}

static void test_refused(void)
{
	static const struct {
		const char *then, *says;
	} rows[] = {
		{ "echo 'Call failed: Unit is not wanted.' >&2; exit 1", "Unit is not wanted.;" },
		{ "exit 0", "did not move this process" },
		{ "kill -9 $$", "busctl could not be started" },
		{ "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1", "xxxx;" },
	};
	struct cordon_err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(ask(rows[i].then, &err), -1, "row %zu", i);
		ok(strstr(err.msg, rows[i].says) && strstr(err.msg, "-p Delegate=yes"), "%s",
		   err.msg);
	}
	is_int(scope_start_by("/nonexistent/busctl", self, &err), -1, "there is none");
	ok(strstr(err.msg, "could not be started") != NULL, "%s", err.msg);
}

int main(void)
{
	int rc;

	if (!mkdtemp(folder))
		return 1;
	snprintf(client, sizeof(client), "%s/busctl", folder);
	snprintf(self, sizeof(self), "%s/self", folder);
	snprintf(words, sizeof(words), "%s/words", folder);
	rc = tap_run((struct tap_case[]){
		TAP(test_words),
		TAP(test_moved),
		TAP(test_refused),
		TAP_END,
	});
	unlink(client);
	unlink(self);
	unlink(words);
	rmdir(folder);
	return rc;
}

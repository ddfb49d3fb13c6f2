/* What a run tells: into its result, for people, and into the log. */
#include "base/limits.h"
#include "super/report.h"

#include "read_json.h"
#include "tap.h"

static struct run_result res;
static struct run_reporter reporter = { .res = &res };

static void say(enum gate_report_kind kind, const char *host, unsigned port, const char *reason,
		const char *hint)
{
	struct gate_report r = {
		.kind = kind, .protocol = port ? "tcp" : "dns", .host = host, .port = port,
		.address = "", .reason = reason, .hint = hint, .generation = 1,
	};

	run_report_network(&reporter, &r);
}

static void line_is(size_t i, const char *want)
{
	cleanup_buf struct buf line = BUF(4096);

	denial_print(&res.denials.items[i], &line);
	is_text(buf_text(&line), want, "for people");
}

static void test_one_line_a_host(void)
{
	run_result_init(&res);
	say(GATE_DENIED, "evil.test", 0, "host evil.test is not in the allowlist",
	    "--allow-host evil.test");
	is_int(res.denials.items[0].port, 0, "only the name was asked for");
	line_is(0, "denied: evil.test not in the allowlist; allow with --allow-host evil.test");
	say(GATE_DENIED, "evil.test", 443, "host evil.test is not in the allowlist",
	    "--allow-host evil.test");
	say(GATE_DENIED, "evil.test", 0, "host evil.test is not in the allowlist",
	    "--allow-host evil.test");
	is_int(res.denials.n, 1, "question and connection are one");
	line_is(0, "denied: evil.test:443 (3×) not in the allowlist; "
		   "allow with --allow-host evil.test");
	say(GATE_DENIED, "evil.test", 80, "host evil.test is not in the allowlist", "");
	is_int(res.denials.n, 2, "another port");
	say(GATE_ALLOWED, "good.test", 443, "", "");
	say(GATE_CLOSED, "good.test", 443, "", "");
	is_int(res.denials.n, 2, "what was allowed is no denial");
	run_result_release(&res);
}

static void test_words_of_dialects(void)
{
	static const char *const rows[][2] = {
		{ "host a.test is denied by the rule *:25", "denied by the rule *:25" },
		{ "host a.test resolves to 127.0.0.1", "resolves to 127.0.0.1" },
		{ "host a.test: no allow rule matched", "no allow rule matched" },
		{ "host a.testing is not listed", "host a.testing is not listed" },
		{ "SandboxError: host a.test is not in allowed_domains",
		  "SandboxError: host a.test is not in allowed_domains" },
		{ "the ClientHello is not whole", "the ClientHello is not whole" },
	};

	run_result_init(&res);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		say(GATE_DENIED, "a.test", 443, rows[i][0], "");
		is_text(res.denials.items[i].reason, rows[i][1], "the host stands beside it");
	}
	run_result_release(&res);
}

static void test_addresses_and_paths(void)
{
	run_result_init(&res);
	say(GATE_DENIED, "2001:db8::1", 443, "host 2001:db8::1 is not in the allowlist", "");
	line_is(0, "denied: [2001:db8::1]:443 not in the allowlist");
	run_result_release(&res);
}

static void test_causes_of_files(void)
{
	static const struct {
		struct plan_guarded why;
		const char *line;
	} rows[] = {
		{ { "/w/x", CAUSE_SET, "git" },
		  "denied: /w/x (2×) the name is in a protected set; "
		  "allow with files.protect without \"git\"" },
		{ { "/w/x", CAUSE_ENTRY, "**/x" },
		  "denied: /w/x (2×) the name is protected; "
		  "allow with files.protect without \"**/x\"" },
		{ { "/w/x", CAUSE_READ, "/w/ro" },
		  "denied: /w/x (2×) the name lies in a read-only root; "
		  "allow with files.read without \"/w/ro\"" },
		{ { "/w/x", CAUSE_CREDENTIAL, "/w/.ssh" },
		  "denied: /w/x (2×) the name is a place of credentials; "
		  "allow with \"/w/.ssh\" in files.write, and no folder above it" },
		{ { "/w/x", CAUSE_DENY, "/w/x" },
		  "denied: /w/x (2×) the name is denied; "
		  "allow with files.deny without \"/w/x\"" },
		{ { "/w/x", CAUSE_POLICY, "" },
		  "denied: /w/x (2×) the name is a policy's; "
		  "allow with a change from outside the cordon" },
		{ { "/w/x", CAUSE_WAY, "" },
		  "denied: /w/x (2×) something outside is found by this name; "
		  "allow with a change from outside the cordon" },
		{ { "/w/x", CAUSE_OWN, "" }, "denied: /w/x (2×) the name is cordon's own" },
	};

	static_assert(ARRAY_SIZE(rows) == N_GUARD_CAUSES, "a cause without a test");
	run_result_init(&res);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_report_file(&reporter, "/w/x", &rows[i].why, 0);
		run_report_file(&reporter, "/w/x", &rows[i].why, 0);
		line_is(i, rows[i].line);
	}
	run_report_file(&reporter, "/w/d", NULL, 0);
	line_is(ARRAY_SIZE(rows), "denied: /w/d what lies below may not be moved");
	run_result_release(&res);
}

/* Who tries what is refused all the time does not fill the caller's disk with it. */
static void test_flood(void)
{
	const int n = MAX_AUDIT_REFUSALS + 1000;
	char path[] = "/tmp/cordon-test-report-XXXXXX";
	struct audit_file file = { .fd = mkstemp(path) };
	struct run_reporter r = { .res = &res, .audit = audit_new(file, "run") };
	struct gate_report allowed = { .kind = GATE_ALLOWED, .protocol = "tcp", .host = "good.test",
				       .port = 443, .address = "", .reason = "", .hint = "" };
	uint64_t lost;

	unlink(path);
	run_result_init(&res);
	for (int i = 0; i < n; i++)
		run_report_file(&r, "/w/x", NULL, 0);
	is_int((long long)res.denials.items[0].count, n, "the result counts them all");
	run_report_network(&r, &allowed);
	lost = audit_free(r.audit);
	ok(lost > 0 && lost <= 1000, "the log says how many it has no line for: %llu",
	   (unsigned long long)lost);
	run_result_release(&res);
}

static struct value *result_json(struct arena *a)
{
	struct plan plan = { .backend = "process", .profile = "worktree" };
	cleanup_buf struct buf out = BUF(1 << 22);
	struct json_out j = { .out = &out };
	struct value *read;

	run_result_print(&res, &plan, &j);
	read = read_json(a, (struct str){ out.data, out.n });
	ok(read != NULL, "JSON");
	return read;
}

static void test_in_json(void)
{
	cleanup_arena struct arena a = ARENA(MAX_ARENA_BYTES);
	const struct value *j, *d, *port;
	char name[64];

	run_result_init(&res);
	res.started = true;
	say(GATE_DENIED, "evil.test", 0, "no", "hint");
	j = result_json(&a);
	ok(json_size(j, "denials") == 1, "one denial");
	d = &value_find(j, "denials")->array.items[0];
	port = value_find(d, "port");
	ok(port && port->kind == VALUE_NULL, "no port");
	is_text(json_text(&a, d, "host"), "evil.test", "host");
	is_text(json_text(&a, d, "kind"), "network", "kind");
	ok(!value_find(j, "denials_left_out") && !value_find(j, "audit"),
	   "no key of our own while all is told");
	for (int i = 0; i < MAX_DENIALS + 9; i++) {
		snprintf(name, sizeof(name), "h%d.test", i);
		say(GATE_DENIED, name, 443, "no", "hint");
		say(GATE_DENIED, name, 443, "no", "hint");
	}
	j = result_json(&a);
	is_int(json_size(j, "denials"), MAX_DENIALS, "as many as fit");
	is_int(json_int(j, "denials_left_out"), 20, "and the rest");
	is_int(denials_count(&res.denials), 1 + 2 * (MAX_DENIALS + 9), "all are counted");
	run_result_release(&res);
}

/* The log has each of them, also where the result folds or has no room. */
static void test_in_the_log(void)
{
	static const char *const argv[] = { "true", NULL };
	struct run_about about = { .argv = argv, .cwd = "/", .profile = "worktree",
				   .backend = "process" };
	struct plan plan = { .backend = "process", .profile = "worktree" };
	char path[] = "/tmp/cordon-report-XXXXXX", *line = NULL;
	int fd = mkostemp(path, O_CLOEXEC), n[8] = { 0 };
	struct audit_file file;
	struct cordon_err err;
	size_t cap = 0;
	FILE *f;

	close(fd);
	ok(audit_file_open(path, &file, &err) == 0, "%s", err.msg);
	run_result_init(&res);
	reporter.audit = audit_new(file, res.run_id);
	run_report_start(&reporter, &about);
	for (int i = 0; i < 300; i++)
		say(GATE_DENIED, "evil.test", 443, "no", "hint");
	say(GATE_ALLOWED, "good.test", 443, "", "");
	say(GATE_CLOSED, "good.test", 443, "", "");
	run_report_generation(&reporter, 2);
	res.limit = LIMIT_WALL;
	run_report_limit(&reporter);
	run_report_limit(&reporter);
	run_report_end(&reporter, &plan);
	is_int(res.audit.lost, 0, "nothing lost");
	f = fopen(path, "re");
	while (getline(&line, &cap, f) > 0) {
		static const char *const words[] = {
			"\"event\":\"run.start\"", "\"network.policy\":\"denied\"",
			"\"network.policy\":\"allowed\"", "\"event\":\"network.close\"",
			"\"event\":\"network.generation\",\"generation\":2",
			"\"event\":\"limit.hit\",\"limit\":\"wall\"", "\"event\":\"run.end\"",
		};

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			n[i] += strstr(line, words[i]) != NULL;
	}
	fclose(f);
	free(line);
	unlink(path);
	is_int(n[0], 1, "start");
	is_int(n[1], 300, "each refusal");
	is_int(n[2] + n[3] + n[4] + n[5] + n[6], 5, "each of the others, once");
	run_result_release(&res);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_one_line_a_host), TAP(test_words_of_dialects),
					    TAP(test_addresses_and_paths),
					    TAP(test_causes_of_files), TAP(test_flood),
					    TAP(test_in_json), TAP(test_in_the_log), TAP_END });
}

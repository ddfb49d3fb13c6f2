/* The protocol of the control socket: what goes over it comes out the same, and
 * nothing else comes out. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "super/control.h"
#include "super/result_message.h"
#include "tap.h"

static struct {
	int a, b;
} line;

static void open_line(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	line.a = ends[0];
	line.b = ends[1];
}

static void close_line(void)
{
	close(line.a);
	close(line.b);
}

static void put_exec(struct control_out *o, size_t bytes)
{
	char *large = calloc(1, bytes + 1);

	if (!large)
		abort();
	memset(large, 'x', bytes);
	control_out_init(o, CONTROL_EXEC);
	control_put(o, EXEC_ARGV, "true");
	control_put(o, EXEC_ARGV, large);
	control_put(o, EXEC_ENVIRON, "A=1");
	control_put(o, EXEC_WORDS, "/");
	control_put(o, EXEC_WORDS, "");
	control_put(o, EXEC_WORDS, "");
	free(large);
}

/* Inline, at the border, and in a memfd. */
static void test_there_and_back(void)
{
	static const size_t sizes[] = { 0, 1, 1000, MAX_CONTROL_INLINE - 64, MAX_CONTROL_INLINE,
					1 << 20, MAX_CONTROL_BYTES - 100 };
	struct cordon_err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		cleanup_control struct control_message m = CONTROL_MESSAGE;
		cleanup_control_out struct control_out o;

		open_line();
		put_exec(&o, sizes[i]);
		o.head.numbers[EXEC_TIMEOUT_MS] = 77;
		o.fds[o.n_fds++] = 1;
		is_int(control_send(line.a, &o, &err), 0, "%zu bytes are sent: %s", sizes[i],
		       err.msg);
		is_int(control_recv(line.b, 0, &m, &err), 1, "and come: %s", err.msg);
		is_int(m.head.numbers[EXEC_TIMEOUT_MS], 77, "with numbers");
		is_int(m.n_fds, 1, "and the descriptor, not the memfd");
		is_text(control_text(&m, EXEC_ARGV, 0), "true", "texts");
		is_int(strlen(control_text(&m, EXEC_ARGV, 1)), sizes[i], "all of them");
		is_text(control_text(&m, EXEC_ENVIRON, 0), "A=1", "in their lists");
		ok(!control_text(&m, EXEC_SETTINGS, 0), "and no others");
		close_line();
	}
}

static void test_too_large(void)
{
	cleanup_control_out struct control_out o;
	struct cordon_err err = { 0 };

	open_line();
	put_exec(&o, MAX_CONTROL_BYTES);
	is_int(control_send(line.a, &o, &err), -1, "more than the most is not sent");
	close_line();
}

/* One number of the head changed each time. */
static void test_heads(void)
{
	struct control_head good = { .magic = CONTROL_MAGIC, .type = CONTROL_SIGNAL }, h;
	struct cordon_err err;

	is_int(control_check(&good, sizeof(good), &err), 0, "a message");
	is_int(control_check(&good, sizeof(good) - 1, &err), -1, "cut");
	is_int(control_check(&good, 0, &err), -1, "nothing");
	h = good;
	h.magic++;
	is_int(control_check(&h, sizeof(h), &err), -1, "another version");
	h = good;
	h.type = N_CONTROL_TYPES;
	is_int(control_check(&h, sizeof(h), &err), -1, "no type");
	h = good;
	h.n_bytes = 1;
	is_int(control_check(&h, sizeof(h), &err), -1, "texts where there are none");
	h = good;
	h.counts[0] = 1;
	is_int(control_check(&h, sizeof(h), &err), -1, "a list where there is none");
	h = good;
	h.outside = 2;
	is_int(control_check(&h, sizeof(h), &err), -1, "texts in a third place");
	h = good;
	h.type = CONTROL_EXEC;
	is_int(control_check(&h, sizeof(h), &err), -1, "a command without words");
	h.counts[EXEC_ARGV] = h.counts[EXEC_ENVIRON] = UINT32_MAX;
	is_int(control_check(&h, sizeof(h), &err), -1, "more words than there can be");
}

static int check_texts(uint32_t hosts, const char *texts, size_t n)
{
	struct {
		struct control_head h;
		char texts[64];
	} m = { .h = { .magic = CONTROL_MAGIC, .type = CONTROL_ALLOW, .n_bytes = (uint32_t)n,
		       .counts = { hosts } } };
	struct cordon_err err;

	memcpy(m.texts, texts, n);
	return control_check(&m, sizeof(m.h) + n, &err);
}

static void test_texts(void)
{
	is_int(check_texts(1, "a", 2), 0, "one text");
	is_int(check_texts(1, "ab", 2), -1, "without an end");
	is_int(check_texts(2, "a", 2), -1, "fewer than said");
	is_int(check_texts(1, "a\0b", 4), -1, "more than said");
	is_int(check_texts(2, "\0", 2), 0, "empty ones");
	is_int(check_texts(0, "", 0), -1, "none");
}

/* The memfd is the sender's: what it says about it is not believed. */
static void test_outside(void)
{
	struct control_head h = { .magic = CONTROL_MAGIC, .type = CONTROL_ALLOW, .outside = 1,
				  .n_bytes = 100, .counts = { 1 } };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), dir = open("/", O_RDONLY | O_CLOEXEC);
	const int list[] = { -1, null, dir };
	struct cordon_err err;

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		cleanup_control struct control_message m = CONTROL_MESSAGE;
		cleanup_control_out struct control_out o;

		open_line();
		control_out_init(&o, CONTROL_ALLOW);
		o.head = h;
		if (list[i] >= 0)
			o.fds[o.n_fds++] = list[i];
		/* As another program would: the head alone. */
		o.texts = BUF(1);
		o.head.n_bytes = 100;
		if (control_send(line.a, &o, &err) < 0)
			ok(false, "%s", err.msg);
		ok(control_recv(line.b, MSG_DONTWAIT, &m, &err) < 0 && err.code, "%s", err.msg);
		close_line();
	}
	close(null);
	close(dir);
}

static void test_ends(void)
{
	struct control_message m = CONTROL_MESSAGE;
	struct cordon_err err;

	open_line();
	ok(control_recv(line.b, MSG_DONTWAIT, &m, &err) == -1 && err.code == CORDON_E_NONE,
	   "nothing yet");
	close(line.a);
	is_int(control_recv(line.b, MSG_DONTWAIT, &m, &err), 0, "the other side is gone");
	close(line.b);
}

static void test_results(void)
{
	cleanup_control struct control_message m = CONTROL_MESSAGE;
	cleanup_control_out struct control_out o;
	cleanup_arena struct arena a = ARENA(1 << 20);
	struct plan plan = { .backend = "process", .profile = "worktree", .enforced = 5 }, back = {
		.argv = NULL };
	struct run_result res, got;
	struct cordon_err err;

	run_result_init(&res);
	run_result_init(&got);
	res.started = true;
	res.status = 9;
	res.limit = LIMIT_WALL;
	res.usage.cpu_ms = 12;
	denials_add(&res.denials, DENIAL_NETWORK, "evil.test", 443, "not in the allowlist", "hint");
	denials_add(&res.denials, DENIAL_NETWORK, "evil.test", 443, "not in the allowlist", "hint");
	open_line();
	control_out_init(&o, CONTROL_RESULT);
	result_message_put(&o, &res, &plan);
	is_int(control_send(line.a, &o, &err), 0, "a result is sent");
	is_int(control_recv(line.b, 0, &m, &err), 1, "and comes");
	is_int(result_message_take(&m, &a, &got, &back, &err), 0, "and makes sense");
	is_text(got.run_id, res.run_id, "the same run");
	is_int(got.status, 9, "status");
	is_int(got.limit, LIMIT_WALL, "limit");
	is_int(got.usage.cpu_ms, 12, "usage");
	is_int(back.enforced, 5, "what was enforced");
	is_int(got.denials.n, 1, "one thing was refused");
	is_int(got.denials.items[0].count, 2, "twice");
	m.head.numbers[3] = N_LIMIT_KINDS;
	is_int(result_message_take(&m, &a, &got, &back, &err), -1, "no limit that is none");
	close_line();
	run_result_release(&res);
	run_result_release(&got);
}

int main(void)
{
	return tap_run((struct tap_case[]){ TAP(test_there_and_back), TAP(test_too_large),
					    TAP(test_heads), TAP(test_texts), TAP(test_outside),
					    TAP(test_ends), TAP(test_results), TAP_END });
}

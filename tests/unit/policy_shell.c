/* Shell text taken apart; bash, where there is one, must read it as well. */
#include "policy/shell/shell.h"

#include "base/buf.h"
#include "base/limits.h"
#include "tap.h"

struct sample {
	const char *text;
	const char *want;	/* commands as told below; NULL: not shell */
};

static const char *const part_marks[] = {
	[SHELL_TEXT] = "", [SHELL_VARIABLE] = "$", [SHELL_OUTPUT] = "$()",
	[SHELL_ARITHMETIC] = "$(())", [SHELL_PROCESS] = "<()",
};

static void put_word(struct buf *out, const struct shell_word *w)
{
	for (size_t i = 0; i < w->n_parts; i++) {
		const struct shell_part *part = &w->parts[i];

		buf_puts(out, part_marks[part->kind]);
		if (part->kind == SHELL_VARIABLE)
			buf_puts(out, "{");
		buf_str(out, part->text);
		if (part->subscript.s) {
			buf_puts(out, "[");
			buf_str(out, part->subscript);
			buf_puts(out, "]");
		}
		buf_str(out, part->op);
		if (part->kind == SHELL_VARIABLE && part->arg)
			put_word(out, part->arg);
		if (part->kind == SHELL_VARIABLE)
			buf_puts(out, "}");
	}
}

/* `name=value program argument <redirect` for each command; '~' after one that
 * runs perhaps, '|' before one that reads a pipe; ';' between them. */
static void put_script(struct buf *out, const struct shell_script *s)
{
	for (size_t i = 0; i < s->n_commands; i++) {
		const struct shell_command *c = &s->commands[i];
		const char *before = "";

		if (i)
			buf_puts(out, "; ");
		if (c->is_doubtful)
			buf_puts(out, "?");
		if (c->is_fed)
			buf_puts(out, "| ");
		for (size_t k = 0; k < c->n_assigns; k++, before = " ") {
			buf_puts(out, before);
			buf_str(out, c->assigns[k].name);
			buf_puts(out, c->assigns[k].is_loop ? " in" : "=");
			for (size_t v = 0; v < c->assigns[k].n_values; v++) {
				if (v || c->assigns[k].is_loop)
					buf_puts(out, " ");
				put_word(out, &c->assigns[k].values[v]);
			}
		}
		for (size_t k = 0; k < c->n_words; k++, before = " ") {
			buf_puts(out, before);
			put_word(out, &c->words[k]);
		}
		for (size_t k = 0; k < c->n_redirects; k++, before = " ") {
			buf_puts(out, before);
			buf_puts(out, c->redirects[k].is_input ? "<" : ">");
			put_word(out, c->redirects[k].target);
		}
		if (c->is_conditional)
			buf_puts(out, " ~");
	}
}

static const struct sample samples[] = {
	{ "", "" },
	{ "ls", "ls" },
	{ "ls -l 'a b' \"c d\" e\\ f", "ls -l a b c d e f" },
	{ "a; b & c && d || e\nf", "a; b; c; d; e; f" },
	{ "a | b |& c", "a; | b; | c" },
	{ "a |\n\n b", "a; | b" },
	{ "a &&\n# why\n b", "a; b" },
	{ "x=1 y=$z a b=c", "x=1 y=${z} a b=c" },
	{ "x= a", "x= a" },
	{ "x+=1", "x=1" },
	{ "x=(a b\n# c\n d)", "x=a b d" },
	{ "declare -a x=(a b)", "x=a b declare -a" },
	{ "x[1]=2", "x=2" },
	{ "x[${#x[@]}]=$y", "x=${y}" },
	{ "a > b 2>> c < d 2>&1 &> e", "a >b >c <d >1 >e" },
	{ "> x", ">x" },
	{ "a {fd}< b", "a >b" },
	{ "a <<< b$c", "a <b${c}" },
	{ "a <<E b\nx $y\nE\nc", "a b <x ${y}\n; c" },
	{ "a <<'E'\nx $y\nE\n", "a <x $y\n" },
	{ "a <<-E\n\tx\n\tE\nb", "a <\tx\n; b" },
	{ "a <<E <<F\n1\nE\n2\nF\nb", "a <1\n <2\n; b" },
	{ "a <<E\nno end", "a <no end" },
	{ "$(a <<E\n)\nE\n)", "a <)\n; $()" },
	{ "echo $x ${y} ${z:-w} \"${q%%.*}\" $1 $@ $#",
	  "echo ${x} ${y} ${z:-w} ${q%%.*} ${1} ${@} ${#}" },
	{ "echo ${#x} ${!x} ${x[0]} ${x[@]} ${x//a/b} ${x:1:2}",
	  "echo ${x#} ${x!} ${x[0]} ${x[@]} ${x//a/b} ${x:1:2}" },
	{ "echo \"${x:-\"a b\"}\" ${y:-'}'}", "echo ${x:-a b} ${y:-}}" },
	{ "echo $", "echo $" },
	{ "echo a$ \"b$\"", "echo a$ b$" },
	{ "echo $'a\\tb\\x41\\101\\u00e9\\'' $\"c\"", "echo a\tbAA\xc3\xa9' c" },
	{ "echo \"a\\$b\\\"c\\d\"", "echo a$b\"c\\d" },
	{ "echo $(a $(b)) `c \\`d\\``", "b; a $(); d; c $(); echo $() $()" },
	{ "echo $((1 + $(a)))", "a; echo $(())" },
	{ "echo $((a); b)", "a; b; echo $()" },
	{ "echo \"$(a \")\")\"", "a ); echo $()" },
	{ "echo $(case x in x) a;; esac)", "a ~; echo $()" },
	{ "echo $(a # )\n)", "a; echo $()" },
	{ "a <(b) >(c)", "b; | c; a <() <()" },
	{ "(a; b) > c", "a; b" },
	{ "{ a; b; } < c", "a; b" },
	{ "{ a; } <<E\nx\nE", "| a" },
	{ "a | { b; c | d; }", "a; | b; | c; | d" },
	{ "((x + 1))", "?x + 1" },
	{ "(( x > 1 )) && a", "?x >1; a" },
	{ "((a); b)", "a; b" },
	{ "if a; then b; elif c; then d; else e; fi", "a ~; b ~; c ~; d ~; e ~" },
	{ "if a\nthen\nb\nfi > x", "a ~; b ~" },
	{ "while a; do b; done < c | d", "a ~; b ~; | d" },
	{ "until a; do b; done", "a ~; b ~" },
	{ "for x in a $b; do c; done", "x in a ${b} ~; c ~" },
	{ "for x\ndo a; done", "x in ${@} ~; a ~" },
	{ "for x; do a; done", "x in ${@} ~; a ~" },
	{ "for x in; do a; done", "x in ~; a ~" },
	{ "for ((i=0;i<$(a);i++)); do b; done", "a; b ~" },
	{ "select x in a; do b; done", "x in a ~; b ~" },
	{ "case $x in a|b) c;; (d) e;& *) f;;& g) ;; esac", "c ~; e ~; f ~" },
	{ "case x in\na) b\nesac", "b ~" },
	{ "f() { a; }; f", "a ~; f" },
	{ "f () ( a )", "a ~" },
	{ "function f { a; }", "a ~" },
	{ "function f() { a; }", "a ~" },
	{ "f()\n{\na\n}", "a ~" },
	{ "! a", "a" },
	{ "time a", "time a" },
	{ "time { a; }", "a" },
	{ "time -p ( a )", "a" },
	{ "coproc a b", "a b ~" },
	{ "[[ -f $(a) && ( $x == y || $x =~ ^(a|b)$ ) ]] && b", "a; b" },
	{ "[ a ]", "[ a ]" },
	{ "a # b", "a" },
	{ "a#b", "a#b" },
	{ "a\\\nb c \\\n d", "ab c d" },
	{ "echo if then fi { }", "echo if then fi { }" },
	{ "echo {a,b} *.c ~ [x]", "echo {a,b} *.c ~ [x]" },
	{ "a=b=c", "a=b=c" },
	{ "'a'=b", "a=b" },
	{ "1a=b", "1a=b" },
	{ "echo 'a\nb'", "echo a\nb" },
	{ ":(){ :|:& };:", ": ~; | : ~; :" },
	{ "a 2>/dev/null | b", "a >/dev/null; | b" },
	{ "a <&3 >&- 3<&0", "a <3 >- >0" },
	{ "x=$(a) y=`b`", "a; b; x=$() y=$()" },
	{ "a <<\"E F\"\nx\nE F\n", "a <x\n" },
	{ "if ! a; then b; fi", "a ~; b ~" },
	{ "a;", "a" },
	{ "a &", "a" },
	{ "a & b &\n", "a; b" },
	{ "{ { a; }; }", "a" },
	{ "echo }", "echo }" },
	{ "echo $'x", NULL },
	{ "'", NULL },
	{ "\"", NULL },
	{ "`", NULL },
	{ "$(", NULL },
	{ "${", NULL },
	{ "${x", NULL },
	{ "(", NULL },
	{ ")", NULL },
	{ "()", NULL },
	{ "{ a", NULL },
	{ "}", NULL },
	{ "a ;; b", NULL },
	{ ";", NULL },
	{ "a | | b", NULL },
	{ "a &&", NULL },
	{ "| a", NULL },
	{ "if a; fi", NULL },
	{ "if a; then fi", NULL },
	{ "while a; b; done", NULL },
	{ "for x in a b", NULL },
	{ "case x a) b;; esac", NULL },
	{ "case x in a b;; esac", NULL },
	{ "done", NULL },
	{ "a (b)", NULL },
	{ "a >", NULL },
	{ "a < ; b", NULL },
	{ "[[ a", NULL },
	{ "f() ", NULL },
	{ "x=(a", NULL },
	{ "a <<", NULL },
};

#define N_SAMPLES	(sizeof(samples) / sizeof(samples[0]))

static void test_commands_come_out(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		cleanup_arena struct arena a = ARENA(1u << 22);
		cleanup_buf struct buf out = BUF(1u << 16);
		struct shell_script script;
		struct cordon_err err = { 0 };

		if (shell_parse(str_from(samples[i].text), SHELL_AS_WRITTEN, &a, &script,
				&err) < 0) {
			ok(!samples[i].want && err.code == CORDON_E_POLICY, "%s: %s",
			   samples[i].text, err.msg);
			continue;
		}
		put_script(&out, &script);
		is_text(buf_text(&out), samples[i].want, "%s", samples[i].text);
	}
}

static bool bash_reads(const char *text)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execlp("bash", "bash", "--norc", "-n", "-c", text, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

static void test_bash_agrees(void)
{
	if (!bash_reads(":")) {
		printf("# no bash here: not compared\n");
		ok(true, "nothing to ask");
		return;
	}
	for (size_t i = 0; i < N_SAMPLES; i++)
		if (samples[i].want)
			ok(bash_reads(samples[i].text), "bash reads: %s", samples[i].text);
		else
			ok(!bash_reads(samples[i].text), "bash does not: %s", samples[i].text);
}

static void test_feeders_are_known(void)
{
	cleanup_arena struct arena a = ARENA(1u << 20);
	struct shell_script s;
	struct cordon_err err;

	ok(shell_parse(STR("a $(x) | b | { c; } | d"), SHELL_AS_WRITTEN, &a, &s, &err) == 0,
	   "%s", err.msg);
	is_int((long long)s.n_commands, 5, "x a b c d");
	ok(!s.commands[1].is_fed, "a reads nothing");
	is_int((long long)s.commands[2].feeder, 1, "b reads a");
	is_int((long long)s.commands[3].feeder, 2, "c reads b, through the group");
	ok(s.commands[4].is_fed && s.commands[4].feeder == SHELL_NONE, "d reads a group");
}

static void test_joined_lines_are_one(void)
{
	cleanup_arena struct arena a = ARENA(1u << 20);
	cleanup_buf struct buf out = BUF(1u << 16);
	struct shell_script s;
	struct cordon_err err;

	ok(shell_parse(STR("rm\n-rf\xc2\xa0/ # x\n'a\nb'"), SHELL_JOINED, &a, &s, &err) == 0,
	   "%s", err.msg);
	put_script(&out, &s);
	is_text(buf_text(&out), "rm -rf /; a\nb", "comments still end with their line");
}

static void test_mistakes_have_a_place(void)
{
	cleanup_arena struct arena a = ARENA(1u << 20);
	struct shell_script s;
	struct cordon_err err;

	ok(shell_parse(STR("ls\nls )"), SHELL_AS_WRITTEN, &a, &s, &err) < 0, "refused");
	is_int(err.line, 2, "line");
	is_int(err.col, 4, "column");
}

static void test_limits_hold(void)
{
	static char text[2 * MAX_SHELL_NODES + 2];
	cleanup_arena struct arena a = ARENA(1u << 28);
	struct shell_script s;
	struct cordon_err err;

	for (size_t i = 0; i < MAX_SHELL_NESTING; i++)
		memcpy(text + 2 * i, "$(", 2);
	ok(shell_parse((struct str){ text, 2 * MAX_SHELL_NESTING }, SHELL_AS_WRITTEN, &a, &s,
		       &err) < 0 && strstr(err.msg, "deep"), "nesting");
	for (size_t i = 0; i < MAX_SHELL_NODES; i++)
		memcpy(text + 2 * i, "a;", 2);
	ok(shell_parse((struct str){ text, 2 * MAX_SHELL_NODES }, SHELL_AS_WRITTEN, &a, &s,
		       &err) < 0 && strstr(err.msg, "many"), "parts");
	ok(shell_parse((struct str){ text, MAX_SHELL_NODES / 4 }, SHELL_AS_WRITTEN, &a, &s,
		       &err) == 0, "not so many");
}

int main(void)
{
	return tap_run((struct tap_case[]){
		TAP(test_commands_come_out), TAP(test_bash_agrees), TAP(test_feeders_are_known),
		TAP(test_joined_lines_are_one), TAP(test_mistakes_have_a_place),
		TAP(test_limits_hold), TAP_END });
}

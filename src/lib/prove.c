/* The probes and their verdicts; see prove.h. */
#include "lib/prove.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

static const struct probe *const groups[] = { probes_files, probes_network, probes_processes,
					      probes_limits, probes_secrets };

/* ---- one act ------------------------------------------------------------ */

static const struct probe *find_probe(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		for (const struct probe *p = groups[i]; p->name; p++)
			if (strcmp(p->name, name) == 0)
				return p;
	return NULL;
}

static bool parse_number(const char *text, int *ret)
{
	uint64_t number;

	if (!str_parse_u64(str_from(text), &number) || number > INT_MAX)
		return false;
	*ret = (int)number;
	return true;
}

int cordon_prove_act(const char *const *words, size_t n, struct cordon_err *err)
{
	const struct probe *probe = n ? find_probe(words[0]) : NULL;
	struct prove_place place = { .pid = 0 };

	if (!probe || (n != 1 && n != 5))
		return err_set(err, CORDON_E_USAGE,
			       "prove-act takes the name of an act and its place");
	if (n == 5) {
		snprintf(place.base, sizeof(place.base), "%s", words[1]);
		if (!parse_number(words[2], &place.tcp) || !parse_number(words[3], &place.udp) ||
		    !parse_number(words[4], &place.pid))
			return err_set(err, CORDON_E_USAGE, "prove-act takes numbers");
	}
	return probe->act(&place, err);
}

/* ---- verdicts ----------------------------------------------------------- */

enum verdict { VERDICT_HOLDS, VERDICT_WORKS, VERDICT_UNKNOWN, VERDICT_BREACH, VERDICT_BROKEN,
	       N_VERDICTS };

static const char *const verdict_words[] = {
	[VERDICT_HOLDS] = "holds",	    [VERDICT_WORKS] = "works",
	[VERDICT_UNKNOWN] = "not measured", [VERDICT_BREACH] = "BREACH",
	[VERDICT_BROKEN] = "BROKEN",
};
static_assert(ARRAY_SIZE(verdict_words) == N_VERDICTS, "a verdict without a word");

struct proof {
	const struct probe *probe;
	struct prove_try outside, inside;
	enum verdict verdict;
};

/* An act that cannot be done outside proves nothing; one that did not even run
 * inside proves nothing either, and is no good sign. */
static enum verdict judge(const struct proof *p)
{
	if (p->probe->kind == PROBE_ADMITTED)
		return p->inside.end == TRY_DONE    ? VERDICT_WORKS :
		       p->outside.end == TRY_DONE ? VERDICT_BROKEN : VERDICT_UNKNOWN;
	if (p->inside.end == TRY_DONE)
		return VERDICT_BREACH;
	if (p->inside.end == TRY_FAILED)
		return VERDICT_BROKEN;
	return p->outside.end == TRY_DONE ? VERDICT_HOLDS : VERDICT_UNKNOWN;
}

struct report {
	struct buf *out;
	struct json_out json;
	bool is_json;
	int n[N_VERDICTS];
};

static const char *says(const struct prove_try *t)
{
	return t->end == TRY_DONE ? "done" : t->says;
}

static void print_proof(const struct proof *p, struct buf *out)
{
	buf_printf(out, "%-13s %s  %s\n", verdict_words[p->verdict], p->probe->promise,
		   p->probe->about);
	buf_printf(out, "%16s  outside: %s\n", "", says(&p->outside));
	buf_printf(out, "%16s  inside:  %s\n", "", says(&p->inside));
}

static void json_text(struct json_out *j, const char *key, const char *text)
{
	json_key(j, key);
	json_put_text(j, text);
}

static void json_proof(const struct proof *p, struct json_out *j)
{
	json_open(j, '{');
	json_text(j, "name", p->probe->name);
	json_text(j, "promise", p->probe->promise);
	json_text(j, "about", p->probe->about);
	json_text(j, "must", p->probe->kind == PROBE_ADMITTED ? "work" : "fail");
	json_text(j, "outside", says(&p->outside));
	json_text(j, "inside", says(&p->inside));
	json_text(j, "verdict", verdict_words[p->verdict]);
	json_close(j, '}');
}

static int prove_one(struct prove_place_open *o, const struct probe *probe, struct report *r,
		     struct cordon_err *err)
{
	struct proof p = { .probe = probe };

	if (prove_act_run(o, probe, false, &p.outside, err) < 0 ||
	    prove_act_run(o, probe, true, &p.inside, err) < 0)
		return -1;
	p.verdict = judge(&p);
	r->n[p.verdict]++;
	if (r->is_json)
		json_proof(&p, &r->json);
	else
		print_proof(&p, r->out);
	return 0;
}

static int prove_groups(struct prove_place_open *o, struct report *r, struct cordon_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		for (const struct probe *p = groups[i]; p->name; p++)
			if (p->promise && prove_one(o, p, r, err) < 0)
				return -1;
	return 0;
}

static void print_sum(const struct report *r, struct buf *out)
{
	buf_putc(out, '\n');
	for (int i = 0; i < N_VERDICTS; i++)
		buf_printf(out, "%s%d %s", i ? ", " : "", r->n[i], verdict_words[i]);
	buf_putc(out, '\n');
}

static void json_sum(const struct report *r, struct json_out *j)
{
	json_key(j, "sum");
	json_open(j, '{');
	for (int i = 0; i < N_VERDICTS; i++) {
		json_key(j, verdict_words[i]);
		json_put_int(j, r->n[i]);
	}
	json_close(j, '}');
}

int prove_all(const char *program, bool json, struct buf *out, bool *ret_holds,
	      struct cordon_err *err)
{
	struct report r = { .out = out, .is_json = json, .json = { .out = out, .indent = 2 } };
	char self[PATH_MAX];
	struct prove_place_open *o;
	ssize_t n;
	int rc;

	if (!program) {
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		if (n < 0)
			return err_sys(err, CORDON_E_SETUP, "cannot tell the program's own path");
		self[n] = '\0';
		program = self;
	}
	o = prove_open(program, err);
	if (!o)
		return -1;
	if (json) {
		json_open(&r.json, '{');
		json_key(&r.json, "proofs");
		json_open(&r.json, '[');
	}
	rc = prove_groups(o, &r, err);
	prove_close(o);
	if (rc < 0)
		return -1;
	if (json) {
		json_close(&r.json, ']');
		json_sum(&r, &r.json);
		json_close(&r.json, '}');
		buf_putc(out, '\n');
	} else {
		print_sum(&r, out);
	}
	*ret_holds = !r.n[VERDICT_BREACH] && !r.n[VERDICT_BROKEN];
	return 0;
}

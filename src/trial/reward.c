/* What a verifier wrote; see reward.h. */
#include "trial/reward.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>	/* isfinite, a macro */
#include <stdlib.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/limits.h"
#include "text/value.h"

/* The text of a plain file; 1: there is none of this name. */
static int read_text(int dir, const char *name, struct arena *a, struct str *ret,
		     struct cordon_err *err)
{
	cleanup_fd int fd = open_beneath(dir, name, O_RDONLY | O_NOFOLLOW);
	char *text;
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0)
		return err_sys(err, CORDON_E_PEER, "the verifier's %s cannot be opened", name);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, CORDON_E_PEER, "the verifier's %s is no plain file", name);
	if (st.st_size > MAX_REWARD_BYTES)
		return err_set(err, CORDON_E_PEER, "the verifier's %s has more than %u bytes",
			       name, MAX_REWARD_BYTES);
	text = arena_new(a, (size_t)st.st_size + 1, 1);
	if (!text)
		return err_nomem(err);
	n = read(fd, text, (size_t)st.st_size);
	if (n < 0)
		return err_sys(err, CORDON_E_PEER, "the verifier's %s cannot be read", name);
	*ret = str_trim((struct str){ text, (size_t)n });
	if (!ret->n)
		return err_set(err, CORDON_E_PEER, "the verifier's %s is empty", name);
	return 0;
}

static int make(struct arena *a, size_t n, struct rewards *ret, struct cordon_err *err)
{
	ret->names = arena_new(a, n + 1, sizeof(*ret->names));
	ret->values = arena_new(a, n + 1, sizeof(*ret->values));
	ret->n = 0;
	return ret->names && ret->values ? 0 : err_nomem(err);
}

static void add(struct rewards *r, struct str name, double value)
{
	r->names[r->n] = name;
	r->values[r->n++] = value;
}

static bool is_number(const struct value *v, double *ret)
{
	switch (v->kind) {
	case VALUE_INT:
		*ret = (double)v->integer;
		return true;
	case VALUE_FLOAT:
		*ret = v->real;
		return isfinite(v->real);
	case VALUE_BOOL:
		*ret = v->boolean;
		return true;
	default:
		return false;
	}
}

static int read_table(struct str text, struct arena *a, struct rewards *ret,
		     struct cordon_err *err)
{
	struct source src = { "reward.json", text };
	struct cordon_err why = { 0 };
	struct value root;

	if (json_parse(&src, a, &root, &why) < 0)
		return err_set(err, CORDON_E_PEER, "the verifier's reward.json: %s", why.msg);
	if (root.kind != VALUE_TABLE)
		return err_set(err, CORDON_E_PEER,
			       "the verifier's reward.json is %s, not names with numbers",
			       value_kind_words(root.kind));
	if (root.table.n > MAX_REWARDS)
		return err_set(err, CORDON_E_PEER,
			       "the verifier's reward.json has more than %u names", MAX_REWARDS);
	if (make(a, root.table.n, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < root.table.n; i++) {
		const struct member *m = &root.table.members[i];
		double value;

		if (!is_number(&m->value, &value))
			return err_set(err, CORDON_E_PEER,
				       "the verifier's reward.json: '%.*s' is no number",
				       STR_FMT(m->key));
		add(ret, m->key, value);
	}
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(struct str s, size_t at)
{
	size_t n = 0;

	while (at + n < s.n && is_digit(s.s[at + n]))
		n++;
	return n;
}

static size_t count_sign(struct str s, size_t at)
{
	return at < s.n && (s.s[at] == '-' || s.s[at] == '+');
}

/* Digits with a point and an exponent; strtod() takes much more. */
static bool is_decimal(struct str s)
{
	size_t at = count_sign(s, 0), digits = count_digits(s, at), more;

	at += digits;
	if (at < s.n && s.s[at] == '.') {
		more = count_digits(s, ++at);
		digits += more;
		at += more;
	}
	if (!digits || at == s.n)
		return digits > 0;
	if (s.s[at] != 'e' && s.s[at] != 'E')
		return false;
	at++;
	at += count_sign(s, at);
	more = count_digits(s, at);
	return more && at + more == s.n;
}

/* Python's 1_000 is 1000: they may stand between digits. */
static char *drop_underscores(struct str s, struct arena *a)
{
	char *out = arena_new(a, s.n + 1, 1);
	size_t n = 0;

	for (size_t i = 0; out && i < s.n; i++)
		if (s.s[i] != '_' || !i || i + 1 == s.n || !is_digit(s.s[i - 1]) ||
		    !is_digit(s.s[i + 1]))
			out[n++] = s.s[i];
	return out;
}

static int read_txt(struct str text, struct arena *a, struct rewards *ret,
		       struct cordon_err *err)
{
	char *copy = drop_underscores(text, a);
	/* The caller's may write 0,5. */
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double value;

	if (!copy || !c_locale)
		return err_nomem(err);
	value = is_decimal(str_from(copy)) ? strtod_l(copy, NULL, c_locale) : NAN;
	freelocale(c_locale);
	if (!isfinite(value))
		return err_set(err, CORDON_E_PEER, "the verifier's reward.txt holds no number");
	if (make(a, 1, ret, err) < 0)
		return -1;
	add(ret, STR("reward"), value);
	return 0;
}

int reward_read(int dir, struct arena *a, struct rewards *ret, struct cordon_err *err)
{
	struct str text;
	int rc = read_text(dir, "reward.json", a, &text, err);

	if (rc == 0)
		return read_table(text, a, ret, err);
	if (rc == 1)
		rc = read_text(dir, "reward.txt", a, &text, err);
	if (rc == 0)
		return read_txt(text, a, ret, err);
	if (rc == 1)
		return err_set(err, CORDON_E_PEER,
			       "the verifier wrote no reward: neither /logs/verifier/reward.json "
			       "nor /logs/verifier/reward.txt is there");
	return -1;
}

const double *reward_find(const struct rewards *r, struct str name)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->names[i], name))
			return &r->values[i];
	return NULL;
}

bool reward_reaches(const struct rewards *r, const struct task_floor *floor)
{
	for (size_t i = 0; i < floor->n; i++) {
		const double *value = reward_find(r, floor->names[i]);

		if (!value || *value < floor->values[i])
			return false;
	}
	return true;
}

static double mean_of(const struct rewards *steps, size_t n, struct str name)
{
	double sum = 0, parts = 0;

	for (size_t i = 0; i < n; i++) {
		const double *v = reward_find(&steps[i], name);

		sum += v ? *v : 0;
		parts += v ? *v / (double)n : 0;
	}
	/* Some numbers are too large together, though no mean is. */
	return isfinite(sum) ? sum / (double)n : parts;
}

int reward_join(const struct rewards *steps, size_t n, enum task_strategy strategy,
		struct arena *a, struct rewards *ret, struct cordon_err *err)
{
	size_t most = 0;

	if (strategy == TASK_FINAL && n) {
		*ret = steps[n - 1];
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		most += steps[i].n;
	if (make(a, most, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < steps[i].n; k++) {
			struct str name = steps[i].names[k];

			if (!reward_find(ret, name))
				add(ret, name, mean_of(steps, n, name));
		}
	return 0;
}

void reward_print(const struct rewards *r, struct json_out *j)
{
	json_open(j, '{');
	for (size_t i = 0; i < r->n; i++) {
		json_key_str(j, r->names[i]);
		json_put_real(j, r->values[i]);
	}
	json_close(j, '}');
}

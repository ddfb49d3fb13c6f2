/* Text with holes; see hole.h. */
#include "policy/shell/hole.h"

#include "base/limits.h"

bool hole_find(struct str word, enum hole hole)
{
	for (size_t i = 0; i + 1 < word.n; i++)
		if (word.s[i] == '\0' && word.s[++i] == (char)hole)
			return true;
	return false;
}

/* Where in `want` a match may stand after one more piece of the word. */
struct states {
	bool on[MAX_COMMAND_WORD + 1];
	size_t n;		/* want.n + 1 */
};

/* A `*` in `want` may stand for nothing. */
static void pass_stars(struct states *s, struct str want)
{
	for (size_t i = 0; i < want.n; i++)
		if (s->on[i] && want.s[i] == '*')
			s->on[i + 1] = true;
}

static void step_byte(struct states *s, struct str want, char c)
{
	for (size_t i = s->n; i-- > 0;) {
		bool here = i < want.n && s->on[i] && want.s[i] == '*';
		bool before = i && s->on[i - 1] && want.s[i - 1] == c;

		s->on[i] = here || before;
	}
	pass_stars(s, want);
}

/* Any bytes, `/` only if it may be. */
static void step_any(struct states *s, struct str want, bool slashes)
{
	for (size_t i = 0; i < want.n; i++)
		if (s->on[i] && (slashes || want.s[i] != '/'))
			s->on[i + 1] = true;
	pass_stars(s, want);
}

static void step_one(struct states *s, struct str want)
{
	for (size_t i = s->n; i-- > 0;) {
		bool here = i < want.n && s->on[i] && want.s[i] == '*';

		s->on[i] = here || (i && s->on[i - 1] && want.s[i - 1] != '/');
	}
	pass_stars(s, want);
}

/* `~`, `~name`: as written, or an absolute path. */
static void step_tilde(struct states *s, struct str want)
{
	struct states home = *s;

	step_byte(&home, want, '/');
	step_any(&home, want, true);
	step_byte(s, want, '~');
	for (size_t i = 0; i < s->n; i++)
		s->on[i] |= home.on[i];
}

static void step_hole(struct states *s, struct str want, char hole)
{
	switch ((enum hole)hole) {
	case HOLE_ANY:
	case HOLE_MANY:
		step_any(s, want, true);
		break;
	case HOLE_ONE:
		step_one(s, want);
		break;
	case HOLE_TILDE:
		step_tilde(s, want);
		break;
	case HOLE_ENV:
	case HOLE_ENV_BARE:
	case HOLE_STAR:
	case HOLE_BREAK:
	case HOLE_BRACE:
	case HOLE_COMMA:
	case HOLE_UNBRACE:
		step_any(s, want, false);
		break;
	}
}

bool hole_may_be(struct str word, struct str want, bool as_prefix)
{
	struct states s = { .n = want.n + 1 };

	if (want.n > MAX_COMMAND_WORD)
		return false;
	if (hole_free(word) && !memchr(want.s, '*', want.n))
		return as_prefix ? word.n >= want.n && memcmp(word.s, want.s, want.n) == 0 :
				   str_eq(word, want);
	s.on[0] = true;
	pass_stars(&s, want);
	for (size_t i = 0; i < word.n; i++) {
		bool alive = false;

		if (as_prefix && s.on[want.n])
			return true;
		if (word.s[i] == '\0' && i + 1 < word.n)
			step_hole(&s, want, word.s[++i]);
		else
			step_byte(&s, want, word.s[i]);
		for (size_t k = 0; k < s.n && !alive; k++)
			alive = s.on[k];
		if (!alive)
			return false;
	}
	return s.on[want.n];
}

struct str hole_without_env(struct str word, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < word.n && n + 2 < size; i++) {
		if (word.s[i] == '\0' && i + 1 < word.n) {
			i++;
			if (word.s[i] == HOLE_ENV || word.s[i] == HOLE_ENV_BARE)
				continue;
			out[n++] = '\0';
		}
		out[n++] = word.s[i];
	}
	return (struct str){ out, n };
}

bool hole_is_only_env(struct str word)
{
	char out[8];

	return word.n && word.n % 2 == 0 && !hole_without_env(word, out, sizeof(out)).n;
}

/* The table of a machine as text; see caps.h. */
#include "host/caps.h"

#include <limits.h>

enum cap_kind { CAP_BOOL, CAP_NUMBER, CAP_CGROUP, N_CAP_KINDS };

struct cap_row {
	const char *name;
	enum cap_kind kind;
	size_t offset;		/* in struct host_caps */
	const char *about;
};

#define ROW(name, kind, member, about)	{ name, kind, offsetof(struct host_caps, member), about }

static const struct cap_row features[] = {
	[FEATURE_USERNS] = ROW("userns", CAP_BOOL, userns, "privileges that end at the cordon"),
	[FEATURE_MOUNT] = ROW("mount", CAP_BOOL, mount, "files: a view of its own"),
	[FEATURE_PID] = ROW("pid", CAP_BOOL, pid, "processes: sees its own, none survives"),
	[FEATURE_NET] = ROW("net", CAP_BOOL, net, "network: none but its own loopback"),
	[FEATURE_TPROXY] = ROW("tproxy", CAP_BOOL, tproxy, "network by host names: every port"),
	[FEATURE_IPC] = ROW("ipc", CAP_BOOL, ipc, "shared memory and queues of its own"),
	[FEATURE_UTS] = ROW("uts", CAP_BOOL, uts, "a host name of its own"),
	[FEATURE_SECCOMP] = ROW("seccomp", CAP_BOOL, seccomp, "system calls that are refused"),
	[FEATURE_NOTIFY] = ROW("notify", CAP_BOOL, notify, "names that may not be created"),
	[FEATURE_LANDLOCK] = ROW("landlock", CAP_NUMBER, landlock, "files: a second wall"),
	[FEATURE_CGROUP] = ROW("cgroup", CAP_CGROUP, cgroup, "limits kept by the kernel"),
};
static_assert(ARRAY_SIZE(features) == N_HOST_FEATURES, "features does not match enum host_feature");

/* In the text, but no feature. */
static const struct cap_row root_row = ROW("root", CAP_BOOL, is_root, "the caller is uid 0");

#define N_ROWS	(N_HOST_FEATURES + 1)

static const char *const cgroup_words[] = {
	[HOST_CGROUP_NONE] = "none",
	[HOST_CGROUP_V2] = "v2",
};
static_assert(ARRAY_SIZE(cgroup_words) == N_HOST_CGROUPS, "a kind of cgroup without a word");

static const struct cap_row *row_of(size_t i)
{
	return i < N_HOST_FEATURES ? &features[i] : &root_row;
}

const char *host_feature_name(enum host_feature f)
{
	return features[f].name;
}

const char *host_feature_about(enum host_feature f)
{
	return features[f].about;
}

const char *host_cgroup_name(enum host_cgroup kind)
{
	return cgroup_words[kind];
}

static int get_number(const struct host_caps *caps, const struct cap_row *row)
{
	const char *at = (const char *)caps + row->offset;
	int number;

	if (row->kind == CAP_BOOL)
		return *(const bool *)at;
	static_assert(sizeof(enum host_cgroup) == sizeof(int), "an enum is read as an int");
	memcpy(&number, at, sizeof(number));
	return number;
}

static void put_number(struct host_caps *caps, const struct cap_row *row, int number)
{
	char *at = (char *)caps + row->offset;

	if (row->kind == CAP_BOOL)
		*(bool *)at = number != 0;
	else
		memcpy(at, &number, sizeof(number));
}

bool host_caps_has(const struct host_caps *caps, enum host_feature f)
{
	return get_number(caps, &features[f]) != 0;
}

void host_caps_put(struct host_caps *caps, enum host_feature f, int number)
{
	put_number(caps, &features[f], number);
}

/* ---- print -------------------------------------------------------------- */

void host_caps_print(const struct host_caps *caps, struct buf *out)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct cap_row *row = row_of(i);
		int number = get_number(caps, row);

		if (row->kind == CAP_NUMBER)
			buf_printf(out, "%s = %d\n", row->name, number);
		else
			buf_printf(out, "%s = %s\n", row->name,
				   row->kind == CAP_CGROUP ? cgroup_words[number]
							   : number ? "true" : "false");
	}
}

/* ---- parse -------------------------------------------------------------- */

static bool parse_bool(struct str text, int *ret)
{
	*ret = str_is(text, "true");
	return *ret || str_is(text, "false");
}

static bool parse_number(struct str text, int *ret)
{
	uint64_t number;

	if (!str_parse_u64(text, &number) || number > INT_MAX)
		return false;
	*ret = (int)number;
	return true;
}

static bool parse_cgroup(struct str text, int *ret)
{
	for (int i = 0; i < N_HOST_CGROUPS; i++)
		if (str_is(text, cgroup_words[i])) {
			*ret = i;
			return true;
		}
	return false;
}

static const struct {
	bool (*parse)(struct str text, int *ret);
	const char *takes;
} kinds[] = {
	[CAP_BOOL] = { parse_bool, "true or false" },
	[CAP_NUMBER] = { parse_number, "a number" },
	[CAP_CGROUP] = { parse_cgroup, "none or v2" },
};
static_assert(ARRAY_SIZE(kinds) == N_CAP_KINDS, "a kind of value without a parser");

static size_t find_row(struct str name)
{
	size_t i = 0;

	while (i < N_ROWS && !str_is(name, row_of(i)->name))
		i++;
	return i;
}

static int parse_line(struct str text, unsigned line, unsigned *seen, struct host_caps *caps,
		      struct cordon_err *err)
{
	size_t equals = str_find(text, '=');
	struct str key = str_trim(str_first(text, equals));
	struct str value;
	size_t i = find_row(key);
	int number;

	if (equals == text.n)
		return err_at(err, line, 1, "'%.*s' is no `key = value`", STR_FMT(text));
	if (i == N_ROWS)
		return err_at(err, line, 1, "'%.*s' is nothing a machine has", STR_FMT(key));
	if (*seen & 1u << i)
		return err_at(err, line, 1, "'%.*s' is there twice", STR_FMT(key));
	*seen |= 1u << i;
	value = str_trim(str_from_pos(text, equals + 1));
	if (!kinds[row_of(i)->kind].parse(value, &number))
		return err_at(err, line, 1, "%s takes %s, not '%.*s'", row_of(i)->name,
			      kinds[row_of(i)->kind].takes, STR_FMT(value));
	put_number(caps, row_of(i), number);
	return 0;
}

int host_caps_parse(struct str text, struct host_caps *ret, struct cordon_err *err)
{
	struct host_caps caps = { 0 };
	unsigned seen = 0, line = 0;

	static_assert(N_ROWS <= 32, "a bit for each row");
	while (text.n) {
		size_t end = str_find(text, '\n');
		struct str one = str_first(text, end);

		line++;
		text = str_from_pos(text, end < text.n ? end + 1 : end);
		one = str_trim(str_first(one, str_find(one, '#')));
		if (one.n && parse_line(one, line, &seen, &caps, err) < 0)
			return -1;
	}
	*ret = caps;
	return 0;
}

/* From what the caller asks to what a plan is compiled from; see request.h. */
#include "lib/request.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/native/programs.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "lib/accounts.h"
#include "lib/git.h"
#include "lib/held.h"
#include "lib/links.h"
#include "lib/mounts.h"
#include "lib/ways.h"
#include "plan/presets.h"
#include "policy/match.h"
#include "super/live.h"

/* Without the folder we are in, which is no part of what was said. */
static struct str as_named_from(const struct composition *c, const char *source)
{
	size_t n = strlen(c->here);

	return strncmp(source, c->here, n) == 0 && source[n] == '/' ? str_from(source + n + 1) :
								      str_from(source);
}

/* A policy by its name, and by each that the links on the way to it give it: the run sees
 * those that lie in a writable root, but not the one outside that leads there.  Without them
 * the next run would find another policy, or none. */
static int add_policy(struct composition *c, struct plan_request *r, struct str path,
		      struct cordon_err *err)
{
	return ways_follow(c, r, &r->policy_files, path, c->here, err);
}

static int add_ceiling(struct composition *c, struct plan_request *r, const char *home,
		       struct cordon_err *err)
{
	const char *path = path_join(&c->arena, home, USER_CEILING);

	return path ? add_policy(c, r, str_from(path), err) : err_nomem(err);
}

/* The user's ceiling where it is without XDG_CONFIG_HOME, and for who has another HOME: it
 * holds for the next run, whatever this one has read. */
static int list_ceilings(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	const char *const homes[] = { r->home, r->own_home };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		if (homes[i] && add_ceiling(c, r, homes[i], err) < 0)
			return -1;
	return 0;
}

/* Where a run from this folder would look for its policy. */
static int list_project_files(struct composition *c, const char *folder, struct plan_request *r,
			      struct cordon_err *err)
{
	for (struct str dir = str_from(folder); dir.n;) {
		for (size_t i = 0; project_policies[i]; i++)
			if (plan_paths_add(&c->arena, &r->policy_files,
					   arena_printf(&c->arena, "%.*s/%s",
							dir.n > 1 ? (int)dir.n : 0, dir.s,
							project_policies[i]),
					   err) < 0)
				return -1;
		while (dir.n && dir.s[dir.n - 1] != '/')
			dir.n--;
		dir.n -= dir.n > 0;
	}
	return 0;
}

/* The files whose policy holds, so that nothing inside can change them: what
 * they are, first, then the names they were found by.  And those that would
 * hold for the next run from here, or where this one works, if they were made or changed. */
static int list_policy_files(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	for (size_t i = 0; i < c->n_sources; i++) {
		const char *real;

		if (path_resolve(&c->arena, str_from(c->sources[i]), "/", &real, err) < 0 ||
		    plan_paths_add(&c->arena, &r->policy_files, real, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->n_sources; i++)
		if (add_policy(c, r, as_named_from(c, c->sources[i]), err) < 0)
			return -1;
	/* The caller's shell goes where that folder goes, and finds what it names from there. */
	if (ways_add(c, r, c->here, err) < 0)
		return -1;
	if (!c->like_container &&
	    (list_project_files(c, c->here, r, err) < 0 ||
	     (!path_within(c->here, c->cwd) && list_project_files(c, c->cwd, r, err) < 0)))
		return -1;
	return list_ceilings(c, r, err);
}

static int add_if_file(struct composition *c, const char *root, struct plan_request *r,
		       struct cordon_err *err)
{
	struct stat st;

	if (stat(root, &st) < 0 || S_ISDIR(st.st_mode))
		return 0;
	return plan_paths_add(&c->arena, &r->file_roots, root, err);
}

static int list_file_roots(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	for (size_t i = 0; i < write->n; i++)
		if (add_if_file(c, write->items[i].text.s, r, err) < 0)
			return -1;
	for (size_t i = 0; i < r->named_roots.n; i++)
		if (add_if_file(c, r->named_roots.paths[i], r, err) < 0)
			return -1;
	return 0;
}

static bool is_etc_entry(struct str path)
{
	for (size_t i = 0; preset_etc[i]; i++)
		if (strchr(preset_etc[i], '*') && str_glob(str_from(preset_etc[i]), path))
			return true;
	return false;
}

/* Without the preset they are in no plan.  A directory that cannot be listed has none. */
static int list_etc_entries(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	DIR *d = opendir("/etc");
	struct dirent *e;
	char path[sizeof("/etc/") + NAME_MAX];
	int rc = 0;

	while (d && rc == 0 && r->etc_entries.n < MAX_ETC_ENTRIES && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/etc/%s", e->d_name);
		if (is_etc_entry(str_from(path)))
			rc = plan_paths_add(&c->arena, &r->etc_entries,
					    arena_printf(&c->arena, "%s", path), err);
	}
	if (d)
		closedir(d);
	return rc;
}

/* HOME may be unset, or another's. */
static int find_own_home(struct composition *c, const char **ret, struct cordon_err *err)
{
	const char *home = account_find_home(&c->arena);

	return home ? path_resolve(&c->arena, str_from(home), "/", ret, err) : 0;
}

static int find_homes(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	struct stat st;

	if (c->home && path_resolve(&c->arena, str_from(c->home), "/", &r->home, err) < 0)
		return -1;
	/* Nothing lies below /dev/null, which some accounts have. */
	if (r->home && stat(r->home, &st) == 0 && !S_ISDIR(st.st_mode))
		r->home = NULL;
	if (find_own_home(c, &r->own_home, err) < 0)
		return -1;
	if (r->home && r->own_home && strcmp(r->home, r->own_home) == 0)
		r->own_home = NULL;
	return 0;
}

/* CORDON_SANDBOX: what happens where the machine cannot do what is asked. */
static int read_consent(enum plan_consent *ret, struct cordon_err *err)
{
	static const struct {
		const char *word;
		enum plan_consent consent;
	} words[] = {
		{ "", CONSENT_POLICY },
		{ "off", CONSENT_BARE },
		{ "warn", CONSENT_ANY },
		{ "enforce", CONSENT_NONE },
	};
	const char *word = getenv("CORDON_SANDBOX");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word ? word : "", words[i].word) == 0) {
			*ret = words[i].consent;
			return 0;
		}
	return err_set(err, CORDON_E_USAGE,
		       "CORDON_SANDBOX is '%s'; write off, warn or enforce, or unset it", word);
}

/* Copies: the words of the command line are wiped inside. */
static const char *const *copy_argv(struct composition *c, const struct cordon_request *req)
{
	const char **argv = arena_new(&c->arena, req->n_command + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < req->n_command; i++) {
		argv[i] = arena_strndup(&c->arena, req->command[i], strlen(req->command[i]));
		if (!argv[i])
			return NULL;
	}
	return (const char *const *)argv;
}

static bool is_same_host(const struct host *a, const struct host *b)
{
	return a->is_addr == b->is_addr &&
	       (a->is_addr ? a->addr.is_v6 == b->addr.is_v6 &&
				     memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) == 0
			   : strcmp(a->name, b->name) == 0);
}

/* The operator's word is above the project's, and below the ceilings'. */
static int check_reroute(const struct composition *c, const struct net_reroute *r, const char *text,
			 struct cordon_err *err)
{
	unsigned port = r->to_port ? r->to_port : r->port;
	struct host to;

	host_from_addr(&r->addr, &to);
	for (size_t i = 0; i < c->n_ceilings; i++) {
		const struct policy *ceiling = &c->ceilings[i];
		cleanup_buf struct buf where = BUF(MAX_DIAG_BYTES);
		struct matcher m;

		if (matcher_init(&m, ceiling, &ceiling->base, err) < 0)
			return -1;
		if (!matcher_denies(&m, &to, port))
			continue;
		place_print(ceiling->base.f[F_NETWORK_DENY].at, &where);
		return err_set(err, CORDON_E_USAGE,
			       "--connect-to: '%s' leads to an address that a ceiling denies (%s); "
			       "name another", text, buf_text(&where));
	}
	return 0;
}

/* One answer for each host and port. */
int request_reroutes(struct composition *c, const struct cordon_request *req,
		     const struct net_reroute **ret, struct cordon_err *err)
{
	struct net_reroute *list = arena_new(&c->arena, req->n_connect_to + 1, sizeof(*list));
	char why[HOST_WHY];

	if (!list)
		return err_nomem(err);
	if (req->n_connect_to > MAX_REROUTES)
		return err_set(err, CORDON_E_USAGE, "--connect-to is there more than %d times",
			       MAX_REROUTES);
	for (size_t i = 0; i < req->n_connect_to; i++) {
		if (net_reroute_parse(str_from(req->connect_to[i]), &list[i], why) < 0)
			return err_set(err, CORDON_E_USAGE, "--connect-to: '%s' %s",
				       req->connect_to[i], why);
		if (check_reroute(c, &list[i], req->connect_to[i], err) < 0)
			return -1;
		for (size_t k = 0; k < i; k++)
			if (list[k].port == list[i].port &&
			    is_same_host(&list[k].host, &list[i].host))
				return err_set(err, CORDON_E_USAGE,
					       "--connect-to: '%s' says again where a host is",
					       req->connect_to[i]);
	}
	*ret = list;
	c->policy.base.rerouted = req->n_connect_to || c->like_container;
	for (size_t i = 0; i < c->policy.n_phases; i++)
		c->policy.phases[i].section.rerouted = c->policy.base.rerouted;
	return 0;
}

struct cordon_request request_any_command(const struct cordon_request *req)
{
	static const char *const nothing[] = { "/bin/true" };
	struct cordon_request any = *req;

	if (!any.n_command) {
		any.command = nothing;
		any.n_command = 1;
	}
	return any;
}

/* One that is a link is used by nobody, and may be another user's: neither it nor where it
 * leads is ours. */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The host's list of name servers, where a link leads out of /etc to it, as that of who writes
 * it anew at each change does: its folder is not there inside. */
static void try_read_name_servers(struct composition *c, struct plan_request *r)
{
	static const char path[] = "/etc/resolv.conf";
	struct cordon_err ignored;
	const char *real;
	struct str text;

	if (c->policy.base.f[F_NETWORK_MODE].number == NETWORK_PUBLIC && is_link(path) &&
	    path_resolve(&c->arena, str_from(path), "/", &real, &ignored) == 0 &&
	    !path_within(real, "/etc") &&
	    fd_read_file(real, MAX_SERVER_LIST, &c->arena, &text, &ignored) == 0)
		r->name_servers = text.s;
}

static int find_live_root(struct composition *c, const char *live, const char **ret,
			  struct cordon_err *err)
{
	const char *name = strrchr(live, '/') + 1, *folder;

	if (path_resolve(&c->arena, (struct str){ live, (size_t)(name - live) }, "/", &folder,
			 err) < 0)
		return -1;
	*ret = arena_printf(&c->arena, "%s/%s", folder[1] ? folder : "", name);
	return *ret ? 0 : err_nomem(err);
}

/* The folder of live runs; and where it is for who has another environment, so that nobody
 * inside speaks to the supervisor of another cordon. */
static int find_live_roots(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	char live[MAX_LIVE_ROOT];

	live_root(live);
	r->live_is_link = is_link(live);
	if (find_live_root(c, live, &r->live_root, err) < 0)
		return -1;
	for (size_t i = 0; i < N_LIVE_ROOTS; i++) {
		const char *other;

		live_root_at(i, live);
		if (find_live_root(c, live, &other, err) < 0 ||
		    (strcmp(other, r->live_root) != 0 && !is_link(live) &&
		     plan_paths_add(&c->arena, &r->own, other, err) < 0))
			return -1;
	}
	return 0;
}

static int add_if_absent(struct composition *c, const char *path, struct plan_request *r,
			 struct cordon_err *err)
{
	struct stat st;

	if (!path)
		return err_nomem(err);
	return lstat(path, &st) < 0 && err_is_absence() ?
		       plan_paths_add(&c->arena, &r->absent, path, err) : 0;
}

/* Names below a directory; absolute ones are below "/". */
static int list_absent_in(struct composition *c, const char *folder, const char *const *names,
			  struct plan_request *r, struct cordon_err *err)
{
	for (size_t i = 0; folder && names[i]; i++)
		if (add_if_absent(c, names[i][0] == '/' ? names[i] :
				     path_join(&c->arena, folder, names[i]), r, err) < 0)
			return -1;
	return 0;
}

static int list_absent(struct composition *c, struct plan_request *r, struct cordon_err *err)
{
	if (!plan_may_be_less(&c->policy, r))
		return 0;
	for (size_t i = 0; i < r->credentials.n; i++)
		if (add_if_absent(c, r->credentials.paths[i], r, err) < 0)
			return -1;
	return list_absent_in(c, r->home, credentials, r, err) < 0 ||
	       list_absent_in(c, r->own_home, credentials, r, err) < 0 ||
	       list_absent_in(c, "/", root_files, r, err) < 0 ||
	       list_absent_in(c, "/", root_folders, r, err) < 0 ? -1 : 0;
}

/* What the policy's words name on this disk. */
static int find_files(struct composition *c, const struct cordon_request *req,
		      struct plan_request *r, struct cordon_err *err)
{
	return find_homes(c, r, err) < 0 || list_policy_files(c, r, err) < 0 ||
	       list_file_roots(c, r, err) < 0 || list_etc_entries(c, r, err) < 0 ||
	       git_find(c, r, err) < 0 || held_find(c, r, err) < 0 ||
	       mounts_find(c, r, err) < 0 || links_find(c, req, r, err) < 0 ? -1 : 0;
}

int request_read(struct composition *c, const struct cordon_request *req, struct plan_request *ret,
		struct record *ret_record, struct cordon_err *err)
{
	struct plan_request r = {
		.argv = copy_argv(c, req),
		.environ = (const char *const *)environ,
		.cwd = c->cwd,
		.uid = geteuid(),
		.gid = getegid(),
		.named_roots = c->named_roots,
		.untrusted = c->untrusted ? c->found : NULL,
		.ceilings = c->ceilings,
		.n_ceilings = c->n_ceilings,
		.n_reroutes = req->n_connect_to,
	};

	if (!r.argv)
		return err_nomem(err);
	/* Not looked for where nothing is blocked. */
	r.multi_call = c->policy.base.f[F_COMMANDS_BLOCK].n && programs_find_multi_call(r.environ);
	if (find_files(c, req, &r, err) < 0 || read_consent(&r.consent, err) < 0 ||
	    list_absent(c, &r, err) < 0 ||
	    request_reroutes(c, req, &r.reroutes, err) < 0 ||
	    record_find(c, req, &r, ret_record, err) < 0 || find_live_roots(c, &r, err) < 0)
		return -1;
	try_read_name_servers(c, &r);
	*ret = r;
	return 0;
}

static int make_folders(struct str path, struct cordon_err *err)
{
	char part[PATH_MAX] = "";

	for (size_t n = 1; n <= path.n && path.n < sizeof(part); n++) {
		if (n < path.n && path.s[n] != '/')
			continue;
		memcpy(part, path.s, n);
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			return err_sys(err, CORDON_E_SETUP, "files.write: cannot make '%.*s'",
				       STR_FMT(path));
	}
	return 0;
}

/* What is not there cannot be masked, and somebody may start a cordon there meanwhile.  If it
 * is not ours to make, no cordon of ours is there. */
static void try_make_live_root(const struct composition *c)
{
	static const enum field_id ids[] = { F_FILES_WRITE, F_FILES_READ };
	char live[MAX_LIVE_ROOT];
	struct cordon_err ignored;
	bool covered = false;

	live_root_at(0, live);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		for (size_t k = 0; k < c->policy.base.f[ids[i]].n; k++)
			covered |= path_within(live, c->policy.base.f[ids[i]].items[k].text.s);
	if (covered)
		(void)!live_make_root(live, &ignored);
}

int request_make_roots(const struct composition *c, struct cordon_err *err)
{
	const struct field_value *write = &c->policy.base.f[F_FILES_WRITE];

	try_make_live_root(c);
	for (size_t i = 0; i < write->n; i++) {
		struct str path = write->items[i].text;

		if (!str_is(path, c->here) && access(path.s, F_OK) < 0 && errno == ENOENT &&
		    make_folders(path, err) < 0)
			return -1;
	}
	return 0;
}

bool request_requires_cgroup(const struct policy *p)
{
	const struct field_value *v = &p->base.f[F_REQUIRE];

	for (size_t i = 0; i < v->n; i++)
		if (str_is(v->items[i].text, protection_name(PROTECTION_CGROUP)))
			return true;
	return false;
}

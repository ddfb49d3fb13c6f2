/* The audit log of a run; see record.h. */
#include "lib/record.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/ways.h"

/* By each name on the way: a link in a root could be led elsewhere, and the next run would
 * write there. */
static int hide(struct composition *c, const char *path, const char *base, struct plan_request *r,
		struct cordon_err *err)
{
	return ways_follow(c, r, &r->own, str_from(path), base, err);
}

static int find_asked(struct composition *c, const char *path, struct plan_request *r,
		      struct record *ret, struct cordon_err *err)
{
	char here[MAX_AUDIT_PATH];

	if (!getcwd(here, sizeof(here)))
		return err_sys(err, CORDON_E_SETUP, "cannot find the working directory");
	/* Who opens it may be elsewhere: the supervisor of a session is. */
	*ret = (struct record){ .path = path[0] == '/' ? path : arena_printf(&c->arena, "%s/%s",
									     here, path) };
	if (!ret->path)
		return err_nomem(err);
	return hide(c, path, here, r, err);
}

int record_find(struct composition *c, const struct cordon_request *req, struct plan_request *r,
		struct record *ret, struct cordon_err *err)
{
	struct audit_homes homes = { getenv("XDG_STATE_HOME"), c->home, r->own_home };
	char folder[MAX_AUDIT_PATH];

	*ret = (struct record){ 0 };
	/* Other runs have theirs there, wherever this one's is. */
	for (size_t i = 0; i < N_AUDIT_FOLDERS; i++)
		if (audit_folder_at(&homes, i, folder) && hide(c, folder, "/", r, err) < 0)
			return -1;
	if (req->audit)
		return find_asked(c, req->audit, r, ret, err);
	if (!audit_find_folder(&homes, folder))
		return 0;
	ret->folder = arena_strndup(&c->arena, folder, strlen(folder));
	ret->path = arena_printf(&c->arena, "%s/" AUDIT_FILE_NAME, folder);
	return ret->folder && ret->path ? 0 : err_nomem(err);
}

static int open_file(const struct record *r, struct audit_file *ret, struct cordon_err *err)
{
	if (!r->path)
		return err_set(err, CORDON_E_SETUP, "neither XDG_STATE_HOME nor HOME is a folder "
						    "of this user");
	return r->folder ? audit_folder_open(r->folder, ret, err)
			 : audit_file_open(r->path, ret, err);
}

static int refuse_asked(const struct cordon_err *why, struct cordon_err *err)
{
	return err_set(err, CORDON_E_USAGE, "--audit takes a file that can be added to: %s",
		       why->msg);
}

int record_check(const struct record *r, struct cordon_err *err)
{
	struct cordon_err why;

	if (!r->path || r->folder || audit_file_check(r->path, &why) == 0)
		return 0;
	return refuse_asked(&why, err);
}

int record_open(struct composition *c, const struct record *r, const char *run_id,
		struct audit **ret, const char **ret_problem, struct cordon_err *err)
{
	struct audit_file file;
	struct audit *audit;
	struct cordon_err why;

	*ret = NULL;
	*ret_problem = NULL;
	if (open_file(r, &file, &why) < 0) {
		if (r->path && !r->folder)
			return refuse_asked(&why, err);
		*ret_problem = arena_strndup(&c->arena, why.msg, strlen(why.msg));
		return *ret_problem ? 0 : err_nomem(err);
	}
	audit = audit_new(file, run_id);
	if (!audit)
		return err_nomem(err);
	*ret = audit;
	return 0;
}

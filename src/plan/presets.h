/* The places behind the words: presets, protected sets, credentials. */
#ifndef PLAN_PRESETS_H
#define PLAN_PRESETS_H

/* Each list ends with NULL.  Names without a leading slash are below $HOME. */

/* system_runtime: mounted read-only as they are on the host. */
extern const char *const preset_system[];
/* system_runtime: the entries of /etc that programs need; nothing else of it.  `*` stands
 * for any part of a name: versions. */
extern const char *const preset_etc[];
/* developer_toolchains */
extern const char *const preset_toolchains[];
/* package_manager_config: configuration, never credentials.  No caches: who finds one wants
 * to write to it, and fails where an empty one would do. */
extern const char *const preset_config[];

/* files.protect = ["git"], …: below each writable root. */
extern const char *const protect_git[];
/* git: where a root is such a folder itself; and of the worktrees elsewhere that are in it. */
extern const char *const protect_git_folder_names[];
extern const char *const guard_worktrees[];
extern const char *const protect_agent[];
extern const char *const protect_shell[];
/* The words for those; ends with an empty one. */
extern const struct protected_set {
	const char *word;
	const char *const *names;
} protected_sets[];
/* agent-config: names of policies, in any folder.  Kept in step with project_policies
 * of lib/compose.c. */
extern const char *const protect_anywhere[];

/* Below $HOME: unreadable wherever a root would show them, unless the policy
 * names them. */
extern const char *const credentials[];
/* Variables that move a folder of $HOME, or one of its names, and so what of the above lies
 * there; the folder "" is $HOME itself, `only` what the names begin with that are moved.  Not
 * those that name a file of a project's own, as KUBECONFIG often does.  Ends with an empty
 * one. */
extern const struct moved_folder {
	const char *variable, *folder, *only;
	enum { MOVED_WHOLE, MOVED_LIST, MOVED_BY_SHELL } how;	/* a list: several, by `:` */
} moved_folders[];
/* The same for the whole machine; matters when the caller is root. */
extern const char *const root_files[];
extern const char *const root_folders[];

#endif

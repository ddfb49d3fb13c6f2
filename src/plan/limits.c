/* The limits of a section as numbers; see limits.h. */
#include "plan/limits.h"

#include <sched.h>

#include "plan/enforce.h"
#include "policy/field.h"

/* limits.disk holds for the writable roots, too, where the policy sets it. */
static bool counts_roots(const struct policy *p)
{
	return p->base.f[F_FILES_WRITE].n && policy_is_written(p, F_LIMITS_DISK);
}

void limits_compile(const struct policy *p, const struct section *s, struct plan_limits *l)
{
	int64_t cpu = s->f[F_LIMITS_CPU_SECONDS].number;

	*l = (struct plan_limits){
		.memory = s->f[F_LIMITS_MEMORY].number,
		.cpu_ms = cpu > INT64_MAX / 1000 ? LIMIT_NONE : cpu * 1000,
		.cpus = s->f[F_LIMITS_CPUS].number,
		.processes = s->f[F_LIMITS_PROCESSES].number,
		.file_size = s->f[F_LIMITS_FILE_SIZE].number,
		.wall_ms = s->f[F_LIMITS_TIMEOUT].number,
		.output = s->f[F_LIMITS_OUTPUT].number,
		.disk = s->f[F_LIMITS_DISK].number,
		.roots = counts_roots(p) ? s->f[F_LIMITS_DISK].number : LIMIT_NONE,
		.open_files = s->f[F_LIMITS_OPEN_FILES].number,
		.grace_ms = 75,
	};
}

void limits_fit(const struct plan *plan, struct plan_limits *l)
{
	/* No private place, nothing to count there. */
	if (plan->level != LEVEL_FULL)
		l->disk = LIMIT_NONE;
	if (plan->uncounted)
		l->memory = l->cpu_ms = l->processes = LIMIT_NONE;
}

void limits_fit_bare(const struct policy *p, struct plan_limits *l)
{
	l->memory = l->cpu_ms = l->processes = l->disk = l->roots = LIMIT_NONE;
	if (!enforcer_find_bare(F_LIMITS_FILE_SIZE, p))
		l->file_size = LIMIT_NONE;
	if (!enforcer_find_bare(F_LIMITS_OPEN_FILES, p))
		l->open_files = LIMIT_NONE;
}

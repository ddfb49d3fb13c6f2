/* The limits of a section as numbers; see limits.h. */
#include "plan/limits.h"

#include "policy/field.h"

void limits_compile(const struct section *s, bool count_roots, struct plan_limits *l)
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
		.roots = count_roots ? s->f[F_LIMITS_DISK].number : LIMIT_NONE,
		.open_files = s->f[F_LIMITS_OPEN_FILES].number,
		.grace_ms = 80,
	};
}

/* Telling what happens in a run: into its result and into the audit log.
 *
 * THE way for both: whoever refuses something, or notices a limit, says it here
 * once. */
#ifndef SUPER_REPORT_H
#define SUPER_REPORT_H

#include "audit/log.h"
#include "gate/gate.h"
#include "super/run.h"

struct run_reporter {
	struct run_result *res;
	struct audit *audit;	/* NULL: there is no log */
	bool limit_told;
	/* Called for every refusal, and for refusals that are only counted; or NULL. */
	void (*on_denial)(void *arg, const struct denial *d);
	void (*on_lost)(void *arg, uint64_t n);
	void *denial_arg;
};

/* What is known before there is a plan. */
struct run_about {
	const char *const *argv;	/* ends with NULL */
	const char *cwd;
	const char *const *policies;	/* files */
	size_t n_policies;
	const char *profile, *backend;
};

void run_report_start(struct run_reporter *r, const struct run_about *about);
/* A blocked command is not executed.  `leader`: see struct denial. */
void run_report_command(struct run_reporter *r, const char *what, const char *reason, int leader);
/* A name was not made, or what stands there not written or moved: for a guarded name,
 * or NULL for what lies below it. */
void run_report_file(struct run_reporter *r, const char *path, const struct plan_guarded *why,
		     int leader);
/* Refusals of which only the number is known. */
void run_report_lost(struct run_reporter *r, uint64_t n);
/* For struct gate_options. */
void run_report_network(struct run_reporter *r, const struct gate_report *report);
/* Another generation of the network's policy holds. */
void run_report_generation(struct run_reporter *r, uint64_t generation);
/* One command of a session, by its number. */
void run_report_command_start(struct run_reporter *r, int id, const char *const *argv,
			      const char *cwd);
void run_report_command_end(struct run_reporter *r, int id, const struct run_result *res);
/* res->limit, once it is set; said once. */
void run_report_limit(struct run_reporter *r);
/* What the log is due to write; to be called in every round of a loop. */
void run_report_write(struct run_reporter *r);
/* The last event; the log is closed, and res says what is not in it. */
void run_report_end(struct run_reporter *r, const struct plan *plan);

#endif

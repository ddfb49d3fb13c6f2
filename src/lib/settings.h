/* The operator's words (options) applied to a composed policy. */
#ifndef LIB_SETTINGS_H
#define LIB_SETTINGS_H

#include "lib/compose.h"

/* CORDON_ADD, CORDON_ADD_DOMAIN and CORDON_REPLACE: to the project's layer. */
int settings_add(struct composition *c, const struct cordon_setting *settings, size_t n) MUST_USE;
/* CORDON_TIGHTEN: a layer of its own. */
int settings_tighten(struct composition *c, const struct cordon_setting *settings,
		     size_t n) MUST_USE;

#endif

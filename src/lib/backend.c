/* Backends and their capabilities; see backend.h. */
#include "lib/backend.h"

#include "policy/field.h"

#define CAN(capability)	(1u << (capability))

/* The gate is what judges hosts: with it come network_allowlist, one capability
 * for each class of hosts, and dynamic_network_policy.  Until then the process
 * backend can only take the network away. */
static const struct trial_capabilities capabilities[] = {
	[BACKEND_NONE] = { 0 },
	[BACKEND_PROCESS] = { CAN(TRIAL_DISABLE_INTERNET) },
	[BACKEND_DOCKER] = { 0 },	/* runs nothing yet */
};
static_assert(ARRAY_SIZE(capabilities) == N_BACKEND_WORDS, "a backend without capabilities");

const struct trial_capabilities *backend_find_capabilities(const char *name)
{
	const char *const *words = field_words(KIND_BACKEND);

	if (!name)
		return &capabilities[BACKEND_PROCESS];
	for (size_t i = 0; words[i]; i++)
		if (strcmp(words[i], name) == 0)
			return &capabilities[i];
	return NULL;
}

/* Backends and their capabilities; see backend.h. */
#include "lib/backend.h"

#include "host/probe.h"
#include "policy/field.h"

#define CAN(capability)	(1u << (capability))
#define ALLOWLISTS                                                                             \
	(CAN(TRIAL_ALLOWLIST) | CAN(TRIAL_ALLOWLIST_HOSTNAMES) |                               \
	 CAN(TRIAL_ALLOWLIST_WILDCARD_HOSTNAMES) | CAN(TRIAL_ALLOWLIST_IPV4_ADDRESSES) |       \
	 CAN(TRIAL_ALLOWLIST_IPV6_ADDRESSES) | CAN(TRIAL_ALLOWLIST_IPV4_CIDRS) |               \
	 CAN(TRIAL_ALLOWLIST_IPV6_CIDRS))

/* A trial runs at level full, and its gate takes nf_tables. */
static unsigned process_bits(const struct host_caps *caps)
{
	unsigned bits = 0;

	if (caps->net || caps->seccomp)
		bits |= CAN(TRIAL_DISABLE_INTERNET);
	if (caps->net && caps->tproxy)
		bits |= ALLOWLISTS | CAN(TRIAL_DYNAMIC_POLICY);
	return bits;
}

/* None: it enforces nothing, or runs nothing yet. */
static unsigned no_bits(const struct host_caps *caps UNUSED)
{
	return 0;
}

static unsigned (*const bits_of[])(const struct host_caps *caps) = {
	[BACKEND_NONE] = no_bits,
	[BACKEND_PROCESS] = process_bits,
	[BACKEND_DOCKER] = no_bits,
};
static_assert(ARRAY_SIZE(bits_of) == N_BACKEND_WORDS, "a backend without capabilities");

bool backend_find_capabilities(const char *name, const struct host_caps *caps,
			       struct trial_capabilities *ret)
{
	const char *const *words = field_words(KIND_BACKEND);

	for (size_t i = 0; words[i]; i++)
		if (strcmp(words[i], name ? name : words[BACKEND_PROCESS]) == 0) {
			ret->bits = bits_of[i](caps);
			return true;
		}
	return false;
}

int backend_probe_capabilities(const char *name, struct trial_capabilities *ret,
			       struct cordon_err *err)
{
	struct host_caps caps;

	if (host_probe(&caps, err) < 0)
		return -1;
	if (!backend_find_capabilities(name, &caps, ret))
		return err_set(err, CORDON_E_USAGE,
			       "'%s' is not a backend; write none, process or docker", name);
	return 0;
}

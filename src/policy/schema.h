/* The JSON Schema of cordon.toml, made from the field table. */
#ifndef POLICY_SCHEMA_H
#define POLICY_SCHEMA_H

#include "base/json.h"

void policy_print_schema(struct json_out *out);

#endif

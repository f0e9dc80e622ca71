/*
 * The host of a scenario: topology and hardware parameters, from a preset and what the user
 * changes.
 */
#ifndef HV_SCENARIO_HOST_H
#define HV_SCENARIO_HOST_H

#include <stdbool.h>

#include "scenario/fields.h"
#include "scenario/scenario.h"

/* One hardware parameter or cost: where it lives and what it may be. */
struct sc_param {
	const char *key;
	enum sc_quantity kind;
	size_t offset; /* of an int64_t in struct sc_hw */
	int64_t min, max;
	const char *meaning;
};

/* Ends with a NULL key. */
extern const struct sc_param sc_hw_params[]; /* host: params: */
extern const struct sc_param sc_hw_costs[];  /* host: costs: */

static inline int64_t *sc_param_field(struct sc_hw *hw, const struct sc_param *param)
{
	return (int64_t *)((char *)hw + param->offset);
}

static inline int64_t sc_param_value(const struct sc_hw *hw, const struct sc_param *param)
{
	return *(const int64_t *)((const char *)hw + param->offset);
}

extern const char *const sc_l1d_words[3];

/*
 * Reads the keys preset, topology, params and costs of `host:` (f is open on it) into topo, hw and
 * *preset. Files are relative to dir. Returns false after an error that leaves the host unusable.
 */
bool sc_host_read(struct sc_fields *f, const char *dir, struct scenario *s);

#endif

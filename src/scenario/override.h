/*
 * `path=value`: changing one key of a scenario before it is read, for `set:` of a variant and
 * `--set`.
 */
#ifndef HV_SCENARIO_OVERRIDE_H
#define HV_SCENARIO_OVERRIDE_H

#include <stdbool.h>

#include "scenario/tree.h"

/*
 * Puts value at the path: keys and names separated by dots ("vms.build.weight", "host.costs.C4",
 * "vms.build.workload.jobs"). Lists are searched for an element with that `name`, or take an index
 * from 0. Missing mappings are made. `mark` is the place of the path. Returns false after an error.
 */
bool sc_override(struct sc_parse *p, struct sc_node *root, const struct sc_mark *mark,
		 const char *path, const struct sc_node *value);

#endif

/*
 * Expectations: `build.elapsed[runq=socket] < build.elapsed[runq=core]`. The grammar is in
 * docs/scenarios.md; parsed here into the structs of scenario.h.
 */
#ifndef HV_SCENARIO_EXPECT_H
#define HV_SCENARIO_EXPECT_H

#include <stdbool.h>

#include "scenario/scenario.h"
#include "scenario/tree.h"

/*
 * Reads the list under `expect:` into file->expect. The variants must be there: names of VMs,
 * pCPUs and variants are checked against them. Errors have been reported when it returns.
 */
void sc_expect_read(struct sc_parse *p, const struct sc_node *list, struct scenario_file *file);

#endif

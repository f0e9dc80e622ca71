/*
 * Scheduling granularity in a scenario. Inside the scenario layer, and for tests.
 */
#ifndef HVSCHED_SCENARIO_GRANULARITY_H
#define HVSCHED_SCENARIO_GRANULARITY_H

#include "scenario/scenario.h"
#include "scenario/tree.h"

/*
 * pCPUs of a resource, and the granularity in effect: where cores (or sockets) have unlike numbers
 * of online pCPUs the next smaller one is used.
 */
unsigned int sc_gran_size(const struct scenario *s, enum hv_gran *effective);
/* Warns about a granularity that is not in effect, and VMs that do not fill their units. */
void sc_gran_check(struct sc_parse *p, const struct sc_mark *cmdline, const struct scenario *s);

#endif

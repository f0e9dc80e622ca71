/*
 * The Xen command line of a scenario (core-scheduling section 7.3, credit2 section 1).
 */
#ifndef HV_SCENARIO_CMDLINE_H
#define HV_SCENARIO_CMDLINE_H

#include <stdbool.h>

#include "scenario/scenario.h"
#include "scenario/tree.h"

/* Xen's defaults. */
void sc_cmdline_default(struct sc_xen *xen);

/*
 * Adds the parameters of one line; one given before is replaced. node may be NULL. Returns false
 * after an error. Node numbers are not checked here: the topology may not be known yet.
 */
bool sc_cmdline_read(struct sc_parse *p, const struct sc_node *node, struct sc_xen *xen);

/* After the last line: parameters that Xen corrects because of each other. */
void sc_cmdline_settle(struct sc_parse *p, const struct sc_mark *mark, struct sc_xen *xen);

#endif

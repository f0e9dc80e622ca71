/*
 * Operator commands with their times: `timeline:` of a scenario, commands named as in xl
 * (core-scheduling section 7.1).
 */
#ifndef HV_SCENARIO_TIMELINE_H
#define HV_SCENARIO_TIMELINE_H

#include "scenario/scenario.h"
#include "scenario/tree.h"

/*
 * Reads the list into s->event; the VMs and the topology of s must be there. Pool files start from
 * dir.
 */
void sc_timeline_read(struct sc_parse *p, const struct sc_node *list, const char *dir,
		      struct scenario *s);

#endif

/*
 * VMs and domain 0 of a scenario.
 */
#ifndef HV_SCENARIO_VM_H
#define HV_SCENARIO_VM_H

#include "scenario/scenario.h"
#include "scenario/tree.h"
#include "scenario/workload.h"

/*
 * Reads `dom0:` (NULL: the default domain 0) and `vms:` into s->vm. Topology and command line must
 * be there; cmdline is the latter's place. Errors have been reported when it returns.
 */
void sc_vms_read(struct sc_parse *p, const struct sc_library *library, const struct sc_node *dom0,
		 const struct sc_node *vms, const struct sc_mark *cmdline, struct scenario *s);

/* The pCPUs that a text names; must_run: one has to be on line. False: an error was told. */
bool sc_mask_read(struct sc_parse *p, const struct sc_node *node, const char *name,
		  const struct sc_topology *topo, bool must_run, struct hv_mask *out);

#endif

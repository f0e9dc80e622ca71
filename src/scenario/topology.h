/*
 * Where a topology comes from: "2x8x2", an hwloc synthetic string, an hwloc XML file, "this-host".
 */
#ifndef HV_SCENARIO_TOPOLOGY_H
#define HV_SCENARIO_TOPOLOGY_H

#include <stdbool.h>

#include "scenario/scenario.h"
#include "scenario/tree.h"

/*
 * Resolves what the user named; file names are relative to dir. All pCPUs are online in the result.
 * Returns false after an error message at the node.
 */
bool sc_topology_resolve(struct sc_parse *p, const struct sc_node *node, const char *dir,
			 struct sc_topology *out);

/* hwloc.c: the same for one source. `text` is the synthetic string or the path of the XML file. */
enum sc_hwloc_source { SC_HWLOC_SYNTHETIC, SC_HWLOC_XML, SC_HWLOC_THIS_HOST };
bool sc_topology_hwloc(struct sc_parse *p, const struct sc_mark *mark, enum sc_hwloc_source source,
		       const char *text, struct sc_topology *out);

/*
 * Sorts cpu[] by id and fills in counts, threads, masks. Ids must be unique and below SC_MAX_CPUS.
 */
void sc_topology_finish(struct sc_topology *topo);

/* Parks pCPUs as smt=off, nosmp and maxcpus= do. */
void sc_topology_apply_boot(struct sc_topology *topo, const struct sc_xen *xen);

#endif

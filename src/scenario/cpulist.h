/*
 * CPU lists as xl writes them (core-scheduling section 7): "0-3,5,^1", "all,^7", "node:0",
 * "nodes:0-1", "^node:1".
 */
#ifndef HV_SCENARIO_CPULIST_H
#define HV_SCENARIO_CPULIST_H

#include <stddef.h>

#include <hvsched.h>

struct sc_topology;

#define SC_CPULIST_ERROR 160 /* bytes that a message may need */

/*
 * Reads a list against a topology, from left to right. Returns 0 and *out, or -EINVAL with a
 * message in error (and the offset of the wrong term in *at). *out may name pCPUs that are off
 * line; it is never empty.
 */
int sc_cpulist_parse(const char *text, const struct sc_topology *topo, struct hv_mask *out,
		     char error[SC_CPULIST_ERROR], size_t *at);
/* The pCPUs of a list of nodes: "0,2-3", "all,^1". Likewise. */
int sc_nodelist_parse(const char *text, const struct sc_topology *topo, struct hv_mask *out,
		      char error[SC_CPULIST_ERROR], size_t *at);

#endif

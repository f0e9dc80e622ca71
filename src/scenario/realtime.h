/*
 * What the real-time policies need to be told: periods and budgets of rtds, the time table of
 * arinc653.
 */
#ifndef HV_SCENARIO_REALTIME_H
#define HV_SCENARIO_REALTIME_H

#include "scenario/fields.h"
#include "scenario/scenario.h"

/* The keys period, budget and extratime of a VM, each for all vCPUs or a list with one per vCPU. */
void sc_rtds_read(struct sc_fields *f, struct sc_vm *vm);

/* The section `arinc653:` (NULL: none); the VMs of s must be there. */
void sc_frame_read(struct sc_parse *p, const struct sc_node *node, struct scenario *s);
/* What is wrong with the table, NULL if nothing (arinc653 section 4). */
const char *sc_frame_fault(struct sc_arena *arena, const struct sc_frame *frame);
/* Warns about vCPUs that the policy will never let run; VMs and timeline must be there. */
void sc_frame_check(struct sc_parse *p, const char *file, const struct scenario *s);

void sc_rtds_print(FILE *out, const struct sc_vm *vm);
void sc_frame_print(FILE *out, const struct scenario *s);

#endif

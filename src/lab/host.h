/*
 * From the scenario's host to the machine's parameters.
 *
 * The machine numbers pCPUs densely, 0..n-1 in ascending order of the user's ids, which may be
 * sparse. Everything that crosses this border is translated here and nowhere else.
 */
#ifndef HVSCHED_LAB_HOST_H
#define HVSCHED_LAB_HOST_H

#include "machine/machine.h"
#include "scenario/scenario.h"

/* Parameters of a machine; the arrays belong to this struct. */
struct lab_host {
	struct mc_params params;
	uint32_t *core, *socket, *node, *llc;
	bool *online;
};

/* 0, -HV_ENOMEM (nothing is left then). */
int lab_host_init(struct lab_host *h, const struct scenario *s, uint64_t seed);
void lab_host_fini(struct lab_host *h);

/* The pools beside Pool-0, s->n_pools - 1 of them; to be freed. NULL = no memory. */
struct mc_pool_config *lab_pools(const struct scenario *s);

/* The user's set of pCPUs in the machine's numbers, and back. */
void lab_mask_to_machine(const struct scenario *s, const struct hv_mask *user, struct hv_mask *out);
void lab_mask_to_user(const struct scenario *s, const struct hv_mask *machine, struct hv_mask *out);

/* Set the scenario's boot parameters; mc_config.set with the scenario as context. */
int lab_boot_params(void *scenario, struct hv_sys *sys);

#endif

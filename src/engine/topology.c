/* SPDX-License-Identifier: MIT */
/*
 * Shape of the machine: a copy of the host's topology, and for every pCPU the masks of its core
 * and socket. pCPUs that were never up are included; one that has gone down is no sibling until
 * it returns.
 *
 * Source: core-scheduling sections 1.2, 4.5, 10.
 */
#include "engine/engine.h"

static size_t masks_size(const struct hv_sys *sys)
{
	return sys->nr_pcpus * sizeof(struct hv_mask);
}

static uint32_t *copy_numbers(struct hv_sys *sys, const uint32_t *from)
{
	uint32_t *to = hv_alloc(sys, sys->nr_pcpus * sizeof(*to));

	if (to)
		memcpy(to, from, sys->nr_pcpus * sizeof(*to));
	return to;
}

static void free_numbers(struct hv_sys *sys, const uint32_t *numbers)
{
	hv_free(sys, (void *)(uintptr_t)numbers, sys->nr_pcpus * sizeof(*numbers));
}

/* Every pCPU points to the mask at the lowest pCPU with the same socket. */
static void build_socket_masks(struct hv_sys *sys)
{
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		unsigned low = 0;

		while (sys->topo.socket[low] != sys->topo.socket[c])
			low++;
		hv_mask_set(&sys->socket_masks[low], c);
		sys->pcpus[c].socket = &sys->socket_masks[low];
	}
}

/* As the lowest one of each core sees them; then all have a copy of their own. */
static void build_core_masks(struct hv_sys *sys)
{
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		unsigned low = 0;

		while (sys->topo.core[low] != sys->topo.core[c])
			low++;
		hv_mask_set(&sys->core_masks[low], c);
		sys->pcpus[c].core = &sys->core_masks[low];
	}
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		if (sys->pcpus[c].core != &sys->core_masks[c])
			hv_mask_copy(&sys->core_masks[c], sys->pcpus[c].core, sys->nw);
		sys->pcpus[c].core = &sys->core_masks[c];
	}
}

void hv_topology_join(struct hv_sys *sys, unsigned pcpu)
{
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		if (sys->topo.core[c] != sys->topo.core[pcpu])
			continue;
		hv_mask_set(&sys->core_masks[c], pcpu);
		hv_mask_set(&sys->core_masks[pcpu], c);
	}
}

void hv_topology_leave(struct hv_sys *sys, unsigned pcpu)
{
	struct hv_mask *mask = &sys->core_masks[pcpu];

	hv_mask_for_each(c, mask, sys->nw) hv_mask_clear(&sys->core_masks[c], pcpu);
	hv_mask_zero(mask, sys->nw);
	hv_mask_set(mask, pcpu);
}

/* On an error the caller frees what is there with hv_topology_free(). */
int hv_topology_init(struct hv_sys *sys, const struct hv_topology *topo)
{
	sys->topo.nr_pcpus = topo->nr_pcpus;
	sys->topo.core = copy_numbers(sys, topo->core);
	sys->topo.socket = copy_numbers(sys, topo->socket);
	sys->topo.node = copy_numbers(sys, topo->node);
	sys->core_masks = hv_alloc(sys, masks_size(sys));
	sys->socket_masks = hv_alloc(sys, masks_size(sys));
	if (!sys->topo.core || !sys->topo.socket || !sys->topo.node || !sys->core_masks ||
	    !sys->socket_masks)
		return -HV_ENOMEM;
	build_core_masks(sys);
	build_socket_masks(sys);
	return 0;
}

void hv_topology_free(struct hv_sys *sys)
{
	free_numbers(sys, sys->topo.core);
	free_numbers(sys, sys->topo.socket);
	free_numbers(sys, sys->topo.node);
	hv_free(sys, sys->core_masks, masks_size(sys));
	hv_free(sys, sys->socket_masks, masks_size(sys));
}

const struct hv_topology *hv_topology(const struct hv_sys *sys)
{
	return &sys->topo;
}

const struct hv_mask *hv_core_mask(const struct hv_sys *sys, unsigned pcpu)
{
	return sys->pcpus[pcpu].core;
}

const struct hv_mask *hv_socket_mask(const struct hv_sys *sys, unsigned pcpu)
{
	return sys->pcpus[pcpu].socket;
}

const struct hv_mask *hv_online_mask(const struct hv_sys *sys)
{
	return &sys->online;
}

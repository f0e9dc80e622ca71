/* SPDX-License-Identifier: MIT */
/*
 * Shape of the machine: a copy of the host's topology, and for every pCPU the masks of its core and
 * socket, off line pCPUs included. A mask is stored once, at the lowest member.
 *
 * Source: core-scheduling sections 1.2, 10.
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

/* Every pCPU points to the mask at the lowest pCPU with the same group number. */
static void build_masks(struct hv_sys *sys, const uint32_t *group, struct hv_mask *masks, bool core)
{
	for (unsigned c = 0; c < sys->nr_pcpus; c++) {
		unsigned low = 0;

		while (group[low] != group[c])
			low++;
		hv_mask_set(&masks[low], c);
		if (core)
			sys->pcpus[c].core = &masks[low];
		else
			sys->pcpus[c].socket = &masks[low];
	}
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
	build_masks(sys, sys->topo.core, sys->core_masks, true);
	build_masks(sys, sys->topo.socket, sys->socket_masks, false);
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

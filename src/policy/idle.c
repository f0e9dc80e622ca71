/* SPDX-License-Identifier: MIT */
/*
 * The idle policy drives pCPUs that are in no pool: it always runs the idle unit, without a slice.
 * It is internal to the engine and not selectable for a pool. As no unit is ever created, moved or
 * woken under it, a decision is all that it is asked for; a free resource keeps the rest itself
 * (resource.c).
 *
 * Law: the current unit of a free resource is its idle unit.
 *
 * Source: core-scheduling sections 1.1, 1.3 (last paragraph).
 */
#include "engine/engine.h"

static void idle_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			     hv_time now, bool tasklet)
{
	(void)now;
	(void)tasklet;
	HV_ASSERT(s->sys, prev == r->idle);
	prev->next = r->idle;
	prev->next_time = -1;
	r->idle->migrated = false;
}

const struct hv_policy hv_policy_idle = {
	.name = "idle",
	.do_schedule = idle_do_schedule,
};

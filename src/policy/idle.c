/* SPDX-License-Identifier: MIT */
/*
 * The idle policy drives pCPUs that are in no pool: it always runs the idle unit, without a slice.
 * It is internal to the engine and not selectable for a pool.
 *
 * Law: the current unit of a free resource is its idle unit.
 *
 * Source: core-scheduling sections 1.1, 1.3 (last paragraph).
 */
#include "engine/engine.h"

static int idle_init(struct hv_sched *s)
{
	(void)s;
	return 0;
}

static void idle_deinit(struct hv_sched *s)
{
	(void)s;
}

/* Any non-NULL token. */
static int idle_alloc_unit(struct hv_sched *s, struct hv_unit *u, void *domdata, void **out)
{
	(void)domdata;
	HV_ASSERT(s->sys, u->idle);
	*out = u;
	return 0;
}

static void idle_free_unit(struct hv_sched *s, void *priv)
{
	(void)s;
	(void)priv;
}

/* All free pCPUs share one lock. */
static struct hv_lock *idle_switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
					 void *idle_priv)
{
	(void)pcpu_priv;
	r->idle->priv = idle_priv;
	return &s->sys->free_lock;
}

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

static struct hv_resource *idle_pick_resource(struct hv_sched *s, struct hv_unit *u)
{
	(void)s;
	return u->res;
}

const struct hv_policy hv_policy_idle = {
	.name = "idle",
	.init = idle_init,
	.deinit = idle_deinit,
	.alloc_unit = idle_alloc_unit,
	.free_unit = idle_free_unit,
	.switch_sched = idle_switch_sched,
	.do_schedule = idle_do_schedule,
	.pick_resource = idle_pick_resource,
};

/* SPDX-License-Identifier: MIT */
/*
 * Timers of the engine and of policies; the host keeps them in order and calls back. A timer is
 * armed from hv_timer_set() until it fires or is stopped.
 *
 * Source: core-scheduling section 10 (what the host supplies).
 */
#include "engine/engine.h"

void hv_timer_init(struct hv_timer *t, struct hv_sys *sys, enum hv_timer_class cls, uint32_t number,
		   void (*fn)(struct hv_timer *t), void *data)
{
	HV_ASSERT(sys, fn != NULL);
	memset(t, 0, sizeof(*t));
	t->cls = (uint8_t)cls;
	t->number = number;
	t->pcpu = cls == HV_TIMER_SCHEDULE || cls == HV_TIMER_TICK ? number : 0;
	t->sys = sys;
	t->fn = fn;
	t->data = data;
}

void hv_timer_set(struct hv_timer *t, hv_time expiry)
{
	struct hv_sys *sys = t->sys;

	t->expiry = expiry;
	t->armed = true;
	sys->host.timer_arm(sys->ctx, t);
}

void hv_timer_stop(struct hv_timer *t)
{
	struct hv_sys *sys = t->sys;

	if (!t->armed)
		return;
	t->armed = false;
	sys->host.timer_disarm(sys->ctx, t);
}

void hv_timer_fire(struct hv_timer *t)
{
	struct hv_sys *sys = t->sys;

	HV_ASSERT(sys, t->armed);
	t->armed = false;
	t->fn(t);
	HV_CHECKED(sys);
}

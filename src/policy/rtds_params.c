/* SPDX-License-Identifier: MIT */
/*
 * rtds: what operators may change at run time (rtds section 2).
 *
 * Deadline and the rest of the budget stay; both follow the new values from the next replenishment
 * on. Turning extratime on for a unit without budget puts it into the run queue at once, one level
 * down, but asks no pCPU to look: as in Xen it waits for the next event.
 */
#include "policy/rtds.h"

static bool is_valid(uint32_t period_us, uint32_t budget_us)
{
	return period_us >= RTDS_MIN_US && budget_us >= RTDS_MIN_US && budget_us <= period_us;
}

static uint32_t to_us(hv_time ns)
{
	return (uint32_t)(ns / RTDS_NS_PER_US);
}

static void enable_extratime(struct rtds_pool *p, struct rtds_unit *u)
{
	bool waits = u->place == RTDS_DEPLETED;

	u->extratime = true;
	if (u->left > 0)
		return;
	if (waits)
		rtds_dequeue(p, u);
	rtds_demote(u, u->rank.level + 1);
	u->depleted = false;
	if (waits)
		rtds_enqueue(p, u);
}

int rtds_unit_params(struct hv_sched *s, struct hv_unit *unit, struct hv_unit_params *pr, bool set)
{
	struct rtds_pool *p = rtds_pool(s);
	struct rtds_unit *u = rtds_unit(unit);
	int rc = 0;

	hv_lock_acquire(s->sys, &p->lock);
	if (!set) {
		pr->period_us = to_us(u->period);
		pr->budget_us = to_us(u->budget);
		pr->extratime = u->extratime;
	} else if (!is_valid(pr->period_us, pr->budget_us)) {
		rc = -HV_EINVAL;
	} else {
		u->period = pr->period_us * RTDS_NS_PER_US;
		u->budget = pr->budget_us * RTDS_NS_PER_US;
		if (pr->extratime && !u->extratime)
			enable_extratime(p, u);
		else
			u->extratime = pr->extratime;
	}
	hv_lock_release(s->sys, &p->lock);
	return rc;
}

/* 0 = leave. What one unit cannot take is refused for all of them. */
static int set_all(struct hv_domain *d, uint32_t period_us, uint32_t budget_us)
{
	for (int pass = 0; pass < 2; pass++) {
		for (struct hv_unit *u = d->units; u; u = u->link) {
			struct rtds_unit *ru = rtds_unit(u);
			uint32_t period = period_us ? period_us : to_us(ru->period);
			uint32_t budget = budget_us ? budget_us : to_us(ru->budget);

			if (pass == 0 && !is_valid(period, budget))
				return -HV_EINVAL;
			if (pass == 1) {
				ru->period = period * RTDS_NS_PER_US;
				ru->budget = budget * RTDS_NS_PER_US;
			}
		}
	}
	return 0;
}

/* Get answers the defaults, whatever was set. Weight and cap are not for this policy. */
int rtds_domain_params(struct hv_sched *s, struct hv_domain *d, struct hv_domain_params *pr,
		       bool set)
{
	struct rtds_pool *p = rtds_pool(s);
	int rc;

	if (!set) {
		pr->period_us = RTDS_PERIOD_US;
		pr->budget_us = RTDS_BUDGET_US;
		return 0;
	}
	hv_lock_acquire(s->sys, &p->lock);
	rc = set_all(d, pr->period_us, pr->budget_us);
	hv_lock_release(s->sys, &p->lock);
	return rc;
}

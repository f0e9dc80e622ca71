/* SPDX-License-Identifier: MIT */
/*
 * What the engine does for policies, part of the public interface of libhvsched (hvsched.h
 * includes this). "Locked": the schedule lock of the unit's resource is held.
 */
#ifndef HVSCHED_POLICY_H
#define HVSCHED_POLICY_H

#include <hvsched.h>

/* A law does not hold: what check() answers. u, pcpu: where; NULL, HV_NO_PCPU if nowhere. */
int hv_broken(struct hv_violation *out, const char *law, const struct hv_unit *u, uint32_t pcpu);

hv_time hv_now(const struct hv_sys *sys);
unsigned hv_this_pcpu(const struct hv_sys *sys);
void *hv_alloc(struct hv_sys *sys, size_t size); /* zeroed; NULL = out of memory */
void hv_free(struct hv_sys *sys, void *p, size_t size);

/* Masters of all resources that this policy instance has: also of one that is leaving the pool. */
void hv_sched_masters(const struct hv_sched *s, struct hv_mask *out);
/* Resource that holds this pCPU; never NULL for a pCPU that is up. */
struct hv_resource *hv_resource_of(const struct hv_sys *sys, unsigned pcpu);
/*
 * Topology: of the whole machine, valid as long as sys. A pCPU that has gone down is no sibling
 * of any until it returns; those that were never up count.
 */
const struct hv_topology *hv_topology(const struct hv_sys *sys);
const struct hv_mask *hv_core_mask(const struct hv_sys *sys, unsigned pcpu);
const struct hv_mask *hv_socket_mask(const struct hv_sys *sys, unsigned pcpu);
const struct hv_mask *hv_online_mask(const struct hv_sys *sys);

/* Assign a unit to a resource (member k gets its k-th pCPU). Locked. */
void hv_unit_assign(struct hv_unit *u, struct hv_resource *r);
/*
 * For a policy's own laws: its domain is on the way to another pool and falls asleep vCPU by vCPU,
 * so that the unit may not be runnable any more, and the policy not know it yet.
 */
static inline bool hv_unit_falls_asleep(const struct hv_unit *u)
{
	return u->domain && u->domain->move;
}
/* Some member is runnable (no pause flag, no pause count); idle units always are. Pure. */
bool hv_unit_runnable(const struct hv_unit *u);
/* The same, and each member's new_state is fixed for the coming switch. Call it on the unit that
 * do_schedule returns, within the same decision. */
bool hv_unit_runnable_state(struct hv_unit *u);
/* Masters of the pCPUs that the unit's pool may use. */
static inline const struct hv_mask *hv_unit_valid(const struct hv_sched *s)
{
	return &s->pool->res_valid;
}
/* The soft step is worth doing: soft_counts, and the pool is not a subset of soft. */
bool hv_unit_has_soft(const struct hv_sched *s, const struct hv_unit *u);
/* Soft step: soft AND hard, or hard if that is empty; hard step: hard. */
void hv_unit_step_mask(const struct hv_sched *s, const struct hv_unit *u, bool soft,
		       struct hv_mask *out);
/* Ask a pCPU (master) to reschedule, as a policy: traced, then poked. */
void hv_tickle(struct hv_sched *s, unsigned pcpu);
/* Ask without a trace record of its own (used where Xen raises the request silently). */
void hv_request(struct hv_sched *s, unsigned pcpu);
/*
 * Set or clear a pause flag on every member without calling sleep or wake (parking, migration
 * marks). Locked. HV_PF_MIGRATING on a running unit makes the engine finish a migration when the
 * unit's context is saved (core-scheduling 3.5): pick_resource, migrate, wake.
 */
void hv_unit_set_flag(struct hv_unit *u, uint32_t flag);
void hv_unit_clear_flag(struct hv_unit *u, uint32_t flag);
/* The same member by member, each with the sleep or wake that follows from it. Locked. */
void hv_unit_stop(struct hv_unit *u, uint32_t flag);
void hv_unit_go(struct hv_unit *u, uint32_t flag);
/*
 * Timers. hv_timer_set() on an armed timer moves it; hv_timer_stop() has no effect when not armed.
 */
void hv_timer_init(struct hv_timer *t, struct hv_sys *sys, enum hv_timer_class cls, uint32_t number,
		   void (*fn)(struct hv_timer *t), void *data);
void hv_timer_set(struct hv_timer *t, hv_time expiry);
void hv_timer_stop(struct hv_timer *t);
/* Send a record to the host; its time is filled in here. */
void hv_trace_emit(struct hv_sys *sys, const struct hv_trace *ev);

/* Assertion that stays in every build; reports through host->assert_failed. */
void hv_assert_failed(const struct hv_sys *sys, const char *expr, const char *file, int line);
#define HV_ASSERT(sys, expr)                                              \
	do {                                                              \
		if (__builtin_expect(!(expr), 0))                         \
			hv_assert_failed(sys, #expr, __FILE__, __LINE__); \
	} while (0)
/* Costly ones: only with HV_DEBUG=1, where hv_check() also follows every public operation. */
#if defined(HV_DEBUG) && HV_DEBUG
#define HV_DEBUG_ASSERT(sys, expr) HV_ASSERT(sys, expr)
#else
#define HV_DEBUG_ASSERT(sys, expr) \
	do {                       \
	} while (0)
#endif

#endif /* HVSCHED_POLICY_H */

/* SPDX-License-Identifier: MIT */
/*
 * Schedule locks. A resource holds a pointer to the lock in force, which its policy chose; whoever
 * wants it must look again after acquiring, because the pointer may have changed meanwhile.
 *
 * In this single-threaded host a lock is an ownership record: acquiring a lock that is held is a
 * bug (on real pCPUs it would be a deadlock), and so is taking two in descending rank.
 *
 * Source: core-scheduling section 5.1, 5.2.
 */
#include "engine/engine.h"

static inline uint32_t self(const struct hv_sys *sys)
{
	return sys->host.this_pcpu(sys->ctx) + 1;
}

void hv_lock_init(struct hv_sys *sys, struct hv_lock *l)
{
	l->holder = 0;
	l->rank = sys->lock_rank++;
}

void hv_lock_acquire(struct hv_sys *sys, struct hv_lock *l)
{
	HV_ASSERT(sys, l->holder == 0);
	l->holder = self(sys);
}

bool hv_lock_try(struct hv_sys *sys, struct hv_lock *l)
{
	if (l->holder)
		return false;
	l->holder = self(sys);
	return true;
}

void hv_lock_release(struct hv_sys *sys, struct hv_lock *l)
{
	HV_ASSERT(sys, l->holder != 0);
	l->holder = 0;
}

bool hv_lock_mine(const struct hv_sys *sys, const struct hv_lock *l)
{
	return l->holder == self(sys);
}

struct hv_lock *hv_resource_lock(struct hv_resource *r)
{
	for (;;) {
		struct hv_lock *l = r->lock;

		hv_lock_acquire(r->sys, l);
		if (l == r->lock)
			return l;
		hv_lock_release(r->sys, l);
	}
}

struct hv_lock *hv_unit_lock(struct hv_unit *u)
{
	for (;;) {
		struct hv_lock *l = u->res->lock;

		hv_lock_acquire(u->sys, l);
		if (l == u->res->lock)
			return l;
		hv_lock_release(u->sys, l);
	}
}

void hv_lock_double(struct hv_sys *sys, struct hv_lock *a, struct hv_lock *b)
{
	if (a == b) {
		hv_lock_acquire(sys, a);
		return;
	}
	HV_ASSERT(sys, a->rank != b->rank);
	hv_lock_acquire(sys, a->rank < b->rank ? a : b);
	hv_lock_acquire(sys, a->rank < b->rank ? b : a);
}

void hv_unlock_double(struct hv_sys *sys, struct hv_lock *a, struct hv_lock *b)
{
	hv_lock_release(sys, a);
	if (a != b)
		hv_lock_release(sys, b);
}

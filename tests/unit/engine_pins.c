/* SPDX-License-Identifier: MIT */
/*
 * Temporary pins (core-scheduling 3.6, 4.2, 4.4-4.6; section 8 no. 21; section 9, hazards) on 4
 * cores x 2 threads, with granularity cpu and core.
 */
#include "fake_host.h"
#include "probe_policy.h"

#define NONE HV_NO_PCPU

static int boot(void **state, enum hv_gran gran)
{
	struct fake *f = fake_new(1, 4, 2, probe_policies);

	fake_boot_gran(f, "probe", gran);
	*state = f;
	return 0;
}

static int cpu(void **state)
{
	return boot(state, HV_GRAN_CPU);
}

static int core(void **state)
{
	return boot(state, HV_GRAN_CORE);
}

#define OPS(f) (probe_of((f)->pool->sched)->ops)

/* Placed on this pCPU, all up and running. */
static struct hv_domain *running(struct fake *f, int id, unsigned nr_vcpus, unsigned pcpu)
{
	struct hv_domain *d;

	probe_of(f->pool->sched)->pick = pcpu;
	d = fake_domain(f, id, nr_vcpus);
	probe_of(f->pool->sched)->pick = HV_NO_PCPU;
	for (unsigned i = 0; i < nr_vcpus; i++)
		hv_vcpu_up(d->vcpus[i]);
	fake_drain(f);
	fake_check(f);
	fake_forget(f);
	probe_forget(f->pool->sched);
	return d;
}

static void hard_is(struct fake *f, const struct hv_vcpu *v, struct hv_mask expected)
{
	assert_true(hv_mask_equal(&v->unit->hard, &expected, hv_mask_words(f->sys)));
	fake_check(f);
}

static int override(struct hv_vcpu *v, unsigned pcpu)
{
	return hv_vcpu_pin(v, pcpu, HV_PIN_OVERRIDE);
}

static int wait_pin(struct hv_vcpu *v, unsigned pcpu)
{
	return hv_vcpu_pin(v, pcpu, HV_PIN_WAIT);
}

/* 21 */
static void an_override_takes_the_unit_there_and_its_end_gives_the_mask_back(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 0)->vcpus[0];
	struct hv_mask own = fake_mask2(0, 1);

	assert_int_equal(hv_affinity_set(v, &own, NULL), 0);
	fake_drain(f);
	probe_forget(f->pool->sched);
	assert_int_equal(override(v, 6), 0);
	assert_string_equal(OPS(f), "affinity-hard d1v0; sleep d1v0");
	hard_is(f, v, fake_mask1(6));
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 6), v);
	probe_forget(f->pool->sched);
	assert_int_equal(override(v, NONE), 0);
	hard_is(f, v, own);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 0), v);
}

static void a_pin_that_keeps_the_unit_where_it_is_does_not_disturb_it(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 3)->vcpus[0];

	assert_int_equal(wait_pin(v, 3), 0);
	assert_string_equal(OPS(f), "affinity-hard d1v0");
	assert_int_equal(wait_pin(v, NONE), 0);
	assert_string_equal(OPS(f), "affinity-hard d1v0; affinity-hard d1v0");
	assert_int_equal(f->raised[3], 0);
	hard_is(f, v, fake_all(8));
}

/* 21 */
static void while_pinned_no_affinity_is_set_and_force_ends_an_override(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 0)->vcpus[0];
	struct hv_mask m = fake_mask1(5), none = {{0}};

	assert_int_equal(override(v, 2), 0);
	assert_int_equal(hv_affinity_set(v, &m, NULL), -HV_EBUSY);
	assert_int_equal(hv_affinity_set(v, NULL, &m), -HV_EBUSY);
	/* What cannot be set ends nothing. */
	assert_int_equal(hv_affinity_force(v, &none, NULL), -HV_EINVAL);
	assert_int_equal(hv_affinity_force(v, NULL, NULL), -HV_EINVAL);
	hard_is(f, v, fake_mask1(2));
	assert_int_equal(hv_affinity_force(v, &m, NULL), 0);
	hard_is(f, v, m);
	assert_int_equal(v->pins, 0);
	assert_int_equal(override(v, NONE), -HV_EINVAL);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 5), v);
	/* Only the soft mask: the hard one is the unit's own again. */
	assert_int_equal(override(v, 2), 0);
	assert_int_equal(hv_affinity_force(v, NULL, &m), 0);
	hard_is(f, v, m);
}

static void force_does_not_end_a_wait(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 2)->vcpus[0];
	struct hv_mask m = fake_mask1(5);

	assert_int_equal(wait_pin(v, 2), 0);
	assert_int_equal(override(v, 2), 0);
	assert_int_equal(hv_affinity_force(v, &m, NULL), -HV_EBUSY);
	assert_int_equal(v->pins, HV_PIN_WAIT | HV_PIN_OVERRIDE);
	hard_is(f, v, fake_mask1(2));
}

static void pins_that_cannot_be_are_refused_without_effect(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 2)->vcpus[0];
	struct hv_pool *other;

	assert_int_equal(hv_pool_create(f->sys, 1, "probe", HV_GRAN_CPU, &other), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 7), 0);
	assert_int_equal(hv_pool_add_pcpu(other, 7), 0);
	assert_int_equal(override(v, 7), -HV_EINVAL); /* of another pool */
	assert_int_equal(override(v, 8), -HV_EINVAL); /* there is none */
	assert_int_equal(wait_pin(v, 3), -HV_EINVAL); /* it is not there */
	assert_int_equal(override(v, NONE), -HV_EINVAL);
	assert_int_equal(wait_pin(v, NONE), -HV_EINVAL);
	assert_int_equal(hv_vcpu_pin(v, 2, (enum hv_pin_reason)0), -HV_EINVAL);
	assert_int_equal(hv_vcpu_pin(v, 2, (enum hv_pin_reason)3), -HV_EINVAL);
	hard_is(f, v, fake_all(8));
	assert_int_equal(v->pins, 0);
	assert_int_equal(override(v, 2), 0);
	assert_int_equal(override(v, 2), -HV_EBUSY); /* has it already */
	assert_int_equal(override(v, 7), -HV_EBUSY);
	assert_int_equal(wait_pin(v, NONE), -HV_EINVAL);
	assert_int_equal(override(v, NONE), 0);
	hard_is(f, v, fake_all(8));
}

/* 21 */
static void the_mask_is_back_when_both_reasons_are_gone_whichever_ends_first(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 2)->vcpus[0];
	struct hv_mask own = fake_mask2(2, 3);

	assert_int_equal(hv_affinity_set(v, &own, NULL), 0);
	fake_drain(f);
	for (int first = 0; first < 2; first++) {
		assert_int_equal(wait_pin(v, 2), 0);
		assert_int_equal(override(v, 3), -HV_EBUSY); /* it waits elsewhere */
		assert_int_equal(override(v, 2), 0);
		assert_int_equal(first ? wait_pin(v, NONE) : override(v, NONE), 0);
		hard_is(f, v, fake_mask1(2));
		assert_int_equal(first ? override(v, NONE) : wait_pin(v, NONE), 0);
		hard_is(f, v, own);
	}
}

/* 21, its last part; hazard: real Xen looks at the addressed member alone */
static void pins_of_different_members_hold_the_unit_until_the_last_ends(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);
	struct hv_vcpu *v0 = a->vcpus[0], *v1 = a->vcpus[1];
	struct hv_mask m = fake_mask1(4);

	assert_int_equal(override(v0, 2), 0);
	assert_int_equal(wait_pin(v1, 3), 0);
	assert_int_equal(hv_affinity_set(v1, &m, NULL), -HV_EBUSY);
	assert_int_equal(override(v0, NONE), 0);
	hard_is(f, v0, fake_mask1(2));
	assert_int_equal(hv_affinity_set(v0, &m, NULL), -HV_EBUSY); /* it holds none itself */
	assert_int_equal(hv_affinity_force(v0, &m, NULL), -HV_EBUSY);
	assert_int_equal(wait_pin(v1, NONE), 0);
	hard_is(f, v0, fake_all(8));
	assert_int_equal(hv_affinity_set(v0, &m, NULL), 0);
	/* Force ends those of all members. */
	assert_int_equal(override(v0, 2), 0);
	assert_int_equal(override(v1, 2), 0);
	assert_int_equal(hv_affinity_force(v0, &m, NULL), 0);
	assert_int_equal(v0->pins | v1->pins, 0);
	hard_is(f, v0, m);
}

/* Hazard: Xen answers EINVAL and lets the domain crash. */
static void a_vcpu_waits_on_a_thread_that_is_no_master(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 2, 2)->vcpus[1];

	assert_int_equal(v->pcpu, 3);
	assert_int_equal(wait_pin(v, 3), 0);
	hard_is(f, v, fake_mask1(2));
	assert_int_equal(wait_pin(v, NONE), 0);
	hard_is(f, v, fake_all(8));
}

/* As in a hard mask: the master names the core, its second thread nothing. */
static void an_override_names_a_core_by_its_master(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 2, 2)->vcpus[1];

	assert_int_equal(override(v, 5), -HV_EINVAL);
	assert_int_equal(override(v, 3), -HV_EINVAL);
	assert_int_equal(override(v, 4), 0);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 5), v);
	hard_is(f, v, fake_mask1(4));
}

static void a_wait_puts_off_an_override_that_has_not_got_there(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);
	struct hv_vcpu *v0 = a->vcpus[0], *v1 = a->vcpus[1];

	assert_int_equal(override(v0, 4), 0);
	hard_is(f, v0, fake_mask1(4));
	assert_int_equal(wait_pin(v1, 3), 0); /* it runs there yet */
	hard_is(f, v0, fake_mask1(2));
	/* The present place is not that of the override: for another one it is taken. */
	assert_int_equal(override(v1, 2), -HV_EBUSY);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), -HV_EADDRINUSE);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 3), v1);
	assert_int_equal(wait_pin(v1, NONE), 0);
	hard_is(f, v0, fake_mask1(4));
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 4), v0);
	assert_int_equal(override(v0, NONE), 0);
	hard_is(f, v0, fake_all(8));
}

static void a_vcpu_with_masks_does_not_join_a_pinned_unit(void **state)
{
	struct fake *f = *state;
	struct hv_mask m = fake_mask1(4);
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(f->pool, 1, 2, &d), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	assert_int_equal(override(v, 2), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, &m, NULL, &v), -HV_EBUSY);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	assert_int_equal(v->pcpu, 3);
	hard_is(f, v, fake_mask1(2));
}

/* ---- pools, pCPUs */

/* What a refused operation leaves as it was. */
struct picture {
	size_t bytes;
	struct hv_mask online, valid, masters, free;
	char ops[64];
};

static struct picture look(struct fake *f)
{
	struct picture p;

	memset(&p, 0, sizeof(p));
	p.bytes = f->live_bytes;
	p.online = *hv_online_mask(f->sys);
	p.valid = f->pool->cpu_valid;
	p.masters = f->pool->res_valid;
	hv_free_pcpus(f->sys, &p.free);
	snprintf(p.ops, sizeof(p.ops), "%.60s", OPS(f));
	fake_check(f);
	return p;
}

/* Hazard: Xen looks for pins when the removal has begun, and undoes too much. */
static void a_pinned_unit_keeps_its_core_in_the_pool_and_on_line(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);
	struct picture before, after;

	assert_int_equal(wait_pin(a->vcpus[1], 3), 0);
	before = look(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 2), -HV_EADDRINUSE);
	assert_int_equal(hv_pool_remove_begin(f->pool, 3), -HV_EADDRINUSE);
	assert_int_equal(hv_pcpu_down(f->sys, 2), -HV_EADDRINUSE);
	assert_int_equal(hv_pcpu_down_begin(f->sys, 3), -HV_EADDRINUSE);
	after = look(f);
	assert_memory_equal(&before, &after, sizeof(before));
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
	/* Others may leave, and this one when the wait is over. */
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 6), 0);
	assert_int_equal(wait_pin(a->vcpus[1], NONE), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 2), -HV_EAGAIN);
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 2), 0);
	fake_drain(f);
	assert_false(a->units->res->master == 2);
}

static void smt_is_not_switched_off_under_a_pinned_unit(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 5)->vcpus[0];
	struct picture before, after;

	assert_int_equal(override(v, 5), 0);
	before = look(f);
	assert_int_equal(hv_smt_set(f->sys, false), -HV_EADDRINUSE);
	after = look(f);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(override(v, NONE), 0);
	assert_int_equal(override(v, 4), 0); /* a first thread */
	fake_drain(f);
	assert_int_equal(hv_smt_set(f->sys, false), 0);
	fake_check(f);
}

/* The mask that comes back must reach the pool: it is broken like any other. */
static void a_pinned_units_own_mask_is_broken_when_its_last_pcpu_leaves(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 1, 5)->vcpus[0];
	struct hv_mask own = fake_mask1(5);

	assert_int_equal(hv_affinity_set(v, &own, NULL), 0);
	assert_int_equal(override(v, 2), 0);
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 5), 0);
	hard_is(f, v, fake_mask1(2));
	assert_int_equal(override(v, NONE), 0);
	hard_is(f, v, fake_all(8));
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 2), v);
}

static void a_wait_calls_off_the_removal_of_where_it_is(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 2, 2)->vcpus[1];
	struct picture before = look(f), after;

	for (int off = 0; off < 2; off++) {
		assert_int_equal(off ? hv_pcpu_down(f->sys, 3) : hv_pool_remove_pcpu(f->pool, 2),
				 -HV_EAGAIN);
		assert_int_equal(override(v, 2), -HV_EINVAL); /* a wish is no reason */
		assert_int_equal(wait_pin(v, 3), 0);
		hard_is(f, v, fake_mask1(2));
		probe_forget(f->pool->sched);
		after = look(f);
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(off ? hv_pcpu_down(f->sys, 3) : hv_pool_remove_pcpu(f->pool, 2),
				 -HV_EADDRINUSE);
		fake_drain(f);
		assert_ptr_equal(fake_guest(f, 3), v);
		assert_int_equal(wait_pin(v, NONE), 0);
	}
}

static void a_wait_elsewhere_leaves_a_removal_alone(void **state)
{
	struct fake *f = *state;
	struct hv_vcpu *v = running(f, 1, 2, 2)->vcpus[0];

	running(f, 2, 2, 4);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), -HV_EAGAIN);
	assert_int_equal(wait_pin(v, 2), 0);
	fake_drain(f);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 4), 0);
	hard_is(f, v, fake_mask1(2));
}

/* ---- moves */

static struct hv_pool *second_pool(struct fake *f)
{
	struct hv_pool *pool;

	assert_int_equal(hv_pool_create(f->sys, 1, "probe", HV_GRAN_CPU, &pool), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 6), 0);
	assert_int_equal(hv_pool_add_pcpu(pool, 6), 0);
	fake_drain(f);
	return pool;
}

/* 21 */
static void a_domain_with_a_pinned_unit_is_not_moved(void **state)
{
	struct fake *f = *state;
	struct hv_pool *to = second_pool(f);
	struct hv_domain *a = running(f, 1, 2, 2);
	size_t bytes = f->live_bytes;

	assert_int_equal(override(a->vcpus[1], 2), 0);
	assert_int_equal(hv_domain_move(a, to), -HV_EBUSY);
	assert_int_equal(f->live_bytes, bytes);
	assert_int_equal(a->pause_count, 0);
	assert_int_equal(hv_domain_move(a, f->pool), 0); /* there already */
	assert_int_equal(override(a->vcpus[1], NONE), 0);
	assert_int_equal(hv_domain_move(a, to), -HV_EAGAIN);
}

static void a_wait_calls_off_the_move_of_its_domain(void **state)
{
	struct fake *f = *state;
	struct hv_pool *to = second_pool(f);
	struct hv_domain *a = running(f, 1, 2, 2);
	size_t bytes = f->live_bytes;

	assert_int_equal(hv_domain_move(a, to), -HV_EAGAIN);
	assert_int_equal(override(a->vcpus[0], 2), -HV_EBUSY);
	assert_int_equal(wait_pin(a->vcpus[0], 2), 0);
	assert_int_equal(f->live_bytes, bytes);
	assert_int_equal(a->pause_count, 0);
	assert_int_equal(hv_domain_move(a, to), -HV_EBUSY);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 2), a->vcpus[0]);
	hard_is(f, a->vcpus[0], fake_mask1(2));
}

/* ---- the end of pins */

static void a_reset_ends_both_pins_of_the_vcpu(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);
	struct hv_vcpu *v0 = a->vcpus[0], *v1 = a->vcpus[1];

	assert_int_equal(wait_pin(v0, 2), 0);
	assert_int_equal(override(v0, 2), 0);
	assert_int_equal(override(v1, 2), 0);
	hv_block(v0, NULL, NULL);
	fake_drain(f);
	hv_vcpu_reset(v0);
	assert_int_equal(v0->pins, 0);
	assert_int_equal(v0->pause_flags, HV_PF_DOWN);
	assert_int_equal(v0->runstate.state, HV_OFFLINE);
	hard_is(f, v0, fake_mask1(2)); /* its sibling's holds on */
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 3), v1);
	hv_vcpu_reset(v1);
	fake_drain(f);
	hard_is(f, v0, fake_all(8));
	assert_ptr_equal(hv_resource_of(f->sys, 2)->curr, hv_resource_of(f->sys, 2)->idle);
	hv_vcpu_up(v0);
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, a->units->res->master), v0);
}

static void a_pinned_domain_is_destroyed_like_any_other(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 3, 2);

	assert_int_equal(override(a->vcpus[1], 2), 0);
	assert_int_equal(override(a->vcpus[2], 4), 0);
	hv_domain_pause(a);
	fake_drain(f);
	assert_int_equal(hv_domain_destroy(a), 0);
	assert_int_equal(hv_pool_remove_pcpu(f->pool, 2), 0);
	fake_check(f);
}

static void suspend(struct fake *f)
{
	while (hv_suspend(f->sys))
		fake_drain(f);
}

static void a_suspend_leaves_pins_alone(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);

	assert_int_equal(wait_pin(a->vcpus[1], 3), 0);
	suspend(f);
	assert_int_equal(hv_resume(f->sys, NULL), 0);
	fake_drain(f);
	assert_int_equal(a->vcpus[1]->pins, HV_PIN_WAIT);
	assert_ptr_equal(fake_guest(f, 3), a->vcpus[1]);
	hard_is(f, a->vcpus[0], fake_mask1(2));
}

static void pins_to_what_does_not_return_are_over(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2), *b = running(f, 2, 2, 4);
	struct hv_domain *c = running(f, 3, 2, 6);
	struct hv_mask own = fake_mask1(2), back = fake_all(8);

	assert_int_equal(hv_affinity_set(a->vcpus[0], &own, NULL), 0);
	fake_drain(f);
	assert_int_equal(wait_pin(a->vcpus[1], 3), 0);
	assert_int_equal(override(a->vcpus[0], 2), 0);
	assert_int_equal(override(b->vcpus[0], 2), 0); /* to be lost, but it waits elsewhere */
	assert_int_equal(wait_pin(b->vcpus[1], 5), 0);
	assert_int_equal(wait_pin(c->vcpus[0], 6), 0);
	suspend(f);
	hv_mask_clear(&back, 3);
	assert_int_equal(hv_resume(f->sys, &back), 0);
	assert_int_equal(a->vcpus[0]->pins | a->vcpus[1]->pins | b->vcpus[0]->pins, 0);
	hard_is(f, a->vcpus[0], fake_all(8));
	assert_int_equal(b->vcpus[1]->pins, HV_PIN_WAIT);
	hard_is(f, b->vcpus[0], fake_mask1(4));
	hard_is(f, c->vcpus[0], fake_mask1(6));
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 6), c->vcpus[0]);
	assert_ptr_equal(fake_guest(f, 5), b->vcpus[1]);
	assert_int_equal(wait_pin(b->vcpus[1], NONE), 0);
	hard_is(f, b->vcpus[0], fake_all(8));
}

static void a_wait_that_is_lost_lets_the_override_hold(void **state)
{
	struct fake *f = *state;
	struct hv_domain *a = running(f, 1, 2, 2);
	struct hv_mask back = fake_all(8);

	assert_int_equal(override(a->vcpus[0], 4), 0);
	assert_int_equal(wait_pin(a->vcpus[1], 3), 0);
	suspend(f);
	hv_mask_clear(&back, 2);
	assert_int_equal(hv_resume(f->sys, &back), 0);
	assert_int_equal(a->vcpus[1]->pins, 0);
	hard_is(f, a->vcpus[0], fake_mask1(4));
	fake_drain(f);
	assert_ptr_equal(fake_guest(f, 4), a->vcpus[0]);
}

static void who_flees_to_pool_0_after_a_suspend_has_no_pins(void **state)
{
	struct fake *f = *state;
	struct hv_pool *to = second_pool(f);
	struct hv_mask back = fake_all(8);
	struct hv_pool *first = f->pool;
	struct hv_domain *a;

	f->pool = to;
	a = running(f, 1, 1, 6);
	f->pool = first;
	assert_int_equal(override(a->vcpus[0], 6), 0);
	suspend(f);
	hv_mask_clear(&back, 6);
	assert_int_equal(hv_resume(f->sys, &back), 0);
	assert_ptr_equal(a->pool, first);
	assert_int_equal(a->vcpus[0]->pins, 0);
	hard_is(f, a->vcpus[0], fake_all(8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(gran, name) cmocka_unit_test_setup_teardown(name, gran, fake_tear_down)
		TEST(cpu, an_override_takes_the_unit_there_and_its_end_gives_the_mask_back),
		TEST(cpu, a_pin_that_keeps_the_unit_where_it_is_does_not_disturb_it),
		TEST(cpu, while_pinned_no_affinity_is_set_and_force_ends_an_override),
		TEST(cpu, force_does_not_end_a_wait),
		TEST(cpu, pins_that_cannot_be_are_refused_without_effect),
		TEST(cpu, the_mask_is_back_when_both_reasons_are_gone_whichever_ends_first),
		TEST(core, pins_of_different_members_hold_the_unit_until_the_last_ends),
		TEST(core, a_vcpu_waits_on_a_thread_that_is_no_master),
		TEST(core, an_override_names_a_core_by_its_master),
		TEST(core, a_wait_puts_off_an_override_that_has_not_got_there),
		TEST(core, a_vcpu_with_masks_does_not_join_a_pinned_unit),
		TEST(core, a_pinned_unit_keeps_its_core_in_the_pool_and_on_line),
		TEST(cpu, smt_is_not_switched_off_under_a_pinned_unit),
		TEST(cpu, a_pinned_units_own_mask_is_broken_when_its_last_pcpu_leaves),
		TEST(core, a_wait_calls_off_the_removal_of_where_it_is),
		TEST(core, a_wait_elsewhere_leaves_a_removal_alone),
		TEST(core, a_domain_with_a_pinned_unit_is_not_moved),
		TEST(core, a_wait_calls_off_the_move_of_its_domain),
		TEST(core, a_reset_ends_both_pins_of_the_vcpu),
		TEST(core, a_pinned_domain_is_destroyed_like_any_other),
		TEST(core, a_suspend_leaves_pins_alone),
		TEST(core, pins_to_what_does_not_return_are_over),
		TEST(core, a_wait_that_is_lost_lets_the_override_hold),
		TEST(cpu, who_flees_to_pool_0_after_a_suspend_has_no_pins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

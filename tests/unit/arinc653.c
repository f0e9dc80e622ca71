/* SPDX-License-Identifier: MIT */
/*
 * arinc653, case by case (arinc653 section 8). Table S: major frame 100 ms; windows D1.0 30 ms,
 * D2.0 20 ms, D1.0 10 ms; it is set at 100 ms, both vCPUs are awake, there is one pCPU.
 */
#include "fake_host.h"

#define MS  1000000LL
#define US  1000LL
#define END UINT32_MAX

struct world {
	struct fake f;
	struct hv_vcpu *d1, *d2; /* D1.0, D2.0 */
};

static void handle_of(uint32_t id, uint8_t handle[HV_HANDLE_BYTES])
{
	memset(handle, 0, HV_HANDLE_BYTES);
	for (unsigned i = 0; i < 4; i++)
		handle[HV_HANDLE_BYTES - 1 - i] = (uint8_t)(id >> (8 * i));
}

static struct hv_window window(uint32_t domain, uint32_t vcpu, uint64_t runtime)
{
	struct hv_window w = {.vcpu = vcpu, .runtime = runtime};

	handle_of(domain, w.handle);
	return w;
}

/* Domain, ms, domain, ms, ..., END: windows of the domains' vCPUs 0. */
static int set_table(struct hv_pool *pool, uint64_t major_ms, ...)
{
	struct hv_window w[HV_MAX_WINDOWS + 1];
	unsigned nr = 0;
	va_list args;

	va_start(args, major_ms);
	for (;;) {
		uint32_t domain = va_arg(args, uint32_t);

		if (domain == END)
			break;
		w[nr++] = window(domain, 0, va_arg(args, unsigned) * (uint64_t)MS);
	}
	va_end(args);
	return hv_frame_set(pool, major_ms * MS, nr, w);
}

static int set_s(struct world *w)
{
	return set_table(w->f.pool, 100, 1u, 30u, 2u, 20u, 1u, 10u, END);
}

static struct world *world_at(hv_time now, unsigned nr_pcpus)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->f.now = now;
	assert_int_equal(fake_create(&w->f, 1, nr_pcpus, 1, hv_policies), 0);
	fake_boot(&w->f, "arinc653");
	return w;
}

static struct hv_vcpu *up(struct world *w, int id)
{
	struct hv_vcpu *v = fake_domain(&w->f, id, 1)->vcpus[0];

	hv_vcpu_up(v);
	fake_drain(&w->f);
	return v;
}

/* One pCPU, D1.0 and D2.0 awake. */
static struct world *world_of_two(void)
{
	struct world *w = world_at(0, 1);

	w->d1 = up(w, 1);
	w->d2 = up(w, 2);
	return w;
}

static void end(struct world *w)
{
	fake_destroy(&w->f);
	free(w);
}

static void go_to(struct world *w, hv_time ms)
{
	fake_run(&w->f, ms * MS);
	fake_check(&w->f);
}

/* To this time, and stop before anything that is due then happens. */
static void go_before(struct world *w, hv_time ms)
{
	fake_run(&w->f, ms * MS - 1);
	w->f.now = ms * MS;
}

/* S is in force from 100 ms on, and the pass of 100 ms has been made. */
static struct world *world_of_s(void)
{
	struct world *w = world_of_two();

	go_before(w, 100);
	assert_int_equal(set_s(w), 0);
	fake_forget(&w->f);
	go_to(w, 100);
	return w;
}

static const char *name_of(const struct hv_unit *u)
{
	return u->idle ? "idle" : "a vCPU";
}

struct pass {
	hv_time at;		    /* ms */
	const struct hv_vcpu *vcpu; /* NULL = idle */
	hv_time slice;		    /* ms */
};

/* All passes of a pCPU since fake_forget(). */
static void assert_passes(const struct world *w, unsigned pcpu, const struct pass *pass,
			  unsigned nr)
{
	unsigned n = 0;

	assert_true(w->f.nr_log <= FAKE_LOG);
	for (unsigned i = 0; i < w->f.nr_log; i++) {
		const struct hv_trace *t = &w->f.log[i];

		if ((t->kind != HV_TRACE_SWITCH && t->kind != HV_TRACE_CONT) || t->pcpu != pcpu)
			continue;
		if (n >= nr)
			fail_msg("one more pass at %lld: %s", (long long)t->time, name_of(t->unit));
		if (t->time != pass[n].at * MS || t->a != pass[n].slice * MS)
			fail_msg("pass %u: at %lld, slice %lld", n, (long long)t->time,
				 (long long)t->a);
		if ((t->unit->idle ? NULL : t->unit->vcpu) != pass[n].vcpu)
			fail_msg("pass %u at %lld: %s", n, (long long)t->time, name_of(t->unit));
		n++;
	}
	assert_int_equal(n, nr);
}

#define ASSERT_PASSES(w, pcpu, ...)                                \
	assert_passes(w, pcpu, (const struct pass[]){__VA_ARGS__}, \
		      sizeof((const struct pass[]){__VA_ARGS__}) / sizeof(struct pass))

static const struct hv_vcpu *running(struct world *w, unsigned pcpu)
{
	const struct hv_vcpu *v = hv_pcpu_loaded(w->f.sys, pcpu);

	return v->idle ? NULL : v;
}

static void block(struct world *w, struct hv_vcpu *v)
{
	w->f.here = v->pcpu;
	assert_true(hv_block(v, NULL, NULL));
	w->f.here = 0;
	fake_drain(&w->f);
}

static void wake(struct world *w, struct hv_vcpu *v)
{
	assert_true(hv_wake(v));
	fake_drain(&w->f);
}

static unsigned table_size(struct hv_pool *pool, uint64_t *major)
{
	struct hv_window w[HV_MAX_WINDOWS];
	unsigned nr = 0;

	assert_int_equal(hv_frame_get(pool, major, &nr, w), 0);
	return nr;
}

/* Windows that went by without a pass, as far as the log goes. */
static int64_t missed(const struct world *w)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < w->f.nr_log; i++)
		sum += w->f.log[i].kind == HV_TRACE_MISSED ? w->f.log[i].a : 0;
	return sum;
}

/* ---- the frame */

static void case_1_windows_follow_each_other_and_the_rest_is_idle(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_to(w, 200);
	ASSERT_PASSES(w, 0, {100, w->d1, 30}, {130, w->d2, 20}, {150, w->d1, 10}, {160, NULL, 40},
		      {200, w->d1, 30});
	end(w);
}

static void case_2_a_late_pass_finds_the_window_of_its_time(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_before(w, 200);
	fake_forget(&w->f);
	w->f.now = 237 * MS;
	go_to(w, 300);
	ASSERT_PASSES(w, 0, {237, w->d2, 13}, {250, w->d1, 10}, {260, NULL, 40}, {300, w->d1, 30});
	end(w);
}

static void case_3_missed_frames_are_skipped(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_before(w, 300);
	fake_forget(&w->f);
	w->f.now = 455 * MS;
	go_to(w, 500);
	ASSERT_PASSES(w, 0, {455, w->d1, 5}, {460, NULL, 40}, {500, w->d1, 30});
	assert_int_equal(missed(w), 3 + 2); /* a whole frame, and two windows of the present one */
	end(w);

	w = world_of_s();
	go_before(w, 300);
	fake_forget(&w->f);
	w->f.now = 475 * MS;
	go_to(w, 500);
	ASSERT_PASSES(w, 0, {475, NULL, 25}, {500, w->d1, 30});
	assert_int_equal(missed(w), 3 + 3);
	end(w);
}

static void case_4_an_empty_table_idles_on_a_grid_of_10_ms(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	(void)state;
	w->f.now = 3 * MS;
	assert_int_equal(fake_create(&w->f, 1, 1, 1, hv_policies), 0);
	assert_int_equal(hv_pcpu_up(w->f.sys, 0), 0);
	assert_int_equal(hv_pool_create(w->f.sys, 0, "arinc653", HV_GRAN_CPU, &w->f.pool), 0);
	assert_int_equal(hv_pool_add_pcpu(w->f.pool, 0), 0);
	go_to(w, 30);
	ASSERT_PASSES(w, 0, {3, NULL, 7}, {10, NULL, 10}, {20, NULL, 10}, {30, NULL, 10});
	end(w);
}

/* ---- windows that come by themselves */

static struct hv_domain *control(struct world *w, int id, unsigned nr_vcpus)
{
	uint8_t handle[HV_HANDLE_BYTES];
	struct hv_domain *d;
	struct hv_vcpu *v;

	handle_of((uint32_t)id, handle);
	assert_int_equal(hv_domain_create(w->f.pool, id, nr_vcpus, &d), 0);
	assert_int_equal(hv_domain_identify(d, handle, true), 0);
	for (unsigned i = 0; i < nr_vcpus; i++)
		assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &v), 0);
	return d;
}

static void case_5_a_control_domain_has_a_window_for_each_vcpu(void **state)
{
	struct world *w = world_at(0, 1);
	struct hv_domain *d = control(w, 0, 2);
	uint64_t major;

	(void)state;
	assert_int_equal(table_size(w->f.pool, &major), 2);
	assert_int_equal(major, 20 * MS);
	hv_vcpu_up(d->vcpus[0]);
	hv_vcpu_up(d->vcpus[1]);
	fake_drain(&w->f);
	fake_forget(&w->f);
	go_to(w, 50);
	/* the frame begun before is 10 ms long, the others 20 ms, without idle time */
	ASSERT_PASSES(w, 0, {10, d->vcpus[0], 10}, {20, d->vcpus[1], 10}, {30, d->vcpus[0], 10},
		      {40, d->vcpus[1], 10}, {50, d->vcpus[0], 10});
	assert_int_equal(missed(w), 0); /* that frame had no second window */
	end(w);
}

static void case_5_the_table_ends_at_64_windows(void **state)
{
	struct world *w = world_at(0, 2);
	struct hv_domain *d = control(w, 0, 70);
	uint64_t major;

	(void)state;
	assert_int_equal(table_size(w->f.pool, &major), 64);
	assert_int_equal(major, 640 * MS);
	for (unsigned i = 0; i < 70; i++)
		hv_vcpu_up(d->vcpus[i]);
	go_to(w, 650);
	for (unsigned i = 0; i < 70; i++) {
		struct hv_runstate rs;

		hv_runstate_get(d->vcpus[i], &rs);
		/* 10 ms in the first, short frame for vCPU 0, then one window for each */
		assert_int_equal(rs.time[HV_RUNNING], (i >= 64 ? 0 : i == 0 ? 20 : 10) * MS);
	}
	end(w);
}

static void domains_get_no_window_unless_they_are_control_domains(void **state)
{
	struct world *w = world_of_two();
	uint64_t major;

	(void)state;
	assert_int_equal(table_size(w->f.pool, &major), 0);
	assert_int_equal(major, 10 * MS);
	go_to(w, 100);
	assert_null(running(w, 0));
	end(w);
}

static void case_13_a_control_vcpu_made_after_a_set_is_appended(void **state)
{
	struct world *w = world_at(0, 1);
	struct hv_vcpu *p = up(w, 1), *late;
	uint64_t major;

	(void)state;
	go_to(w, 5);
	assert_int_equal(set_table(w->f.pool, 100, 1u, 40u, END), 0);
	late = control(w, 2, 1)->vcpus[0];
	assert_int_equal(table_size(w->f.pool, &major), 2);
	assert_int_equal(major, 110 * MS);
	fake_forget(&w->f);
	hv_vcpu_up(late);
	go_to(w, 115);
	ASSERT_PASSES(w, 0, {5, p, 40}, {45, late, 10}, {55, NULL, 60}, {115, p, 40});
	end(w);
}

static void case_14_a_window_appended_in_the_idle_tail_owns_the_tail(void **state)
{
	struct world *w = world_at(0, 1);
	struct hv_vcpu *p = up(w, 1), *late;

	(void)state;
	go_to(w, 5);
	assert_int_equal(set_table(w->f.pool, 100, 1u, 40u, END), 0);
	fake_pass(&w->f, 0);
	go_to(w, 60);
	fake_forget(&w->f);
	late = control(w, 2, 1)->vcpus[0];
	hv_vcpu_up(late);
	go_to(w, 215);
	ASSERT_PASSES(w, 0, {60, late, 45}, {105, p, 40}, {145, late, 10}, {155, NULL, 60},
		      {215, p, 40});
	end(w);
}

/* ---- setting a table */

static void case_6_a_new_table_counts_from_now_and_starts_at_the_next_pass(void **state)
{
	struct world *w = world_of_two();
	struct hv_vcpu *x = up(w, 3), *y = up(w, 4);

	(void)state;
	go_to(w, 0);
	assert_int_equal(set_s(w), 0);
	fake_pass(&w->f, 0);
	go_to(w, 37);
	assert_ptr_equal(running(w, 0), w->d2);
	fake_forget(&w->f);
	assert_int_equal(set_table(w->f.pool, 50, 3u, 10u, 4u, 20u, END), 0);
	assert_int_equal(w->f.pending[0], 0);
	go_to(w, 87);
	ASSERT_PASSES(w, 0, {50, y, 17}, {67, NULL, 20}, {87, x, 10});
	end(w);
}

static void case_7_bad_tables_are_refused_and_the_old_one_stays(void **state)
{
	struct world *w = world_of_s();
	struct hv_pool *pool = w->f.pool;
	struct hv_window many[HV_MAX_WINDOWS + 1];
	uint64_t major;

	(void)state;
	for (unsigned i = 0; i <= HV_MAX_WINDOWS; i++)
		many[i] = window(1, 0, MS);
	assert_int_equal(set_table(pool, 50, 1u, 25u, 2u, 26u, END), -HV_EINVAL);
	assert_int_equal(set_table(pool, 0, 1u, 25u, END), -HV_EINVAL);
	assert_int_equal(set_table(pool, 0, END), -HV_EINVAL);
	assert_int_equal(set_table(pool, 50, END), -HV_EINVAL);
	assert_int_equal(set_table(pool, 50, 1u, 25u, 2u, 0u, END), -HV_EINVAL);
	assert_int_equal(hv_frame_set(pool, 1000 * MS, 65, many), -HV_EINVAL);
	assert_int_equal(table_size(pool, &major), 3);
	assert_int_equal(major, 100 * MS);
	assert_int_equal(set_table(pool, 50, 1u, 25u, 2u, 25u, END), 0);
	assert_int_equal(hv_frame_set(pool, 64 * MS, 64, many), 0);
	assert_int_equal(table_size(pool, &major), 64);
	assert_int_equal(major, 64 * MS);
	end(w);
}

/* Xen takes these; one of them makes it die later (arinc653 section 12). */
static void absurd_lengths_are_refused(void **state)
{
	struct world *w = world_of_s();
	struct hv_window wrap[2] = {window(1, 0, 1ULL << 63), window(2, 0, (1ULL << 63) + 10)};
	struct hv_window one = window(1, 0, 1ULL << 62);
	uint64_t major;

	(void)state;
	assert_int_equal(hv_frame_set(w->f.pool, 100, 2, wrap), -HV_EINVAL);
	assert_int_equal(hv_frame_set(w->f.pool, INT64_MAX, 1, &one), -HV_EINVAL);
	assert_int_equal(hv_frame_set(w->f.pool, (1ULL << 62) + 1, 1, &one), -HV_EINVAL);
	assert_int_equal(hv_frame_set(w->f.pool, UINT64_MAX, 1, &one), -HV_EINVAL);
	assert_int_equal(table_size(w->f.pool, &major), 3);
	assert_int_equal(hv_frame_set(w->f.pool, 1ULL << 62, 1, &one), 0);
	fake_forget(&w->f);
	fake_pass(&w->f, 0);
	assert_ptr_equal(running(w, 0), w->d1);
	fake_run(&w->f, 1LL << 62);
	fake_check(&w->f);
	assert_ptr_equal(running(w, 0), w->d1);
	end(w);
}

static void case_10_a_window_waits_for_its_domain(void **state)
{
	struct world *w = world_of_two();
	struct hv_vcpu *x;

	(void)state;
	assert_int_equal(set_table(w->f.pool, 50, 1u, 20u, 7u, 20u, END), 0);
	fake_pass(&w->f, 0);
	go_to(w, 30);
	assert_null(running(w, 0));
	x = fake_domain(&w->f, 7, 1)->vcpus[0];
	fake_forget(&w->f);
	go_to(w, 80);
	ASSERT_PASSES(w, 0, {40, NULL, 10}, {50, w->d1, 20}, {70, NULL, 20});
	hv_vcpu_up(x);
	go_to(w, 80);
	assert_ptr_equal(running(w, 0), x);
	go_to(w, 120);
	assert_ptr_equal(running(w, 0), x);
	end(w);
}

static void case_11_of_two_units_of_one_name_the_later_one_is_bound(void **state)
{
	struct world *w = world_at(0, 1);
	struct hv_vcpu *first = up(w, 1);
	struct hv_domain *d, *early;
	uint8_t handle[HV_HANDLE_BYTES];
	struct hv_vcpu *second;

	(void)state;
	assert_int_equal(set_table(w->f.pool, 50, 1u, 50u, END), 0);
	go_to(w, 20);
	assert_ptr_equal(running(w, 0), first);
	handle_of(1, handle);
	assert_int_equal(hv_domain_create(w->f.pool, 5, 1, &d), 0);
	assert_int_equal(hv_domain_identify(d, handle, false), 0);
	assert_int_equal(hv_vcpu_create(d, NULL, NULL, NULL, &second), 0);
	hv_vcpu_up(second);
	go_to(w, 60);
	assert_ptr_equal(running(w, 0), second);
	hv_domain_pause(d);
	fake_drain(&w->f);
	assert_int_equal(hv_domain_destroy(d), 0);
	go_to(w, 110);
	assert_ptr_equal(running(w, 0), first);
	/* a handle is given before the first vCPU, or not at all */
	early = first->domain;
	assert_int_equal(hv_domain_identify(early, handle, true), -HV_EBUSY);
	end(w);
}

static void other_policies_have_no_table(void **state)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hv_window w = window(1, 0, 10);
	uint64_t major;
	unsigned nr;

	(void)state;
	assert_int_equal(fake_create(f, 1, 1, 1, hv_policies), 0);
	fake_boot(f, "credit2");
	assert_int_equal(hv_frame_set(f->pool, 10, 1, &w), -HV_EOPNOTSUPP);
	assert_int_equal(hv_frame_get(f->pool, &major, &nr, &w), -HV_EOPNOTSUPP);
	fake_destroy(f);
	free(f);
}

/* ---- events */

static void case_8_time_of_a_window_that_is_not_used_is_lost(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_to(w, 140);
	fake_forget(&w->f);
	block(w, w->d2);
	go_to(w, 145);
	wake(w, w->d2);
	go_to(w, 150);
	ASSERT_PASSES(w, 0, {140, NULL, 10}, {145, w->d2, 5}, {150, w->d1, 10});
	end(w);
}

static void case_8_a_wake_outside_the_window_changes_nothing(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_to(w, 140);
	block(w, w->d2);
	go_to(w, 155);
	fake_forget(&w->f);
	wake(w, w->d2);
	go_to(w, 230);
	ASSERT_PASSES(w, 0, {155, w->d1, 5}, {160, NULL, 40}, {200, w->d1, 30}, {230, w->d2, 20});
	end(w);
}

static void case_9_a_yield_leaves_the_window_to_whom_it_belongs(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_to(w, 110);
	fake_forget(&w->f);
	hv_yield(w->d1);
	go_to(w, 130);
	ASSERT_PASSES(w, 0, {110, w->d1, 20}, {130, w->d2, 20});
	end(w);
}

static void a_paused_vcpu_leaves_its_window_idle(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_to(w, 110);
	fake_forget(&w->f);
	assert_int_equal(hv_pause(w->d1), 0);
	go_to(w, 120);
	assert_int_equal(hv_unpause(w->d1), 0);
	go_to(w, 120);
	ASSERT_PASSES(w, 0, {110, NULL, 20}, {120, w->d1, 10});
	end(w);
}

static void case_12_one_timeline_for_all_pcpus(void **state)
{
	struct world *w = world_at(0, 2);
	struct hv_window s[] = {window(1, 0, 30 * MS), window(1, 1, 20 * MS),
				window(1, 0, 10 * MS)};
	struct hv_vcpu *v[2];

	(void)state;
	/* provisional pCPUs: vCPU k of a domain is put beside vCPU k - 1 */
	v[0] = fake_domain(&w->f, 1, 2)->vcpus[0];
	v[1] = v[0]->domain->vcpus[1];
	assert_int_equal(v[1]->pcpu, 1);
	hv_vcpu_up(v[0]);
	hv_vcpu_up(v[1]);
	fake_drain(&w->f);
	go_before(w, 100);
	assert_int_equal(hv_frame_set(w->f.pool, 100 * MS, 3, s), 0);
	fake_forget(&w->f);
	go_to(w, 200);
	ASSERT_PASSES(w, 0, {100, v[0], 30}, {130, NULL, 20}, {150, v[0], 10}, {160, NULL, 40},
		      {200, v[0], 30});
	ASSERT_PASSES(w, 1, {100, NULL, 30}, {130, v[1], 20}, {150, NULL, 10}, {160, NULL, 40},
		      {200, NULL, 30});
	end(w);
}

static void case_12_a_vcpu_pinned_elsewhere_stays_where_it_is(void **state)
{
	struct world *w = world_at(0, 2);
	struct hv_window s[] = {window(1, 0, 10 * MS), window(1, 1, 10 * MS)};
	struct hv_domain *d = fake_domain(&w->f, 1, 2);
	struct hv_mask hard = fake_mask1(0);

	(void)state;
	hv_vcpu_up(d->vcpus[0]);
	hv_vcpu_up(d->vcpus[1]);
	assert_int_equal(hv_frame_set(w->f.pool, 20 * MS, 2, s), 0);
	assert_int_equal(hv_affinity_set(d->vcpus[1], &hard, NULL), 0);
	go_to(w, 15);
	assert_ptr_equal(running(w, 1), d->vcpus[1]);
	assert_null(running(w, 0));
	end(w);
}

static void case_15_idle_work_takes_a_pass_but_not_the_end_of_the_window(void **state)
{
	struct world *w = world_of_s();

	(void)state;
	go_to(w, 110);
	fake_forget(&w->f);
	hv_work(w->f.sys, 0, true);
	go_to(w, 115);
	hv_work(w->f.sys, 0, false);
	go_to(w, 130);
	ASSERT_PASSES(w, 0, {110, NULL, 20}, {115, w->d1, 15}, {130, w->d2, 20});
	end(w);
}

static void case_16_after_64_windows_the_rest_is_idle(void **state)
{
	struct world *w = world_of_two();
	struct hv_window many[HV_MAX_WINDOWS];

	(void)state;
	for (unsigned i = 0; i < HV_MAX_WINDOWS; i++)
		many[i] = window(1 + i % 2, 0, MS);
	go_before(w, 100);
	assert_int_equal(hv_frame_set(w->f.pool, 70 * MS, HV_MAX_WINDOWS, many), 0);
	fake_forget(&w->f);
	go_to(w, 170);
	assert_int_equal(w->f.passes[0], 66);
	fake_forget(&w->f);
	go_to(w, 169 + 64);
	go_to(w, 170 + 70);
	assert_ptr_equal(running(w, 0), w->d1);
	for (unsigned i = 0; i < 2; i++) {
		struct hv_runstate rs;

		hv_runstate_get(i ? w->d2 : w->d1, &rs);
		assert_int_equal(rs.time[HV_RUNNING], 64 * MS);
	}
	assert_int_equal(hv_pcpu_idle_time(w->f.sys, 0), (100 + 6 + 6) * MS);
	end(w);
}

/* ---- drift, several pools (field cases 67, 69) */

static void frames_do_not_drift_when_timers_are_late(void **state)
{
	struct world *w = world_of_two();

	(void)state;
	assert_int_equal(set_table(w->f.pool, 20, 1u, 10u, 2u, 10u, END), 0);
	fake_pass(&w->f, 0);
	for (unsigned k = 1; k <= 200; k++) {
		/* each timer is 175 us late, one of them 14 ms: a whole window is missed */
		hv_time late = k == 77 ? 14 * MS : 175 * US;
		hv_time due = fake_first_timer(&w->f)->expiry;
		const struct hv_vcpu *owner;

		w->f.now = due + late;
		fake_fire_due(&w->f);
		fake_drain(&w->f);
		fake_check(&w->f);
		owner = w->f.now % (20 * MS) < 10 * MS ? w->d1 : w->d2;
		assert_int_equal(due, (k > 77 ? k + 1 : k) * 10 * MS);
		assert_ptr_equal(running(w, 0), owner);
	}
	assert_int_equal(w->f.now, 2010 * MS + 175 * US);
	assert_int_equal(missed(w), 1);
	end(w);
}

/* Section 7: not to the next one. */
static void units_of_a_pcpu_that_leaves_go_to_the_lowest_one(void **state)
{
	struct world *w = world_at(0, 3);
	struct hv_domain *d = fake_domain(&w->f, 1, 2);

	(void)state;
	assert_int_equal(d->vcpus[1]->pcpu, 1);
	hv_vcpu_up(d->vcpus[1]);
	fake_drain(&w->f);
	assert_int_equal(hv_pool_remove_pcpu(w->f.pool, 1), 0);
	assert_int_equal(d->vcpus[0]->pcpu, 0);
	assert_int_equal(d->vcpus[1]->pcpu, 0);
	fake_check(&w->f);
	end(w);
}

static void two_pools_have_frames_of_their_own(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fake *f = &w->f;
	struct hv_pool *pool[2];
	struct hv_vcpu *v[4];

	(void)state;
	assert_int_equal(fake_create(f, 1, 2, 1, hv_policies), 0);
	for (unsigned c = 0; c < 2; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	for (unsigned c = 0; c < 2; c++) {
		assert_int_equal(hv_pool_create(f->sys, (int)c, "arinc653", HV_GRAN_CPU, &pool[c]),
				 0);
		assert_int_equal(hv_pool_add_pcpu(pool[c], c), 0);
	}
	fake_drain(f);
	for (unsigned i = 0; i < 4; i++) {
		f->pool = pool[i / 2];
		v[i] = up(w, (int)(i + 1));
	}
	assert_int_equal(set_table(pool[0], 20, 1u, 10u, 2u, 10u, END), 0);
	assert_int_equal(set_table(pool[1], 30, 3u, 10u, 4u, 15u, END), 0);
	fake_pass(f, 0);
	fake_pass(f, 1);
	fake_forget(f);
	go_to(w, 60);
	ASSERT_PASSES(w, 0, {10, v[1], 10}, {20, v[0], 10}, {30, v[1], 10}, {40, v[0], 10},
		      {50, v[1], 10}, {60, v[0], 10});
	ASSERT_PASSES(w, 1, {10, v[3], 15}, {25, NULL, 5}, {30, v[2], 10}, {40, v[3], 15},
		      {55, NULL, 5}, {60, v[2], 10});
	end(w);
}

static void two_instances_have_frames_of_their_own(void **state)
{
	struct world *a = world_of_two(), *b = world_of_two();

	(void)state;
	assert_int_equal(set_table(a->f.pool, 20, 1u, 10u, 2u, 10u, END), 0);
	assert_int_equal(set_table(b->f.pool, 30, 1u, 10u, 2u, 10u, END), 0);
	fake_pass(&a->f, 0);
	fake_pass(&b->f, 0);
	fake_forget(&a->f);
	fake_forget(&b->f);
	for (hv_time t = 5; t <= 40; t += 5) {
		go_to(a, t);
		go_to(b, t);
	}
	ASSERT_PASSES(a, 0, {10, a->d2, 10}, {20, a->d1, 10}, {30, a->d2, 10}, {40, a->d1, 10});
	ASSERT_PASSES(b, 0, {10, b->d2, 10}, {20, NULL, 10}, {30, b->d1, 10}, {40, b->d2, 10});
	end(a);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_1_windows_follow_each_other_and_the_rest_is_idle),
		cmocka_unit_test(case_2_a_late_pass_finds_the_window_of_its_time),
		cmocka_unit_test(case_3_missed_frames_are_skipped),
		cmocka_unit_test(case_4_an_empty_table_idles_on_a_grid_of_10_ms),
		cmocka_unit_test(case_5_a_control_domain_has_a_window_for_each_vcpu),
		cmocka_unit_test(case_5_the_table_ends_at_64_windows),
		cmocka_unit_test(domains_get_no_window_unless_they_are_control_domains),
		cmocka_unit_test(case_13_a_control_vcpu_made_after_a_set_is_appended),
		cmocka_unit_test(case_14_a_window_appended_in_the_idle_tail_owns_the_tail),
		cmocka_unit_test(case_6_a_new_table_counts_from_now_and_starts_at_the_next_pass),
		cmocka_unit_test(case_7_bad_tables_are_refused_and_the_old_one_stays),
		cmocka_unit_test(absurd_lengths_are_refused),
		cmocka_unit_test(case_10_a_window_waits_for_its_domain),
		cmocka_unit_test(case_11_of_two_units_of_one_name_the_later_one_is_bound),
		cmocka_unit_test(other_policies_have_no_table),
		cmocka_unit_test(case_8_time_of_a_window_that_is_not_used_is_lost),
		cmocka_unit_test(case_8_a_wake_outside_the_window_changes_nothing),
		cmocka_unit_test(case_9_a_yield_leaves_the_window_to_whom_it_belongs),
		cmocka_unit_test(a_paused_vcpu_leaves_its_window_idle),
		cmocka_unit_test(case_12_one_timeline_for_all_pcpus),
		cmocka_unit_test(case_12_a_vcpu_pinned_elsewhere_stays_where_it_is),
		cmocka_unit_test(case_15_idle_work_takes_a_pass_but_not_the_end_of_the_window),
		cmocka_unit_test(case_16_after_64_windows_the_rest_is_idle),
		cmocka_unit_test(frames_do_not_drift_when_timers_are_late),
		cmocka_unit_test(two_pools_have_frames_of_their_own),
		cmocka_unit_test(units_of_a_pcpu_that_leaves_go_to_the_lowest_one),
		cmocka_unit_test(two_instances_have_frames_of_their_own),
	};

	return cmocka_run_group_tests_name("arinc653", tests, NULL, NULL);
}

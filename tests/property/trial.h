/* SPDX-License-Identifier: MIT */
/*
 * A trial of random operations: its state, its draws, the laws that are looked at after every step,
 * and the random machine on which it takes place.
 */
#ifndef TESTS_PROPERTY_TRIAL_H
#define TESTS_PROPERTY_TRIAL_H

#include "../unit/fake_host.h"

#include "policy/credit2.h"
#include <inttypes.h>

#define MAX_DOMAINS  8
#define MAX_POOLS    4
#define MAX_VCPUS    6
#define MAX_POLICIES 16
#define MS	     INT64_C(1000000)

#define RUNS  3000 /* per policy; some 40 s in all */
#define STEPS 800

/* What is done to pools and pCPUs. */
enum {
	CREATE_POOL,
	DESTROY_POOL,
	SET_GRAN,
	ADD_PCPU,
	REMOVE_PCPU,
	MOVE_DOMAIN,
	PCPU_UP,
	PCPU_DOWN,
	SMT,
	SUSPEND,
	RESUME,
	NR_POOL_OPERATIONS,
};

/* Steps by kind. A trial draws how often it takes each. */
enum {
	CREATE_DOMAIN,
	DESTROY_DOMAIN,
	PAUSE_DOMAIN,
	SET_PARAMS,
	SET_TABLE,
	VCPU,
	GUEST,
	LOOK,
	POOL,
	MACHINE,
	NR_KINDS,
};

#define NR_VCPU_OPERATIONS    11
#define NR_MACHINE_OPERATIONS 8

struct trial {
	struct fake *f;
	const char *policy;
	uint64_t seed, random;
	unsigned step;
	const char *doing; /* the latest operation on pools or pCPUs */
	struct hv_pool *pools[MAX_POOLS];
	struct hv_domain *domains[MAX_DOMAINS];
	unsigned domain_pauses[MAX_DOMAINS];
	int next_id;
	int64_t gone_ran; /* running time of vCPUs that are no more */
	/* By first vCPU of a unit: the pCPU that looked at it last is idle, and did not take it. */
	bool refused[MAX_DOMAINS][MAX_VCPUS];
	struct hv_mask own[MAX_DOMAINS][MAX_VCPUS]; /* hard mask of a unit before it was pinned */
	enum hv_gran gran;
	/* Swarm: what this trial does often, seldom, or not at all (a bit for each operation). */
	unsigned weights[NR_KINDS];
	uint32_t no_vcpu, no_machine, no_pool;
};

/* How much of what is special to resources of several pCPUs was met. */
static uint64_t nr_waits, nr_forced, nr_shared;
/* Operations on pools and pCPUs that were done, that were to be retried, that had no memory. */
static uint64_t nr_done[NR_POOL_OPERATIONS], nr_again, nr_no_memory;

/* Arguments: one given run, or runs of all policies. */
static const char *program;
static const char *only_policy;
static uint64_t only_seed;
static unsigned nr_steps = STEPS;

static uint64_t draw64(struct trial *t)
{
	uint64_t z = t->random += 0x9E3779B97F4A7C15;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	return z ^ (z >> 31);
}

static unsigned draw(struct trial *t, unsigned n)
{
	return (unsigned)(draw64(t) % n);
}

static void failed(struct trial *t, const char *what)
{
	print_message("# replay: %s %s %" PRIu64 " %u\n", program, t->policy, t->seed, nr_steps);
	fail_msg("step %u: %s; last on pools: %s", t->step, what, t->doing ? t->doing : "nothing");
}

/* In guest mode on one resource: members of its current unit only, each on its own pCPU. */
static void check_isolation(struct trial *t)
{
	for (unsigned c = 0; c < t->f->nr_pcpus; c++) {
		const struct hv_vcpu *v = fake_guest(t->f, c);
		const struct hv_resource *r = hv_resource_of(t->f->sys, c);

		if (!v)
			continue;
		if (v->unit != r->curr || v->pcpu != c)
			failed(t, "a vCPU of another unit is in guest mode");
		if (r->g > 1 && r->prev)
			failed(t, "a guest was entered before all had saved");
		nr_shared += r->g > 1 && c != r->master && fake_guest(t->f, r->master);
	}
}

static void check(struct trial *t)
{
	struct hv_violation v = {"", HV_NO_PCPU, -1, -1};
	char text[256];

	if (!hv_check(t->f->sys, &v)) {
		check_isolation(t);
		return;
	}
	snprintf(text, sizeof(text), "law broken: %s (pcpu %d, domain %d, unit %d)", v.law,
		 (int)v.pcpu, v.domain, v.unit);
	failed(t, text);
}

#define EXPECT(t, cond)                               \
	do {                                          \
		if (!(cond))                          \
			failed(t, "expected " #cond); \
	} while (0)

/* An assertion of the engine fails: say how to replay it. */
static struct trial *current;

static void assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	char text[256];

	(void)ctx;
	snprintf(text, sizeof(text), "%s:%d: assertion '%s' failed", file, line, expr);
	failed(current, text);
	abort();
}

/* ---- what credit2 refuses */

/* Where the trial notes about this unit; NULL while its domain is not known to it. */
static bool *refusal(struct trial *t, const struct hv_unit *u)
{
	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		if (t->domains[i] && t->domains[i] == u->domain)
			return &t->refused[i][u->id];
	}
	return NULL;
}

/*
 * Credit2 (sections 9.3, 11.4; Q8): the pCPU has walked the queue and is idle now. A unit that may
 * run there has been stepped over, either because its debt was too deep for a pCPU that is not its
 * home, or because another pCPU had been asked for it and was still to come; that one may have been
 * asked long ago, when the affinity was another, or take another unit when it comes. Nobody looks
 * at the unit again before something else happens there, even if its debt is remitted meanwhile.
 */
static void note_refusals(struct trial *t, unsigned pcpu)
{
	const struct hv_resource *r = hv_resource_of(t->f->sys, pcpu);
	const struct c2_sched *p;
	const struct c2_runq *rq;

	if (strcmp(r->sched->policy->name, "credit2") != 0)
		return;
	p = c2_sched(r->sched);
	rq = c2_pcpu(p, pcpu)->rq;
	for (const struct c2_unit *u = rq->members; u; u = u->member_next) {
		bool *noted = refusal(t, u->unit);

		if (!noted || !(u->flags & C2_QUEUED) || !hv_mask_test(&u->unit->hard, pcpu))
			continue;
		*noted = (c2_home(u) != pcpu && C2_IDLE_CREDIT + p->resist > u->credit) ||
			 (u->tcpu != HV_NO_PCPU && u->tcpu != pcpu &&
			  hv_mask_test(&rq->tik, u->tcpu));
	}
}

static void forget_refusal(struct trial *t, const struct hv_unit *u)
{
	bool *noted = u->idle ? NULL : refusal(t, u);

	if (noted)
		*noted = false;
}

static void watch(void *ctx, const struct hv_trace *ev)
{
	struct trial *t = current;

	fake_trace(ctx, ev);
	switch (ev->kind) {
	case HV_TRACE_SWITCH:
	case HV_TRACE_CONT:
		forget_refusal(t, ev->unit);
		if (ev->unit->idle && !ev->b)
			note_refusals(t, ev->pcpu);
		break;
	case HV_TRACE_PAUSE: /* queued anew it will be looked at anew */
		if (!hv_unit_runnable(ev->vcpu->unit))
			forget_refusal(t, ev->vcpu->unit);
		break;
	default:
		break;
	}
}

/* ---- the machine */

static void maybe_set(struct trial *t, const char *name, const char *const *values, unsigned n)
{
	int rc;

	if (draw(t, 2))
		return;
	rc = hv_param_set(t->f->sys, name, values[draw(t, n)]);
	EXPECT(t, rc >= 0 || rc == -HV_ENOENT);
}

/*
 * A random shape: one to three threads a core, all cores alike or every other one of one thread;
 * siblings are numbered side by side, or all first threads come first. Returns the number of pCPUs.
 */
static unsigned draw_shape(struct trial *t, uint32_t *core, uint32_t *socket, uint32_t *node)
{
	unsigned threads = 1 + draw(t, 3), cores = 1 + draw(t, 3), sockets = 1 + draw(t, 2), n = 0;
	bool hybrid = draw(t, 4) == 0, apart = draw(t, 4) == 0, small_nodes = draw(t, 4) == 0;

	for (unsigned k = 0; k < sockets * cores * threads; k++) {
		unsigned i = apart ? k % (sockets * cores) : k / threads;
		bool first = apart ? k < sockets * cores : k % threads == 0;

		if (hybrid && i % 2 && !first)
			continue;
		core[n] = i;
		socket[n] = i / cores;
		node[n] = small_nodes ? i : i / cores;
		n++;
	}
	return n;
}

/* Three quarters of all trials do without some operations, and much of others. */
static void draw_swarm(struct trial *t)
{
	static const unsigned usual[NR_KINDS] = {
		[CREATE_DOMAIN] = 12, [DESTROY_DOMAIN] = 3, [PAUSE_DOMAIN] = 12, [SET_PARAMS] = 8,
		[SET_TABLE] = 4,      [VCPU] = 60,	    [GUEST] = 36,	 [LOOK] = 6,
		[POOL] = 12,	      [MACHINE] = 96};
	static const unsigned times[] = {0, 1, 1, 4};
	bool swarm = draw(t, 4);

	for (unsigned i = 0; i < NR_KINDS; i++) {
		unsigned k = swarm ? times[draw(t, 4)] : 1;

		/* without these two nothing happens */
		if (k == 0 && (i == CREATE_DOMAIN || i == MACHINE))
			k = 1;
		t->weights[i] = k * usual[i];
	}
	if (!swarm)
		return;
	/* each one with a probability of 1/4, but not all */
	t->no_vcpu = (uint32_t)(draw64(t) & draw64(t)) & ~(1u << draw(t, NR_VCPU_OPERATIONS));
	t->no_machine = (uint32_t)(draw64(t) & draw64(t)) & ~(1u << draw(t, NR_MACHINE_OPERATIONS));
	t->no_pool = (uint32_t)(draw64(t) & draw64(t)) & ~(1u << draw(t, NR_POOL_OPERATIONS));
}

/* One of n operations, but none of those that this trial does without. */
static unsigned draw_but(struct trial *t, unsigned n, uint32_t without)
{
	unsigned k = draw(t, n);

	while (without >> k & 1)
		k = draw(t, n);
	return k;
}

static unsigned draw_kind(struct trial *t)
{
	unsigned sum = 0, kind = 0, k;

	for (unsigned i = 0; i < NR_KINDS; i++)
		sum += t->weights[i];
	for (k = draw(t, sum); k >= t->weights[kind]; kind++)
		k -= t->weights[kind];
	return kind;
}

static void set_boot_params(struct trial *t)
{
	static const char *const queues[] = {"cpu", "core", "socket", "node", "all"};
	static const char *const most[] = {"1", "2", "3", "16"};
	static const char *const limits[] = {"0", "100", "1000", "5000"};
	static const char *const bools[] = {"0", "1"};
	static const char *const slices[] = {"4", "10", "30", "1001"};
	static const char *const times[] = {"0", "300", "5000"};
	static const char *const periods[] = {"1", "10", "100"};
	static const char *const precisions[] = {"4", "18", "24"};
	static const char *const windows[] = {"11", "24", "34"};
	static const char *const exponents[] = {"-20", "-3", "0", "2"};
	static const char *const tickles[] = {"head", "head-fixed", "head-without", "with-2012",
					      "without-2012"};

	maybe_set(t, "credit2_runqueue", queues, 5);
	maybe_set(t, "sched_credit2_max_cpus_runqueue", most, 4);
	maybe_set(t, "sched_credit2_migrate_resist", times, 3);
	maybe_set(t, "credit2_cap_period_ms", periods, 3);
	maybe_set(t, "credit2_load_precision_shift", precisions, 3);
	maybe_set(t, "credit2_load_window_shift", windows, 3);
	maybe_set(t, "credit2_balance_under", exponents, 4);
	maybe_set(t, "credit2_balance_over", exponents, 4);
	maybe_set(t, "sched_ratelimit_us", limits, 4);
	maybe_set(t, "sched_smt_power_savings", bools, 2);
	maybe_set(t, "sched_credit_tslice_ms", slices, 4);
	maybe_set(t, "vcpu_migration_delay", times, 3);
	maybe_set(t, "load-balance-ratelimit", times, 3);
	maybe_set(t, "tickle_one_idle_cpu", bools, 2);
	maybe_set(t, "credit_tickle", tickles, 5);
}

/* An instance with all pCPUs up; every eighth runs out of memory first, in turn. */
static void create_sys(struct trial *t, const struct hv_host *host, const struct hv_topology *topo)
{
	struct fake *f = t->f;
	bool in_turn = t->seed % 8 == 0;
	int rc;

	for (long n = 1;; n++) {
		f->fail_at = in_turn ? f->allocs + n : 0;
		rc = hv_sys_create(host, f, topo, hv_policies, &f->sys);
		if (rc != -HV_ENOMEM)
			break;
		EXPECT(t, f->live_bytes == 0);
	}
	EXPECT(t, rc == 0);
	set_boot_params(t);
	for (unsigned c = 0; c < topo->nr_pcpus; c++) {
		for (long n = 1;; n++) {
			size_t bytes = f->live_bytes;

			f->fail_at = in_turn ? f->allocs + n : 0;
			rc = hv_pcpu_up(f->sys, c);
			if (rc != -HV_ENOMEM)
				break;
			EXPECT(t, f->live_bytes == bytes && !hv_resource_of(f->sys, c));
		}
		EXPECT(t, rc == 0);
	}
	f->fail_at = 0;
}

/* Two pools of the policy; pCPU 0 is always in pool 0, of the others some stay free. */
static void boot(struct trial *t)
{
	struct fake *f = t->f;
	struct hv_host host = fake_host;
	uint32_t core[FAKE_PCPUS], socket[FAKE_PCPUS], node[FAKE_PCPUS];
	struct hv_topology topo = {draw_shape(t, core, socket, node), core, socket, node};
	bool two = draw(t, 3) == 0, sparse = draw(t, 4) == 0;

	draw_swarm(t);
	host.assert_failed = assert_failed;
	host.trace = watch;
	f->nr_pcpus = topo.nr_pcpus;
	create_sys(t, &host, &topo);
	t->gran = draw(t, 2) ? HV_GRAN_CPU : draw(t, 3) ? HV_GRAN_CORE : HV_GRAN_SOCKET;
	for (unsigned c = 1; sparse && c < topo.nr_pcpus; c++) {
		if (draw(t, 4) == 0)
			assert_int_equal(hv_pcpu_down(f->sys, c), 0);
	}
	if (!hv_gran_size(f->sys, t->gran))
		t->gran = HV_GRAN_CPU; /* as Xen falls back where cores are not alike */
	assert_int_equal(hv_pool_create(f->sys, 0, t->policy, t->gran, &t->pools[0]), 0);
	assert_int_equal(hv_pool_create(f->sys, 1, t->policy, t->gran, &t->pools[1]), 0);
	for (unsigned c = 0; c < topo.nr_pcpus; c++) {
		const struct hv_resource *r = hv_resource_of(f->sys, c);

		if (r && !r->pool && (c == 0 || draw(t, 8)))
			assert_int_equal(hv_pool_add_pcpu(t->pools[two && c ? draw(t, 2) : 0], c),
					 0);
		check(t);
	}
	f->hold_saves = true;
}

static int64_t ran(const struct hv_domain *d)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		struct hv_runstate rs;

		hv_runstate_get(d->vcpus[i], &rs);
		sum += rs.time[HV_RUNNING];
	}
	return sum;
}

static bool is_up(struct trial *t, unsigned c)
{
	return hv_mask_test(hv_online_mask(t->f->sys), c);
}

/* Everything that pCPUs have to do, they do; work for their idle contexts included. */
static void settle(struct trial *t)
{
	struct fake *f = t->f;

	f->hold_saves = false;
	for (unsigned c = 0; c < f->nr_pcpus; c++) {
		if (!is_up(t, c))
			continue;
		hv_work(f->sys, c, false);
		if (f->saving[c])
			fake_save(f, c);
	}
	fake_drain(f);
	f->hold_saves = true;
}

#endif

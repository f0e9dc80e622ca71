/* SPDX-License-Identifier: MIT */
/*
 * Random operations on the engine with every policy: domains, wakes, blocks, yields, pauses,
 * affinities, pins, weights, caps, time tables, idle work, timers, passes and saves in any order,
 * on random machines; pools of any policy and granularity come and go, pCPUs and domains change
 * pools, pCPUs go off line and return, SMT is switched, the machine is suspended and loses pCPUs.
 * Each trial does without some of them and does others often (swarm testing, draw_swarm()).
 *
 * hv_check() walks the whole state after each of them. Allocations fail in turn; what is refused
 * or runs out of memory has left everything as it was, and only few operations need memory at all.
 *
 * Granularity is cpu, core or socket; with the latter two a look at every core says that never two
 * domains were in guest mode on it, whatever order its pCPUs saved and looked in (I3, I7).
 *
 * Then a quiet phase (quiet.h): everything is released, and every runnable unit must run. Over the
 * whole run the time of every pCPU is accounted for: idle time and running times sum to it exactly.
 *
 * usage: operations [POLICY SEED [STEPS]]
 *
 * A failing run prints the command that replays it.
 */
#include "quiet.h"

/* ---- what an operation without effect must leave */

struct picture {
	size_t bytes;
	unsigned nr_pools, nr_timers;
	struct hv_mask up, cpu_valid[MAX_POOLS], res_valid[MAX_POOLS];
	uint32_t nr_domains[MAX_POOLS], nr_coming[MAX_POOLS];
	uint64_t vcpus; /* a digest of everything about them */
};

static uint64_t mix(uint64_t h, uint64_t value)
{
	return (h ^ value) * 0x100000001B3;
}

static uint64_t digest_vcpu(uint64_t h, const struct hv_vcpu *v)
{
	const struct hv_unit *u = v->unit;
	struct hv_state st = {0};

	hv_unit_state(u, &st);
	for (unsigned i = 0; i < st.nr; i++)
		h = mix(h, (uint64_t)st.v[i].value);
	h = mix(h, u->res->master | (uint64_t)u->is_running << 32 | (uint64_t)u->nr_vcpus << 40);
	h = mix(mix(h, u->hard.w[0]), u->soft.w[0]);
	h = mix(h, v->pcpu | (uint64_t)v->pause_flags << 32);
	h = mix(h, v->pause_count | (uint64_t)v->domain->pause_count << 32);
	return mix(h, v->runstate.state | (uint64_t)v->is_running << 8);
}

static void take_picture(struct trial *t, struct picture *p)
{
	memset(p, 0, sizeof(*p));
	p->bytes = t->f->live_bytes;
	p->nr_timers = t->f->nr_timers;
	p->up = *hv_online_mask(t->f->sys);
	for (unsigned i = 0; i < MAX_POOLS; i++) {
		if (!t->pools[i])
			continue;
		p->nr_pools++;
		p->cpu_valid[i] = t->pools[i]->cpu_valid;
		p->res_valid[i] = t->pools[i]->res_valid;
		p->nr_domains[i] = t->pools[i]->nr_domains;
		p->nr_coming[i] = t->pools[i]->nr_coming;
	}
	for (unsigned i = 0; i < MAX_DOMAINS; i++) {
		for (unsigned k = 0; t->domains[i] && k < t->domains[i]->nr_vcpus; k++)
			p->vcpus = digest_vcpu(p->vcpus, t->domains[i]->vcpus[k]);
	}
}

static void expect_picture(struct trial *t, const struct picture *before)
{
	struct picture after;

	take_picture(t, &after);
	EXPECT(t, memcmp(before, &after, sizeof(after)) == 0);
}

/* ---- operations; each may find that it does not apply */

static struct hv_vcpu *some_vcpu(struct trial *t)
{
	struct hv_domain *d = t->domains[draw(t, MAX_DOMAINS)];

	return d && d->nr_vcpus ? d->vcpus[draw(t, d->nr_vcpus)] : NULL;
}

static struct hv_pool *some_pool(struct trial *t)
{
	struct hv_pool *pool = t->pools[draw(t, MAX_POOLS)];

	return pool ? pool : t->pools[0];
}

/* A vCPU whose guest executes now; one that has just blocked executes nothing more. */
static struct hv_vcpu *some_running(struct trial *t)
{
	struct hv_vcpu *v = fake_guest(t->f, draw(t, t->f->nr_pcpus));

	return v && !(v->pause_flags & HV_PF_BLOCKED) ? v : NULL;
}

static struct hv_mask some_mask(struct trial *t)
{
	struct hv_mask m = {{0}};

	m.w[0] = draw64(t);
	if (draw(t, 2))
		m.w[0] &= draw64(t);
	if (draw(t, 4) == 0)
		m = fake_mask1(draw(t, t->f->nr_pcpus));
	return m;
}

/*
 * In turn: without the first allocation that it makes, then without the second, and so on, until
 * it has all that it needs. What ran out of memory has changed nothing.
 */
struct turns {
	bool wanted;
	unsigned n;
	struct picture before;
};

static struct turns draw_turns(struct trial *t)
{
	return (struct turns){.wanted = draw(t, 4) == 0};
}

static void begin_turn(struct trial *t, struct turns *turns)
{
	take_picture(t, &turns->before);
	if (turns->wanted)
		t->f->fail_at = t->f->allocs + ++turns->n;
}

/* True: once more. */
static bool end_turn(struct trial *t, struct turns *turns, int rc)
{
	t->f->fail_at = 0;
	if (rc != -HV_ENOMEM)
		return false;
	EXPECT(t, turns->wanted);
	expect_picture(t, &turns->before);
	check(t);
	nr_no_memory++;
	return true;
}

static int create_vcpu(struct trial *t, struct hv_domain *d)
{
	struct hv_mask hard = some_mask(t), soft = some_mask(t);
	bool meets = hv_mask_intersects(&hard, &d->pool->res_valid, hv_mask_words(t->f->sys));
	const struct hv_mask *h = draw(t, 3) || !meets ? NULL : &hard;
	const struct hv_mask *s = draw(t, 3) ? NULL : &soft;
	struct turns turns = draw_turns(t);
	struct hv_vcpu *v;
	int rc;

	do {
		begin_turn(t, &turns);
		rc = hv_vcpu_create(d, t, h, s, &v);
	} while (end_turn(t, &turns, rc));
	EXPECT(t, rc == 0);
	check(t);
	if (rc == 0 && draw(t, 4))
		hv_vcpu_up(v);
	return rc;
}

static void create_domain(struct trial *t)
{
	unsigned at = draw(t, MAX_DOMAINS), n = 1 + draw(t, MAX_VCPUS);
	struct hv_pool *pool = some_pool(t);
	struct turns turns = draw_turns(t);
	struct hv_domain *d;
	int rc;

	if (t->domains[at])
		return;
	do {
		begin_turn(t, &turns);
		rc = hv_domain_create(pool, t->next_id, MAX_VCPUS, &d);
	} while (end_turn(t, &turns, rc));
	if (hv_mask_empty(&pool->cpu_valid, hv_mask_words(t->f->sys))) {
		EXPECT(t, rc == -HV_ENODEV);
		return;
	}
	EXPECT(t, rc == 0);
	t->domains[at] = d;
	t->domain_pauses[at] = 0;
	memset(t->refused[at], 0, sizeof(t->refused[at]));
	t->next_id++;
	if (draw(t, 4) == 0)
		EXPECT(t, hv_domain_identify(d, d->handle, true) == 0);
	while (n-- > 0)
		create_vcpu(t, d);
}

static void destroy_domain(struct trial *t)
{
	unsigned at = draw(t, MAX_DOMAINS);
	struct hv_domain *d = t->domains[at];
	bool runs = false;
	int64_t sum;
	int rc;

	if (!d)
		return;
	for (struct hv_unit *u = d->units; u; u = u->link)
		runs |= u->is_running;
	sum = ran(d);
	rc = hv_domain_destroy(d);
	EXPECT(t, rc == (runs ? -HV_EBUSY : 0));
	if (rc == 0) {
		t->domains[at] = NULL;
		t->gone_ran += sum;
	}
}

static void pause_domain(struct trial *t)
{
	unsigned at = draw(t, MAX_DOMAINS);

	if (!t->domains[at])
		return;
	if (draw(t, 2)) {
		EXPECT(t, hv_domain_pause(t->domains[at]) == 0);
		t->domain_pauses[at]++;
	} else {
		int rc = hv_domain_unpause(t->domains[at]);

		EXPECT(t, rc == (t->domain_pauses[at] ? 0 : -HV_EINVAL));
		t->domain_pauses[at] -= t->domain_pauses[at] > 0;
	}
}

static void set_affinity(struct trial *t, struct hv_vcpu *v)
{
	struct hv_mask hard = some_mask(t), soft = some_mask(t);
	const struct hv_mask *h = draw(t, 2) ? &hard : NULL, *s = draw(t, 2) ? &soft : NULL;
	bool good = (h || s) && (!h || hv_mask_intersects(h, &v->domain->pool->res_valid,
							  hv_mask_words(t->f->sys)));
	bool force = draw(t, 4) == 0;
	bool held = force ? member_holds(v->unit, HV_PIN_WAIT) : v->unit->pinned;

	EXPECT(t, (force ? hv_affinity_force(v, h, s) : hv_affinity_set(v, h, s)) ==
			  (!good  ? -HV_EINVAL
			   : held ? -HV_EBUSY
				  : 0));
}

/* Under rtds, of all units: 10 us <= budget <= period, with what is there where nothing is set. */
static bool fits_units(struct hv_domain *d, const struct hv_domain_params *p)
{
	for (struct hv_unit *u = d->units; u; u = u->link) {
		struct hv_unit_params now;

		if (hv_unit_params_get(u->vcpu, &now))
			return true;
		if (p->period_us)
			now.period_us = p->period_us;
		if (p->budget_us)
			now.budget_us = p->budget_us;
		if (now.budget_us < 10 || now.budget_us > now.period_us)
			return false;
	}
	return true;
}

static void set_params(struct trial *t)
{
	static const uint32_t weights[] = {0, 1, 64, 256, 1000, 65535};
	struct hv_domain *d = t->domains[draw(t, MAX_DOMAINS)];
	struct hv_domain_params p = {.weight = weights[draw(t, 6)],
				     .cap = draw(t, 2) ? 0 : 1 + draw(t, 300),
				     .period_us = draw(t, 2) ? 0 : 5 + draw(t, 50000),
				     .budget_us = draw(t, 2) ? 0 : 5 + draw(t, 20000)};
	struct hv_pool *pool = some_pool(t);
	struct hv_sched_params s;
	int rc;

	if (d) {
		bool fits = fits_units(d, &p);

		rc = hv_domain_params_set(d, &p);
		/* whether a cap that cannot be reached is an error is the policy's affair */
		EXPECT(t, fits || rc == -HV_EINVAL);
		EXPECT(t, rc == 0 || rc == -HV_EOPNOTSUPP || !fits ||
				  (rc == -HV_EINVAL &&
				   p.cap > 100 * ((d->nr_vcpus + d->pool->g - 1) / d->pool->g)));
	}
	if (draw(t, 4) == 0 && hv_sched_params_get(pool, &s) == 0) {
		s.ratelimit_us = draw(t, 2) ? 0 : 100 + draw(t, 3000);
		if (s.tslice_ms)
			s.tslice_ms = 4 + draw(t, 30);
		s.migration_delay_us = draw(t, 2) ? 0 : draw(t, 5000);
		EXPECT(t, hv_sched_params_set(pool, &s) == 0);
	}
}

static void set_unit_params(struct trial *t, struct hv_vcpu *v)
{
	struct hv_unit_params p = {.period_us = 10 + draw(t, 20000),
				   .budget_us = 10 + draw(t, 20000),
				   .extratime = draw(t, 2)};
	int rc = hv_unit_params_set(v, &p);

	EXPECT(t, rc == -HV_EOPNOTSUPP || rc == (p.budget_us > p.period_us ? -HV_EINVAL : 0));
}

/* A time table: windows of domains that are there, or not any more, or not yet. */
static void set_table(struct trial *t)
{
	struct hv_window w[HV_MAX_WINDOWS + 1] = {{{0}, 0, 0}};
	unsigned nr = draw(t, 8) ? draw(t, 8) : draw(t, HV_MAX_WINDOWS + 2);
	uint64_t sum = 0, major;
	bool good = nr > 0 && nr <= HV_MAX_WINDOWS;
	int rc;

	for (unsigned i = 0; i < nr; i++) {
		w[i].handle[HV_HANDLE_BYTES - 1] = (uint8_t)draw(t, t->next_id + 2);
		w[i].vcpu = draw(t, MAX_VCPUS);
		w[i].runtime = draw(t, 30) ? 1 + draw(t, 3000000) : 0;
		good &= w[i].runtime > 0;
		sum += w[i].runtime;
	}
	major = draw(t, 8) ? sum + draw(t, 2) * draw(t, 9000000) : sum / 2;
	rc = hv_frame_set(some_pool(t), major, nr, w);
	EXPECT(t, rc == -HV_EOPNOTSUPP || rc == (good && major >= sum ? 0 : -HV_EINVAL));
}

static void vcpu_operation(struct trial *t, struct hv_vcpu *v)
{
	uint32_t pauses = v->pause_count;

	switch (draw_but(t, NR_VCPU_OPERATIONS, t->no_vcpu)) {
	case 0:
		hv_vcpu_up(v);
		EXPECT(t, !(v->pause_flags & HV_PF_DOWN));
		break;
	case 1:
		hv_vcpu_down(v);
		EXPECT(t, v->pause_flags & HV_PF_DOWN);
		break;
	case 2:
	case 3:
	case 4: {
		bool blocked = v->pause_flags & HV_PF_BLOCKED;

		EXPECT(t, hv_wake(v) == blocked);
		break;
	}
	case 5:
		EXPECT(t, hv_pause(v) == 0);
		break;
	case 6:
		EXPECT(t, hv_unpause(v) == (pauses ? 0 : -HV_EINVAL));
		break;
	case 7:
		set_unit_params(t, v);
		break;
	case 8:
	case 9:
		set_pin(t, v);
		break;
	default:
		set_affinity(t, v);
	}
}

static bool is_pending(void *pending)
{
	return *(bool *)pending;
}

static void guest_operation(struct trial *t, struct hv_vcpu *v)
{
	bool pending = draw(t, 8) == 0; /* an event came just before it could block */

	t->f->here = v->pcpu;
	if (draw(t, 4) == 0)
		hv_yield(v);
	else
		EXPECT(t, hv_block(v, is_pending, &pending) == !pending);
	t->f->here = 0;
}

/* Whoever looks at the state changes nothing. */
static void look(struct trial *t)
{
	struct hv_pool *pool = some_pool(t);
	struct hv_domain *d = t->domains[draw(t, MAX_DOMAINS)];
	struct hv_window windows[HV_MAX_WINDOWS];
	struct hv_runqueue_info queue;
	struct hv_sched_params s;
	struct hv_domain_params p;
	struct hv_unit_params u;
	struct picture before;
	struct hv_mask free;
	uint64_t major;
	unsigned nr;

	take_picture(t, &before);
	hv_sched_params_get(pool, &s);
	hv_frame_get(pool, &major, &nr, windows);
	for (unsigned i = 0; hv_runqueue_info(pool, i, &queue) == 0; i++)
		EXPECT(t, queue.nr_queued <= MAX_DOMAINS * MAX_VCPUS);
	hv_free_pcpus(t->f->sys, &free);
	EXPECT(t, !hv_mask_intersects(&free, &pool->cpu_valid, hv_mask_words(t->f->sys)));
	if (d)
		hv_domain_params_get(d, &p);
	if (d && d->nr_vcpus)
		hv_unit_params_get(d->vcpus[0], &u);
	expect_picture(t, &before);
}

/* What the machine does by itself: time, timers, saves, passes. */
static void machine_step(struct trial *t)
{
	struct fake *f = t->f;
	unsigned c = draw(t, f->nr_pcpus);

	if (!is_up(t, c))
		c = 0;
	switch (draw_but(t, NR_MACHINE_OPERATIONS, t->no_machine)) {
	case 0:
		f->now += draw(t, 4) ? draw(t, 2000000) : draw(t, 60000000);
		fake_fire_due(f);
		break;
	case 1:
		f->now += draw(t, 3000);
		fake_fire_due(f);
		break;
	case 2:
		if (!f->saving[c] && !fake_works(f, c))
			fake_pass(f, c); /* nobody asked for it; or it looks again */
		break;
	case 3:
		hv_work(f->sys, c, draw(t, 3) == 0);
		break;
	case 4:
		fake_drain(f);
		break;
	default:
		if (f->saving[c])
			fake_save(f, c);
		else if (f->waiting[c])
			fake_look(f, c);
		else if (fake_works(f, c))
			hv_work(f->sys, c, false);
		else if (f->pending[c])
			fake_turn(f, c);
	}
}

/* ---- operations on pools and pCPUs */

/* The host forgets what it knows of pCPUs that are down, and what a split has ended. */
static void forget_pcpus(struct trial *t)
{
	for (unsigned c = 0; c < t->f->nr_pcpus; c++) {
		if (is_up(t, c))
			continue;
		EXPECT(t, !t->f->saving[c]);
		t->f->pending[c] = 0;
		t->f->waiting[c] = false;
	}
}

/* One call; the arguments are drawn before, so that it can be repeated. */
static int call_again(struct trial *t, unsigned op, unsigned at, unsigned c, struct hv_domain *d,
		      unsigned what)
{
	struct hv_sys *sys = t->f->sys;
	struct hv_mask back = {{0}};
	unsigned nr_policies = 0;

	switch (op) {
	case CREATE_POOL:
		while (hv_policies[nr_policies])
			nr_policies++;
		if (at == 0 || t->pools[at])
			return -HV_EEXIST;
		return hv_pool_create(sys, (int)at, hv_policies[what % nr_policies]->name,
				      (enum hv_gran)(what / nr_policies % 3), &t->pools[at]);
	case SET_GRAN:
		return hv_pool_set_gran(t->pools[at], (enum hv_gran)(what % 3));
	case ADD_PCPU:
		return hv_pool_add_pcpu(t->pools[at], c);
	case REMOVE_PCPU:
		return what & 6 ? hv_pool_remove_pcpu(t->pools[at], c)
				: hv_pool_remove_begin(t->pools[at], c);
	case MOVE_DOMAIN:
		return hv_domain_move(d, t->pools[at]);
	case PCPU_UP:
		return hv_pcpu_up(sys, c);
	case PCPU_DOWN:
		return what & 6 ? hv_pcpu_down(sys, c) : hv_pcpu_down_begin(sys, c);
	case SMT:
		return hv_smt_set(sys, what & 2);
	case SUSPEND:
		return hv_suspend(sys);
	default:
		back.w[0] = what;
		return hv_resume(sys, what & 6 ? &back : NULL);
	}
}

/* After the pCPUs have had their turns it is done; a removal only if nobody takes the pCPU. */
static int finish_operation(struct trial *t, unsigned op, unsigned at, unsigned c,
			    struct hv_domain *d, unsigned what)
{
	int rc = -HV_EAGAIN;

	for (unsigned i = 0; rc == -HV_EAGAIN && i < 2 * MAX_VCPUS + t->f->nr_pcpus; i++) {
		settle(t);
		rc = call_again(t, op, at, c, d, what);
		forget_pcpus(t);
		check(t);
		nr_again++;
	}
	EXPECT(t, op == REMOVE_PCPU || rc != -HV_EAGAIN);
	return rc;
}

static void pool_operation(struct trial *t)
{
	static const char *const names[NR_POOL_OPERATIONS] = {
		[CREATE_POOL] = "create", [DESTROY_POOL] = "destroy", [SET_GRAN] = "gran",
		[ADD_PCPU] = "add",	  [REMOVE_PCPU] = "remove",   [MOVE_DOMAIN] = "move",
		[PCPU_UP] = "up",	  [PCPU_DOWN] = "down",	      [SMT] = "smt",
		[SUSPEND] = "suspend",	  [RESUME] = "resume"};
	struct fake *f = t->f;
	unsigned op = draw_but(t, NR_POOL_OPERATIONS, t->no_pool), at = draw(t, MAX_POOLS);
	unsigned c = draw(t, f->nr_pcpus), what = (unsigned)(draw64(t) | (draw64(t) & 0xff) | 1);
	struct hv_domain *d = t->domains[draw(t, MAX_DOMAINS)];
	struct turns turns = draw_turns(t);
	int rc;

	if (op == SUSPEND && draw(t, 4))
		op = RESUME;
	t->doing = names[op];
	if ((!t->pools[at] && op != CREATE_POOL) || (op == MOVE_DOMAIN && !d))
		return;
	if (op == DESTROY_POOL) {
		if (at && hv_pool_destroy(t->pools[at]) == 0) {
			t->pools[at] = NULL;
			nr_done[op]++;
		}
		return;
	}
	do {
		begin_turn(t, &turns);
		rc = call_again(t, op, at, c, d, what);
		forget_pcpus(t);
	} while (end_turn(t, &turns, rc));
	if (rc && rc != -HV_EAGAIN)
		expect_picture(t, &turns.before);
	check(t);
	nr_kept_off += rc == -HV_EADDRINUSE;
	if (rc == -HV_EAGAIN && draw(t, 2))
		rc = finish_operation(t, op, at, c, d, what);
	nr_done[op] += rc == 0;
}

static void step(struct trial *t)
{
	unsigned kind = draw_kind(t);
	long allocs = t->f->allocs;
	struct hv_vcpu *v;

	switch (kind) {
	case CREATE_DOMAIN:
		create_domain(t);
		break;
	case DESTROY_DOMAIN:
		destroy_domain(t);
		break;
	case PAUSE_DOMAIN:
		pause_domain(t);
		break;
	case SET_PARAMS:
		set_params(t);
		break;
	case SET_TABLE:
		set_table(t);
		break;
	case VCPU:
		v = some_vcpu(t);
		if (v)
			vcpu_operation(t, v);
		break;
	case GUEST:
		v = some_running(t);
		if (v)
			guest_operation(t, v);
		break;
	case LOOK:
		look(t);
		break;
	case POOL:
		pool_operation(t);
		break;
	default:
		machine_step(t);
	}
	if (kind != CREATE_DOMAIN && kind != POOL)
		EXPECT(t, t->f->allocs == allocs); /* nothing else may run out of memory */
	check(t);
}

static void one_run(const char *policy, uint64_t seed)
{
	struct trial *t = calloc(1, sizeof(*t));

	t->f = calloc(1, sizeof(*t->f));
	t->policy = policy;
	t->seed = t->random = seed;
	t->next_id = 1;
	current = t;
	boot(t);
	for (t->step = 1; t->step <= nr_steps; t->step++)
		step(t);
	nr_waits += t->f->agains;
	nr_forced += t->f->forced;
	everybody_runs(t);
	every_pcpu_is_accounted_for(t);
	fake_destroy(t->f); /* no byte and no timer is left */
	free(t->f);
	free(t);
}

/* The policy's name is the state of the test. */
static void survives_random_operations_and_everybody_runs(void **state)
{
	const char *policy = *state;

	print_message("# %s: seeds 1..%d, %d steps each, every hundredth ten times as many\n",
		      policy, RUNS, STEPS);
	nr_waits = nr_forced = nr_shared = 0;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		nr_steps = seed % 100 ? STEPS : 10 * STEPS; /* some states are long in coming */
		one_run(policy, seed);
	}
	print_message("# waits %" PRIu64 ", switched alone %" PRIu64
		      ", threads shared by one unit %" PRIu64 "\n",
		      nr_waits, nr_forced, nr_shared);
	assert_true(nr_waits > 1000 && nr_forced > 10 && nr_shared > 100);
	report_pins();
	print_message("# pools and pCPUs:");
	for (unsigned i = 0; i < NR_POOL_OPERATIONS; i++) {
		print_message(" %" PRIu64, nr_done[i]);
		assert_true(nr_done[i] > 20);
		nr_done[i] = 0;
	}
	print_message("; retries %" PRIu64 ", without memory %" PRIu64 "\n", nr_again,
		      nr_no_memory);
	/* Under arinc653 one unit of a pool runs at a time: a pCPU that leaves seldom runs it. */
	assert_true(nr_again > (strcmp(policy, "arinc653") == 0 ? 20 : 100) && nr_no_memory > 20);
	nr_again = nr_no_memory = 0;
}

static void the_given_run_holds(void **state)
{
	(void)state;
	one_run(only_policy, only_seed);
}

int main(int argc, char **argv)
{
	struct CMUnitTest all[MAX_POLICIES];
	char names[MAX_POLICIES][80];
	unsigned n = 0;
	const struct CMUnitTest one[] = {cmocka_unit_test(the_given_run_holds)};

	program = argv[0];
	if (argc != 1 && argc != 3 && argc != 4) {
		fprintf(stderr, "usage: operations [POLICY SEED [STEPS]]\n");
		return 2;
	}
	for (; hv_policies[n] && n < MAX_POLICIES; n++) {
		snprintf(names[n], sizeof(names[n]),
			 "%s_survives_random_operations_and_everybody_runs", hv_policies[n]->name);
		all[n] = (struct CMUnitTest){
			.name = names[n],
			.test_func = survives_random_operations_and_everybody_runs,
			.initial_state = (void *)(uintptr_t)hv_policies[n]->name,
		};
	}
	if (argc == 1)
		return _cmocka_run_group_tests("operations", all, n, NULL, NULL);
	only_policy = argv[1];
	only_seed = strtoull(argv[2], NULL, 10);
	if (argc == 4)
		nr_steps = (unsigned)strtoul(argv[3], NULL, 10);
	return cmocka_run_group_tests(one, NULL, NULL);
}

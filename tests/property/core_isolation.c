/* SPDX-License-Identifier: MIT */
/*
 * One long run of random events under granularity core: three domains on 4 cores of 2 threads, a
 * million events, for every policy. Siblings save, arrive and look in any order.
 *
 * Laws, looked at after every event without asking the engine who shares a core with whom: two
 * domains are never in guest mode on one core (I7); no guest is entered before all threads of its
 * core have saved (I3). At every decision: one thread decides, all others have arrived (I2). After
 * every SAMPLE events hv_check() walks the whole state (I1, I4-I6, I8, I9).
 *
 * Source: core-scheduling section 8, behaviour 3.
 *
 * usage: core_isolation [POLICY SEED [EVENTS]]
 *
 * A failing run prints the command that replays it.
 */
#include "../unit/fake_host.h"

#include <inttypes.h>

#define MS	     INT64_C(1000000)
#define CORES	     4
#define THREADS	     2
#define NR_DOMAINS   3
#define MAX_POLICIES 16
#define EVENTS	     1000000
#define SAMPLE	     50

static const unsigned vcpus_of[NR_DOMAINS] = {5, 4, 3};

struct stress {
	struct fake f;
	const char *policy;
	uint64_t seed, random;
	unsigned event, nr_events;
	unsigned domain_pauses[NR_DOMAINS];
	struct hv_domain *domains[NR_DOMAINS];
	/* what was met */
	uint64_t decisions, forced, full_cores, lone_threads;
};

static const char *program;
/* The run under way; for what the engine calls. */
static struct stress *current;

static uint64_t draw64(struct stress *s)
{
	uint64_t z = s->random += 0x9E3779B97F4A7C15;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	return z ^ (z >> 31);
}

static unsigned draw(struct stress *s, unsigned n)
{
	return (unsigned)(draw64(s) % n);
}

static void failed(const struct stress *s, const char *what)
{
	print_message("# replay: %s %s %" PRIu64 " %u\n", program, s->policy, s->seed,
		      s->nr_events);
	fail_msg("event %u: %s", s->event, what);
}

static void assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	char text[256];

	(void)ctx;
	snprintf(text, sizeof(text), "%s:%d: assertion '%s' failed", file, line, expr);
	failed(current, text);
	abort();
}

/* I2: who decides is here, and all its siblings have arrived. */
static void watch(void *ctx, const struct hv_trace *ev)
{
	struct stress *s = current;
	struct fake *f = ctx;
	unsigned first;

	if (ev->kind != HV_TRACE_SWITCH && ev->kind != HV_TRACE_CONT)
		return;
	s->decisions++;
	first = f->here / THREADS * THREADS;
	if (ev->pcpu != first)
		failed(s, "a core is decided for by a thread of another");
	for (unsigned c = first; c < first + THREADS; c++) {
		if (c != f->here && hv_pcpu_wait(f->sys, c) != HV_WAIT_ENTER)
			failed(s, "I2: a decision before all have arrived");
	}
}

/* ---- laws */

static void check_core(struct stress *s, unsigned core)
{
	struct fake *f = &s->f;
	const struct hv_vcpu *guest[THREADS];
	bool saving = false;

	for (unsigned k = 0; k < THREADS; k++) {
		unsigned c = core * THREADS + k;
		const struct hv_resource *r = hv_resource_of(f->sys, c);

		guest[k] = fake_guest(f, c);
		saving |= r->prev != NULL;
	}
	if (guest[0] && guest[1]) {
		s->full_cores++;
		if (guest[0]->domain != guest[1]->domain)
			failed(s, "I7: two domains in guest mode on one core");
		if (guest[0]->unit != guest[1]->unit)
			failed(s, "I6: two units in guest mode on one core");
	} else if (guest[0] || guest[1]) {
		s->lone_threads++;
	}
	if (saving && (guest[0] || guest[1]))
		failed(s, "I3: a guest was entered before all had saved");
}

static void check(struct stress *s)
{
	struct hv_violation v = {"", HV_NO_PCPU, -1, -1};

	for (unsigned core = 0; core < CORES; core++)
		check_core(s, core);
	if (s->event % SAMPLE == 0 && hv_check(s->f.sys, &v))
		failed(s, v.law);
}

/* ---- events */

static struct hv_vcpu *some_vcpu(struct stress *s)
{
	const struct hv_domain *d = s->domains[draw(s, NR_DOMAINS)];

	return d->vcpus[draw(s, d->nr_vcpus)];
}

/* What a pCPU does next. */
static void turn(struct stress *s, unsigned c)
{
	struct fake *f = &s->f;

	if (f->saving[c])
		fake_save(f, c);
	else if (f->waiting[c])
		fake_look(f, c);
	else if (fake_works(f, c))
		hv_work(f->sys, c, false);
	else if (f->pending[c])
		fake_turn(f, c);
}

static void guest_event(struct stress *s, bool yields)
{
	struct hv_vcpu *v = fake_guest(&s->f, draw(s, CORES * THREADS));

	if (!v)
		return;
	s->f.here = v->pcpu;
	if (yields)
		hv_yield(v);
	else
		hv_block(v, NULL, NULL);
	s->f.here = 0;
}

static void pause_event(struct stress *s)
{
	struct hv_vcpu *v = some_vcpu(s);
	unsigned i = draw(s, NR_DOMAINS);

	if (draw(s, 8)) {
		if (v->pause_count)
			hv_unpause(v);
		else
			hv_pause(v);
	} else if (s->domain_pauses[i]) {
		s->domain_pauses[i]--;
		hv_domain_unpause(s->domains[i]);
	} else {
		s->domain_pauses[i]++;
		hv_domain_pause(s->domains[i]);
	}
}

/* Some cores, or all of them: with granularity core a mask is that of masters. */
static void pin_event(struct stress *s)
{
	struct hv_mask m = {{draw64(s) & 0x55}};

	hv_affinity_set(some_vcpu(s), m.w[0] ? &m : NULL, draw(s, 2) ? &m : NULL);
}

static void event(struct stress *s)
{
	struct fake *f = &s->f;

	switch (draw(s, 40)) {
	case 0 ... 6:
		hv_wake(some_vcpu(s));
		break;
	case 7 ... 10:
		guest_event(s, false);
		break;
	case 11:
		guest_event(s, true);
		break;
	case 12:
	case 13:
		pause_event(s);
		break;
	case 14:
		f->now += draw(s, 16) ? draw(s, 100000) : draw(s, 12000000);
		fake_fire_due(f);
		break;
	case 15:
		hv_work(f->sys, draw(s, CORES * THREADS), draw(s, 2));
		break;
	case 16:
		if (draw(s, 8) == 0)
			pin_event(s);
		break;
	default:
		turn(s, draw(s, CORES * THREADS));
	}
}

/* ---- a run */

static void give_windows(struct stress *s)
{
	struct hv_window w[12] = {{{0}, 0, 0}};
	unsigned nr = 0;

	for (unsigned i = 0; i < NR_DOMAINS; i++) {
		for (unsigned k = 0; k < vcpus_of[i]; k++) {
			memcpy(w[nr].handle, s->domains[i]->handle, HV_HANDLE_BYTES);
			w[nr].vcpu = k;
			w[nr++].runtime = MS;
		}
	}
	hv_frame_set(s->f.pool, nr * MS, nr, w);
}

static void boot(struct stress *s)
{
	uint32_t core[CORES * THREADS], socket[CORES * THREADS] = {0};
	struct hv_topology topo = {CORES * THREADS, core, socket, socket};
	struct hv_host host = fake_host;
	struct fake *f = &s->f;

	for (unsigned c = 0; c < topo.nr_pcpus; c++)
		core[c] = c / THREADS;
	host.assert_failed = assert_failed;
	host.trace = watch;
	f->nr_pcpus = topo.nr_pcpus;
	assert_int_equal(hv_sys_create(&host, f, &topo, hv_policies, &f->sys), 0);
	for (unsigned c = 0; c < topo.nr_pcpus; c++)
		assert_int_equal(hv_pcpu_up(f->sys, c), 0);
	assert_int_equal(hv_pool_create(f->sys, 0, s->policy, HV_GRAN_CORE, &f->pool), 0);
	for (unsigned c = 0; c < topo.nr_pcpus; c++)
		assert_int_equal(hv_pool_add_pcpu(f->pool, c), 0);
	fake_drain(f);
	for (unsigned i = 0; i < NR_DOMAINS; i++) {
		s->domains[i] = fake_domain(f, (int)i + 1, vcpus_of[i]);
		for (unsigned k = 0; k < vcpus_of[i]; k++)
			hv_vcpu_up(s->domains[i]->vcpus[k]);
	}
	give_windows(s);
	f->hold_saves = true;
}

static void one_run(const char *policy, uint64_t seed, unsigned nr_events)
{
	struct stress *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->policy = policy;
	s->seed = s->random = seed;
	s->nr_events = nr_events;
	current = s;
	boot(s);
	for (s->event = 1; s->event <= nr_events; s->event++) {
		event(s);
		check(s);
	}
	s->forced = s->f.forced;
	print_message("# %s, seed %" PRIu64 ": %u events, %" PRIu64 " decisions, %" PRIu64
		      " switches of one vCPU alone, looks at a core with both threads in one guest "
		      "%" PRIu64 ", with one %" PRIu64 "\n",
		      policy, seed, nr_events, s->decisions, s->forced, s->full_cores,
		      s->lone_threads);
	/* The run must have met what it is about; arinc653 runs one unit of a pool at a time. */
	if (nr_events >= EVENTS)
		assert_true(s->decisions > 10000 && s->forced > 100 && s->full_cores > 1000 &&
			    s->lone_threads > 10000);
	fake_destroy(&s->f);
	free(s);
}

/* The policy's name is the state of the test. */
static void no_two_domains_share_a_core_in_a_million_events(void **state)
{
	one_run(*state, 1, EVENTS);
}

static const char *only_policy;
static uint64_t only_seed;
static unsigned only_events = EVENTS;

static void the_given_run_holds(void **state)
{
	(void)state;
	one_run(only_policy, only_seed, only_events);
}

int main(int argc, char **argv)
{
	struct CMUnitTest all[MAX_POLICIES];
	char names[MAX_POLICIES][80];
	unsigned n = 0;
	const struct CMUnitTest one[] = {cmocka_unit_test(the_given_run_holds)};

	program = argv[0];
	if (argc != 1 && argc != 3 && argc != 4) {
		fprintf(stderr, "usage: core_isolation [POLICY SEED [EVENTS]]\n");
		return 2;
	}
	for (; hv_policies[n] && n < MAX_POLICIES; n++) {
		snprintf(names[n], sizeof(names[n]),
			 "%s_no_two_domains_share_a_core_in_a_million_events",
			 hv_policies[n]->name);
		all[n] = (struct CMUnitTest){
			.name = names[n],
			.test_func = no_two_domains_share_a_core_in_a_million_events,
			.initial_state = (void *)(uintptr_t)hv_policies[n]->name,
		};
	}
	if (argc == 1)
		return _cmocka_run_group_tests("core_isolation", all, n, NULL, NULL);
	only_policy = argv[1];
	only_seed = strtoull(argv[2], NULL, 10);
	if (argc == 4)
		only_events = (unsigned)strtoul(argv[3], NULL, 10);
	return cmocka_run_group_tests(one, NULL, NULL);
}

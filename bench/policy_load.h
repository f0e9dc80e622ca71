/* SPDX-License-Identifier: MIT */
/*
 * What one wake and one schedule pass of a policy cost, engine included: the load of bench_credit.c
 * and its like, each of which names a policy and what Xen's own code takes.
 *
 * Machine: 2 sockets x 8 cores x 2 threads, granularity cpu, all boot parameters at their defaults.
 * N vCPUs (N of the table) in domains of 8, all with their policy's default parameters, all
 * runnable but for those that the load below has just blocked. The host does next to nothing: its
 * clock is a variable, a poke sets a bit, a timer is a variable, nothing is traced.
 *
 * Load, in rounds of 500 us: 8 running vCPUs, drawn at random, block; their pCPUs make a pass; 250
 * us later 8 vCPUs, those that have been blocked longest, are woken; the pCPUs that were tickled
 * make a pass; 250 us later timers fire (ends of slices, ticks and accounting of credit) and the
 * pCPUs that they ask make a pass. So 32 pCPUs make 16 to 60 passes a round, most of which switch.
 *
 * Measured, one thread, caches warm (2000 rounds before the clock starts):
 *  wake   hv_wake() of a blocked vCPU: runstate, insertion into the queue, tickle;
 *  pass   hv_event(HV_EVENT_SCHEDULE), and hv_saved() if it switched: the whole decision with
 *         charging, choosing, slice, balancing, and what the unit switched out needs;
 *  timer  hv_timer_fire() of any timer.
 * Times are of batches (8 wakes; all passes or timers of one moment), less the cost of reading the
 * clock. The mean of a block of rounds is one value; of 25 blocks the least is given, and in
 * brackets the median, which says how much else went on on the machine. Instructions per operation:
 * run bench/callgrind.sh, which counts inside wake_batch() and pass_batch() alone.
 *
 * The columns "real" show Xen's own code at commit c447b7308b in a similar private set-up.
 */
#ifndef BENCH_POLICY_LOAD_H
#define BENCH_POLICY_LOAD_H

#include <hvsched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SOCKETS	   2
#define CORES	   8
#define THREADS	   2
#define NR_PCPUS   (SOCKETS * CORES * THREADS)
#define PER_DOMAIN 8
#define BATCH	   8
#define WARM_UP	   2000 /* rounds */
#define BLOCKS	   25
#define HALF_ROUND 250000 /* ns */
#define TIMERS	   256	  /* of each class */

struct bench {
	hv_time now;
	unsigned here;
	uint64_t pending;				       /* pCPUs that want a pass */
	struct hv_timer *timer[HV_TIMER_SCHEDULE + 1][TIMERS]; /* by class and number */
	struct hv_sys *sys;
	struct hv_vcpu *blocked[BATCH * 2]; /* ring, longest blocked first */
	unsigned nr_blocked;
	uint64_t random;
	struct timespec began;
	uint64_t wake_ns, pass_ns, timer_ns;
	uint64_t wakes, passes, switches, timers;
};

static hv_time host_now(void *ctx)
{
	return ((struct bench *)ctx)->now;
}

static unsigned host_this_pcpu(void *ctx)
{
	return ((struct bench *)ctx)->here;
}

static void host_poke(void *ctx, unsigned pcpu, unsigned events)
{
	(void)events;
	((struct bench *)ctx)->pending |= 1ULL << pcpu;
}

static void host_timer_arm(void *ctx, struct hv_timer *t)
{
	struct bench *b = ctx;

	if (t->number >= TIMERS) {
		fprintf(stderr, "bench: timer %u of class %u\n", t->number, t->cls);
		exit(4);
	}
	b->timer[t->cls][t->number] = t;
}

static void host_timer_disarm(void *ctx, struct hv_timer *t)
{
	((struct bench *)ctx)->timer[t->cls][t->number] = NULL;
}

static void *host_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void host_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

static void host_assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	(void)ctx;
	fprintf(stderr, "%s:%d: law broken: %s\n", file, line, expr);
	exit(3);
}

static const struct hv_host host = {
	.now = host_now,
	.this_pcpu = host_this_pcpu,
	.poke = host_poke,
	.timer_arm = host_timer_arm,
	.timer_disarm = host_timer_disarm,
	.alloc = host_alloc,
	.free = host_free,
	.assert_failed = host_assert_failed,
};

static void must(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "bench: %s: error %d\n", what, rc);
		exit(4);
	}
}

static uint64_t draw(struct bench *b)
{
	uint64_t z = b->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void clock_start(struct bench *b)
{
	clock_gettime(CLOCK_MONOTONIC, &b->began);
}

static uint64_t clock_stop(const struct bench *b)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	return (uint64_t)(end.tv_sec - b->began.tv_sec) * 1000000000ULL +
	       (uint64_t)(end.tv_nsec - b->began.tv_nsec);
}

/* Smallest cost of one start and stop. */
static uint64_t clock_cost(struct bench *b)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 10000; i++) {
		clock_start(b);
		uint64_t t = clock_stop(b);

		if (t < best)
			best = t;
	}
	return best;
}

/* Passes on all pCPUs that are pending; returns how many. */
__attribute__((noinline)) unsigned pass_batch(struct bench *b);
__attribute__((noinline)) void wake_batch(struct hv_vcpu **v, unsigned n);

unsigned pass_batch(struct bench *b)
{
	unsigned n = 0;

	while (b->pending) {
		unsigned c = (unsigned)__builtin_ctzll(b->pending);

		b->pending &= b->pending - 1;
		b->here = c;
		if (hv_event(b->sys, c, HV_EVENT_SCHEDULE).kind == HV_SWITCH) {
			hv_saved(b->sys, c);
			b->switches++;
		}
		n++;
	}
	return n;
}

void wake_batch(struct hv_vcpu **v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		hv_wake(v[i]);
}

static void passes(struct bench *b, uint64_t clock)
{
	uint64_t t;

	if (!b->pending)
		return;
	clock_start(b);
	b->passes += pass_batch(b);
	t = clock_stop(b);
	b->pass_ns += t > clock ? t - clock : 0;
	b->here = 0;
}

static void block_some(struct bench *b)
{
	for (unsigned tries = 0; b->nr_blocked < BATCH && tries < 1000; tries++) {
		struct hv_vcpu *v = hv_pcpu_loaded(b->sys, (unsigned)(draw(b) % NR_PCPUS));

		if (v->idle || (v->pause_flags & HV_PF_BLOCKED))
			continue;
		hv_block(v, NULL, NULL);
		b->blocked[b->nr_blocked++] = v;
	}
}

static void fire_timers(struct bench *b, uint64_t clock)
{
	struct hv_timer *due[TIMERS * (HV_TIMER_SCHEDULE + 1)];
	unsigned n = 0;
	uint64_t t;

	for (unsigned cls = 0; cls <= HV_TIMER_SCHEDULE; cls++) {
		for (unsigned c = 0; c < TIMERS; c++) {
			struct hv_timer *timer = b->timer[cls][c];

			if (!timer || timer->expiry > b->now)
				continue;
			b->timer[cls][c] = NULL;
			due[n++] = timer;
		}
	}
	if (!n)
		return;
	clock_start(b);
	for (unsigned i = 0; i < n; i++) {
		b->here = due[i]->cls == HV_TIMER_REPLENISH || due[i]->cls == HV_TIMER_ACCOUNTING
				  ? 0
				  : due[i]->number;
		hv_timer_fire(due[i]);
	}
	t = clock_stop(b);
	b->here = 0;
	b->timer_ns += t > clock ? t - clock : 0;
	b->timers += n;
}

static void round_of(struct bench *b, uint64_t clock)
{
	uint64_t t;

	block_some(b);
	passes(b, clock);
	b->now += HALF_ROUND;

	clock_start(b);
	wake_batch(b->blocked, b->nr_blocked);
	t = clock_stop(b);
	b->wake_ns += t > clock ? t - clock : 0;
	b->wakes += b->nr_blocked;
	b->nr_blocked = 0;
	passes(b, clock);

	b->now += HALF_ROUND;
	fire_timers(b, clock);
	passes(b, clock);
}

/* What a policy needs beside its units, once they are there; NULL = nothing. */
static void (*bench_prepare)(struct hv_pool *pool, unsigned nr_units);

static void build(struct bench *b, const char *policy, unsigned nr_units)
{
	uint32_t core[NR_PCPUS], socket[NR_PCPUS];
	struct hv_topology topo = {NR_PCPUS, core, socket, socket};
	unsigned all = nr_units;
	struct hv_pool *pool;

	memset(b, 0, sizeof(*b));
	b->now = 1000000000;
	for (unsigned c = 0; c < NR_PCPUS; c++) {
		core[c] = c / THREADS;
		socket[c] = c / (THREADS * CORES);
	}
	must(hv_sys_create(&host, b, &topo, hv_policies, &b->sys), "create");
	for (unsigned c = 0; c < NR_PCPUS; c++)
		must(hv_pcpu_up(b->sys, c), "pCPU up");
	must(hv_pool_create(b->sys, 0, policy, HV_GRAN_CPU, &pool), policy);
	for (unsigned c = 0; c < NR_PCPUS; c++)
		must(hv_pool_add_pcpu(pool, c), "add pCPU");
	pass_batch(b);
	for (unsigned id = 1; nr_units > 0; id++) {
		struct hv_domain *d;
		unsigned n = nr_units < PER_DOMAIN ? nr_units : PER_DOMAIN;

		must(hv_domain_create(pool, (int)id, n, &d), "domain");
		for (unsigned i = 0; i < n; i++) {
			struct hv_vcpu *v;

			must(hv_vcpu_create(d, NULL, NULL, NULL, &v), "vCPU");
			hv_vcpu_up(v);
			pass_batch(b);
			b->now += 10000;
		}
		nr_units -= n;
	}
	if (bench_prepare)
		bench_prepare(pool, all);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct cost { /* ns: least and median */
	double wake, pass, timer;
	double median_wake, median_pass, median_timer;
};

static double ratio(uint64_t ns, uint64_t n)
{
	return n ? (double)ns / (double)n : 0;
}

static struct cost measure(struct bench *b, unsigned rounds)
{
	double wake[BLOCKS], pass[BLOCKS], timer[BLOCKS];
	uint64_t clock = clock_cost(b);

	for (unsigned i = 0; i < WARM_UP; i++)
		round_of(b, clock);
	for (unsigned k = 0; k < BLOCKS; k++) {
		b->wake_ns = b->pass_ns = b->timer_ns = 0;
		b->wakes = b->passes = b->switches = b->timers = 0;
		for (unsigned i = 0; i < rounds; i++)
			round_of(b, clock);
		wake[k] = ratio(b->wake_ns, b->wakes);
		pass[k] = ratio(b->pass_ns, b->passes);
		timer[k] = ratio(b->timer_ns, b->timers);
	}
	qsort(wake, BLOCKS, sizeof(wake[0]), compare);
	qsort(pass, BLOCKS, sizeof(pass[0]), compare);
	qsort(timer, BLOCKS, sizeof(timer[0]), compare);
	return (struct cost){wake[0],	       pass[0],		 timer[0],
			     wake[BLOCKS / 2], pass[BLOCKS / 2], timer[BLOCKS / 2]};
}

/* For callgrind: no clock, a line with the operations made; what counts is in the batches. */
static void count(const char *policy, unsigned nr_units, unsigned rounds)
{
	static struct bench b;

	build(&b, policy, nr_units);
	for (unsigned i = 0; i < rounds; i++)
		round_of(&b, 0);
	printf("units %u wakes %llu passes %llu\n", nr_units, (unsigned long long)b.wakes,
	       (unsigned long long)b.passes);
	hv_sys_destroy(b.sys);
}

/* A row of the table: what the real code takes, ns; "-" = not known. */
struct real {
	unsigned units;
	const char *wake, *pass;
};

/* [ROUNDS], or --count vCPUS ROUNDS. */
static int bench_policy(int argc, char **argv, const char *policy, const struct real *rows,
			size_t nr)
{
	static struct bench b;
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 400;

	if (argc == 4 && !strcmp(argv[1], "--count")) {
		count(policy, (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
		return 0;
	}
#if defined(HV_DEBUG) && HV_DEBUG
	printf("built with debug_checks: these are not the costs of the library\n");
#endif
	printf("%s, 2x8x2, ns per operation: least (median); real: Xen's own code\n", policy);
	printf("%6s %16s %6s %16s %6s %16s %10s\n", "vCPUs", "wake", "real", "pass", "real",
	       "timer", "switching");
	for (size_t i = 0; i < nr; i++) {
		struct cost c;

		build(&b, policy, rows[i].units);
		c = measure(&b, rounds);
		printf("%6u %7.1f (%6.1f) %6s", rows[i].units, c.wake, c.median_wake, rows[i].wake);
		printf(" %7.1f (%6.1f) %6s", c.pass, c.median_pass, rows[i].pass);
		printf(" %7.1f (%6.1f) %9.0f%%\n", c.timer, c.median_timer,
		       100.0 * ratio(b.switches, b.passes));
		hv_sys_destroy(b.sys);
	}
	return 0;
}

#endif

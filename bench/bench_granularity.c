/* SPDX-License-Identifier: MIT */
/*
 * What one decision costs where several pCPUs decide as one, engine included: the gathering, the
 * decision, the loads of all pCPUs and the end of the switch.
 *
 * Machine: 8 pCPUs in resources of 1, 2, 4 and 8; two domains of 8 busy vCPUs, so that two units
 * want each resource. Every 1 ms all resources decide, one after the other. One thread, caches
 * warm; the least of 25 blocks of 2000 rounds is given. The columns "real" show Xen's own code at
 * commit c447b7308b in a similar private set-up.
 */
#include <hvsched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NR_PCPUS 8
#define BLOCKS	 25
#define ROUNDS	 2000

struct bench {
	hv_time now;
	unsigned here;
	unsigned pending[NR_PCPUS];
	bool waiting[NR_PCPUS];
	struct hv_sys *sys;
};

static hv_time now(void *ctx)
{
	return ((struct bench *)ctx)->now;
}

static unsigned here(void *ctx)
{
	return ((struct bench *)ctx)->here;
}

static void poke(void *ctx, unsigned pcpu, unsigned events)
{
	((struct bench *)ctx)->pending[pcpu] |= events;
}

static void timer(void *ctx, struct hv_timer *t)
{
	(void)ctx;
	(void)t; /* rounds are the only clock */
}

static void *allocate(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void release(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

static void assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	(void)ctx;
	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
	abort();
}

static void must(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "bench_granularity: error %d\n", rc);
		exit(4);
	}
}

/* Until nobody has anything to do. */
static void drain(struct bench *b)
{
	bool again = true;

	while (again) {
		again = false;
		for (unsigned c = 0; c < NR_PCPUS; c++) {
			unsigned events = b->waiting[c] ? 0 : b->pending[c];
			struct hv_next next;

			if (!events && !b->waiting[c])
				continue;
			b->pending[c] &= ~events;
			b->here = c;
			next = hv_event(b->sys, c, events);
			if (next.kind == HV_SWITCH)
				next.kind = hv_saved(b->sys, c);
			b->waiting[c] = next.kind == HV_AGAIN;
			again = true;
		}
	}
}

static void boot(struct bench *b, const char *policy, unsigned threads, enum hv_gran gran)
{
	static const struct hv_host host = {.now = now,
					    .this_pcpu = here,
					    .poke = poke,
					    .timer_arm = timer,
					    .timer_disarm = timer,
					    .alloc = allocate,
					    .free = release,
					    .assert_failed = assert_failed};
	uint32_t core[NR_PCPUS], zero[NR_PCPUS] = {0};
	struct hv_topology topo = {NR_PCPUS, core, zero, zero};
	struct hv_pool *pool;

	for (unsigned c = 0; c < NR_PCPUS; c++)
		core[c] = c / threads;
	must(hv_sys_create(&host, b, &topo, hv_policies, &b->sys));
	must(hv_param_set(b->sys, "sched_ratelimit_us", "0"));
	for (unsigned c = 0; c < NR_PCPUS; c++)
		must(hv_pcpu_up(b->sys, c));
	must(hv_pool_create(b->sys, 0, policy, gran, &pool));
	for (unsigned c = 0; c < NR_PCPUS; c++)
		must(hv_pool_add_pcpu(pool, c));
	for (int id = 1; id <= 2; id++) {
		struct hv_domain *d;

		must(hv_domain_create(pool, id, NR_PCPUS, &d));
		for (unsigned i = 0; i < NR_PCPUS; i++) {
			struct hv_vcpu *v;

			must(hv_vcpu_create(d, NULL, NULL, NULL, &v));
			hv_vcpu_up(v);
			drain(b);
		}
	}
}

/* ns per decision. */
static double measure(const char *policy, unsigned g, unsigned threads, enum hv_gran gran)
{
	struct bench b = {0};
	double least = 1e9;

	boot(&b, policy, threads, gran);
	for (int block = 0; block < BLOCKS; block++) {
		struct timespec from, to;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int round = 0; round < ROUNDS; round++) {
			b.now += 1000000;
			for (unsigned c = 0; c < NR_PCPUS; c += g)
				b.pending[c] = HV_EVENT_SCHEDULE;
			drain(&b);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
		ns /= (double)ROUNDS * (NR_PCPUS / g);
		if (ns < least)
			least = ns;
	}
	hv_sys_destroy(b.sys);
	return least;
}

int main(void)
{
	static const struct {
		const char *name;
		unsigned g, threads;
		enum hv_gran gran;
		int credit2, null; /* ns, real code; 0 = not measured */
	} line[] = {
		{"cpu", 1, 1, HV_GRAN_CPU, 155, 65},
		{"core of 2", 2, 2, HV_GRAN_CORE, 310, 185},
		{"core of 4", 4, 4, HV_GRAN_CORE, 600, 0},
		{"socket of 8", 8, 1, HV_GRAN_SOCKET, 1300, 1250},
	};

	printf("ns per decision   %10s %6s %10s %6s\n", "credit2", "real", "null", "real");
	for (unsigned i = 0; i < sizeof(line) / sizeof(line[0]); i++) {
		char real[16] = "-";

		if (line[i].null)
			snprintf(real, sizeof(real), "%d", line[i].null);
		printf("%-17s %10.0f %6d %10.0f %6s\n", line[i].name,
		       measure("credit2", line[i].g, line[i].threads, line[i].gran),
		       line[i].credit2, measure("null", line[i].g, line[i].threads, line[i].gran),
		       real);
	}
	return 0;
}

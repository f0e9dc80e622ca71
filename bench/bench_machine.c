/*
 * Scheduling events per second through engine, policy, machine and a trivial guest: without observer, with
 * the ledger, and with a hash over all records (what a log costs without its file), from 16 to 4096 vCPUs on 2x8x2 pCPUs under credit2.
 *
 * A scheduling event is a wake, a block, a schedule pass or a timer of the engine that fires. Load: one
 * hog for every second pCPU; all other vCPUs sleep and work 40 us in turn, at a rate that keeps half of
 * the host busy whatever their number is, so that rows differ in the number of vCPUs only.
 */
#include <time.h>

#include "../tests/unit/machine_guest.h"

#define US 1000LL
#define MS 1000000LL

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t scheduling_events(const struct world *w)
{
	const struct mc_counters *c = mc_counters(w->m);

	return c->wakes + c->blocks + c->passes + c->timers;
}

static void load(struct world *w, unsigned vcpus)
{
	static const struct mc_class hog = {.sigma = MC_ONE * 60 / 100, .ws = 16 << 10};
	static const struct mc_class job = {.sigma = MC_ONE * 58 / 100,
					    .mu = MC_ONE * 15 / 100,
					    .ws = 256 << 10,
					    .bw = 800000000};
	unsigned hogs = w->params.nr_pcpus / 2, sleepers;

	if (hogs > vcpus / 2)
		hogs = vcpus / 2;
	sleepers = vcpus - hogs;
	for (unsigned i = 0; i < vcpus; i++) {
		int64_t period = 40 * US * sleepers / (w->params.nr_pcpus / 2);
		int64_t jitter = (int64_t)(i * 2654435761u >> 16) % (5 * US);
		struct mc_vm *vm = i % 4 ? w->vm[w->nr_vms - 1]
					 : world_vm(w, 4, (int)(i / 4 % w->params.nr_nodes));

		if (i < hogs)
			world_vcpu(w, vm, &hog, 1000000 * MS, 0, -1);
		else
			world_vcpu(w, vm, &job, 40 * US, period + jitter + 10 * US, -1);
	}
	world_up(w);
}

enum seen { BARE, LEDGER, HASH };

static void measure(unsigned vcpus, enum seen seen, int64_t virtual_ns)
{
	static const char *const names[] = {"bare", "ledger", "hash"};
	struct world *w = world_new(2, 8, 2);
	const struct mc_fault *f;
	uint64_t first, events;
	double begin, took;

	w->hash = seen == HASH;
	if (world_start(w, "credit2", seen != BARE, NULL)) {
		puts("no machine");
		exit(4);
	}
	load(w, vcpus);
	f = mc_run_until(w->m, 200 * MS);
	first = scheduling_events(w);
	events = mc_counters(w->m)->events;
	begin = seconds();
	if (!f)
		f = mc_run_until(w->m, 200 * MS + virtual_ns);
	took = seconds() - begin;
	if (f) {
		printf("%u vCPUs: %s\n", vcpus, f->text);
		exit(3);
	}
	first = scheduling_events(w) - first;
	events = mc_counters(w->m)->events - events;
	printf("%5u vCPUs %-8s %9.0f ms simulated %8.3f s %9llu events %7.2f M/s %7.0f ns each "
	       "(%.2f queue events each)\n",
	       vcpus, names[seen], (double)virtual_ns / 1e6, took, (unsigned long long)first,
	       (double)first / took / 1e6, took / (double)first * 1e9,
	       (double)events / (double)first);
	world_free(w);
}

int main(int argc, char **argv)
{
	if (argc == 4) { /* vCPUs, 0..2 (bare, ledger, hash), ms: one row, for a profiler */
		measure((unsigned)atoi(argv[1]), (enum seen)atoi(argv[2]), atoi(argv[3]) * MS);
		return 0;
	}
	for (int seen = BARE; seen <= HASH; seen++) {
		for (unsigned vcpus = 16; vcpus <= 4096; vcpus *= 2)
			measure(vcpus, (enum seen)seen, 2000 * MS);
	}
	return 0;
}

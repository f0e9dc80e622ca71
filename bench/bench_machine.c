/*
 * Scheduling events per second through engine, policy, machine and a trivial guest, from 16 to 4096
 * vCPUs on 2x8x2 pCPUs under credit2. A scheduling event is a wake, a block, a schedule pass or a
 * timer of the engine that fires.
 *
 * Load: one hog for every second pCPU; all other vCPUs sleep and work 40 us in turn, at a rate that
 * asks for half of the host whatever their number is, so that rows differ in the number of vCPUs
 * only. Columns: work that never stalls on memory, without observer (bare), with the ledger, and
 * with a hash over all records (what a log costs without its file); then work like a build's, with
 * the ledger: each of its dispatches may change the pace of all others.
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

static void load(struct world *w, unsigned vcpus, bool memory)
{
	static const struct mc_class hog = {.sigma = MC_ONE * 60 / 100, .ws = 16 << 10};
	static const struct mc_class plain = {.sigma = MC_ONE * 58 / 100, .ws = 32 << 10};
	static const struct mc_class build = {.sigma = MC_ONE * 58 / 100,
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
			world_vcpu(w, vm, memory ? &build : &plain, 40 * US,
				   period + jitter + 10 * US, -1);
	}
	world_up(w);
}

enum seen { BARE, LEDGER, HASH };

/* Million scheduling events per second; *each: queue events per scheduling event. */
static double measure(unsigned vcpus, enum seen seen, bool memory, int64_t virtual_ns, double *each)
{
	struct world *w = world_new(2, 8, 2);
	const struct mc_fault *f;
	uint64_t first, events;
	double begin, took;

	w->hash = seen == HASH;
	if (world_start(w, "credit2", seen != BARE, NULL)) {
		puts("no machine");
		exit(4);
	}
	load(w, vcpus, memory);
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
	*each = (double)(mc_counters(w->m)->events - events) / (double)first;
	world_free(w);
	return (double)first / took / 1e6;
}

int main(int argc, char **argv)
{
	double each;

	if (argc == 5) { /* vCPUs, 0..2 (bare, ledger, hash), 0 or 1 (memory), ms: for a profiler */
		double rate = measure((unsigned)atoi(argv[1]), (enum seen)atoi(argv[2]),
				      atoi(argv[3]) != 0, atoi(argv[4]) * MS, &each);

		printf("%.2f M scheduling events/s, %.0f ns each\n", rate, 1e3 / rate);
		return 0;
	}
	puts("million scheduling events per second (ns each)\n"
	     "vCPUs          bare        ledger          hash    builds, ledger  queue events");
	for (unsigned vcpus = 16; vcpus <= 4096; vcpus *= 2) {
		const double rate[] = {
			measure(vcpus, BARE, false, 1000 * MS, &each),
			measure(vcpus, LEDGER, false, 1000 * MS, &each),
			measure(vcpus, HASH, false, 1000 * MS, &each),
			measure(vcpus, LEDGER, true, 1000 * MS, &each),
		};

		printf("%5u", vcpus);
		for (unsigned i = 0; i < 4; i++)
			printf("   %5.2f (%4.0f)", rate[i], 1e3 / rate[i]);
		printf("   %17.2f\n", each);
	}
	return 0;
}

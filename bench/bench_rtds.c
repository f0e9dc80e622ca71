/* SPDX-License-Identifier: MIT */
/*
 * Cost of wakes and passes of rtds, and of its timers: ends of slices and replenishments. All units
 * have 4 of 10 ms; the column "timer" is the mean over both kinds. policy_load.h tells load and
 * measurement.
 *
 * Then the replenishment alone, when the deadlines of all units are one: the least of 200, all
 * vCPUs runnable. Xen's takes time that grows with the square of the units.
 */
#include "policy_load.h"

#define REPLENISHMENTS 200

static void replenish(unsigned nr_units, const char *real)
{
	static struct bench b;
	uint64_t least = UINT64_MAX, clock;

	build(&b, "rtds", nr_units);
	clock = clock_cost(&b);
	for (unsigned i = 0; i < REPLENISHMENTS; i++) {
		struct hv_timer *t = b.timer[HV_TIMER_REPLENISH][0];
		uint64_t ns;

		b.timer[HV_TIMER_REPLENISH][0] = NULL;
		b.now = t->expiry;
		clock_start(&b);
		hv_timer_fire(t);
		ns = clock_stop(&b);
		pass_batch(&b);
		if (ns < least)
			least = ns;
	}
	least -= clock;
	printf("%6u %15llu %9s %10.1f\n", nr_units, (unsigned long long)least, real,
	       (double)least / nr_units);
	hv_sys_destroy(b.sys);
}

int main(int argc, char **argv)
{
	static const struct real rows[] = {
		{32, "-", "-"},	 {64, "852", "-"}, {128, "-", "-"},
		{256, "-", "-"}, {512, "-", "-"},  {1024, "12000", "-"},
	};
	int rc = bench_policy(argc, argv, "rtds", rows, sizeof(rows) / sizeof(rows[0]));

	if (argc == 4) /* --count */
		return rc;
	printf("replenishment of all units at once\n");
	printf("%6s %15s %9s %10s\n", "vCPUs", "ns", "real", "ns/vCPU");
	for (unsigned n = 64; n <= 1024; n *= 2)
		replenish(n, n == 1024 ? "15000000" : "-");
	return rc;
}

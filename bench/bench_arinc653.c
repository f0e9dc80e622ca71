/* SPDX-License-Identifier: MIT */
/*
 * Cost of wakes and passes of arinc653: a window of 100 us for each vCPU, up to 64 of them, fills
 * the frame. One vCPU at a time runs, so a round blocks and wakes one, and all pCPUs make a pass at
 * the ends of windows. policy_load.h tells load and measurement.
 */
#include "policy_load.h"

#define WINDOW_NS 100000

static void one_window_each(struct hv_pool *pool, unsigned nr_units)
{
	struct hv_window window[HV_MAX_WINDOWS] = {{{0}, 0, 0}};
	unsigned nr = nr_units < HV_MAX_WINDOWS ? nr_units : HV_MAX_WINDOWS;

	for (unsigned i = 0; i < nr; i++) {
		window[i].handle[HV_HANDLE_BYTES - 1] = (uint8_t)(1 + i / PER_DOMAIN);
		window[i].vcpu = i % PER_DOMAIN;
		window[i].runtime = WINDOW_NS;
	}
	must(hv_frame_set(pool, (uint64_t)nr * WINDOW_NS, nr, window), "frame");
}

int main(int argc, char **argv)
{
	static const struct real rows[] = {{32, "20", "50-70"}, {64, "20", "50-70"}};

	bench_prepare = one_window_each;
	return bench_policy(argc, argv, "arinc653", rows, sizeof(rows) / sizeof(rows[0]));
}

/* SPDX-License-Identifier: MIT */
/*
 * Cost of wakes, passes, and ticks with accounting (column "timer") of credit. policy_load.h tells
 * load and measurement.
 */
#include "policy_load.h"

int main(int argc, char **argv)
{
	static const struct real rows[] = {
		{32, "73-84", "185"},  {64, "73-84", "220"},  {128, "73-84", "246"},
		{256, "73-84", "228"}, {512, "73-84", "435"}, {1024, "73-84", "890"},
	};

	return bench_policy(argc, argv, "credit", rows, sizeof(rows) / sizeof(rows[0]));
}

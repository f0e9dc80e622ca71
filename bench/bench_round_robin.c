/* SPDX-License-Identifier: MIT */
/*
 * Cost of wakes and passes of round-robin, the example of docs/policy-guide.md. There is no real
 * one to compare with. policy_load.h tells load and measurement.
 */
#include "policy_load.h"

int main(int argc, char **argv)
{
	static const struct real rows[] = {{32, "-", "-"}, {64, "-", "-"}, {1024, "-", "-"}};

	return bench_policy(argc, argv, "round-robin", rows, sizeof(rows) / sizeof(rows[0]));
}

/* SPDX-License-Identifier: MIT */
/*
 * Cost of wakes and passes of null, with a pCPU for each vCPU. policy_load.h tells load and
 * measurement.
 */
#include "policy_load.h"

int main(int argc, char **argv)
{
	static const struct real rows[] = {{32, "28", "56"}};

	return bench_policy(argc, argv, "null", rows, sizeof(rows) / sizeof(rows[0]));
}

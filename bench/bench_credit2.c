/* SPDX-License-Identifier: MIT */
/*
 * Cost of wakes and passes of credit2, with a runqueue per socket. Credit resets and balancing
 * happen within passes. policy_load.h defines load and measurement.
 */
#include "policy_load.h"

int main(int argc, char **argv)
{
	static const struct real rows[] = {
		{32, "143", "161"},  {128, "227", "218"},   {256, "312", "292"},
		{512, "621", "510"}, {1024, "1269", "959"},
	};

	return bench_policy(argc, argv, "credit2", rows, sizeof(rows) / sizeof(rows[0]));
}

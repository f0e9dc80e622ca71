/* SPDX-License-Identifier: MIT */
/*
 * All policies that a pool can have. A new policy is its file and a line here.
 */
#include "policy/policies.h"

const struct hv_policy *const hv_policies[] = {
	&hv_policy_credit2,
	&hv_policy_credit,
	&hv_policy_rtds,
	&hv_policy_arinc653,
	&hv_policy_null,
	&hv_policy_round_robin,
	NULL,
};

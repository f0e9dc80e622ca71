/* SPDX-License-Identifier: MIT */
/*
 * The ops tables of all policies, each defined in the file of its name.
 */
#ifndef POLICY_POLICIES_H
#define POLICY_POLICIES_H

#include <hvsched.h>

extern const struct hv_policy hv_policy_null;
extern const struct hv_policy hv_policy_credit2;
extern const struct hv_policy hv_policy_credit;
extern const struct hv_policy hv_policy_rtds;
extern const struct hv_policy hv_policy_arinc653;
extern const struct hv_policy hv_policy_round_robin; /* an example, not a policy of Xen */

#endif /* POLICY_POLICIES_H */

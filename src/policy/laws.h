/* SPDX-License-Identifier: MIT */
/*
 * How the longer policies write their laws down: a walk keeps in a finding where it is, and ends at
 * the first LAW that does not hold.
 */
#ifndef POLICY_LAWS_H
#define POLICY_LAWS_H

#include <hvsched.h>

/* Where and for whom a law is broken. */
struct finding {
	struct hv_violation *out;
	uint32_t pcpu;
	const struct hv_unit *unit;
};

#define LAW(f, expr, text)                                                      \
	do {                                                                    \
		if (!(expr))                                                    \
			return hv_broken((f)->out, text, (f)->unit, (f)->pcpu); \
	} while (0)

#endif /* POLICY_LAWS_H */

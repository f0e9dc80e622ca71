/* SPDX-License-Identifier: MIT */
/*
 * Symmetry (-DSYMMETRY): states that differ only in which pCPU is which are one. After each step
 * pCPUs are put in the order of their keys, with the members that they are the place of. So both
 * units need a member on each pCPU (NA == NB == G, or NB == 0), and nothing may go by the number
 * of a pCPU: "the master" is any of them, which allows more than the code does.
 */
#ifdef SYMMETRY
#if NA != G || (NB != G && NB != 0) || defined(TAKES_FIRST)
#error "not symmetric"
#endif

/* Of one byte or bool per pCPU: a digit. */
#define guest_digit(v) ((v) < NV -> 1 + unit_of(v) : 0)
#define key_of_vcpu(v)                                                                            \
	((((asleep[v] * 2 + is_running[v]) * 2 + force_switch[v]) * 2 + sleeps_late[v]) * 2 +     \
	 migrating[v])
#if NB == 0
#define key_of_b(c) 0
#else
#define key_of_b(c) key_of_vcpu(NA + (c))
#endif
#define key_of_host(c)                                                                            \
	(((((host[c] * 4 + wait[c]) * 2 + p_slave[c]) * 2 + p_schedule[c]) * 2 + unsaved[c]) * 3 + \
	 (from[c] == NOV -> 0 : (from[c] == VIDLE -> 1 : 2)))
#define key_of_loaded(c)                                                                          \
	((guest_digit(loaded[c]) * 2 + (in_guest[c] != NOV)) * 3 + idle_unit[c])
#define key_of_work(c)                                                                            \
	((((enqueued[c] * 2 + scheduled[c]) * 2 + work_leaving[c]) * 2 + came_in[c]) * 2 +        \
	 (barrier == (c)))
#define key_of_whose(c) (whose == (c) -> 1 : (whose < NV && whose == NA + (c) -> 2 : 0))

#define exchange(a, b)                                                                            \
	vp = a;                                                                                   \
	a = b;                                                                                    \
	b = vp
/* A vCPU, whose pCPU gets another number: c for d. */
#define renumber(v, c, d) v = ((v) < NV -> (v) - (d) + (c) : (v))

inline exchange_vcpus(v, w)
{
	exchange(asleep[v], asleep[w]);
	exchange(is_running[v], is_running[w]);
	exchange(force_switch[v], force_switch[w]);
	exchange(sleeps_late[v], sleeps_late[w]);
	exchange(migrating[v], migrating[w])
}

inline compare(c, d)
{
	k1 = key_of_host(c) * 32 + key_of_vcpu(c);
	k2 = key_of_host(d) * 32 + key_of_vcpu(d);
	l1 = ((key_of_loaded(c) * 32 + key_of_b(c)) * 3 + key_of_whose(c)) * 32 + key_of_work(c);
	l2 = ((key_of_loaded(d) * 32 + key_of_b(d)) * 3 + key_of_whose(d)) * 32 + key_of_work(d);
	if
	:: k1 > k2 || (k1 == k2 && l1 > l2) ->
		exchange(host[c], host[d]);
		exchange(wait[c], wait[d]);
		exchange(p_slave[c], p_slave[d]);
		exchange(p_schedule[c], p_schedule[d]);
		exchange(unsaved[c], unsaved[d]);
		exchange(idle_unit[c], idle_unit[d]);
		exchange(from[c], from[d]);
		renumber(from[c], c, d);
		renumber(from[d], d, c);
		exchange(loaded[c], loaded[d]);
		renumber(loaded[c], c, d);
		renumber(loaded[d], d, c);
		exchange(in_guest[c], in_guest[d]);
		renumber(in_guest[c], c, d);
		renumber(in_guest[d], d, c);
		exchange(enqueued[c], enqueued[d]);
		exchange(scheduled[c], scheduled[d]);
		exchange(work_leaving[c], work_leaving[d]);
		exchange(came_in[c], came_in[d]);
		barrier = (barrier == c -> d : (barrier == d -> c : barrier));
		exchange_vcpus(c, d);
#if NB > 0
		exchange_vcpus(NA + c, NA + d);
#endif
		if
		:: whose < NV && rank_of(whose) == c -> whose = whose - c + d
		:: whose < NV && rank_of(whose) == d -> whose = whose - d + c
		:: else
		fi
	:: else
	fi
}

inline in_order()
{
	compare(0, 1);
#if G > 2
	compare(1, 2);
	compare(0, 1);
#endif
	vp = 0;
	k1 = 0;
	k2 = 0;
	l1 = 0;
	l2 = 0
}
#else
#define in_order() skip
#endif

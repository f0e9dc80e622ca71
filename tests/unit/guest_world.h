/*
 * A small host with guests, for tests: a machine whose hypervisor actions cost nothing unless a
 * test says so, with one or two threads per core, and workloads written down as data.
 */
#ifndef HV_TESTS_GUEST_WORLD_H
#define HV_TESTS_GUEST_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest/guest.h"

#define US     1000LL
#define MS     1000000LL
#define SECOND 1000000000LL

#define WORLD_MAX_PCPUS	 64
#define WORLD_MAX_GUESTS 16

struct world {
	struct mc_machine *machine;
	struct mc_params params;
	uint32_t core[WORLD_MAX_PCPUS], zero[WORLD_MAX_PCPUS];
	const char *policy;
	struct guest_params guest_params;
	struct guest *guest[WORLD_MAX_GUESTS];
	struct mc_vm *vm[WORLD_MAX_GUESTS];
	unsigned n;
	uint64_t seed;
};

/* Work that feels neither siblings nor memory: 1 ns of work takes 1 ns on any thread. */
static struct work_class plain_class = {.name = "plain", .sigma = PROGRAM_ONE, .mu = 0};

/* cores x threads; no costs, no idle states, no ticks but those a test asks for. */
static inline void world_init(struct world *w, unsigned cores, unsigned threads)
{
	memset(w, 0, sizeof(*w));
	mc_params_default(&w->params);
	memset(&w->params.cost, 0, sizeof(w->params.cost));
	w->params.cost.wake_scale = MC_ONE;
	w->params.nr_pcpus = cores * threads;
	w->params.nr_cores = cores;
	w->params.nr_sockets = w->params.nr_nodes = w->params.nr_llcs = 1;
	w->params.nr_cstates = 0;
	w->params.lock_base = w->params.lock_per_entity = 0;
	for (unsigned i = 0; i < cores * threads; i++)
		w->core[i] = i / threads;
	w->policy = "null";
	w->seed = 1;
	guest_params_default(&w->guest_params);
	w->guest_params.residual_mean = 0;
	w->guest_params.idle_entry = 0;
	w->guest_params.rq_lock = 0;
	w->guest_params.system_call = 0;
	w->guest_params.handover = 0;
}

static inline void world_boot(struct world *w)
{
	struct mc_config config = {.params = &w->params,
				   .policies = hv_policies,
				   .policy = w->policy,
				   .gran = HV_GRAN_CPU};

	w->params.seed = w->seed;
	w->params.core = w->core;
	w->params.socket = w->params.node = w->params.llc = w->zero;
	assert_int_equal(mc_create(&config, &w->machine), 0);
}

static inline struct guest *world_guest_on(struct world *w, const char *name, unsigned vcpus,
					   const struct workload *workload,
					   const struct hv_mask *hard)
{
	int64_t share[MC_MAX_NODES] = {MC_ONE};
	struct guest_config config = {.name = name,
				      .vcpus = vcpus,
				      .workload = &workload,
				      .n_workloads = 1,
				      .hard = hard,
				      .params = w->guest_params};

	if (!w->machine)
		world_boot(w);
	assert_int_equal(mc_vm_create(w->machine, (int)w->n + 1, vcpus, share, &w->vm[w->n]), 0);
	config.vm = w->vm[w->n];
	assert_int_equal(guest_create(&config, &w->guest[w->n]), 0);
	return w->guest[w->n++];
}

static inline struct guest *world_guest(struct world *w, const char *name, unsigned vcpus,
					const struct workload *workload)
{
	return world_guest_on(w, name, vcpus, workload, NULL);
}

static inline void world_start(struct world *w)
{
	const char *vm, *channel;

	assert_int_equal(guest_link(w->guest, w->n, &vm, &channel), 0);
	for (unsigned i = 0; i < w->n; i++)
		guest_start(w->guest[i]);
}

/* One guest, started, alone on cores of one thread each. */
static inline void world_alone(struct world *w, unsigned cores, unsigned vcpus,
			       const struct workload *workload)
{
	world_init(w, cores, 1);
	world_guest(w, "vm", vcpus, workload);
	world_start(w);
}

static inline void world_run(struct world *w, hv_time until)
{
	const struct mc_fault *fault = mc_run_until(w->machine, until);

	if (fault)
		fail_msg("%s", fault->text);
}

static inline struct guest_result world_result(const struct world *w, unsigned i)
{
	struct guest_result r;

	guest_result(w->guest[i], &r);
	return r;
}

static inline void world_fini(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		guest_destroy(w->guest[i]);
	if (w->machine)
		mc_destroy(w->machine);
}

/* --- Programs as data ------------------------------------------------------------------------- */

#define CONST(n)                   \
	{                          \
		AMOUNT_CONST, n, 0 \
	}
#define EXP(n)                   \
	{                        \
		AMOUNT_EXP, n, 0 \
	}
#define COMPUTE(n)                                                \
	{                                                         \
		.kind = OP_COMPUTE, .arg = -1, .amount = CONST(n) \
	}
#define COMPUTE_BG(n)                                            \
	{                                                        \
		.kind = OP_COMPUTE, .arg = 0, .amount = CONST(n) \
	}
#define SLEEP(n)                                     \
	{                                            \
		.kind = OP_SLEEP, .amount = CONST(n) \
	}
#define COUNT(n)                                     \
	{                                            \
		.kind = OP_COUNT, .amount = CONST(n) \
	}
#define OP(k, object)                                        \
	{                                                    \
		.kind = k, .arg = object, .amount = CONST(1) \
	}
#define FOREVER(after)                              \
	{                                           \
		.kind = OP_FOREVER, .target = after \
	}
#define LOOP(n, after)                                               \
	{                                                            \
		.kind = OP_LOOP, .target = after, .amount = CONST(n) \
	}
#define END(first)                              \
	{                                       \
		.kind = OP_END, .target = first \
	}
#define DONE                    \
	{                       \
		.kind = OP_DONE \
	}
/* Programs and task groups, n_p and n_g of them, whose work is plain; then other fields. */
#define WORKLOAD(n_p, p, n_g, g, ...)                                             \
	{                                                                         \
		.name = "w", .cls = &plain_class, .n_classes = 1, .program = (p), \
		.n_programs = (n_p), .group = (g), .n_groups = (n_g), __VA_ARGS__ \
	}
#define PROGRAM(name, array)                                    \
	{                                                       \
		name, array, sizeof(array) / sizeof((array)[0]) \
	}

#endif

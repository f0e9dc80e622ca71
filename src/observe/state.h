/*
 * The observer's own state, shared by the files of this directory: observe.c takes the records and
 * hands them on, ledger.c keeps the times, result.c sums up, log.c writes.
 */
#ifndef HVSCHED_OBSERVE_STATE_H
#define HVSCHED_OBSERVE_STATE_H

#include "observe/log.h"
#include "observe/observe.h"

struct observe {
	hv_time start; /* of the window */
	hv_time now;   /* time of the latest record or report */
	int error;     /* first failure of memory */
	bool broken;   /* first holds the first broken law */
	struct observe_violation first;

	struct hv_topology topology;
	uint32_t *numbers; /* storage of the topology */
	struct observe_pcpu *pcpu;
	struct observe_vcpu *vcpu; /* [0] is not used */
	uint32_t nr_vcpus, room_vcpus;
	struct observe_domain *domain;
	uint32_t nr_domains, room_domains, last_domain;

	uint64_t records, resets, rqmoves, missed;
	struct log_writer *log; /* NULL = neither log nor hash */
};

static inline bool observe_is_ready(enum observe_time c)
{
	return c >= OBSERVE_WAIT_QUEUE && c <= OBSERVE_WAIT_MIGRATION;
}

static inline bool observe_is_wait(enum observe_time c)
{
	return c >= OBSERVE_WAIT_QUEUE && c <= OBSERVE_WAIT_CAP;
}

/* Time only goes on; a step back is a broken law, and counts as no time. */
hv_time ledger_clock(struct observe *o, hv_time t);
/* Remember the first broken law. */
__attribute__((format(printf, 2, 3))) void ledger_broken(struct observe *o, const char *format,
							 ...);

void ledger_born(struct observe *o, struct observe_vcpu *v, const struct hv_vcpu *engine,
		 hv_time t);
void ledger_runstate(struct observe *o, struct observe_vcpu *v, hv_time t,
		     enum hv_runstate_kind from, enum hv_runstate_kind to, uint32_t pcpu);
void ledger_pause(struct observe_vcpu *v, hv_time t, uint32_t flags, int64_t count);
void ledger_wake(struct observe_vcpu *v, hv_time t);
void ledger_gone(struct observe *o, struct observe_vcpu *v, hv_time t);

#endif

/*
 * What the files of the lab share about one run.
 */
#ifndef HVSCHED_LAB_RUN_H
#define HVSCHED_LAB_RUN_H

#include "guest/guest.h"
#include "lab/host.h"
#include "lab/lab.h"

struct lab_vm_run {
	struct lab_run *run;
	const struct sc_vm *vm;
	struct mc_vm *mvm;	   /* NULL before its start and after it was destroyed */
	struct guest *guest;	   /* NULL before its start; stays after it was destroyed */
	bool finished;		   /* its workload has made the runs it was to make */
	int64_t *credit_min;	   /* [maxvcpus], lowest seen; INT64_MAX = none */
	uint64_t outside_affinity; /* switches to a pCPU outside hard affinity */
	struct mc_timer start;
};

/* A line of the timeline in flight. */
struct lab_event_run {
	struct lab_run *run;
	const struct sc_event *event;
	uint64_t left; /* times still to do */
	struct mc_timer timer;
};

struct lab_run {
	const struct scenario *s;
	const struct lab_options *options;
	struct lab_host host;
	struct observe *observe;
	struct mc_machine *machine;
	struct guest_params guest_params;
	struct lab_vm_run *vm;	     /* [s->n_vms] */
	struct lab_event_run *event; /* [s->n_events] */
	bool until_reached;	     /* the workload of run.until is done */
	int error;		     /* negative errno of something that failed in a callback */
};

/* Create a VM's domain, vCPUs and guest at the present time and boot it. 0 or a negative errno. */
int lab_vm_start(struct lab_vm_run *v);
/* rtds: what a vCPU of a VM that exists may use. 0 or a negative errno. */
int lab_set_rtds(struct lab_vm_run *v, unsigned vcpu, const struct sc_rtds *value);
/* arinc653: the pool's time table. 0 or a negative errno. */
int lab_set_frame(struct lab_run *run, const struct sc_frame *frame);
/* Arm the timers of the timeline. */
void lab_timeline_start(struct lab_run *run);
/* Every trace record of the engine: what the observer does not keep. */
void lab_watch(void *run, const struct hv_trace *ev);
/* The warm-up is over: forget what was seen. */
void lab_watch_reset(struct lab_run *run);
/* A named state value of a unit; false when its policy has none. */
bool lab_unit_value(const struct hv_unit *u, const char *name, int64_t *value);
/* Fill the result from the observer, the guests and the machine. 0, -HV_ENOMEM. */
int lab_collect(struct lab_run *run, struct lab_result *out);

#endif

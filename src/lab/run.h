/*
 * What the files of the lab share about one run.
 */
#ifndef HVSCHED_LAB_RUN_H
#define HVSCHED_LAB_RUN_H

#include "guest/guest.h"
#include "lab/host.h"
#include "lab/lab.h"
#include "lab/session.h"

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

#define LAB_RETRY   10000	 /* ns until a command that waits for a pCPU looks again */
#define LAB_GIVE_UP 1000000000LL /* ns until it is called off */

/* What became of a command that somebody waits for. */
struct lab_outcome {
	bool done;
	int error;	 /* 0, or the hypervisor's negative errno */
	char text[1024]; /* why, in words, or what the command tells */
};

/* A command that is being carried out; some need the time until guests have left a pCPU. */
struct lab_task {
	struct lab_task *next;
	const struct sc_op *op;
	struct lab_outcome *outcome; /* NULL: of the timeline, a refusal ends the run */
	bool begun, listed;
	unsigned step;	      /* of a command that takes several */
	unsigned vcpus;	      /* cpupool-numa-split: domain 0 had so many on line */
	struct hv_mask taken; /* ...and Pool-0 these pCPUs of other nodes */
	unsigned vm;	      /* the next one of a group */
	struct mc_vm *dying;  /* destroy */
	struct hv_mask left;  /* pCPUs still to be tried, the machine's numbers */
	hv_time since;	      /* it waits for the present pCPU or VM since */
	bool idling;	      /* pCPU `idle` has been sent idle, so that nobody new runs there */
	unsigned idle;
	int error;	      /* of a pCPU that was refused, others are tried all the same */
	unsigned refused;     /* how many were */
	struct hv_pool *pool; /* of the present command */
};

/* The operator: one command after another, as in a shell. */
struct lab_operator {
	struct lab_task *first, **last;
	struct mc_timer timer;
	hv_time retry;	 /* ns until the present command is looked at again */
	char text[1024]; /* why it is refused, or what it has to tell */
	char why[256];	 /* room for one reason */
};

/* The engine knows pools by number. */
struct lab_pool {
	struct lab_pool *next;
	int id;
	char name[];
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
	struct lab_operator operator;
	struct lab_outcome outcome; /* of lab_do() */
	bool suspended;		    /* the host sleeps: no command but resume */
	struct lab_pool *pool;	    /* names, ascending id */
	struct lab_result *result;  /* why it is over */
};

/* Create a VM's domain, vCPUs and guest at the present time and boot it. 0 or a negative errno. */
int lab_vm_start(struct lab_vm_run *v);
/* rtds: what a vCPU of a VM that exists may use. 0 or a negative errno. */
int lab_set_rtds(struct lab_vm_run *v, unsigned vcpu, const struct sc_rtds *value);
/* arinc653: the pool's time table. 0 or a negative errno. */
int lab_set_frame(struct lab_run *run, const struct sc_frame *frame);
/* Arm the timers of the timeline. */
void lab_timeline_start(struct lab_run *run);
/* A command for the operator, behind those that wait. 0, -HV_ENOMEM. In the event loop only. */
int lab_command(struct lab_run *run, const struct sc_op *op, struct lab_outcome *outcome);
void lab_operator_start(struct lab_run *run);
void lab_operator_stop(struct lab_run *run); /* frees what waits, and the pools' names */
/* pin.c: affinity of one VM. 0, or refused. */
int lab_pin(struct lab_vm_run *v, const struct sc_op *op);
int lab_override(struct lab_vm_run *v, const struct sc_op *op);
/* What the present command has to tell when it is done, a line. */
void lab_tell(struct lab_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Why the hypervisor refuses: text of the present command; returns error. */
int lab_refuse(struct lab_run *run, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The name of a pool of the engine. 0, -HV_ENOMEM. */
int lab_pool_add(struct lab_run *run, int id, const char *name);
/* pools.c: commands on pools and pCPUs. 0, -HV_EAGAIN (again in a moment), or refused. */
int lab_pool_op(struct lab_run *run, struct lab_task *task);
/* Move one VM. Likewise. */
int lab_migrate(struct lab_run *run, struct lab_task *task, struct lab_vm_run *v);
/*
 * Take the pCPUs of task->left out of the pool, one after the other. 0, -HV_EAGAIN, or the error
 * of the first one that was refused, all reasons being told.
 */
int lab_remove_pcpus(struct lab_run *run, struct lab_task *task, struct hv_pool *pool);
/* An empty pool, and its name. 0, or refused. */
int lab_pool_make(struct lab_run *run, const char *name, const char *sched, enum hv_gran gran,
		  struct hv_pool **out);
/* Undo it; what pCPUs it has are free then. Nothing may run there. */
void lab_pool_unmake(struct lab_run *run, struct hv_pool *pool);
int lab_pool_rename(struct lab_run *run, int id, const char *name);
/* numa_split.c: cpupool-numa-split. 0, -HV_EAGAIN, or refused. */
int lab_numa_split(struct lab_run *run, struct lab_task *task);
/* vCPUs that are on line. */
unsigned lab_vcpus_online(const struct hv_domain *d);
/* suspend.c: the host goes to sleep, and wakes. Likewise. */
int lab_suspend(struct lab_run *run, struct lab_task *task);
int lab_resume(struct lab_run *run, const struct sc_op *op);
/* Every trace record of the engine: what the observer does not keep. */
void lab_watch(void *run, const struct hv_trace *ev);
/* The warm-up is over: forget what was seen. */
void lab_watch_reset(struct lab_run *run);
/* A named state value of a unit; false when its policy has none. */
bool lab_unit_value(const struct hv_unit *u, const char *name, int64_t *value);
/* Fill the result from the observer, the guests and the machine. 0, -HV_ENOMEM. */
int lab_collect(struct lab_run *run, struct lab_result *out);

#endif

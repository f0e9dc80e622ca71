/*
 * The state of a replay, shared by the files world*.c only.
 *
 * Laws: loaded[p] is the guest vCPU that runs on pCPU p (NULL: idle) and its `on` is p; `actions`
 * holds pCPU p exactly if that guest has a finite rest of CPU time and is not blocked; `wakes`
 * holds a vCPU exactly if an automatic wake is coming.
 */
#ifndef HV_CONFORM_WORLD_STATE_H
#define HV_CONFORM_WORLD_STATE_H

#include <setjmp.h>

#include "conform/due.h"
#include "conform/world.h"

/* CPU time that is left, for a guest that never stops by itself. */
#define REST_INFINITE INT64_MAX

struct world_vcpu {
	struct hv_vcpu *v; /* NULL: not created yet */
	int domain;	   /* id */
	unsigned id;
	struct script_behaviour behaviour;
	uint64_t random; /* state of its splitmix64 generator */
	hv_time rest;	 /* `remaining`: CPU time until the guest's next action */
	hv_time started; /* when it was switched in, or yielded by itself */
	hv_time loaded;	 /* when it was switched in */
	hv_time run;	 /* total CPU time up to the last switch out */
	int64_t switches;
	uint32_t on; /* pCPU where it runs, HV_NO_PCPU */
	bool frozen; /* ...but the pCPU waits for siblings: no CPU time is used */
	bool inserted;
	bool moved;	/* its assigned pCPU changed in this operation... */
	uint32_t from;	/* ...from this one */
	uint32_t place; /* master of its resource before its domain moves */
};

/* The two kinds of request; of a pCPU's requests the slave's is handled first. */
enum { REQUEST_SLAVE, REQUEST_SCHEDULE, NR_REQUESTS };

struct world_request {
	bool raised;
	hv_time due;
	uint64_t order; /* place in line */
};

struct world_pcpu {
	struct world_vcpu *loaded; /* NULL: idle */
	hv_time idle_since, idle;  /* idle: total up to the last switch from idle */
	struct world_request request[NR_REQUESTS];
	bool stopped; /* for a command: it handles no requests, no timer fires */
	bool locked;  /* was to go off line, and has not come on line since */
	bool waits;   /* in a turn, for siblings: its requests are not in the queue */
	hv_time turn; /* when that turn began */
};

/* A script line about pools or hotplug that is under way. */
struct world_command {
	const struct script_line *line; /* NULL: none */
	unsigned attempts;
	hv_time retry;		/* when the next attempt begins; DUE_NEVER: it is not waited for */
	struct hv_mask workers; /* pCPUs that have stopped for it, or shall */
};

/* Memory that the engine has, so that a broken engine can be dropped. */
struct world_block {
	_Alignas(16) struct world_block *next;
	struct world_block *prev;
};

struct world {
	const struct script *s;
	struct record *out;
	struct replay_result *result;
	bool check;
	bool recording; /* false while booting */

	struct world_command command;

	struct hv_sys *sys;
	struct hv_pool *pool;	   /* 0 */
	struct hv_domain **domain; /* by index in the script */
	struct world_vcpu *vcpu;   /* by number in the script */
	struct world_pcpu *pcpu;
	uint32_t *topology; /* core, socket, node numbers: three arrays of nr_pcpus */

	hv_time now;
	bool stale;	       /* the engine reads the clock as it was at... */
	hv_time sample;	       /* ...the beginning of a turn */
	unsigned cpu;	       /* pCPU that executes the present operation */
	unsigned line;	       /* script line being executed, 0 = none */
	unsigned next_line;    /* index of the next script line */
	uint64_t raised;       /* counts raises of requests: their order */
	uint64_t at_this_time; /* operations since the clock moved */

	struct due_queue requests; /* by NR_REQUESTS * pCPU + kind; order: raised */
	struct due_queue actions;  /* by pCPU; order: pCPU */
	struct due_queue wakes;	   /* by vCPU; order: domain, vCPU */
	struct due_queue timers;   /* by place; order: class, number */
	struct hv_timer **timer;   /* by place */
	uint32_t *free_place;	   /* places in `timers` that are not used */
	uint32_t nr_free_places;

	uint32_t *waiter;     /* pCPUs that wait, in the order in which they began */
	uint32_t *looker;     /* those of one round of looking */
	uint32_t *held_timer; /* places of timers that fell due on pCPUs that wait */
	unsigned nr_waiters, nr_held_timers;

	struct world_vcpu **moved; /* vCPUs with `moved` set */
	unsigned nr_moved;

	struct world_block *blocks;
	uint64_t allocations, fail_allocation;
	jmp_buf stop;
};

/* Ends the replay: fills the result and does not return. */
_Noreturn void world_stop(struct world *w, enum replay_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* world.c */
void world_begin_operation(struct world *w, unsigned cpu);
void world_end_operation(struct world *w);
/* All units of a domain have moved from where `place` says. */
void world_record_places(struct world *w, const struct hv_domain *d);

/* world_turn.c: requests and turns */
void world_raise(struct world *w, unsigned pcpu, unsigned kind);
void world_drop_requests(struct world *w, unsigned pcpu);
/* What the end of an operation on this pCPU does to its requests that are in flight. */
void world_requests_due(struct world *w, unsigned pcpu);
/* A pCPU that had stopped goes on. */
void world_go(struct world *w, unsigned pcpu);
/* All turns that are due; pCPUs that wait look first. */
void world_drain(struct world *w);

/* world_host.c: what the engine sees, and its lines */
extern const struct hv_host world_host;
void world_free_blocks(struct world *w);
/* State fields of a unit that stand in switch and cont lines, or in total lines. */
void world_record_state(struct world *w, const struct hv_unit *u, bool total, const char *prefix);
/* The runqueue lines at the start, the load lines at the end. */
void world_record_runqueues(struct world *w, bool load);

/* world_table.c: parameters of rtds vCPUs, time tables of arinc653 */
void world_handle(uint32_t id, uint8_t handle[HV_HANDLE_BYTES]);
void world_table_set(struct world *w, const struct script_line *l);
void world_table_get(struct world *w);
void world_unit_params(struct world *w, const struct script_line *l);
/* A refused change of parameters or affinity makes an error line. */
void world_put_error(struct world *w, int rc);

/* world_guest.c: what guests do */
void world_guest_behave(struct world *w, struct world_vcpu *g, const struct script_behaviour *b);
/* Its CPU time until the next action starts anew: it wakes. */
void world_guest_woken(struct world *w, struct world_vcpu *g);
void guest_switch_in(struct world *w, struct world_vcpu *g, unsigned pcpu);
void guest_switch_out(struct world *w, struct world_vcpu *g);
/* Its pCPU begins to wait for siblings, and goes on with it. */
void guest_freeze(struct world *w, struct world_vcpu *g);
void guest_thaw(struct world *w, struct world_vcpu *g);
/* It blocks, or is taken off line, without a wake of its own. */
void world_guest_stop(struct world *w, struct world_vcpu *g);
/* It runs on the present pCPU and yields. */
void world_guest_yield(struct world *w, struct world_vcpu *g);
/* The action that is due on the present pCPU: block or yield. */
void world_guest_act(struct world *w);

/* world_script.c: script lines and wakes */
void world_wake(struct world *w, struct world_vcpu *g);
/* False: it is not over yet. */
bool world_script_line(struct world *w, const struct script_line *l);

/* world_pools.c: script lines about pools and hotplug */
/* Begins one; false: its operation is not over yet. */
bool world_command(struct world *w, const struct script_line *l);
/* It looks at what it waits for; true if it went on. */
bool world_command_look(struct world *w);
/* A pCPU that is, or with this granularity would be, in one resource with this one is locked. */
bool world_is_locked(const struct world *w, enum hv_gran gran, unsigned pcpu);

/* world_boot.c: the machine, before time starts */
void world_boot(struct world *w);

#endif

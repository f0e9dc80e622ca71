/*
 * A conformance script as plain data: what a NAME.ev file says, checked and resolved.
 *
 * Laws: `line` is in the order of execution (times ascend; unprefixed lines first, at time 0);
 * every domain exists before a line uses it; vCPU and domain numbers are dense indices; pCPU sets
 * are not empty and name pCPUs of the topology only. The format is described in
 * docs/conformance.md.
 */
#ifndef HV_CONFORM_SCRIPT_H
#define HV_CONFORM_SCRIPT_H

#include <hvsched.h>

/* Domain ids below Xen's first reserved one. */
#define SCRIPT_MAX_DOMID 32751
#define SCRIPT_MAX_POOL	 32767
/* All vCPUs of one script. */
#define SCRIPT_MAX_VCPUS (1u << 20)
/* Times are below this, so that sums of two never overflow. */
#define SCRIPT_MAX_TIME (INT64_C(1) << 61)

enum script_op {
	SCRIPT_DOMAIN,
	SCRIPT_BEHAVE,
	SCRIPT_WAKE,
	SCRIPT_BLOCK,
	SCRIPT_YIELD,
	SCRIPT_PAUSE,
	SCRIPT_UNPAUSE,
	SCRIPT_DOWN,
	SCRIPT_WEIGHT,
	SCRIPT_CAP,
	SCRIPT_HARD,
	SCRIPT_SOFT,
	SCRIPT_RTDS,
	SCRIPT_RATELIMIT,
	SCRIPT_ARINC,
	SCRIPT_ARINC_GET,
	SCRIPT_POOL_CREATE,
	SCRIPT_POOL_GRAN,
	SCRIPT_POOL_DESTROY,
	SCRIPT_POOL_ADD,
	SCRIPT_POOL_REMOVE,
	SCRIPT_POOL_MOVE,
	SCRIPT_OFFLINE,
	SCRIPT_ONLINE,
};

enum script_behaviour_kind {
	BEHAVE_BUSY,	 /* never blocks */
	BEHAVE_PERIODIC, /* runs for `run`, sleeps for `sleep` */
	BEHAVE_RANDOM,	 /* the same with drawn durations; `run` and `sleep` are the means */
	BEHAVE_YIELDER,	 /* yields after every `run` */
};

struct script_behaviour {
	enum script_behaviour_kind kind;
	uint64_t seed;
	hv_time run, sleep; /* ns */
};

/* One window of an arinc653 schedule. */
struct script_window {
	uint32_t domain; /* the id whose handle is meant; it need not exist, nor the vCPU */
	uint32_t vcpu;
	uint64_t runtime; /* ns */
};

struct script_line {
	hv_time at;
	unsigned number; /* line in the file, from 1 */
	bool timed;	 /* has an `at` prefix */
	enum script_op op;
	unsigned domain; /* index into script.domain */
	unsigned vcpu;	 /* number over all vCPUs of the script: domain[].first + its id */
	union {
		struct {
			bool has_weight, has_cap, has_handle, control;
			unsigned weight, cap, pool;
			int handle;
		} create;
		struct script_behaviour behaviour;
		struct hv_mask pcpus;
		struct {
			unsigned value; /* weight, cap, rate limit in us */
			unsigned of_pool;
		};
		struct {
			unsigned id, pcpu;
			enum hv_gran gran;
			char *sched;
		} pool; /* pool and hotplug commands */
		struct {
			int64_t period_us, budget_us;
			bool extra;
		} rtds;
		struct {
			uint64_t major; /* ns */
			unsigned nr_windows;
			struct script_window *window;
		} arinc;
	};
};

struct script_domain {
	int id;
	unsigned first, vcpus; /* vCPUs first .. first + vcpus - 1 */
};

struct script_param {
	char *name, *value;
	unsigned number; /* line in the file */
};

/* By enum hv_gran: cpu, core, socket. */
extern const char *const script_gran_names[3];

struct script {
	char *sched;
	unsigned sched_line;
	unsigned sockets, cores, threads, nodes; /* cores per socket, threads per core */
	unsigned nr_pcpus;
	/* Form of its record: 2 when granularity, pools or hotplug are spoken of, else 1. */
	unsigned format;
	enum hv_gran gran; /* of pool 0, and of pools created without one */
	bool many_pools;   /* it creates more than the first */
	hv_time ipi;	   /* ns */
	hv_time end;	   /* ns: run-until */
	struct script_param *param;
	unsigned nr_params;
	struct script_domain *domain; /* in order of creation */
	unsigned nr_domains;
	unsigned nr_vcpus;
	struct script_line *line;
	unsigned nr_lines;
};

/* Where a script is wrong, or why it cannot be replayed; line 0: the file as a whole. */
struct script_error {
	unsigned line;
	char text[240];
};

/*
 * Reads a script. Returns 0, -HV_EINVAL (err says where and what was expected), -HV_ENOMEM, or
 * another negative errno when the file cannot be read (err->text is set). script_free() in any
 * case.
 */
int script_load(const char *path, struct script *s, struct script_error *err);
/* The same from memory; the text is only read. */
int script_parse(const char *text, size_t len, struct script *s, struct script_error *err);
void script_free(struct script *s);

#endif

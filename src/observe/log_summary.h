/*
 * What the event log says by itself: counts, running and idle time, delays, derived from nothing
 * but the records. It is the ledger's independent witness and the body of `hvsched log --summary`.
 *
 * Law: over the same window it equals the ledger to the nanosecond.
 */
#ifndef HVSCHED_OBSERVE_LOG_SUMMARY_H
#define HVSCHED_OBSERVE_LOG_SUMMARY_H

#include "observe/histogram.h"
#include "observe/log.h"

struct log_vcpu_times {
	int64_t state[HV_NR_RUNSTATES]; /* ns in each runstate */
	int64_t run[OBSERVE_NR_RUN];	/* what was reported of running */
	uint64_t dispatches, migrations;

	enum hv_runstate_kind now;
	hv_time since, wake_at;
	uint32_t last_pcpu;
	bool gone, paused;
};

struct log_pcpu_times {
	int64_t mode[OBSERVE_NR_MODES];

	enum observe_mode now;
	hv_time since;
};

struct log_summary {
	hv_time from, to; /* the window; to is the end of the log at the latest */
	uint64_t count[LOG_NR_KINDS];
	struct histogram wake; /* wake-to-run delays that ended in the window */
	uint32_t nr_vcpus;
	struct log_vcpu_times *vcpu; /* [1..nr_vcpus] */
	unsigned nr_pcpus;
	struct log_pcpu_times *pcpu;
};

/*
 * Read the whole log. from < 0: the window starts at the log's mark, or at its start when there is
 * none; to < 0: it ends with the log. 0; -1 with a message in error.
 */
int log_summarize(struct log_reader *l, hv_time from, hv_time to, struct log_summary *out,
		  char *error, size_t size);
void log_summary_fini(struct log_summary *s);

#endif

/* Times and counts derived from the event log alone; law in log_summary.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "observe/log_summary.h"

/* Length of the part of [since, until) that lies in the window. */
static int64_t inside(const struct log_summary *s, hv_time since, hv_time until)
{
	hv_time a = since > s->from ? since : s->from;
	hv_time b = until < s->to ? until : s->to;

	return b > a ? b - a : 0;
}

static void close_vcpu(const struct log_summary *s, struct log_vcpu_times *v, hv_time t)
{
	if (!v->gone)
		v->state[v->now] += inside(s, v->since, t);
	v->since = t;
}

static void close_pcpu(const struct log_summary *s, struct log_pcpu_times *p, hv_time t)
{
	p->mode[p->now] += inside(s, p->since, t);
	p->since = t;
}

static int add_vcpu(struct log_summary *s, const struct log_record *r)
{
	/* Doubling: a new array at every power of two. */
	if ((r->vcpu & (r->vcpu - 1)) == 0) {
		struct log_vcpu_times *more = realloc(s->vcpu, 2 * r->vcpu * sizeof(*more));

		if (!more)
			return -1;
		s->vcpu = more;
	}
	assert(r->vcpu == s->nr_vcpus + 1);
	s->nr_vcpus = r->vcpu;
	s->vcpu[r->vcpu] = (struct log_vcpu_times){
		.now = (enum hv_runstate_kind)r->b,
		.paused = r->b == HV_OFFLINE, /* a record tells when that ends */
		.since = r->time,
		.wake_at = -1,
		.last_pcpu = HV_NO_PCPU,
	};
	return 0;
}

static void runstate(struct log_summary *s, struct log_vcpu_times *v, const struct log_record *r,
		     bool counts)
{
	close_vcpu(s, v, r->time);
	v->now = (enum hv_runstate_kind)r->b;
	if (v->now != HV_RUNNING) {
		if (v->paused || v->now == HV_BLOCKED)
			v->wake_at = -1;
		return;
	}
	if (counts) {
		v->dispatches++;
		v->migrations += v->last_pcpu != HV_NO_PCPU && v->last_pcpu != r->pcpu;
		if (v->wake_at >= 0)
			histogram_add(&s->wake, r->time - v->wake_at);
	}
	v->last_pcpu = r->pcpu;
	v->wake_at = -1;
}

/*
 * Running time in the window; a report that straddles a border of it cannot be split. Unsigned, as
 * the log is not yet known to be unharmed.
 */
static void running(struct log_summary *s, struct log_vcpu_times *v, const struct log_record *r)
{
	hv_time end = r->time - r->a;

	if (end - r->b < s->from || end > s->to)
		return;
	for (unsigned c = 0; c < OBSERVE_NR_RUN; c++)
		v->run[c] = (int64_t)((uint64_t)v->run[c] + (uint64_t)r->ns[c]);
}

/* The window starts anew: forget what was before. */
static void restart(struct log_summary *s, hv_time t)
{
	s->from = t;
	memset(s->count, 0, sizeof(s->count));
	histogram_reset(&s->wake);
	for (uint32_t i = 1; i <= s->nr_vcpus; i++) {
		struct log_vcpu_times *v = &s->vcpu[i];

		memset(v->state, 0, sizeof(v->state));
		memset(v->run, 0, sizeof(v->run));
		v->dispatches = v->migrations = 0;
	}
	for (unsigned c = 0; c < s->nr_pcpus; c++)
		memset(s->pcpu[c].mode, 0, sizeof(s->pcpu[c].mode));
}

/* 0, -1 out of memory. */
static int take(struct log_summary *s, const struct log_record *r, bool follow_mark)
{
	bool counts = r->time >= s->from && r->time < s->to;
	struct log_vcpu_times *v = NULL;

	if (r->kind == LOG_VCPU)
		return add_vcpu(s, r);
	if (r->vcpu)
		v = &s->vcpu[r->vcpu];
	switch (r->kind) {
	case HV_TRACE_RUNSTATE:
		runstate(s, v, r, counts);
		break;
	case HV_TRACE_WAKE:
		if (v->now != HV_RUNNING && v->wake_at < 0)
			v->wake_at = r->time;
		break;
	case HV_TRACE_PAUSE:
		v->paused = (r->a & HV_PF_DOWN) || r->b > 0;
		if (v->paused && v->now != HV_RUNNING)
			v->wake_at = -1;
		break;
	case LOG_RUN:
		running(s, v, r);
		break;
	case LOG_GONE:
		close_vcpu(s, v, r->time);
		v->gone = true;
		break;
	case LOG_PCPU:
		close_pcpu(s, &s->pcpu[r->pcpu], r->time);
		s->pcpu[r->pcpu].now = (enum observe_mode)r->a;
		break;
	case LOG_MARK:
		if (follow_mark)
			restart(s, r->time);
		break;
	}
	s->count[r->kind] += counts;
	return 0;
}

int log_summarize(struct log_reader *l, hv_time from, hv_time to, struct log_summary *s,
		  char *error, size_t size)
{
	const struct log_header *h = log_header(l);
	struct log_record r = {.time = h->start};
	int got = -1;

	assert(to < 0 || from <= to);
	memset(s, 0, sizeof(*s));
	s->from = from < 0 ? h->start : from;
	s->to = to < 0 ? INT64_MAX : to;
	s->nr_pcpus = h->topology.nr_pcpus;
	s->pcpu = calloc(s->nr_pcpus, sizeof(*s->pcpu));
	if (!s->pcpu || histogram_init(&s->wake)) {
		snprintf(error, size, "out of memory");
		log_summary_fini(s);
		return -1;
	}
	for (unsigned c = 0; c < s->nr_pcpus; c++)
		s->pcpu[c].since = h->start;
	while ((got = log_next(l, &r, error, size)) > 0) {
		if (take(s, &r, from < 0)) {
			snprintf(error, size, "out of memory");
			got = -1;
			break;
		}
	}
	if (got < 0) {
		log_summary_fini(s);
		return -1;
	}
	for (uint32_t i = 1; i <= s->nr_vcpus; i++)
		close_vcpu(s, &s->vcpu[i], r.time);
	for (unsigned c = 0; c < s->nr_pcpus; c++)
		close_pcpu(s, &s->pcpu[c], r.time);
	if (s->to > r.time)
		s->to = r.time;
	if (s->from > s->to)
		s->from = s->to;
	return 0;
}

void log_summary_fini(struct log_summary *s)
{
	histogram_fini(&s->wake);
	free(s->vcpu);
	free(s->pcpu);
	memset(s, 0, sizeof(*s));
}

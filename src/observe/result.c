/* Results of a run: access to the records and sums over them. Integers throughout. */
#include <assert.h>
#include <string.h>

#include "observe/state.h"

uint32_t observe_nr_vcpus(const struct observe *o)
{
	return o->nr_vcpus;
}

uint32_t observe_nr_domains(const struct observe *o)
{
	return o->nr_domains;
}

const struct observe_vcpu *observe_vcpu(const struct observe *o, uint32_t number)
{
	assert(number > 0 && number <= o->nr_vcpus);
	return &o->vcpu[number];
}

const struct observe_pcpu *observe_pcpu_result(const struct observe *o, unsigned pcpu)
{
	assert(pcpu < o->topology.nr_pcpus);
	return &o->pcpu[pcpu];
}

const struct observe_domain *observe_domain(const struct observe *o, uint32_t index)
{
	assert(index < o->nr_domains);
	return &o->domain[index];
}

int64_t observe_cpu_time(const int64_t ns[OBSERVE_NR_TIMES])
{
	int64_t sum = 0;

	for (unsigned c = 0; c < OBSERVE_NR_RUN; c++)
		sum += ns[c];
	return sum;
}

int64_t observe_ready_time(const int64_t ns[OBSERVE_NR_TIMES])
{
	int64_t sum = 0;

	for (unsigned c = 0; c < OBSERVE_NR_TIMES; c++)
		sum += observe_is_ready((enum observe_time)c) ? ns[c] : 0;
	return sum;
}

static void take_longer(int64_t *max, int64_t value)
{
	if (value > *max)
		*max = value;
}

struct observe_delays observe_delays(const struct observe *o, const struct observe_vcpu *v)
{
	struct observe_delays d = {v->max_wake, v->max_ready, v->max_wait};

	if (v->wake_at >= 0)
		take_longer(&d.wake, o->now - v->wake_at);
	if (v->ready_since >= 0)
		take_longer(&d.ready, o->now - v->ready_since);
	if (v->wait_since >= 0)
		take_longer(&d.wait, o->now - v->wait_since);
	return d;
}

static void add_vcpu(const struct observe *o, struct observe_sum *sum, const struct observe_vcpu *v)
{
	struct observe_delays delays = observe_delays(o, v);

	sum->counts.dispatches += v->counts.dispatches;
	sum->counts.wakes += v->counts.wakes;
	sum->counts.blocks += v->counts.blocks;
	sum->counts.yields += v->counts.yields;
	sum->counts.preempted += v->counts.preempted;
	for (unsigned d = 0; d < OBSERVE_NR_DISTANCES; d++)
		sum->counts.migrations[d] += v->counts.migrations[d];
	for (unsigned c = 0; c < OBSERVE_NR_TIMES; c++) {
		sum->ns[c] += v->ns[c];
		sum->elapsed += v->ns[c];
	}
	take_longer(&sum->max_wake, delays.wake);
	take_longer(&sum->max_ready, delays.ready);
	take_longer(&sum->max_wait, delays.wait);
	sum->idle_runnable += v->idle_runnable;
}

void observe_domain_sum(const struct observe *o, const struct observe_domain *d,
			struct observe_sum *out)
{
	uint32_t group = (uint32_t)(d - o->domain);

	assert(group < o->nr_domains);
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 1; i <= o->nr_vcpus; i++) {
		if (o->vcpu[i].group == group)
			add_vcpu(o, out, &o->vcpu[i]);
	}
}

void observe_totals(const struct observe *o, struct observe_totals *out)
{
	memset(out, 0, sizeof(*out));
	out->start = o->start;
	out->end = o->now;
	out->resets = o->resets;
	out->missed = o->missed;
	out->rqmoves = o->rqmoves;
	out->records = o->records;
	for (uint32_t i = 1; i <= o->nr_vcpus; i++)
		add_vcpu(o, &out->vcpus, &o->vcpu[i]);
	for (unsigned c = 0; c < o->topology.nr_pcpus; c++) {
		const struct observe_pcpu *p = &o->pcpu[c];

		for (unsigned m = 0; m < OBSERVE_NR_MODES; m++)
			out->pcpu_ns[m] += p->ns[m];
		out->switches += p->switches;
		out->passes += p->passes;
		out->tickles += p->tickles;
		out->wasted += p->wasted;
		out->shared += p->shared;
	}
}

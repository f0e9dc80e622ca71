/*
 * The time ledger: every ns of every vCPU and pCPU is in exactly one category; laws in observe.h.
 *
 * A vCPU is in one category from the time `since` on. Each change first closes that interval.
 * While it runs, the interval is booked as `ran` and the machine, which alone knows how fast the
 * guest got on, books the split; both must agree whenever the laws are checked. Categories of
 * waiting follow from runstate and pause flags (core-scheduling section 1.4).
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "observe/state.h"

#define NAME "d%dv%u"

void ledger_broken(struct observe *o, const char *format, ...)
{
	va_list args;

	assert(format);
	if (o->broken)
		return;
	o->broken = true;
	va_start(args, format);
	vsnprintf(o->first.text, sizeof(o->first.text), format, args);
	va_end(args);
}

hv_time ledger_clock(struct observe *o, hv_time t)
{
	if (t < o->now) {
		ledger_broken(o, "time runs back from %lld to %lld ns", (long long)o->now,
			      (long long)t);
		return o->now;
	}
	o->now = t;
	return t;
}

/* ------------------------------------------------------------------ vCPUs */

/* Category of a vCPU that does not run. The operator's pause explains a wait before all else. */
static enum observe_time waiting(const struct observe_vcpu *v)
{
	assert(v->runstate != HV_RUNNING);
	if (v->runstate == HV_BLOCKED)
		return OBSERVE_BLOCKED;
	if (v->paused)
		return OBSERVE_OFFLINE;
	if (v->migrating)
		return OBSERVE_WAIT_MIGRATION;
	if (v->parked)
		return OBSERVE_WAIT_CAP;
	return v->core_wait ? OBSERVE_WAIT_CORE : OBSERVE_WAIT_QUEUE;
}

/* Close the open interval at t. */
static void close_interval(struct observe_vcpu *v, hv_time t)
{
	int64_t delta = t - v->since;

	assert(delta >= 0);
	v->since = t;
	if (v->runstate == HV_RUNNING) {
		v->ran += delta;
		return;
	}
	v->ns[v->waiting] += delta;
	if (observe_is_ready(v->waiting))
		v->ready_ns += delta;
}

static void longest(int64_t *max, hv_time since, hv_time t)
{
	if (since >= 0 && t - since > *max)
		*max = t - since;
}

/* A stretch of readiness, or the whole wait, is over. */
static void end_ready(struct observe_vcpu *v, hv_time t)
{
	if (v->ready_since >= 0 && t - v->ready_since > v->max_ready) {
		v->max_ready = t - v->ready_since;
		v->max_ready_since = v->ready_since;
	}
	v->ready_since = -1;
}

static void end_wait(struct observe_vcpu *v, hv_time t)
{
	end_ready(v, t);
	longest(&v->max_wait, v->wait_since, t);
	v->wait_since = -1;
}

/* Runstate or flags of a vCPU that does not run have changed; the interval before t is closed. */
static void enter_waiting(struct observe_vcpu *v, hv_time t)
{
	enum observe_time category = waiting(v);

	if (v->paused || category == OBSERVE_BLOCKED)
		v->wake_at = -1; /* a pause is not the scheduler's delay */
	if (!observe_is_wait(category)) {
		end_wait(v, t);
	} else if (v->wait_since < 0) {
		v->wait_since = t;
		v->ready_ns = 0;
	}
	if (!observe_is_ready(category))
		end_ready(v, t);
	else if (v->ready_since < 0)
		v->ready_since = t;
	v->waiting = category;
}

static enum observe_distance distance(const struct hv_topology *t, uint32_t a, uint32_t b)
{
	if (t->core[a] == t->core[b])
		return OBSERVE_SAME_CORE;
	return t->socket[a] == t->socket[b] ? OBSERVE_SAME_SOCKET : OBSERVE_CROSS_SOCKET;
}

/* It begins to run on this pCPU: answer the delays and see how far it came. */
static void dispatch(struct observe *o, struct observe_vcpu *v, hv_time t, uint32_t pcpu)
{
	struct observe_domain *d = &o->domain[v->group];

	if (v->wait_since >= 0)
		histogram_add(&d->ready, v->ready_ns);
	if (v->wake_at >= 0) {
		histogram_add(&d->wake, t - v->wake_at);
		longest(&v->max_wake, v->wake_at, t);
		v->wake_at = -1;
	}
	end_wait(v, t);
	v->core_wait = false;
	v->counts.dispatches++;
	if (pcpu < o->topology.nr_pcpus) {
		if (v->last_pcpu != HV_NO_PCPU && v->last_pcpu != pcpu)
			v->counts.migrations[distance(&o->topology, v->last_pcpu, pcpu)]++;
		v->last_pcpu = pcpu;
	}
	if (v->settled != v->stopped)
		ledger_broken(
			o, NAME " ran until %lld ns, but its running is reported only up to %lld",
			v->domain, v->id, (long long)v->stopped, (long long)v->settled);
	v->settled = t;
}

void ledger_runstate(struct observe *o, struct observe_vcpu *v, hv_time t,
		     enum hv_runstate_kind from, enum hv_runstate_kind to, uint32_t pcpu)
{
	if (v->gone >= 0 || from == to)
		return;
	if (from != v->runstate)
		ledger_broken(o, NAME " leaves runstate %d at %lld ns, but it was in %d", v->domain,
			      v->id, (int)from, (long long)t, (int)v->runstate);
	close_interval(v, t);
	if (v->runstate == HV_RUNNING) {
		v->stopped = t;
		v->counts.preempted += to == HV_RUNNABLE;
	}
	v->runstate = to;
	if (to == HV_RUNNING)
		dispatch(o, v, t, pcpu);
	else
		enter_waiting(v, t);
}

void ledger_pause(struct observe_vcpu *v, hv_time t, uint32_t flags, int64_t count)
{
	if (v->gone >= 0)
		return;
	v->paused = (flags & HV_PF_DOWN) || count > 0;
	v->migrating = flags & HV_PF_MIGRATING;
	v->parked = flags & HV_PF_PARKED;
	if (v->runstate == HV_RUNNING)
		return;
	if (v->paused)
		v->wake_at = -1;
	if (waiting(v) == v->waiting)
		return;
	close_interval(v, t);
	enter_waiting(v, t);
}

/*
 * Waking one that runs (it is about to block) delays nobody. The wake comes before the flags
 * change: if it is paused after that, the wake is forgotten.
 */
void ledger_wake(struct observe_vcpu *v, hv_time t)
{
	if (v->gone >= 0)
		return;
	v->counts.wakes++;
	if (v->runstate != HV_RUNNING && v->wake_at < 0)
		v->wake_at = t;
}

void observe_run(struct observe *o, const struct hv_vcpu *vcpu, hv_time from, hv_time to,
		 const int64_t ns[OBSERVE_NR_RUN])
{
	struct observe_vcpu *v = &o->vcpu[vcpu->observer];
	int64_t sum = 0;

	assert(vcpu->observer > 0 && vcpu->observer <= o->nr_vcpus);
	if (from == to)
		return;
	if (to > o->now)
		ledger_clock(o, to);

	hv_time limit = v->runstate == HV_RUNNING ? o->now : v->stopped;

	if (from != v->settled || to < from || to > limit || v->gone >= 0) {
		ledger_broken(o,
			      NAME ": running is reported for %lld..%lld ns, expected it from %lld "
				   "to %lld at most",
			      v->domain, v->id, (long long)from, (long long)to,
			      (long long)v->settled, (long long)limit);
		return;
	}
	for (unsigned c = 0; c < OBSERVE_NR_RUN; c++) {
		if (ns[c] < 0)
			ledger_broken(o, NAME ": %lld ns of %s reported at %lld", v->domain, v->id,
				      (long long)ns[c], observe_time_names[c], (long long)to);
		v->ns[c] += ns[c];
		sum += ns[c];
	}
	if (sum != to - from)
		ledger_broken(o, NAME ": parts of %lld..%lld ns sum to %lld, not to %lld",
			      v->domain, v->id, (long long)from, (long long)to, (long long)sum,
			      (long long)(to - from));
	v->settled = to;
	if (o->log) {
		struct log_record r = {.kind = LOG_RUN,
				       .time = o->now,
				       .vcpu = vcpu->observer,
				       .a = o->now - to,
				       .b = to - from};

		memcpy(r.ns, ns, sizeof(r.ns));
		log_write(o->log, &r);
	}
}

void observe_core_wait(struct observe *o, const struct hv_vcpu *vcpu, hv_time t, bool on)
{
	struct observe_vcpu *v = &o->vcpu[vcpu->observer];

	assert(vcpu->observer > 0 && vcpu->observer <= o->nr_vcpus);
	if (v->core_wait == on || v->runstate == HV_RUNNING || v->gone >= 0)
		return;
	t = ledger_clock(o, t);
	close_interval(v, t);
	v->core_wait = on;
	enter_waiting(v, t);
	if (o->log)
		log_write(o->log, &(struct log_record){.kind = LOG_CORE_WAIT,
						       .time = t,
						       .vcpu = vcpu->observer,
						       .a = on});
}

void observe_idle_runnable(struct observe *o, const struct hv_vcpu *vcpu, hv_time from, hv_time to)
{
	struct observe_vcpu *v = &o->vcpu[vcpu->observer];

	assert(vcpu->observer > 0 && vcpu->observer <= o->nr_vcpus);
	if (from < o->start)
		from = o->start; /* what was in warm-up is not of this window */
	if (to <= from || v->gone >= 0)
		return;
	if (to > o->now)
		ledger_clock(o, to);
	v->idle_runnable += to - from;
	if (o->log)
		log_write(o->log, &(struct log_record){.kind = LOG_IDLE_RUNNABLE,
						       .time = o->now,
						       .vcpu = vcpu->observer,
						       .a = o->now - to,
						       .b = to - from});
}

/* ------------------------------------------------------------------ birth, death, window */

/* The engine's own account of a runstate, open interval included. */
static int64_t engine_time(const struct observe_vcpu *v, enum hv_runstate_kind state, hv_time t)
{
	const struct hv_runstate *r = &v->engine->runstate;
	int64_t open = r->state == state && t > r->since ? t - r->since : 0;

	return r->time[state] + open;
}

void ledger_born(struct observe *o, struct observe_vcpu *v, const struct hv_vcpu *engine, hv_time t)
{
	v->engine = engine;
	v->runstate = engine->runstate.state;
	v->born = v->since = v->settled = v->stopped = t;
	v->gone = v->wake_at = v->wait_since = v->ready_since = -1;
	v->last_pcpu = HV_NO_PCPU;
	v->paused = (engine->pause_flags & HV_PF_DOWN) || engine->pause_count > 0 ||
		    engine->domain->pause_count > 0;
	v->migrating = engine->pause_flags & HV_PF_MIGRATING;
	v->parked = engine->pause_flags & HV_PF_PARKED;
	v->engine_ran = engine_time(v, HV_RUNNING, t);
	v->engine_blocked = engine_time(v, HV_BLOCKED, t);
	if (v->runstate == HV_RUNNING)
		ledger_broken(o, NAME " is born running", v->domain, v->id);
	else
		enter_waiting(v, t);
}

/* Running and blocked time by three books: categories, trace, the engine's runstates. */
static void check_vcpu(struct observe *o, const struct observe_vcpu *v, hv_time t)
{
	hv_time due = v->runstate == HV_RUNNING ? t : v->stopped;
	int64_t run = 0, all = 0;

	if (v->settled != due)
		ledger_broken(o, NAME ": running is reported up to %lld ns, expected up to %lld",
			      v->domain, v->id, (long long)v->settled, (long long)due);
	for (unsigned c = 0; c < OBSERVE_NR_TIMES; c++) {
		all += v->ns[c];
		run += c < OBSERVE_NR_RUN ? v->ns[c] : 0;
	}
	if (run != v->ran)
		ledger_broken(o, NAME ": its running categories sum to %lld ns, but it ran %lld",
			      v->domain, v->id, (long long)run, (long long)v->ran);
	if (all != t - v->born)
		ledger_broken(o, NAME ": its categories sum to %lld ns, but %lld have passed",
			      v->domain, v->id, (long long)all, (long long)(t - v->born));
	if (v->engine && engine_time(v, HV_RUNNING, t) - v->engine_ran != v->ran)
		ledger_broken(o, NAME ": it ran %lld ns, by the engine's runstates %lld", v->domain,
			      v->id, (long long)v->ran,
			      (long long)(engine_time(v, HV_RUNNING, t) - v->engine_ran));
	if (v->engine &&
	    engine_time(v, HV_BLOCKED, t) - v->engine_blocked != v->ns[OBSERVE_BLOCKED])
		ledger_broken(o, NAME ": it was blocked %lld ns, by the engine's runstates %lld",
			      v->domain, v->id, (long long)v->ns[OBSERVE_BLOCKED],
			      (long long)(engine_time(v, HV_BLOCKED, t) - v->engine_blocked));
}

void ledger_gone(struct observe *o, struct observe_vcpu *v, hv_time t)
{
	if (v->gone >= 0)
		return;
	close_interval(v, t);
	end_wait(v, t);
	check_vcpu(o, v, t);
	v->gone = t;
	v->engine = NULL;
}

/* ------------------------------------------------------------------ pCPUs and isolation */

/* Are two domains in guest mode on this core now? */
static bool core_is_shared(const struct observe *o, uint32_t first)
{
	const struct observe_pcpu *a = NULL;
	uint32_t c = first;

	do {
		const struct observe_pcpu *p = &o->pcpu[c];

		if (p->mode == OBSERVE_PCPU_GUEST) {
			if (a && a->domain != p->domain)
				return true;
			a = p;
		}
		c = p->sibling;
	} while (c != first);
	return false;
}

void observe_pcpu(struct observe *o, unsigned pcpu, hv_time t, enum observe_mode mode, int domain)
{
	struct observe_pcpu *p = &o->pcpu[pcpu];

	assert(pcpu < o->topology.nr_pcpus);
	assert(mode < OBSERVE_NR_MODES);
	if (mode != OBSERVE_PCPU_GUEST)
		domain = 0;
	if (mode == p->mode && domain == p->domain)
		return;
	t = ledger_clock(o, t);

	struct observe_pcpu *core = &o->pcpu[p->core_first];

	if (core->shared_since >= 0)
		core->shared += t - core->shared_since;
	p->ns[p->mode] += t - p->since;
	p->since = t;
	p->mode = mode;
	p->domain = domain;
	core->shared_since = core_is_shared(o, p->core_first) ? t : -1;
	if (o->log)
		log_write(o->log, &(struct log_record){.kind = LOG_PCPU,
						       .time = t,
						       .pcpu = pcpu,
						       .a = mode,
						       .domain = domain});
}

/* ------------------------------------------------------------------ window and laws */

/* Close every open interval at t. */
static void close_all(struct observe *o, hv_time t)
{
	for (uint32_t i = 1; i <= o->nr_vcpus; i++) {
		if (o->vcpu[i].gone < 0)
			close_interval(&o->vcpu[i], t);
	}
	for (unsigned c = 0; c < o->topology.nr_pcpus; c++) {
		struct observe_pcpu *p = &o->pcpu[c];

		p->ns[p->mode] += t - p->since;
		p->since = t;
		if (p->shared_since >= 0) {
			p->shared += t - p->shared_since;
			p->shared_since = t;
		}
	}
}

static void clear_vcpu(struct observe_vcpu *v, hv_time t)
{
	memset(v->ns, 0, sizeof(v->ns));
	memset(&v->counts, 0, sizeof(v->counts));
	v->max_wake = v->max_ready = v->max_wait = v->idle_runnable = v->ran = 0;
	v->born = t;
	if (v->gone >= 0)
		v->gone = t; /* no life in this window */
	if (v->engine) {
		v->engine_ran = engine_time(v, HV_RUNNING, t);
		v->engine_blocked = engine_time(v, HV_BLOCKED, t);
	}
}

void observe_mark(struct observe *o, hv_time t)
{
	struct observe_violation ignored;

	observe_check(o, t, &ignored); /* a law broken during warm-up is remembered */
	t = o->now;
	for (uint32_t i = 1; i <= o->nr_vcpus; i++)
		clear_vcpu(&o->vcpu[i], t);
	for (unsigned c = 0; c < o->topology.nr_pcpus; c++) {
		struct observe_pcpu *p = &o->pcpu[c];

		memset(p->ns, 0, sizeof(p->ns));
		p->switches = p->passes = p->tickles = p->wasted = 0;
		p->shared = 0;
	}
	for (uint32_t i = 0; i < o->nr_domains; i++) {
		histogram_reset(&o->domain[i].wake);
		histogram_reset(&o->domain[i].ready);
	}
	o->records = o->resets = o->rqmoves = o->missed = 0;
	o->start = t;
	if (o->log)
		log_write(o->log, &(struct log_record){.kind = LOG_MARK, .time = t});
}

bool observe_check(struct observe *o, hv_time t, struct observe_violation *out)
{
	int64_t in_guest = 0, guest_mode = 0;

	assert(out);
	t = ledger_clock(o, t);
	close_all(o, t);
	for (uint32_t i = 1; i <= o->nr_vcpus; i++) {
		const struct observe_vcpu *v = &o->vcpu[i];

		if (v->gone < 0)
			check_vcpu(o, v, t);
		for (unsigned c = OBSERVE_USEFUL; c < OBSERVE_HYPERVISOR; c++)
			in_guest += v->ns[c];
	}
	for (unsigned c = 0; c < o->topology.nr_pcpus; c++) {
		const struct observe_pcpu *p = &o->pcpu[c];
		int64_t sum = 0;

		for (unsigned m = 0; m < OBSERVE_NR_MODES; m++)
			sum += p->ns[m];
		guest_mode += p->ns[OBSERVE_PCPU_GUEST];
		if (sum != t - o->start)
			ledger_broken(
				o, "pCPU %u: its categories sum to %lld ns, but %lld have passed",
				c, (long long)sum, (long long)(t - o->start));
	}
	if (in_guest != guest_mode)
		ledger_broken(o, "the vCPUs were in their guests for %lld ns, the pCPUs for %lld",
			      (long long)in_guest, (long long)guest_mode);
	if (o->broken)
		*out = o->first;
	else
		out->text[0] = '\0';
	return !o->broken;
}

bool observe_stalled(const struct observe *o, hv_time t, hv_time limit, struct observe_stall *out)
{
	*out = (struct observe_stall){.vcpu = 0};
	for (uint32_t i = 1; i <= o->nr_vcpus; i++) {
		const struct observe_vcpu *v = &o->vcpu[i];
		int64_t open = v->ready_since >= 0 ? t - v->ready_since : 0;
		int64_t lasted = open > v->max_ready ? open : v->max_ready;

		assert(open >= 0);
		if (lasted > out->lasted) {
			out->vcpu = i;
			out->lasted = lasted;
			out->since = open == lasted ? v->ready_since : v->max_ready_since;
		}
	}
	return out->vcpu && out->lasted > limit;
}

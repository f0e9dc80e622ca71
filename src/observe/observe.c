/*
 * One struct observe per run: its life, and the way of a trace record to ledger, counters,
 * histograms and log. Laws and interface in observe.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/state.h"

const char *const observe_time_names[OBSERVE_NR_TIMES] = {
	"useful", "smt",  "cold",      "memory", "spin",    "hypervisor",
	"queue",  "core", "migration", "cap",	 "offline", "blocked",
};

const char *const observe_mode_names[OBSERVE_NR_MODES] = {
	"offline", "guest", "idle", "forced-idle", "hypervisor",
};

/* ------------------------------------------------------------------ life */

static int copy_topology(struct observe *o, const struct hv_topology *t)
{
	unsigned nr = t->nr_pcpus;
	uint32_t *to = calloc((size_t)3 * nr, sizeof(*to));

	if (!to)
		return -HV_ENOMEM;
	memcpy(to, t->core, nr * sizeof(*to));
	memcpy(to + nr, t->socket, nr * sizeof(*to));
	memcpy(to + 2 * nr, t->node, nr * sizeof(*to));
	o->numbers = to;
	o->topology = (struct hv_topology){
		.nr_pcpus = nr, .core = to, .socket = to + nr, .node = to + 2 * nr};
	return 0;
}

/* Link the pCPUs of each core in a ring, all of them pointing to the lowest one. */
static void link_siblings(struct observe *o)
{
	const struct hv_topology *t = &o->topology;

	for (uint32_t c = 0; c < t->nr_pcpus; c++) {
		struct observe_pcpu *p = &o->pcpu[c];
		uint32_t first = 0;

		while (t->core[first] != t->core[c])
			first++;
		p->core_first = first;
		p->since = o->start;
		p->shared_since = -1;
		p->sibling = c;
		if (first != c) {
			p->sibling = o->pcpu[first].sibling;
			o->pcpu[first].sibling = c;
		}
	}
}

int observe_create(const struct observe_config *config, struct observe **out)
{
	const struct hv_topology *t = config->topology;
	struct observe *o;
	int err;

	if (!t || t->nr_pcpus < 1 || t->nr_pcpus > HV_MAX_PCPUS || config->start < 0)
		return -HV_EINVAL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -HV_ENOMEM;
	o->start = o->now = config->start;
	o->pcpu = calloc(t->nr_pcpus, sizeof(*o->pcpu));
	err = o->pcpu ? copy_topology(o, t) : -HV_ENOMEM;
	if (!err && (config->log_path || config->hash))
		err = log_writer_create(config, &o->log);
	if (err) {
		observe_destroy(o);
		return err;
	}
	link_siblings(o);
	*out = o;
	return 0;
}

int observe_close(struct observe *o, hv_time t)
{
	struct observe_violation ignored;
	int err = 0;

	observe_check(o, t, &ignored);
	if (o->log)
		err = log_writer_close(o->log, o->now);
	return err ? err : o->error;
}

int observe_error(const struct observe *o)
{
	int err = o->log ? log_writer_error(o->log) : 0;

	return err ? err : o->error;
}

void observe_destroy(struct observe *o)
{
	if (!o)
		return;
	log_writer_destroy(o->log);
	for (uint32_t i = 0; i < o->nr_domains; i++) {
		free(o->domain[i].name);
		histogram_fini(&o->domain[i].wake);
		histogram_fini(&o->domain[i].ready);
	}
	free(o->domain);
	free(o->vcpu);
	free(o->pcpu);
	free(o->numbers);
	free(o);
}

uint64_t observe_hash(const struct observe *o)
{
	return o->log ? log_writer_hash(o->log) : 0;
}

/* ------------------------------------------------------------------ domains and vCPUs */

/* Index of the domain's results, or nr_domains. */
static uint32_t find_domain(const struct observe *o, int id)
{
	uint32_t i = o->last_domain;

	if (i < o->nr_domains && o->domain[i].id == id)
		return i;
	for (i = 0; i < o->nr_domains; i++) {
		if (o->domain[i].id == id)
			break;
	}
	return i;
}

static int add_domain(struct observe *o, int id, const char *name)
{
	struct observe_domain *d;

	if (o->nr_domains == o->room_domains) {
		uint32_t room = o->room_domains ? 2 * o->room_domains : 16;

		d = realloc(o->domain, room * sizeof(*d));
		if (!d)
			return -HV_ENOMEM;
		o->domain = d;
		o->room_domains = room;
	}
	d = &o->domain[o->nr_domains];
	*d = (struct observe_domain){.id = id, .name = strdup(name)};
	if (!d->name || histogram_init(&d->wake) || histogram_init(&d->ready)) {
		free(d->name);
		histogram_fini(&d->wake);
		return -HV_ENOMEM;
	}
	o->last_domain = o->nr_domains++;
	return 0;
}

int observe_domain_name(struct observe *o, int id, const char *name)
{
	uint32_t i = find_domain(o, id);

	assert(name);
	if (i == o->nr_domains) {
		int err = add_domain(o, id, name);

		if (err)
			return err;
	} else if (strcmp(o->domain[i].name, name) != 0) {
		char *copy = strdup(name);

		if (!copy)
			return -HV_ENOMEM;
		free(o->domain[i].name);
		o->domain[i].name = copy;
	} else {
		return 0;
	}
	if (o->log)
		log_write(o->log,
			  &(struct log_record){
				  .kind = LOG_DOMAIN, .time = o->now, .domain = id, .name = name});
	return 0;
}

const struct observe_domain *observe_domain_find(const struct observe *o, int id)
{
	uint32_t i = find_domain(o, id);

	return i < o->nr_domains ? &o->domain[i] : NULL;
}

static int make_room(struct observe *o)
{
	uint32_t room = o->room_vcpus ? 2 * o->room_vcpus : 64;
	struct observe_vcpu *more;

	if (o->nr_vcpus + 1 < o->room_vcpus)
		return 0;
	more = realloc(o->vcpu, room * sizeof(*more));
	if (!more)
		return -HV_ENOMEM;
	o->vcpu = more;
	o->room_vcpus = room;
	return 0;
}

uint32_t observe_vcpu_register(struct observe *o, struct hv_vcpu *engine, hv_time t)
{
	int id = engine->domain->id;
	struct observe_vcpu *v;
	char name[16];

	if (engine->observer)
		return engine->observer;
	assert(!engine->idle);
	t = ledger_clock(o, t);
	snprintf(name, sizeof(name), "d%d", id);
	if (make_room(o) ||
	    (find_domain(o, id) == o->nr_domains && observe_domain_name(o, id, name))) {
		o->error = -HV_ENOMEM;
		return 0;
	}
	v = &o->vcpu[++o->nr_vcpus];
	*v = (struct observe_vcpu){.domain = id, .id = engine->id, .group = find_domain(o, id)};
	o->last_domain = v->group;
	o->domain[v->group].nr_vcpus++;
	ledger_born(o, v, engine, t);
	engine->observer = o->nr_vcpus;
	if (o->log)
		log_write(o->log, &(struct log_record){.kind = LOG_VCPU,
						       .time = t,
						       .vcpu = o->nr_vcpus,
						       .domain = id,
						       .a = engine->id,
						       .b = v->runstate});
	return o->nr_vcpus;
}

void observe_vcpu_gone(struct observe *o, struct hv_vcpu *v, hv_time t)
{
	uint32_t number = observe_vcpu_register(o, v, t);

	if (!number || o->vcpu[number].gone >= 0)
		return;
	t = ledger_clock(o, t);
	ledger_gone(o, &o->vcpu[number], t);
	if (o->log)
		log_write(o->log,
			  &(struct log_record){.kind = LOG_GONE, .time = t, .vcpu = number});
}

/* ------------------------------------------------------------------ trace records */

/* Number of a vCPU; 0 for an idle one (or without memory for a new one). */
static inline uint32_t number_of(struct observe *o, struct hv_vcpu *v, hv_time t)
{
	if (!v || v->idle)
		return 0;
	return v->observer ? v->observer : observe_vcpu_register(o, v, t);
}

static inline uint32_t number_of_unit(struct observe *o, struct hv_unit *u, hv_time t)
{
	return !u || u->idle ? 0 : number_of(o, u->vcpu, t);
}

/* Records of one vCPU. */
static void trace_vcpu(struct observe *o, const struct hv_trace *ev, struct log_record *r)
{
	struct observe_vcpu *v = &o->vcpu[r->vcpu];

	switch (ev->kind) {
	case HV_TRACE_RUNSTATE:
		assert(ev->a >= 0 && ev->a < HV_NR_RUNSTATES && ev->b >= 0 &&
		       ev->b < HV_NR_RUNSTATES);
		ledger_runstate(o, v, r->time, (enum hv_runstate_kind)ev->a,
				(enum hv_runstate_kind)ev->b, ev->vcpu->pcpu);
		break;
	case HV_TRACE_WAKE:
		ledger_wake(v, r->time);
		break;
	case HV_TRACE_BLOCK:
		v->counts.blocks++;
		break;
	case HV_TRACE_YIELD:
		v->counts.yields++;
		break;
	case HV_TRACE_PAUSE:
		ledger_pause(v, r->time, (uint32_t)ev->a, ev->b);
		break;
	case HV_TRACE_FORCE:
		break;
	default:
		assert(false && "a record of a vCPU");
	}
}

/* Records of a pCPU or of a unit. */
static void trace_pcpu(struct observe *o, const struct hv_trace *ev)
{
	struct observe_pcpu *p = ev->pcpu < o->topology.nr_pcpus ? &o->pcpu[ev->pcpu] : NULL;

	switch (ev->kind) {
	case HV_TRACE_TICKLE:
		assert(p);
		p->tickles++;
		p->tickles_open++;
		break;
	case HV_TRACE_SWITCH:
		assert(p);
		p->passes++;
		p->switches++;
		p->tickles_open = 0;
		break;
	case HV_TRACE_CONT:
		assert(p);
		p->passes++;
		p->wasted += p->tickles_open;
		p->tickles_open = 0;
		break;
	case HV_TRACE_RESET:
		o->resets++;
		break;
	case HV_TRACE_RQMOVE:
		o->rqmoves++;
		break;
	case HV_TRACE_MISSED:
		o->missed += (uint64_t)ev->a;
		break;
	default:
		break;
	}
}

void observe_trace(struct observe *o, const struct hv_trace *ev)
{
	struct log_record r;

	r.kind = ev->kind;
	r.time = ledger_clock(o, ev->time);
	r.pcpu = ev->pcpu;
	r.a = ev->a;
	r.b = ev->b;
	r.prev = 0;
	o->records++;
	switch (ev->kind) {
	case HV_TRACE_WAKE:
	case HV_TRACE_BLOCK:
	case HV_TRACE_YIELD:
	case HV_TRACE_RUNSTATE:
	case HV_TRACE_PAUSE:
	case HV_TRACE_FORCE:
		r.pcpu = ev->vcpu->pcpu;
		r.vcpu = number_of(o, ev->vcpu, r.time);
		if (!r.vcpu)
			return; /* idle vCPUs: the SWITCH records tell */
		trace_vcpu(o, ev, &r);
		break;
	case HV_TRACE_SWITCH:
		r.prev = number_of_unit(o, ev->prev, r.time);
		r.vcpu = number_of_unit(o, ev->unit, r.time);
		trace_pcpu(o, ev);
		break;
	case HV_TRACE_TICKLE:
	case HV_TRACE_RESET:
	case HV_TRACE_MISSED:
	case HV_TRACE_ENTER:
		r.vcpu = 0;
		trace_pcpu(o, ev);
		break;
	default:
		r.vcpu = number_of_unit(o, ev->unit, r.time);
		trace_pcpu(o, ev);
		break;
	}
	if (!o->log)
		return;
	if (r.pcpu >= o->topology.nr_pcpus)
		r.pcpu = HV_NO_PCPU;
	log_write(o->log, &r);
}

/*
 * Boots the world of a script: machine, boot parameters, one pool with all pCPUs, one pass on each.
 * Nothing of this is recorded but the lines `meta` and `runqueue` at the end.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conform/world_state.h"

/*
 * Boot parameters of Xen's schedulers. One of a policy that this build does not have is accepted:
 * it has no effect on the policy of the script.
 */
static const char *const known_params[] = {
	"credit2_balance_over",		"credit2_balance_under",
	"credit2_cap_period_ms",	"credit2_load_precision_shift",
	"credit2_load_window_shift",	"credit2_runqueue",
	"load-balance-ratelimit",	"sched_credit2_max_cpus_runqueue",
	"sched_credit2_migrate_resist", "sched_credit_tslice_ms",
	"sched_ratelimit_us",		"sched_smt_power_savings",
	"tickle_one_idle_cpu",		"vcpu_migration_delay",
};

static bool is_known_param(const char *name)
{
	for (size_t i = 0; i < sizeof(known_params) / sizeof(known_params[0]); i++) {
		if (strcmp(known_params[i], name) == 0)
			return true;
	}
	return false;
}

/*
 * pCPU p: thread p mod T, core (p / T) mod C of its socket, socket p / (C * T), node socket * N /
 * S.
 */
static void create_machine(struct world *w)
{
	const struct script *s = w->s;
	uint32_t *core = w->topology;
	uint32_t *socket = core + s->nr_pcpus;
	uint32_t *node = socket + s->nr_pcpus;
	struct hv_topology topology = {s->nr_pcpus, core, socket, node};
	int rc;

	for (unsigned p = 0; p < s->nr_pcpus; p++) {
		core[p] = p / s->threads;
		socket[p] = p / (s->cores * s->threads);
		node[p] = socket[p] * s->nodes / s->sockets;
	}
	rc = hv_sys_create(&world_host, w, &topology, hv_policies, &w->sys);
	if (rc)
		world_stop(w, rc == -HV_ENOMEM ? REPLAY_NO_MEMORY : REPLAY_BROKEN,
			   "the engine was refused with error %d", rc);
}

static void set_params(struct world *w)
{
	const struct script *s = w->s;

	for (unsigned i = 0; i < s->nr_params; i++) {
		const struct script_param *p = &s->param[i];

		w->line = p->number;
		if (strcmp(p->name, "sched-gran") == 0)
			continue; /* pool 0 is created with it */
		switch (hv_param_set(w->sys, p->name, p->value)) {
		case -HV_ENOENT:
			if (!is_known_param(p->name))
				world_stop(w, REPLAY_REFUSED, "no boot parameter is named '%s'",
					   p->name);
			break;
		case -HV_EINVAL:
			world_stop(w, REPLAY_REFUSED, "'%s' is not a value of boot parameter %s",
				   p->value, p->name);
		default: /* taken, or corrected as Xen does */
			break;
		}
	}
	w->line = 0;
}

static void create_pool(struct world *w)
{
	const struct script *s = w->s;
	int rc;

	for (unsigned p = 0; p < s->nr_pcpus; p++) {
		rc = hv_pcpu_up(w->sys, p);
		if (rc)
			world_stop(w, rc == -HV_ENOMEM ? REPLAY_NO_MEMORY : REPLAY_BROKEN,
				   "pCPU %u was refused with error %d", p, rc);
	}
	w->line = s->sched_line;
	rc = hv_pool_create(w->sys, 0, s->sched, s->gran, &w->pool);
	if (rc == -HV_ENOENT)
		world_stop(w, REPLAY_REFUSED, "this build has no policy '%s'", s->sched);
	w->line = 0;
	for (unsigned p = 0; !rc && p < s->nr_pcpus; p++)
		rc = hv_pool_add_pcpu(w->pool, p);
	if (rc)
		world_stop(w, rc == -HV_ENOMEM ? REPLAY_NO_MEMORY : REPLAY_BROKEN,
			   "the pool was refused with error %d", rc);
}

/* Each pCPU makes one pass, from idle to idle. */
static void first_passes(struct world *w)
{
	for (unsigned p = 0; p < w->s->nr_pcpus; p++)
		world_drop_requests(w, p);
	for (unsigned p = 0; p < w->s->nr_pcpus; p++) {
		w->cpu = p;
		world_raise(w, p, REQUEST_SCHEDULE);
		world_drain(w);
		if (w->pcpu[p].loaded)
			world_stop(w, REPLAY_BROKEN, "pCPU %u did not stay idle at boot", p);
	}
	w->cpu = 0;
	if (w->requests.nr || w->nr_waiters)
		world_stop(w, REPLAY_BROKEN, "a pCPU was asked to reschedule at boot");
}

static void record_meta(struct world *w)
{
	const struct script *s = w->s;

	record_begin(w->out, w->now, "meta");
	record_text(w->out, "sched", s->sched);
	record_text(w->out, "xen", RECORD_XEN);
	record_int(w->out, "format", s->format);
	record_int(w->out, "cpus", s->nr_pcpus);
	record_int(w->out, "sockets", s->sockets);
	record_int(w->out, "cores", s->cores);
	record_int(w->out, "threads", s->threads);
	record_int(w->out, "nodes", s->nodes);
	if (s->format > 1) {
		record_text(w->out, "gran", script_gran_names[s->gran]);
		record_int(w->out, "unit", w->pool->g);
	}
	record_end(w->out);
}

void world_boot(struct world *w)
{
	assert(!w->recording);
	create_machine(w);
	set_params(w);
	create_pool(w);
	first_passes(w);
	w->recording = true;
	record_meta(w);
	world_record_runqueues(w, false);
}

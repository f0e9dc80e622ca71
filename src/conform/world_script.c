/*
 * Executes script lines, and wakes vCPUs as scripts and guests do. Policy parameters that the
 * policy does not have are ignored, as Xen's generic layer does; a value that it refuses makes an
 * error line.
 */
#include <assert.h>
#include <string.h>

#include "conform/world_state.h"

static void put_vcpu_line(struct world *w, const char *event, const struct world_vcpu *g)
{
	record_begin(w->out, w->now, event);
	record_vcpu(w->out, "unit", g->domain, g->id);
	record_end(w->out);
}

void world_wake(struct world *w, struct world_vcpu *g)
{
	if (!(g->v->pause_flags & (HV_PF_DOWN | HV_PF_BLOCKED)))
		return;
	put_vcpu_line(w, "wake", g);
	world_guest_woken(w, g);
	/* When both flags are set only the second call finds the vCPU runnable: one wake. */
	hv_vcpu_up(g->v);
	hv_wake(g->v);
}

/* A refused change of parameters or affinity. */
void world_put_error(struct world *w, int rc)
{
	if (rc == 0 || rc == -HV_EOPNOTSUPP)
		return;
	if (rc == -HV_ENOMEM)
		world_stop(w, REPLAY_NO_MEMORY, "out of memory");
	record_begin(w->out, w->now, "error");
	record_int(w->out, "rc", rc);
	record_end(w->out);
}

/* Reads both parameters, replaces one, writes both back. */
static void set_params(struct world *w, struct hv_domain *d, const unsigned *weight,
		       const unsigned *cap)
{
	struct hv_domain_params params = {0};
	int rc = hv_domain_params_get(d, &params);

	/* Periods of rtds are not among them: what is read is not what is in force. */
	params.period_us = params.budget_us = 0;
	if (weight)
		params.weight = *weight;
	if (cap)
		params.cap = *cap;
	world_put_error(w, rc ? rc : hv_domain_params_set(d, &params));
}

/* A pool that the script names; to have it is the script's business. */
static struct hv_pool *named_pool(struct world *w, unsigned id)
{
	struct hv_pool *pool = hv_pool_find(w->sys, (int)id);

	if (!pool)
		world_stop(w, REPLAY_REFUSED, "there is no pool %u now", id);
	return pool;
}

static void set_ratelimit(struct world *w, const struct script_line *l)
{
	struct hv_pool *pool = named_pool(w, l->of_pool);
	struct hv_sched_params params = {0};
	int rc = hv_sched_params_get(pool, &params);

	params.ratelimit_us = l->value;
	world_put_error(w, rc ? rc : hv_sched_params_set(pool, &params));
}

/* The vCPU is a later one of its unit: no policy hears of it. */
static void put_join_line(struct world *w, const struct world_vcpu *g)
{
	record_begin(w->out, w->now, "join");
	record_vcpu(w->out, "vcpu", g->domain, g->id);
	record_vcpu(w->out, "unit", g->domain, g->v->unit->id);
	record_int(w->out, "cpu", g->v->pcpu);
	record_end(w->out);
}

static void create_domain(struct world *w, const struct script_line *l)
{
	const struct script_domain *sd = &w->s->domain[l->domain];
	struct hv_domain *d;
	int rc = hv_domain_create(named_pool(w, l->create.pool), sd->id, sd->vcpus, &d);
	uint8_t handle[HV_HANDLE_BYTES];

	if (rc == -HV_ENODEV)
		world_stop(w, REPLAY_REFUSED, "pool %u has no pCPU now", l->create.pool);
	if (!rc && (l->create.has_handle || l->create.control)) {
		world_handle((uint32_t)(l->create.has_handle ? l->create.handle : sd->id), handle);
		rc = hv_domain_identify(d, handle, l->create.control);
	}

	for (unsigned i = 0; !rc && i < sd->vcpus; i++) {
		struct world_vcpu *g = &w->vcpu[sd->first + i];

		g->domain = sd->id;
		g->id = i;
		g->on = HV_NO_PCPU;
		g->rest = REST_INFINITE;
		rc = hv_vcpu_create(d, g, NULL, NULL, &g->v);
		if (!rc && g->v->unit->vcpu != g->v)
			put_join_line(w, g);
		g->inserted = true; /* also when its domain moves and it gets another unit */
	}
	if (rc == -HV_ENOMEM)
		world_stop(w, REPLAY_NO_MEMORY, "out of memory");
	if (rc)
		world_stop(w, REPLAY_BROKEN, "domain %d was refused with error %d", sd->id, rc);
	w->domain[l->domain] = d;
	/* One after the other: a cap that is refused leaves the weight in force, as in Xen. */
	if (l->create.has_weight)
		set_params(w, d, &l->create.weight, NULL);
	if (l->create.has_cap)
		set_params(w, d, NULL, &l->create.cap);
}

/* block and yield execute where the vCPU runs; they have no effect when it does not run. */
static void stop_running(struct world *w, struct world_vcpu *g, enum script_op op)
{
	if (g->on == HV_NO_PCPU || g->frozen)
		return;
	w->cpu = g->on;
	if (op == SCRIPT_YIELD) {
		world_guest_yield(w, g);
		return;
	}
	put_vcpu_line(w, "block", g);
	due_drop(&w->actions, g->on);
	world_guest_stop(w, g);
	hv_block(g->v, NULL, NULL);
}

/* A line about one vCPU. */
static void vcpu_line(struct world *w, const struct script_line *l)
{
	struct world_vcpu *g = &w->vcpu[l->vcpu];

	assert(g->v);
	switch (l->op) {
	case SCRIPT_BEHAVE:
		world_guest_behave(w, g, &l->behaviour);
		break;
	case SCRIPT_WAKE:
		world_wake(w, g);
		break;
	case SCRIPT_BLOCK:
	case SCRIPT_YIELD:
		stop_running(w, g, l->op);
		break;
	case SCRIPT_PAUSE:
		if (hv_pause(g->v))
			world_stop(w, REPLAY_REFUSED, "the pause count is at its limit");
		break;
	case SCRIPT_UNPAUSE:
		/* Lowering a count of zero has no effect. */
		hv_unpause(g->v);
		break;
	case SCRIPT_DOWN:
		world_guest_stop(w, g);
		hv_vcpu_down(g->v);
		break;
	case SCRIPT_HARD:
		world_put_error(w, hv_affinity_set(g->v, &l->pcpus, NULL));
		break;
	case SCRIPT_SOFT:
		world_put_error(w, hv_affinity_set(g->v, NULL, &l->pcpus));
		break;
	default:
		assert(false && "a line about a vCPU");
	}
}

bool world_script_line(struct world *w, const struct script_line *l)
{
	switch (l->op) {
	case SCRIPT_DOMAIN:
		create_domain(w, l);
		break;
	case SCRIPT_WEIGHT:
		set_params(w, w->domain[l->domain], &l->value, NULL);
		break;
	case SCRIPT_CAP:
		set_params(w, w->domain[l->domain], NULL, &l->value);
		break;
	case SCRIPT_RATELIMIT:
		set_ratelimit(w, l);
		break;
	case SCRIPT_RTDS:
		world_unit_params(w, l);
		break;
	case SCRIPT_ARINC:
		world_table_set(w, l);
		break;
	case SCRIPT_ARINC_GET:
		world_table_get(w);
		break;
	case SCRIPT_POOL_CREATE:
	case SCRIPT_POOL_GRAN:
	case SCRIPT_POOL_DESTROY:
	case SCRIPT_POOL_ADD:
	case SCRIPT_POOL_REMOVE:
	case SCRIPT_POOL_MOVE:
	case SCRIPT_OFFLINE:
	case SCRIPT_ONLINE:
		return world_command(w, l);
	default:
		vcpu_line(w, l);
	}
	return true;
}

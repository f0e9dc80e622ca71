/*
 * Executes script lines about pools and hotplug (docs/conformance.md, "Pools and hotplug").
 *
 * Such a line may wait: for pCPUs that shall stop, by work for their idle contexts, for a vCPU that
 * is still loaded, or for the time of its next attempt. It looks when nothing else is to be done at
 * this time; meanwhile no further script line is executed. Work is what a tool stack and a
 * hypervisor do on the side; the engine only has to bring its pCPU to the idle vCPU.
 *
 * Laws: at most one command is under way; a pCPU is stopped from the end of the turn in which its
 * idle vCPU is loaded for the work until the command releases it; a refused command leaves the
 * engine as it was. What Xen leaves behind all the same is kept here: a pCPU stays locked after a
 * refused `offline` until it comes on line.
 */
#include <assert.h>
#include <stdio.h>

#include "conform/world_state.h"
#include "engine/engine.h"

/* Attempts of a removal, and the time between them in ns: what a tool stack does. */
#define ATTEMPTS	 20
#define BETWEEN_ATTEMPTS 10000

static const char *const names[] = {
	[SCRIPT_POOL_CREATE] = "pool-create",	[SCRIPT_POOL_GRAN] = "pool-gran",
	[SCRIPT_POOL_DESTROY] = "pool-destroy", [SCRIPT_POOL_ADD] = "pool-add",
	[SCRIPT_POOL_REMOVE] = "pool-remove",	[SCRIPT_POOL_MOVE] = "pool-move",
	[SCRIPT_OFFLINE] = "offline",		[SCRIPT_ONLINE] = "online",
};

/* ---- lines ---- */

static void put_pool(struct world *w, struct hv_pool *pool)
{
	unsigned nw = hv_mask_words(w->sys);
	struct hv_runqueue_info info;

	record_begin(w->out, w->now, "pool");
	record_int(w->out, "id", pool->id);
	record_text(w->out, "sched", pool->sched->policy->name);
	record_text(w->out, "gran", script_gran_names[pool->gran]);
	record_pcpus(w->out, "cpus", &pool->cpu_valid, nw);
	record_int(w->out, "domains", pool->nr_domains);
	record_end(w->out);
	for (unsigned i = 0; hv_runqueue_info(pool, i, &info) == 0; i++) {
		record_begin(w->out, w->now, "runqueue");
		record_int(w->out, "pool", pool->id);
		record_int(w->out, "id", info.id);
		record_pcpus(w->out, "cpus", &info.pcpus, nw);
		record_end(w->out);
	}
}

static void put_mask(struct world *w, const char *event, const struct hv_mask *mask)
{
	record_begin(w->out, w->now, event);
	record_pcpus(w->out, "cpus", mask, hv_mask_words(w->sys));
	record_end(w->out);
}

/* The result of the command, or of one attempt. */
static void put_rc(struct world *w, int rc)
{
	if (rc == -HV_ENOMEM)
		world_stop(w, REPLAY_NO_MEMORY, "out of memory");
	record_begin(w->out, w->now, "rc");
	record_text(w->out, "cmd", names[w->command.line->op]);
	record_int(w->out, "rc", rc);
	record_end(w->out);
}

/* And the state of all pools after it. */
static void put_result(struct world *w, int rc)
{
	struct hv_mask free;

	put_rc(w, rc);
	for (struct hv_pool *p = hv_pool_next(w->sys, 0); p; p = hv_pool_next(w->sys, p->id + 1))
		put_pool(w, p);
	hv_free_pcpus(w->sys, &free);
	put_mask(w, "free", &free);
	put_mask(w, "online", hv_online_mask(w->sys));
}

static void put_units(struct world *w, const struct hv_domain *d)
{
	char name[32];

	record_begin(w->out, w->now, "units");
	record_int(w->out, "domain", d->id);
	record_object_begin(w->out, "units");
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		snprintf(name, sizeof(name), "d%dv%u", d->id, i);
		record_vcpu(w->out, name, d->id, d->vcpus[i]->unit->id);
	}
	record_object_end(w->out);
	record_end(w->out);
}

/* ---- work ---- */

/* Work for the idle context of a pCPU; the world waits for it to stop. */
static void queue_work(struct world *w, unsigned pcpu)
{
	record_begin(w->out, w->now, "work");
	record_int(w->out, "cpu", pcpu);
	record_end(w->out);
	hv_work(w->sys, pcpu, true);
	hv_mask_set(&w->command.workers, pcpu);
}

/* Executes on the pCPU: it goes on. */
static void release(struct world *w, unsigned pcpu)
{
	assert(hv_mask_test(&w->command.workers, pcpu));
	world_begin_operation(w, pcpu);
	hv_mask_clear(&w->command.workers, pcpu);
	hv_work(w->sys, pcpu, false);
	world_go(w, pcpu);
	world_end_operation(w);
}

static bool all_stopped(const struct world *w)
{
	hv_mask_for_each(p, &w->command.workers, hv_mask_words(w->sys))
	{
		if (!w->pcpu[p].stopped)
			return false;
	}
	return true;
}

/* ---- commands ---- */

/* The line is done. */
static void finish(struct world *w, int rc)
{
	world_begin_operation(w, 0);
	put_result(w, rc);
	w->command.line = NULL;
}

static int find_pool(struct world *w, struct hv_pool **out)
{
	*out = hv_pool_find(w->sys, (int)w->command.line->pool.id);
	return *out ? 0 : -HV_ENOENT;
}

/* A command that never waits. */
static int at_once(struct world *w)
{
	const struct script_line *l = w->command.line;
	struct hv_pool *pool;
	unsigned nw = hv_mask_words(w->sys);
	struct hv_mask free, pcpus;
	int rc;

	if (l->op == SCRIPT_POOL_CREATE) {
		rc = hv_pool_create(w->sys, (int)l->pool.id, l->pool.sched, l->pool.gran, &pool);
		if (rc == -HV_ENOENT)
			world_stop(w, REPLAY_REFUSED, "this build has no policy '%s'",
				   l->pool.sched);
		return rc;
	}
	rc = find_pool(w, &pool);
	if (rc)
		return rc;
	if (l->op == SCRIPT_POOL_DESTROY)
		return l->pool.id == 0 ? -HV_EBUSY : hv_pool_destroy(pool);
	if (l->op == SCRIPT_POOL_GRAN)
		return hv_pool_set_gran(pool, l->pool.gran);
	assert(l->op == SCRIPT_POOL_ADD);
	/* The engine takes a second addition as done, an unfinished removal first, and no locks. */
	hv_free_pcpus(w->sys, &free);
	hv_gran_mask(w->sys, pool->gran, l->pool.pcpu, &pcpus);
	if (!hv_mask_test(&free, l->pool.pcpu) || !hv_mask_subset(&pcpus, &free, nw) ||
	    world_is_locked(w, pool->gran, l->pool.pcpu))
		return -HV_ENODEV;
	return hv_pool_add_pcpu(pool, l->pool.pcpu);
}

/*
 * Of the pCPUs that pCPU 0 shares its resource with Xen refuses none for that, as it looks at the
 * number only; the engine refuses them all. No script has one that Xen removes, but its other
 * refusals stand.
 */
static int start_removal(struct world *w, struct hv_pool *pool, unsigned pcpu)
{
	const struct hv_resource *r = hv_resource_of(w->sys, pcpu);

	if (pool->id == 0 && pcpu != 0 && r == hv_resource_of(w->sys, 0)) {
		if (r->pool != pool || w->sys->leaving)
			return -HV_EADDRNOTAVAIL;
		if (pool->nr_domains && hv_mask_equal(&pool->cpu_valid, &r->pcpus, w->sys->nw))
			return -HV_EBUSY;
	}
	return hv_pool_remove_start(pool, pcpu);
}

/* Where a removal goes on: not on the resource that leaves. HV_NO_PCPU: there is nowhere. */
static unsigned removal_worker(struct world *w)
{
	const struct hv_resource *boot = hv_resource_of(w->sys, 0);

	return w->sys->leaving != boot ? boot->master
				       : hv_mask_first(&w->pool->res_valid, w->sys->nw);
}

/* One attempt of a removal begins. */
static void begin_removal(struct world *w)
{
	struct hv_pool *pool;
	unsigned worker;
	int rc = find_pool(w, &pool);

	if (!rc)
		rc = start_removal(w, pool, w->command.line->pool.pcpu);
	if (rc) {
		finish(w, rc);
		return;
	}
	worker = removal_worker(w);
	if (worker == HV_NO_PCPU)
		finish(w, -HV_EINVAL); /* and the removal stays unfinished */
	else
		queue_work(w, worker);
}

/* Executes on the pCPU that has stopped. */
static void end_removal(struct world *w, unsigned worker)
{
	int rc = hv_leave_finish(hv_resource_of(w->sys, w->command.line->pool.pcpu));

	release(w, worker);
	if (rc != -HV_EAGAIN || ++w->command.attempts == ATTEMPTS) {
		finish(w, rc);
		return;
	}
	world_begin_operation(w, 0);
	put_rc(w, rc);
	w->command.retry = w->now + BETWEEN_ATTEMPTS;
}

/* Where the vCPUs of a domain are before it moves, for the `migrate` lines. */
static void remember_places(const struct hv_domain *d)
{
	for (unsigned i = 0; i < d->nr_vcpus; i++) {
		struct world_vcpu *g = d->vcpus[i]->host;

		g->place = d->vcpus[i]->unit->res->master;
	}
}

/* Looks once; true when the domain is there, or cannot go. */
static bool move_domain(struct world *w)
{
	struct hv_domain *d = w->domain[w->command.line->domain];
	struct hv_pool *pool;
	int rc = find_pool(w, &pool);

	if (!rc) {
		remember_places(d);
		rc = hv_domain_move(d, pool);
	}
	if (rc == -HV_EAGAIN)
		return false;
	if (!rc) {
		world_record_places(w, d);
		put_units(w, d);
	}
	put_result(w, rc);
	w->command.line = NULL;
	return true;
}

static void begin_hotplug(struct world *w)
{
	const struct script_line *l = w->command.line;
	unsigned p = l->pool.pcpu;
	bool off = l->op == SCRIPT_OFFLINE, on_line;

	on_line = p < w->s->nr_pcpus && hv_mask_test(hv_online_mask(w->sys), p);
	if (p >= w->s->nr_pcpus || (off && p == 0))
		finish(w, -HV_EINVAL);
	else if (on_line != off)
		finish(w, -HV_EEXIST);
	else
		queue_work(w, 0);
}

/* pCPU 0 has stopped. */
static void go_off_line(struct world *w, unsigned p)
{
	struct hv_mask others;
	int rc = -HV_EBUSY;

	if (!world_is_locked(w, HV_GRAN_CPU, p)) {
		w->pcpu[p].locked = true;
		rc = hv_pcpu_down_start(w->sys, p);
	}
	if (rc) {
		release(w, 0);
		finish(w, rc);
		return;
	}
	hv_mask_copy(&others, hv_online_mask(w->sys), hv_mask_words(w->sys));
	hv_mask_clear(&others, 0);
	hv_mask_for_each(c, &others, hv_mask_words(w->sys)) queue_work(w, c);
	world_end_operation(w);
}

/* All pCPUs have stopped. */
static void off_line(struct world *w, unsigned p)
{
	struct hv_mask others;
	int rc = hv_pcpu_down_finish(w->sys, p);

	if (rc)
		world_stop(w, rc == -HV_ENOMEM ? REPLAY_NO_MEMORY : REPLAY_BROKEN,
			   "pCPU %u does not go off line, error %d", p, rc);
	hv_mask_clear(&w->command.workers, p);
	world_drop_requests(w, p);
	w->pcpu[p].stopped = false;
	hv_mask_copy(&others, &w->command.workers, hv_mask_words(w->sys));
	hv_mask_clear(&others, 0);
	hv_mask_for_each(c, &others, hv_mask_words(w->sys)) release(w, c);
	release(w, 0);
	finish(w, 0);
}

static void on_line(struct world *w, unsigned p)
{
	int rc;

	w->pcpu[p].locked = false;
	rc = hv_pcpu_up(w->sys, p);
	release(w, 0);
	finish(w, rc);
}

/* What was waited for has happened: go on. */
static void go_on(struct world *w)
{
	const struct script_line *l = w->command.line;
	unsigned nw = hv_mask_words(w->sys);
	bool second = hv_mask_weight(&w->command.workers, nw) > 1;
	unsigned worker = hv_mask_first(&w->command.workers, nw);

	world_begin_operation(w, second && l->op == SCRIPT_OFFLINE ? l->pool.pcpu : worker);
	if (l->op == SCRIPT_POOL_REMOVE)
		end_removal(w, worker);
	else if (l->op == SCRIPT_ONLINE)
		on_line(w, l->pool.pcpu);
	else if (second)
		off_line(w, l->pool.pcpu);
	else
		go_off_line(w, l->pool.pcpu);
}

bool world_command_look(struct world *w)
{
	struct world_command *c = &w->command;
	bool done = true;

	if (!c->line)
		return false;
	w->line = c->line->number;
	if (c->line->op == SCRIPT_POOL_MOVE) {
		w->cpu = 0;
		done = move_domain(w);
		if (done)
			world_end_operation(w);
	} else if (c->retry != DUE_NEVER) {
		done = c->retry <= w->now;
		if (done) {
			c->retry = DUE_NEVER;
			world_begin_operation(w, 0);
			begin_removal(w);
			world_end_operation(w);
		}
	} else {
		done = all_stopped(w);
		if (done) {
			go_on(w);
			if (!c->line || c->retry != DUE_NEVER)
				world_end_operation(w);
		}
	}
	w->line = 0;
	return done;
}

bool world_command(struct world *w, const struct script_line *l)
{
	struct world_command *c = &w->command;

	assert(!c->line);
	c->line = l;
	c->attempts = 0;
	c->retry = DUE_NEVER;
	hv_mask_zero(&c->workers, hv_mask_words(w->sys));
	switch (l->op) {
	case SCRIPT_POOL_MOVE:
		return move_domain(w);
	case SCRIPT_POOL_REMOVE:
		begin_removal(w);
		break;
	case SCRIPT_OFFLINE:
	case SCRIPT_ONLINE:
		begin_hotplug(w);
		break;
	default:
		finish(w, at_once(w));
	}
	return true;
}

/* ---- locks ---- */

bool world_is_locked(const struct world *w, enum hv_gran gran, unsigned pcpu)
{
	const struct hv_resource *r = hv_resource_of(w->sys, pcpu);
	struct hv_mask pcpus;
	unsigned nw = hv_mask_words(w->sys);

	/* Those of its resource, or of the one that it would be in. */
	hv_mask_copy(&pcpus, &r->pcpus, nw);
	if (gran == HV_GRAN_CORE)
		hv_mask_or(&pcpus, &pcpus, hv_core_mask(w->sys, pcpu), nw);
	if (gran == HV_GRAN_SOCKET)
		hv_mask_or(&pcpus, &pcpus, hv_socket_mask(w->sys, pcpu), nw);
	hv_mask_for_each(c, &pcpus, nw)
	{
		if (w->pcpu[c].locked)
			return true;
	}
	return false;
}

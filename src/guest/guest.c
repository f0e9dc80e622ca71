/*
 * A guest's life: created from workloads, linked to its peers, started, measured, stopped
 * (workloads section 1).
 *
 * Law: everything a guest needs while it runs is allocated here, in blocks that hang off the guest.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "guest/kernel.h"

/* A block of memory of the guest; freed with it. */
struct block {
	struct block *next;
	max_align_t data[];
};

static void *guest_alloc(struct guest *g, size_t n, size_t size)
{
	struct block *b;

	if (!n)
		n = 1;
	if (size && n > (SIZE_MAX - sizeof(*b)) / size)
		return NULL;
	b = calloc(1, sizeof(*b) + n * size);
	if (!b)
		return NULL;
	b->next = g->blocks;
	g->blocks = b;
	return b->data;
}

void guest_params_default(struct guest_params *p)
{
	*p = (struct guest_params){
		.lock_variant = LOCK_PVTICKET,
		.spin_limit = 273067, /* 2^15 polls of 20 cycles at 2.4 GHz */
		.early_halt = 2133,   /* 256 polls of 20 cycles at 2.4 GHz */
		.ple_window = 0,
		.handover = 100,
		.tick = 4000000,
		.residual_mean = 100000000,
		.residual_work = 30000,
		.idle_entry = 2000,
		.period = 6000000,
		.min_slice = 750000,
		.rq_lock = 400,
		.system_call = 300,
		.pv = true,
	};
}

int64_t guest_draw(struct guest *g, const struct amount *a, const int64_t *reg, struct mc_rng *r)
{
	struct mc_dist d = {.a = a->a, .b = a->b};

	switch (a->kind) {
	case AMOUNT_CONST:
		return a->a;
	case AMOUNT_REGISTER:
		assert(reg);
		return reg[a->a] / a->b;
	case AMOUNT_UNIFORM:
		d.kind = MC_DIST_UNIFORM;
		break;
	case AMOUNT_EXP:
		d.kind = MC_DIST_EXP;
		d.table = g->exp_table;
		break;
	case AMOUNT_LOGNORMAL:
		d.kind = MC_DIST_LOGNORMAL;
		d.table = mc_table(g->machine, MC_DIST_LOGNORMAL, a->b); /* filled at creation */
		break;
	}
	return mc_dist_draw(&d, r);
}

void guest_law(struct guest *g, const char *law, const struct task *t)
{
	mc_fail(g->machine, MC_FAULT_LAW, "VM %s, task %u, op %u of %s: %s", g->config->name,
		t->number, t->pc, t->program ? t->program->name : "a partner", law);
}

/* FNV-1a: streams hang on the name, so that adding a VM shifts nothing. */
static uint64_t name_key(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return (uint64_t)h << 32;
}

/* Entities of timers: ties are broken by VM, then by what it is for. */
static uint32_t timer_entity(const struct guest *g, uint32_t n)
{
	return (g->vm->index << 14 | (n & 0x3fff)) & 0xffffff;
}

/* --- Creation ------------------------------------------------------------------------------- */

static int fill_table(struct guest *g, const struct amount *a)
{
	if (a->kind == AMOUNT_LOGNORMAL && !mc_table(g->machine, MC_DIST_LOGNORMAL, a->b))
		return -HV_ENOMEM;
	return 0;
}

/* Every lognormal table that a program may need. */
static int fill_tables(struct guest *g, const struct workload *w)
{
	int err = 0;

	for (uint32_t i = 0; i < w->n_programs; i++)
		for (uint32_t k = 0; k < w->program[i].n_ops && !err; k++)
			err = fill_table(g, &w->program[i].op[k].amount);
	for (uint32_t i = 0; i < w->n_backgrounds && !err; i++)
		err = fill_table(g, &w->background[i].partner_work);
	for (uint32_t i = 0; i < w->n_devices && !err; i++)
		err = fill_table(g, &w->device[i].latency);
	for (uint32_t i = 0; i < w->n_groups && !err; i++)
		err = fill_table(g, &w->group[i].start);
	return err;
}

static int create_objects(struct guest *g, struct instance *in)
{
	const struct workload *w = in->w;

	in->cls = guest_alloc(g, w->n_classes, sizeof(*in->cls));
	in->partner_bg = guest_alloc(g, w->n_backgrounds, sizeof(*in->partner_bg));
	in->lock = guest_alloc(g, w->n_locks, sizeof(*in->lock));
	in->barrier = guest_alloc(g, w->n_barriers, sizeof(*in->barrier));
	in->semaphore = guest_alloc(g, w->n_semaphores, sizeof(*in->semaphore));
	in->channel = guest_alloc(g, w->n_channels, sizeof(*in->channel));
	in->pool = guest_alloc(g, w->n_pools, sizeof(*in->pool));
	in->device = guest_alloc(g, w->n_devices, sizeof(*in->device));
	if (!in->cls || !in->partner_bg || !in->lock || !in->barrier || !in->semaphore ||
	    !in->channel || !in->pool || !in->device)
		return -HV_ENOMEM;
	for (uint32_t i = 0; i < w->n_classes; i++) {
		const struct work_class *c = &w->cls[i];

		in->cls[i] = (struct mc_class){.sigma = c->sigma,
					       .mu = c->mu,
					       .ws = c->working_set,
					       .bw = c->bandwidth,
					       .shared = c->shared_set};
		if (c->shared_set && c->working_set > g->vm->shared_ws)
			g->vm->shared_ws = c->working_set;
	}
	for (uint32_t i = 0; i < w->n_backgrounds; i++) {
		in->partner_bg[i] = w->background[i];
		in->partner_bg[i].partner_rate = 0;
	}
	for (uint32_t i = 0; i < w->n_locks; i++) {
		in->lock[i] = guest_alloc(g, w->lock[i].count, sizeof(*in->lock[i]));
		if (!in->lock[i])
			return -HV_ENOMEM;
	}
	for (uint32_t i = 0; i < w->n_semaphores; i++)
		in->semaphore[i].count = w->semaphore[i].initial;
	for (uint32_t i = 0; i < w->n_channels; i++) {
		in->channel[i].desc = &w->channel[i];
		in->channel[i].real = w->channel[i].vm ? NULL : &in->channel[i];
	}
	for (uint32_t i = 0; i < w->n_pools; i++) {
		struct pool *p = &in->pool[i];

		p->desc = &w->pool[i];
		p->left = guest_alloc(g, p->desc->directories, sizeof(*p->left));
		p->ready = guest_alloc(g, p->desc->directories, sizeof(*p->ready));
		if (!p->left || !p->ready)
			return -HV_ENOMEM;
	}
	return fill_tables(g, w);
}

static bool needs_partner(const struct workload *w, const struct program *p)
{
	for (uint32_t i = 0; i < p->n_ops; i++)
		if (p->op[i].kind == OP_COMPUTE && p->op[i].arg >= 0 &&
		    w->background[p->op[i].arg].partner_rate)
			return true;
	return false;
}

static uint64_t count_tasks(const struct workload *w)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < w->n_groups; i++)
		n += w->group[i].count *
		     (1ULL + needs_partner(w, &w->program[w->group[i].program]));
	for (uint32_t i = 0; i < w->n_pools; i++)
		n += w->pool[i].tokens * (1ULL + needs_partner(w, &w->program[w->pool[i].program]));
	return n;
}

static void init_streams(struct task *t, uint64_t entity, bool partner)
{
	uint64_t seed = mc_seed(t->guest->machine);

	mc_rng_init(&t->rng, seed, entity, PURPOSE_PROGRAM);
	mc_rng_init(&t->rng_partner, seed, entity, PURPOSE_PARTNER);
	mc_rng_init(&t->rng_lock, seed, entity, partner ? PURPOSE_PARTNER_LOCK : PURPOSE_LOCK);
	mc_rng_init(&t->rng_shootdown, seed, entity,
		    partner ? PURPOSE_PARTNER_SHOOTDOWN : PURPOSE_SHOOTDOWN);
}

static struct task *new_task(struct guest *g, struct instance *in, enum task_kind kind,
			     uint32_t program, uint32_t cls)
{
	struct task *t = &g->task[g->n_tasks];

	t->guest = g;
	t->inst = in;
	t->kind = kind;
	t->number = g->n_tasks++;
	t->state = TASK_ASLEEP;
	t->pinned = -1;
	t->process = true;
	t->vcpu = &g->vcpu[0];
	t->cls = &in->cls[cls];
	t->program = &in->w->program[program];
	t->job = UINT32_MAX;
	task_begin(t);
	init_streams(t, g->key | t->number, false);
	task_timer_init(t, timer_entity(g, t->number));
	return t;
}

static void new_partner(struct task *owner)
{
	struct guest *g = owner->guest;
	struct task *t;

	if (!needs_partner(owner->inst->w, owner->program))
		return;
	t = new_task(g, owner->inst, TASK_PARTNER, 0, 0);
	t->program = NULL;
	t->cls = owner->cls;
	t->partner = owner;
	owner->partner = t;
	init_streams(t, g->key | owner->number, true);
}

static void create_tasks(struct guest *g, struct instance *in)
{
	const struct workload *w = in->w;

	for (uint32_t i = 0; i < w->n_groups; i++) {
		const struct task_group *d = &w->group[i];

		for (uint32_t k = 0; k < d->count; k++) {
			struct task *t = new_task(g, in, TASK_PROGRAM, d->program, d->cls);

			t->process = d->count == 1; /* else threads of one process */
			t->group = d;
			if (d->placement != PLACE_ANY) {
				uint32_t n = d->vcpu + (d->placement == PLACE_EACH ? k : 0);

				t->pinned = (int32_t)(n % g->config->vcpus);
				t->vcpu = &g->vcpu[t->pinned];
			}
		}
	}
	for (uint32_t i = 0; i < w->n_pools; i++) {
		for (uint32_t k = 0; k < w->pool[i].tokens; k++) {
			struct task *t =
				new_task(g, in, TASK_WORKER, w->pool[i].program, w->pool[i].cls);

			t->pool = &in->pool[i];
			t->pc = t->program->n_ops;
			waitq_push(&t->pool->idle, t);
		}
	}
	for (uint32_t n = g->n_tasks, i = 0; i < n; i++)
		if (g->task[i].inst == in && g->task[i].kind != TASK_PARTNER)
			new_partner(&g->task[i]);
}

static int create_vcpus(struct guest *g)
{
	const struct guest_config *c = g->config;
	uint32_t factor = 1;

	g->vcpu = guest_alloc(g, c->vm->max_vcpus, sizeof(*g->vcpu));
	g->mask_words = (c->vm->max_vcpus + 63) / 64;
	g->idle = guest_alloc(g, g->mask_words, sizeof(*g->idle));
	if (!g->vcpu || !g->idle)
		return -HV_ENOMEM;
	for (uint32_t i = 0; i < c->vm->max_vcpus; i++) {
		struct vcpu *v = &g->vcpu[i];
		int err = mc_vcpu_create(c->vm, c->hard ? &c->hard[i] : NULL,
					 c->soft ? &c->soft[i] : NULL, &guest_vcpu_ops, v, &v->mv);

		if (err)
			return err;
		v->guest = g;
		v->id = i;
		v->call_mask = guest_alloc(g, g->mask_words, sizeof(*v->call_mask));
		if (!v->call_mask)
			return -HV_ENOMEM;
		g->nr_vcpus++;
		tick_init(v, timer_entity(g, 0x3fff - 2 * i));
		residual_init(v, timer_entity(g, 0x3ffe - 2 * i));
	}
	while (c->vcpus >> factor)
		factor++;
	g->min_slice = g->p.min_slice * factor; /* 1 + floor(log2 vCPUs) */
	return 0;
}

static int create(struct guest *g)
{
	const struct guest_config *c = g->config;
	uint64_t tasks = 0;
	int err;

	for (unsigned i = 0; i < c->n_workloads; i++) {
		struct workload_fault fault;

		if (workload_check(c->workload[i], &fault))
			return -HV_EINVAL;
		tasks += count_tasks(c->workload[i]);
	}
	if (!c->vcpus || c->vcpus > c->vm->max_vcpus || tasks > WORKLOAD_TASKS)
		return -HV_EINVAL;
	g->exp_table = mc_table(g->machine, MC_DIST_EXP, 0);
	g->inst = guest_alloc(g, c->n_workloads, sizeof(*g->inst));
	g->task = guest_alloc(g, (size_t)tasks, sizeof(*g->task));
	if (!g->exp_table || !g->inst || !g->task)
		return -HV_ENOMEM;
	err = create_vcpus(g);
	for (unsigned i = 0; i < c->n_workloads && !err; i++) {
		struct instance *in = &g->inst[g->n_inst++];

		in->w = c->workload[i];
		in->guest = g;
		in->first = i == 0;
		err = create_objects(g, in);
		if (!err)
			create_tasks(g, in);
	}
	assert(err || g->n_tasks == tasks);
	return err;
}

int guest_create(const struct guest_config *config, struct guest **out)
{
	struct guest *g = calloc(1, sizeof(*g));
	int err;

	*out = NULL;
	if (!g)
		return -HV_ENOMEM;
	g->machine = config->vm->machine;
	g->vm = config->vm;
	g->our_config = *config;
	g->config = &g->our_config;
	g->p = config->params;
	g->cost = &mc_params(g->machine)->cost;
	g->key = name_key(config->name);
	/* Kernel work besides tasks: generic, and small. */
	g->kernel_class = (struct mc_class){.sigma = MC_ONE * 58 / 100,
					    .mu = MC_ONE * 15 / 100,
					    .ws = 16384,
					    .bw = 0,
					    .shared = false};
	config->vm->guest = g;
	err = create(g);
	if (err)
		guest_destroy(g);
	else
		*out = g;
	return err;
}

void guest_destroy(struct guest *g)
{
	if (!g)
		return;
	guest_stop(g); /* its timers lie in its own memory */
	while (g->blocks) {
		struct block *b = g->blocks;

		g->blocks = b->next;
		free(b);
	}
	free(g);
}

/* --- Peers ---------------------------------------------------------------------------------- */

static struct channel *find_channel(struct guest *g, const char *name)
{
	for (uint32_t i = 0; i < g->n_inst; i++)
		for (uint32_t k = 0; k < g->inst[i].w->n_channels; k++) {
			struct channel *c = &g->inst[i].channel[k];

			if (!c->desc->vm && !strcmp(c->desc->name, name))
				return c;
		}
	return NULL;
}

/* 0 also when the other VM is not there yet. */
static int link_channel(struct guest *const *guests, unsigned n, struct channel *c)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(guests[i]->config->name, c->desc->vm))
			continue;
		c->real = find_channel(guests[i], c->desc->name);
		if (!c->real)
			return -HV_ENOENT;
		channel_linked(c);
		return 0;
	}
	return 0;
}

static int link_guest(struct guest *const *guests, unsigned n, struct guest *g, const char **vm,
		      const char **channel)
{
	for (uint32_t k = 0; k < g->n_inst; k++) {
		for (uint32_t i = 0; i < g->inst[k].w->n_channels; i++) {
			struct channel *c = &g->inst[k].channel[i];

			if (c->real || !link_channel(guests, n, c))
				continue;
			*vm = c->desc->vm;
			*channel = c->desc->name;
			return -HV_ENOENT;
		}
	}
	return 0;
}

int guest_link(struct guest *const *guests, unsigned n, const char **vm, const char **channel)
{
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++)
		err = link_guest(guests, n, guests[i], vm, channel);
	return err;
}

/* --- Running -------------------------------------------------------------------------------- */

static void vcpu_on(struct vcpu *v)
{
	v->online = true;
	sched_set_idle(v);
	hv_vcpu_up(v->mv->hv);
}

static void start_task(struct guest *g, struct task *t)
{
	struct mc_rng rng;
	int64_t delay;

	mc_rng_init(&rng, mc_seed(g->machine), g->key | t->number, PURPOSE_START);
	delay = guest_draw(g, &t->group->start, t->reg, &rng);
	if (delay) {
		t->step = STEP_WAIT;
		mc_timer_set(&t->timer, mc_now(g->machine) + delay);
	} else {
		waitq_push(&t->vcpu->fired, t); /* seen when the vCPU first runs */
	}
}

void guest_start(struct guest *g)
{
	assert(!g->stopped);
	g->measured_from = g->run_start = mc_now(g->machine);
	for (uint32_t i = 0; i < g->n_tasks; i++)
		if (g->task[i].kind == TASK_PROGRAM)
			start_task(g, &g->task[i]);
	for (uint32_t i = 0; i < g->config->vcpus; i++)
		vcpu_on(&g->vcpu[i]);
}

void guest_stop(struct guest *g)
{
	g->stopped = true;
	for (uint32_t i = 0; i < g->n_tasks; i++)
		mc_timer_cancel(&g->task[i].timer);
	for (uint32_t i = 0; i < g->nr_vcpus; i++) {
		mc_timer_cancel(&g->vcpu[i].tick);
		mc_timer_cancel(&g->vcpu[i].residual);
	}
}

void guest_set_vcpus(struct guest *g, unsigned n)
{
	assert(n >= 1 && n <= g->nr_vcpus);
	for (uint32_t i = 0; i < g->nr_vcpus; i++) {
		struct vcpu *v = &g->vcpu[i];

		if (i < n) {
			v->going_off = false;
			if (!v->online)
				vcpu_on(v);
		} else if (v->online) {
			v->going_off = true;
			mc_interrupt(v->mv, NULL, IRQ_RESCHED);
		}
	}
}

/* --- Results -------------------------------------------------------------------------------- */

void guest_run_done(struct guest *g)
{
	hv_time now = mc_now(g->machine);
	int64_t elapsed = now - g->run_start;
	struct guest_result *r = &g->r;

	assert(elapsed >= 0);
	if (!r->runs || elapsed < r->elapsed_min)
		r->elapsed_min = elapsed;
	if (elapsed > r->elapsed_max)
		r->elapsed_max = elapsed;
	r->elapsed_last = elapsed;
	r->elapsed_sum += elapsed;
	r->runs++;
	g->run_start = now;
	if (g->config->done)
		g->config->done(g->config->ctx, g);
}

void guest_result(const struct guest *g, struct guest_result *out)
{
	*out = g->r;
	out->time = mc_now(g->machine) - g->measured_from;
	out->tick = g->p.tick;
	out->faults += (uint64_t)(g->fault_units / FAULT_UNIT);
}

void guest_measure(struct guest *g)
{
	memset(&g->r, 0, sizeof(g->r));
	g->fault_units = 0;
	g->measured_from = mc_now(g->machine);
}

const struct metric *guest_metric(const struct guest *g)
{
	static const struct metric none = {.kind = METRIC_NONE, .name = "none", .unit = ""};

	return g->n_inst ? &g->inst[0].w->metric : &none;
}

const char *guest_name(const struct guest *g)
{
	return g->config->name;
}

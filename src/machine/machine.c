/*
 * Life of a machine and of its VMs, the event loop, and the calls that only look (machine.h).
 *
 * Law: an event is handled at its own time; now never runs backwards. A broken law, here or in the
 * engine, leaves the loop at once by longjmp() and becomes the machine's fault; after that the
 * machine can only be read and destroyed.
 */
#include "machine/machine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/internal.h"

#define QUEUE_START 1024 /* events beside those of pCPUs */

/* ------------------------------------------------------------------ faults */

void mc_fail(struct mc_machine *m, enum mc_fault_kind kind, const char *fmt, ...)
{
	va_list ap;

	assert(kind != MC_FAULT_NONE);
	m->stop = true;
	if (m->fault.kind != MC_FAULT_NONE)
		return; /* the first one counts */
	m->fault.kind = kind;
	m->fault.time = m->now;
	va_start(ap, fmt);
	vsnprintf(m->fault.text, sizeof(m->fault.text), fmt, ap);
	va_end(ap);
}

void mc_law_broken(struct mc_machine *m, const char *expr, const char *file, int line)
{
	const char *name = strrchr(file, '/');

	mc_fail(m, MC_FAULT_LAW, "%s:%d: law broken: %s", name ? name + 1 : file, line, expr);
	if (m->escape)
		longjmp(*m->escape, 1);
	fprintf(stderr, "hvsched: %s\n", m->fault.text);
	abort();
}

const struct mc_fault *mc_fault(const struct mc_machine *m)
{
	return m->fault.kind == MC_FAULT_NONE ? NULL : &m->fault;
}

const struct mc_fault *mc_guard(struct mc_machine *m, void (*fn)(void *ctx), void *ctx)
{
	jmp_buf here, *outer = m->escape;

	if (mc_fault(m))
		return &m->fault;
	m->escape = &here;
	if (!setjmp(here))
		fn(ctx);
	m->escape = outer;
	return mc_fault(m);
}

void mc_queue_grow(struct mc_machine *m)
{
	if (!mc_queue_reserve(&m->queue, m->queue.size + QUEUE_START))
		return;
	mc_fail(m, MC_FAULT_MEMORY, "no memory for %u events", m->queue.size);
	mc_law_broken(m, "memory for the event queue", __FILE__, __LINE__);
}

/* ------------------------------------------------------------------ creation */

static int copy_topology(struct mc_machine *m, const struct mc_params *p)
{
	unsigned n = p->nr_pcpus;
	const uint32_t *from[] = {p->core, p->socket, p->node, p->llc};

	m->topology = calloc(n * 4, sizeof(*m->topology));
	m->online = calloc(n, sizeof(*m->online));
	if (!m->topology || !m->online)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < 4; i++)
		memcpy(m->topology + i * n, from[i], n * sizeof(*m->topology));
	for (unsigned i = 0; i < n; i++)
		m->online[i] = !p->online || p->online[i];
	m->params.core = m->topology;
	m->params.socket = m->topology + n;
	m->params.node = m->topology + 2 * n;
	m->params.llc = m->topology + 3 * n;
	m->params.online = m->online;
	return 0;
}

static bool params_valid(const struct mc_params *p)
{
	if (!p->nr_pcpus || p->nr_pcpus > HV_MAX_PCPUS || !p->core || !p->socket || !p->node ||
	    !p->llc)
		return false;
	if (!p->nr_nodes || p->nr_nodes > MC_MAX_NODES || p->nr_cstates > MC_MAX_CSTATES ||
	    p->nr_turbo > MC_MAX_TURBO || p->nr_curve > MC_MAX_CURVE)
		return false;
	if (p->cold_share <= 0 || p->cold_share >= MC_ONE || p->mem_bw <= 0 ||
	    p->mem_bw_thread <= 0 || p->l3_bw <= 0 || p->l2_bytes <= 0 || p->llc_bytes <= 0)
		return false;
	for (unsigned i = 0; i < p->nr_pcpus; i++) {
		if (p->core[i] >= p->nr_cores || p->socket[i] >= p->nr_sockets ||
		    p->node[i] >= p->nr_nodes || p->llc[i] >= p->nr_llcs)
			return false;
	}
	return true;
}

static void init_pcpu(struct mc_machine *m, unsigned i)
{
	struct mc_pcpu *pc = &m->pcpu[i];
	uint32_t s = i;

	pc->machine = m;
	pc->id = i;
	pc->state = MC_PCPU_OFFLINE;
	pc->mode = OBSERVE_PCPU_OFFLINE;
	pc->ev.what = MC_OF_PCPU;
	pc->poke.what = MC_OF_POKE;
	pc->ev_order = mc_event_order(MC_EV_WORK, i);
	pc->poke_order = mc_event_order(MC_EV_INTERRUPT, i);
	pc->core = m->params.core[i];
	pc->socket = m->params.socket[i];
	pc->node = m->params.node[i];
	pc->llc = m->params.llc[i];
	do {
		s = s + 1 < m->params.nr_pcpus ? s + 1 : 0;
	} while (m->params.core[s] != pc->core);
	pc->sibling = s;
}

static int allocate(struct mc_machine *m)
{
	const struct mc_params *p = &m->params;

	m->nr_locks = 4 * p->nr_pcpus + 64;
	m->pcpu = calloc(p->nr_pcpus, sizeof(*m->pcpu));
	m->core_inserted = calloc(p->nr_cores, sizeof(*m->core_inserted));
	m->core_active = calloc(p->nr_cores, sizeof(*m->core_active));
	m->llc = calloc(p->nr_llcs, sizeof(*m->llc));
	m->node = calloc(p->nr_nodes, sizeof(*m->node));
	m->socket = calloc(p->nr_sockets, sizeof(*m->socket));
	m->lock_free = calloc(m->nr_locks, sizeof(*m->lock_free));
	if (!m->pcpu || !m->core_inserted || !m->core_active || !m->llc || !m->node || !m->socket ||
	    !m->lock_free)
		return -HV_ENOMEM;
	for (unsigned i = 0; i < p->nr_pcpus; i++)
		init_pcpu(m, i);
	for (unsigned i = 0; i < p->nr_llcs; i++)
		m->llc[i].stretch = MC_ONE;
	for (unsigned i = 0; i < p->nr_nodes; i++)
		m->node[i].stretch = MC_ONE;
	for (unsigned i = 0; i < p->nr_sockets; i++)
		m->socket[i].phi = MC_ONE;
	if (mc_timer_slots_grow(m))
		return -HV_ENOMEM;
	mc_queue_init(&m->queue);
	return mc_queue_reserve(&m->queue, 2 * p->nr_pcpus + QUEUE_START);
}

struct creation {
	struct mc_machine *m;
	const struct mc_config *cfg;
	int err;
};

static int bring_up(struct mc_machine *m)
{
	int err = 0;

	for (unsigned i = 0; i < m->params.nr_pcpus && !err; i++) {
		if (!m->online[i])
			continue;
		m->pcpu[i].state = MC_PCPU_IDLE;
		mc_set_mode(&m->pcpu[i], OBSERVE_PCPU_IDLE);
		err = hv_pcpu_up(m->sys, i);
	}
	return err;
}

/* Inside the guard: everything that calls the engine. */
/* As at Xen's boot: what the host's pCPUs do not allow falls back to the next smaller one. */
static enum hv_gran possible_gran(const struct mc_machine *m, enum hv_gran gran)
{
	while (gran != HV_GRAN_CPU && !hv_gran_size(m->sys, gran))
		gran--;
	return gran;
}

static int create_pools(struct mc_machine *m, const struct mc_config *cfg)
{
	struct hv_mask rest = {{0}};
	struct hv_pool *pool;
	int err;

	for (unsigned i = 0; i < m->params.nr_pcpus; i++) {
		if (m->online[i])
			hv_mask_set(&rest, i);
	}
	err = hv_pool_create(m->sys, 0, cfg->policy, possible_gran(m, cfg->gran), &m->pool);
	for (unsigned k = 0; k < cfg->nr_pools && !err; k++) {
		const struct mc_pool_config *p = &cfg->pools[k];

		err = hv_pool_create(m->sys, (int)k + 1, p->policy, p->gran, &pool);
		hv_mask_for_each(c, &p->pcpus, m->nw)
		{
			if (!err && m->online[c])
				err = hv_pool_add_pcpu(pool, c);
			hv_mask_clear(&rest, c);
		}
	}
	hv_mask_for_each(c, &rest, m->nw)
	{
		if (!err)
			err = hv_pool_add_pcpu(m->pool, c);
	}
	return err;
}

static void create_engine(void *ctx)
{
	struct creation *c = ctx;
	struct mc_machine *m = c->m;
	const struct mc_config *cfg = c->cfg;
	const struct hv_topology topo = {.nr_pcpus = m->params.nr_pcpus,
					 .core = m->params.core,
					 .socket = m->params.socket,
					 .node = m->params.node};

	c->err = hv_sys_create(&m->host, m, &topo, cfg->policies, &m->sys);
	if (!c->err && cfg->set)
		c->err = cfg->set(cfg->ctx, m->sys);
	if (!c->err)
		c->err = bring_up(m);
	if (!c->err)
		c->err = create_pools(m, cfg);
	if (c->err)
		return;
	for (unsigned i = 0; i < m->params.nr_pcpus; i++) {
		if (m->online[i] && !m->pcpu[i].pending)
			mc_watch_idle(&m->pcpu[i], true);
	}
}

int mc_create(const struct mc_config *cfg, struct mc_machine **out)
{
	struct mc_machine *m;
	struct creation c = {.cfg = cfg};

	assert(cfg->policies && cfg->policy);
	if (!params_valid(cfg->params))
		return -HV_EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -HV_ENOMEM;
	m->params = *cfg->params;
	m->observe = cfg->observe;
	m->trace = cfg->trace;
	m->trace_ctx = cfg->ctx;
	m->host = mc_host;
	if (!m->observe && !m->trace)
		m->host.trace = NULL; /* nobody looks: the watches report to the observer */
	m->nw = hv_topology_words(m->params.nr_pcpus);
	m->waiting_end = &m->waiting;
	c.m = m;
	c.err = copy_topology(m, cfg->params);
	if (!c.err)
		c.err = allocate(m);
	while (!c.err && !m->online[m->first_online]) {
		if (++m->first_online == m->params.nr_pcpus)
			c.err = -HV_EINVAL;
	}
	if (!c.err) {
		mc_execute(m, HV_NO_PCPU, HV_NO_PCPU);
		if (mc_guard(m, create_engine, &c))
			c.err = -HV_EINVAL;
	}
	if (c.err) {
		mc_destroy(m);
		return c.err;
	}
	mc_watch_start(m);
	*out = m;
	return 0;
}

static void destroy_engine(void *ctx)
{
	hv_sys_destroy(((struct mc_machine *)ctx)->sys);
}

static void free_vm(struct mc_vm *vm)
{
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		free(vm->vcpu[i]);
	free(vm->vcpu);
	free(vm->llc_sharers);
	free(vm->reach);
	free(vm);
}

void mc_destroy(struct mc_machine *m)
{
	m->trace = NULL;
	m->observe = NULL;
	m->closing = true;
	if (m->sys)
		mc_guard(m, destroy_engine, m); /* does nothing after a fault */
	while (m->blocks)
		m->host.free(m, m->blocks->data, 0);
	for (unsigned i = 0; i < m->nr_vms; i++)
		free_vm(m->vm[i]);
	for (uint32_t i = 0; i < m->nr_timer_slots; i += MC_TIMER_BLOCK)
		free(m->timer_slot[i]);
	while (m->tables) {
		struct mc_named_table *next = m->tables->next;

		free(m->tables);
		m->tables = next;
	}
	mc_queue_free(&m->queue);
	free(m->timer_slot);
	free(m->vm);
	free(m->lock_free);
	free(m->socket);
	free(m->node);
	free(m->llc);
	free(m->core_active);
	free(m->core_inserted);
	free(m->pcpu);
	free(m->online);
	free(m->topology);
	free(m);
}

/* ------------------------------------------------------------------ the event loop */

#define OWNER(ev, type, member) ((type *)(void *)((char *)(ev)-offsetof(type, member)))

static void handle(struct mc_machine *m, struct mc_event *ev)
{
	struct mc_pcpu *pc;
	struct mc_timer *t;

	switch ((enum mc_event_owner)ev->what) {
	case MC_OF_PCPU:
		pc = OWNER(ev, struct mc_pcpu, ev);
		if (pc->state == MC_PCPU_SWITCH) {
			mc_switched(pc);
		} else {
			mc_settle_vcpu(pc->mv);
			mc_advance(pc);
		}
		break;
	case MC_OF_POKE:
		mc_poke_arrived(OWNER(ev, struct mc_pcpu, poke));
		break;
	case MC_OF_IRQ:
		mc_irq_arrived(OWNER(ev, struct mc_vcpu, irq));
		break;
	case MC_OF_ENGINE:
		mc_engine_timer_fired(m, OWNER(ev, struct mc_engine_timer, ev));
		break;
	case MC_OF_TIMER:
		t = OWNER(ev, struct mc_timer, ev);
		t->fn(t);
		break;
	}
}

/* Events at one instant that are a loop: a host of HV_MAX_PCPUS pCPUs has thousands. */
#define MOST_AT_ONCE 4000000

/* Who calls for another event at once, each time, keeps the clock from going on. */
static void clock_stands_still(struct mc_machine *m)
{
	mc_fail(m, MC_FAULT_LAW, "time stands still at %lld ns: %u events, and no end",
		(long long)m->now, m->standing);
}

static void run_events(void *ctx)
{
	struct mc_machine *m = ctx;
	struct mc_event *ev;

	while (!m->stop && (ev = mc_queue_first(&m->queue)) && ev->time <= m->until) {
		MC_LAW(m, ev->time >= m->now);
		if (ev->time > m->now)
			m->standing = 0;
		else if (++m->standing > MOST_AT_ONCE)
			clock_stands_still(m);
		m->now = ev->time;
		mc_queue_remove(&m->queue, ev);
		m->counters.events++;
		handle(m, ev);
	}
	if (!m->stop)
		m->now = m->until;
	mc_settle(m);
}

const struct mc_fault *mc_run_until(struct mc_machine *m, hv_time until)
{
	assert(until >= m->now);
	m->until = until;
	m->stop = false;
	return mc_guard(m, run_events, m);
}

void mc_stop(struct mc_machine *m)
{
	m->stop = true;
}

void mc_settle(struct mc_machine *m)
{
	for (unsigned i = 0; i < m->params.nr_pcpus; i++) {
		struct mc_pcpu *pc = &m->pcpu[i];

		if (!pc->mv)
			continue;
		mc_settle_vcpu(pc->mv);
		mc_report_run(pc->mv);
	}
	mc_watch_settle(m);
}

/* ------------------------------------------------------------------ VMs */

struct vm_creation {
	struct mc_machine *m;
	struct hv_pool *pool;
	int id, err;
	unsigned max_vcpus;
	struct mc_vm *vm;
	struct mc_vcpu *mv;
	const struct hv_mask *hard, *soft;
};

static void create_domain(void *ctx)
{
	struct vm_creation *c = ctx;

	c->err = hv_domain_create(c->pool, c->id, c->max_vcpus, &c->vm->domain);
}

int mc_vm_create(struct mc_machine *m, int id, unsigned max_vcpus, const int64_t *share,
		 struct mc_vm **out)
{
	return mc_vm_create_in(m, m->pool, id, max_vcpus, share, out);
}

int mc_vm_create_in(struct mc_machine *m, struct hv_pool *pool, int id, unsigned max_vcpus,
		    const int64_t *share, struct mc_vm **out)
{
	struct vm_creation c = {.m = m, .pool = pool, .id = id, .max_vcpus = max_vcpus};
	struct mc_vm **list = realloc(m->vm, (m->nr_vms + 1) * sizeof(struct mc_vm *));
	struct mc_vm *vm = calloc(1, sizeof(*vm));
	int64_t sum = 0;

	if (list)
		m->vm = list;
	if (!list || !vm || !max_vcpus || max_vcpus > HV_MAX_VCPUS) {
		free(vm);
		return list && vm ? -HV_EINVAL : -HV_ENOMEM;
	}
	vm->machine = m;
	vm->id = id;
	vm->max_vcpus = max_vcpus;
	vm->index = m->nr_vms;
	vm->vcpu = calloc(max_vcpus, sizeof(struct mc_vcpu *));
	vm->llc_sharers = calloc(m->params.nr_llcs, sizeof(*vm->llc_sharers));
	vm->reach = calloc((size_t)m->params.nr_nodes * m->params.nr_nodes, sizeof(*vm->reach));
	for (unsigned n = 0; n < m->params.nr_nodes; n++) {
		vm->share[n] = share[n];
		sum += share[n];
	}
	c.vm = vm;
	if (vm->reach)
		mc_reach(vm);
	if (!vm->vcpu || !vm->llc_sharers || !vm->reach)
		c.err = -HV_ENOMEM;
	else if (sum != MC_ONE || mc_guard(m, create_domain, &c))
		c.err = -HV_EINVAL;
	if (c.err) {
		free_vm(vm);
		return c.err;
	}
	m->vm[m->nr_vms++] = vm;
	*out = vm;
	return 0;
}

static void create_vcpu(void *ctx)
{
	struct vm_creation *c = ctx;

	c->err = hv_vcpu_create(c->vm->domain, c->mv, c->hard, c->soft, &c->mv->hv);
}

int mc_vcpu_create(struct mc_vm *vm, const struct hv_mask *hard, const struct hv_mask *soft,
		   const struct mc_guest_ops *ops, void *guest, struct mc_vcpu **out)
{
	struct vm_creation c = {.m = vm->machine, .vm = vm, .hard = hard, .soft = soft};
	struct mc_vcpu *mv;

	assert(ops && ops->work_done && ops->interrupt);
	if (vm->nr_vcpus == vm->max_vcpus || !vm->domain)
		return -HV_ENOSPC;
	mv = calloc(1, sizeof(*mv));
	if (!mv)
		return -HV_ENOMEM;
	mv->machine = vm->machine;
	mv->vm = vm;
	mv->ops = ops;
	mv->guest = guest;
	mv->id = vm->nr_vcpus;
	mv->index = vm->machine->nr_vcpus;
	mv->pcpu = HV_NO_PCPU;
	mv->pace = MC_ONE;
	mv->last_core = UINT32_MAX;
	mv->last_llc = UINT32_MAX;
	mv->idle_since = -1;
	mv->irq.what = MC_OF_IRQ;
	c.mv = mv;
	if (mc_guard(vm->machine, create_vcpu, &c))
		c.err = -HV_EINVAL;
	if (c.err) {
		free(mv);
		return c.err;
	}
	vm->machine->nr_vcpus++;
	vm->vcpu[vm->nr_vcpus++] = mv;
	*out = mv;
	return 0;
}

/* ---- destruction: the guest is cut off, then its vCPUs leave their pCPUs, then the domain goes */

#define DESTROY_RETRY 10000 /* ns until looking again whether all have left */

static const struct mc_class no_class = {.sigma = MC_ONE};

static void dead_interrupt(struct mc_vcpu *mv, uint32_t bits)
{
	(void)bits;
	if (mv->kind == MC_NONE && mv->leaving == MC_STAY)
		mc_work(mv, MC_POLL, mv->cls ? mv->cls : &no_class, MC_FOREVER);
}

static void dead_work_done(struct mc_vcpu *mv)
{
	dead_interrupt(mv, 0);
}

static const struct mc_guest_ops dead_ops = {
	.work_done = dead_work_done,
	.interrupt = dead_interrupt,
	.dispatched = dead_work_done,
};

static void try_destroy(struct mc_timer *t)
{
	struct mc_vm *vm = t->data;
	struct mc_machine *m = vm->machine;

	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		if (vm->vcpu[i]->place != MC_OFF || vm->vcpu[i]->hv->is_running ||
		    vm->vcpu[i]->hv->unit->is_running) {
			mc_timer_set(t, m->now + DESTROY_RETRY);
			return;
		}
	}
	for (unsigned i = 0; i < vm->nr_vcpus; i++) {
		if (m->observe)
			observe_vcpu_gone(m->observe, vm->vcpu[i]->hv, m->now);
		mc_watch_runstate(vm->vcpu[i], HV_OFFLINE);
	}
	MC_LAW(m, !hv_domain_destroy(vm->domain));
	vm->domain = NULL;
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		vm->vcpu[i]->hv = NULL;
}

void mc_vm_destroy(struct mc_vm *vm)
{
	struct mc_machine *m = vm->machine;

	if (!vm->domain || vm->dying)
		return;
	vm->dying = true;
	for (unsigned i = 0; i < vm->nr_vcpus; i++)
		vm->vcpu[i]->ops = &dead_ops;
	mc_timer_init(&vm->death, m, MC_TIMER_SAMPLE, vm->index, try_destroy, vm);
	mc_timer_set(&vm->death, m->now);
	MC_LAW(m, !hv_domain_pause(vm->domain));
}

/* ------------------------------------------------------------------ timers, tables, looking */

void mc_timer_init(struct mc_timer *t, struct mc_machine *m, enum mc_timer_class cls,
		   uint32_t entity, void (*fn)(struct mc_timer *t), void *data)
{
	*t = (struct mc_timer){.ev.what = MC_OF_TIMER, .machine = m, .fn = fn, .data = data};
	t->order = mc_event_order(cls == MC_TIMER_WAKE ? MC_EV_WAKE : MC_EV_SAMPLE, entity);
}

void mc_timer_set(struct mc_timer *t, hv_time at)
{
	mc_queue_at(t->machine, &t->ev, at, t->order);
}

void mc_timer_cancel(struct mc_timer *t)
{
	mc_queue_remove(&t->machine->queue, &t->ev);
}

const struct mc_table *mc_table(struct mc_machine *m, enum mc_dist_kind kind, int64_t cv)
{
	struct mc_named_table *t;

	for (t = m->tables; t; t = t->next) {
		if (t->kind == kind && t->cv == cv)
			return &t->table;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->kind = kind;
	t->cv = cv;
	mc_table_fill(&t->table, kind, cv);
	t->next = m->tables;
	m->tables = t;
	return &t->table;
}

hv_time mc_now(const struct mc_machine *m)
{
	return m->now;
}

const struct mc_params *mc_params(const struct mc_machine *m)
{
	return &m->params;
}

uint64_t mc_seed(const struct mc_machine *m)
{
	return m->params.seed;
}

bool mc_blocked(const struct mc_vcpu *mv)
{
	return mv->hv && (mv->hv->pause_flags & HV_PF_BLOCKED);
}

struct hv_sys *mc_sys(struct mc_machine *m)
{
	return m->sys;
}

struct hv_pool *mc_pool(struct mc_machine *m)
{
	return m->pool;
}

const struct mc_counters *mc_counters(const struct mc_machine *m)
{
	return &m->counters;
}

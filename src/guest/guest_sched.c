/*
 * The guest kernel's scheduler, workloads section 1.1.
 *
 * One fair queue per vCPU, ordered by virtual runtime (the time for which a task was current; the
 * guest does not see steal). A period of 6 ms is shared by the runnable tasks of a vCPU, but a
 * slice is no shorter than 0.75 ms x (1 + log2 vCPUs); slices are looked at by ticks. A woken
 * task goes to the vCPU it ran on last if that is idle, else to the lowest idle one, else it
 * queues behind; it does not preempt. A vCPU that runs dry pulls one task from the longest queue.
 * The virtual topology is flat.
 *
 * Laws: the queue is in ascending order of vruntime, equal ones in order of arrival; the bit of a
 * vCPU in guest->idle is set exactly when it is on line and has no task and no queue.
 */
#include <assert.h>

#include "guest/kernel.h"

static bool vcpu_is_idle(const struct vcpu *v)
{
	return (v->guest->idle[v->id / 64] >> (v->id % 64)) & 1;
}

void sched_set_idle(struct vcpu *v)
{
	assert(!v->curr && !v->queue);
	if (v->online)
		v->guest->idle[v->id / 64] |= 1ULL << (v->id % 64);
}

static void clear_idle(struct vcpu *v)
{
	v->guest->idle[v->id / 64] &= ~(1ULL << (v->id % 64));
}

static struct vcpu *lowest_idle(struct guest *g)
{
	for (uint32_t i = 0; i < g->mask_words; i++)
		if (g->idle[i])
			return &g->vcpu[i * 64 + (uint32_t)__builtin_ctzll(g->idle[i])];
	return NULL;
}

static void queue_insert(struct vcpu *v, struct task *t)
{
	struct task **at = &v->queue;

	assert(t->state != TASK_QUEUED && t->state != TASK_CURRENT);
	while (*at && (*at)->vruntime <= t->vruntime)
		at = &(*at)->link;
	t->link = *at;
	*at = t;
	t->state = TASK_QUEUED;
	t->vcpu = v;
	v->nr_queued++;
	v->guest->nr_queued++;
	clear_idle(v);
}

static struct task *queue_take(struct vcpu *v, struct task **at)
{
	struct task *t = *at;

	assert(t && t->state == TASK_QUEUED && v->nr_queued > 0);
	*at = t->link;
	t->link = NULL;
	t->state = TASK_ASLEEP; /* in transit */
	v->nr_queued--;
	v->guest->nr_queued--;
	return t;
}

/* t->vruntime is relative to a queue's minimum here. */
void sched_enqueue(struct vcpu *v, struct task *t)
{
	assert(v->online);
	t->vruntime += v->min_vruntime;
	queue_insert(v, t);
}

static struct vcpu *place(struct task *t)
{
	struct guest *g = t->guest;
	struct vcpu *v;

	if (t->pinned >= 0) {
		v = &g->vcpu[t->pinned];
		return v->online ? v : &g->vcpu[0];
	}
	if (vcpu_is_idle(t->vcpu))
		return t->vcpu;
	v = lowest_idle(g);
	if (v)
		return v;
	return t->vcpu->online ? t->vcpu : &g->vcpu[0];
}

void sched_wake(struct task *t, struct vcpu *from)
{
	struct vcpu *v = place(t);

	assert(t->state == TASK_ASLEEP);
	assert(from->guest == t->guest);
	t->guest->r.wakes++;
	from->pending_overhead += t->guest->p.rq_lock;
	if (t->vruntime < 0) /* no credit for sleeping */
		t->vruntime = 0;
	sched_enqueue(v, t);
	if (v != from)
		mc_interrupt(v->mv, from->mv, IRQ_RESCHED);
}

static struct task **first_movable(struct vcpu *v)
{
	struct task **at = &v->queue;

	while (*at && (*at)->pinned >= 0)
		at = &(*at)->link;
	return at;
}

/*
 * The first movable task of the longest queue. A vCPU with one task only keeps it, even if it has
 * not come around to running it: it is not overloaded.
 */
static struct task *pull(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct vcpu *busiest = NULL;
	struct task **at = NULL;

	if (!g->nr_queued)
		return NULL;
	for (uint32_t i = 0; i < g->nr_vcpus; i++) {
		struct vcpu *from = &g->vcpu[i];
		struct task **first;

		if (from->nr_queued + (from->curr != NULL) < 2)
			continue;
		if (busiest && from->nr_queued <= busiest->nr_queued)
			continue;
		first = first_movable(from);
		if (*first) {
			busiest = from;
			at = first;
		}
	}
	if (!busiest)
		return NULL;
	assert(busiest != v);

	struct task *t = queue_take(busiest, at);

	t->vruntime += v->min_vruntime - busiest->min_vruntime;
	g->r.pulls++;
	return t;
}

struct task *sched_pick(struct vcpu *v)
{
	struct guest *g = v->guest;
	struct task *t;

	assert(!v->curr);
	assert(v->online);
	v->need_resched = false;
	t = v->queue ? queue_take(v, &v->queue) : pull(v);
	if (!t) {
		sched_set_idle(v);
		return NULL;
	}
	clear_idle(v);
	if (t->vruntime > v->min_vruntime)
		v->min_vruntime = t->vruntime;
	t->vcpu = v;
	t->state = TASK_CURRENT;
	t->since = t->slice_start = mc_now(g->machine);
	v->curr = t;
	v->pending_overhead += g->p.rq_lock;
	if (v->last != t) {
		v->pending_overhead += t->process ? g->cost->task_switch : g->cost->thread_switch;
		v->last = t;
		g->r.switches++;
	}
	return t;
}

void sched_account(struct vcpu *v)
{
	hv_time now = mc_now(v->guest->machine);

	assert(now >= v->curr->since);
	v->curr->vruntime += now - v->curr->since;
	v->curr->since = now;
}

void sched_leave(struct vcpu *v, enum task_state state)
{
	struct task *t = v->curr;

	assert(t && t->state == TASK_CURRENT);
	assert(state == TASK_ASLEEP || state == TASK_ENDED);
	sched_account(v);
	t->vruntime -= v->min_vruntime;
	t->state = state;
	v->curr = NULL;
}

void sched_requeue(struct vcpu *v)
{
	struct task *t = v->curr;

	assert(t && t->state == TASK_CURRENT);
	sched_account(v);
	t->state = TASK_ASLEEP; /* in transit */
	v->curr = NULL;
	queue_insert(v, t);
}

bool sched_slice_over(struct vcpu *v)
{
	const struct guest *g = v->guest;
	int64_t slice;

	if (!v->curr || !v->queue)
		return false;
	slice = g->p.period / (v->nr_queued + 1);
	if (slice < g->min_slice)
		slice = g->min_slice;
	return mc_now(g->machine) - v->curr->slice_start >= slice;
}

void sched_evacuate(struct vcpu *v)
{
	struct vcpu *to = &v->guest->vcpu[0];

	assert(v != to && to->online);
	if (v->curr)
		sched_requeue(v);
	v->online = false;
	while (v->queue) {
		struct task *t = queue_take(v, &v->queue);

		t->vruntime -= v->min_vruntime;
		t->vcpu = to;
		t->state = TASK_ASLEEP;
		sched_wake(t, v);
	}
	clear_idle(v);
}

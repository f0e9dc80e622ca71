/*
 * Job pools: make with J tokens (workloads section 3.1).
 *
 * Jobs are started in order; the last job of a directory, its link, waits until the other members
 * are done, and while it waits make goes on with the next directories. A worker that has finished
 * a job takes the next one at once. No worker needs to be woken for a link: who makes it ready is
 * free.
 *
 * Laws: every job of a build is done once; a link starts after all members of its directory are
 * done.
 */
#include <assert.h>

#include "guest/kernel.h"

static uint32_t dir_size(const struct pool_desc *d, uint32_t dir)
{
	return d->jobs / d->directories + (dir < d->jobs % d->directories);
}

static uint32_t dir_first(const struct pool_desc *d, uint32_t dir)
{
	uint32_t extra = d->jobs % d->directories;

	return dir * (d->jobs / d->directories) + (dir < extra ? dir : extra);
}

static uint32_t dir_of(const struct pool_desc *d, uint32_t job)
{
	uint32_t size = d->jobs / d->directories, extra = d->jobs % d->directories;
	uint32_t larger = extra * (size + 1); /* jobs in directories of size + 1 */

	return job < larger ? job / (size + 1) : extra + (job - larger) / size;
}

/* The next job that may start, or UINT32_MAX. */
static uint32_t take(struct pool *p)
{
	const struct pool_desc *d = p->desc;

	if (p->n_ready) {
		uint32_t dir = p->ready[p->ready_head];

		p->ready_head = (p->ready_head + 1) % d->directories;
		p->n_ready--;
		return dir_first(d, dir) + dir_size(d, dir) - 1;
	}
	while (p->dir < d->directories) {
		uint32_t dir = p->dir, size = dir_size(d, dir), member = p->member++;
		bool last = member + 1 == size;

		if (last) {
			p->dir++;
			p->member = 0;
		}
		if (!last || size == 1) /* else it is a link, for later */
			return dir_first(d, dir) + member;
	}
	return UINT32_MAX;
}

void pool_fork(struct vcpu *v, struct task *t, struct pool *p)
{
	const struct pool_desc *d = p->desc;

	if (p->running) {
		guest_law(t->guest, "a job pool is started while it runs", t);
		return;
	}
	p->running = true;
	p->build++;
	p->dir = p->member = p->done = 0;
	p->ready_head = p->n_ready = 0;
	for (uint32_t i = 0; i < d->directories; i++)
		p->left[i] = dir_size(d, i) - 1;
	while (p->idle.head)
		sched_wake(waitq_pop(&p->idle), v);
}

bool pool_join(struct vcpu *v, struct task *t, struct pool *p)
{
	if (!p->running)
		return true;
	waitq_push(&p->joiners, t);
	task_wait(v, t, 0);
	return false;
}

bool pool_next_job(struct vcpu *v, struct task *t)
{
	struct pool *p = t->pool;
	struct guest *g = t->guest;
	uint32_t index = (uint32_t)(p - t->inst->pool);
	uint32_t job = p->running ? take(p) : UINT32_MAX;

	assert(t->kind == TASK_WORKER && v->curr == t);
	if (job == UINT32_MAX) {
		waitq_push(&p->idle, t);
		sched_leave(v, TASK_ASLEEP);
		return false;
	}
	assert(job < p->desc->jobs);
	t->job = job;
	mc_rng_init(&t->rng, mc_seed(g->machine),
		    g->key | (uint64_t)(t->inst - g->inst) << 24 | index,
		    PURPOSE_JOB + ((uint64_t)p->build << 32 | job));
	task_begin(t);
	return true;
}

void pool_job_done(struct vcpu *v, struct task *t)
{
	struct pool *p = t->pool;
	const struct pool_desc *d = p->desc;
	uint32_t dir = dir_of(d, t->job);
	bool link = t->job == dir_first(d, dir) + dir_size(d, dir) - 1;

	assert(p->running && p->done < d->jobs);
	t->guest->r.jobs++;
	p->done++;
	if (!link) {
		assert(p->left[dir] > 0);
		if (!--p->left[dir]) {
			p->ready[(p->ready_head + p->n_ready) % d->directories] = dir;
			p->n_ready++;
		}
	}
	if (p->done < d->jobs)
		return;
	p->running = false;
	while (p->joiners.head)
		task_grant(waitq_pop(&p->joiners), v);
}

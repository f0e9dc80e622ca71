/* SPDX-License-Identifier: MIT */
/*
 * arinc653: a fixed table of windows repeats every major frame. Each window names one vCPU by its
 * domain's handle and its number, and a length. There is one timeline per pool, shared by all its
 * pCPUs: at any time at most one unit is eligible, and it runs only on the pCPU that it is assigned
 * to. No run queue, no weights, no balancing; affinity is ignored. Unused time is given to nobody.
 *
 * Laws: frames lie on a grid, however late a pass comes: the next frame starts a whole number of
 * frames after the last one that was counted from; each window is bound to the unit created last
 * among those that match its name, or to none; the lengths of a table that was set sum to at most
 * its frame (windows that control domains add by themselves may pass it until the next frame).
 *
 * Stricter than Xen: a frame above 2^62 ns, and a window or a sum of windows beyond the frame, are
 * refused. Xen accepts sums that wrap, and dies of a frame that ends after the end of time.
 *
 * Locks: one lock guards the timeline and every resource of the pool.
 *
 * Source: arinc653 sections 1-7 and 12.
 */
#include "engine/engine.h"
#include "policy/policies.h"

#define DEFAULT_FRAME 10000000LL   /* ns; also the length of a window that is added by itself */
#define MAX_FRAME     (1ULL << 62) /* ns; a frame start plus a frame stays below 2^63 */

struct a653_unit {
	struct hv_unit *unit;
	struct a653_unit *next; /* all units of the pool, newest first */
	bool awake;
};

struct a653_window {
	uint8_t handle[HV_HANDLE_BYTES];
	uint32_t vcpu;
	int64_t runtime;	/* ns */
	struct a653_unit *unit; /* NULL: nobody of this name is there */
};

struct a653_pool {
	struct hv_lock lock;
	struct a653_window window[HV_MAX_WINDOWS];
	unsigned nr;	    /* windows in use */
	unsigned nr_begun;  /* of them, those with which the present frame began */
	unsigned index;	    /* present window; nr or more: the idle rest of the frame */
	int64_t frame;	    /* ns */
	hv_time next_frame; /* start of the frame after the present one */
	hv_time next_switch;
	struct a653_unit *units;
};

static bool same_handle(const uint8_t *a, const uint8_t *b)
{
	uint8_t diff = 0;

	for (unsigned i = 0; i < HV_HANDLE_BYTES; i++)
		diff |= (uint8_t)(a[i] ^ b[i]);
	return !diff;
}

/* The unit that a window names: of several, the one that was created last. */
static struct a653_unit *find_unit(const struct a653_pool *p, const struct a653_window *w)
{
	struct a653_unit *a = p->units;

	while (a && (a->unit->id != w->vcpu || !same_handle(a->unit->domain->handle, w->handle)))
		a = a->next;
	return a;
}

static void bind_windows(struct a653_pool *p)
{
	for (unsigned i = 0; i < p->nr; i++)
		p->window[i].unit = find_unit(p, &p->window[i]);
}

/* ---- life of instance, unit, pCPU */

static int a653_init(struct hv_sched *s)
{
	struct a653_pool *p = hv_alloc(s->sys, sizeof(*p));

	if (!p)
		return -HV_ENOMEM;
	hv_lock_init(s->sys, &p->lock);
	p->frame = DEFAULT_FRAME;
	p->window[0].runtime = DEFAULT_FRAME;
	s->priv = p;
	return 0;
}

static void a653_deinit(struct hv_sched *s)
{
	struct a653_pool *p = s->priv;

	HV_ASSERT(s->sys, !p->units);
	hv_free(s->sys, p, sizeof(*p));
}

/* A control domain must be able to run before anybody has set a table (section 3). */
static void add_default_window(struct a653_pool *p, const struct hv_unit *u)
{
	struct a653_window *w = &p->window[p->nr];

	if (p->nr == HV_MAX_WINDOWS)
		return;
	memcpy(w->handle, u->domain->handle, sizeof(w->handle));
	w->vcpu = u->id;
	w->runtime = DEFAULT_FRAME;
	if (p->nr > 0)
		p->frame += DEFAULT_FRAME;
	p->nr++;
}

/* Locked when called for a unit of a domain: its provisional resource is in this pool. */
static int a653_alloc_unit(struct hv_sched *s, struct hv_unit *u, void *domdata, void **out)
{
	struct a653_pool *p = s->priv;
	struct a653_unit *a = hv_alloc(s->sys, sizeof(*a));

	(void)domdata;
	if (!a)
		return -HV_ENOMEM;
	a->unit = u;
	*out = a;
	if (u->idle)
		return 0;
	a->next = p->units;
	p->units = a;
	if (u->domain->control)
		add_default_window(p, u);
	bind_windows(p);
	return 0;
}

static void a653_free_unit(struct hv_sched *s, void *priv)
{
	struct a653_pool *p = s->priv;
	struct a653_unit *a = priv, **at = &p->units;

	if (!a)
		return;
	while (*at && *at != a)
		at = &(*at)->next;
	if (*at) { /* not an idle unit */
		*at = a->next;
		bind_windows(p);
	}
	hv_free(s->sys, a, sizeof(*a));
}

static struct hv_lock *a653_switch_sched(struct hv_sched *s, struct hv_resource *r, void *pcpu_priv,
					 void *idle_priv)
{
	struct a653_pool *p = s->priv;

	(void)pcpu_priv;
	r->idle->priv = idle_priv;
	return &p->lock;
}

static void a653_deinit_pcpu(struct hv_sched *s, void *priv, unsigned pcpu)
{
	(void)s;
	(void)priv;
	(void)pcpu;
}

/* ---- events (section 6) */

static void a653_sleep(struct hv_sched *s, struct hv_unit *u)
{
	struct a653_unit *a = u->priv;

	HV_ASSERT(s->sys, hv_lock_held(u->res->lock));
	a->awake = false;
	if (u->res->curr == u)
		hv_tickle(s, u->res->master);
}

static void a653_wake(struct hv_sched *s, struct hv_unit *u)
{
	struct a653_unit *a = u->priv;

	HV_ASSERT(s->sys, hv_lock_held(u->res->lock));
	a->awake = true;
	hv_tickle(s, u->res->master);
}

/* Affinity is ignored: a unit stays where it is while its pCPU is in the pool. */
static struct hv_resource *a653_pick_resource(struct hv_sched *s, struct hv_unit *u)
{
	const struct hv_mask *valid = hv_unit_valid(s);

	if (hv_mask_test(valid, u->res->master))
		return u->res;
	return hv_resource_of(s->sys, hv_mask_first(valid, s->nw));
}

/* ---- the pass (section 5) */

/*
 * Move the timeline to now. Afterwards index is the window of now, next_switch its end. How many
 * windows have gone by since the last pass, none of which has had one.
 */
static int64_t advance(const struct hv_sched *s, struct a653_pool *p, hv_time now)
{
	bool seen = now < p->next_frame; /* the window of index has had a pass */
	int64_t missed = 0;

	HV_ASSERT(s->sys, p->frame > 0);
	if (!seen) {
		hv_time start = now - (now - p->next_frame) % p->frame;

		missed = (start - p->next_frame) / p->frame * p->nr;
		if (p->index + 1 < p->nr_begun)
			missed += p->nr_begun - p->index - 1;
		p->nr_begun = p->nr;
		p->index = 0;
		p->next_frame = start + p->frame;
		p->next_switch = start + p->window[0].runtime;
	}
	while (now >= p->next_switch) {
		missed += !seen && p->index < p->nr;
		seen = false;
		if (++p->index >= p->nr)
			break;
		p->next_switch += p->window[p->index].runtime;
	}
	if (p->index >= p->nr)
		p->next_switch = p->next_frame;
	HV_ASSERT(s->sys, p->next_switch > now);
	return missed;
}

static void a653_do_schedule(struct hv_sched *s, struct hv_resource *r, struct hv_unit *prev,
			     hv_time now, bool tasklet)
{
	struct a653_pool *p = s->priv;
	const struct a653_unit *a = NULL;
	struct hv_unit *next = r->idle;
	int64_t missed;

	HV_ASSERT(s->sys, hv_lock_held(&p->lock));
	missed = advance(s, p, now);
	if (missed > 0)
		hv_trace_emit(s->sys, &(struct hv_trace){.kind = HV_TRACE_MISSED,
							 .pcpu = r->master,
							 .a = missed});
	if (p->index < p->nr)
		a = p->window[p->index].unit;
	if (a && a->awake && !tasklet && a->unit->res == r && hv_unit_runnable_state(a->unit))
		next = a->unit;
	next->migrated = false;
	prev->next = next;
	prev->next_time = p->next_switch - now;
}

/* ---- the table (section 4) */

static bool table_is_sane(uint64_t major, unsigned nr, const struct hv_window *window)
{
	uint64_t left = major;

	if (major == 0 || major > MAX_FRAME || nr == 0 || nr > HV_MAX_WINDOWS)
		return false;
	for (unsigned i = 0; i < nr; i++) {
		if (window[i].runtime == 0 || window[i].runtime > left)
			return false;
		left -= window[i].runtime;
	}
	return true;
}

static int a653_frame_set(struct hv_sched *s, uint64_t major, unsigned nr,
			  const struct hv_window *window)
{
	struct a653_pool *p = s->priv;

	if (!table_is_sane(major, nr, window))
		return -HV_EINVAL;
	hv_lock_acquire(s->sys, &p->lock);
	p->nr = nr;
	p->frame = (int64_t)major;
	for (unsigned i = 0; i < nr; i++) {
		memcpy(p->window[i].handle, window[i].handle, sizeof(window[i].handle));
		p->window[i].vcpu = window[i].vcpu;
		p->window[i].runtime = (int64_t)window[i].runtime;
	}
	bind_windows(p);
	/* The next pass begins the new frame, counted from now; nobody is asked to make one. */
	p->next_frame = hv_now(s->sys);
	p->nr_begun = 0; /* nothing of the old frame is missed */
	hv_lock_release(s->sys, &p->lock);
	return 0;
}

static int a653_frame_get(const struct hv_sched *s, uint64_t *major, unsigned *nr,
			  struct hv_window *window)
{
	const struct a653_pool *p = s->priv;

	*major = (uint64_t)p->frame;
	*nr = p->nr;
	for (unsigned i = 0; i < p->nr; i++) {
		memcpy(window[i].handle, p->window[i].handle, sizeof(window[i].handle));
		window[i].vcpu = p->window[i].vcpu;
		window[i].runtime = (uint64_t)p->window[i].runtime;
	}
	return 0;
}

/* ---- laws */

static int a653_check(const struct hv_sched *s, struct hv_violation *out)
{
	const struct a653_pool *p = s->priv;

	if (p->frame <= 0 || p->nr > HV_MAX_WINDOWS)
		return hv_broken(out, "arinc653: the frame has a length, the table a bound", NULL,
				 HV_NO_PCPU);
	for (unsigned i = 0; i < p->nr; i++) {
		const struct a653_window *w = &p->window[i];

		if (w->runtime <= 0)
			return hv_broken(out, "arinc653: every window has a length", NULL,
					 HV_NO_PCPU);
		if (w->unit != find_unit(p, w))
			return hv_broken(out,
					 "arinc653: a window is bound to the newest of its name",
					 w->unit ? w->unit->unit : NULL, HV_NO_PCPU);
	}
	for (const struct a653_unit *a = p->units; a; a = a->next) {
		if (a->unit->priv != a || a->unit->idle)
			return hv_broken(out, "arinc653: the list holds the pool's units", NULL,
					 HV_NO_PCPU);
	}
	return 0;
}

const struct hv_policy hv_policy_arinc653 = {
	.name = "arinc653",
	.ignores_affinity = true,
	.init = a653_init,
	.deinit = a653_deinit,
	.alloc_unit = a653_alloc_unit,
	.free_unit = a653_free_unit,
	.switch_sched = a653_switch_sched,
	.deinit_pcpu = a653_deinit_pcpu,
	.sleep = a653_sleep,
	.wake = a653_wake,
	.do_schedule = a653_do_schedule,
	.pick_resource = a653_pick_resource,
	.frame_set = a653_frame_set,
	.frame_get = a653_frame_get,
	.check = a653_check,
};

/* SPDX-License-Identifier: MIT */
/*
 * A complete host for libhvsched in one file: two pCPUs, credit2, two domains, one simulated second.
 * docs/embedding.md explains it; `make test` compiles and runs it.
 */
#include <hvsched.h>
#include <stdio.h>
#include <stdlib.h>

#define PCPUS  2
#define TIMERS 16
#define MS     INT64_C(1000000)
#define NEVER  INT64_MAX

/* What a guest does on a vCPU: it computes for `burst`, then sleeps for `sleep` (0 = never). */
struct guest {
	hv_time burst, sleep;
	hv_time left;	 /* of the burst */
	hv_time wake_at; /* NEVER while it does not sleep */
};

struct host {
	hv_time now;
	unsigned here;		 /* pCPU that executes the engine */
	unsigned pending[PCPUS]; /* HV_EVENT_* raised and not handled */
	struct hv_timer *timers[TIMERS];
	struct hv_vcpu *vcpus[8];
	unsigned nr_vcpus;
};

/* ---- what the engine asks of its host */

static hv_time host_now(void *ctx)
{
	return ((struct host *)ctx)->now;
}

static unsigned host_this_pcpu(void *ctx)
{
	return ((struct host *)ctx)->here;
}

/* On real pCPUs: set the bit, and interrupt the pCPU if it was clear. */
static void host_poke(void *ctx, unsigned pcpu, unsigned events)
{
	((struct host *)ctx)->pending[pcpu] |= events;
}

/* t->host[0] is ours: the place of the timer in our table plus 1, 0 = not in it. */
static void host_timer_arm(void *ctx, struct hv_timer *t)
{
	struct host *h = ctx;

	for (unsigned i = 0; i < TIMERS && !t->host[0]; i++) {
		if (!h->timers[i]) {
			h->timers[i] = t;
			t->host[0] = i + 1;
		}
	}
	if (!t->host[0])
		abort();
}

static void host_timer_disarm(void *ctx, struct hv_timer *t)
{
	((struct host *)ctx)->timers[t->host[0] - 1] = NULL;
	t->host[0] = 0;
}

static void *host_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return malloc(size);
}

static void host_free(void *ctx, void *p, size_t size)
{
	(void)ctx;
	(void)size;
	free(p);
}

static void host_assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	(void)ctx;
	fprintf(stderr, "%s:%d: '%s' does not hold\n", file, line, expr);
	abort();
}

static const struct hv_host callbacks = {
	.now = host_now,
	.this_pcpu = host_this_pcpu,
	.poke = host_poke,
	.timer_arm = host_timer_arm,
	.timer_disarm = host_timer_disarm,
	.alloc = host_alloc,
	.free = host_free,
	.assert_failed = host_assert_failed,
};

/* ---- the machine */

/* Handle pending events: ask the engine, switch contexts as it says, report the switch. */
static void handle_events(struct host *h, struct hv_sys *sys)
{
	for (unsigned c = 0; c < PCPUS; c++) {
		unsigned events = h->pending[c];
		struct hv_next next;

		if (!events)
			continue;
		h->pending[c] = 0;
		h->here = c;
		next = hv_event(sys, c, events);
		if (next.kind == HV_SWITCH) {
			/* Here a real host saves next.from and loads next.to. */
			hv_saved(sys, c);
		}
		c = UINT32_MAX; /* saving may have raised events on any pCPU: look again */
	}
}

static struct hv_timer *due_timer(struct host *h)
{
	struct hv_timer *first = NULL;

	for (unsigned i = 0; i < TIMERS; i++) {
		struct hv_timer *t = h->timers[i];

		if (t && (!first || t->expiry < first->expiry ||
			  (t->expiry == first->expiry &&
			   (t->cls < first->cls ||
			    (t->cls == first->cls && t->number < first->number)))))
			first = t;
	}
	return first;
}

/* The time at which something happens next: a timer, the end of a burst or of a sleep. */
static hv_time next_time(struct host *h, struct hv_sys *sys)
{
	struct hv_timer *t = due_timer(h);
	hv_time next = t ? t->expiry : NEVER;

	for (unsigned c = 0; c < PCPUS; c++) {
		struct hv_vcpu *v = hv_pcpu_loaded(sys, c);
		struct guest *g = v->host;

		if (g && g->sleep && h->now + g->left < next)
			next = h->now + g->left;
	}
	for (unsigned i = 0; i < h->nr_vcpus; i++) {
		struct guest *g = h->vcpus[i]->host;

		if (g->wake_at < next)
			next = g->wake_at;
	}
	return next;
}

/* Guests compute until `until`. */
static void advance(struct host *h, struct hv_sys *sys, hv_time until)
{
	for (unsigned c = 0; c < PCPUS; c++) {
		struct guest *g = hv_pcpu_loaded(sys, c)->host; /* NULL for idle vCPUs */

		if (g && g->sleep)
			g->left -= until - h->now;
	}
	h->now = until;
}

/* A guest that has finished its burst blocks, on its own pCPU. */
static void end_bursts(struct host *h, struct hv_sys *sys)
{
	for (unsigned c = 0; c < PCPUS; c++) {
		struct hv_vcpu *v = hv_pcpu_loaded(sys, c);
		struct guest *g = v->host;

		if (g && g->sleep && g->left <= 0) {
			g->wake_at = h->now + g->sleep;
			h->here = c;
			hv_block(v, NULL, NULL);
			handle_events(h, sys);
		}
	}
}

static void end_sleeps(struct host *h, struct hv_sys *sys)
{
	for (unsigned i = 0; i < h->nr_vcpus; i++) {
		struct guest *g = h->vcpus[i]->host;

		if (g->wake_at <= h->now) {
			g->wake_at = NEVER;
			g->left = g->burst;
			h->here = 0; /* the interrupt comes in on pCPU 0 */
			hv_wake(h->vcpus[i]);
			handle_events(h, sys);
		}
	}
}

static void run(struct host *h, struct hv_sys *sys, hv_time end)
{
	hv_time next;

	handle_events(h, sys);
	while ((next = next_time(h, sys)) <= end) {
		struct hv_timer *t;

		advance(h, sys, next);
		while ((t = due_timer(h)) && t->expiry <= h->now) {
			host_timer_disarm(h, t); /* it is ours to forget; then it fires */
			h->here = t->cls == HV_TIMER_SCHEDULE ? t->number : 0;
			hv_timer_fire(t);
		}
		handle_events(h, sys);
		end_bursts(h, sys);
		end_sleeps(h, sys);
	}
	advance(h, sys, end);
}

static void must(int rc, const char *what)
{
	if (rc < 0) {
		fprintf(stderr, "%s: error %d\n", what, -rc);
		exit(1);
	}
}

int main(void)
{
	static const uint32_t core[PCPUS] = {0, 1}, socket[PCPUS] = {0, 0}, node[PCPUS] = {0, 0};
	static const struct hv_topology topology = {PCPUS, core, socket, node};
	struct guest busy[3] = {{.wake_at = NEVER}, {.wake_at = NEVER}, {.wake_at = NEVER}};
	struct guest io = {1 * MS, 4 * MS, 1 * MS, NEVER};
	struct guest *guests[4] = {&busy[0], &busy[1], &busy[2], &io};
	struct hv_domain_params heavy = {.weight = 512};
	struct host host = {0};
	struct hv_sys *sys;
	struct hv_pool *pool;
	struct hv_domain *a, *b;
	int64_t total = 0;

	must(hv_sys_create(&callbacks, &host, &topology, hv_policies, &sys), "instance");
	must(hv_param_set(sys, "sched_ratelimit_us", "500"), "sched_ratelimit_us");
	for (unsigned c = 0; c < PCPUS; c++)
		must(hv_pcpu_up(sys, c), "pCPU");
	must(hv_pool_create(sys, 0, "credit2", HV_GRAN_CPU, &pool), "pool");
	for (unsigned c = 0; c < PCPUS; c++)
		must(hv_pool_add_pcpu(pool, c), "pCPU of the pool");

	/* Domain 1 has two busy vCPUs, domain 2 a busy one and one that works 1 ms in every 5. */
	must(hv_domain_create(pool, 1, 2, &a), "domain 1");
	must(hv_domain_create(pool, 2, 2, &b), "domain 2");
	must(hv_domain_params_set(b, &heavy), "weight");
	for (unsigned i = 0; i < 4; i++) {
		struct hv_vcpu **v = &host.vcpus[i];

		must(hv_vcpu_create(i < 2 ? a : b, guests[i], NULL, NULL, v), "vCPU");
		host.nr_vcpus++;
		hv_vcpu_up(*v);
	}
	run(&host, sys, 1000 * MS);

	for (unsigned i = 0; i < host.nr_vcpus; i++) {
		struct hv_vcpu *v = host.vcpus[i];
		struct hv_runstate rs;

		hv_runstate_get(v, &rs);
		total += rs.time[HV_RUNNING];
		printf("vCPU %d.%u: running %4lld ms, runnable %4lld ms, blocked %4lld ms\n",
		       v->domain->id, v->id, (long long)(rs.time[HV_RUNNING] / MS),
		       (long long)(rs.time[HV_RUNNABLE] / MS),
		       (long long)(rs.time[HV_BLOCKED] / MS));
	}
	for (unsigned c = 0; c < PCPUS; c++)
		total += hv_pcpu_idle_time(sys, c);
	hv_sys_destroy(sys);
	if (total != PCPUS * 1000 * MS) {
		fprintf(stderr, "running and idle times do not sum to the time of the pCPUs\n");
		return 1;
	}
	return 0;
}

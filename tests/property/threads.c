/* SPDX-License-Identifier: MIT */
/*
 * A host of real threads: each plays one pCPU, others wake, pause and take pCPUs away, at times
 * that nobody has chosen. The engine is not re-entrant, so one big lock is held in every call; what
 * goes on between calls is concurrent: guests run, contexts are saved, events are raised, siblings
 * wait for each other.
 *
 * Laws, looked at by the threads themselves: two domains are never in guest mode on one core; a
 * pCPU that was taken away runs no guest; no wake is lost; whoever waits gets on.
 *
 * Source: core-scheduling section 8, behaviours 9, 14 and 25.
 *
 * usage: threads [TEST]
 *
 * The order of events is not repeated by a second run; a failing run prints how to try again.
 */
#include "../unit/fake_host.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#define CORES	4
#define THREADS 2
#define PCPUS	(CORES * THREADS)
#define US	INT64_C(1000)
#define SECOND	INT64_C(1000000000)

/* Nothing has got on for so long: long beside what a busy machine keeps a thread waiting. */
#define STALL (60 * SECOND)

struct machine;

struct pcpu {
	struct machine *m;
	unsigned number;
	pthread_t thread;
	sem_t wake; /* posted when there may be something to do */
	_Atomic unsigned pending;
	_Atomic bool waiting; /* the last answer was HV_AGAIN */
	_Atomic int guest;    /* domain in guest mode, 0 = none */
	_Atomic bool gone;    /* not of the pool: no guest may run here */
	uint64_t random;
};

/* What a vCPU does in guest mode, one step at a time; it may use the engine. */
struct program {
	void (*step)(struct pcpu *p, struct hv_vcpu *v, struct program *self);
	_Atomic unsigned sent, received; /* events */
	unsigned blocks, saved_by_check; /* blocked; found an event that came while it tried */
};

struct machine {
	struct fake f; /* first: the host's context */
	pthread_mutex_t lock;
	const char *test;
	struct pcpu pcpus[PCPUS];
	_Atomic bool stop;
	_Atomic unsigned done;	/* what the test counts */
	_Atomic uint64_t turns; /* guest steps, of all */
	struct program programs[16];
};

static const char *executable;

static void failed(const struct machine *m, const char *what)
{
	fprintf(stderr, "# %s: %s\n# try again: %s %s\n", m->test, what, executable, m->test);
	abort();
}

/* ---- the host */

static hv_time clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void poke(void *ctx, unsigned pcpu, unsigned events)
{
	struct machine *m = ctx;
	struct pcpu *p = &m->pcpus[pcpu];

	if (atomic_fetch_or(&p->pending, events) == 0)
		sem_post(&p->wake);
}

static void assert_failed(void *ctx, const char *expr, const char *file, int line)
{
	char text[256];

	snprintf(text, sizeof(text), "%s:%d: assertion '%s' failed", file, line, expr);
	failed(ctx, text);
}

/* Around every call of the engine. */
static void enter(struct machine *m, unsigned here)
{
	hv_time now;

	pthread_mutex_lock(&m->lock);
	now = clock_now();
	if (now > m->f.now)
		m->f.now = now;
	m->f.here = here;
}

static void leave(struct machine *m)
{
	pthread_mutex_unlock(&m->lock);
}

/* Timers that are due fire; then the machine sleeps a little. */
static void tick(struct machine *m)
{
	const struct timespec pause = {0, 20 * US};

	enter(m, 0);
	fake_fire_due(&m->f);
	leave(m);
	nanosleep(&pause, NULL);
}

/* ---- a pCPU */

static unsigned draw(struct pcpu *p, unsigned n)
{
	p->random = p->random * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(p->random >> 33) % n;
}

/* Its siblings may get on now. The lock is held. */
static void tell_siblings(struct pcpu *p)
{
	unsigned first = p->number / THREADS * THREADS;

	for (unsigned c = first; c < first + THREADS; c++) {
		if (c != p->number && p->m->pcpus[c].waiting)
			sem_post(&p->m->pcpus[c].wake);
	}
}

static struct hv_vcpu *handle(struct pcpu *p, unsigned events)
{
	struct machine *m = p->m;
	struct hv_vcpu *loaded;
	struct hv_next next;

	enter(m, p->number);
	next = hv_event(m->f.sys, p->number, events);
	p->waiting = next.kind == HV_AGAIN;
	tell_siblings(p);
	leave(m);
	if (next.kind == HV_SWITCH) {
		sched_yield(); /* its registers are being saved */
		enter(m, p->number);
		p->waiting = hv_saved(m->f.sys, p->number) == HV_AGAIN;
		tell_siblings(p);
		leave(m);
	}
	enter(m, p->number);
	loaded = hv_pcpu_loaded(m->f.sys, p->number);
	leave(m);
	return loaded;
}

/* Into guest mode, one step, and out. */
static void run_guest(struct pcpu *p, struct hv_vcpu *v)
{
	struct machine *m = p->m;
	unsigned first = p->number / THREADS * THREADS;
	struct program *program = v->host;

	atomic_store(&p->guest, v->domain->id);
	if (p->gone)
		failed(m, "a guest runs on a pCPU that was taken away");
	for (unsigned c = first; c < first + THREADS; c++) {
		int other = atomic_load(&m->pcpus[c].guest);

		if (other && other != v->domain->id)
			failed(m, "two domains are in guest mode on one core");
	}
	program->step(p, v, program);
	atomic_fetch_add(&m->turns, 1);
	atomic_store(&p->guest, 0);
}

static void *run_pcpu(void *arg)
{
	struct pcpu *p = arg;
	struct machine *m = p->m;
	struct hv_vcpu *loaded = NULL;

	while (!m->stop) {
		unsigned events = p->waiting ? 0 : atomic_exchange(&p->pending, 0);

		if (p->waiting || events)
			loaded = handle(p, events);
		if (p->waiting)
			sem_wait(&p->wake);
		else if (p->pending)
			continue;
		else if (loaded && !loaded->idle)
			run_guest(p, loaded);
		else
			sem_wait(&p->wake);
	}
	return NULL;
}

/* Guest code that runs until something is raised on its pCPU, but no longer than so. */
static void compute(struct pcpu *p, hv_time ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / SECOND;
	until.tv_nsec %= SECOND;
	sem_timedwait(&p->wake, &until);
}

static bool has_event(void *arg)
{
	const struct program *program = arg;

	return program->sent != program->received;
}

static void block(struct pcpu *p, struct hv_vcpu *v, struct program *self)
{
	enter(p->m, p->number);
	if (hv_block(v, has_event, self))
		self->blocks++;
	else
		self->saved_by_check++;
	leave(p->m);
}

/* ---- a machine */

static void boot(struct machine *m, const char *test, const char *policy, enum hv_gran gran)
{
	uint32_t core[PCPUS], socket[PCPUS] = {0};
	struct hv_topology topo = {PCPUS, core, socket, socket};
	struct hv_host host = fake_host;

	m->test = test;
	m->f.now = clock_now();
	m->f.nr_pcpus = PCPUS;
	pthread_mutex_init(&m->lock, NULL);
	for (unsigned c = 0; c < PCPUS; c++) {
		core[c] = c / THREADS;
		m->pcpus[c].m = m;
		m->pcpus[c].number = c;
		m->pcpus[c].random = c;
		sem_init(&m->pcpus[c].wake, 0, 0);
	}
	host.poke = poke;
	host.assert_failed = assert_failed;
	host.trace = NULL;
	assert_int_equal(hv_sys_create(&host, m, &topo, hv_policies, &m->f.sys), 0);
	hv_param_set(m->f.sys, "sched_ratelimit_us", "100");
	for (unsigned c = 0; c < PCPUS; c++)
		assert_int_equal(hv_pcpu_up(m->f.sys, c), 0);
	assert_int_equal(hv_pool_create(m->f.sys, 0, policy, gran, &m->f.pool), 0);
	for (unsigned c = 0; c < PCPUS; c++)
		assert_int_equal(hv_pool_add_pcpu(m->f.pool, c), 0);
}

static void start(struct machine *m)
{
	for (unsigned c = 0; c < PCPUS; c++)
		assert_int_equal(pthread_create(&m->pcpus[c].thread, NULL, run_pcpu, &m->pcpus[c]),
				 0);
}

/* vCPUs with programs of one kind, up and ready. */
static struct hv_domain *add_domain(struct machine *m, int id, unsigned nr_vcpus,
				    const struct hv_mask *hard, struct program *programs,
				    void (*step)(struct pcpu *, struct hv_vcpu *, struct program *))
{
	struct hv_domain *d;
	struct hv_vcpu *v;

	assert_int_equal(hv_domain_create(m->f.pool, id, nr_vcpus, &d), 0);
	for (unsigned i = 0; i < nr_vcpus; i++) {
		programs[i].step = step;
		assert_int_equal(hv_vcpu_create(d, &programs[i], hard, NULL, &v), 0);
		hv_vcpu_up(v);
	}
	return d;
}

static void finish(struct machine *m)
{
	m->stop = true;
	for (unsigned c = 0; c < PCPUS; c++)
		sem_post(&m->pcpus[c].wake);
	for (unsigned c = 0; c < PCPUS; c++) {
		pthread_join(m->pcpus[c].thread, NULL);
		sem_destroy(&m->pcpus[c].wake);
	}
	fake_destroy(&m->f);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Fails when `count` has not changed for long. */
struct watchdog {
	unsigned last;
	hv_time since;
};

static void watch(const struct machine *m, struct watchdog *w, unsigned count, const char *stall)
{
	hv_time now = clock_now();

	if (count != w->last || !w->since)
		*w = (struct watchdog){count, now};
	else if (now - w->since > STALL)
		failed(m, stall);
}

/* ---- behaviour 9 */

#define PAUSES 1000

/*
 * vCPU 0 pauses its sibling, and waits in the hypervisor until that is off: it takes no events
 * meanwhile. The sibling yields, so it may be waiting itself, for vCPU 0 to join a decision.
 */
static void pause_sibling(struct pcpu *p, struct hv_vcpu *v, struct program *self)
{
	struct machine *m = p->m;
	struct hv_vcpu *other = v->domain->vcpus[1];
	struct watchdog dog = {0, 0};

	(void)self;
	compute(p, 20 * US);
	enter(m, p->number);
	if (v->id == 1) {
		hv_yield(v);
	} else if (other->is_running) {
		assert_int_equal(hv_pause(other), 0);
		/* At the end of the test its pCPU may have stopped before it. */
		while (other->is_running && !m->stop) {
			leave(m);
			watch(m, &dog, 0, "a synchronous pause of a sibling does not end");
			sched_yield();
			enter(m, p->number);
		}
		if (!other->is_running && m->pcpus[p->number ^ 1].guest)
			failed(m, "a paused vCPU is in guest mode");
		hv_unpause(other);
		m->done++;
	}
	leave(m);
}

static void run_and_block(struct pcpu *p, struct hv_vcpu *v, struct program *self)
{
	self->received = self->sent;
	compute(p, (hv_time)draw(p, 100) * US);
	if (draw(p, 2))
		block(p, v, self);
}

static void notify(struct machine *m, struct hv_vcpu *v)
{
	struct program *program = v->host;

	program->sent++;
	enter(m, 0);
	hv_wake(v);
	leave(m);
}

/* Both domains want the same core, so that pauses meet gatherings. */
static void a_vcpu_pauses_its_sibling_a_thousand_times(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct hv_mask core1 = fake_mask2(2, 3);
	struct watchdog dog = {0, 0};
	struct hv_domain *other;

	(void)state;
	boot(m, __func__, "credit2", HV_GRAN_CORE);
	add_domain(m, 1, 2, &core1, &m->programs[0], pause_sibling);
	other = add_domain(m, 2, 2, &core1, &m->programs[2], run_and_block);
	start(m);
	while (m->done < PAUSES) {
		watch(m, &dog, m->done, "no pause for a long time");
		for (unsigned k = 0; k < 2; k++)
			notify(m, other->vcpus[k]);
		tick(m);
	}
	print_message("# %u pauses, %" PRIu64 " steps of guests\n", m->done, m->turns);
	finish(m);
}

/* ---- behaviour 14 */

#define EVENTS	  1000000
#define CONSUMERS 6

static void consume(struct pcpu *p, struct hv_vcpu *v, struct program *self)
{
	unsigned sent = self->sent;

	if (sent != self->received)
		self->received = sent;
	else
		block(p, v, self);
}

/* Each vCPU has its own pCPU; it gets its next event when it has taken the last one. */
static void a_million_notifications_lose_none(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	unsigned sent = 0, blocks = 0, checks = 0;
	struct watchdog dog = {0, 0};
	struct hv_domain *d;

	(void)state;
	boot(m, __func__, "credit2", HV_GRAN_CPU);
	d = add_domain(m, 1, CONSUMERS, NULL, m->programs, consume);
	start(m);
	while (sent < EVENTS) {
		unsigned before = sent;

		for (unsigned i = 0; i < CONSUMERS; i++) {
			if (m->programs[i].sent != m->programs[i].received)
				continue;
			notify(m, d->vcpus[i]);
			sent++;
		}
		if (sent == before)
			sched_yield();
		watch(m, &dog, sent, "a wake was lost");
	}
	for (unsigned i = 0; i < CONSUMERS; i++) {
		while (m->programs[i].sent != m->programs[i].received)
			watch(m, &dog, 0, "a wake was lost");
	}
	enter(m, 0);
	for (unsigned i = 0; i < CONSUMERS; i++) {
		blocks += m->programs[i].blocks;
		checks += m->programs[i].saved_by_check;
	}
	leave(m);
	print_message("# %u events, %u blocks; %u came between flag and check\n", sent, blocks,
		      checks);
	assert_true(blocks > EVENTS / 10);
	finish(m);
}

/* ---- behaviour 25 */

#define REMOVALS 1000

/* Core {6,7} leaves the pool. */
static unsigned remove_core(struct machine *m)
{
	struct watchdog dog = {0, 0};
	unsigned again = 0;
	int rc;

	for (;;) {
		enter(m, 0);
		rc = hv_pool_remove_pcpu(m->f.pool, 6 + again % 2);
		if (rc == 0)
			break;
		leave(m);
		assert_int_equal(rc, -HV_EAGAIN);
		again++;
		watch(m, &dog, 0, "a removal does not end");
		tick(m);
	}
	for (unsigned c = 6; c < 8; c++) {
		if (!hv_pcpu_loaded(m->f.sys, c)->idle || m->pcpus[c].guest)
			failed(m, "a guest runs on a pCPU that was taken away");
		if (hv_pcpu_wait(m->f.sys, c) != HV_WAIT_NONE)
			failed(m, "a pCPU waits for siblings that it has no more");
		m->pcpus[c].gone = true;
	}
	leave(m);
	return again;
}

static void add_core(struct machine *m)
{
	enter(m, 0);
	m->pcpus[6].gone = m->pcpus[7].gone = false;
	assert_int_equal(hv_pool_add_pcpu(m->f.pool, 7), 0);
	leave(m);
}

static void a_core_leaves_a_thousand_times_under_load(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct hv_domain *d[3];
	uint64_t again = 0;

	(void)state;
	boot(m, __func__, "credit2", HV_GRAN_CORE);
	for (unsigned i = 0; i < 3; i++)
		d[i] = add_domain(m, (int)i + 1, 3, NULL, &m->programs[3 * i], run_and_block);
	start(m);
	while (m->done < REMOVALS) {
		for (unsigned k = 0; k < 9; k++)
			notify(m, d[k % 3]->vcpus[k / 3]);
		tick(m);
		again += remove_core(m);
		tick(m);
		add_core(m);
		m->done++;
	}
	print_message("# %u removals, %" PRIu64 " times called again, %" PRIu64
		      " steps of guests\n",
		      m->done, again, m->turns);
	assert_true(again > 0 && m->turns > REMOVALS);
	finish(m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vcpu_pauses_its_sibling_a_thousand_times),
		cmocka_unit_test(a_million_notifications_lose_none),
		cmocka_unit_test(a_core_leaves_a_thousand_times_under_load),
	};

	executable = argv[0];
	if (argc > 2) {
		fprintf(stderr, "usage: threads [TEST]\n");
		return 2;
	}
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

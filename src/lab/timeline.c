/*
 * The timeline of a scenario: when its operator gets which commands. What they do is in operator.c.
 */
#include <assert.h>

#include "lab/run.h"

static void event_due(struct mc_timer *t)
{
	struct lab_event_run *e = t->data;
	const struct sc_event *event = e->event;

	assert(e->left > 0);
	for (unsigned i = 0; i < event->n_ops; i++) {
		if (lab_command(e->run, &event->op[i], NULL) != 0) {
			mc_fail(e->run->machine, MC_FAULT_MEMORY, "no memory for a command");
			return;
		}
	}
	if (mc_fault(e->run->machine))
		return;
	if (--e->left > 0)
		mc_timer_set(t, mc_now(e->run->machine) + event->every);
}

void lab_timeline_start(struct lab_run *run)
{
	assert(run->machine);
	for (unsigned i = 0; i < run->s->n_events; i++) {
		struct lab_event_run *e = &run->event[i];

		e->run = run;
		e->event = &run->s->event[i];
		e->left = e->event->count;
		mc_timer_init(&e->timer, run->machine, MC_TIMER_SAMPLE, i, event_due, e);
		if (e->left > 0)
			mc_timer_set(&e->timer, e->event->at);
	}
}

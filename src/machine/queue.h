/*
 * The event queue: a 4-ary heap ordered by (time, class, entity, sequence), hardware-model section 1.
 *
 * An event is part of the thing that waits for it and knows its place in the heap, so that moving and
 * cancelling cost O(log n) and nothing is allocated. The heap keeps the keys beside the pointers, four
 * children in two cache lines, so that a step down touches no event but the one that moves up.
 *
 * Taking the first event leaves a hole at the root; the next event that is queued goes there and sinks.
 * Most events queue another one, so that a pair of them costs one walk instead of two.
 */
#ifndef HV_MACHINE_QUEUE_H
#define HV_MACHINE_QUEUE_H

#include <stdint.h>

#include "machine/machine.h"

/* Classes of events due together, in this order. */
enum mc_class_order { MC_EV_WORK, MC_EV_INTERRUPT, MC_EV_SCHEDULER, MC_EV_WAKE, MC_EV_SAMPLE };

#define MC_SEQ_BITS    37 /* 1.4e11 events */
#define MC_ENTITY_BITS 24

static inline uint64_t mc_event_order(enum mc_class_order cls, uint32_t entity)
{
	return (uint64_t)cls << (MC_SEQ_BITS + MC_ENTITY_BITS) |
	       (uint64_t)(entity & ((1u << MC_ENTITY_BITS) - 1)) << MC_SEQ_BITS;
}

/* Time above, order below: one comparison. */
typedef unsigned __int128 mc_key;

static inline mc_key mc_key_of(int64_t time, uint64_t order)
{
	return (mc_key)(uint64_t)time << 64 | order;
}

struct mc_node {
	mc_key key;
	struct mc_event *ev;
};

struct mc_queue {
	struct mc_node *node; /* inside memory, so that a family of children is aligned */
	void *memory;
	uint32_t nr, size; /* nr counts the hole */
	bool hole;	   /* node[0] is vacant */
	uint64_t sequence;
};

/* Room for `size` events. 0, -HV_ENOMEM. Grows only through this call. */
int mc_queue_reserve(struct mc_queue *q, uint32_t size);
void mc_queue_free(struct mc_queue *q);
/* Queue at `time` >= 0, or move there. order: mc_event_order(). There must be room. */
void mc_queue_set(struct mc_queue *q, struct mc_event *ev, int64_t time, uint64_t order);
void mc_queue_remove(struct mc_queue *q, struct mc_event *ev); /* no effect if not queued */
void mc_queue_close(struct mc_queue *q);		       /* fill the hole */

/* The earliest event, or NULL. */
static inline struct mc_event *mc_queue_first(struct mc_queue *q)
{
	if (q->hole)
		mc_queue_close(q);
	return q->nr ? q->node[0].ev : NULL;
}

static inline bool mc_queue_full(const struct mc_queue *q)
{
	return q->nr == q->size && !q->hole;
}

#endif

/*
 * The event queue, ordered by (time, class, entity, sequence), hardware-model section 1.
 *
 * Near events are in a 4-ary heap, the others in a hierarchical timing wheel in front of it: lists
 * of events that are due in the same 65 us (and, further away, in the same 67 ms), without order. A
 * list is poured into the heap before anything in its time can be taken, so that the order is the
 * heap's alone. Most timers of a host are far away and many are moved before they fire: in the
 * wheel that costs O(1), and the heap holds only what is about to happen, whatever the number of
 * vCPUs.
 *
 * An event is part of the thing that waits for it and knows its place; nothing is allocated. Taking
 * the first event leaves a hole at the root; the next event that is queued in the heap goes there
 * and sinks.
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

struct mc_node {
	mc_key key;
	struct mc_event *ev;
};

#define MC_WHEEL_LEVELS 2
#define MC_WHEEL_BITS	10 /* 1024 slots a level */
#define MC_WHEEL_SLOTS	(1u << MC_WHEEL_BITS)
#define MC_TICK_BITS	16 /* a slot of level 0 is 2^16 ns */

struct mc_wheel {
	struct mc_event *slot[MC_WHEEL_SLOTS];
	uint64_t used[MC_WHEEL_SLOTS / 64]; /* slots that may have events */
};

struct mc_queue {
	struct mc_node *node; /* inside memory, so that a family of children is aligned */
	void *memory;
	uint32_t nr;	/* nodes of the heap, the hole included */
	uint32_t count; /* events in heap and wheel */
	uint32_t size;
	bool hole;    /* node[0] is vacant */
	int64_t tick; /* time >> MC_TICK_BITS up to which all events are in the heap */
	int64_t next; /* no event of the wheel is earlier, ns */
	uint64_t sequence;
	struct mc_wheel wheel[MC_WHEEL_LEVELS];
};

/* Start an empty queue; q is all zero or was freed. */
void mc_queue_init(struct mc_queue *q);
/* Room for `size` events. 0, -HV_ENOMEM. Grows only through this call. */
int mc_queue_reserve(struct mc_queue *q, uint32_t size);
void mc_queue_free(struct mc_queue *q);
/* Queue at `time` >= 0, or move there. order: mc_event_order(). There must be room. */
void mc_queue_set(struct mc_queue *q, struct mc_event *ev, int64_t time, uint64_t order);
void mc_queue_remove(struct mc_queue *q, struct mc_event *ev); /* no effect if not queued */
struct mc_event *mc_queue_find_first(struct mc_queue *q);

/* The earliest event, or NULL. */
static inline struct mc_event *mc_queue_first(struct mc_queue *q)
{
	if (!q->hole && q->nr && (int64_t)(q->node[0].key >> 64) < q->next)
		return q->node[0].ev;
	return mc_queue_find_first(q);
}

static inline bool mc_queue_full(const struct mc_queue *q)
{
	return q->count == q->size;
}

#endif

/*
 * A queue of things that fall due: an indexed binary heap ordered by (time, order).
 *
 * An entry is named by a slot, a small number chosen by the caller (a pCPU, a vCPU, a timer's
 * place); each slot is in the queue at most once. Insert, change and remove cost O(log n).
 */
#ifndef HV_CONFORM_DUE_H
#define HV_CONFORM_DUE_H

#include <hvsched.h>

#define DUE_NEVER INT64_MAX

struct due_entry {
	hv_time time;
	uint64_t order; /* among equal times the smaller one is first */
	uint32_t slot;
};

struct due_queue {
	struct due_entry *heap;
	uint32_t *place; /* by slot: index in heap + 1, 0 = not queued */
	uint32_t nr, slots;
};

/* Makes room for slots 0..slots-1; entries stay. 0 or -HV_ENOMEM. Starts from a zeroed struct. */
int due_reserve(struct due_queue *q, uint32_t slots);
void due_free(struct due_queue *q);

/* Queues the slot, or changes its time and order. */
void due_set(struct due_queue *q, uint32_t slot, hv_time time, uint64_t order);
/* No effect when the slot is not queued. */
void due_drop(struct due_queue *q, uint32_t slot);

static inline bool due_queued(const struct due_queue *q, uint32_t slot)
{
	return q->place[slot] != 0;
}

/* Time of the first entry, DUE_NEVER when there is none. */
static inline hv_time due_next(const struct due_queue *q)
{
	return q->nr ? q->heap[0].time : DUE_NEVER;
}

/* Time of a queued slot. */
static inline hv_time due_time(const struct due_queue *q, uint32_t slot)
{
	return q->heap[q->place[slot] - 1].time;
}

/* Slot of the first entry; the queue must not be empty. */
static inline uint32_t due_first(const struct due_queue *q)
{
	return q->heap[0].slot;
}

#endif

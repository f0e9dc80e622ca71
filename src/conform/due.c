/*
 * The queue of due things. Laws: place[heap[i].slot] == i + 1 for every entry, 0 for every other
 * slot; no entry is before its parent.
 */
#include "conform/due.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int due_reserve(struct due_queue *q, uint32_t slots)
{
	struct due_entry *heap;
	uint32_t *place;

	if (slots <= q->slots)
		return 0;
	heap = realloc(q->heap, slots * sizeof(*heap));
	if (!heap)
		return -HV_ENOMEM;
	q->heap = heap;
	place = realloc(q->place, slots * sizeof(*place));
	if (!place)
		return -HV_ENOMEM;
	memset(place + q->slots, 0, (slots - q->slots) * sizeof(*place));
	q->place = place;
	q->slots = slots;
	return 0;
}

void due_free(struct due_queue *q)
{
	free(q->heap);
	free(q->place);
	memset(q, 0, sizeof(*q));
}

static bool before(const struct due_entry *a, const struct due_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void put(struct due_queue *q, uint32_t at, struct due_entry entry)
{
	assert(at < q->slots);
	q->heap[at] = entry;
	q->place[entry.slot] = at + 1;
}

/* Finds the place of an entry, starting from the hole `at`. */
static void settle(struct due_queue *q, uint32_t at, struct due_entry entry)
{
	while (at > 0 && before(&entry, &q->heap[(at - 1) / 2])) {
		put(q, at, q->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < q->nr && before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (child >= q->nr || !before(&q->heap[child], &entry))
			break;
		put(q, at, q->heap[child]);
		at = child;
	}
	put(q, at, entry);
}

void due_set(struct due_queue *q, uint32_t slot, hv_time time, uint64_t order)
{
	struct due_entry entry = {.time = time, .order = order, .slot = slot};

	assert(slot < q->slots);
	if (!q->place[slot]) {
		assert(q->nr < q->slots);
		q->nr++;
		settle(q, q->nr - 1, entry);
		return;
	}
	settle(q, q->place[slot] - 1, entry);
}

void due_drop(struct due_queue *q, uint32_t slot)
{
	uint32_t at;
	struct due_entry last;

	assert(slot < q->slots);
	if (!q->place[slot])
		return;
	at = q->place[slot] - 1;
	q->place[slot] = 0;
	last = q->heap[--q->nr];
	if (last.slot != slot)
		settle(q, at, last);
	assert(q->place[slot] == 0);
}

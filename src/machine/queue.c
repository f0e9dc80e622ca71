/*
 * The event queue (queue.h).
 *
 * Law: node[i].ev->pos == i + 1 for all i < nr but the hole; no node is earlier than its parent.
 */
#include "machine/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ARITY	4u
#define ALIGN	128 /* four nodes */
#define LEADING 3   /* nodes left free before the root, so that node[1] is aligned */

int mc_queue_reserve(struct mc_queue *q, uint32_t size)
{
	struct mc_node *memory;
	size_t bytes;

	if (size <= q->size)
		return 0;
	if (size < q->size * 2)
		size = q->size * 2;
	bytes = ((size_t)size + LEADING) * sizeof(struct mc_node);
	memory = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
	if (!memory)
		return -HV_ENOMEM;
	if (q->nr)
		memcpy(memory + LEADING, q->node, q->nr * sizeof(*memory));
	free(q->memory);
	q->memory = memory;
	q->node = memory + LEADING;
	q->size = size;
	return 0;
}

void mc_queue_free(struct mc_queue *q)
{
	free(q->memory);
	*q = (struct mc_queue){0};
}

static inline void put(struct mc_node *node, uint32_t i, const struct mc_node *n)
{
	node[i] = *n;
	n->ev->pos = i + 1;
}

static void sift_up(struct mc_queue *q, uint32_t i, struct mc_node n)
{
	struct mc_node *node = q->node;

	while (i > 0) {
		uint32_t parent = (i - 1) / ARITY;

		if (n.key >= node[parent].key)
			break;
		put(node, i, &node[parent]);
		i = parent;
	}
	put(node, i, &n);
}

static uint32_t least_of(const struct mc_node *node, uint32_t first, uint32_t end)
{
	uint32_t best = first;

	for (uint32_t c = first + 1; c < end; c++)
		best = node[c].key < node[best].key ? c : best;
	return best;
}

static void sift_down(struct mc_queue *q, uint32_t i, struct mc_node n)
{
	struct mc_node *node = q->node;
	uint32_t nr = q->nr;

	for (;;) {
		uint32_t child = i * ARITY + 1, best;

		if (child + ARITY <= nr) {
			uint32_t a = child + (node[child + 1].key < node[child].key);
			uint32_t b = child + 2 + (node[child + 3].key < node[child + 2].key);

			best = node[b].key < node[a].key ? b : a;
		} else if (child < nr) {
			best = least_of(node, child, nr);
		} else {
			break;
		}
		if (node[best].key >= n.key)
			break;
		put(node, i, &node[best]);
		i = best;
	}
	put(node, i, &n);
}

static void place(struct mc_queue *q, uint32_t i, struct mc_node n)
{
	if (i > 0 && n.key < q->node[(i - 1) / ARITY].key)
		sift_up(q, i, n);
	else
		sift_down(q, i, n);
}

void mc_queue_close(struct mc_queue *q)
{
	assert(q->hole && q->nr);
	q->hole = false;
	if (--q->nr)
		sift_down(q, 0, q->node[q->nr]);
}

void mc_queue_set(struct mc_queue *q, struct mc_event *ev, int64_t time, uint64_t order)
{
	struct mc_node n;

	assert(time >= 0 && q->sequence < 1ULL << MC_SEQ_BITS);
	order |= q->sequence++;
	n = (struct mc_node){mc_key_of(time, order), ev};
	ev->time = time;
	ev->order = order;
	if (q->hole && !ev->pos) {
		q->hole = false;
		sift_down(q, 0, n);
		return;
	}
	if (q->hole)
		mc_queue_close(q);
	if (ev->pos) {
		assert(q->node[ev->pos - 1].ev == ev);
		place(q, ev->pos - 1, n);
		return;
	}
	assert(q->nr < q->size);
	sift_up(q, q->nr++, n);
}

void mc_queue_remove(struct mc_queue *q, struct mc_event *ev)
{
	uint32_t i = ev->pos;

	if (!i)
		return;
	ev->pos = 0;
	if (--i == 0) { /* there is no second hole: the root would not be ev's */
		q->hole = true;
		return;
	}
	if (q->hole) {
		/* ev is below the hole and stays a node until it is closed, which may move it. */
		ev->pos = i + 1;
		mc_queue_close(q);
		i = ev->pos - 1;
		ev->pos = 0;
	}
	assert(i < q->nr && q->node[i].ev == ev);
	if (i == 0) {
		q->hole = true;
	} else if (i != --q->nr) {
		place(q, i, q->node[q->nr]);
	}
}

/*
 * The event queue (queue.h).
 *
 * Law: node[i].ev->pos == i + 1 for all i < nr; no node is earlier than its parent.
 */
#include "machine/queue.h"

#include <assert.h>
#include <stdlib.h>

#define ARITY 4u

int mc_queue_reserve(struct mc_queue *q, uint32_t size)
{
	struct mc_node *node;

	if (size <= q->size)
		return 0;
	if (size < q->size * 2)
		size = q->size * 2;
	node = realloc(q->node, size * sizeof(*node));
	if (!node)
		return -HV_ENOMEM;
	q->node = node;
	q->size = size;
	return 0;
}

void mc_queue_free(struct mc_queue *q)
{
	free(q->node);
	*q = (struct mc_queue){0};
}

static inline bool earlier(const struct mc_node *a, const struct mc_node *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static inline void put(struct mc_queue *q, uint32_t i, const struct mc_node *n)
{
	q->node[i] = *n;
	n->ev->pos = i + 1;
}

static void sift_up(struct mc_queue *q, uint32_t i, struct mc_node n)
{
	while (i > 0) {
		uint32_t parent = (i - 1) / ARITY;

		if (!earlier(&n, &q->node[parent]))
			break;
		put(q, i, &q->node[parent]);
		i = parent;
	}
	put(q, i, &n);
}

static void sift_down(struct mc_queue *q, uint32_t i, struct mc_node n)
{
	for (;;) {
		uint32_t child = i * ARITY + 1;
		uint32_t end = child + ARITY < q->nr ? child + ARITY : q->nr;
		uint32_t best = child;

		if (child >= q->nr)
			break;
		for (uint32_t c = child + 1; c < end; c++) {
			if (earlier(&q->node[c], &q->node[best]))
				best = c;
		}
		if (!earlier(&q->node[best], &n))
			break;
		put(q, i, &q->node[best]);
		i = best;
	}
	put(q, i, &n);
}

static void settle_at(struct mc_queue *q, uint32_t i, struct mc_node n)
{
	if (i > 0 && earlier(&n, &q->node[(i - 1) / ARITY]))
		sift_up(q, i, n);
	else
		sift_down(q, i, n);
}

void mc_queue_set(struct mc_queue *q, struct mc_event *ev, int64_t time, uint64_t order)
{
	struct mc_node n = {time, order | q->sequence++, ev};

	assert(q->sequence < 1ULL << MC_SEQ_BITS);
	ev->time = time;
	ev->order = n.order;
	if (ev->pos) {
		assert(q->node[ev->pos - 1].ev == ev);
		settle_at(q, ev->pos - 1, n);
		return;
	}
	assert(q->nr < q->size);
	sift_up(q, q->nr++, n);
}

void mc_queue_remove(struct mc_queue *q, struct mc_event *ev)
{
	uint32_t i = ev->pos;
	struct mc_node last;

	if (!i)
		return;
	i--;
	assert(i < q->nr && q->node[i].ev == ev);
	ev->pos = 0;
	last = q->node[--q->nr];
	if (last.ev != ev)
		settle_at(q, i, last);
}

/* SPDX-License-Identifier: MIT */
/*
 * An intrusive queue sorted by a 64-bit key, first in first out among equal keys.
 *
 * It behaves exactly like a linked list in which a new node is put before the first node with a
 * strictly greater key (credit2 section 5.1 with key = -credit), but insertion and removal cost
 * O(log n): the nodes form a red-black tree as well as a list. The list gives O(1) head, next and
 * previous; the tree finds the place.
 *
 * Laws: keys never fall along the list; the list is the in-order walk of the tree; the tree is
 * red-black (no red node has a red parent, every path from the root to a missing child has the
 * same number of black nodes). sorted_queue_check() walks all three.
 *
 * A key may be rewritten in place (sorted_queue_rekey()) as long as the whole queue stays sorted,
 * i.e. when a non-decreasing map is applied to all keys from one end to the other. Nothing moves.
 *
 * The queue owns no memory. Nobody but these functions writes the fields.
 */
#ifndef HVSCHED_POLICY_SORTED_QUEUE_H
#define HVSCHED_POLICY_SORTED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sorted_node {
	uintptr_t parent_red; /* parent, with the low bit set if this node is red */
	struct sorted_node *child[2];
	struct sorted_node *prev, *next;
	int64_t key;
};

struct sorted_queue {
	struct sorted_node *root, *head, *tail;
	uint32_t nr;
};

/* n must not be in a queue. Its place is behind all nodes whose key is <= key. */
void sorted_queue_insert(struct sorted_queue *q, struct sorted_node *n, int64_t key);
/* n must be in q. Its links are dead afterwards. */
void sorted_queue_remove(struct sorted_queue *q, struct sorted_node *n);
/* All laws hold; O(n). */
bool sorted_queue_check(const struct sorted_queue *q);

static inline struct sorted_node *sorted_queue_head(const struct sorted_queue *q)
{
	return q->head;
}

static inline void sorted_queue_rekey(struct sorted_node *n, int64_t key)
{
	n->key = key;
}

#endif

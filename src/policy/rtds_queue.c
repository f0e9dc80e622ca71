/* SPDX-License-Identifier: MIT */
/*
 * Ordered queues of rtds: a treap threaded by a list. See the header for what it promises.
 *
 * child[0] holds what stands before a node, child[1] what stands behind it; "side" says which.
 */
#include "policy/rtds_queue.h"

static inline struct rtds_rank worse_of(struct rtds_rank a, struct rtds_rank b)
{
	return rtds_compare(a, b) < 0 ? a : b;
}

static inline bool same_rank(struct rtds_rank a, struct rtds_rank b)
{
	return a.level == b.level && a.deadline == b.deadline;
}

/* Sums of n from its own values and those of its children. */
static void sum_up(struct rtds_node *n, unsigned nw)
{
	struct rtds_rank worst = n->rank;

	for (unsigned side = 0; side < 2; side++)
		if (n->child[side])
			worst = worse_of(n->child[side]->worst, worst);
	n->worst = worst;
	for (unsigned i = 0; i < nw; i++) {
		uint64_t w = n->pcpus.w[i];

		for (unsigned side = 0; side < 2; side++)
			if (n->child[side])
				w |= n->child[side]->reach.w[i];
		n->reach.w[i] = w;
	}
}

/* n has got a new child, `added`: all above it may be worse and reach further. */
static void add_to_sums(struct rtds_node *n, const struct rtds_node *added, unsigned nw)
{
	bool changed = true;

	/* What adds nothing to a subtree adds nothing to what holds it. */
	for (; n && changed; n = n->parent) {
		changed = rtds_compare(added->rank, n->worst) < 0;
		if (changed)
			n->worst = added->rank;
		for (unsigned i = 0; i < nw; i++) {
			changed |= (added->reach.w[i] & ~n->reach.w[i]) != 0;
			n->reach.w[i] |= added->reach.w[i];
		}
	}
}

/* Anew from n upwards, as far as anything changes. */
static void renew_sums(struct rtds_node *n, unsigned nw)
{
	for (; n; n = n->parent) {
		struct rtds_rank worst = n->worst;
		uint64_t changed = 0;

		for (unsigned i = 0; i < nw; i++) {
			uint64_t w = n->pcpus.w[i];

			for (unsigned side = 0; side < 2; side++)
				if (n->child[side])
					w |= n->child[side]->reach.w[i];
			changed |= w ^ n->reach.w[i];
			n->reach.w[i] = w;
		}
		sum_up(n, 0);
		if (!changed && same_rank(worst, n->worst))
			return;
	}
}

static inline void replace_child(struct rtds_queue *q, struct rtds_node *parent,
				 struct rtds_node *old, struct rtds_node *new)
{
	if (!parent)
		q->root = new;
	else
		parent->child[parent->child[1] == old] = new;
	if (new)
		new->parent = parent;
}

/* n takes the place of its parent, which becomes its child. What is below n has its sums. */
static void rotate_up(struct rtds_queue *q, struct rtds_node *n)
{
	struct rtds_node *parent = n->parent;
	unsigned side = parent->child[1] == n;
	struct rtds_node *inner = n->child[!side];

	replace_child(q, parent->parent, parent, n);
	parent->child[side] = inner;
	if (inner)
		inner->parent = parent;
	n->child[!side] = parent;
	parent->parent = n;
	/* The subtree is the same, so its sums are. */
	n->worst = parent->worst;
	for (unsigned i = 0; i < q->nw; i++)
		n->reach.w[i] = parent->reach.w[i];
	sum_up(parent, q->nw);
}

/* First node that is strictly worse than the rank; something in the queue is. */
static struct rtds_node *first_worse(const struct rtds_queue *q, struct rtds_rank rank)
{
	struct rtds_node *n = q->root;

	for (;;) {
		if (n->child[0] && rtds_compare(rank, n->child[0]->worst) > 0)
			n = n->child[0];
		else if (rtds_compare(rank, n->rank) > 0)
			return n;
		else
			n = n->child[1];
	}
}

/* Before `next`, NULL = last. */
static void thread(struct rtds_queue *q, struct rtds_node *n, struct rtds_node *next)
{
	n->next = next;
	n->prev = next ? next->prev : q->tail;
	if (n->prev)
		n->prev->next = n;
	else
		q->head = n;
	if (next)
		next->prev = n;
	else
		q->tail = n;
}

/* xorshift: any sequence without order in it will do. */
static uint32_t draw_weight(struct rtds_queue *q)
{
	uint32_t x = q->random ? q->random : 0x9e3779b9u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	q->random = x;
	return x;
}

void rtds_queue_insert(struct rtds_queue *q, struct rtds_node *n, struct rtds_rank rank,
		       const struct hv_mask *pcpus)
{
	bool beats = q->root && rtds_compare(rank, q->root->worst) > 0;
	struct rtds_node *next = beats ? first_worse(q, rank) : NULL;

	n->rank = rank;
	hv_mask_copy(&n->pcpus, pcpus, q->nw);
	n->child[0] = n->child[1] = NULL;
	n->weight = draw_weight(q);
	sum_up(n, q->nw);
	thread(q, n, next);
	q->nr++;
	/* One of two neighbours in the list has no child on the side of the other. */
	if (next && !next->child[0]) {
		n->parent = next;
		next->child[0] = n;
	} else {
		n->parent = n->prev;
		if (n->prev)
			n->prev->child[1] = n;
		else
			q->root = n;
	}
	add_to_sums(n->parent, n, q->nw);
	while (n->parent && n->parent->weight < n->weight)
		rotate_up(q, n);
}

void rtds_queue_remove(struct rtds_queue *q, struct rtds_node *n)
{
	while (n->child[0] && n->child[1])
		rotate_up(q, n->child[n->child[1]->weight > n->child[0]->weight]);
	replace_child(q, n->parent, n, n->child[n->child[0] == NULL]);
	renew_sums(n->parent, q->nw);
	if (n->prev)
		n->prev->next = n->next;
	else
		q->head = n->next;
	if (n->next)
		n->next->prev = n->prev;
	else
		q->tail = n->prev;
	q->nr--;
}

void rtds_queue_rerank(struct rtds_node *n, struct rtds_rank rank)
{
	n->rank = rank;
	renew_sums(n, 0);
}

void rtds_queue_repin(struct rtds_queue *q, struct rtds_node *n, const struct hv_mask *pcpus)
{
	hv_mask_copy(&n->pcpus, pcpus, q->nw);
	renew_sums(n, q->nw);
}

struct rtds_node *rtds_queue_first_for(const struct rtds_queue *q, unsigned pcpu)
{
	struct rtds_node *n = q->root;

	if (!n || hv_mask_test(&q->head->pcpus, pcpu)) /* most units may run anywhere */
		return q->head;
	if (!hv_mask_test(&n->reach, pcpu))
		return NULL;
	for (;;) {
		if (n->child[0] && hv_mask_test(&n->child[0]->reach, pcpu))
			n = n->child[0];
		else if (hv_mask_test(&n->pcpus, pcpu))
			return n;
		else
			n = n->child[1];
	}
}

/* ---- laws */

/* The node that follows n in the tree. */
static const struct rtds_node *successor(const struct rtds_node *n)
{
	if (n->child[1]) {
		n = n->child[1];
		while (n->child[0])
			n = n->child[0];
		return n;
	}
	while (n->parent && n->parent->child[1] == n)
		n = n->parent;
	return n->parent;
}

static bool node_ok(const struct rtds_queue *q, const struct rtds_node *n)
{
	struct rtds_node copy = *n;

	for (unsigned side = 0; side < 2; side++) {
		const struct rtds_node *child = n->child[side];

		if (child && (child->parent != n || child->weight > n->weight))
			return false;
	}
	sum_up(&copy, q->nw);
	return same_rank(copy.worst, n->worst) && hv_mask_equal(&copy.reach, &n->reach, q->nw) &&
	       n->next == successor(n) && (!n->next || n->next->prev == n);
}

bool rtds_queue_check(const struct rtds_queue *q)
{
	const struct rtds_node *n = q->root, *last = NULL;
	uint32_t nr = 0;

	if (!n)
		return !q->head && !q->tail && !q->nr;
	if (n->parent)
		return false;
	while (n->child[0])
		n = n->child[0];
	if (n != q->head || n->prev)
		return false;
	for (; n; last = n, n = n->next) {
		/* nr bounds the walk: a loop in the list ends it. */
		if (++nr > q->nr || !node_ok(q, n))
			return false;
	}
	return last == q->tail && nr == q->nr;
}

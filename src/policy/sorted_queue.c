/* SPDX-License-Identifier: MIT */
/*
 * The sorted queue: a red-black tree threaded by a list. See the header for what it promises.
 *
 * The two mirror images of every tree operation are one piece of code here: children are
 * child[0] (keys before) and child[1] (keys behind), and "side" says which child is meant.
 */
#include "policy/sorted_queue.h"

#define RED ((uintptr_t)1)

static inline struct sorted_node *parent_of(const struct sorted_node *n)
{
	return (struct sorted_node *)(n->parent_red & ~RED);
}

static inline bool is_red(const struct sorted_node *n)
{
	return n && (n->parent_red & RED);
}

static inline void set_parent(struct sorted_node *n, struct sorted_node *parent)
{
	n->parent_red = (uintptr_t)parent | (n->parent_red & RED);
}

static inline void set_red(struct sorted_node *n)
{
	n->parent_red |= RED;
}

static inline void set_black(struct sorted_node *n)
{
	n->parent_red &= ~RED;
}

/* In the place below parent where old hangs, hang new (may be NULL). */
static inline void replace_child(struct sorted_queue *q, struct sorted_node *parent,
				 struct sorted_node *old, struct sorted_node *new)
{
	if (!parent)
		q->root = new;
	else
		parent->child[parent->child[1] == old] = new;
}

/* Turn the edge between n and its child away from side: n sinks to that side. */
static void rotate(struct sorted_queue *q, struct sorted_node *n, unsigned side)
{
	struct sorted_node *up = n->child[!side];
	struct sorted_node *inner = up->child[side];

	n->child[!side] = inner;
	if (inner)
		set_parent(inner, n);
	replace_child(q, parent_of(n), n, up);
	set_parent(up, parent_of(n));
	up->child[side] = n;
	set_parent(n, up);
}

/* n is red and new; its parent may be red too. */
static void fix_insert(struct sorted_queue *q, struct sorted_node *n)
{
	struct sorted_node *parent;

	while (is_red(parent = parent_of(n))) {
		struct sorted_node *grand = parent_of(parent); /* exists: the root is black */
		unsigned side = grand->child[1] == parent;
		struct sorted_node *uncle = grand->child[!side];

		if (is_red(uncle)) {
			set_black(parent);
			set_black(uncle);
			set_red(grand);
			n = grand;
			continue;
		}
		if (parent->child[!side] == n) {
			rotate(q, parent, side);
			parent = n;
		}
		set_black(parent);
		set_red(grand);
		rotate(q, grand, !side);
		break;
	}
	set_black(q->root);
}

/* Put n into the list beside its future parent, which is its neighbour in the order. */
static void thread(struct sorted_queue *q, struct sorted_node *n, struct sorted_node *parent,
		   unsigned side)
{
	n->prev = side ? parent : parent->prev;
	n->next = side ? parent->next : parent;
	if (n->prev)
		n->prev->next = n;
	else
		q->head = n;
	if (n->next)
		n->next->prev = n;
	else
		q->tail = n;
}

void sorted_queue_insert(struct sorted_queue *q, struct sorted_node *n, int64_t key)
{
	struct sorted_node *parent;
	unsigned side;

	n->key = key;
	n->child[0] = n->child[1] = NULL;
	q->nr++;
	if (!q->root) {
		n->parent_red = 0;
		n->prev = n->next = NULL;
		q->root = q->head = q->tail = n;
		return;
	}
	if (key >= q->tail->key) { /* the usual place of a unit that has just run */
		parent = q->tail;
		side = 1;
	} else if (key < q->head->key) {
		parent = q->head;
		side = 0;
	} else {
		struct sorted_node *next = q->root;

		do {
			parent = next;
			side = key >= parent->key;
			next = parent->child[side];
		} while (next);
	}
	thread(q, n, parent, side);
	parent->child[side] = n;
	n->parent_red = (uintptr_t)parent | RED;
	if (is_red(parent))
		fix_insert(q, n);
}

/*
 * The subtree n (may be NULL) below parent has one black node too few on every path; its sibling
 * is therefore never missing.
 */
static void fix_remove(struct sorted_queue *q, struct sorted_node *n, struct sorted_node *parent)
{
	while (n != q->root && !is_red(n)) {
		unsigned side = parent->child[1] == n;
		struct sorted_node *sib = parent->child[!side];

		if (is_red(sib)) {
			set_black(sib);
			set_red(parent);
			rotate(q, parent, side);
			sib = parent->child[!side];
		}
		if (!is_red(sib->child[0]) && !is_red(sib->child[1])) {
			set_red(sib);
			n = parent;
			parent = parent_of(n);
			continue;
		}
		if (!is_red(sib->child[!side])) {
			set_black(sib->child[side]);
			set_red(sib);
			rotate(q, sib, !side);
			sib = parent->child[!side];
		}
		sib->parent_red = (sib->parent_red & ~RED) | (parent->parent_red & RED);
		set_black(parent);
		set_black(sib->child[!side]);
		rotate(q, parent, side);
		return;
	}
	if (n)
		set_black(n);
}

/* n has two children: its successor, which has no child before it, takes n's place and colour. */
static void remove_inner(struct sorted_queue *q, struct sorted_node *n)
{
	struct sorted_node *heir = n->next;
	struct sorted_node *orphan = heir->child[1];
	struct sorted_node *parent = parent_of(heir);
	bool lost_black = !is_red(heir);

	if (parent == n) {
		parent = heir;
	} else {
		parent->child[0] = orphan;
		if (orphan)
			set_parent(orphan, parent);
		heir->child[1] = n->child[1];
		set_parent(heir->child[1], heir);
	}
	heir->child[0] = n->child[0];
	set_parent(heir->child[0], heir);
	replace_child(q, parent_of(n), n, heir);
	heir->parent_red = n->parent_red;
	if (lost_black)
		fix_remove(q, orphan, parent);
}

void sorted_queue_remove(struct sorted_queue *q, struct sorted_node *n)
{
	if (n->child[0] && n->child[1]) {
		remove_inner(q, n);
	} else {
		struct sorted_node *child = n->child[n->child[0] == NULL];
		struct sorted_node *parent = parent_of(n);

		replace_child(q, parent, n, child);
		if (child) {
			/* An only child is red, so n is black: swapping colours restores all. */
			child->parent_red = (uintptr_t)parent;
		} else if (!is_red(n)) {
			fix_remove(q, NULL, parent);
		}
	}
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

/* The node that follows n in the in-order walk of the tree, found through the tree alone. */
static const struct sorted_node *tree_successor(const struct sorted_node *n)
{
	if (n->child[1]) {
		n = n->child[1];
		while (n->child[0])
			n = n->child[0];
		return n;
	}
	const struct sorted_node *parent = parent_of(n);

	while (parent && parent->child[1] == n) {
		n = parent;
		parent = parent_of(n);
	}
	return parent;
}

/* Black nodes from n up to the root. */
static unsigned black_above(const struct sorted_node *n)
{
	unsigned nr = 0;

	for (; n; n = parent_of(n))
		nr += !is_red(n);
	return nr;
}

static bool node_ok(const struct sorted_node *n)
{
	if (is_red(n) && is_red(parent_of(n)))
		return false;
	for (unsigned side = 0; side < 2; side++)
		if (n->child[side] && parent_of(n->child[side]) != n)
			return false;
	if (n->next && (n->next->key < n->key || n->next->prev != n))
		return false;
	return n->next == tree_successor(n);
}

bool sorted_queue_check(const struct sorted_queue *q)
{
	const struct sorted_node *n = q->root, *last = NULL;
	uint32_t nr = 0;

	if (!n)
		return !q->head && !q->tail && !q->nr;
	if (parent_of(n) || is_red(n))
		return false;
	while (n->child[0])
		n = n->child[0];
	if (n != q->head || n->prev)
		return false;

	unsigned height = black_above(n);

	for (; n; last = n, n = n->next) {
		/* nr bounds the walk: a loop in the list ends it. */
		if (++nr > q->nr || !node_ok(n))
			return false;
		if ((!n->child[0] || !n->child[1]) && black_above(n) != height)
			return false;
	}
	return last == q->tail && nr == q->nr;
}

/* SPDX-License-Identifier: MIT */
/*
 * The ordered queues of rtds: lists in which a new node is put before the first node that it
 * strictly beats, else last (rtds section 3, "ordered insertion"), at O(log n) a step.
 *
 * The rank of a node may be made worse while it stays where it is: the replenishment queue keeps
 * units in place whose level rises. From then on the list is not sorted, and a new node still goes
 * before the first one that it beats *now*. So the tree below is ordered by position alone, and
 * each of its nodes knows the worst rank in its subtree: from the root, the first node that is
 * worse than a given rank is found by going to the left whenever something there is worse.
 *
 * In the same way, each node knows the union of the pCPUs that the units of its subtree may use, so
 * that the first unit for a pCPU is found without stepping over those that are pinned elsewhere.
 *
 * Laws: the list is the in-order walk of the tree; a node is not heavier than its parent (the tree
 * is a treap: weights are drawn, so that its depth is about 2 ln n); worst and reach are those of
 * the subtree. rtds_queue_check() walks all three.
 *
 * The queue owns no memory. Nobody but these functions writes the fields.
 */
#ifndef HVSCHED_POLICY_RTDS_QUEUE_H
#define HVSCHED_POLICY_RTDS_QUEUE_H

#include <hvsched.h>

struct rtds_rank {
	uint32_t level;	  /* 0 is best */
	hv_time deadline; /* ns */
};

/*
 * > 0: a is better, 0: equal, < 0: b is better. Levels are compared by their signed difference as
 * Xen does: more than 2^31 apart they compare the wrong way round. They never are: a level rises by
 * one in no less than 10 us of run time, and is cleared within a period, at most 4295 s.
 */
static inline int64_t rtds_compare(struct rtds_rank a, struct rtds_rank b)
{
	int32_t levels = (int32_t)(b.level - a.level);

	return levels ? levels : b.deadline - a.deadline;
}

struct rtds_node {
	struct rtds_node *parent, *child[2];
	struct rtds_node *prev, *next;
	struct rtds_rank rank, worst; /* own; worst of the subtree */
	uint32_t weight;
	/* Where the unit may run; the same of the subtree. If nw > 0. */
	struct hv_mask pcpus, reach;
};

struct rtds_queue {
	struct rtds_node *root, *head, *tail;
	uint32_t nr;
	uint32_t random;
	unsigned nw; /* words of reach in use; 0 = nobody asks for a pCPU */
};

/* n must not be in a queue. pcpus is copied; not read when nw is 0. */
void rtds_queue_insert(struct rtds_queue *q, struct rtds_node *n, struct rtds_rank rank,
		       const struct hv_mask *pcpus);
/* n must be in q. Its links are dead afterwards. */
void rtds_queue_remove(struct rtds_queue *q, struct rtds_node *n);
/* n, which is in q, stays where it is with another rank. */
void rtds_queue_rerank(struct rtds_node *n, struct rtds_rank rank);
/* n, which is in q, stays where it is and may run elsewhere. */
void rtds_queue_repin(struct rtds_queue *q, struct rtds_node *n, const struct hv_mask *pcpus);
/* First node whose unit may run on the pCPU, NULL if there is none. */
struct rtds_node *rtds_queue_first_for(const struct rtds_queue *q, unsigned pcpu);
/* All laws hold; O(n). */
bool rtds_queue_check(const struct rtds_queue *q);

#endif /* HVSCHED_POLICY_RTDS_QUEUE_H */

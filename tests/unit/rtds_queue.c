/* SPDX-License-Identifier: MIT */
/*
 * The queues of rtds against a plain list that is searched from its head, under random operations:
 * insertion before the first node that is beaten now, whatever its rank was at its own insertion.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/rtds_queue.h"

#define NR    300
#define STEPS 20000

struct list {
	struct rtds_node *n[NR];
	unsigned nr;
};

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void list_insert(struct list *l, struct rtds_node *n, struct rtds_rank rank)
{
	unsigned i = 0;

	while (i < l->nr && rtds_compare(rank, l->n[i]->rank) <= 0)
		i++;
	memmove(&l->n[i + 1], &l->n[i], (l->nr - i) * sizeof(l->n[0]));
	l->n[i] = n;
	l->nr++;
}

static void list_remove(struct list *l, unsigned i)
{
	l->nr--;
	memmove(&l->n[i], &l->n[i + 1], (l->nr - i) * sizeof(l->n[0]));
}

static struct rtds_node *list_first_for(const struct list *l, unsigned pcpu)
{
	for (unsigned i = 0; i < l->nr; i++)
		if (hv_mask_test(&l->n[i]->pcpus, pcpu))
			return l->n[i];
	return NULL;
}

static void assert_same(const struct rtds_queue *q, const struct list *l)
{
	struct rtds_node *n = q->head;

	assert_true(rtds_queue_check(q));
	assert_int_equal(q->nr, l->nr);
	for (unsigned i = 0; i < l->nr; i++, n = n->next)
		assert_ptr_equal(n, l->n[i]);
	assert_null(n);
}

/* Levels and deadlines from small ranges, so that many are equal. */
static struct rtds_rank some_rank(uint64_t *random)
{
	return (struct rtds_rank){(uint32_t)(draw(random) % 4), (hv_time)(draw(random) % 20)};
}

static struct hv_mask some_pcpus(uint64_t *random, unsigned nw)
{
	struct hv_mask m = {{0}};

	for (unsigned i = 0; i < nw; i++)
		m.w[i] = draw(random) & draw(random) & draw(random) & draw(random);
	return m;
}

static void random_operations(uint64_t seed, unsigned nw, bool levels_rise)
{
	static struct rtds_node node[NR];
	static bool in[NR];
	struct rtds_queue q = {.nw = nw};
	struct list l = {.nr = 0};
	uint64_t random = seed;

	memset(in, 0, sizeof(in));
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned k = (unsigned)(draw(&random) % NR), i = 0;

		if (!in[k]) {
			struct rtds_rank rank = some_rank(&random);
			struct hv_mask pcpus = some_pcpus(&random, nw);

			list_insert(&l, &node[k], rank);
			rtds_queue_insert(&q, &node[k], rank, &pcpus);
			in[k] = true;
		} else if (levels_rise && draw(&random) % 3) {
			struct rtds_rank rank = node[k].rank;

			rank.level++;
			rtds_queue_rerank(&node[k], rank);
		} else if (nw && draw(&random) % 3) {
			struct hv_mask pcpus = some_pcpus(&random, nw);

			rtds_queue_repin(&q, &node[k], &pcpus);
		} else {
			while (l.n[i] != &node[k])
				i++;
			list_remove(&l, i);
			rtds_queue_remove(&q, &node[k]);
			in[k] = false;
		}
		for (unsigned c = 0; nw && c < 64 * nw; c += 7)
			assert_ptr_equal(rtds_queue_first_for(&q, c), list_first_for(&l, c));
		if (step % 16 == 0)
			assert_same(&q, &l);
	}
	assert_same(&q, &l);
	while (l.nr) {
		rtds_queue_remove(&q, l.n[0]);
		list_remove(&l, 0);
	}
	assert_same(&q, &l);
}

static void a_sorted_queue_is_the_list(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		random_operations(seed, 0, false);
}

static void a_queue_whose_ranks_fall_in_place_is_the_list(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		random_operations(seed, 0, true);
}

static void the_first_for_a_pcpu_is_that_of_the_list(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		random_operations(seed, 1, false);
		random_operations(seed, 3, true);
	}
}

static unsigned depth(const struct rtds_node *n)
{
	unsigned a = n ? depth(n->child[0]) : 0, b = n ? depth(n->child[1]) : 0;

	return n ? 1 + (a > b ? a : b) : 0;
}

/* A treap of 4096 nodes is 30 deep on average; a list would be 4096 deep. */
static void the_tree_stays_shallow_when_all_are_equal_or_in_order(void **state)
{
	static struct rtds_node node[3][4096];
	struct rtds_queue q[3] = {{.nw = 0}};

	(void)state;
	for (unsigned i = 0; i < 4096; i++) {
		rtds_queue_insert(&q[0], &node[0][i], (struct rtds_rank){0, 10}, NULL);
		rtds_queue_insert(&q[1], &node[1][i], (struct rtds_rank){0, i}, NULL);
		rtds_queue_insert(&q[2], &node[2][i], (struct rtds_rank){4096 - i, 0}, NULL);
	}
	for (unsigned k = 0; k < 3; k++) {
		assert_true(rtds_queue_check(&q[k]));
		assert_in_range(depth(q[k].root), 12, 60);
	}
}

static void a_level_beats_any_deadline(void **state)
{
	(void)state;
	assert_true(rtds_compare((struct rtds_rank){1, 5000000}, (struct rtds_rank){0, 900000000}) <
		    0);
	assert_true(rtds_compare((struct rtds_rank){2, 9}, (struct rtds_rank){2, 10}) > 0);
	assert_true(rtds_compare((struct rtds_rank){2, 9}, (struct rtds_rank){2, 9}) == 0);
}

static void levels_more_than_2_to_the_31_apart_compare_the_wrong_way_round(void **state)
{
	struct rtds_rank best = {0, 10}, high = {0x7fffffff, 10}, too_high = {0x80000001, 10};

	(void)state;
	assert_true(rtds_compare(best, high) > 0);
	assert_true(rtds_compare(best, too_high) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sorted_queue_is_the_list),
		cmocka_unit_test(a_queue_whose_ranks_fall_in_place_is_the_list),
		cmocka_unit_test(the_first_for_a_pcpu_is_that_of_the_list),
		cmocka_unit_test(the_tree_stays_shallow_when_all_are_equal_or_in_order),
		cmocka_unit_test(a_level_beats_any_deadline),
		cmocka_unit_test(levels_more_than_2_to_the_31_apart_compare_the_wrong_way_round),
	};

	return cmocka_run_group_tests_name("rtds_queue", tests, NULL, NULL);
}

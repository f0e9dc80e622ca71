/* SPDX-License-Identifier: MIT */
/*
 * The sorted queue against a plain list that is searched from its head, under random operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/sorted_queue.h"

#define NR 300

struct list {
	struct sorted_node *n[NR];
	unsigned nr;
};

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void list_insert(struct list *l, struct sorted_node *n, int64_t key)
{
	unsigned i = 0;

	while (i < l->nr && l->n[i]->key <= key)
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

static void assert_same(const struct sorted_queue *q, const struct list *l)
{
	struct sorted_node *n = sorted_queue_head(q);

	assert_true(sorted_queue_check(q));
	assert_int_equal(q->nr, l->nr);
	for (unsigned i = 0; i < l->nr; i++, n = n->next)
		assert_ptr_equal(n, l->n[i]);
	assert_null(n);
}

/* Keys from a small range, so that most have equals. */
static void random_operations(uint64_t seed, int64_t range, unsigned steps)
{
	static struct sorted_node nodes[NR];
	struct sorted_node *spare[NR];
	struct sorted_queue q = {0};
	struct list l = {0};
	unsigned nr_spare = NR;

	for (unsigned i = 0; i < NR; i++)
		spare[i] = &nodes[i];
	for (unsigned step = 0; step < steps; step++) {
		uint64_t r = draw(&seed);
		/* The queue fills and drains in turns. */
		bool grow = (r & 7) < ((step / 500) % 2 ? 3 : 5);

		if (nr_spare && (grow || !l.nr)) {
			struct sorted_node *n = spare[--nr_spare];
			int64_t key = (int64_t)(r >> 8) % range - range / 2;

			list_insert(&l, n, key);
			sorted_queue_insert(&q, n, key);
		} else if (l.nr) {
			unsigned i = (unsigned)((r >> 8) % l.nr);

			spare[nr_spare++] = l.n[i];
			sorted_queue_remove(&q, l.n[i]);
			list_remove(&l, i);
		}
		assert_same(&q, &l);
	}
}

static void keeps_the_order_of_a_list(void **state)
{
	(void)state;
	random_operations(1, 20, 6000);
	random_operations(2, 1000000, 6000);
	random_operations(3, 1, 2000);
}

static void equals_stay_first_in_first_out_after_a_monotone_change(void **state)
{
	struct sorted_node n[6];
	struct sorted_queue q = {0};
	const int64_t key[6] = {30, 10, 20, 10, 30, 20};
	const unsigned order[6] = {1, 3, 2, 5, 0, 4};
	unsigned i = 0;

	(void)state;
	for (i = 0; i < 6; i++)
		sorted_queue_insert(&q, &n[i], key[i]);
	for (i = 0; i < 6; i++) /* what a reset does: everything above 15 becomes 15 */
		sorted_queue_rekey(&n[i], n[i].key > 15 ? 15 : n[i].key);
	assert_true(sorted_queue_check(&q));
	i = 0;
	for (struct sorted_node *m = sorted_queue_head(&q); m; m = m->next)
		assert_ptr_equal(m, &n[order[i++]]);
	assert_int_equal(i, 6);
}

static void the_check_finds_damage(void **state)
{
	struct sorted_node n[8];
	struct sorted_queue q = {0};

	(void)state;
	for (int i = 0; i < 8; i++)
		sorted_queue_insert(&q, &n[i], i);
	assert_true(sorted_queue_check(&q));
	n[3].key = 9;
	assert_false(sorted_queue_check(&q));
	n[3].key = 3;
	q.root->parent_red |= 1;
	assert_false(sorted_queue_check(&q));
	q.root->parent_red &= ~(uintptr_t)1;
	q.nr++;
	assert_false(sorted_queue_check(&q));
	q.nr--;
	n[4].next = &n[6];
	assert_false(sorted_queue_check(&q));
	n[4].next = &n[5];
	assert_true(sorted_queue_check(&q));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_order_of_a_list),
		cmocka_unit_test(equals_stay_first_in_first_out_after_a_monotone_change),
		cmocka_unit_test(the_check_finds_damage),
	};

	return cmocka_run_group_tests_name("sorted queue", tests, NULL, NULL);
}

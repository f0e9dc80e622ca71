/*
 * The queue of due things against a plain search of all slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "conform/due.h"

#define SLOTS 37

/* What the queue must hold: the same, searched from end to end. */
static struct {
	bool queued;
	hv_time time;
	uint64_t order;
} model[SLOTS];

static uint32_t model_first(void)
{
	uint32_t first = SLOTS;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (!model[i].queued)
			continue;
		if (first == SLOTS || model[i].time < model[first].time ||
		    (model[i].time == model[first].time && model[i].order < model[first].order))
			first = i;
	}
	return first;
}

static void the_first_is_the_earliest_and_of_equal_times_the_lowest_order(void **state)
{
	struct due_queue q = {0};
	uint64_t random = 12345;

	(void)state;
	assert_int_equal(due_reserve(&q, 5), 0);
	assert_int_equal(due_reserve(&q, SLOTS), 0);
	for (unsigned step = 0; step < 200000; step++) {
		uint32_t slot, first;

		/* Numerical Recipes' 64-bit generator; the high bits are good. */
		random = random * 6364136223846793005 + 1442695040888963407;
		slot = (uint32_t)(random >> 33) % SLOTS;
		if (random >> 62 == 0) {
			due_drop(&q, slot);
			model[slot].queued = false;
		} else {
			model[slot].queued = true;
			model[slot].time = (hv_time)(random >> 40) % 20;
			/* Orders are unique: only so is the first one determined. */
			model[slot].order = (step % 50) * SLOTS + slot;
			due_set(&q, slot, model[slot].time, model[slot].order);
		}
		first = model_first();
		if (first == SLOTS) {
			assert_true(due_next(&q) == DUE_NEVER);
			continue;
		}
		assert_int_equal(due_first(&q), first);
		assert_int_equal(due_next(&q), model[first].time);
		assert_int_equal(due_queued(&q, slot), model[slot].queued);
	}
	due_free(&q);
}

static void dropping_what_is_not_queued_has_no_effect(void **state)
{
	struct due_queue q = {0};

	(void)state;
	assert_int_equal(due_reserve(&q, 3), 0);
	due_drop(&q, 1);
	due_set(&q, 2, 7, 0);
	due_drop(&q, 0);
	assert_int_equal(due_first(&q), 2);
	assert_int_equal(due_time(&q, 2), 7);
	due_drop(&q, 2);
	due_drop(&q, 2);
	assert_true(due_next(&q) == DUE_NEVER);
	due_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_the_earliest_and_of_equal_times_the_lowest_order),
		cmocka_unit_test(dropping_what_is_not_queued_has_no_effect),
	};

	return cmocka_run_group_tests_name("conform_due", tests, NULL, NULL);
}

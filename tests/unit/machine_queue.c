/*
 * The event queue against a sorted array: order, moving, cancelling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/queue.h"
#include "machine/random.h"

#define N 500

static void pop_expect(struct mc_queue *q, struct mc_event *want)
{
	struct mc_event *ev = mc_queue_first(q);

	assert_ptr_equal(ev, want);
	mc_queue_remove(q, ev);
	assert_int_equal(ev->pos, 0);
}

static void order_is_time_class_entity_sequence(void **state)
{
	static struct mc_queue q;
	struct mc_event ev[6] = {0};

	(void)state;
	mc_queue_init(&q);
	assert_int_equal(mc_queue_reserve(&q, 6), 0);
	mc_queue_set(&q, &ev[5], 20, mc_event_order(MC_EV_WORK, 0));
	mc_queue_set(&q, &ev[4], 10, mc_event_order(MC_EV_SAMPLE, 0));
	mc_queue_set(&q, &ev[2], 10, mc_event_order(MC_EV_INTERRUPT, 7));
	mc_queue_set(&q, &ev[3], 10, mc_event_order(MC_EV_INTERRUPT, 7)); /* later in sequence */
	mc_queue_set(&q, &ev[1], 10, mc_event_order(MC_EV_INTERRUPT, 6));
	mc_queue_set(&q, &ev[0], 10, mc_event_order(MC_EV_WORK, 9));
	for (int i = 0; i < 6; i++)
		pop_expect(&q, &ev[i]);
	assert_null(mc_queue_first(&q));
	mc_queue_remove(&q, &ev[0]); /* not queued: nothing happens */
	mc_queue_free(&q);
}

static struct mc_event *earliest(struct mc_event *ev)
{
	struct mc_event *best = NULL;

	for (int i = 0; i < N; i++) {
		if (ev[i].pos && (!best || ev[i].time < best->time ||
				  (ev[i].time == best->time && ev[i].order < best->order)))
			best = &ev[i];
	}
	return best;
}

static void random_operations_keep_the_earliest_first(void **state)
{
	/* near, within both levels of the wheel, and beyond it: 2^n ns ahead */
	static const uint8_t spread[] = {3, 8, 16, 17, 20, 26, 27, 30, 36, 37, 40};
	static struct mc_event ev[N];
	int64_t now = 0;
	static struct mc_queue q;
	struct mc_rng r;

	(void)state;
	mc_rng_init(&r, 1, 0, 0);
	mc_queue_init(&q);
	assert_int_equal(mc_queue_reserve(&q, N), 0);
	for (int step = 0; step < 50000; step++) {
		struct mc_event *e = &ev[mc_rng_below(&r, N)];
		uint64_t what = mc_rng_below(&r, 4);
		uint64_t range = 1ULL << spread[mc_rng_below(&r, sizeof(spread))];

		if (what < 2)
			mc_queue_set(&q, e, now + (int64_t)mc_rng_below(&r, range),
				     mc_event_order((enum mc_class_order)mc_rng_below(&r, 5),
						    (uint32_t)mc_rng_below(&r, 3)));
		else if (what == 2)
			mc_queue_remove(&q, e);
		else if (mc_queue_first(&q)) {
			now = mc_queue_first(&q)->time;
			mc_queue_remove(&q, mc_queue_first(&q));
		}
		if (mc_rng_below(&r, 3)) /* else what follows meets the hole at the root */
			assert_ptr_equal(mc_queue_first(&q), earliest(ev));
		for (uint32_t i = q.hole; step % 100 == 0 && i < q.nr; i++)
			assert_int_equal(q.node[i].ev->pos, i + 1);
	}
	mc_queue_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_time_class_entity_sequence),
		cmocka_unit_test(random_operations_keep_the_earliest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The event queue (queue.h).
 *
 * Laws: node[i].ev->pos == i + 1 for all i < nr but the hole; no node is earlier than its parent;
 * events of the wheel are later than tick, those of level l in slot (time >> (16 + 10 l)) mod 1024
 * and less than 1024 slots ahead; the heap has what is still further away.
 */
#include "machine/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ARITY	4u
#define ALIGN	128 /* four nodes */
#define LEADING 3   /* nodes left free before the root, so that node[1] is aligned */

#define IN_WHEEL UINT32_MAX /* of pos */

void mc_queue_init(struct mc_queue *q)
{
	assert(!q->count);
	q->next = INT64_MAX;
}

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
	memset(q, 0, sizeof(*q));
}

/* ------------------------------------------------------------------ heap */

static inline struct mc_node node_of(struct mc_event *ev)
{
	return (struct mc_node){(mc_key)(uint64_t)ev->time << 64 | ev->order, ev};
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

static void close_hole(struct mc_queue *q)
{
	assert(q->hole && q->nr);
	q->hole = false;
	if (--q->nr)
		sift_down(q, 0, q->node[q->nr]);
}

static void heap_insert(struct mc_queue *q, struct mc_event *ev)
{
	if (q->hole) {
		q->hole = false;
		sift_down(q, 0, node_of(ev));
		return;
	}
	assert(q->nr < q->size);
	sift_up(q, q->nr++, node_of(ev));
}

static void heap_remove(struct mc_queue *q, struct mc_event *ev)
{
	uint32_t i = ev->pos - 1;

	if (i && q->hole) {
		close_hole(q); /* moves events, ev among them */
		i = ev->pos - 1;
	}
	assert(i < q->nr && q->node[i].ev == ev && !q->hole);
	ev->pos = 0;
	if (i == 0)
		q->hole = true;
	else if (i != --q->nr)
		place(q, i, q->node[q->nr]);
}

static void heap_move(struct mc_queue *q, struct mc_event *ev)
{
	if (q->hole)
		close_hole(q);
	assert(q->node[ev->pos - 1].ev == ev);
	place(q, ev->pos - 1, node_of(ev));
}

/* ------------------------------------------------------------------ wheel */

static inline unsigned level_bits(unsigned level)
{
	return MC_TICK_BITS + level * MC_WHEEL_BITS;
}

/* Level of the wheel for an event at this time; MC_WHEEL_LEVELS: it belongs into the heap. */
static inline unsigned level_of(const struct mc_queue *q, int64_t time)
{
	int64_t tick = time >> MC_TICK_BITS;

	if (tick <= q->tick)
		return MC_WHEEL_LEVELS;
	if (tick - q->tick < MC_WHEEL_SLOTS)
		return 0;
	return (tick >> MC_WHEEL_BITS) - (q->tick >> MC_WHEEL_BITS) < MC_WHEEL_SLOTS
		       ? 1
		       : MC_WHEEL_LEVELS;
}

static void wheel_insert(struct mc_queue *q, struct mc_event *ev, unsigned level)
{
	struct mc_wheel *w = &q->wheel[level];
	int64_t begin = ev->time >> level_bits(level) << level_bits(level);
	unsigned i = (unsigned)(ev->time >> level_bits(level)) % MC_WHEEL_SLOTS;
	struct mc_event **head = &w->slot[i];

	ev->next = *head;
	ev->prev = head;
	if (ev->next)
		ev->next->prev = &ev->next;
	*head = ev;
	ev->pos = IN_WHEEL;
	w->used[i / 64] |= 1ULL << (i % 64);
	if (begin < q->next)
		q->next = begin;
}

static void wheel_remove(struct mc_event *ev)
{
	*ev->prev = ev->next;
	if (ev->next)
		ev->next->prev = ev->prev;
	ev->pos = 0;
}

static void insert(struct mc_queue *q, struct mc_event *ev)
{
	unsigned level = level_of(q, ev->time);

	if (level < MC_WHEEL_LEVELS)
		wheel_insert(q, ev, level);
	else
		heap_insert(q, ev);
}

/* Begin of the first used slot of a level after now, INT64_MAX if there is none. */
static int64_t first_slot(const struct mc_queue *q, unsigned level)
{
	const struct mc_wheel *w = &q->wheel[level];
	int64_t now = q->tick >> (level * MC_WHEEL_BITS);
	unsigned from = (unsigned)(now + 1) % MC_WHEEL_SLOTS;

	for (unsigned n = 0; n <= MC_WHEEL_SLOTS / 64; n++) {
		unsigned word = (from / 64 + n) % (MC_WHEEL_SLOTS / 64);
		uint64_t bits = w->used[word];

		if (n == 0)
			bits &= ~0ULL << (from % 64);
		else if (n == MC_WHEEL_SLOTS / 64)
			bits &= ~(~0ULL << (from % 64));
		if (bits) {
			unsigned i = word * 64 + (unsigned)__builtin_ctzll(bits);
			int64_t ahead = (int64_t)((i - (unsigned)now - 1) % MC_WHEEL_SLOTS) + 1;

			return (now + ahead) << level_bits(level);
		}
	}
	return INT64_MAX;
}

/* Pour the slot of a level that begins at `begin` into what is nearer. tick is there already. */
static void pour(struct mc_queue *q, unsigned level, int64_t begin)
{
	struct mc_wheel *w = &q->wheel[level];
	unsigned i = (unsigned)(begin >> level_bits(level)) % MC_WHEEL_SLOTS;
	struct mc_event *ev = w->slot[i];

	w->slot[i] = NULL;
	w->used[i / 64] &= ~(1ULL << (i % 64));
	while (ev) {
		struct mc_event *next = ev->next;

		insert(q, ev);
		ev = next;
	}
}

static void find_next(struct mc_queue *q)
{
	int64_t near = first_slot(q, 0), far = first_slot(q, 1);

	q->next = near < far ? near : far;
}

/* tick goes to the earliest slot in use, and that slot is poured. */
static void advance(struct mc_queue *q)
{
	int64_t begin = q->next;

	q->tick = begin >> MC_TICK_BITS;
	/* Both levels may have a slot that begins there. */
	if (!(begin & ((1LL << level_bits(1)) - 1)))
		pour(q, 1, begin);
	pour(q, 0, begin);
	find_next(q);
}

/* ------------------------------------------------------------------ the queue */

struct mc_event *mc_queue_find_first(struct mc_queue *q)
{
	if (q->hole)
		close_hole(q);
	while (q->next != INT64_MAX && (!q->nr || q->node[0].ev->time >= q->next))
		advance(q);
	return q->nr ? q->node[0].ev : NULL;
}

void mc_queue_set(struct mc_queue *q, struct mc_event *ev, int64_t time, uint64_t order)
{
	uint32_t pos = ev->pos;

	assert(time >= 0 && q->sequence < 1ULL << MC_SEQ_BITS);
	if (pos == IN_WHEEL)
		wheel_remove(ev);
	else if (pos && level_of(q, time) < MC_WHEEL_LEVELS)
		heap_remove(q, ev);
	ev->time = time;
	ev->order = order | q->sequence++;
	if (ev->pos) {
		heap_move(q, ev);
		return;
	}
	if (!pos)
		q->count++;
	insert(q, ev);
}

void mc_queue_remove(struct mc_queue *q, struct mc_event *ev)
{
	if (!ev->pos)
		return;
	if (ev->pos == IN_WHEEL)
		wheel_remove(ev);
	else
		heap_remove(q, ev);
	q->count--;
}

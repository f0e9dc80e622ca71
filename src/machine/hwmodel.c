/*
 * The arithmetic of the hardware model (hwmodel.h) and its default parameters.
 *
 * Sections named in comments are those of the hardware model, described in docs/model.md.
 */
#include "machine/hwmodel.h"

#include <assert.h>

#define US	     1000LL
#define GB	     1000000000LL
#define RATIO(milli) (((milli) * (int64_t)MC_ONE + 500) / 1000)

int64_t hw_llc_stretch(int64_t chi, int64_t capacity, int64_t working_sets)
{
	assert(capacity >= 0 && working_sets >= 0);
	if (working_sets <= capacity)
		return MC_ONE;
	return MC_ONE + hw_mul(chi, MC_ONE - hw_div(capacity, working_sets));
}

int64_t hw_bandwidth_stretch(const struct mc_params *p, int64_t rho)
{
	unsigned i;

	assert(rho >= 0);
	if (!p->nr_curve)
		return MC_ONE;
	for (i = 0; i < p->nr_curve; i++) {
		if (rho <= p->curve_rho[i])
			break;
	}
	if (i == p->nr_curve)
		return hw_mul(p->curve_stretch[i - 1], rho);
	if (i == 0 || rho == p->curve_rho[i])
		return p->curve_stretch[i];
	int64_t part = hw_div(rho - p->curve_rho[i - 1], p->curve_rho[i] - p->curve_rho[i - 1]);

	return p->curve_stretch[i - 1] +
	       hw_mul(part, p->curve_stretch[i] - p->curve_stretch[i - 1]);
}

int64_t hw_demand(int64_t bw, int64_t mu, int64_t phi, int64_t sigma)
{
	return bw ? hw_div(bw, hw_pace(mu, phi, sigma, MC_ONE)) : 0;
}

int64_t hw_done(int64_t wall, int64_t pace)
{
	assert(wall >= 0 && pace > 0);
	if (pace == MC_ONE)
		return wall;
	if (wall < 1LL << 43)
		return (wall << 20) / pace;
	return (int64_t)(((__int128)wall << 20) / pace);
}

int64_t hw_wall(int64_t left, int64_t pace)
{
	assert(left >= 0 && pace > 0);
	if (pace == MC_ONE || left == MC_FOREVER)
		return left;
	__int128 wall = ((__int128)left * pace + (MC_ONE - 1)) >> 20;

	return wall < MC_FOREVER ? (int64_t)wall : MC_FOREVER;
}

/* bytes at bytes/s, in ns, rounded half up. */
static int64_t transfer_time(int64_t bytes, int64_t rate)
{
	assert(rate > 0);
	return (int64_t)(((__int128)bytes * GB + rate / 2) / rate);
}

int64_t hw_inserted(const struct mc_params *p, int64_t ws, int64_t run)
{
	__int128 bytes = (__int128)run * p->mem_bw_thread / GB;

	assert(run >= 0);
	return bytes < ws ? (int64_t)bytes : ws;
}

int64_t hw_warmth(int64_t inserted, int64_t size)
{
	assert(inserted >= 0);
	return inserted < size ? MC_ONE - hw_div(inserted, size) : 0;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t hw_debt(const struct mc_params *p, int64_t ws, int64_t w_priv, int64_t w_llc,
		int64_t distance)
{
	int64_t from_llc = hw_mul(least(ws, p->l2_bytes), MC_ONE - w_priv);
	int64_t from_memory = hw_mul(least(ws, p->llc_bytes / 2), MC_ONE - w_llc);

	assert(w_priv >= 0 && w_priv <= MC_ONE && w_llc >= 0 && w_llc <= MC_ONE);
	return transfer_time(from_llc, p->l3_bw) +
	       hw_mul(transfer_time(from_memory, p->mem_bw_thread), distance);
}

int64_t hw_cold_time(int64_t debt, int64_t g)
{
	assert(g > 0);
	return ((debt << 20) + g - 1) / g;
}

int64_t hw_idle_exit(const struct mc_params *p, int64_t idle)
{
	int64_t exit = 0;

	if (idle < p->halt_poll)
		return 0;
	for (unsigned i = 0; i < p->nr_cstates; i++) {
		if (p->cstate[i].residency_ns > idle)
			break;
		exit = p->cstate[i].exit_ns;
	}
	return exit;
}

void hw_split(struct hw_split *s, int64_t wall, int64_t done, int64_t cold_wall, int64_t g,
	      int64_t loss_smt, bool memory)
{
	int64_t loss, rest;

	assert(wall >= 0 && done >= 0 && cold_wall >= 0 && cold_wall <= wall && loss_smt >= 0);
	*s = (struct hw_split){.cold = (int64_t)((__int128)cold_wall * g >> 20)};
	loss = wall - s->cold - done;
	if (loss < 0) { /* a fast clock, or a remainder carried from the stretch before */
		s->useful = wall - s->cold;
		return;
	}
	s->useful = done;
	s->smt = (int64_t)((__int128)done * loss_smt >> 20);
	if (s->smt > loss)
		s->smt = loss;
	rest = loss - s->smt;
	if (memory)
		s->memory = rest;
	else if (loss_smt)
		s->smt += rest;
	else if (cold_wall)
		s->cold += rest;
	else
		s->useful += rest;
}

static void default_costs(struct mc_costs *c)
{
	*c = (struct mc_costs){
		.exit = 700,
		.device_model = 5 * US,
		.hypercall = 700,
		.hypercall_pv = 300,
		.vcpu_switch = 2 * US,
		.task_switch = 2400,
		.thread_switch = 1100,
		.ipi = 1 * US,
		.guest_ipi = 3 * US,
		.guest_ipi_loss = 700,
		.wake_scale = MC_ONE,
		.guest_tick = 2900,
		.host_timer = 1500,
		.timer_slop = 50 * US,
		.ple_handler = 2 * US,
		.critical = 2 * US,
		.l1d_flush = 400,
		.l1d_refill = 600,
		.ibpb = 1500,
		.shootdown = 2 * US,
		.shootdown_each = 250,
		.broadcast = 4 * US,
		.clock_read = 490,
	};
}

void mc_params_default(struct mc_params *p)
{
	static const struct {
		int rho, stretch; /* 1/1000 */
	} curve[] = {{0, 1000}, {140, 1100}, {310, 1150}, {500, 1210}, {970, 1510}, {1000, 1590}};

	*p = (struct mc_params){
		.nr_pcpus = 16,
		.nr_cores = 8,
		.nr_sockets = 2,
		.nr_nodes = 2,
		.nr_llcs = 2,
		.l2_bytes = 256 << 10,
		.llc_bytes = 12 << 20,
		.mem_bw = 20 * GB,
		.mem_bw_thread = 12 * GB,
		.l3_bw = 14 * GB,
		.d_remote = RATIO(1600),
		.chi = RATIO(1200),
		.s_vm = RATIO(100),
		.p_spin = RATIO(400),
		.cold_share = RATIO(500),
		.deadband = RATIO(20),
		.lock_base = 400,
		.lock_per_entity = 25,
		.nr_cstates = 2,
		.cstate = {{3 * US, 6 * US}, {10 * US, 20 * US}},
	};
	p->nr_curve = sizeof(curve) / sizeof(curve[0]);
	for (unsigned i = 0; i < p->nr_curve; i++) {
		p->curve_rho[i] = RATIO(curve[i].rho);
		p->curve_stretch[i] = RATIO(curve[i].stretch);
	}
	default_costs(&p->cost);
}

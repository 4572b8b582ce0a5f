/* The gate between machines and store: each operation has two moments. At the first it takes effect (or
 * does not); at the second, later, the machine hears of it (or the process is dead by then). Between
 * the two anything may happen.
 *
 * In the single-document mode an operation may also be cut in two: the store calls sim_gate_step after
 * each document write, and there the process may die, or another process's operation takes effect. */
#include "sim/sim_priv.h"

static const char *const op_names[] = {"beat", "advance", "claim", "record", "list", "prune"};
static const char *const machine_names[] = {"planner", "dispatcher", "keeper"};

void bf_sim_set_trap(struct bf_sim *sim, struct bf_sim_trap trap)
{
	BF_ASSERT(sim->trap_count < SIM_TRAPS_MAX);
	trap.count = BF_MAX(trap.count, 1u);
	sim->traps[sim->trap_count++] = trap;
}

static bool fits(const struct bf_sim_trap *trap, const struct sim_machine *machine,
		const struct sim_call_order *order)
{
	int kind = order->op == BF_SIM_RECORD       ? (int)order->records[0].kind
			: order->op == BF_SIM_CLAIM ? (int)order->claim->kind
						    : BF_SIM_ANY_RECORD;
	bool is_of_kind = trap->record == BF_SIM_ANY_RECORD || kind == BF_SIM_ANY_RECORD ||
			kind == trap->record;

	return trap->op == order->op && is_of_kind &&
			(trap->replica == BF_SIM_ANY_REPLICA ||
					trap->replica == machine->process->replica);
}

/* The trap that this order steps into; it is used up. */
static bool take_trap(struct bf_sim *sim, const struct sim_machine *machine,
		const struct sim_call_order *order, struct bf_sim_trap *ret_trap)
{
	for (size_t i = 0; i < sim->trap_count; i++) {
		if (!fits(&sim->traps[i], machine, order)) {
			continue;
		}
		*ret_trap = sim->traps[i];
		if (--sim->traps[i].count == 0) {
			sim->traps[i] = sim->traps[--sim->trap_count];
		}
		return true;
	}
	return false;
}

/* ---- the second moment ------------------------------------------------------------------------- */

static void hear(struct sim_machine *machine)
{
	struct bf_sim *sim = machine->process->sim;

	machine->order.is_open = false;
	machine->order.is_held = false;
	sim_step_done(machine, machine->order.status);
	if (!machine->process->is_dead && !machine->order.is_open) {
		sim_pump_at(machine, sim->now);
	}
}

static void answer(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_machine *machine = data;
	struct sim_process *process = machine->process;

	(void)number;
	if (!process->is_dead && !sim->is_closing) {
		if (process->is_frozen) {
			machine->order.is_held = true;
		} else {
			hear(machine);
		}
	}
	sim_process_drop(&process);
}

static void held_answer(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_machine *machine = data;
	struct sim_process *process = machine->process;

	(void)number;
	if (machine->order.is_held && !process->is_dead && !process->is_frozen &&
			!sim->is_closing) {
		hear(machine);
	}
	sim_process_drop(&process);
}

void sim_gate_deliver(struct sim_machine *machine)
{
	struct bf_sim *sim = machine->process->sim;

	if (machine->order.is_held) {
		sim_process_hold(machine->process);
		sim_at(sim, sim->now + sim_between(sim, 1, 2000), held_answer, machine, 0);
	}
}

/* ---- the first moment -------------------------------------------------------------------------- */

static enum belfry_status carry_out(struct sim_machine *machine)
{
	struct sim_call_order *order = &machine->order;
	struct bf_store *store = machine->process->store;
	struct belfry_error err;

	switch (order->op) {
	case BF_SIM_BEAT: return bf_store_beat(store, order->beat, order->arena, &err);
	case BF_SIM_ADVANCE: return bf_store_advance(store, order->advance, &err);
	case BF_SIM_CLAIM: return bf_store_claim_runs(store, order->claim, order->arena, &err);
	case BF_SIM_RECORD:
		return bf_store_record(store, order->records, order->record_count, &err);
	case BF_SIM_LIST: return bf_store_list(store, order->list, order->arena, &err);
	case BF_SIM_PRUNE: return bf_store_prune(store, order->prune, &err);
	}
	return BELFRY_INVALID;
}

static bool is_read(const struct sim_call_order *order)
{
	return order->op == BF_SIM_LIST;
}

static void remove_pending(struct bf_sim *sim, const struct sim_machine *machine)
{
	for (size_t i = 0; i < sim->pending_count; i++) {
		if (sim->pending[i] == machine) {
			sim->pending[i] = sim->pending[--sim->pending_count];
			return;
		}
	}
}

void sim_gate_forget(struct sim_process *process)
{
	for (int i = 0; i < SIM_MACHINES; i++) {
		if (process->machines[i].order.is_void) {
			remove_pending(process->sim, &process->machines[i]);
		}
	}
}

/* What the machine will be told. Arrays that the wrapper would have cleared are not looked at then. */
static enum belfry_status tell(struct bf_sim *sim, struct sim_machine *machine,
		enum belfry_status status)
{
	struct sim_call_order *order = &machine->order;

	if (status == BELFRY_CORRUPT || status == BELFRY_INVALID) {
		sim_fail(sim, "the seam is used as it says", "r%u %s: %s answers %s",
				machine->process->replica, machine_names[machine->kind],
				op_names[order->op], belfry_status_name(status));
	}
	if (order->fate == BF_SIM_LOST_ACK && status != BELFRY_UNAVAILABLE) {
		sim->counts.lost_acks++;
		return is_read(order) ? BELFRY_UNAVAILABLE : BELFRY_UNKNOWN;
	}
	return status;
}

/* The operation meets the store now. */
static void take_effect(struct bf_sim *sim, struct sim_machine *machine)
{
	struct sim_call_order *order = &machine->order;
	struct sim_process *process = machine->process;
	bool is_down = sim->now < sim->outage_until;

	order->is_done = true;
	remove_pending(sim, machine);
	if (order->fate == BF_SIM_CRASH_BEFORE && !process->is_dead) {
		sim->counts.crashes++;
		sim_process_kill(process, "crash before a store operation");
		return;
	}
	if (is_down || order->fate == BF_SIM_REFUSED) {
		sim->counts.refused++;
		order->status = BELFRY_UNAVAILABLE;
	} else {
		sim->counts.store_calls++;
		sim->acting[sim->acting_count++] = machine;
		order->status = tell(sim, machine, carry_out(machine));
		sim->acting_count--;
	}
	if (order->op != BF_SIM_LIST || order->status != BELFRY_OK) {
		sim_trace(sim, "r%u %s: %s -> %s%s", process->replica, machine_names[machine->kind],
				op_names[order->op], belfry_status_name(order->status),
				process->is_dead ? " (to a dead process)" : "");
	}
	if (order->fate == BF_SIM_CRASH_AFTER && !process->is_dead) {
		sim->counts.crashes++;
		sim_process_kill(process, "crash after a store operation");
	}
}

static void effect(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_machine *machine = data;
	struct sim_process *process = machine->process;

	(void)number;
	if (!machine->order.is_done && !machine->order.is_void && !sim->is_closing) {
		take_effect(sim, machine);
	}
	sim_process_hold(process);
	sim_at(sim, sim->now + machine->order.answer_delay, answer, machine, 0);
	sim_process_drop(&process);
}

/* ---- ordering ---------------------------------------------------------------------------------- */

static belfry_duration latency(struct bf_sim *sim)
{
	return sim_chance(sim, 200) ? sim_between(sim, 1000, 300 * BELFRY_MILLISECOND)
				    : sim_between(sim, 100, 2000);
}

void sim_gate_order(struct sim_machine *machine, struct sim_call_order order)
{
	struct bf_sim *sim = machine->process->sim;
	struct bf_sim_trap trap;
	belfry_duration delay = 0;
	belfry_duration effect_delay = latency(sim);

	order.fate = BF_SIM_NORMAL;
	if (take_trap(sim, machine, &order, &trap)) {
		order.fate = trap.fate;
		delay = trap.delay;
	} else if (sim->config.has_faults && !sim->is_quiet) {
		order.fate = sim_world_fate(sim, order.op, &delay);
	}
	order.is_open = true;
	order.answer_delay = latency(sim) + (order.fate == BF_SIM_LATE_ACK ? delay : 0);
	order.writes_left = order.fate == BF_SIM_CRASH_INSIDE ? (unsigned)sim_random(sim, 6) : 0;
	sim->counts.late_acks += order.fate == BF_SIM_LATE_ACK || order.fate == BF_SIM_LATE_EFFECT;
	effect_delay += order.fate == BF_SIM_LATE_EFFECT ? delay : 0;
	machine->order = order;
	BF_ASSERT(sim->pending_count < BF_COUNT(sim->pending));
	sim->pending[sim->pending_count++] = machine;
	sim_process_hold(machine->process);
	sim_at(sim, sim->now + effect_delay, effect, machine, 0);
}

/* ---- between two document writes --------------------------------------------------------------- */

/* Another process's operation takes effect here, in the middle of this one. */
static void interleave(struct bf_sim *sim)
{
	if (sim->pending_count == 0 || sim->acting_count >= 2 || !sim_chance(sim, 1500)) {
		return;
	}
	struct sim_machine *other = sim->pending[sim_random(sim, sim->pending_count)];
	if (sim->acting_count == 1 && sim->acting[0]->process == other->process) {
		return;
	}
	sim->counts.interleaved++;
	take_effect(sim, other);
}

bool sim_gate_step(void *data, const char *step)
{
	struct bf_sim *sim = data;

	(void)step;
	if (sim->acting_count == 0 || sim->is_closing) {
		return false;
	}
	struct sim_machine *machine = sim->acting[sim->acting_count - 1];
	struct sim_call_order *order = &machine->order;
	if (order->fate == BF_SIM_CRASH_INSIDE && order->writes_left-- == 0) {
		order->fate = BF_SIM_NORMAL;
		sim->counts.crashes++;
		sim->counts.crashes_in_commit++;
		sim_trace(sim, "r%u dies inside: %s", machine->process->replica, step);
		sim_process_kill(machine->process, "crash between two document writes");
		return true;
	}
	if (!sim->is_quiet) {
		interleave(sim);
	}
	return false;
}

/* A process: three machines with an inbox each, as the runtime has three threads. A machine that waits
 * for the store reads no message; a frozen process gets nothing at all, and finds everything at once
 * when it goes on.
 *
 * A process that has died may still have an operation on its way to the store: the process is kept
 * (refs) until the last event that points to it is over. */
#include "sim/sim_priv.h"

/* After the drain the rest is handed back: so long the runtime waits for it. */
#define HAND_BACK_TIME (2 * BELFRY_SECOND)
#define PULSE          (250 * BELFRY_MILLISECOND)

struct bf_boot_time sim_boot(const struct sim_process *process)
{
	return (struct bf_boot_time){process->sim->now + process->boot_offset};
}

void sim_process_hold(struct sim_process *process)
{
	process->refs++;
}

void sim_message_free(struct sim_message *message)
{
	if (message->kind == SIM_MESSAGE_BORN) {
		bf_born_free(message->born);
	}
	if (message->kind == SIM_MESSAGE_CANCELLED) {
		bf_free(message->cancelled.runs);
	}
	if (message->kind == SIM_MESSAGE_ANSWER) {
		sim_answer_release(message->answer);
	}
	bf_free(message);
}

static void clear_inbox(struct sim_machine *machine)
{
	while (machine->inbox.first != NULL) {
		struct sim_message *message = BF_CONTAINER(machine->inbox.first, struct sim_message,
				link);
		bf_list_remove(&message->link);
		sim_message_free(message);
	}
}

void sim_process_drop(struct sim_process **pointer)
{
	struct sim_process *process = BF_TAKE(*pointer);

	if (--process->refs > 0) {
		return;
	}
	for (int i = 0; i < SIM_MACHINES; i++) {
		clear_inbox(&process->machines[i]);
	}
	bf_planner_free(process->planner);
	bf_dispatcher_free(process->dispatcher, sim_answer_release);
	bf_keeper_free(process->keeper);
	bf_store_close(process->store);
	bf_free(process);
}

static void new_machines(struct sim_process *process)
{
	struct bf_sim *sim = process->sim;
	const struct bf_sim_config *c = &sim->config;
	struct bf_planner_config planner = {.zones = process->zones,
			.tick = c->beat / 2,
			.seed = bf_jitter_next(&sim->chance)};
	struct bf_dispatcher_config dispatcher = {.max_runs = c->max_runs,
			.max_bytes = c->max_bytes,
			.recovery_limit = c->recovery_limit,
			.tick = c->beat / 2,
			.seed = bf_jitter_next(&sim->chance)};
	struct bf_keeper_config keeper = {.lease = 4 * c->beat,
			.beat = c->beat,
			.identity = bf_str(process->identity),
			.version = BF_STR("simulated"),
			.zones = process->zones,
			.prune = {.keep_age = 4000 * BELFRY_DAY,
					.keep_failed_age = 4000 * BELFRY_DAY,
					.keep_tombstones = 4000 * BELFRY_DAY}};

	keeper.seed[0] = bf_jitter_next(&sim->chance);
	keeper.seed[1] = bf_jitter_next(&sim->chance);
	BF_ASSERT(bf_planner_new(&planner, &process->planner) == BELFRY_OK);
	BF_ASSERT(bf_dispatcher_new(&dispatcher, &process->dispatcher) == BELFRY_OK);
	BF_ASSERT(bf_keeper_new(&keeper, &process->keeper) == BELFRY_OK);
}

/* Every process looks now and then: here, when there is a reason. */
static void look_at_zones(struct bf_sim *sim)
{
	for (unsigned i = 0; i < sim->config.replicas && sim->config.newer_zones != NULL; i++) {
		if (sim->processes[i] != NULL) {
			sim_post(sim->processes[i], SIM_PLANNER,
					&(struct sim_message){.kind = SIM_MESSAGE_ZONES});
		}
	}
}

void sim_process_start(struct bf_sim *sim, unsigned replica)
{
	struct sim_process *process = sim_alloc(sizeof(*process));
	struct belfry_store *inner;
	struct belfry_error err;

	process->sim = sim;
	process->replica = replica;
	process->generation = ++sim->generations[replica];
	process->refs = 1;
	process->boot_offset = sim_between(sim, BELFRY_HOUR, BELFRY_DAY);
	(void)snprintf(process->identity, sizeof(process->identity), "replica-%u", replica);
	process->zones = sim->config.newer_zones != NULL && sim_chance(sim, 5000)
			? sim->config.newer_zones
			: sim->config.zones;
	sim_store_new(sim, &inner);
	BF_ASSERT(bf_store_wrap(&inner, &process->store, &err) == BELFRY_OK);
	new_machines(process);
	sim->processes[replica] = process;
	sim_trace(sim, "r%u starts (process %u)", replica, process->generation);
	for (int i = 0; i < SIM_MACHINES; i++) {
		process->machines[i].process = process;
		process->machines[i].kind = i;
		process->machines[i].pump_at = INT64_MAX;
		sim_pump_at(&process->machines[i], sim->now + sim_between(sim, 0, 5000));
	}
	look_at_zones(sim);
}

/* ---- messages ---------------------------------------------------------------------------------- */

static void pump(struct bf_sim *sim, void *data, int64_t number);

void sim_pump_at(struct sim_machine *machine, int64_t at)
{
	struct bf_sim *sim = machine->process->sim;

	at = BF_MAX(at, sim->now);
	if (machine->pump_at <= at || machine->is_closed || machine->process->is_dead) {
		return; /* an earlier look is planned already */
	}
	machine->pump_at = at;
	sim_process_hold(machine->process);
	sim_at(sim, at, pump, machine, at);
}

void sim_post(struct sim_process *process, int machine, const struct sim_message *message)
{
	struct sim_message *copy = sim_alloc(sizeof(*copy));
	struct bf_sim *sim = process->sim;

	*copy = *message;
	copy->link = (struct bf_link){0};
	if (process->is_dead || process->machines[machine].is_closed) {
		sim_message_free(copy);
		return;
	}
	bf_list_append(&process->machines[machine].inbox, &copy->link);
	/* A thread may be slow to wake. */
	belfry_duration slow = sim_chance(sim, 100) ? 50000 : 500;
	sim_pump_at(&process->machines[machine], sim->now + sim_between(sim, 1, slow));
}

/* One look at inbox and clock, as a thread's loop does between two store calls. */
static void look(struct sim_machine *machine)
{
	struct bf_sim *sim = machine->process->sim;

	if (machine->order.is_open || machine->is_closed) {
		return; /* it is in the store; the answer comes back here */
	}
	if (machine->inbox.first != NULL) {
		struct sim_message *message = BF_CONTAINER(machine->inbox.first, struct sim_message,
				link);
		bf_list_remove(&message->link);
		sim_step_message(machine, message);
	} else if (sim_boot(machine->process).us >= machine->wake.us) {
		sim_step_wake(machine);
	}
	if (machine->process->is_dead || machine->order.is_open) {
		return;
	}
	sim_pump_at(machine,
			machine->inbox.first != NULL
					? sim->now + sim_between(sim, 1, 200)
					: machine->wake.us - machine->process->boot_offset);
}

static void pump(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_machine *machine = data;
	struct sim_process *process = machine->process;

	/* Of several planned looks the latest planned one counts; the others were moved forward. */
	if (machine->pump_at == number) {
		machine->pump_at = INT64_MAX;
		if (!process->is_dead && !process->is_frozen && !sim->is_closing) {
			look(machine);
		}
	}
	sim_process_drop(&process);
}

/* ---- ends -------------------------------------------------------------------------------------- */

void sim_process_kill(struct sim_process *process, const char *why)
{
	struct bf_sim *sim = process->sim;

	if (process->is_dead) {
		return;
	}
	sim_trace(sim, "r%u ends (process %u): %s", process->replica, process->generation, why);
	process->is_dead = true;
	sim->processes[process->replica] = NULL;
	for (int i = 0; i < SIM_MACHINES; i++) {
		struct sim_call_order *order = &process->machines[i].order;
		/* What was sent may arrive all the same. */
		if (order->is_open && !order->is_done && sim_random(sim, 2) == 0) {
			order->is_void = true;
		}
	}
	sim_gate_forget(process);
	sim_host_process_gone(process);
	sim_process_drop(&process);
}

void sim_process_freeze(struct sim_process *process)
{
	if (!process->is_frozen) {
		process->is_frozen = true;
		process->frozen_at = process->sim->now;
		sim_trace(process->sim, "r%u is frozen", process->replica);
	}
}

void sim_process_unfreeze(struct sim_process *process)
{
	struct bf_sim *sim = process->sim;

	if (!process->is_frozen) {
		return;
	}
	process->is_frozen = false;
	process->standstill = BF_MAX(process->standstill, sim->now - process->frozen_at - PULSE);
	sim_trace(sim, "r%u goes on after %.1f s", process->replica,
			(double)(sim->now - process->frozen_at) / 1e6);
	for (int i = 0; i < SIM_MACHINES; i++) {
		struct sim_machine *machine = &process->machines[i];
		sim_gate_deliver(machine);
		sim_pump_at(machine, sim->now + sim_between(sim, 1, 2000));
	}
}

static void stop_timeout(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_process *process = data;

	(void)number;
	if (!sim->is_closing) {
		sim_process_check_stop(process);
	}
	sim_process_drop(&process);
}

static void wait_at_most(struct sim_process *process, belfry_duration wait)
{
	process->stop_until = process->sim->now + wait;
	sim_process_hold(process);
	sim_at(process->sim, process->stop_until, stop_timeout, process, 0);
}

void sim_process_stop(struct sim_process *process, belfry_duration drain)
{
	struct sim_message stop = {.kind = SIM_MESSAGE_STOP,
			.until = bf_boot_add(sim_boot(process), drain)};

	if (process->stop != SIM_STOP_NO) {
		return;
	}
	process->stop = SIM_STOP_DRAINING;
	sim_trace(process->sim, "r%u is asked to stop", process->replica);
	sim_post(process, SIM_PLANNER, &stop);
	sim_post(process, SIM_DISPATCHER, &stop);
	wait_at_most(process, drain + HAND_BACK_TIME);
}

/* The runtime's stop: drain the dispatcher, then end the incarnation; each within its time. */
void sim_process_check_stop(struct sim_process *process)
{
	struct sim_machine *dispatcher = &process->machines[SIM_DISPATCHER];
	bool is_late = process->sim->now >= process->stop_until;
	struct sim_message end = {.kind = SIM_MESSAGE_END};

	if (process->is_dead || process->is_frozen) {
		return;
	}
	if (process->stop == SIM_STOP_DRAINING) {
		bool is_idle = dispatcher->has_seen_stop && !dispatcher->order.is_open &&
				bf_dispatcher_is_idle(process->dispatcher);
		if (!is_idle && !is_late) {
			return;
		}
		if (!dispatcher->order.is_open) {
			dispatcher->is_closed = true;
			clear_inbox(dispatcher);
		}
		process->stop = SIM_STOP_ENDING;
		sim_post(process, SIM_KEEPER, &end);
		wait_at_most(process, HAND_BACK_TIME);
	} else if (process->stop == SIM_STOP_ENDING && (process->is_ended || is_late)) {
		process->stop = SIM_STOP_OVER;
		sim_process_kill(process, process->is_ended ? "stopped" : "stopped halfway");
	}
}

/* ---- for tests --------------------------------------------------------------------------------- */

void bf_sim_start(struct bf_sim *sim, unsigned replica)
{
	BF_ASSERT(replica < sim->config.replicas);
	if (sim->processes[replica] == NULL) {
		sim_process_start(sim, replica);
	}
}

void bf_sim_crash(struct bf_sim *sim, unsigned replica)
{
	if (sim->processes[replica] != NULL) {
		sim->counts.crashes++;
		sim_process_kill(sim->processes[replica], "killed");
	}
}

void bf_sim_stop(struct bf_sim *sim, unsigned replica, belfry_duration drain)
{
	if (sim->processes[replica] != NULL) {
		sim->counts.stops++;
		sim_process_stop(sim->processes[replica], drain);
	}
}

void bf_sim_freeze(struct bf_sim *sim, unsigned replica)
{
	if (sim->processes[replica] != NULL) {
		sim->counts.freezes++;
		sim_process_freeze(sim->processes[replica]);
	}
}

void bf_sim_unfreeze(struct bf_sim *sim, unsigned replica)
{
	if (sim->processes[replica] != NULL) {
		sim_process_unfreeze(sim->processes[replica]);
	}
}

bool bf_sim_is_up(const struct bf_sim *sim, unsigned replica)
{
	return sim->processes[replica] != NULL;
}

struct belfry_id bf_sim_incarnation(const struct bf_sim *sim, unsigned replica)
{
	const struct sim_process *process = sim->processes[replica];

	return process != NULL ? bf_keeper_counts(process->keeper)->incarnation
			       : (struct belfry_id){{0}};
}

uint32_t bf_sim_held(const struct bf_sim *sim, unsigned replica)
{
	const struct sim_process *process = sim->processes[replica];

	return process != NULL ? bf_dispatcher_counts(process->dispatcher)->held : 0;
}

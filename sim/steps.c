/* Events in, orders out: what the loops of src/runtime do with threads, done here with events. */
#include "sim/sim_priv.h"

void sim_answer_release(struct bf_answer *answer)
{
	bf_free(answer->owner);
}

static bool has_more(const struct sim_machine *machine)
{
	return machine->inbox.first != NULL;
}

/* ---- planner ----------------------------------------------------------------------------------- */

static void carry_planner(struct sim_machine *machine, const struct bf_planner_event *event)
{
	struct sim_process *process = machine->process;
	struct bf_sim *sim = process->sim;
	struct bf_planner_orders orders;

	bf_planner_step(process->planner, event, &orders);
	machine->wake = orders.wake;
	if (orders.born != NULL) {
		struct sim_message born = {.kind = SIM_MESSAGE_BORN, .born = orders.born};
		bool is_leak = sim->config.sabotage == BF_SIM_SABOTAGE_LEAK_PLACES &&
				orders.born->run_count == 0 && orders.born->places_back > 0 &&
				!orders.born->is_unknown;
		if (is_leak) {
			bf_born_free(orders.born);
		} else {
			sim_post(process, SIM_DISPATCHER, &born);
		}
	}
	if (orders.wants_beat) {
		sim_post(process, SIM_KEEPER, &(struct sim_message){.kind = SIM_MESSAGE_BEAT_NOW});
	}
	if (orders.is_lost) {
		sim_post(process, SIM_KEEPER, &(struct sim_message){.kind = SIM_MESSAGE_LOST});
	}
	while (orders.done.first != NULL) {
		struct bf_plan_request *request = BF_CONTAINER(orders.done.first,
				struct bf_plan_request, link);
		bf_list_remove(&request->link);
		sim_host_answered(sim, request);
	}
	if (orders.list != NULL) {
		sim_gate_order(machine,
				(struct sim_call_order){.op = BF_SIM_LIST,
						.list = orders.list,
						.arena = bf_planner_arena(process->planner)});
	} else if (orders.advance != NULL) {
		sim_gate_order(machine,
				(struct sim_call_order){.op = BF_SIM_ADVANCE,
						.advance = orders.advance});
	}
}

static struct bf_planner_event planner_event(struct sim_machine *machine,
		const struct sim_message *message)
{
	struct bf_planner_event event = {.now = sim_boot(machine->process),
			.has_more = has_more(machine)};

	switch (message->kind) {
	case SIM_MESSAGE_COVER:
		event.kind = BF_PLANNER_COVER;
		event.cover = message->cover;
		break;
	case SIM_MESSAGE_LOST: event.kind = BF_PLANNER_LOST; break;
	case SIM_MESSAGE_TICKETS:
		event.kind = BF_PLANNER_TICKETS;
		event.tickets = message->tickets;
		break;
	case SIM_MESSAGE_REQUEST:
		event.kind = BF_PLANNER_REQUEST;
		event.request = message->request;
		break;
	case SIM_MESSAGE_CLOCK_BACK: event.kind = BF_PLANNER_CLOCK_BACK; break;
	case SIM_MESSAGE_ZONES: event.kind = BF_PLANNER_ZONES; break;
	case SIM_MESSAGE_STOP: event.kind = BF_PLANNER_STOP; break;
	case SIM_MESSAGE_BORN:
	case SIM_MESSAGE_ANSWER:
	case SIM_MESSAGE_KICK:
	case SIM_MESSAGE_LOW:
	case SIM_MESSAGE_BEAT_NOW:
	case SIM_MESSAGE_CANCELLED:
	case SIM_MESSAGE_END: event.kind = BF_PLANNER_WAKE; break;
	}
	return event;
}

/* ---- dispatcher -------------------------------------------------------------------------------- */

static void order_dispatch(struct sim_machine *machine, const struct bf_dispatcher_orders *orders)
{
	struct belfry_arena *arena = bf_dispatcher_arena(machine->process->dispatcher);

	if (orders->records != NULL) {
		sim_gate_order(machine,
				(struct sim_call_order){.op = BF_SIM_RECORD,
						.records = orders->records,
						.record_count = orders->record_count});
	} else if (orders->list != NULL) {
		sim_gate_order(machine,
				(struct sim_call_order){.op = BF_SIM_LIST,
						.list = orders->list,
						.arena = arena});
	} else if (orders->claim != NULL) {
		sim_gate_order(machine,
				(struct sim_call_order){.op = BF_SIM_CLAIM,
						.claim = orders->claim,
						.arena = arena});
	}
}

/* Excess: after a lost answer everything that is ours is taken back at once (one batch). */
static void check_memory(struct sim_process *process)
{
	const struct bf_sim_config *config = &process->sim->config;
	const struct bf_dispatcher_counts *counts = bf_dispatcher_counts(process->dispatcher);

	if (counts->held > config->max_runs + 500) {
		sim_fail(process->sim, "memory within its places", "r%u holds %u Runs of %u",
				process->replica, counts->held, config->max_runs);
	}
}

static void carry_dispatcher(struct sim_machine *machine, const struct bf_dispatcher_event *event)
{
	struct sim_process *process = machine->process;
	struct bf_dispatcher_orders orders;

	bf_dispatcher_step(process->dispatcher, event, &orders);
	machine->wake = orders.wake;
	for (size_t i = 0; i < orders.cancel_count; i++) {
		sim_handler_cancel(process, &orders.cancels[i]);
	}
	for (size_t i = 0; i < orders.call_count && !process->is_dead; i++) {
		sim_handler_call(process, &orders.calls[i]);
	}
	for (struct bf_answer *answer = orders.released; answer != NULL;) {
		struct bf_answer *next = answer->next;
		sim_answer_release(answer);
		answer = next;
	}
	if (process->is_dead) {
		return; /* of a call */
	}
	if (orders.has_tickets) {
		sim_post(process, SIM_PLANNER,
				&(struct sim_message){.kind = SIM_MESSAGE_TICKETS,
						.tickets = orders.tickets});
	}
	if (orders.has_low) {
		sim_post(process, SIM_KEEPER,
				&(struct sim_message){.kind = SIM_MESSAGE_LOW, .low = orders.low});
	}
	if (orders.is_lost) {
		sim_post(process, SIM_KEEPER, &(struct sim_message){.kind = SIM_MESSAGE_LOST});
	}
	check_memory(process);
	order_dispatch(machine, &orders);
}

static void hear_cancelled(struct sim_process *process, const struct bf_cancelled *news)
{
	for (size_t i = 0; i < news->run_count; i++) {
		struct sim_run *run = sim_run_find(process->sim, news->runs[i]);
		if (run == NULL || run->state != BELFRY_RUN_CANCELLED) {
			sim_fail(process->sim, "only cancelled Runs are told of", "Run %s",
					sim_short_id(news->runs[i]).text);
			continue;
		}
		run->heard[process->replica] = process->generation;
	}
}

static struct bf_dispatcher_event dispatcher_event(struct sim_machine *machine,
		const struct sim_message *message)
{
	struct sim_process *process = machine->process;
	struct bf_dispatcher_event event = {.now = sim_boot(process),
			.has_more = has_more(machine)};

	switch (message->kind) {
	case SIM_MESSAGE_COVER:
		process->act_until = message->cover.act_until.us;
		process->has_cover = true;
		process->incarnation = message->cover.incarnation;
		event.kind = BF_DISPATCHER_COVER;
		event.cover = message->cover;
		if (process->sim->config.sabotage == BF_SIM_SABOTAGE_CALL_LOST) {
			event.cover.act_until = bf_boot_add(event.cover.act_until, BELFRY_HOUR);
		}
		break;
	case SIM_MESSAGE_LOST:
		process->act_until = 0;
		process->has_cover = false;
		event.kind = BF_DISPATCHER_LOST;
		break;
	case SIM_MESSAGE_BORN:
		event.kind = BF_DISPATCHER_BORN;
		event.born = message->born;
		break;
	case SIM_MESSAGE_ANSWER:
		event.kind = BF_DISPATCHER_ANSWER;
		event.answer = message->answer;
		break;
	case SIM_MESSAGE_KICK: event.kind = BF_DISPATCHER_KICK; break;
	case SIM_MESSAGE_CANCELLED:
		hear_cancelled(process, &message->cancelled);
		if (process->sim->config.sabotage != BF_SIM_SABOTAGE_DEAF) {
			event.kind = BF_DISPATCHER_CANCELLED;
			event.cancelled = message->cancelled;
		}
		break;
	case SIM_MESSAGE_STOP:
		event.kind = BF_DISPATCHER_STOP;
		event.until = message->until;
		machine->has_seen_stop = true;
		break;
	case SIM_MESSAGE_TICKETS:
	case SIM_MESSAGE_REQUEST:
	case SIM_MESSAGE_LOW:
	case SIM_MESSAGE_BEAT_NOW:
	case SIM_MESSAGE_CLOCK_BACK:
	case SIM_MESSAGE_ZONES:
	case SIM_MESSAGE_END: event.kind = BF_DISPATCHER_WAKE; break;
	}
	return event;
}

/* ---- keeper ------------------------------------------------------------------------------------ */

static belfry_duration take_standstill(struct sim_process *process)
{
	belfry_duration standstill = process->standstill;

	process->standstill = 0;
	return standstill;
}

static void tell_of_keeper(struct sim_process *process, const struct bf_keeper_orders *orders)
{
	struct sim_message cover = {.kind = SIM_MESSAGE_COVER, .cover = orders->cover};
	struct sim_message lost = {.kind = SIM_MESSAGE_LOST};

	if (orders->is_lost) {
		sim_trace(process->sim, "r%u loses its incarnation", process->replica);
		sim_post(process, SIM_PLANNER, &lost);
		sim_post(process, SIM_DISPATCHER, &lost);
	}
	if (orders->has_cover) {
		sim_post(process, SIM_PLANNER, &cover);
		sim_post(process, SIM_DISPATCHER, &cover);
	}
	if (orders->cancelled.run_count > 0) {
		sim_post_cancelled(process, &orders->cancelled);
	}
	if (orders->is_clock_back) {
		sim_post(process, SIM_PLANNER,
				&(struct sim_message){.kind = SIM_MESSAGE_CLOCK_BACK});
	}
	process->is_ended = process->is_ended || orders->is_ended;
}

static void carry_keeper(struct sim_machine *machine, const struct bf_keeper_event *event)
{
	struct sim_process *process = machine->process;
	struct bf_keeper_orders orders;
	struct sim_call_order order = {.arena = bf_keeper_arena(process->keeper)};

	bf_keeper_step(process->keeper, event, &orders);
	machine->wake = orders.wake;
	tell_of_keeper(process, &orders);
	order.beat = orders.beat;
	order.list = orders.list;
	order.prune = orders.prune;
	if (orders.beat != NULL || orders.list != NULL || orders.prune != NULL) {
		order.op = orders.beat != NULL        ? BF_SIM_BEAT
				: orders.list != NULL ? BF_SIM_LIST
						      : BF_SIM_PRUNE;
		sim_gate_order(machine, order);
	}
}

static struct bf_keeper_event keeper_event(struct sim_machine *machine,
		const struct sim_message *message)
{
	struct bf_keeper_event event = {.now = sim_boot(machine->process),
			.standstill = take_standstill(machine->process)};

	switch (message->kind) {
	case SIM_MESSAGE_LOW:
		event.kind = BF_KEEPER_LOW;
		event.low = message->low;
		break;
	case SIM_MESSAGE_BEAT_NOW: event.kind = BF_KEEPER_BEAT_NOW; break;
	case SIM_MESSAGE_LOST: event.kind = BF_KEEPER_LOST; break;
	case SIM_MESSAGE_END: event.kind = BF_KEEPER_END; break;
	case SIM_MESSAGE_COVER:
	case SIM_MESSAGE_TICKETS:
	case SIM_MESSAGE_BORN:
	case SIM_MESSAGE_REQUEST:
	case SIM_MESSAGE_ANSWER:
	case SIM_MESSAGE_KICK:
	case SIM_MESSAGE_CLOCK_BACK:
	case SIM_MESSAGE_CANCELLED:
	case SIM_MESSAGE_ZONES:
	case SIM_MESSAGE_STOP: event.kind = BF_KEEPER_WAKE; break;
	}
	return event;
}

/* ---- all three --------------------------------------------------------------------------------- */

static void after_step(struct sim_machine *machine)
{
	if (machine->process->stop != SIM_STOP_NO) {
		sim_process_check_stop(machine->process);
	}
}

void sim_step_message(struct sim_machine *machine, struct sim_message *message)
{
	struct bf_planner_event planner;
	struct bf_dispatcher_event dispatcher;
	struct bf_keeper_event keeper;

	switch (machine->kind) {
	case SIM_PLANNER:
		planner = planner_event(machine, message);
		bf_free(message); /* the machine has what it pointed to */
		carry_planner(machine, &planner);
		break;
	case SIM_DISPATCHER:
		dispatcher = dispatcher_event(machine, message);
		if (message->kind == SIM_MESSAGE_CANCELLED) {
			dispatcher.cancelled.runs = message->cancelled.runs; /* for this step */
		}
		carry_dispatcher(machine, &dispatcher);
		if (message->kind == SIM_MESSAGE_CANCELLED) {
			bf_free(message->cancelled.runs);
		}
		bf_free(message);
		break;
	default:
		keeper = keeper_event(machine, message);
		bf_free(message);
		carry_keeper(machine, &keeper);
		break;
	}
	after_step(machine);
}

static void step(struct sim_machine *machine, bool is_done, enum belfry_status status)
{
	struct bf_boot_time now = sim_boot(machine->process);

	switch (machine->kind) {
	case SIM_PLANNER:
		carry_planner(machine,
				&(struct bf_planner_event){.kind = is_done ? BF_PLANNER_DONE
									   : BF_PLANNER_WAKE,
						.now = now,
						.has_more = has_more(machine),
						.status = status});
		break;
	case SIM_DISPATCHER:
		carry_dispatcher(machine,
				&(struct bf_dispatcher_event){.kind = is_done ? BF_DISPATCHER_DONE
									      : BF_DISPATCHER_WAKE,
						.now = now,
						.has_more = has_more(machine),
						.status = status});
		break;
	default:
		carry_keeper(machine,
				&(struct bf_keeper_event){.kind = is_done ? BF_KEEPER_DONE
									  : BF_KEEPER_WAKE,
						.now = now,
						.standstill = take_standstill(machine->process),
						.status = status});
		break;
	}
	after_step(machine);
}

void sim_step_wake(struct sim_machine *machine)
{
	step(machine, false, BELFRY_OK);
}

void sim_step_done(struct sim_machine *machine, enum belfry_status status)
{
	step(machine, true, status);
}

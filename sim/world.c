/* The world that a seed makes: deployments, what the host does with them, how the handler answers, and
 * every fault. Intervals follow the beat, so that a world of slow beats meets as many faults for each
 * beat as one of fast ones. */
#include "sim/sim_priv.h"

/* From min to max, each order of magnitude as often as the others. */
static belfry_duration log_between(struct bf_sim *sim, belfry_duration min, belfry_duration max)
{
	unsigned doublings = 0;

	while ((min << (doublings + 1)) <= max && doublings < 40) {
		doublings++;
	}
	belfry_duration low = min << sim_random(sim, doublings + 1);
	return BF_MIN(max, low + sim_between(sim, 0, low));
}

/* ---- deployments ------------------------------------------------------------------------------- */

static const char *const rules[] = {"*/15 * * * *", "0 * * * *", "7,37 * * * *", "30 2 * * *",
		"*/5 9-11 * * *", "0 */6 * * *", "{\"every\":\"PT20M\"}", "59 23 * * *",
		"0,30 1-3 * * *", "*/10 * * * *", "{\"cron\":\"*/10 * * * *\",\"max_fires\":7}",
		"{\"cron\":\"0,20,40 * * * *\",\"spread\":\"PT15M\"}",
		"{\"every\":\"PT15M\",\"max_fires\":40,\"spread\":\"PT40M\"}",
		"{\"cron\":\"*/15 * * * *\",\"except\":[{\"cron\":\"* 3-9 * * *\"}]}"};
/* Of a world of two databases, which differ by an hour: each local time is one instant or the other. */
static const char *const daily_rules[] = {"30 2 * * *", "15 12 * * *", "59 23 * * *", "0 9 * * *"};
static const char *const zone_names[] = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata",
		"Australia/Lord_Howe"};

static struct belfry_policies choose_policies(struct bf_sim *sim)
{
	struct belfry_policies policies = BELFRY_POLICIES_INIT;
	static const belfry_duration graces[] = {0, BELFRY_MINUTE, 10 * BELFRY_MINUTE};
	static const belfry_duration limits[] = {BELFRY_HOUR, 10 * BELFRY_MINUTE,
			2 * BELFRY_MINUTE};

	policies.grace = graces[sim_random(sim, BF_COUNT(graces))];
	policies.late_limit = limits[sim_random(sim, BF_COUNT(limits))];
	policies.interrupted = sim_chance(sim, 2000) ? BELFRY_INTERRUPTED_ABANDON
						     : BELFRY_INTERRUPTED_RESUME;
	policies.max_attempts = 1 + (uint32_t)sim_random(sim, 5);
	policies.timeout = sim_between(sim, 30 * BELFRY_SECOND, 10 * BELFRY_MINUTE);
	return policies;
}

static void put_any(struct bf_sim *sim, const char *id, bool is_disabled)
{
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;

	deployment.id = id;
	if (sim->config.newer_zones != NULL) {
		deployment.rule = daily_rules[sim_random(sim, BF_COUNT(daily_rules))];
		deployment.zone = "Test/Zone";
	} else {
		deployment.rule = rules[sim_random(sim, BF_COUNT(rules))];
		deployment.zone = zone_names[sim_random(sim, BF_COUNT(zone_names))];
	}
	deployment.is_disabled = is_disabled;
	deployment.has_local_session = sim_chance(sim, 2000);
	deployment.policies = choose_policies(sim);
	bf_sim_put(sim, &deployment);
}

static void ask_for_run(struct bf_sim *sim, struct sim_deployment *deployment)
{
	struct belfry_run *runs;
	size_t count;

	if (sim->now < sim->outage_until) {
		return;
	}
	if (sim_chance(sim, 3000)) {
		struct belfry_id old;
		belfry_arena_reset(&sim->outer);
		bf_sim_list_runs(sim, deployment->id, &sim->outer, &runs, &count);
		if (count > 0) {
			old = runs[sim_random(sim, count)].id;
			(void)bf_sim_enqueue(sim, deployment->id, &old);
		}
		return;
	}
	(void)bf_sim_enqueue(sim, deployment->id, NULL);
}

/* Of the latest Runs of a deployment, one in whatever state it is. */
static void end_run(struct bf_sim *sim, const struct sim_deployment *deployment)
{
	static const enum belfry_run_status ends[] = {BELFRY_STATUS_COMPLETED, BELFRY_STATUS_FAILED,
			BELFRY_STATUS_CANCELLED};
	struct belfry_run *runs;
	size_t count;

	belfry_arena_reset(&sim->outer);
	bf_sim_list_runs(sim, deployment->id, &sim->outer, &runs, &count);
	if (sim->now < sim->outage_until || count == 0) {
		return;
	}
	struct belfry_id run = runs[sim_random(sim, BF_MIN(count, 4))].id;
	if (sim_chance(sim, 5000)) {
		(void)bf_sim_cancel(sim, run);
	} else {
		(void)bf_sim_conclude(sim, run, ends[sim_random(sim, BF_COUNT(ends))]);
	}
}

/* Often Runs that are under way: those that have ended have nothing to tell. */
static void host_ends(struct bf_sim *sim, void *data, int64_t number)
{
	(void)data;
	(void)number;
	if (sim->is_quiet || sim->is_closing) {
		return;
	}
	const struct sim_run *open = sim->open.first == NULL
			? NULL
			: BF_CONTAINER(sim->open.first, struct sim_run, open);
	for (uint64_t steps = sim_random(sim, 4); steps > 0 && open != NULL; steps--) {
		open = open->open.next == NULL
				? open
				: BF_CONTAINER(open->open.next, struct sim_run, open);
	}
	if (open != NULL && sim->now >= sim->outage_until && sim_chance(sim, 6000)) {
		struct belfry_id run = open->id;
		if (sim_chance(sim, 5000)) {
			(void)bf_sim_cancel(sim, run);
		} else {
			(void)bf_sim_conclude(sim, run, BELFRY_STATUS_COMPLETED);
		}
	} else {
		end_run(sim, sim->deployments[sim_random(sim, sim->deployment_count)]);
	}
	sim_at(sim, sim->now + log_between(sim, 5 * BELFRY_SECOND, BELFRY_HOUR), host_ends, NULL,
			0);
}

static void host_acts(struct bf_sim *sim, void *data, int64_t number)
{
	(void)data;
	(void)number;
	if (sim->is_quiet || sim->is_closing) {
		return;
	}
	struct sim_deployment
			*deployment = sim->deployments[sim_random(sim, sim->deployment_count)];
	uint64_t what = sim_random(sim, 100);
	if (what < 35 || !deployment->has_definition) {
		put_any(sim, deployment->id, sim_chance(sim, 1000));
	} else if (what < 60) {
		put_any(sim, deployment->id, true);
	} else if (what < 68) {
		bf_sim_remove(sim, deployment->id);
	} else {
		ask_for_run(sim, deployment);
	}
	sim_at(sim, sim->now + log_between(sim, 5 * BELFRY_SECOND, BELFRY_HOUR), host_acts, NULL,
			0);
}

/* ---- processes --------------------------------------------------------------------------------- */

static void unfreeze(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_process *process = data;

	(void)number;
	if (!process->is_dead && !sim->is_closing) {
		sim_process_unfreeze(process);
	}
	sim_process_drop(&process);
}

static void trouble(struct bf_sim *sim, unsigned replica)
{
	struct sim_process *process = sim->processes[replica];
	uint64_t what = sim_random(sim, 100);

	if (process == NULL || process->is_frozen) {
		return;
	}
	if (what < 35) {
		bf_sim_crash(sim, replica);
	} else if (what < 75) {
		bf_sim_freeze(sim, replica);
		sim_process_hold(process);
		sim_at(sim, sim->now + log_between(sim, 100 * BELFRY_MILLISECOND, BELFRY_HOUR),
				unfreeze, process, 0);
	} else if (what < 97) {
		bf_sim_stop(sim, replica,
				log_between(sim, 100 * BELFRY_MILLISECOND, BELFRY_MINUTE));
	} else {
		for (unsigned i = 0; i < sim->config.replicas; i++) {
			bf_sim_crash(sim, i);
		}
	}
}

static void trouble_comes(struct bf_sim *sim, void *data, int64_t replica)
{
	(void)data;
	if (sim->is_quiet || sim->is_closing) {
		return;
	}
	trouble(sim, (unsigned)replica);
	sim_at(sim, sim->now + log_between(sim, 5 * BELFRY_MINUTE, 8 * BELFRY_HOUR), trouble_comes,
			NULL, replica);
}

static void janitor(struct bf_sim *sim, void *data, int64_t number)
{
	(void)data;
	(void)number;
	if (sim->is_closing) {
		return;
	}
	for (unsigned i = 0; i < sim->config.replicas; i++) {
		if (sim->processes[i] == NULL && (sim->is_quiet || sim_random(sim, 20) == 0)) {
			sim_process_start(sim, i);
		}
	}
	sim_at(sim, sim->now + 10 * BELFRY_SECOND, janitor, NULL, 0);
}

/* ---- store and clock --------------------------------------------------------------------------- */

static void outage_comes(struct bf_sim *sim, void *data, int64_t number)
{
	(void)data;
	(void)number;
	if (sim->is_quiet || sim->is_closing) {
		return;
	}
	bf_sim_outage(sim, log_between(sim, 2 * BELFRY_SECOND, 10 * BELFRY_MINUTE));
	sim_at(sim, sim->now + sim_between(sim, BELFRY_HOUR, 12 * BELFRY_HOUR), outage_comes, NULL,
			0);
}

static void clock_steps(struct bf_sim *sim, void *data, int64_t number)
{
	(void)data;
	(void)number;
	if (sim->is_quiet || sim->is_closing || sim->zone_count + 1 >= SIM_ZONES_MAX) {
		return;
	}
	belfry_duration by = log_between(sim, BELFRY_SECOND, BELFRY_DAY);
	bf_sim_step_clock(sim, sim_random(sim, 2) == 0 ? by : -by);
	for (unsigned i = 0; i < sim->config.replicas; i++) {
		/* Processes on the database's machine are told by the kernel, others are not. */
		if (sim->processes[i] != NULL && sim_random(sim, 2) == 0) {
			sim_post(sim->processes[i], SIM_KEEPER,
					&(struct sim_message){.kind = SIM_MESSAGE_BEAT_NOW});
		}
	}
	sim_at(sim, sim->now + sim_between(sim, 4 * BELFRY_HOUR, BELFRY_DAY), clock_steps, NULL, 0);
}

enum bf_sim_fate sim_world_fate(struct bf_sim *sim, enum bf_sim_op op, belfry_duration *ret_delay)
{
	/* Of ten thousand. Writes that decide something meet more than reads and beats. */
	static const unsigned rare[] = {30, 20, 10, 5, 2, 3, 5};
	static const unsigned frequent[] = {100, 250, 60, 60, 30, 60, 150};
	static const enum bf_sim_fate fates[] = {BF_SIM_REFUSED, BF_SIM_LOST_ACK, BF_SIM_LATE_ACK,
			BF_SIM_LATE_EFFECT, BF_SIM_CRASH_BEFORE, BF_SIM_CRASH_AFTER,
			BF_SIM_CRASH_INSIDE};
	const unsigned *weights = op == BF_SIM_ADVANCE || op == BF_SIM_RECORD ? frequent : rare;
	uint64_t dice = sim_random(sim, 10000);

	*ret_delay = log_between(sim, sim->config.beat / 8, 5 * BELFRY_MINUTE);
	for (size_t i = 0; i < BF_COUNT(fates); i++) {
		if (dice < weights[i]) {
			return fates[i] == BF_SIM_CRASH_INSIDE && !sim->config.single_document
					? BF_SIM_CRASH_AFTER
					: fates[i];
		}
		dice -= weights[i];
	}
	return BF_SIM_NORMAL;
}

/* ---- the handler ------------------------------------------------------------------------------- */

struct bf_sim_reply sim_handler_world(struct bf_sim *sim, const struct bf_sim_call *call)
{
	struct bf_sim_reply reply = {.kind = BF_SIM_REPLY_OK,
			.delay = log_between(sim, 5 * BELFRY_MILLISECOND, 2 * BELFRY_MINUTE)};
	uint64_t what = sim_random(sim, 1000);

	if (what < 60) {
		reply.kind = BF_SIM_REPLY_RETRY;
	} else if (what < 80) {
		reply.kind = BF_SIM_REPLY_RETRY;
		reply.after = log_between(sim, BELFRY_SECOND, BELFRY_HOUR);
	} else if (what < 100) {
		reply.kind = BF_SIM_REPLY_PERMANENT;
	} else if (what < 130) {
		reply.kind = BF_SIM_REPLY_HANG;
	} else if (what < 160) {
		reply.delay = sim_between(sim, BELFRY_MINUTE, 30 * BELFRY_MINUTE);
	} else if (what < 163) {
		reply.kind = BF_SIM_REPLY_CRASH;
	} else if (what < 350 && call->step == BELFRY_STEP_TURN) {
		reply.kind = BF_SIM_REPLY_OPEN;
	}
	reply.is_doubled = sim_chance(sim, 300) && reply.kind != BF_SIM_REPLY_CRASH;
	return reply;
}

/* ---- the beginning ----------------------------------------------------------------------------- */

void sim_world_begin(struct bf_sim *sim)
{
	for (unsigned i = 0; i < sim->config.replicas; i++) {
		sim_process_start(sim, i);
		sim_at(sim, sim->now + sim_between(sim, BELFRY_MINUTE, 4 * BELFRY_HOUR),
				trouble_comes, NULL, i);
	}
	for (unsigned i = 0; i < sim->config.deployments; i++) {
		char id[BF_SIM_ID_BYTES];
		(void)snprintf(id, sizeof(id), "d%03u", i);
		put_any(sim, id, sim_chance(sim, 1000));
	}
	sim_at(sim, sim->now + BELFRY_MINUTE, host_acts, NULL, 0);
	sim_at(sim, sim->now + 2 * BELFRY_MINUTE, host_ends, NULL, 0);
	sim_at(sim, sim->now + 10 * BELFRY_SECOND, janitor, NULL, 0);
	sim_at(sim, sim->now + sim_between(sim, BELFRY_MINUTE, 8 * BELFRY_HOUR), outage_comes, NULL,
			0);
	if (sim->config.may_step_clock) {
		sim_at(sim, sim->now + sim_between(sim, BELFRY_HOUR, 12 * BELFRY_HOUR), clock_steps,
				NULL, 0);
	}
}

struct bf_sim_config bf_sim_world_config(uint64_t seed, struct belfry_zones *zones,
		bool single_document)
{
	static const belfry_duration beats[] = {10 * BELFRY_SECOND, BELFRY_MINUTE, BELFRY_MINUTE,
			BELFRY_MINUTE};
	static const uint32_t places[] = {1, 2, 4, 10, 50};
	static const unsigned counts[] = {6, 12, 24};
	struct bf_jitter chance = {seed ^ UINT64_C(0x5157)};

	return (struct bf_sim_config){
			.seed = seed,
			.zones = zones,
			.single_document = single_document,
			.has_faults = true,
			.may_step_clock = bf_jitter_next(&chance) % 3 == 0,
			.beat = beats[bf_jitter_next(&chance) % BF_COUNT(beats)],
			.max_runs = places[bf_jitter_next(&chance) % BF_COUNT(places)],
			.deployments = counts[bf_jitter_next(&chance) % BF_COUNT(counts)],
			.recovery_limit = 3 + (uint32_t)(bf_jitter_next(&chance) % 8),
	};
}

/* The simulator's life, time, chance, trace and failure.
 *
 * Time is one number that jumps from event to event. The store's clock is that number, a start and an
 * offset that faults change; a boot clock is that number and an offset of each process. Nothing here
 * reads a real clock, and chance comes from the seed alone: the same seed gives the same trace. */
#include "sim/sim_priv.h"

#include <stdarg.h>

#include "base/hash.h"
#include "store/memory/memory.h"

/* 2026-03-27T06:00:00Z, before zones of Europe change to summer time; worlds begin in the year after. */
#define START_DEFAULT INT64_C(1774591200000000)

/* How long after the last fault everything must be drained: a target's own wait (1 h), what comes after
 * it, and slow retries. */
#define QUIET_MIN (3 * BELFRY_HOUR)

const char *bf_sim_sabotage_name(enum bf_sim_sabotage sabotage)
{
	static const char *const names[] = {"none", "ignore-fences", "duplicate", "lose-session",
			"lose-runs", "lose-gaps", "start-disabled", "early", "no-takeover",
			"leak-places", "low-mark", "call-lost", "same-fence", "deaf",
			"forget-local", "forget-count"};

	return (unsigned)sabotage < BF_COUNT(names) ? names[sabotage] : "?";
}

void *sim_alloc(size_t size)
{
	void *memory = bf_alloc(size);

	BF_ASSERT(memory != NULL);
	return memory;
}

/* ---- chance ------------------------------------------------------------------------------------ */

uint64_t sim_random(struct bf_sim *sim, uint64_t below)
{
	return bf_jitter_next(&sim->chance) % below;
}

belfry_duration sim_between(struct bf_sim *sim, belfry_duration min, belfry_duration max)
{
	return bf_jitter_between(&sim->chance, min, max);
}

bool sim_chance(struct bf_sim *sim, unsigned in_ten_thousand)
{
	return sim_random(sim, 10000) < in_ten_thousand;
}

/* ---- clocks ------------------------------------------------------------------------------------ */

belfry_time sim_wall(const struct bf_sim *sim)
{
	return sim->config.start + sim->now + sim->wall_offset;
}

static belfry_time env_wall(void *data)
{
	const struct bf_sim *sim = data;

	return sim_wall(sim) + (sim->is_early ? BELFRY_HOUR : 0);
}

static struct bf_boot_time env_boot(void *data)
{
	const struct bf_sim *sim = data;

	return (struct bf_boot_time){sim->now};
}

static void env_random(void *data, void *bytes, size_t len)
{
	struct bf_sim *sim = data;
	unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++) {
		at[i] = (unsigned char)sim_random(sim, 256);
	}
}

/* ---- trace and failure ------------------------------------------------------------------------- */

struct sim_short sim_short_id(struct belfry_id id)
{
	char text[BELFRY_ID_TEXT_BYTES];
	struct sim_short brief;

	belfry_id_format(id, text);
	/* The front of a Run's id is its time, the end tells the deployments apart. */
	memcpy(brief.text, text + 4, 4);
	brief.text[4] = '-';
	memcpy(brief.text + 5, text + 28, 8);
	brief.text[13] = '\0';
	return brief;
}

void sim_trace(struct bf_sim *sim, const char *format, ...)
{
	char *line = sim->trace[sim->trace_count++ % SIM_TRACE_LINES];
	char time[BF_TIME_TEXT_BYTES];
	va_list args;

	bf_time_format(sim_wall(sim), 0, time);
	int len = snprintf(line, SIM_LINE_BYTES, "%12.6f %s ", (double)sim->now / 1e6, time);
	va_start(args, format);
	(void)vsnprintf(line + len, SIM_LINE_BYTES - (size_t)len, format, args);
	va_end(args);
	sim->digest = bf_hash64(sim->digest, line, strlen(line));
	if (sim->config.trace != NULL) {
		(void)fprintf(sim->config.trace, "%s\n", line);
	}
}

void sim_fail(struct bf_sim *sim, const char *invariant, const char *format, ...)
{
	va_list args;

	if (sim->invariant != NULL) {
		return;
	}
	sim->invariant = invariant;
	va_start(args, format);
	(void)vsnprintf(sim->failure_text, sizeof(sim->failure_text), format, args);
	va_end(args);
	sim_trace(sim, "VIOLATED %s: %s", invariant, sim->failure_text);
}

const char *bf_sim_invariant(const struct bf_sim *sim)
{
	return sim->invariant;
}

const char *bf_sim_failure(struct bf_sim *sim)
{
	char time[BF_TIME_TEXT_BYTES];
	size_t first = sim->trace_count > SIM_TRACE_LINES ? sim->trace_count - SIM_TRACE_LINES : 0;

	if (sim->invariant == NULL) {
		return NULL;
	}
	bf_buf_clear(&sim->failure);
	bf_time_format(sim_wall(sim), 0, time);
	bf_buf_appendf(&sim->failure, "seed %llu%s: at %.6f s (%s) this did not hold: %s\n  %s\n",
			(unsigned long long)sim->config.seed,
			sim->config.single_document ? " (single document)" : "",
			(double)sim->now / 1e6, time, sim->invariant, sim->failure_text);
	for (size_t i = first; i < sim->trace_count; i++) {
		bf_buf_appendf(&sim->failure, "  %s\n", sim->trace[i % SIM_TRACE_LINES]);
	}
	BF_ASSERT(bf_buf_status(&sim->failure) == BELFRY_OK);
	return sim->failure.ptr;
}

uint64_t bf_sim_digest(const struct bf_sim *sim)
{
	return sim->digest;
}

const struct bf_sim_counts *bf_sim_counts(const struct bf_sim *sim)
{
	return &sim->counts;
}

/* ---- life -------------------------------------------------------------------------------------- */

static void set_defaults(struct bf_sim_config *config)
{
	config->replicas = config->replicas != 0 ? config->replicas : 3;
	config->replicas = BF_MIN(config->replicas, BF_SIM_REPLICAS_MAX);
	config->beat = config->beat != 0 ? config->beat : 2 * BELFRY_SECOND;
	config->max_runs = config->max_runs != 0 ? config->max_runs : 100;
	config->max_bytes = config->max_bytes != 0 ? config->max_bytes : 1u << 20;
	config->recovery_limit = config->recovery_limit != 0 ? config->recovery_limit : 10;
	config->deployments = config->deployments != 0 ? config->deployments : 12;
}

void bf_sim_new(const struct bf_sim_config *config, struct bf_sim **ret_sim)
{
	struct bf_sim *sim = sim_alloc(sizeof(*sim));

	sim->config = *config;
	set_defaults(&sim->config);
	sim->chance.state = config->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	if (sim->config.start == 0) {
		sim->config.start = START_DEFAULT;
		if (config->has_faults) {
			sim->config.start += sim_between(sim, 0, 365 * BELFRY_DAY);
		}
	}
	sim->highest_wall = sim->config.start;
	sim->env = (struct bf_env){sim, env_wall, env_boot, env_random, NULL};
	BF_ASSERT(bf_memory_store_new(&sim->env, config->single_document, &sim->database) ==
			BELFRY_OK);
	bf_memory_store_set_step(sim->database, sim_gate_step, sim);
	sim_store_new(sim, &sim->host_store);
	*ret_sim = sim;
}

/* Events that are left over still hold what they point to: let them go, without effect. */
static void drain_queue(struct bf_sim *sim)
{
	sim->is_closing = true;
	while (sim->queue.count > 0) {
		struct sim_event event = sim_queue_take(&sim->queue);
		event.fn(sim, event.data, event.number);
	}
}

void bf_sim_free(struct bf_sim *sim)
{
	if (sim == NULL) {
		return;
	}
	sim->is_closing = true;
	for (unsigned i = 0; i < BF_SIM_REPLICAS_MAX; i++) {
		if (sim->processes[i] != NULL) {
			sim_process_kill(sim->processes[i], "end");
		}
	}
	drain_queue(sim);
	sim_host_free(sim);
	sim_runs_free(sim);
	sim->host_store->ops->close(sim->host_store);
	bf_memory_store_set_step(sim->database, NULL, NULL);
	sim->database->ops->close(sim->database);
	belfry_arena_fini(&sim->scratch);
	belfry_arena_fini(&sim->outer);
	bf_buf_fini(&sim->failure);
	bf_free(sim->calls);
	sim_queue_fini(&sim->queue);
	bf_free(sim);
}

/* ---- time -------------------------------------------------------------------------------------- */

void sim_at(struct bf_sim *sim, int64_t at, sim_event_fn fn, void *data, int64_t number)
{
	sim_queue_put(&sim->queue,
			(struct sim_event){.at = BF_MAX(at, sim->now),
					.fn = fn,
					.data = data,
					.number = number});
}

belfry_time bf_sim_now(const struct bf_sim *sim)
{
	return sim_wall(sim);
}

belfry_duration bf_sim_elapsed(const struct bf_sim *sim)
{
	return sim->now;
}

void bf_sim_run(struct bf_sim *sim, belfry_duration duration)
{
	int64_t until = sim->now + duration;

	while (sim->invariant == NULL) {
		const struct sim_event *first = sim_queue_first(&sim->queue);
		if (first == NULL || first->at > until) {
			sim->now = until;
			break;
		}
		struct sim_event event = sim_queue_take(&sim->queue);
		sim->now = event.at;
		sim->counts.events++;
		event.fn(sim, event.data, event.number);
	}
	sim->highest_wall = BF_MAX(sim->highest_wall, sim_wall(sim));
	sim->counts.virtual_us = sim->now;
}

void bf_sim_run_until(struct bf_sim *sim, belfry_time time)
{
	bf_sim_run(sim, BF_MAX(time - sim_wall(sim), 0));
}

void bf_sim_run_world(struct bf_sim *sim, belfry_duration duration)
{
	sim_world_begin(sim);
	bf_sim_run(sim, duration);
	bf_sim_finish(sim);
}

/* Each process at a moment when no message of its is under way. */
static void check_places(struct bf_sim *sim)
{
	for (unsigned i = 0; i < sim->config.replicas; i++) {
		bool is_comparable = false;
		for (unsigned tries = 0; tries < 5000 && !is_comparable && sim->invariant == NULL;
				tries++) {
			bf_sim_run(sim, 7 * BELFRY_MILLISECOND);
			if (sim->processes[i] == NULL) {
				break;
			}
			if (!sim_places_agree(sim->processes[i], &is_comparable)) {
				sim_fail(sim, "places never leak",
						"replica %u: planner and dispatcher count them differently",
						i);
			}
		}
	}
}

void bf_sim_finish(struct bf_sim *sim)
{
	int64_t quiet_since = sim->now;

	sim->is_quiet = true;
	sim->outage_until = sim->now;
	sim->trap_count = 0;
	sim_trace(sim, "-- quiet --");
	for (unsigned i = 0; i < sim->config.replicas; i++) {
		bf_sim_unfreeze(sim, i);
		if (sim->processes[i] == NULL) {
			bf_sim_start(sim, i);
		}
	}
	bf_sim_run(sim, QUIET_MIN + 20 * sim->config.beat);
	for (unsigned i = 0; i < sim->config.replicas; i++) {
		if (sim->invariant == NULL && sim->processes[i] == NULL) {
			bf_sim_start(sim, i);
		}
	}
	if (sim->invariant == NULL) {
		check_places(sim);
	}
	if (sim->invariant == NULL) {
		sim_final_check(sim, quiet_since);
	}
	sim->counts.virtual_us = sim->now;
}

void bf_sim_outage(struct bf_sim *sim, belfry_duration duration)
{
	sim->outage_until = BF_MAX(sim->outage_until, sim->now + duration);
	sim->counts.outages++;
	sim_trace(sim, "the store is down for %.1f s", (double)duration / 1e6);
}

/* After a step back what lies between was decided once and is decided again, perhaps by another
 * revision: final.c asks less of it. */
void bf_sim_step_clock(struct bf_sim *sim, belfry_duration by)
{
	sim->highest_wall = BF_MAX(sim->highest_wall, sim_wall(sim));
	sim->wall_offset += by;
	sim->counts.clock_steps++;
	sim_trace(sim, "the store's clock is stepped by %.1f s", (double)by / 1e6);
	if (sim_wall(sim) < sim->highest_wall) {
		BF_ASSERT(sim->zone_count < SIM_ZONES_MAX);
		sim->zones[sim->zone_count].from = sim_wall(sim) - BELFRY_MINUTE;
		sim->zones[sim->zone_count].to = sim->highest_wall + 10 * sim->config.beat;
		sim->zone_count++;
	}
}

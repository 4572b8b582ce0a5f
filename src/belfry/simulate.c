/* `belfry simulate`: runs worlds by their seeds and says what happened in them. Reads no server and
 * writes nothing; the exit status is 1 where an invariant did not hold. */
#include "belfry/simulate.h"

#include "base/error.h"
#include "base/str.h"
#include "sim/sim.h"

#define HOURS_DEFAULT 48
#define SEEDS_DEFAULT 20

struct wish {
	int64_t seed;
	int64_t seeds;
	int64_t hours;
	int64_t replicas; /* 0: the world's own */
	bool is_single;
	bool wants_trace;
};

/* Sums over all worlds. */
struct outcome {
	struct bf_sim_counts counts;
	json_t *failed; /* owned: [{seed, invariant}] */
	int64_t failed_count;
	struct bf_buf first_failure;
};

static enum belfry_status read_wish(const struct bf_args *args, struct wish *wish,
		struct belfry_error *err)
{
	int64_t seeds = bf_args_has(args, "seed") ? 1 : SEEDS_DEFAULT;
	enum belfry_status status = bf_args_int(args, "seed", 0, INT64_MAX / 2, 1, &wish->seed,
			err);

	if (status == BELFRY_OK) {
		status = bf_args_int(args, "seeds", 1, 1000000, seeds, &wish->seeds, err);
	}
	if (status == BELFRY_OK) {
		status = bf_args_int(args, "hours", 1, 1000, HOURS_DEFAULT, &wish->hours, err);
	}
	if (status == BELFRY_OK) {
		status = bf_args_int(args, "replicas", 1, BF_SIM_REPLICAS_MAX, 0, &wish->replicas,
				err);
	}
	wish->is_single = bf_args_has(args, "single-document");
	wish->wants_trace = bf_args_has(args, "trace");
	return status;
}

/* ---- running ----------------------------------------------------------------------------------- */

static void add_counts(struct bf_sim_counts *sum, const struct bf_sim_counts *one)
{
	sum->virtual_us += one->virtual_us;
	sum->events += one->events;
	sum->store_calls += one->store_calls;
	sum->runs_scheduled += one->runs_scheduled;
	sum->runs_asked_for += one->runs_asked_for;
	sum->gaps += one->gaps;
	sum->session_calls += one->session_calls;
	sum->turn_calls += one->turn_calls;
	sum->takeovers += one->takeovers;
	sum->retries += one->retries;
	sum->crashes += one->crashes;
	sum->crashes_in_commit += one->crashes_in_commit;
	sum->freezes += one->freezes;
	sum->stops += one->stops;
	sum->outages += one->outages;
	sum->lost_acks += one->lost_acks;
	sum->late_acks += one->late_acks;
	sum->refused += one->refused;
	sum->clock_steps += one->clock_steps;
	sum->puts += one->puts;
	sum->removes += one->removes;
	sum->interleaved += one->interleaved;
}

static enum belfry_status note_failure(struct outcome *outcome, struct bf_sim *sim, uint64_t seed,
		struct belfry_error *err)
{
	json_t *entry = json_pack("{s:I,s:s}", "seed", (json_int_t)seed, "invariant",
			bf_sim_invariant(sim));

	if (outcome->failed_count++ == 0) {
		bf_buf_append_text(&outcome->first_failure, bf_sim_failure(sim));
	}
	if (json_array_append_new(outcome->failed, entry) != 0 ||
			bf_buf_status(&outcome->first_failure) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

static enum belfry_status run_world(struct bf_cli *cli, const struct wish *wish,
		struct belfry_zones *zones, uint64_t seed, struct outcome *outcome,
		struct belfry_error *err)
{
	struct bf_sim_config config = bf_sim_world_config(seed, zones, wish->is_single);
	enum belfry_status status = BELFRY_OK;
	struct bf_sim *sim;

	config.replicas = (unsigned)wish->replicas;
	config.trace = wish->wants_trace ? cli->err : NULL;
	bf_sim_new(&config, &sim);
	bf_sim_run_world(sim, wish->hours * BELFRY_HOUR);
	add_counts(&outcome->counts, bf_sim_counts(sim));
	if (bf_sim_invariant(sim) != NULL) {
		status = note_failure(outcome, sim, seed, err);
	}
	bf_sim_free(sim);
	return status;
}

static void show_progress(struct bf_cli *cli, const struct wish *wish, int64_t done)
{
	if (cli->is_err_terminal && !wish->wants_trace) {
		(void)fprintf(cli->err, "\rworld %lld of %lld%s", (long long)done,
				(long long)wish->seeds, done == wish->seeds ? "\r\033[K" : "");
		(void)fflush(cli->err);
	}
}

/* ---- printing ---------------------------------------------------------------------------------- */

struct line {
	const char *label;
	const char *key;
	uint64_t value;
};

#define LINES 20

static void fill_lines(const struct bf_sim_counts *c, struct line lines[LINES])
{
	const struct line all[LINES] = {
			{"Runs of due times", "runs_scheduled", c->runs_scheduled},
			{"Runs asked for", "runs_asked_for", c->runs_asked_for},
			{"ledger rows", "gaps", c->gaps},
			{"start_session calls", "session_calls", c->session_calls},
			{"admit_turn calls", "turn_calls", c->turn_calls},
			{"retries", "retries", c->retries},
			{"takeovers", "takeovers", c->takeovers},
			{"saves of deployments", "puts", c->puts},
			{"removals", "removes", c->removes},
			{"crashes", "crashes", c->crashes},
			{"  inside a commit", "crashes_in_commit", c->crashes_in_commit},
			{"clean stops", "stops", c->stops},
			{"processes frozen", "freezes", c->freezes},
			{"store outages", "outages", c->outages},
			{"calls refused", "refused", c->refused},
			{"answers lost", "lost_acks", c->lost_acks},
			{"answers late", "late_acks", c->late_acks},
			{"clock steps", "clock_steps", c->clock_steps},
			{"store calls", "store_calls", c->store_calls},
			{"events", "events", c->events},
	};

	memcpy(lines, all, sizeof(all));
}

static double virtual_days(const struct outcome *outcome)
{
	return (double)outcome->counts.virtual_us / (double)BELFRY_DAY;
}

static void print_table(struct bf_cli *cli, const struct wish *wish, const struct outcome *outcome)
{
	struct line lines[LINES];

	fill_lines(&outcome->counts, lines);
	(void)fprintf(cli->out, "%-22s %12lld (from seed %lld%s)\n", "worlds",
			(long long)wish->seeds, (long long)wish->seed,
			wish->is_single ? ", single documents" : "");
	(void)fprintf(cli->out, "%-22s %12.1f\n", "virtual days", virtual_days(outcome));
	for (size_t i = 0; i < LINES; i++) {
		(void)fprintf(cli->out, "%-22s %12llu\n", lines[i].label,
				(unsigned long long)lines[i].value);
	}
	if (outcome->failed_count == 0) {
		(void)fprintf(cli->out, "every invariant held\n");
		return;
	}
	(void)fprintf(cli->out,
			"an invariant did not hold in %lld of %lld worlds; the first:\n\n%.*s",
			(long long)outcome->failed_count, (long long)wish->seeds,
			BF_STR_ARGS(bf_buf_str(&outcome->first_failure)));
}

static enum belfry_status put_json(struct bf_cli *cli, const struct wish *wish,
		const struct outcome *outcome, struct belfry_error *err)
{
	struct line lines[LINES];
	BF_CLEANUP(bf_cleanup_json)
	json_t *answer = json_pack("{s:I,s:I,s:b,s:f,s:O}", "seed", (json_int_t)wish->seed,
			"worlds", (json_int_t)wish->seeds, "single_document", wish->is_single,
			"virtual_days", virtual_days(outcome), "failed", outcome->failed);

	fill_lines(&outcome->counts, lines);
	for (size_t i = 0; i < LINES && answer != NULL; i++) {
		if (json_object_set_new(answer, lines[i].key,
				    json_integer((json_int_t)lines[i].value)) != 0) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
	}
	return bf_cli_put_json(cli, answer, err);
}

/* ---- the command ------------------------------------------------------------------------------- */

static enum belfry_status run_worlds(struct bf_cli *cli, const struct wish *wish,
		struct outcome *outcome, struct belfry_error *err)
{
	struct belfry_zones *zones = NULL;
	enum belfry_status status = bf_cli_zones(cli, &zones, err);

	for (int64_t i = 0; status == BELFRY_OK && i < wish->seeds; i++) {
		show_progress(cli, wish, i + 1);
		status = run_world(cli, wish, zones, (uint64_t)(wish->seed + i), outcome, err);
	}
	return status;
}

static enum belfry_status run_simulate(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	struct wish wish = {0};
	struct outcome outcome = {.failed = json_array()};
	enum belfry_status status = outcome.failed != NULL
			? read_wish(args, &wish, err)
			: bf_error_set(err, BELFRY_NOMEM, "out of memory");

	if (status == BELFRY_OK) {
		status = run_worlds(cli, &wish, &outcome, err);
	}
	if (status == BELFRY_OK && cli->is_json) {
		status = put_json(cli, &wish, &outcome, err);
	} else if (status == BELFRY_OK) {
		print_table(cli, &wish, &outcome);
	}
	if (status == BELFRY_OK && outcome.failed_count > 0) {
		cli->exit_status = 1;
	}
	json_decref(outcome.failed);
	bf_buf_fini(&outcome.first_failure);
	return status;
}

static const struct bf_option simulate_options[] = {
		{.name = "seed",
				.argument = "N",
				.help = "The first world; alone it is the only one (1)"},
		{.name = "seeds",
				.argument = "COUNT",
				.help = "How many worlds, one after another (20)"},
		{.name = "hours",
				.argument = "H",
				.help = "Virtual hours with faults, each world (48)"},
		{.name = "replicas", .argument = "N", .help = "Processes, 1 to 8 (3)"},
		{.name = "single-document", .help = "A store in which each document commits alone"},
		{.name = "trace", .help = "Print what happens, line by line, to standard error"},
		{.name = NULL},
};

const struct bf_command bf_command_simulate = {
		.path = "simulate",
		.synopsis = "[--seed N] [--seeds COUNT] [--hours H] [--replicas N] [--single-document]",
		.summary = "Try the engine in worlds of faults, in virtual time; needs no server",
		.details = "Crashes, lost answers, stopped processes, outages and stepped clocks come by the seed.\n"
			   "After every step the promises are checked; the same seed gives the same world.\n"
			   "Exit status 1: one did not hold; its seed and the last events are printed.",
		.example = "belfry simulate --seeds 100\n"
			   "belfry simulate --seed 42 --single-document --trace",
		.options = simulate_options,
		.run = run_simulate,
};

/* The expensive invariants, after the quiet period: the ledger and the Runs against what the rules say,
 * computed here anew from the revisions that the store took and from the incarnations' coverage. */
#include "sim/sim_priv.h"

/* A stretch that the clock was set back over is decided twice, perhaps by another revision. */
bool sim_in_zone(const struct bf_sim *sim, belfry_time at)
{
	for (size_t i = 0; i < sim->zone_count; i++) {
		if (at >= sim->zones[i].from && at <= sim->zones[i].to) {
			return true;
		}
	}
	return false;
}

/* What one deployment has in the store at the end. */
struct ledger {
	struct sim_deployment *deployment;
	struct belfry_gap *gaps;
	size_t gap_count;
	const struct belfry_schedule_row *row; /* NULL: none */
};

/* ---- coverage ---------------------------------------------------------------------------------- */

static void read_incarnations(struct bf_sim *sim)
{
	struct belfry_list list = {.kind = BELFRY_LIST_INCARNATIONS, .from = INT64_MIN / 2};

	belfry_arena_reset(&sim->outer);
	sim_read(sim, &list, &sim->outer);
	for (size_t i = 0; i < list.count; i++) {
		struct sim_incarnation *seen = sim_incarnation_see(sim, list.incarnations[i].id);
		seen->covers_from = list.incarnations[i].covers_from;
		seen->covered_until = list.incarnations[i].covered_until;
	}
}

static bool is_covered(const struct bf_sim *sim, belfry_time at)
{
	for (const struct sim_incarnation *i = sim->incarnations; i != NULL; i = i->hh.next) {
		if (i->covers_from != 0 && at >= i->covers_from && at <= i->covered_until) {
			return true;
		}
	}
	return false;
}

/* How long nobody had covered `due` when somebody could decide it: at `decided`, or once an incarnation
 * covered again. */
static belfry_duration uncovered_age(const struct bf_sim *sim, belfry_time due, belfry_time decided)
{
	belfry_time end = decided;

	for (const struct sim_incarnation *i = sim->incarnations; i != NULL; i = i->hh.next) {
		bool is_later = i->covers_from > due && i->covered_until >= i->covers_from;
		end = is_later ? BF_MIN(end, i->covers_from) : end;
	}
	return end - due;
}

/* ---- one due time ------------------------------------------------------------------------------ */

static const struct belfry_gap *find_gap(const struct ledger *ledger, belfry_time at,
		size_t *ret_count)
{
	const struct belfry_gap *found = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < ledger->gap_count; i++) {
		if (at >= ledger->gaps[i].from && at <= ledger->gaps[i].to) {
			found = &ledger->gaps[i];
			++*ret_count;
		}
	}
	return found;
}

static void fail_due(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time due, const char *invariant,
		const char *what)
{
	char text[BF_TIME_TEXT_BYTES];

	bf_time_format(due, 0, text);
	sim_fail(sim, invariant, "%s revision %lld (%s in %s), due %s: %s", ledger->deployment->id,
			(long long)revision->number, revision->rule, revision->zone, text, what);
}

static void check_missed(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time due, const struct belfry_gap *gap)
{
	const struct belfry_policies *policies = &revision->policies;
	belfry_duration reach = BF_MAX(policies->late_limit, policies->grace);
	bool covered = is_covered(sim, due);
	bool is_in_grace = !covered && gap->written_at - due <= reach &&
			uncovered_age(sim, due, gap->written_at) <= policies->grace;

	if (gap->reason == BELFRY_GAP_MISSED && is_in_grace) {
		fail_due(sim, ledger, revision, due, "grace fires what was missed shortly",
				"the ledger has it as missed");
	} else if (gap->reason == BELFRY_GAP_MISSED && covered) {
		fail_due(sim, ledger, revision, due, "what is covered is not missed",
				"the ledger says that no process covered it");
	} else if (gap->reason == BELFRY_GAP_LATE &&
			(!covered || gap->written_at - due <= policies->late_limit)) {
		fail_due(sim, ledger, revision, due, "late means later than late_limit",
				covered ? "it was not late" : "nobody covered it");
	} else if (gap->reason != BELFRY_GAP_MISSED && gap->reason != BELFRY_GAP_LATE) {
		fail_due(sim, ledger, revision, due, "the ledger gives the reason",
				belfry_gap_reason_text((enum belfry_gap_reason)gap->reason));
	}
}

static void check_fired(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time due, const struct sim_run *run)
{
	const struct belfry_policies *policies = &revision->policies;
	belfry_duration age = run->decided_at - due;

	if (run->revision != revision->number) {
		fail_due(sim, ledger, revision, due, "a due time belongs to one revision",
				"its Run carries another one");
	}
	if (run->decided_at == 0) {
		return;
	}
	if (is_covered(sim, due) ? age > BF_MAX(policies->late_limit, policies->grace)
				 : uncovered_age(sim, due, run->decided_at) > policies->grace) {
		fail_due(sim, ledger, revision, due, "missed: skip", "it was fired too late");
	}
}

/* ---- max_fires --------------------------------------------------------------------------------- */

/* What has counted since the deployment was made anew, up to a revision: and how much of it is its own. */
struct fires {
	int64_t all;
	int64_t own;
	belfry_time last;
};

static struct fires count_fires(struct bf_sim *sim, const struct ledger *ledger, int64_t number)
{
	struct fires fires = {0};
	int64_t first = 1;

	/* A removal may have the number of the put before it, and takes that along. */
	for (size_t i = 0; i < ledger->deployment->revision_count; i++) {
		const struct sim_revision *removal = ledger->deployment->revisions[i];
		bool is_before = removal->is_remove && removal->is_effective &&
				removal->number < number;
		first = is_before ? removal->number + 1 : first;
	}
	for (const struct sim_run *run = sim->runs; run != NULL; run = run->hh.next) {
		bool counts = run->deployment == ledger->deployment &&
				run->trigger == BELFRY_TRIGGER_SCHEDULE && run->revision >= first &&
				run->revision <= number;
		fires.all += counts ? 1 : 0;
		fires.own += counts && run->revision == number ? 1 : 0;
		fires.last = counts ? BF_MAX(fires.last, run->due_at) : fires.last;
	}
	return fires;
}

static void check_fires(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision)
{
	uint32_t max = revision->compiled != NULL ? belfry_rule_max_fires(revision->compiled) : 0;
	struct fires fires = {0};

	if (max != 0) {
		fires = count_fires(sim, ledger, revision->number);
	}
	if (max != 0 && fires.own > 0 && fires.all > max) {
		sim_fail(sim, "a rule fires no more often than max_fires allows",
				"%s revision %lld: %lld Runs, %u are allowed",
				ledger->deployment->id, (long long)revision->number,
				(long long)fires.all, max);
	}
}

/* Behind the last allowed firing nothing is due any more. */
static bool is_behind_the_last(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time due)
{
	uint32_t max = belfry_rule_max_fires(revision->compiled);
	struct fires fires = {0};

	if (max != 0) {
		fires = count_fires(sim, ledger, revision->number);
	}
	return max != 0 && fires.all >= max && due > fires.last;
}

/* ---- two databases ----------------------------------------------------------------------------- */

/* Each local time that the rule names fires once, whichever database said when, or is in the ledger. */
static void check_local(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time end)
{
	belfry_time due = revision->begin +
			3 * BELFRY_HOUR; /* near its ends another revision may have it */

	while (sim->invariant == NULL &&
			belfry_rule_next(revision->compiled, due, &due) == BELFRY_OK &&
			due <= end - 3 * BELFRY_HOUR) {
		size_t runs = 0;
		size_t gaps = 0;
		for (int hours = 0; hours <= 1; hours++) {
			struct belfry_id id;
			size_t count;
			belfry_time instant = due - hours * BELFRY_HOUR;
			BF_ASSERT(belfry_run_id(bf_str(ledger->deployment->id), instant, &id) ==
					BELFRY_OK);
			runs += sim_run_find(sim, id) != NULL ? 1 : 0;
			(void)find_gap(ledger, instant, &count);
			gaps += count;
		}
		if (runs > 1) {
			fail_due(sim, ledger, revision, due, "a local time fires once",
					"two Runs, an hour apart");
		} else if (runs + gaps == 0) {
			fail_due(sim, ledger, revision, due, "each local time is decided",
					"neither a Run nor a ledger row");
		}
	}
}

/* ---- one due time, and all of them -------------------------------------------------------------- */

static void check_due(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time due)
{
	struct belfry_id id;
	size_t gap_count;
	const struct belfry_gap *gap = find_gap(ledger, due, &gap_count);

	BF_ASSERT(belfry_run_id(bf_str(ledger->deployment->id), due, &id) == BELFRY_OK);
	const struct sim_run *run = sim_run_find(sim, id);
	if (run == NULL && gap_count == 0 && is_behind_the_last(sim, ledger, revision, due)) {
		return;
	}
	if ((run != NULL) + gap_count != 1) {
		fail_due(sim, ledger, revision, due, "each due time has a Run or one ledger row",
				run != NULL                     ? "it has both"
						: gap_count > 1 ? "it has several rows"
								: "it has neither");
	} else if (run != NULL) {
		check_fired(sim, ledger, revision, due, run);
	} else {
		check_missed(sim, ledger, revision, due, gap);
	}
}

/* ---- one revision ------------------------------------------------------------------------------ */

static void check_active(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time end)
{
	belfry_time due = revision->begin;

	while (sim->invariant == NULL &&
			belfry_rule_next(revision->compiled, due, &due) == BELFRY_OK &&
			due <= end) {
		if (!sim_in_zone(sim, due)) {
			check_due(sim, ledger, revision, due);
		}
	}
}

static void check_stopped(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time end)
{
	struct belfry_id id;
	belfry_time due = revision->begin;

	while (sim->invariant == NULL && !revision->is_remove &&
			belfry_rule_next(revision->compiled, due, &due) == BELFRY_OK &&
			due <= end) {
		BF_ASSERT(belfry_run_id(bf_str(ledger->deployment->id), due, &id) == BELFRY_OK);
		if (!sim_in_zone(sim, due) && sim_run_find(sim, id) != NULL) {
			fail_due(sim, ledger, revision, due, "nothing fires while disabled",
					"a Run");
		}
	}
}

static void check_revision(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *revision, belfry_time end)
{
	bool is_active = !revision->is_remove && (revision->flags & BELFRY_SCHEDULE_F_ENABLED) != 0;

	check_fires(sim, ledger, revision);
	if (sim->config.newer_zones != NULL) {
		if (is_active) {
			check_local(sim, ledger, revision, end);
		}
	} else if (!is_active) {
		check_stopped(sim, ledger, revision, end);
	} else {
		check_active(sim, ledger, revision, end);
	}
}

/* ---- one deployment ---------------------------------------------------------------------------- */

static void check_counts(struct bf_sim *sim, const struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->gap_count; i++) {
		const struct belfry_gap *gap = &ledger->gaps[i];
		struct sim_revision *revision = sim_revision_find(ledger->deployment,
				gap->revision);
		belfry_time due = gap->from - 1;
		int64_t count = 0;
		if (revision == NULL || revision->compiled == NULL || gap->is_at_least ||
				sim_in_zone(sim, gap->from) || sim_in_zone(sim, gap->to)) {
			continue;
		}
		while (belfry_rule_next(revision->compiled, due, &due) == BELFRY_OK &&
				due <= gap->to) {
			count++;
		}
		if (count != gap->count) {
			sim_fail(sim, "a ledger row counts its due times",
					"%s revision %lld: %lld, the rule says %lld",
					ledger->deployment->id, (long long)gap->revision,
					(long long)gap->count, (long long)count);
		}
	}
}

/* What the host asked for last is what the store has, and its cursor lies ahead. */
static void check_state(struct bf_sim *sim, const struct ledger *ledger,
		const struct sim_revision *last)
{
	const struct belfry_schedule_row *row = ledger->row;
	bool is_there = row != NULL && !row->is_removed;

	if (!last->is_answered) {
		sim_fail(sim, "every request is answered in the end", "%s revision %lld",
				ledger->deployment->id, (long long)last->number);
	}
	if (is_there == last->is_remove || (is_there && row->revision != last->number)) {
		sim_fail(sim, "the store has what was acknowledged last",
				"%s revision %lld: it has %lld", ledger->deployment->id,
				(long long)last->number, is_there ? (long long)row->revision : 0);
	}
	if (is_there && row->cursor < sim_wall(sim) - 4 * sim->config.beat) {
		sim_fail(sim, "what is due is decided", "%s stands still", ledger->deployment->id);
	}
}

static void check_deployment(struct bf_sim *sim, struct sim_deployment *deployment)
{
	struct belfry_str id = bf_str(deployment->id);
	struct belfry_list rows = {.kind = BELFRY_LIST_SCHEDULES, .ids = &id, .id_count = 1};
	struct ledger ledger = {.deployment = deployment};
	const struct sim_revision *before = NULL;

	belfry_arena_reset(&sim->outer);
	sim_read(sim, &rows, &sim->outer);
	ledger.row = rows.count > 0 ? &rows.rows[0] : NULL;
	bf_sim_list_gaps(sim, deployment->id, &sim->outer, &ledger.gaps, &ledger.gap_count);
	check_state(sim, &ledger, deployment->revisions[deployment->revision_count - 1]);
	if (sim->config.newer_zones == NULL) {
		check_counts(sim, &ledger);
	}
	for (size_t i = 0; i < deployment->revision_count; i++) {
		const struct sim_revision *revision = deployment->revisions[i];
		if (!revision->is_effective) {
			continue;
		}
		if (before != NULL) {
			check_revision(sim, &ledger, before, revision->begin);
		}
		before = revision;
	}
	if (before != NULL && ledger.row != NULL) {
		belfry_time now = sim_wall(sim) - BELFRY_SECOND;
		check_revision(sim, &ledger, before,
				ledger.row->cursor != BELFRY_TIME_NEVER
						? BF_MIN(ledger.row->cursor - 1, now)
						: now);
	}
}

/* ---- everything -------------------------------------------------------------------------------- */

/* Runs that are older than the quiet hours have ended; one that waits for a time which the clock was set
 * back from waits still. */
static void check_ends(struct bf_sim *sim, int64_t quiet_since)
{
	for (struct bf_link *link = sim->open.first; link != NULL; link = link->next) {
		const struct sim_run *run = BF_CONTAINER(link, struct sim_run, open);
		bool waits = sim->zone_count > 0 && run->ready_at > sim_wall(sim);
		if (run->made < quiet_since && !waits) {
			sim_fail(sim, "every Run ends", "Run %s of %s is %s, held by %s",
					sim_short_id(run->id).text, run->deployment->id,
					belfry_run_state_name(run->state),
					sim_short_id(run->holder).text);
		}
	}
}

bool sim_places_agree(struct sim_process *process, bool *ret_is_comparable)
{
	const struct sim_machine *planner = &process->machines[SIM_PLANNER];
	const struct sim_machine *dispatcher = &process->machines[SIM_DISPATCHER];
	uint32_t in_hand = bf_planner_counts(process->planner)->places;
	uint32_t granted = bf_dispatcher_counts(process->dispatcher)->granted;
	uint32_t held = bf_dispatcher_counts(process->dispatcher)->held;

	*ret_is_comparable = !process->is_frozen && process->stop == SIM_STOP_NO &&
			process->has_cover && !planner->order.is_open &&
			!dispatcher->order.is_open && planner->inbox.count == 0 &&
			dispatcher->inbox.count == 0;
	return !*ret_is_comparable ||
			(in_hand == granted &&
					held + granted <= process->sim->config.max_runs + 500);
}

void sim_final_check(struct bf_sim *sim, int64_t quiet_since)
{
	sim_runs_sweep(sim);
	read_incarnations(sim);
	check_ends(sim, quiet_since);
	for (size_t i = 0; i < sim->deployment_count && sim->invariant == NULL; i++) {
		check_deployment(sim, sim->deployments[i]);
	}
}

/* The observing table over the memory store: carries each call on, then looks at what it changed, with
 * the eyes of the invariants. Sabotage happens here too, between what was asked and what is done, so
 * that the machines are as innocent as with a broken database. */
#include "sim/sim_priv.h"

#include "store/memory/memory.h"

struct watched {
	struct belfry_store base; /* first */
	struct bf_sim *sim;
	struct belfry_store *inner;
};

static struct watched *watched_of(struct belfry_store *store)
{
	return (struct watched *)(void *)store;
}

void sim_read(struct bf_sim *sim, struct belfry_list *list, struct belfry_arena *arena)
{
	struct belfry_error err;

	list->size = sizeof(*list);
	list->limit = list->limit != 0 ? list->limit : 1000000;
	BF_ASSERT(sim->database->ops->list(sim->database, list, arena, &err) == BELFRY_OK);
}

static bool has_sabotage(const struct bf_sim *sim, enum bf_sim_sabotage kind)
{
	return sim->config.sabotage == kind;
}

/* ---- beats ------------------------------------------------------------------------------------- */

static void see_living(struct bf_sim *sim, const struct belfry_beat *beat)
{
	for (size_t i = 0; i < beat->living_count; i++) {
		const struct belfry_incarnation *row = &beat->living[i];
		struct sim_incarnation *seen = sim_incarnation_see(sim, row->id);
		seen->covers_from = row->covers_from;
		seen->covered_until = row->covered_until;
	}
}

static enum belfry_status watch_beat(struct belfry_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct watched *watched = watched_of(store);
	struct bf_sim *sim = watched->sim;

	if (has_sabotage(sim, BF_SIM_SABOTAGE_LOW_MARK) && beat->kind == BELFRY_BEAT_RENEW) {
		memset(beat->low.bytes, 0xff, sizeof(beat->low.bytes));
	}
	enum belfry_status status = watched->inner->ops->beat(watched->inner, beat, arena, err);
	if (status == BELFRY_OK && beat->kind == BELFRY_BEAT_RENEW) {
		struct sim_incarnation *own = sim_incarnation_see(sim, beat->incarnation);
		own->low = beat->low;
		see_living(sim, beat);
		sim_runs_check_low(sim, own);
	}
	if (status == BELFRY_OK && beat->kind == BELFRY_BEAT_END) {
		sim_incarnation_see(sim, beat->incarnation)->covered_until = beat->now;
	}
	if (status == BELFRY_OK && beat->kind == BELFRY_BEAT_DEAD) {
		sim_trace(sim, "incarnation %s is declared dead",
				sim_short_id(beat->incarnation).text);
	}
	return status;
}

/* ---- advance ----------------------------------------------------------------------------------- */

/* The item's own numbers are written where it took place, whatever became of the call after it. */
static void see_item(struct bf_sim *sim, const struct belfry_advance *advance,
		const struct belfry_advance_item *item)
{
	struct sim_deployment *deployment = sim_deployment_find(sim, item->schedule);
	int64_t number = item->put != NULL ? item->put->revision : item->remove_revision;
	bool is_whole = item->put != NULL || (item->flags & BELFRY_ADVANCE_F_REMOVE) != 0;

	if (deployment == NULL || item->version == 0) {
		return;
	}
	sim->counts.gaps += item->gap_count;
	struct sim_revision *revision = !is_whole ? NULL
			: item->put != NULL       ? sim_revision_find(deployment, number)
						  : sim_removal_find(deployment, number);
	if (revision != NULL) {
		if (revision->is_effective) {
			sim_fail(sim, "a revision is taken once", "%s revision %lld",
					deployment->id, (long long)number);
		}
		revision->is_effective = true;
		revision->begin = item->decided_at;
		sim_trace(sim, "%s: revision %lld is stored%s", deployment->id, (long long)number,
				revision->is_remove ? " (removed)"
						: (revision->flags & BELFRY_SCHEDULE_F_ENABLED) != 0
						? ""
						: " (disabled)");
	}
	for (size_t i = 0; i < item->run_count; i++) {
		const struct belfry_new_run *run = &item->runs[i];
		if (run->due_at > sim_wall(sim)) {
			sim_fail(sim, "no Run before its due time", "%s: due %lld", deployment->id,
					(long long)run->due_at);
		}
		sim_runs_look(sim, &run->id, 1);
		struct sim_run *seen = sim_run_find(sim, run->id);
		if (seen != NULL && seen->decided_at == 0) {
			seen->decided_at = item->decided_at;
			seen->is_born = run->state == BELFRY_RUN_DISPATCHING &&
					seen->state == BELFRY_RUN_DISPATCHING &&
					seen->fence == advance->fence &&
					bf_id_compare(seen->holder, advance->holder) == 0;
			seen->born_to = advance->holder;
		}
	}
}

/* The Runs that this step may have ended: known as open, and of its schedule. */
static void see_ended(struct bf_sim *sim, const struct belfry_advance_item *item)
{
	struct bf_link *next;

	if ((item->flags & BELFRY_ADVANCE_F_END_UNSTARTED) == 0) {
		return;
	}
	for (struct bf_link *link = sim->open.first; link != NULL; link = next) {
		next = link->next;
		struct sim_run *run = BF_CONTAINER(link, struct sim_run, open);
		if (bf_str_equal(bf_str(run->deployment->id), item->schedule)) {
			sim_runs_look(sim, &run->id, 1);
		}
	}
}

static void check_born_low(struct bf_sim *sim, const struct belfry_advance *advance)
{
	if (!bf_id_is_zero(advance->holder)) {
		sim_runs_check_low(sim, sim_incarnation_see(sim, advance->holder));
	}
}

/* A second Run for a due time: as if uniqueness rested on a read. */
static void duplicate(struct watched *watched, const struct belfry_advance_item *item)
{
	struct bf_sim *sim = watched->sim;
	struct belfry_error err;

	for (size_t i = 0; i < item->run_count; i++) {
		struct belfry_add add = {.schedule = item->schedule,
				.id = item->runs[i].id,
				.trigger = BELFRY_TRIGGER_SCHEDULE,
				.due_at = item->runs[i].due_at};
		add.id.bytes[15] ^= 1;
		if (sim_chance(sim, 2000)) {
			(void)watched->inner->ops->add_runs(watched->inner, &add, 1, &err);
			sim_runs_look(sim, &add.id, 1);
		}
	}
}

static void sabotage_items(struct bf_sim *sim, struct belfry_advance *advance)
{
	for (size_t i = 0; i < advance->item_count; i++) {
		struct belfry_advance_item *item = &advance->items[i];
		if (has_sabotage(sim, BF_SIM_SABOTAGE_LOSE_RUNS) && sim_chance(sim, 500)) {
			item->run_count = 0;
		}
		if (has_sabotage(sim, BF_SIM_SABOTAGE_LOSE_GAPS)) {
			item->gap_count = 0;
		}
		if (has_sabotage(sim, BF_SIM_SABOTAGE_FORGET_LOCAL)) {
			item->decided_due = item->decided_local = item->cursor_local = 0;
		}
		if (has_sabotage(sim, BF_SIM_SABOTAGE_START_DISABLED)) {
			item->flags &= ~BELFRY_ADVANCE_F_END_UNSTARTED;
		}
	}
}

static enum belfry_status watch_advance(struct belfry_store *store, struct belfry_advance *advance,
		struct belfry_error *err)
{
	struct watched *watched = watched_of(store);
	struct bf_sim *sim = watched->sim;

	for (size_t i = 0; i < advance->item_count; i++) {
		advance->items[i].version = 0; /* written where the item takes place */
	}
	sabotage_items(sim, advance);
	sim->is_early = has_sabotage(sim, BF_SIM_SABOTAGE_EARLY);
	enum belfry_status status = watched->inner->ops->advance(watched->inner, advance, err);
	sim->is_early = false;
	for (size_t i = 0; i < advance->item_count; i++) {
		see_item(sim, advance, &advance->items[i]);
		see_ended(sim, &advance->items[i]);
		if (has_sabotage(sim, BF_SIM_SABOTAGE_DUPLICATE)) {
			duplicate(watched, &advance->items[i]);
		}
	}
	check_born_low(sim, advance);
	return status;
}

/* ---- claims and records ------------------------------------------------------------------------ */

/* A takeover that leaves the fence: seen as the old holder's number in new hands. */
static void lower_fences(struct bf_sim *sim, struct belfry_claim *claim)
{
	for (size_t i = 0; i < claim->run_count; i++) {
		const struct sim_run *run = sim_run_find(sim, claim->runs[i].run.id);
		if (run != NULL && run->fence != 0) {
			claim->runs[i].run.fence = run->fence;
		}
	}
}

static enum belfry_status watch_claim(struct belfry_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct watched *watched = watched_of(store);
	struct bf_sim *sim = watched->sim;
	bool is_takeover = claim->kind == BELFRY_CLAIM_TAKEOVER;

	if (is_takeover && has_sabotage(sim, BF_SIM_SABOTAGE_NO_TAKEOVER)) {
		claim->now = sim_wall(sim);
		claim->next_ready = BELFRY_TIME_NEVER;
		claim->is_short = true;
		claim->run_count = 0;
		return BELFRY_OK;
	}
	enum belfry_status status = watched->inner->ops->claim_runs(watched->inner, claim, arena,
			err);
	if (claim->kind != BELFRY_CLAIM_OWNED && claim->runs != NULL) {
		if (is_takeover && has_sabotage(sim, BF_SIM_SABOTAGE_SAME_FENCE)) {
			lower_fences(sim, claim);
		}
		for (size_t i = 0; i < claim->run_count; i++) {
			sim_runs_look(sim, &claim->runs[i].run.id, 1);
		}
	}
	sim->counts.takeovers += is_takeover && status == BELFRY_OK ? claim->run_count : 0;
	return status;
}

static void check_record(struct bf_sim *sim, const struct belfry_record *record,
		belfry_fence fence_before)
{
	bool is_hosts = record->kind == BELFRY_RECORD_CONCLUDED ||
			record->kind == BELFRY_RECORD_CANCELLED_BY_HOST;

	if (record->result == BELFRY_OK && !is_hosts && record->fence != fence_before) {
		sim_fail(sim, "a lower fence writes nothing",
				"Run %s: fence %llu, the Run's is %llu",
				sim_short_id(record->run).text, (unsigned long long)record->fence,
				(unsigned long long)fence_before);
	}
	sim->counts.retries += record->result == BELFRY_OK && record->kind == BELFRY_RECORD_RETRY;
}

/* Stale holders get the present fence: the store no longer looks. */
static void ignore_fence(struct bf_sim *sim, struct belfry_record *record)
{
	const struct sim_run *run = sim_run_find(sim, record->run);

	if (run != NULL) {
		record->fence = run->fence;
	}
}

static enum belfry_status watch_record(struct belfry_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	struct watched *watched = watched_of(store);
	struct bf_sim *sim = watched->sim;
	enum belfry_status status = BELFRY_OK;

	/* One by one, as each commits alone in one of the modes: the answers are the same. */
	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		const struct sim_run *run = sim_run_find(sim, records[i].run);
		belfry_fence before = run != NULL ? run->fence : 0;
		belfry_fence asked = records[i].fence;
		if (has_sabotage(sim, BF_SIM_SABOTAGE_IGNORE_FENCES)) {
			ignore_fence(sim, &records[i]);
		}
		if (has_sabotage(sim, BF_SIM_SABOTAGE_LOSE_SESSION) &&
				records[i].kind == BELFRY_RECORD_SESSION) {
			records[i].result = BELFRY_OK;
			continue;
		}
		records[i].result = BELFRY_STALE;
		status = watched->inner->ops->record(watched->inner, &records[i], 1, err);
		records[i].fence = asked;
		if (status == BELFRY_OK) {
			check_record(sim, &records[i], before);
		}
		sim_runs_look(sim, &records[i].run, 1);
	}
	return status;
}

/* ---- the rest ---------------------------------------------------------------------------------- */

static enum belfry_status watch_add(struct belfry_store *store, struct belfry_add *adds,
		size_t count, struct belfry_error *err)
{
	struct watched *watched = watched_of(store);
	enum belfry_status status = watched->inner->ops->add_runs(watched->inner, adds, count, err);

	for (size_t i = 0; i < count; i++) {
		sim_runs_look(watched->sim, &adds[i].id, 1);
	}
	return status;
}

static enum belfry_status watch_list(struct belfry_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct watched *watched = watched_of(store);
	struct bf_sim *sim = watched->sim;

	sim->is_early = has_sabotage(sim, BF_SIM_SABOTAGE_EARLY) &&
			(list->kind == BELFRY_LIST_DUE || list->kind == BELFRY_LIST_SCHEDULES);
	enum belfry_status status = watched->inner->ops->list(watched->inner, list, arena, err);
	sim->is_early = false;
	if (status == BELFRY_OK && list->kind == BELFRY_LIST_DUE &&
			has_sabotage(sim, BF_SIM_SABOTAGE_FORGET_COUNT)) {
		for (size_t i = 0; i < list->count; i++) {
			list->rows[i].fired_count = 0;
		}
	}
	return status;
}

static enum belfry_status watch_time(struct belfry_store *store, belfry_time *ret_now,
		struct belfry_error *err)
{
	return watched_of(store)->inner->ops->time(watched_of(store)->inner, ret_now, err);
}

static enum belfry_status watch_prune(struct belfry_store *store, struct belfry_prune *prune,
		struct belfry_error *err)
{
	struct watched *watched = watched_of(store);

	/* Nothing is old enough in a world of days: one pass of many is made, for its writes. */
	if (watched->sim->counts.store_calls % 64 != 0) {
		prune->removed = 0;
		prune->is_done = true;
		return BELFRY_OK;
	}
	return watched->inner->ops->prune(watched->inner, prune, err);
}

static enum belfry_status watch_migrate(struct belfry_store *store, struct belfry_error *err)
{
	return watched_of(store)->inner->ops->migrate(watched_of(store)->inner, err);
}

static enum belfry_status refuse_open(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	(void)options;
	(void)ret_store;
	(void)err;
	return BELFRY_CONFIGURATION;
}

static void close_watched(struct belfry_store *store)
{
	if (store != NULL) {
		struct watched *watched = watched_of(store);
		watched->inner->ops->close(watched->inner);
		bf_free(watched);
	}
}

#define METHODS                                                                                    \
	.seams_abi = BELFRY_SEAMS_ABI, .size = sizeof(struct belfry_store_ops),                    \
	.open = refuse_open, .migrate = watch_migrate, .close = close_watched, .time = watch_time, \
	.beat = watch_beat, .advance = watch_advance, .add_runs = watch_add,                       \
	.claim_runs = watch_claim, .record = watch_record, .prune = watch_prune,                   \
	.list = watch_list

static const struct belfry_store_ops watched_ops = {METHODS, .name = "watched"};
static const struct belfry_store_ops watched_document_ops = {METHODS, .name = "watched-document",
		.caps = BELFRY_STORE_CAP_SINGLE_DOCUMENT};

void sim_store_new(struct bf_sim *sim, struct belfry_store **ret_store)
{
	struct watched *watched = sim_alloc(sizeof(*watched));

	watched->base.ops = sim->config.single_document ? &watched_document_ops : &watched_ops;
	watched->sim = sim;
	BF_ASSERT(bf_memory_store_share(sim->database, &watched->inner) == BELFRY_OK);
	*ret_store = &watched->base;
}

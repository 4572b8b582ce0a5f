/* The keeper's loop: beats, observations of others, and what ends an incarnation. */
#include "engine/keeper.h"

#include "base/assert.h"
#include "base/grow.h"
#include "base/sm.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "engine/jitter.h"
#include "model/run.h"

#define INITIAL     BF_SM_INITIAL
#define FINAL       BF_SM_FINAL
#define NEXT(state) (UINT64_C(1) << BF_KEEPER_##state)

enum bf_keeper_state {
#define BF_KEEPER_STATE(name, text, flags, next) BF_KEEPER_##name,
#include "engine/keeper_state.def"
#undef BF_KEEPER_STATE
	BF_KEEPER_STATE_COUNT
};

static const struct bf_sm_state keeper_states[] = {
#define BF_KEEPER_STATE(name, text, flags, next) {text, flags, next},
#include "engine/keeper_state.def"
#undef BF_KEEPER_STATE
};

static const struct bf_sm_table keeper_table = {"keeper", keeper_states, BF_KEEPER_STATE_COUNT};

#define PRUNE_EVERY  BELFRY_MINUTE
#define PRUNE_PAUSE  (100 * BELFRY_MILLISECOND)
#define PRUNE_ROWS   500u
#define BEAT_SOONEST (100 * BELFRY_MILLISECOND)

/* Another incarnation, and since when its beat has been what it is. */
struct observation {
	struct belfry_id id;
	uint64_t beat;
	struct bf_boot_time since;
	bool is_seen; /* by the renewal that is being read */
};

struct bf_keeper {
	struct bf_keeper_config config;
	struct bf_jitter jitter;
	struct bf_jitter id_source[2];
	unsigned state;   /* enum bf_keeper_state */
	bool must_leave;  /* our incarnation is over: say so, begin a new one */
	bool is_row_gone; /* the store knows that it is over */
	bool is_ending;
	bool has_looked_ahead;
	bool is_clock_back;

	struct belfry_id incarnation;
	uint64_t beat_count; /* as last acknowledged */
	struct belfry_id low;
	struct {
		belfry_time store;
		struct bf_boot_time asked;
		struct bf_boot_time heard;
	} acknowledged; /* the store's clock, read between these two of ours; store 0: never */
	struct bf_boot_time sent_at;
	struct bf_boot_time next_beat;
	struct bf_boot_time next_prune;
	struct bf_boot_time not_before;

	struct observation *others;
	size_t other_count;
	size_t other_capacity;
	struct belfry_id judged;
	struct belfry_id *cancelled; /* as the last renewal named them */
	size_t cancelled_capacity;

	struct belfry_beat beat;
	struct belfry_list list;
	struct belfry_prune prune;
	struct belfry_arena arena;
	struct bf_keeper_counts counts;
};

enum belfry_status bf_keeper_new(const struct bf_keeper_config *config,
		struct bf_keeper **ret_keeper)
{
	struct bf_keeper *keeper = bf_alloc(sizeof(*keeper));

	if (keeper == NULL) {
		return BELFRY_NOMEM;
	}
	keeper->config = *config;
	keeper->id_source[0].state = config->seed[0];
	keeper->id_source[1].state = config->seed[1];
	keeper->jitter.state = config->seed[0] ^ config->seed[1];
	*ret_keeper = keeper;
	return BELFRY_OK;
}

void bf_keeper_free(struct bf_keeper *keeper)
{
	if (keeper != NULL) {
		belfry_arena_fini(&keeper->arena);
		bf_free(keeper->others);
		bf_free(keeper->cancelled);
		bf_free(keeper);
	}
}

struct belfry_arena *bf_keeper_arena(struct bf_keeper *keeper)
{
	return &keeper->arena;
}

const struct bf_keeper_counts *bf_keeper_counts(const struct bf_keeper *keeper)
{
	return &keeper->counts;
}

static void move(struct bf_keeper *keeper, enum bf_keeper_state to)
{
	bf_sm_move(&keeper_table, &keeper->state, to, keeper->config.trace, "keeper");
}

/* Version 4 (RFC 9562), from the seeds that the process drew at its start. */
static struct belfry_id new_id(struct bf_keeper *keeper)
{
	struct belfry_id id;
	uint64_t half[2] = {bf_jitter_next(&keeper->id_source[0]),
			bf_jitter_next(&keeper->id_source[1])};

	memcpy(id.bytes, half, sizeof(id.bytes));
	bf_id_put_version(&id, 4);
	return id;
}

/* ---- operations -------------------------------------------------------------------------------- */

static void begin_beat(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		enum belfry_beat_kind kind, struct belfry_id subject, struct bf_boot_time now)
{
	belfry_arena_reset(&keeper->arena);
	keeper->beat = (struct belfry_beat){
			.size = sizeof(keeper->beat),
			.kind = kind,
			.incarnation = subject,
			.length = keeper->config.beat,
			.low = keeper->low,
			.identity = keeper->config.identity,
			.version = keeper->config.version,
			.tz_version = keeper->config.zones != NULL
					? bf_str(belfry_zones_version(keeper->config.zones))
					: BF_STR(""),
	};
	keeper->sent_at = now;
	orders->beat = &keeper->beat;
}

static void begin_register(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		struct bf_boot_time now)
{
	keeper->incarnation = new_id(keeper);
	keeper->beat_count = 0;
	keeper->low = (struct belfry_id){{0}};
	keeper->acknowledged.store = 0;
	keeper->must_leave = false;
	keeper->is_row_gone = false;
	begin_beat(keeper, orders, BELFRY_BEAT_REGISTER, keeper->incarnation, now);
	move(keeper, BF_KEEPER_REGISTERING);
}

static void begin_renew(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		struct bf_boot_time now)
{
	begin_beat(keeper, orders, BELFRY_BEAT_RENEW, keeper->incarnation, now);
	if (keeper->acknowledged.store != 0) {
		belfry_duration half = bf_boot_since(keeper->acknowledged.heard,
						       keeper->acknowledged.asked) /
				2;
		keeper->beat.expect_now = bf_time_add(keeper->acknowledged.store,
				bf_boot_since(now, keeper->acknowledged.asked) - half);
		keeper->beat.tolerance = keeper->config.lease + half;
	}
	move(keeper, BF_KEEPER_RENEWING);
}

static void begin_leave(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		struct bf_boot_time now)
{
	begin_beat(keeper, orders, BELFRY_BEAT_DEAD, keeper->incarnation, now);
	keeper->beat.expect_beat = keeper->beat_count;
	move(keeper, BF_KEEPER_LEAVING);
}

static void begin_judge(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct observation *other, struct bf_boot_time now)
{
	keeper->judged = other->id;
	begin_beat(keeper, orders, BELFRY_BEAT_DEAD, other->id, now);
	keeper->beat.expect_beat = other->beat;
	move(keeper, BF_KEEPER_JUDGING);
}

/* Does anybody cover times that have not come yet? Then the clock was set back while nobody looked. */
static void begin_look_ahead(struct bf_keeper *keeper, struct bf_keeper_orders *orders)
{
	belfry_arena_reset(&keeper->arena);
	keeper->list = (struct belfry_list){
			.size = sizeof(keeper->list),
			.kind = BELFRY_LIST_INCARNATIONS,
			.from = bf_time_add(keeper->acknowledged.store,
					keeper->config.lease + keeper->config.beat),
			.limit = 1000,
	};
	orders->list = &keeper->list;
	move(keeper, BF_KEEPER_LOOKING_AHEAD);
}

static void begin_prune(struct bf_keeper *keeper, struct bf_keeper_orders *orders)
{
	struct belfry_id from = keeper->prune.next;

	keeper->prune = keeper->config.prune;
	keeper->prune.size = sizeof(keeper->prune);
	keeper->prune.max_rows = PRUNE_ROWS;
	keeper->prune.after = from;
	keeper->prune.next = from;
	orders->prune = &keeper->prune;
	move(keeper, BF_KEEPER_PRUNING);
}

/* ---- the others -------------------------------------------------------------------------------- */

static struct observation *find_other(struct bf_keeper *keeper, struct belfry_id id)
{
	for (size_t i = 0; i < keeper->other_count; i++) {
		if (bf_id_compare(keeper->others[i].id, id) == 0) {
			return &keeper->others[i];
		}
	}
	return NULL;
}

static void observe(struct bf_keeper *keeper, const struct belfry_incarnation *other,
		struct bf_boot_time now)
{
	struct observation *seen = find_other(keeper, other->id);

	if (seen == NULL) {
		if (BF_GROW(keeper->others, keeper->other_capacity, keeper->other_count + 1) !=
				BELFRY_OK) {
			return; /* observed from the next renewal on */
		}
		seen = &keeper->others[keeper->other_count++];
		*seen = (struct observation){.id = other->id, .beat = other->beat, .since = now};
	}
	if (seen->beat != other->beat) {
		seen->beat = other->beat;
		seen->since = now;
	}
	seen->is_seen = true;
}

static void observe_all(struct bf_keeper *keeper, struct bf_boot_time now)
{
	size_t kept = 0;

	for (size_t i = 0; i < keeper->other_count; i++) {
		keeper->others[i].is_seen = false;
	}
	for (size_t i = 0; i < keeper->beat.living_count; i++) {
		if (bf_id_compare(keeper->beat.living[i].id, keeper->incarnation) != 0) {
			observe(keeper, &keeper->beat.living[i], now);
		}
	}
	for (size_t i = 0; i < keeper->other_count; i++) {
		if (keeper->others[i].is_seen) {
			keeper->others[kept++] = keeper->others[i];
		}
	}
	keeper->other_count = kept;
}

/* An outage proves nothing about the others: every observation begins anew. */
static void restart_observations(struct bf_keeper *keeper)
{
	keeper->other_count = 0;
}

/* Same beat over a whole lease: from when we heard of it until we asked last. */
static const struct observation *find_dead(const struct bf_keeper *keeper)
{
	for (size_t i = 0; i < keeper->other_count; i++) {
		const struct observation *other = &keeper->others[i];
		if (bf_boot_since(keeper->sent_at, other->since) >= keeper->config.lease) {
			return other;
		}
	}
	return NULL;
}

/* ---- answers ----------------------------------------------------------------------------------- */

static void fail(struct bf_keeper *keeper, struct bf_boot_time now)
{
	restart_observations(keeper);
	keeper->not_before = bf_boot_add(now,
			bf_jitter_between(&keeper->jitter, 100 * BELFRY_MILLISECOND,
					300 * BELFRY_MILLISECOND));
}

static void be_lost(struct bf_keeper *keeper, bool is_row_gone)
{
	keeper->must_leave = true;
	keeper->is_row_gone = keeper->is_row_gone || is_row_gone;
}

static void publish_cover(struct bf_keeper *keeper, struct bf_keeper_orders *orders)
{
	belfry_duration margin = keeper->config.lease / 4;

	for (size_t i = 0; i < keeper->beat.living_count; i++) {
		const struct belfry_incarnation *self = &keeper->beat.living[i];
		if (bf_id_compare(self->id, keeper->incarnation) != 0) {
			continue;
		}
		orders->cover = (struct bf_cover){
				.incarnation = self->id,
				.from = self->covers_from,
				.to = self->covered_until,
				.act_until = bf_boot_add(keeper->sent_at,
						keeper->config.lease - margin),
				.store_now = keeper->beat.now,
				.at = keeper->sent_at,
		};
		orders->has_cover = true;
	}
}

/* A copy: the next operation of this step takes the arena. Without memory the next beat names them. */
static void publish_cancelled(struct bf_keeper *keeper, struct bf_keeper_orders *orders)
{
	size_t count = keeper->beat.cancelled_count;

	if (count == 0 ||
			BF_GROW(keeper->cancelled, keeper->cancelled_capacity, count) !=
					BELFRY_OK) {
		return;
	}
	memcpy(keeper->cancelled, keeper->beat.cancelled, count * sizeof(*keeper->cancelled));
	orders->cancelled = (struct bf_cancelled){
			.runs = keeper->cancelled,
			.run_count = count,
			.at = keeper->beat.now,
			.is_beats = true,
	};
}

static void acknowledge(struct bf_keeper *keeper, struct bf_boot_time now)
{
	keeper->acknowledged.store = keeper->beat.now;
	keeper->acknowledged.asked = keeper->sent_at;
	keeper->acknowledged.heard = now;
}

static void renewed(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct bf_keeper_event *event)
{
	if (bf_boot_since(event->now, keeper->sent_at) > 2 * keeper->config.beat) {
		restart_observations(keeper); /* the answer was so late that it tells little */
	}
	keeper->beat_count = keeper->beat.beat;
	acknowledge(keeper, event->now);
	keeper->next_beat = bf_boot_add(keeper->sent_at, keeper->config.beat);
	keeper->counts.beats++;
	keeper->counts.store_now = keeper->beat.now;
	keeper->counts.last_beat = keeper->sent_at;
	observe_all(keeper, event->now);
	if (!keeper->must_leave) {
		publish_cover(keeper, orders);
		orders->is_clock_back = keeper->is_clock_back;
		keeper->is_clock_back = false;
		publish_cancelled(keeper, orders);
	}
}

/* The store finds its clock far from where our last beat puts it. Each of the two readings was made at
 * some moment between our asking and our hearing: what waiting for the store explains is no step. */
static void judge_clock(struct bf_keeper *keeper, struct bf_boot_time now)
{
	belfry_time store = keeper->acknowledged.store;
	belfry_duration least = bf_boot_since(keeper->sent_at, keeper->acknowledged.heard);
	belfry_duration most = bf_boot_since(now, keeper->acknowledged.asked);
	bool is_back = keeper->beat.now < bf_time_add(store, least - keeper->config.lease);
	bool is_forward = keeper->beat.now > bf_time_add(store, most + keeper->config.lease);

	if (is_back || is_forward) {
		/* What lies between is covered by nobody. */
		keeper->is_clock_back = keeper->is_clock_back || is_back;
		be_lost(keeper, false);
		return;
	}
	acknowledge(keeper, now);
	keeper->next_beat = now;
}

static void renew_answered(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct bf_keeper_event *event)
{
	move(keeper, BF_KEEPER_LIVING);
	if (event->status == BELFRY_OK) {
		renewed(keeper, orders, event);
	} else if (event->status == BELFRY_STALE) {
		be_lost(keeper, true);
	} else if (event->status == BELFRY_CONFLICT) {
		judge_clock(keeper, event->now);
	} else {
		fail(keeper, event->now);
	}
}

static void register_answered(struct bf_keeper *keeper, const struct bf_keeper_event *event)
{
	if (event->status != BELFRY_OK) {
		/* It may be there all the same: it covers nothing, and is judged like any other. */
		fail(keeper, event->now);
		move(keeper, BF_KEEPER_OUT);
		return;
	}
	keeper->counts.incarnation = keeper->incarnation;
	keeper->next_beat = event->now;
	move(keeper, BF_KEEPER_LIVING);
}

static void judge_answered(struct bf_keeper *keeper, const struct bf_keeper_event *event)
{
	struct observation *other = find_other(keeper, keeper->judged);

	move(keeper, BF_KEEPER_LIVING);
	if (event->status == BELFRY_OK) {
		keeper->counts.judged++;
		keeper->next_beat = event->now; /* takeovers begin with the next cover */
	}
	if (other != NULL) {
		other->since = event->now;
	}
	if (event->status != BELFRY_OK && event->status != BELFRY_CONFLICT) {
		fail(keeper, event->now);
	}
}

static void look_answered(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct bf_keeper_event *event)
{
	move(keeper, BF_KEEPER_LIVING);
	if (event->status != BELFRY_OK) {
		fail(keeper, event->now);
		return;
	}
	keeper->has_looked_ahead = true;
	for (size_t i = 0; i < keeper->list.count; i++) {
		bool is_ahead = keeper->list.incarnations[i].covered_until >= keeper->list.from;
		orders->is_clock_back = orders->is_clock_back || is_ahead;
	}
}

static void prune_answered(struct bf_keeper *keeper, const struct bf_keeper_event *event)
{
	move(keeper, BF_KEEPER_LIVING);
	keeper->next_prune = bf_boot_add(event->now, PRUNE_EVERY);
	if (event->status != BELFRY_OK) {
		return;
	}
	keeper->counts.pruned += (int64_t)keeper->prune.removed;
	if (keeper->prune.is_done) {
		keeper->prune.next = (struct belfry_id){{0}};
	} else {
		keeper->next_prune = bf_boot_add(event->now, PRUNE_PAUSE);
	}
}

static void end_answered(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct bf_keeper_event *event)
{
	bool is_over = event->status == BELFRY_OK || event->status == BELFRY_STALE;

	move(keeper, is_over ? BF_KEEPER_ENDED : BF_KEEPER_LIVING);
	orders->is_ended = is_over;
	if (!is_over) {
		fail(keeper, event->now);
	}
}

/* Planner and dispatcher were told when we decided to leave; whatever the store says, it is over. */
static void leave_answered(struct bf_keeper *keeper)
{
	move(keeper, BF_KEEPER_OUT);
}

static void answered(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct bf_keeper_event *event)
{
	if (event->status == BELFRY_OK) {
		keeper->counts.last_step = event->now;
	}
	switch ((enum bf_keeper_state)keeper->state) {
	case BF_KEEPER_REGISTERING: register_answered(keeper, event); break;
	case BF_KEEPER_RENEWING: renew_answered(keeper, orders, event); break;
	case BF_KEEPER_LOOKING_AHEAD: look_answered(keeper, orders, event); break;
	case BF_KEEPER_JUDGING: judge_answered(keeper, event); break;
	case BF_KEEPER_PRUNING: prune_answered(keeper, event); break;
	case BF_KEEPER_LEAVING: leave_answered(keeper); break;
	case BF_KEEPER_ENDING: end_answered(keeper, orders, event); break;
	case BF_KEEPER_OUT:
	case BF_KEEPER_LIVING:
	case BF_KEEPER_ENDED:
	case BF_KEEPER_STATE_COUNT: BF_ASSERT(false); break;
	}
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static void handle_event(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		const struct bf_keeper_event *event)
{
	bool has_incarnation = keeper->state != BF_KEEPER_OUT && keeper->state != BF_KEEPER_ENDED;

	if (event->standstill > keeper->config.lease && has_incarnation) {
		be_lost(keeper, false);
	}
	switch (event->kind) {
	case BF_KEEPER_WAKE: break;
	case BF_KEEPER_BEAT_NOW: {
		struct bf_boot_time soonest = bf_boot_add(keeper->sent_at, BEAT_SOONEST);
		if (soonest.us < keeper->next_beat.us) {
			keeper->next_beat = soonest;
		}
		break;
	}
	case BF_KEEPER_LOW: keeper->low = event->low; break;
	case BF_KEEPER_LOST: keeper->next_beat = event->now; break; /* our own renewal decides */
	case BF_KEEPER_DONE: answered(keeper, orders, event); break;
	case BF_KEEPER_END: keeper->is_ending = true; break;
	}
}

static void leave(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		struct bf_boot_time now)
{
	orders->is_lost = true;
	orders->has_cover = false;
	keeper->counts.lost++;
	restart_observations(keeper);
	if (keeper->is_row_gone) {
		move(keeper, BF_KEEPER_OUT);
	} else {
		begin_leave(keeper, orders, now);
	}
	keeper->must_leave = false;
}

static void live(struct bf_keeper *keeper, struct bf_keeper_orders *orders, struct bf_boot_time now)
{
	const struct observation *dead = find_dead(keeper);

	if (now.us >= keeper->next_beat.us) {
		begin_renew(keeper, orders, now);
	} else if (keeper->is_ending) {
		begin_beat(keeper, orders, BELFRY_BEAT_END, keeper->incarnation, now);
		move(keeper, BF_KEEPER_ENDING);
	} else if (!keeper->has_looked_ahead && keeper->acknowledged.store != 0) {
		begin_look_ahead(keeper, orders);
	} else if (dead != NULL) {
		begin_judge(keeper, orders, dead, now);
	} else if (now.us >= keeper->next_prune.us) {
		begin_prune(keeper, orders);
	}
}

static void begin_next(struct bf_keeper *keeper, struct bf_keeper_orders *orders,
		struct bf_boot_time now)
{
	if (keeper->state == BF_KEEPER_LIVING && keeper->must_leave) {
		leave(keeper, orders, now);
	}
	if (now.us < keeper->not_before.us || orders->beat != NULL) {
		return;
	}
	if (keeper->state == BF_KEEPER_LIVING) {
		live(keeper, orders, now);
	} else if (keeper->state == BF_KEEPER_OUT && keeper->is_ending) {
		move(keeper, BF_KEEPER_ENDED);
		orders->is_ended = true;
	} else if (keeper->state == BF_KEEPER_OUT) {
		begin_register(keeper, orders, now);
	}
}

void bf_keeper_step(struct bf_keeper *keeper, const struct bf_keeper_event *event,
		struct bf_keeper_orders *orders)
{
	*orders = (struct bf_keeper_orders){0};
	handle_event(keeper, orders, event);
	begin_next(keeper, orders, event->now);
	orders->wake = keeper->state == BF_KEEPER_LIVING
			? keeper->next_beat
			: bf_boot_add(event->now, keeper->config.beat);
	if (keeper->state == BF_KEEPER_LIVING && keeper->next_prune.us < orders->wake.us) {
		orders->wake = keeper->next_prune;
	}
	if (orders->wake.us < keeper->not_before.us || keeper->state == BF_KEEPER_OUT) {
		orders->wake = keeper->not_before;
	}
	orders->wake.us = BF_MAX(orders->wake.us, event->now.us + BELFRY_MILLISECOND);
}

/* See rig.h. What a machine orders is carried out at once; messages go through one queue. A message that
 * finds no memory is treated as the runtime treats it. */
#include "rig.h"

#include "store/memory/memory.h"

struct mail {
	struct bf_link link;
	enum { TO_PLANNER, TO_DISPATCHER, TO_KEEPER } to;
	struct bf_planner_event planner;
	struct bf_dispatcher_event dispatcher;
	struct bf_keeper_event keeper;
};

struct rig {
	struct rig_world *world;
	struct bf_planner *planner;
	struct bf_dispatcher *dispatcher;
	struct bf_keeper *keeper;
	struct bf_list mail;
	struct bf_boot_time wakes[3];
	bool is_ended;
	bool owes_clock_back;
};

static belfry_time read_wall(void *data)
{
	return ((struct rig_world *)data)->wall;
}

void rig_world_init(struct rig_world *world)
{
	struct belfry_store *raw = NULL;

	*world = (struct rig_world){.wall = at_time(10, 0, 0) + 200, .boot = boot(BELFRY_DAY)};
	world->definition = definition_of("* * * * * *", NULL);
	world->env = (struct bf_env){.data = world, .wall = read_wall};
	assert_int_equal(bf_memory_store_new(&world->env, false, &raw), BELFRY_OK);
	assert_int_equal(bf_store_wrap(&raw, &world->store, NULL), BELFRY_OK);
}

void rig_world_fini(struct rig_world *world)
{
	bf_store_close(world->store);
	bf_buf_fini(&world->definition);
}

struct rig *rig_new(struct rig_world *world, uint64_t seed)
{
	struct rig *rig = bf_alloc(sizeof(*rig));
	struct bf_planner_config planner = {.zones = zones(),
			.tz_version = "2026a",
			.tick = BELFRY_SECOND,
			.seed = seed};
	struct bf_dispatcher_config dispatcher = {.max_runs = 20,
			.max_bytes = 1 << 20,
			.recovery_limit = 10,
			.tick = BELFRY_SECOND,
			.seed = seed};
	struct bf_keeper_config keeper = {.lease = 8 * BELFRY_SECOND,
			.beat = 2 * BELFRY_SECOND,
			.seed = {seed, seed + 1},
			.prune = {.keep_age = BELFRY_DAY, .keep_failed_age = BELFRY_DAY}};

	if (rig == NULL) {
		return NULL;
	}
	rig->world = world;
	if (bf_planner_new(&planner, &rig->planner) != BELFRY_OK ||
			bf_dispatcher_new(&dispatcher, &rig->dispatcher) != BELFRY_OK ||
			bf_keeper_new(&keeper, &rig->keeper) != BELFRY_OK) {
		rig_free(rig);
		return NULL;
	}
	return rig;
}

static void free_mail(struct mail *mail)
{
	if (mail->to == TO_DISPATCHER && mail->dispatcher.kind == BF_DISPATCHER_BORN) {
		bf_born_free(mail->dispatcher.born);
	}
	bf_free(mail);
}

static void release(struct bf_answer *answer)
{
	while (answer != NULL) {
		struct bf_answer *next = answer->next;
		bf_free(answer);
		answer = next;
	}
}

static void release_one(struct bf_answer *answer)
{
	bf_free(answer);
}

void rig_free(struct rig *rig)
{
	while (rig->mail.first != NULL) {
		struct mail *mail = BF_CONTAINER(rig->mail.first, struct mail, link);
		bf_list_remove(&mail->link);
		if (mail->to == TO_DISPATCHER && mail->dispatcher.kind == BF_DISPATCHER_ANSWER) {
			bf_free(mail->dispatcher.answer);
		}
		free_mail(mail);
	}
	bf_planner_free(rig->planner);
	bf_dispatcher_free(rig->dispatcher, release_one);
	bf_keeper_free(rig->keeper);
	bf_free(rig);
}

static bool post(struct rig *rig, struct mail letter)
{
	struct mail *mail = bf_alloc(sizeof(*mail));

	if (mail != NULL) {
		*mail = letter;
		bf_list_append(&rig->mail, &mail->link);
	}
	return mail != NULL;
}

/* ---- the planner ------------------------------------------------------------------------------- */

static void planner_step(struct rig *rig, struct bf_planner_event event)
{
	struct bf_planner_orders o;
	bool has_called;

	do {
		event.now = rig->world->boot;
		bf_planner_step(rig->planner, &event, &o);
		while (o.done.first != NULL) {
			bf_list_remove(o.done.first);
		}
		if (o.born != NULL &&
				!post(rig,
						(struct mail){.to = TO_DISPATCHER,
								.dispatcher = {.kind = BF_DISPATCHER_BORN,
										.born = o.born}})) {
			bf_planner_untold(rig->planner, o.born);
		}
		if (o.wants_beat) {
			(void)post(rig,
					(struct mail){.to = TO_KEEPER,
							.keeper = {.kind = BF_KEEPER_BEAT_NOW}});
		}
		if (o.is_lost) {
			(void)post(rig,
					(struct mail){.to = TO_KEEPER,
							.keeper = {.kind = BF_KEEPER_LOST}});
		}
		has_called = o.list != NULL || o.advance != NULL;
		event = (struct bf_planner_event){.kind = BF_PLANNER_DONE};
		if (o.list != NULL) {
			event.status = bf_store_list(rig->world->store, o.list,
					bf_planner_arena(rig->planner), NULL);
		} else if (o.advance != NULL) {
			event.status = bf_store_advance(rig->world->store, o.advance, NULL);
		}
	} while (has_called);
	rig->wakes[TO_PLANNER] = o.wake;
}

/* ---- the dispatcher ---------------------------------------------------------------------------- */

static void call(struct rig *rig, const struct bf_call *c)
{
	struct bf_answer *answer = bf_alloc(sizeof(*answer));
	bool is_turn = c->token.step == BELFRY_STEP_TURN;

	if (answer == NULL) {
		bf_dispatcher_uncalled(rig->dispatcher, &c->token, rig->world->boot);
		return;
	}
	*answer = (struct bf_answer){.token = c->token,
			.kind = is_turn ? BF_ANSWER_TURN : BF_ANSWER_SESSION,
			.name = is_turn ? BF_STR("turn") : BF_STR("session")};
	if (!post(rig,
			    (struct mail){.to = TO_DISPATCHER,
					    .dispatcher = {.kind = BF_DISPATCHER_ANSWER,
							    .answer = answer}})) {
		bf_free(answer);
		bf_dispatcher_uncalled(rig->dispatcher, &c->token, rig->world->boot);
		return;
	}
	assert_true(rig->world->call_count < RIG_CALLS_MAX);
	rig->world->calls[rig->world->call_count++] = (struct rig_call){c->token.run,
			c->token.step};
}

static void tell_of_dispatcher(struct rig *rig, const struct bf_dispatcher_orders *o)
{
	for (size_t i = 0; i < o->call_count; i++) {
		call(rig, &o->calls[i]);
	}
	release(o->released);
	if (o->has_tickets &&
			!post(rig,
					(struct mail){.to = TO_PLANNER,
							.planner = {.kind = BF_PLANNER_TICKETS,
									.tickets = o->tickets}})) {
		bf_dispatcher_untold(rig->dispatcher, &o->tickets);
	}
	if (o->has_low) {
		(void)post(rig,
				(struct mail){.to = TO_KEEPER,
						.keeper = {.kind = BF_KEEPER_LOW, .low = o->low}});
	}
	if (o->is_lost) {
		(void)post(rig, (struct mail){.to = TO_KEEPER, .keeper = {.kind = BF_KEEPER_LOST}});
	}
}

static void dispatcher_step(struct rig *rig, struct bf_dispatcher_event event)
{
	struct belfry_arena *arena = bf_dispatcher_arena(rig->dispatcher);
	struct bf_store *store = rig->world->store;
	struct bf_dispatcher_orders o;
	bool has_called;

	do {
		event.now = rig->world->boot;
		bf_dispatcher_step(rig->dispatcher, &event, &o);
		tell_of_dispatcher(rig, &o);
		has_called = true;
		event = (struct bf_dispatcher_event){.kind = BF_DISPATCHER_DONE};
		if (o.records != NULL) {
			event.status = bf_store_record(store, o.records, o.record_count, NULL);
		} else if (o.list != NULL) {
			event.status = bf_store_list(store, o.list, arena, NULL);
		} else if (o.claim != NULL) {
			event.status = bf_store_claim_runs(store, o.claim, arena, NULL);
		} else {
			has_called = false;
		}
	} while (has_called);
	rig->wakes[TO_DISPATCHER] = o.wake;
}

/* ---- the keeper -------------------------------------------------------------------------------- */

static void tell_of_keeper(struct rig *rig, const struct bf_keeper_orders *o)
{
	if (o->is_lost || o->is_ended) {
		(void)post(rig,
				(struct mail){.to = TO_PLANNER,
						.planner = {.kind = BF_PLANNER_LOST}});
		(void)post(rig,
				(struct mail){.to = TO_DISPATCHER,
						.dispatcher = {.kind = BF_DISPATCHER_LOST}});
	}
	if (o->has_cover) {
		(void)post(rig,
				(struct mail){.to = TO_PLANNER,
						.planner = {.kind = BF_PLANNER_COVER,
								.cover = o->cover}});
		(void)post(rig,
				(struct mail){.to = TO_DISPATCHER,
						.dispatcher = {.kind = BF_DISPATCHER_COVER,
								.cover = o->cover}});
	}
	if (o->is_clock_back || rig->owes_clock_back) {
		rig->owes_clock_back = !post(rig,
				(struct mail){.to = TO_PLANNER,
						.planner = {.kind = BF_PLANNER_CLOCK_BACK}});
	}
	rig->is_ended = rig->is_ended || o->is_ended;
}

static void keeper_step(struct rig *rig, struct bf_keeper_event event)
{
	struct belfry_arena *arena = bf_keeper_arena(rig->keeper);
	struct bf_keeper_orders o;
	bool has_called;

	do {
		event.now = rig->world->boot;
		bf_keeper_step(rig->keeper, &event, &o);
		tell_of_keeper(rig, &o);
		has_called = true;
		event = (struct bf_keeper_event){.kind = BF_KEEPER_DONE};
		if (o.beat != NULL) {
			event.status = bf_store_beat(rig->world->store, o.beat, arena, NULL);
		} else if (o.list != NULL) {
			event.status = bf_store_list(rig->world->store, o.list, arena, NULL);
		} else if (o.prune != NULL) {
			event.status = bf_store_prune(rig->world->store, o.prune, NULL);
		} else {
			has_called = false;
		}
	} while (has_called);
	rig->wakes[TO_KEEPER] = o.wake;
}

/* ---- time -------------------------------------------------------------------------------------- */

static void deliver(struct rig *rig)
{
	while (rig->mail.first != NULL) {
		struct mail *mail = BF_CONTAINER(rig->mail.first, struct mail, link);
		bf_list_remove(&mail->link);
		switch (mail->to) {
		case TO_PLANNER: planner_step(rig, mail->planner); break;
		case TO_DISPATCHER:
			dispatcher_step(rig, mail->dispatcher);
			mail->dispatcher.kind = BF_DISPATCHER_WAKE; /* the machine took it */
			break;
		case TO_KEEPER: keeper_step(rig, mail->keeper); break;
		}
		free_mail(mail);
	}
}

static void wake_up(struct rig *rig)
{
	if (rig->world->boot.us >= rig->wakes[TO_KEEPER].us) {
		keeper_step(rig, (struct bf_keeper_event){.kind = BF_KEEPER_WAKE});
		deliver(rig);
	}
	if (rig->world->boot.us >= rig->wakes[TO_PLANNER].us) {
		planner_step(rig, (struct bf_planner_event){.kind = BF_PLANNER_WAKE});
		deliver(rig);
	}
	if (rig->world->boot.us >= rig->wakes[TO_DISPATCHER].us) {
		dispatcher_step(rig, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_WAKE});
		deliver(rig);
	}
}

void rig_run(struct rig *rig, belfry_duration duration)
{
	struct bf_boot_time end = bf_boot_add(rig->world->boot, duration);
	int turns = 0;

	deliver(rig);
	while (rig->world->boot.us < end.us) {
		int64_t next = end.us;
		for (int i = 0; i < 3; i++) {
			next = BF_MIN(next, BF_MAX(rig->wakes[i].us, rig->world->boot.us));
		}
		rig->world->wall += next - rig->world->boot.us;
		rig->world->boot.us = next;
		wake_up(rig);
		assert_true(turns++ < 1000 + duration / BELFRY_MILLISECOND); /* it does not spin */
	}
}

enum belfry_status rig_put(struct rig *rig, const char *id, int64_t revision, bool is_enabled)
{
	struct bf_plan_request request = {.schedule = bf_str(id),
			.revision = revision,
			.put = {.revision = revision,
					.flags = is_enabled ? BELFRY_SCHEDULE_F_ENABLED : 0,
					.definition = bf_buf_str(&rig->world->definition),
					.payload = BF_STR("payload")},
			.deadline = bf_boot_add(rig->world->boot, 10 * BELFRY_SECOND),
			.status = BELFRY_BUSY};

	planner_step(rig,
			(struct bf_planner_event){.kind = BF_PLANNER_REQUEST, .request = &request});
	for (int i = 0; i < 200 && request.link.list != NULL; i++) {
		rig_run(rig, 100 * BELFRY_MILLISECOND);
	}
	assert_null(request.link.list);
	return request.status;
}

bool rig_stop(struct rig *rig)
{
	planner_step(rig, (struct bf_planner_event){.kind = BF_PLANNER_STOP});
	dispatcher_step(rig,
			(struct bf_dispatcher_event){.kind = BF_DISPATCHER_STOP,
					.until = bf_boot_add(rig->world->boot, BELFRY_SECOND)});
	for (int i = 0; i < 100; i++) {
		bool is_idle = bf_dispatcher_is_idle(rig->dispatcher) &&
				bf_planner_has_stopped(rig->planner);
		if (is_idle && i > 0) {
			keeper_step(rig, (struct bf_keeper_event){.kind = BF_KEEPER_END});
		}
		if (rig->is_ended) {
			return true;
		}
		rig_run(rig, 100 * BELFRY_MILLISECOND);
	}
	return false;
}

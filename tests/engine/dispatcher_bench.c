/* See dispatcher_bench.h. */
#include "dispatcher_bench.h"

void set_up_dispatcher_with(void **state, uint32_t max_runs, uint64_t seed)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct bf_dispatcher_config config = {.max_runs = max_runs,
			.max_bytes = 1000,
			.recovery_limit = 3,
			.tick = TICK,
			.seed = seed};

	assert_int_equal(bf_dispatcher_new(&config, &b->dispatcher), BELFRY_OK);
	b->now = boot(1000 * BELFRY_SECOND);
	b->definition = definition_of("* * * * *", NULL);
	*state = b;
}

int set_up_dispatcher(void **state)
{
	set_up_dispatcher_with(state, 100, 5);
	return 0;
}

int set_up_one_place(void **state)
{
	set_up_dispatcher_with(state, 1, 5);
	return 0;
}

int tear_down_dispatcher(void **state)
{
	struct bench *b = *state;

	bf_dispatcher_free(b->dispatcher, NULL);
	bf_buf_fini(&b->definition);
	test_free(b);
	return 0;
}

static void note_orders(struct bench *b, const struct bf_dispatcher_orders *before, bool was_done)
{
	struct bf_dispatcher_orders *o = &b->orders;
	int operations = (o->claim != NULL) + (o->records != NULL) + (o->list != NULL);

	assert_in_range(operations, 0, 1);
	assert_true(o->wake.us > b->now.us);
	for (const struct bf_answer *a = o->released; a != NULL; a = a->next) {
		b->released++;
	}
	b->cancelled += o->cancel_count;
	if (o->has_tickets) {
		b->tickets.places += o->tickets.places;
		b->tickets.bytes += o->tickets.bytes;
		b->tickets.incarnation = o->tickets.incarnation;
		b->tickets.floor = o->tickets.floor;
		b->tickets.is_backlog = o->tickets.is_backlog;
	}
	if (o->has_low) {
		b->low = o->low;
		b->low_count++;
	}
	if (!was_done && operations == 0) {
		o->claim = before->claim; /* still under way */
		o->records = before->records;
		o->record_count = before->record_count;
		o->list = before->list;
	}
}

void feed(struct bench *b, struct bf_dispatcher_event event)
{
	struct bf_dispatcher_orders before = b->orders;

	event.now = b->now;
	bf_dispatcher_step(b->dispatcher, &event, &b->orders);
	note_orders(b, &before, event.kind == BF_DISPATCHER_DONE);
}

void wake_up(struct bench *b)
{
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_WAKE});
}

void let_pass(struct bench *b, belfry_duration d)
{
	b->now = bf_boot_add(b->now, d);
}

void store_done(struct bench *b, enum belfry_status status)
{
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_DONE, .status = status});
}

void give_cover(struct bench *b, unsigned id)
{
	struct bf_cover news = {.incarnation = id_of(id),
			.from = at_time(9, 0, 0),
			.to = at_time(11, 0, 0),
			.act_until = bf_boot_add(b->now, 6 * BELFRY_SECOND),
			.store_now = at_time(10, 0, 0),
			.at = boot(1000 * BELFRY_SECOND)};

	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_COVER, .cover = news});
}

void answer_claims(struct bench *b)
{
	for (int i = 0; i < 10 && b->orders.claim != NULL; i++) {
		b->orders.claim->is_short = true;
		b->orders.claim->now = at_time(10, 0, 0);
		b->orders.claim->next_ready = BELFRY_TIME_NEVER;
		store_done(b, BELFRY_OK);
	}
	assert_null(b->orders.claim);
}

void begin_dispatch(struct bench *b)
{
	give_cover(b, 1);
	answer_claims(b);
}

struct bf_owned_run owned(unsigned n)
{
	struct bf_owned_run run = {.fence = 100 * US,
			.trigger = BELFRY_TRIGGER_SCHEDULE,
			.attempt = 1,
			.payload_bytes = 10,
			.stands_for = 1,
			.revision = 1,
			.due_at = at_time(10, 0, 0) + n,
			.ready_at = at_time(10, 0, 0),
			.started_at = at_time(10, 0, 0),
			.is_first_start = true,
			.is_born = true,
			.policy = {BELFRY_INTERRUPTED_RESUME, 5, BELFRY_SECOND, BELFRY_MINUTE,
					BELFRY_MINUTE}};

	assert_int_equal(belfry_run_id(BF_STR("s"), run.due_at, &run.id), BELFRY_OK);
	bf_owned_set_schedule(&run, BF_STR("s"));
	run.fence = (belfry_fence)run.started_at + n;
	return run;
}

void bear(struct bench *b, const struct bf_owned_run *runs, size_t count)
{
	struct bf_born *born = bf_alloc(sizeof(*born));

	assert_non_null(born);
	born->incarnation = id_of(1);
	born->floor = bf_run_id_floor(at_time(9, 59, 0));
	born->runs = bf_alloc_array(count, sizeof(*runs));
	assert_non_null(born->runs);
	memcpy(born->runs, runs, count * sizeof(*runs));
	born->run_count = count;
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN, .born = born});
}

void answer_load(struct bench *b)
{
	struct belfry_invocation_row rows[64];

	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_INVOCATIONS);
	for (size_t i = 0; i < b->orders.list->run_id_count; i++) {
		rows[i] = (struct belfry_invocation_row){b->orders.list->run_ids[i],
				BF_STR("payload")};
	}
	b->orders.list->invocations = rows;
	b->orders.list->count = b->orders.list->run_id_count;
	store_done(b, BELFRY_OK);
}

void answer_records(struct bench *b, enum belfry_status result)
{
	assert_non_null(b->orders.records);
	for (size_t i = 0; i < b->orders.record_count; i++) {
		b->orders.records[i].result = result;
	}
	store_done(b, BELFRY_OK);
}

void answer_call(struct bench *b, struct bf_token token, struct bf_answer answer)
{
	struct bf_answer *mine = &b->answers[b->answer_count++ % BF_COUNT(b->answers)];

	*mine = answer;
	mine->token = token;
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_ANSWER, .answer = mine});
}

struct bf_token open_call(struct bench *b, struct bf_owned_run run)
{
	bear(b, &run, 1);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
	return b->orders.calls[0].token;
}

void claim_one(struct bench *b, struct belfry_claimed claimed)
{
	claimed.definition = claimed.definition.len > 0 ? claimed.definition
							: bf_buf_str(&b->definition);
	b->orders.claim->runs = &claimed;
	b->orders.claim->run_count = 1;
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = true;
	b->orders.claim->next_ready = BELFRY_TIME_NEVER;
	store_done(b, BELFRY_OK);
}

struct belfry_claimed claimed_run(unsigned n, uint32_t takeovers, const char *session)
{
	struct bf_owned_run run = owned(n);

	return (struct belfry_claimed){.run = {.id = run.id,
						       .schedule = BF_STR("s"),
						       .state = BELFRY_RUN_DISPATCHING,
						       .fence = run.fence,
						       .attempt = 2,
						       .takeovers = takeovers,
						       .stands_for = 1,
						       .session = bf_str(session),
						       .started_at = at_time(9, 0, 0)},
			.payload_bytes = 10};
}

void finish_claims(struct bench *b)
{
	while (b->orders.claim != NULL) {
		b->orders.claim->is_short = true;
		b->orders.claim->now = at_time(10, 0, 0);
		b->orders.claim->next_ready = BELFRY_TIME_NEVER;
		store_done(b, BELFRY_OK);
	}
}

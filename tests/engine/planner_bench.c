/* See planner_bench.h. */
#include "planner_bench.h"

int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct bf_planner_config config = {.zones = zones(),
			.tz_version = "2026a",
			.tick = TICK,
			.seed = 1};

	assert_int_equal(bf_planner_new(&config, &b->planner), BELFRY_OK);
	b->now = boot(1000 * BELFRY_SECOND);
	b->store_now = at_time(10, 0, 0);
	b->definition = definition_of("* * * * *", NULL);
	*state = b;
	return 0;
}

int tear_down(void **state)
{
	struct bench *b = *state;

	bf_planner_free(b->planner);
	bf_buf_fini(&b->definition);
	bf_born_free(b->born);
	test_free(b);
	return 0;
}

void step(struct bench *b, struct bf_planner_event event)
{
	struct bf_planner_orders under_way = b->orders;

	event.now = b->now;
	bf_planner_step(b->planner, &event, &b->orders);
	if (event.kind != BF_PLANNER_DONE && b->orders.list == NULL && b->orders.advance == NULL) {
		b->orders.list = under_way.list;
		b->orders.advance = under_way.advance;
	}
	if (b->orders.born != NULL) {
		bf_born_free(b->born);
		b->born = b->orders.born;
	}
	while (b->orders.done.first != NULL) {
		bf_list_move(&b->done, b->orders.done.first);
	}
	/* At most one operation, and a wake that lies ahead. */
	assert_true(b->orders.list == NULL || b->orders.advance == NULL);
	assert_true(b->orders.wake.us > b->now.us);
}

void wake(struct bench *b)
{
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_WAKE});
}

void pass_time(struct bench *b, belfry_duration d)
{
	b->now = bf_boot_add(b->now, d);
	b->store_now += d;
}

void done(struct bench *b, enum belfry_status status)
{
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_DONE, .status = status});
}

void cover_alone(struct bench *b, unsigned id, belfry_time from)
{
	struct bf_cover news = {.incarnation = id_of(id),
			.from = from,
			.to = b->store_now + 2 * BELFRY_SECOND,
			.act_until = bf_boot_add(b->now, 6 * BELFRY_SECOND),
			.store_now = b->store_now,
			.at = b->now};

	step(b, (struct bf_planner_event){.kind = BF_PLANNER_COVER, .cover = news});
}

void tickets(struct bench *b, unsigned id, uint32_t places)
{
	struct bf_tickets news = {.incarnation = id_of(id),
			.places = places,
			.bytes = 1 << 20,
			.floor = bf_run_id_floor(b->store_now - BELFRY_MINUTE)};

	step(b, (struct bf_planner_event){.kind = BF_PLANNER_TICKETS, .tickets = news});
}

/* A cover as it comes: the dispatcher sends tickets with it, here none yet. */
void cover(struct bench *b, unsigned id, belfry_time from)
{
	struct bf_tickets none = {.incarnation = id_of(id)};

	cover_alone(b, id, from);
	if (b->orders.list == NULL && b->orders.advance == NULL) {
		step(b, (struct bf_planner_event){.kind = BF_PLANNER_TICKETS, .tickets = none});
		bf_born_free(b->born);
		b->born = NULL;
	}
}

struct belfry_schedule_row row(const struct bench *b, const char *id, belfry_time cursor)
{
	return (struct belfry_schedule_row){.id = bf_str(id),
			.version = 7,
			.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.cursor = cursor,
			.payload_bytes = 10,
			.definition = bf_buf_str(&b->definition)};
}

/* The answer to a read that is under way. */
void answer_rows(struct bench *b, struct belfry_schedule_row *rows, size_t count,
		belfry_time next_due)
{
	assert_non_null(b->orders.list);
	b->orders.list->rows = rows;
	b->orders.list->count = count;
	b->orders.list->now = b->store_now;
	b->orders.list->next_due = next_due;
	done(b, BELFRY_OK);
}

void answer_incarnations(struct bench *b, struct belfry_incarnation *rows, size_t count)
{
	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_INCARNATIONS);
	b->orders.list->incarnations = rows;
	b->orders.list->count = count;
	b->orders.list->now = b->store_now;
	done(b, BELFRY_OK);
}

/* The answer to a commit: every item the same, every Run inserted. */
void answer_commit(struct bench *b, enum belfry_status result)
{
	struct belfry_advance *a = b->orders.advance;

	assert_non_null(a);
	a->now = b->store_now;
	a->fence = 77;
	for (size_t i = 0; i < a->item_count; i++) {
		a->items[i].result = result;
		for (size_t k = 0; result == BELFRY_OK && k < a->items[i].run_count; k++) {
			a->items[i].runs[k].is_inserted = true;
		}
	}
	done(b, BELFRY_OK);
}

/* Covered since nine, with a due pass under way. */
void begin_pass(struct bench *b)
{
	cover(b, 1, at_time(9, 0, 0));
	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_DUE);
}

void post(struct bench *b, struct bf_plan_request *request)
{
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_REQUEST, .request = request});
}

struct bf_plan_request put_of(const struct bench *b, const char *id, int64_t revision,
		uint32_t flags, const struct bf_buf *definition)
{
	return (struct bf_plan_request){.schedule = bf_str(id),
			.revision = revision,
			.put = {.revision = revision,
					.flags = flags,
					.definition = bf_buf_str(definition),
					.payload = BF_STR("p")},
			.deadline = bf_boot_add(b->now, 10 * BELFRY_SECOND),
			.is_open = true};
}

bool is_done(const struct bench *b, const struct bf_plan_request *request)
{
	return request->link.list == &b->done;
}

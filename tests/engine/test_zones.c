/* What becomes of cursors where the tz database changes: each class of rule, and the planner's ways to find
 * the rows. In Test/Zone the older database has one hour east of UTC, the newer one two. */
#include "cases.h"

#include "calendar/anew.h"
#include "planner_bench.h"
#include "tz_folder.h"

#define OLD "2026a"
#define NEW "2026b"

struct databases {
	struct tz_folder folders[2];
	struct belfry_zones *zones[2]; /* one hour, two hours */
};

static int begin(void **state)
{
	static const char *const contents[] = {"Etc/GMT-1", "Etc/GMT-2"};
	static const char *const versions[] = {OLD, NEW};
	struct databases *d = test_calloc(1, sizeof(*d));

	for (int i = 0; i < 2; i++) {
		tz_folder_init(&d->folders[i]);
		tz_folder_put(&d->folders[i], contents[i], versions[i]);
		assert_int_equal(belfry_zones_new(d->folders[i].path, &d->zones[i], NULL),
				BELFRY_OK);
	}
	*state = d;
	return 0;
}

static int end(void **state)
{
	struct databases *d = *state;

	for (int i = 0; i < 2; i++) {
		belfry_zones_free(d->zones[i]);
		tz_folder_fini(&d->folders[i]);
	}
	test_free(d);
	return 0;
}

static struct belfry_rule *rule_in(struct belfry_zones *of, const char *text, const char *zone,
		enum belfry_dst_fold fold)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule = NULL;

	options.anchor = DAY0;
	options.fold = fold;
	assert_int_equal(belfry_rule_new(of, bf_str(text), bf_str(zone), &options, &rule, NULL),
			BELFRY_OK);
	return rule;
}

static belfry_time next_after(const struct belfry_rule *rule, belfry_time at)
{
	belfry_time due;

	return belfry_rule_next(rule, at, &due) == BELFRY_OK ? due : BELFRY_TIME_NEVER;
}

/* Decided at `decided` by database `from`, computed anew by database `to`. */
static belfry_time anew(struct databases *d, const char *text, int from, int to,
		belfry_time decided, belfry_time now)
{
	struct belfry_rule *old = rule_in(d->zones[from], text, "Test/Zone", BELFRY_DST_FOLD_FIRST);
	struct belfry_rule *new_ = rule_in(d->zones[to], text, "Test/Zone", BELFRY_DST_FOLD_FIRST);
	struct bf_anew known = {decided, bf_rule_local(old, decided), next_after(old, decided)};
	belfry_time due = bf_rule_anew(new_, &known, now);

	belfry_rule_free(old);
	belfry_rule_free(new_);
	return due;
}

/* ---- each class of rule ------------------------------------------------------------------------ */

static void a_fixed_time_that_moves_earlier_is_due_earlier(void **state)
{
	/* 09:00 is 08:00Z by the older, 07:00Z by the newer one. */
	belfry_time due = at_time(24 + 7, 0, 0);

	assert_true(anew(*state, "0 9 * * *", 0, 1, at_time(8, 0, 0), at_time(20, 0, 0)) == due);
	/* Also where that has passed by now: it was never decided, and is owed. */
	assert_true(anew(*state, "0 9 * * *", 0, 1, at_time(8, 0, 0), at_time(24 + 7, 30, 0)) ==
			due);
}

static void a_fixed_time_that_moves_later_is_due_later_and_not_twice(void **state)
{
	assert_true(anew(*state, "0 9 * * *", 1, 0, at_time(7, 0, 0), at_time(20, 0, 0)) ==
			at_time(24 + 8, 0, 0));
	/* 09:00 has fired at 07:00Z: by the other database it comes again today, and is not due again. */
	assert_true(anew(*state, "0 9 * * *", 1, 0, at_time(7, 0, 0), at_time(7, 10, 0)) ==
			at_time(24 + 8, 0, 0));
	/* What is named in between goes on by its local time. */
	assert_true(anew(*state, "0,30 9 * * *", 1, 0, at_time(7, 0, 0), at_time(7, 10, 0)) ==
			at_time(8, 30, 0));
}

static void what_repeats_by_itself_goes_on_after_now(void **state)
{
	static const char *const rules[] = {"*/30 * * * *", "{\"every\":\"PT30M\"}"};

	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		for (int from = 0; from < 2; from++) {
			assert_true(anew(*state, rules[i], from, 1 - from, at_time(8, 0, 0),
						    at_time(8, 10, 0)) == at_time(8, 30, 0));
			/* A backlog is owed from its cursor on. */
			assert_true(anew(*state, rules[i], from, 1 - from, at_time(8, 0, 0),
						    at_time(9, 45, 0)) == at_time(8, 30, 0));
		}
	}
}

static void hours_of_an_interval_move_with_their_zone(void **state)
{
	/* Every ten minutes between nine and ten: an hour earlier by the newer one. */
	assert_true(anew(*state, "*/10 9 * * *", 0, 1, at_time(8, 50, 0), at_time(20, 0, 0)) ==
			at_time(24 + 7, 0, 0));
}

static void an_instant_stays_and_a_local_moment_moves(void **state)
{
	assert_true(anew(*state, "{\"at\":[\"2026-01-05T08:00:00Z\",\"2026-01-06T08:00:00Z\"]}", 0,
				    1, at_time(8, 0, 0),
				    at_time(9, 0, 0)) == at_time(24 + 8, 0, 0));
	assert_true(anew(*state, "{\"at\":[\"2026-01-05T09:00:00\",\"2026-01-06T09:00:00\"]}", 0, 1,
				    at_time(8, 0, 0), at_time(9, 0, 0)) == at_time(24 + 7, 0, 0));
}

/* The reading counts, as for an expression: it neither comes twice nor gets lost. */
static void a_listed_local_time_is_due_once(void **state)
{
	static const char *const rules[] = {
			"{\"at\":[\"2026-01-05T09:00:00\",\"2026-01-05T09:50:00\"]}",
			"0,50 9 5 1 *"};

	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		/* An hour later by the newer one: 09:00 has fired at 08:00 UTC and is 09:00 UTC now. */
		assert_true(anew(*state, rules[i], 1, 0, at_time(7, 0, 0), at_time(7, 30, 0)) ==
				at_time(8, 50, 0));
		/* An hour earlier: 09:50 is past before it was decided, and owed. */
		assert_true(anew(*state, rules[i], 0, 1, at_time(8, 0, 0), at_time(8, 5, 0)) ==
				at_time(7, 50, 0));
	}
}

static void exceptions_are_taken_out_by_the_newer_database(void **state)
{
	assert_true(anew(*state, "{\"cron\":\"0 9 * * *\",\"except\":[\"2026-01-06\"]}", 0, 1,
				    at_time(8, 0, 0), at_time(9, 0, 0)) == at_time(48 + 7, 0, 0));
	/* 00:30 of the 6th is half past ten in the evening UTC: the day is the local one. */
	assert_true(anew(*state, "{\"every\":\"PT1H\",\"except\":[\"2026-01-06\"]}", 0, 1,
				    at_time(21, 0, 0),
				    at_time(21, 10, 0)) == at_time(48 - 2, 0, 0));
}

static void a_union_goes_on_with_whatever_comes_first(void **state)
{
	const char *both = "{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"15 * * * *\"}]}";

	assert_true(anew(*state, both, 0, 1, at_time(24 + 6, 15, 0), at_time(24 + 6, 20, 0)) ==
			at_time(24 + 7, 0, 0));
	assert_true(anew(*state, both, 1, 0, at_time(24 + 7, 0, 0), at_time(24 + 7, 5, 0)) ==
			at_time(24 + 7, 15, 0));
}

static void a_window_that_has_closed_by_the_newer_database_leaves_nothing(void **state)
{
	const char *rule = "{\"cron\":\"0 9 * * *\",\"not_after\":\"2026-01-06T07:30:00Z\"}";

	assert_true(anew(*state, rule, 1, 0, at_time(7, 0, 0), at_time(8, 0, 0)) ==
			BELFRY_TIME_NEVER);
}

static void of_a_row_that_does_not_say_what_was_decided_the_rest_is_after_now(void **state)
{
	struct databases *d = *state;
	struct belfry_rule *rule = rule_in(d->zones[1], "0 9 * * *", "Test/Zone",
			BELFRY_DST_FOLD_FIRST);
	struct bf_anew old = {.cursor = at_time(24 + 8, 0, 0)};

	assert_true(bf_rule_anew(rule, &old, at_time(20, 0, 0)) == at_time(24 + 7, 0, 0));
	assert_true(bf_rule_anew(rule, &old, at_time(24 + 7, 30, 0)) == at_time(48 + 7, 0, 0));
	belfry_rule_free(rule);
}

/* The database that says the same changes nothing: around both changes of a year, under each policy, also
 * for a revision that began between two due times. */
static void where_both_databases_agree_nothing_moves(void **state)
{
	static const char *const rules[] = {"30 2 * * *", "0,10,50 1-3 * * *", "*/20 * * * *",
			"{\"every\":\"PT25M\"}", "15 2 25 10 *", "59 23 * * *",
			"{\"any\":[{\"cron\":\"45 2 * * *\"},{\"cron\":\"*/35 * * * *\"}]}",
			"{\"at\":[\"2026-10-25T02:30:00\",\"2026-10-25T01:10:00Z\"]}"};
	static const belfry_time begins[] = {INT64_C(1774741000000000), INT64_C(1792885000000000)};

	(void)state;
	for (size_t r = 0; r < BF_COUNT(rules) * BELFRY_DST_FOLD_COUNT; r++) {
		struct belfry_rule *rule = rule_in(zones(), rules[r / BELFRY_DST_FOLD_COUNT],
				"Europe/Berlin", (enum belfry_dst_fold)(r % BELFRY_DST_FOLD_COUNT));
		for (size_t b = 0; b < BF_COUNT(begins); b++) {
			for (int i = 0; i < 40; i++) {
				belfry_time decided = begins[b] + i * 13 * BELFRY_MINUTE;
				belfry_time due = i % 2 == 0 ? next_after(rule, decided) : 0;
				decided = due != 0 && due != BELFRY_TIME_NEVER ? due : decided;
				struct bf_anew old = {decided, bf_rule_local(rule, decided),
						next_after(rule, decided)};
				assert_true(bf_rule_anew(rule, &old, decided + BELFRY_SECOND) ==
						old.cursor);
				assert_true(bf_rule_anew(rule, &old, decided + BELFRY_DAY) ==
						old.cursor);
			}
		}
		belfry_rule_free(rule);
	}
}

/* ---- the planner ------------------------------------------------------------------------------- */

struct plan {
	struct bench bench; /* first */
	struct databases *d;
	struct bf_buf daily; /* 0 9 * * * in Test/Zone */
};

static struct bf_buf definition_in(const char *rule, const char *zone)
{
	static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;
	struct bf_buf bytes = {0};
	struct bf_definition d = {.flags = BELFRY_SCHEDULE_F_ENABLED,
			.anchor = DAY0,
			.rule = bf_str(rule),
			.zone = bf_str(zone),
			.policies = defaults};

	bf_definition_encode(&d, &bytes);
	assert_int_equal(bf_buf_status(&bytes), BELFRY_OK);
	return bytes;
}

static struct bf_buf daily_in(const char *zone)
{
	return definition_in("0 9 * * *", zone);
}

/* A planner with the newer database, an incarnation that covers, at 07:30Z: 09:30 by the newer one. */
static int begin_plan(void **state)
{
	struct plan *p = test_calloc(1, sizeof(*p));
	struct bf_planner_config config = {.tick = TICK, .seed = 1};
	void *databases;

	(void)begin(&databases);
	p->d = databases;
	config.zones = p->d->zones[1];
	assert_int_equal(bf_planner_new(&config, &p->bench.planner), BELFRY_OK);
	p->bench.now = boot(1000 * BELFRY_SECOND);
	p->bench.store_now = at_time(7, 30, 0);
	p->bench.definition = daily_in("Test/Zone");
	*state = p;
	return 0;
}

static int end_plan(void **state)
{
	struct plan *p = *state;
	void *databases = p->d;

	bf_planner_free(p->bench.planner);
	bf_buf_fini(&p->bench.definition);
	bf_born_free(p->bench.born);
	test_free(p);
	return end(&databases);
}

/* A row as the database `of` has left it: yesterday's 09:00 is decided. */
static struct belfry_schedule_row row_of(struct bench *b, const char *id, int of)
{
	struct belfry_schedule_row made = row(b, id, at_time(of == 0 ? 8 : 7, 0, 0));

	made.tz_version = of == 0 ? BF_STR(OLD) : BF_STR(NEW);
	made.decided_due = made.cursor - BELFRY_DAY;
	made.decided_local = at_time(9, 0, 0) - BELFRY_DAY;
	made.cursor_local = at_time(9, 0, 0);
	return made;
}

static void begin_covered(struct bench *b)
{
	cover(b, 1, at_time(0, 0, 0) - BELFRY_DAY);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_DUE);
}

static void a_due_row_of_an_older_database_is_computed_anew_in_the_commit_that_fires(void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct belfry_schedule_row rows[] = {row_of(b, "a", 0)};

	b->store_now = at_time(8, 0, 0);
	begin_covered(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 1);
	assert_true(item->runs[0].due_at == at_time(7, 0, 0)); /* 09:00 by the newer one */
	assert_true(item->cursor == at_time(24 + 7, 0, 0));
	assert_true(bf_str_equal(item->tz_version, BF_STR(NEW)));
	assert_true(item->decided_due == at_time(7, 0, 0));
	assert_true(item->decided_local == at_time(9, 0, 0));
	assert_true(item->cursor_local == at_time(24 + 9, 0, 0));
	answer_commit(b, BELFRY_OK);
}

/* The planner has the older database here: a row of a newer one is another replica's knowledge. */
static void a_row_of_a_newer_database_is_fired_as_it_stands_and_its_local_time_is_spent(
		void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct bf_planner_config config = {.zones = p->d->zones[0], .tick = TICK, .seed = 1};
	struct belfry_schedule_row rows[] = {row_of(b, "a", 1)};

	bf_planner_free(b->planner);
	assert_int_equal(bf_planner_new(&config, &b->planner), BELFRY_OK);
	begin_covered(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 1);
	assert_true(item->runs[0].due_at == at_time(7, 0, 0));
	/* Not at 08:00Z, when our own clocks show 09:00 a second time. */
	assert_true(item->cursor == at_time(24 + 8, 0, 0));
	assert_true(item->decided_local == at_time(9, 0, 0));
	assert_true(bf_str_equal(item->tz_version, BF_STR(OLD)));
	answer_commit(b, BELFRY_OK);
}

/* What our older database puts between the last two due times of a newer one we pass over: it is the newer
 * one's, which finds it by the local time that is kept. */
static void a_local_time_that_only_we_have_behind_us_is_left_to_the_newer_database(void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	BF_CLEANUP(bf_buf_fini) struct bf_buf twice = definition_in("0,30 9 * * *", "Test/Zone");
	struct belfry_schedule_row rows[] = {row_of(b, "a", 0)};
	struct belfry_rule *theirs = rule_in(p->d->zones[0], "0,30 9 * * *", "Test/Zone",
			BELFRY_DST_FOLD_FIRST);

	/* 09:00 is 08:00Z by the newer one; half past nine 07:30Z by ours, and 08:30Z by the newer one. */
	rows[0].tz_version = BF_STR("2026c");
	rows[0].definition = bf_buf_str(&twice);
	b->store_now = at_time(8, 0, 1);
	begin_covered(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 1);
	assert_true(item->runs[0].due_at == at_time(8, 0, 0));
	assert_true(item->cursor == at_time(24 + 7, 0, 0));
	struct bf_anew left = {item->decided_due, item->decided_local, item->cursor};
	assert_true(bf_rule_anew(theirs, &left, at_time(8, 10, 0)) == at_time(8, 30, 0));
	answer_commit(b, BELFRY_OK);
	belfry_rule_free(theirs);
}

static void a_due_time_that_moved_later_is_not_fired_now(void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct belfry_schedule_row rows[] = {row_of(b, "a", 1)};

	/* Our database is the newer one, and says one hour where the row's had two. */
	tz_folder_put(&p->d->folders[1], "Etc/GMT-1", "2026c");
	assert_int_equal(belfry_zones_refresh(p->d->zones[1], NULL, NULL), BELFRY_OK);
	begin_covered(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count + item->gap_count, 0);
	assert_true(item->cursor == at_time(8, 0, 0));
	assert_true(bf_str_equal(item->tz_version, BF_STR("2026c")));
	assert_true(item->decided_local == at_time(9, 0, 0) - BELFRY_DAY);
	answer_commit(b, BELFRY_OK);
}

static void a_put_settles_by_our_own_database(void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct belfry_schedule_row rows[] = {row_of(b, "a", 0)};
	struct bf_plan_request request = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	begin_covered(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 1); /* 07:00Z is past, 08:00Z is not */
	assert_true(item->runs[0].due_at == at_time(7, 0, 0));
	assert_true(item->cursor == at_time(24 + 7, 0, 0));
	assert_true(item->decided_due == b->store_now);
	assert_true(item->decided_local == b->store_now + 2 * BELFRY_HOUR);
	answer_commit(b, BELFRY_OK);
}

/* Lets the due pass that is under way end, then tells that the database was looked at. */
static void begin_sweep(struct bench *b, bool is_changed)
{
	begin_covered(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_ZONES, .is_changed = is_changed});
	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_TZ_VERSIONS);
}

static void answer_versions(struct bench *b, const char *const *versions, size_t count)
{
	struct belfry_schedule_row rows[4] = {{.id = {NULL, 0}}};

	for (size_t i = 0; i < count; i++) {
		rows[i].tz_version = bf_str(versions[i]);
	}
	answer_rows(b, rows, count, BELFRY_TIME_NEVER);
}

static void asks_for(const struct bench *b, const char *version, const char *after)
{
	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_SCHEDULES);
	assert_true(bf_str_equal(b->orders.list->tz_version, bf_str(version)));
	assert_true(bf_str_equal(b->orders.list->after_text, bf_str(after)));
}

static void a_sweep_goes_through_the_rows_of_each_older_version_page_by_page(void **state)
{
	static const char *const versions[] = {NEW, "unknown", OLD, "2025c"};
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct bf_buf elsewhere = daily_in("Test/Elsewhere");
	struct belfry_schedule_row first[] = {row_of(b, "a", 0), row_of(b, "b", 0)};
	struct belfry_schedule_row second[] = {row_of(b, "c", 0)};

	first[1].definition = bf_buf_str(&elsewhere); /* no zone of ours: left to others */
	begin_sweep(b, false);
	answer_versions(b, versions, 4);
	asks_for(b, "2025c", "");
	b->orders.list->has_more = true;
	answer_rows(b, first, 2, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->item_count, 1);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_true(bf_str_equal(item->schedule, BF_STR("a")));
	assert_int_equal(item->expect_version, 7);
	assert_int_equal(item->run_count, 0);
	assert_true(item->cursor == at_time(7, 0, 0)); /* past: the next pass finds it owed */
	assert_true(bf_str_equal(item->tz_version, BF_STR(NEW)));
	assert_true(item->decided_due == first[0].decided_due);
	answer_commit(b, BELFRY_OK);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_DUE); /* by turns */
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	asks_for(b, "2025c", "b");
	answer_rows(b, second, 1, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_TZ_VERSIONS);
	answer_versions(b, versions, 3);
	asks_for(b, OLD, "");
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_TZ_VERSIONS);
	answer_versions(b, versions, 2); /* the first sweep takes what cannot be compared, too */
	asks_for(b, "unknown", "");
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_versions(b, versions, 2);
	assert_null(b->orders.list); /* it is over */
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_ZONES});
	answer_versions(b, versions, 2); /* and no later one */
	assert_null(b->orders.list);
	bf_buf_fini(&elsewhere);
}

/* Under an equal version text, or none that can be compared, the row's own local time tells. */
static void a_cursor_that_our_zones_read_otherwise_is_computed_anew_before_it_fires(void **state)
{
	static const char *const versions[] = {NEW, "unknown"};
	struct plan *p = *state;
	struct bench *b = &p->bench;

	b->store_now = at_time(8, 0, 0);
	begin_covered(b);
	for (size_t i = 0; i < BF_COUNT(versions); i++) {
		struct belfry_schedule_row rows[] = {row_of(b, "a", 0)};
		rows[0].tz_version = bf_str(versions[i]);
		answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
		const struct belfry_advance_item *item = &b->orders.advance->items[0];
		assert_int_equal(item->run_count, 1);
		assert_true(item->runs[0].due_at == at_time(7, 0, 0));
		/* Fired as it stood, 08:00Z would have been followed by 09:00 of the same day. */
		assert_true(item->cursor == at_time(24 + 7, 0, 0));
		assert_true(item->decided_local == at_time(9, 0, 0));
		answer_commit(b, BELFRY_OK);
		pass_time(b, TICK);
		b->store_now = at_time(8, 0, 0); /* an hour is not too late */
		wake(b);
	}
	/* Of a row that says no local time nothing is known. */
	struct belfry_schedule_row silent[] = {row_of(b, "a", 0)};
	silent[0].tz_version = BF_STR(NEW);
	silent[0].cursor_local = 0;
	answer_rows(b, silent, 1, BELFRY_TIME_NEVER);
	assert_true(b->orders.advance->items[0].runs[0].due_at == at_time(8, 0, 0));
	answer_commit(b, BELFRY_OK);
}

/* A database without a version cannot tell what has changed while nobody ran, nor whether an earlier sweep
 * came to its end: all rows are read, and those that move are written. */
static void a_start_without_a_version_goes_through_all_rows_once(void **state)
{
	static const char *const versions[] = {OLD, "unknown"};
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct bf_planner_config config = {.zones = p->d->zones[1],
			.tz_version = "unknown",
			.tick = TICK,
			.seed = 1};
	struct belfry_schedule_row rows[] = {row_of(b, "moves", 0), row_of(b, "stays", 1)};

	bf_planner_free(b->planner);
	assert_int_equal(bf_planner_new(&config, &b->planner), BELFRY_OK);
	rows[0].tz_version = rows[1].tz_version = BF_STR("unknown");
	begin_sweep(b, false);
	answer_versions(b, versions, 2);
	asks_for(b, OLD, "");
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_versions(b, versions, 2);
	asks_for(b, "unknown", "");
	answer_rows(b, rows, 2, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->item_count, 1);
	assert_true(bf_str_equal(b->orders.advance->items[0].schedule, BF_STR("moves")));
	assert_true(b->orders.advance->items[0].cursor == at_time(7, 0, 0));
	answer_commit(b, BELFRY_CONFLICT); /* it begins again, and stays the first one */
	pass_time(b, BELFRY_SECOND);
	wake(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_versions(b, versions + 1, 1);
	asks_for(b, "unknown", "");
	answer_rows(b, rows, 2, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_versions(b, versions, 2);
	assert_null(b->orders.list);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_ZONES});
	answer_versions(b, versions, 2);
	assert_null(b->orders.list);
}

static void a_page_that_met_a_conflict_is_gone_through_again(void **state)
{
	static const char *const versions[] = {OLD};
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct belfry_schedule_row rows[] = {row_of(b, "a", 0)};

	begin_sweep(b, false);
	answer_versions(b, versions, 1);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_CONFLICT);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_TZ_VERSIONS);
	answer_versions(b, versions, 1);
	asks_for(b, OLD, "");
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_versions(b, NULL, 0);
	assert_null(b->orders.list);
}

struct turns {
	struct bf_plan_request requests[60];
	size_t posted;
	int counts[3]; /* passes: requested, due, of the sweep */
};

/* A pass of whatever kind, of a sweep without end, with the next request there before it is over. */
static void take_turn(struct bench *b, struct turns *t)
{
	static const char *const versions[] = {OLD};
	struct bf_plan_request *request = &t->requests[t->posted++];
	struct belfry_schedule_row due[] = {row_of(b, "due", 1)};
	struct belfry_list *list = b->orders.list;
	bool is_requested = list->kind == BELFRY_LIST_SCHEDULES && list->id_count > 0;
	bool is_due = list->kind == BELFRY_LIST_DUE;

	pass_time(b, 10 * BELFRY_MILLISECOND);
	*request = put_of(b, "a", (int64_t)t->posted, BELFRY_SCHEDULE_F_ENABLED, &b->definition);
	post(b, request);
	b->orders.list = list;
	t->counts[is_requested ? 0 : is_due ? 1 : 2]++;
	if (list->kind == BELFRY_LIST_TZ_VERSIONS) {
		answer_versions(b, versions, 1);
	} else {
		list->has_more = true;
		answer_rows(b, due, is_requested ? 0 : 1, BELFRY_TIME_NEVER);
	}
	if (b->orders.advance != NULL) {
		answer_commit(b, BELFRY_OK);
	}
}

static void requests_what_is_due_and_a_sweep_take_turns(void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct turns t = {.posted = 0};

	begin_sweep(b, false);
	tickets(b, 1, 1000);
	for (size_t i = 0; i < BF_COUNT(t.requests); i++) {
		assert_non_null(b->orders.list);
		take_turn(b, &t);
	}
	for (size_t i = 0; i < BF_COUNT(t.counts); i++) {
		assert_true(t.counts[i] >= (int)BF_COUNT(t.requests) / 5);
	}
}

/* A reload whose version text did not change is told by no row: all of ours are gone through, once. */
static void after_a_change_rows_of_our_own_version_are_computed_anew_too(void **state)
{
	static const char *const versions[] = {NEW, "2027a"};
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct belfry_schedule_row rows[] = {row_of(b, "a", 1)};

	belfry_rule_free(rule_in(p->d->zones[1], "0 9 * * *", "Test/Zone", BELFRY_DST_FOLD_FIRST));
	tz_folder_put(&p->d->folders[1], "Etc/GMT-1", NEW); /* other content under the same name */
	begin_covered(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	bool is_changed = false;
	assert_int_equal(belfry_zones_refresh(p->d->zones[1], &is_changed, NULL), BELFRY_OK);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_ZONES, .is_changed = true});
	answer_versions(b, versions, 2); /* what is newer than ours is not ours to compute */
	asks_for(b, NEW, "");
	rows[0].cursor = at_time(24 + 7, 0, 0);
	rows[0].decided_due = at_time(7, 0, 0);
	rows[0].decided_local = at_time(9, 0, 0);
	/* The rule is made anew: what was kept knows the old clocks. */
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_true(b->orders.advance->items[0].cursor == at_time(24 + 8, 0, 0));
	answer_commit(b, BELFRY_OK);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_versions(b, versions, 2);
	assert_null(b->orders.list);
	/* Once: the next look asks for versions alone. */
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_ZONES});
	answer_versions(b, versions, 2);
	assert_null(b->orders.list);
	assert_true(is_changed);
}

static void a_run_that_is_planned_after_a_reload_carries_the_new_version(void **state)
{
	struct plan *p = *state;
	struct bench *b = &p->bench;
	struct belfry_schedule_row rows[] = {row_of(b, "a", 1)};

	begin_covered(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_true(bf_str_equal(b->orders.advance->items[0].tz_version, BF_STR(NEW)));
	answer_commit(b, BELFRY_OK);
	tz_folder_put(&p->d->folders[1], "Etc/GMT-2", "2026c");
	assert_int_equal(belfry_zones_refresh(p->d->zones[1], NULL, NULL), BELFRY_OK);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->items[0].run_count, 1);
	assert_true(bf_str_equal(b->orders.advance->items[0].tz_version, BF_STR("2026c")));
	answer_commit(b, BELFRY_OK);
}

#define CALENDAR(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define PLAN(name)     cmocka_unit_test_setup_teardown(name, begin_plan, end_plan)

int run_zones_tests(void)
{
	const struct CMUnitTest tests[] = {
			CALENDAR(a_fixed_time_that_moves_earlier_is_due_earlier),
			CALENDAR(a_fixed_time_that_moves_later_is_due_later_and_not_twice),
			CALENDAR(what_repeats_by_itself_goes_on_after_now),
			CALENDAR(hours_of_an_interval_move_with_their_zone),
			CALENDAR(an_instant_stays_and_a_local_moment_moves),
			CALENDAR(a_listed_local_time_is_due_once),
			CALENDAR(exceptions_are_taken_out_by_the_newer_database),
			CALENDAR(a_union_goes_on_with_whatever_comes_first),
			CALENDAR(a_window_that_has_closed_by_the_newer_database_leaves_nothing),
			CALENDAR(of_a_row_that_does_not_say_what_was_decided_the_rest_is_after_now),
			CALENDAR(where_both_databases_agree_nothing_moves),
			PLAN(a_due_row_of_an_older_database_is_computed_anew_in_the_commit_that_fires),
			PLAN(a_row_of_a_newer_database_is_fired_as_it_stands_and_its_local_time_is_spent),
			PLAN(a_local_time_that_only_we_have_behind_us_is_left_to_the_newer_database),
			PLAN(a_due_time_that_moved_later_is_not_fired_now),
			PLAN(a_put_settles_by_our_own_database),
			PLAN(a_sweep_goes_through_the_rows_of_each_older_version_page_by_page),
			PLAN(a_page_that_met_a_conflict_is_gone_through_again),
			PLAN(a_cursor_that_our_zones_read_otherwise_is_computed_anew_before_it_fires),
			PLAN(a_start_without_a_version_goes_through_all_rows_once),
			PLAN(requests_what_is_due_and_a_sweep_take_turns),
			PLAN(after_a_change_rows_of_our_own_version_are_computed_anew_too),
			PLAN(a_run_that_is_planned_after_a_reload_carries_the_new_version),
	};
	return cmocka_run_group_tests_name("zones", tests, NULL, NULL);
}

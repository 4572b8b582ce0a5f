/* Create, start, stop; the configuration; the provider `none`. */
#include "cases.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host.h"

static int set_up(void **state)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, false);
	*state = shelf;
	return 0;
}

static int tear_down(void **state)
{
	shelf_fini(*state);
	bf_free(*state);
	return 0;
}

static void check_remedies(const struct belfry_error *err)
{
	assert_non_null(strstr(err->message, "another provider"));
	assert_non_null(strstr(err->message, "none"));
}

static enum belfry_status open_with(const struct belfry_provider_options *engine, const char *store,
		const char *provider, struct belfry_error *err)
{
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_scheduler *scheduler = NULL;

	if (engine != NULL) {
		options.engine = *engine;
	}
	options.store = store;
	options.provider = provider;
	enum belfry_status status = belfry_scheduler_open(&options, &scheduler, err);
	assert_int_equal(status == BELFRY_OK, scheduler != NULL);
	belfry_scheduler_close(scheduler);
	return status;
}

static void t075_b23_without_a_store_both_remedies_are_named(void **state)
{
	struct belfry_provider_options options = host_options();
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(open_with(&options, NULL, NULL, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, "needs a store"));
	check_remedies(&err);
}

/* What stands in the way is named, whichever it is. */
static void t075_b23_a_store_that_cannot_be_used_is_named_with_both_remedies(void **state)
{
	static const char *const rows[][2] = {
			{"sqlite:/nowhere/at/all/belfry.db", "folder cannot be used"},
			{"sqlite:", "names no file"},
			{"sqlite:/proc/version", "cannot be used"},
			{"redis:here", "no such store"},
			{"postgresql://h/d", "PostgreSQL"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_error err = {0};
		assert_int_equal(open_with(NULL, rows[i][0], NULL, &err), BELFRY_CONFIGURATION);
		if (strstr(err.message, rows[i][1]) == NULL) {
			fail_msg("%s: %s", rows[i][0], err.message);
		}
		check_remedies(&err);
	}
}

static void b23_options_that_cannot_be_are_refused_by_name(void **state)
{
	struct shelf *shelf = *state;
	struct belfry_provider_options options[9];
	static const char *const words[BF_COUNT(options)] = {"two beats", "lease", "timeout",
			"max_active_schedules", "keep_runs", "time zone", "tick", "keep_age",
			"keep_failed_age"};
	struct belfry_error err = {0};

	for (size_t i = 0; i < BF_COUNT(options); i++) {
		options[i] = host_options();
		options[i].store = bf_store_inner(shelf->store);
	}
	options[0].lease = options[0].beat * 2 - 1;
	options[1].lease = -1;
	options[2].timeout = -1;
	options[3].max_active_schedules = -1;
	options[4].keep_runs = -1;
	options[5].tz_directory = "/nowhere/at/all";
	options[6].tick = 400 * BELFRY_DAY;
	options[7].keep_age = BELFRY_TIME_NEVER;
	options[8].keep_failed_age = INT64_MIN;
	for (size_t i = 0; i < BF_COUNT(options); i++) {
		assert_int_equal(open_with(&options[i], NULL, NULL, &err), BELFRY_CONFIGURATION);
		assert_non_null(strstr(err.message, words[i]));
		check_remedies(&err);
	}
}

static void b23_an_unknown_provider_names_both_remedies(void **state)
{
	const struct belfry_provider_ops *ops = NULL;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(open_with(NULL, "memory:", "mine", &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, "mine"));
	assert_non_null(strstr(err.message, "embedded"));
	assert_non_null(strstr(err.message, "none"));
	assert_int_equal(bf_provider_find(BF_STR("embedded"), &ops, &err), BELFRY_OK);
	assert_ptr_equal(ops, &bf_embedded_provider_ops);
}

/* What a program has not set, it does not have to know: zeros and the sizes are enough. */
static void options_of_zeros_and_of_an_older_program_are_taken(void **state)
{
	struct belfry_scheduler_options zeros = {.size = sizeof(zeros), .store = "memory:"};
	struct belfry_scheduler_options older = zeros;
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(belfry_scheduler_open(&zeros, &scheduler, &err), BELFRY_OK);
	belfry_scheduler_close(scheduler);
	older.engine.size = offsetof(struct belfry_provider_options, keep_age);
	older.engine.keep_age = -1; /* not of that program's struct */
	assert_int_equal(belfry_scheduler_open(&older, &scheduler, &err), BELFRY_OK);
	belfry_scheduler_close(scheduler);
	zeros.size = 0;
	assert_int_equal(belfry_scheduler_open(&zeros, &scheduler, &err), BELFRY_CONFIGURATION);
	assert_int_equal(belfry_scheduler_open(NULL, &scheduler, &err), BELFRY_CONFIGURATION);
	zeros.size = sizeof(zeros);
	assert_int_equal(belfry_scheduler_open(&zeros, NULL, &err), BELFRY_INVALID);
	zeros.engine.size = sizeof(zeros.engine);
	zeros.engine.identity = BF_STR("caf\xe9");
	assert_int_equal(belfry_scheduler_open(&zeros, &scheduler, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, "identity"));
	belfry_scheduler_close(NULL);
}

static void a_second_scheduler_on_the_file_is_told_who_has_it(void **state)
{
	struct shelf shelf;
	char url[128];
	struct belfry_error err = {0};

	(void)state;
	shelf_init(&shelf, true);
	(void)snprintf(url, sizeof(url), "sqlite:%s/belfry.db", shelf.folder);
	assert_int_equal(open_with(NULL, url, NULL, &err), BELFRY_BUSY);
	assert_non_null(strstr(err.message, "test")); /* the shelf's owner */
	bf_store_close(shelf.store);
	shelf.store = NULL;
	assert_int_equal(open_with(NULL, url, NULL, &err), BELFRY_OK);
	assert_int_equal(open_with(NULL, url, NULL, &err), BELFRY_OK); /* it was let go */
	shelf_fini(&shelf);
}

static void t083_a_foreign_or_partial_table_is_refused(void **state)
{
	struct belfry_provider_ops ops = bf_embedded_provider_ops;
	struct belfry_error err = {0};

	(void)state;
	ops.seams_abi++;
	assert_int_equal(bf_provider_check_ops(&ops, &err), BELFRY_CONFIGURATION);
	check_remedies(&err);
	ops = bf_embedded_provider_ops;
	ops.enqueue = NULL;
	assert_int_equal(bf_provider_check_ops(&ops, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, "enqueue"));
	check_remedies(&err);
	ops = bf_embedded_provider_ops;
	ops.name = "";
	assert_int_equal(bf_provider_check_ops(&ops, &err), BELFRY_CONFIGURATION);
	ops = bf_embedded_provider_ops;
	ops.size = offsetof(struct belfry_provider_ops, get_run);
	assert_int_equal(bf_provider_check_ops(&ops, &err), BELFRY_CONFIGURATION);
	assert_int_equal(bf_provider_check_ops(NULL, &err), BELFRY_CONFIGURATION);
}

static void t085_none_starts_and_refuses_what_needs_an_engine(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_schedule schedule = schedule_of("a", 1, "* * * * *");
	struct belfry_run_query query = {.size = sizeof(query), .limit = 1};
	struct host *host = host_new(*state); /* its handler is borrowed */
	struct belfry_error err = {0};

	options.provider = "none";
	assert_int_equal(belfry_scheduler_open(&options, &scheduler, &err), BELFRY_OK);
	assert_string_equal(belfry_scheduler_properties(scheduler)->name, "none");
	assert_int_equal(belfry_scheduler_start(scheduler, &host->handler, &err), BELFRY_OK);
	assert_int_equal(belfry_scheduler_apply(scheduler, &schedule, &err), BELFRY_CANNOT);
	assert_non_null(strstr(err.message, "embedded"));
	assert_int_equal(belfry_scheduler_list_runs(scheduler, &query, &arena, &err),
			BELFRY_CANNOT);
	assert_int_equal(belfry_scheduler_remove(scheduler, BF_STR("a"), 2, &err), BELFRY_OK);
	assert_int_equal(belfry_scheduler_cancel(scheduler, (struct belfry_id){{1}}, BF_STR(""),
					 &err),
			BELFRY_CANNOT);
	assert_int_equal(belfry_scheduler_stop(scheduler, 0, &err), BELFRY_OK);
	belfry_scheduler_close(scheduler);
	host_free(host, 0);
}

/* ---- T086 ---- */

struct log {
	size_t lines;
	char last[200];
};

static void keep_properties(void *data, int level, const char *line)
{
	struct log *log = data;

	(void)level;
	if (strstr(line, "what=provider") != NULL) {
		log->lines++;
		(void)snprintf(log->last, sizeof(log->last), "%s", line);
	}
}

static void t086_the_properties_are_logged_once_and_kept(void **state)
{
	struct shelf *shelf = *state;
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_scheduler *scheduler = NULL;
	struct host *host = host_new(shelf); /* its handler is borrowed */
	struct log log = {0};

	options.engine.store = bf_store_inner(shelf->store);
	options.engine.max_active_schedules = 7;
	options.engine.log = keep_properties;
	options.engine.log_data = &log;
	assert_int_equal(belfry_scheduler_open(&options, &scheduler, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_start(scheduler, &host->handler, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_start(scheduler, &host->handler, NULL), BELFRY_OK);
	const struct belfry_properties *p = belfry_scheduler_properties(scheduler);
	assert_string_equal(p->name, "embedded");
	assert_int_equal(p->recovery_scope, BELFRY_RECOVERY_CLUSTER);
	assert_int_equal(p->max_active_schedules, 7);
	assert_int_equal(p->pause_visibility, 0);
	assert_ptr_equal(p, belfry_scheduler_properties(scheduler));
	assert_int_equal(belfry_scheduler_stop(scheduler, 0, NULL), BELFRY_OK);
	assert_int_equal(log.lines, 1);
	assert_string_equal(log.last,
			"what=provider name=embedded recovery_scope=cluster max_active_schedules=7 "
			"pause_visibility_seconds=0");
	belfry_scheduler_close(scheduler);
	host_free(host, 0);
}

static void a_provider_that_was_never_started_stops_and_goes(void **state)
{
	host_free(host_new(*state), 0);
}

static void *start_main(void *data)
{
	host_start(data);
	return NULL;
}

static void t082_starts_at_once_make_one_dispatcher(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	pthread_t threads[4];

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(threads); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, start_main, host), 0);
	}
	for (size_t i = 0; i < BF_COUNT(threads); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	host_start(host);
	struct belfry_id run = host_run_now(host, "a");
	wait_until(host, run_is_over, &run, "the Run is dispatched");
	assert_int_equal(host_calls_of(host, run, BELFRY_STEP_SESSION, NULL), 1);
	assert_int_equal(host_calls_of(host, run, BELFRY_STEP_TURN, NULL), 1);
	host_free(host, 0);
}

static void a_start_without_a_whole_handler_is_refused_and_can_be_repeated(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_handler half = host->handler;

	half.admit_turn = NULL;
	assert_int_equal(belfry_scheduler_start(host->scheduler, &half, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_start(host->scheduler, NULL, NULL), BELFRY_INVALID);
	host_start(host);
	host_free(host, 0);
}

static void t080_stop_during_a_hanging_call_ends_in_time_and_the_run_is_resumable(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");

	host_behave(host, HOLD_SESSION);
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	struct belfry_id run = host_run_now(host, "a");
	wait_until(host, run_is_held, &run, "the call is open");
	belfry_time before = now_wall();
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 300 * BELFRY_MILLISECOND, NULL),
			BELFRY_BUSY);
	assert_true(now_wall() - before < 20 * BELFRY_SECOND);
	assert_int_equal(host->cancel_count, 1);
	/* Handed back: waiting, as if it had not been tried. */
	struct belfry_run r = host_run(host, run, &arena);
	assert_int_equal(r.state, BELFRY_RUN_QUEUED);
	assert_int_equal(r.attempt, 0);
	assert_int_equal(r.takeovers, 0);
	/* What is answered now is too late, and BUSY goes on until it was answered. */
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 0, NULL), BELFRY_BUSY);
	struct belfry_reply *reply = host->held[0];
	host->held_count = 0;
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_STALE);
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 0, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_start(host->scheduler, &host->handler, NULL),
			BELFRY_INVALID);
	host_free(host, 0);
	host = host_new(*state);
	host_start(host);
	wait_until(host, run_is_over, &run, "the next start dispatches it");
	host_free(host, 0);
}

struct users {
	struct host *host;
	unsigned held;
	unsigned released;
};

static void hold_it(void *data)
{
	((struct users *)data)->held++;
}

static void release_it(void *data)
{
	((struct users *)data)->released++;
}

static void never_called(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	(void)data;
	(void)invocation;
	(void)belfry_reply_permanent(&reply, BELFRY_RUN_ERROR_NONE, BF_STR(""), BF_STR(""));
}

static void never_admitted(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	(void)session;
	never_called(data, invocation, reply);
}

static void a_handler_is_held_from_the_start_to_the_stop_or_the_close(void **state)
{
	struct users users = {0};
	struct belfry_handler handler = {.size = sizeof(handler),
			.data = &users,
			.start_session = never_called,
			.admit_turn = never_admitted,
			.hold = hold_it};
	struct host *host = host_new(*state);

	assert_int_equal(belfry_scheduler_start(host->scheduler, &handler, &host->err),
			BELFRY_INVALID);
	assert_non_null(strstr(host->err.message, "release"));
	handler.release = release_it;
	assert_int_equal(belfry_scheduler_start(host->scheduler, &handler, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_start(host->scheduler, &handler, NULL), BELFRY_OK);
	assert_int_equal(users.held, 1);
	assert_int_equal(users.released, 0);
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 0, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 0, NULL), BELFRY_OK);
	assert_int_equal(users.released, 1);
	host_free(host, 0);
	assert_int_equal(users.released, 1);
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_scheduler *scheduler = NULL;
	options.store = "memory:";
	assert_int_equal(belfry_scheduler_open(&options, &scheduler, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_start(scheduler, &handler, NULL), BELFRY_OK);
	belfry_scheduler_close(scheduler);
	assert_int_equal(users.held, 2);
	assert_int_equal(users.released, 2);
}

static void options_of_the_engine_without_a_size_are_not_dropped(void **state)
{
	struct belfry_scheduler_options options = {.size = sizeof(options), .store = "memory:"};
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_error err = BELFRY_ERROR_INIT;

	(void)state;
	assert_int_equal(belfry_scheduler_open(&options, &scheduler, &err), BELFRY_OK);
	belfry_scheduler_close(scheduler);
	options.engine.max_concurrent = 3;
	for (size_t size = 0; size < sizeof(size); size++) {
		options.engine.size = size;
		assert_int_equal(belfry_scheduler_open(&options, &scheduler, &err),
				BELFRY_CONFIGURATION);
		assert_non_null(strstr(err.message, "options.engine"));
	}
	options.engine.size = sizeof(options.engine);
	assert_int_equal(belfry_scheduler_open(&options, &scheduler, &err), BELFRY_OK);
	belfry_scheduler_close(scheduler);
}

static void *release_main(void *data)
{
	struct host *host = data;
	struct belfry_reply *reply = host->held[0];
	struct timespec soon = {.tv_nsec = 100 * 1000 * 1000};
	sigset_t none;

	host->held_count = 0;
	(void)sigemptyset(&none);
	(void)sigtimedwait(&none, NULL, &soon); /* the stop is under way by then, or soon */
	(void)belfry_reply_session(&reply, BF_STR("in-time"));
	return NULL;
}

static void t081_what_is_answered_during_the_stop_is_stored(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	pthread_t thread;

	host_behave(host, HOLD_SESSION);
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	struct belfry_id run = host_run_now(host, "a");
	wait_until(host, run_is_held, &run, "the call is open");
	assert_int_equal(pthread_create(&thread, NULL, release_main, host), 0);
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 20 * BELFRY_SECOND, NULL),
			BELFRY_OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	struct belfry_run r = host_run(host, run, &arena);
	assert_true(bf_str_equal(r.session, BF_STR("in-time")));
	host_free(host, 0);
}

static void stop_with_many_runs_under_way_leaves_none_with_the_dead(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");
	char name[3] = "a0";

	host_behave(host, ANSWER_THREAD);
	for (int i = 0; i < 8; i++) {
		name[1] = (char)('0' + i);
		s.id = bf_str(name);
		assert_int_equal(host_apply(host, &s), BELFRY_OK);
	}
	host_start(host);
	size_t some = 20;
	wait_until(host, has_calls, &some, "Runs come");
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 10 * BELFRY_SECOND, NULL),
			BELFRY_OK);
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};
	assert_int_equal(belfry_scheduler_metrics(host->scheduler, &metrics, NULL), BELFRY_OK);
	assert_int_equal(metrics.open[BELFRY_RUN_DISPATCHING], 0);
	assert_false(metrics.is_started);
	host_free(host, 0);
}

static void hosts_may_put_after_the_stop(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	size_t some = 2;
	wait_until(host, has_calls, &some, "Runs come");
	assert_int_equal(belfry_scheduler_stop(host->scheduler, 10 * BELFRY_SECOND, NULL),
			BELFRY_OK);
	/* A due time that passed since is owed: no beat of ours will ever decide it. */
	belfry_time stopped = now_wall();
	wait_past(host, stopped + 1100 * BELFRY_MILLISECOND);
	s.revision = 2;
	s.flags = 0;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_free(host, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void stores_of_a_later_version_are_refused_by_name(void **state)
{
	static const char *const rows[][2] = {{"postgresql://h/d", "does not offer PostgreSQL yet"},
			{"postgres://h/d", "PostgreSQL"},
			{"mongodb://h", "does not offer MongoDB yet"},
			{"mongodb+srv://h", "MongoDB"}, {"redis://h", "knows no such store"}};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		const struct belfry_store_ops *ops = NULL;
		struct belfry_error err = {0};
		assert_int_equal(bf_store_ops_find(bf_str(rows[i][0]), &ops, &err),
				BELFRY_CONFIGURATION);
		assert_non_null(strstr(err.message, rows[i][1]));
		assert_non_null(strstr(err.message, "use sqlite:PATH"));
	}
}

int run_life_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(t075_b23_without_a_store_both_remedies_are_named),
			CASE(t075_b23_a_store_that_cannot_be_used_is_named_with_both_remedies),
			CASE(b23_options_that_cannot_be_are_refused_by_name),
			CASE(options_of_zeros_and_of_an_older_program_are_taken),
			CASE(a_second_scheduler_on_the_file_is_told_who_has_it),
			CASE(b23_an_unknown_provider_names_both_remedies),
			CASE(t083_a_foreign_or_partial_table_is_refused),
			CASE(t085_none_starts_and_refuses_what_needs_an_engine),
			CASE(a_provider_that_was_never_started_stops_and_goes),
			CASE(t086_the_properties_are_logged_once_and_kept),
			CASE(t082_starts_at_once_make_one_dispatcher),
			CASE(a_start_without_a_whole_handler_is_refused_and_can_be_repeated),
			CASE(a_handler_is_held_from_the_start_to_the_stop_or_the_close),
			CASE(options_of_the_engine_without_a_size_are_not_dropped),
			CASE(t080_stop_during_a_hanging_call_ends_in_time_and_the_run_is_resumable),
			CASE(t081_what_is_answered_during_the_stop_is_stored),
			CASE(stop_with_many_runs_under_way_leaves_none_with_the_dead),
			CASE(hosts_may_put_after_the_stop),
			cmocka_unit_test(stores_of_a_later_version_are_refused_by_name),
	};
	return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}

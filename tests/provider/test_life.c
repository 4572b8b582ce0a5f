/* Create, start, stop; the configuration; the provider `none`. */
#include "cases.h"

#include <signal.h>
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

static void t075_b23_without_a_store_both_remedies_are_named(void **state)
{
	struct belfry_provider_options options = host_options();
	struct belfry_provider *provider = NULL;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(bf_embedded_provider_ops.create(&options, &provider, &err),
			BELFRY_CONFIGURATION);
	assert_null(provider);
	assert_non_null(strstr(err.message, "store"));
	check_remedies(&err);
}

static void b23_options_that_cannot_be_are_refused(void **state)
{
	struct shelf *shelf = *state;
	struct belfry_provider_options options[6];
	struct belfry_provider *provider = NULL;
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
	for (size_t i = 0; i < BF_COUNT(options); i++) {
		assert_int_equal(bf_embedded_provider_ops.create(&options[i], &provider, &err),
				BELFRY_CONFIGURATION);
		check_remedies(&err);
	}
}

static void b23_an_unknown_provider_names_both_remedies(void **state)
{
	const struct belfry_provider_ops *ops = NULL;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(bf_provider_find(BF_STR("mine"), &ops, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, "mine"));
	assert_non_null(strstr(err.message, "embedded"));
	assert_non_null(strstr(err.message, "none"));
	assert_int_equal(bf_provider_find(BF_STR("embedded"), &ops, &err), BELFRY_OK);
	assert_ptr_equal(ops, &bf_embedded_provider_ops);
}

static void t083_a_foreign_or_partial_table_is_refused(void **state)
{
	struct belfry_provider_ops ops = bf_embedded_provider_ops;
	struct belfry_error err = {0};

	(void)state;
	ops.seams_abi++;
	assert_int_equal(bf_provider_check_ops(&ops, &err), BELFRY_CONFIGURATION);
	ops = bf_embedded_provider_ops;
	ops.enqueue = NULL;
	assert_int_equal(bf_provider_check_ops(&ops, &err), BELFRY_CONFIGURATION);
	assert_int_equal(bf_provider_check_ops(NULL, &err), BELFRY_CONFIGURATION);
}

static void t085_none_starts_and_refuses_what_needs_an_engine(void **state)
{
	const struct belfry_provider_ops *ops = NULL;
	struct belfry_provider *provider = NULL;
	struct belfry_provider_options options = {.size = sizeof(options)};
	struct belfry_schedule schedule = schedule_of("a", 1, "* * * * *");
	struct belfry_handler handler = {0};
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(bf_provider_find(BF_STR("none"), &ops, &err), BELFRY_OK);
	assert_int_equal(ops->create(&options, &provider, &err), BELFRY_OK);
	assert_int_equal(ops->start(provider, &handler, &err), BELFRY_OK);
	assert_int_equal(ops->apply(provider, &schedule, &err), BELFRY_CANNOT);
	assert_int_equal(ops->remove(provider, BF_STR("a"), 2, &err), BELFRY_OK);
	assert_int_equal(ops->stop(provider, 0, &err), BELFRY_OK);
	ops->free(provider);
	ops->free(NULL);
}

static void a_provider_that_was_never_started_stops_and_goes(void **state)
{
	host_free(host_new(*state), 0);
	bf_embedded_provider_ops.free(NULL);
}

static void the_properties_are_those_of_the_store(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_properties p;

	host->provider->ops->properties(host->provider, &p);
	assert_string_equal(p.name, "embedded");
	assert_int_equal(p.recovery_scope, BELFRY_RECOVERY_CLUSTER);
	assert_int_equal(p.pause_visibility, 0);
	assert_int_equal(p.max_active_schedules, 0);
	host_free(host, 0);
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
	assert_int_equal(host->provider->ops->start(host->provider, &half, NULL), BELFRY_INVALID);
	assert_int_equal(host->provider->ops->start(host->provider, NULL, NULL), BELFRY_INVALID);
	host_start(host);
	host_free(host, 0);
}

static void t080_stop_during_a_hanging_call_ends_in_time_and_the_run_is_resumable(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	const struct belfry_provider_ops *ops = host->provider->ops;

	host_behave(host, HOLD_SESSION);
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	struct belfry_id run = host_run_now(host, "a");
	wait_until(host, run_is_held, &run, "the call is open");
	belfry_time before = now_wall();
	assert_int_equal(ops->stop(host->provider, 300 * BELFRY_MILLISECOND, NULL), BELFRY_BUSY);
	assert_true(now_wall() - before < 20 * BELFRY_SECOND);
	assert_int_equal(host->cancel_count, 1);
	/* Handed back: waiting, as if it had not been tried. */
	struct belfry_run r = host_run(host, run, &arena);
	assert_int_equal(r.state, BELFRY_RUN_QUEUED);
	assert_int_equal(r.attempt, 0);
	assert_int_equal(r.takeovers, 0);
	/* What is answered now is too late, and BUSY goes on until it was answered. */
	assert_int_equal(ops->stop(host->provider, 0, NULL), BELFRY_BUSY);
	struct belfry_reply *reply = host->held[0];
	host->held_count = 0;
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_STALE);
	assert_int_equal(ops->stop(host->provider, 0, NULL), BELFRY_OK);
	assert_int_equal(ops->start(host->provider, &host->handler, NULL), BELFRY_CANNOT);
	host_free(host, 0);
	host = host_new(*state);
	host_start(host);
	wait_until(host, run_is_over, &run, "the next start dispatches it");
	host_free(host, 0);
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
	assert_int_equal(host->provider->ops->stop(host->provider, 20 * BELFRY_SECOND, NULL),
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
	assert_int_equal(host->provider->ops->stop(host->provider, 10 * BELFRY_SECOND, NULL),
			BELFRY_OK);
	struct belfry_provider_metrics metrics;
	assert_int_equal(host->provider->ops->more->metrics(host->provider, &metrics, NULL),
			BELFRY_OK);
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
	assert_int_equal(host->provider->ops->stop(host->provider, 10 * BELFRY_SECOND, NULL),
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
			CASE(b23_options_that_cannot_be_are_refused),
			CASE(b23_an_unknown_provider_names_both_remedies),
			CASE(t083_a_foreign_or_partial_table_is_refused),
			CASE(t085_none_starts_and_refuses_what_needs_an_engine),
			CASE(a_provider_that_was_never_started_stops_and_goes),
			CASE(the_properties_are_those_of_the_store),
			CASE(t082_starts_at_once_make_one_dispatcher),
			CASE(a_start_without_a_whole_handler_is_refused_and_can_be_repeated),
			CASE(t080_stop_during_a_hanging_call_ends_in_time_and_the_run_is_resumable),
			CASE(t081_what_is_answered_during_the_stop_is_stored),
			CASE(stop_with_many_runs_under_way_leaves_none_with_the_dead),
			CASE(hosts_may_put_after_the_stop),
			cmocka_unit_test(stores_of_a_later_version_are_refused_by_name),
	};
	return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}

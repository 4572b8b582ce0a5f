/* Removals in the host: whatever fails, and wherever the host dies, a deployment that is listed has
 * its schedule, and one that is not listed is cleared away by the next reconcile. */
#include "host_cases.h"

#include "base/fault.h"
#include "base/json.h"
#include "host/deployments.h"
#include "host/runs.h"

static int setup(void **state)
{
	struct host_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	host_fixture_begin(fixture);
	host_fixture_open(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	host_fixture_end(*state);
	free(*state);
	return 0;
}

static json_t *parse(const char *text)
{
	json_t *value = NULL;

	assert_int_equal(bf_json_parse(bf_str(text), SIZE_MAX, &value, NULL), BELFRY_OK);
	return value;
}

static void create(struct host_fixture *f, char *ret_id)
{
	struct bf_deployment_view view;
	json_t *body = parse("{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":{"
			     "\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\"}}");

	assert_int_equal(bf_deployments_create(f->host, body, &view, NULL), BELFRY_OK);
	memcpy(ret_id, view.id, sizeof(view.id));
	json_decref(view.json);
	json_decref(body);
}

static size_t count_listed(struct host_fixture *f, const char *name)
{
	struct bf_deployment_query query = {.limit = 200, .name = bf_str(name)};
	json_t *list = NULL;

	assert_int_equal(bf_deployments_list(f->host, &query, &list, NULL), BELFRY_OK);
	size_t count = json_array_size(json_object_get(list, "items"));
	json_decref(list);
	return count;
}

/* What the store has, seen or not. */
static size_t count_documents(struct host_fixture *f)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query query = {.kind = BF_STR("deployment"), .limit = 200};

	assert_int_equal(bf_store_document_list(f->store, &query, &arena, NULL), BELFRY_OK);
	return query.count;
}

static void expect_nothing_left(struct host_fixture *f, const char *id)
{
	assert_int_equal(count_documents(f), 0);
	assert_null(fake_find_schedule(&f->fake, id));
}

static void restart(struct host_fixture *f)
{
	host_fixture_close(f);
	host_fixture_open(f);
}

/* Nothing that asks for a deployment finds it. */
static void expect_not_found(struct host_fixture *f, const char *id)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct bf_deployment_view view;
	struct bf_run_request request = {0};
	struct belfry_run_query runs = {.schedule = bf_str(id), .limit = 1};
	struct belfry_why why;
	struct belfry_why *items;
	size_t count;
	json_t *patch = parse("{\"prompt\":\"x\"}");
	struct belfry_str text = bf_str(id);

	assert_int_equal(bf_deployments_show(f->host, text, &view, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(bf_deployments_check_id(f->host, text, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(bf_deployments_edit(f->host, text, 0, patch, &view, NULL),
			BELFRY_NOT_FOUND);
	assert_int_equal(bf_deployments_edit(f->host, text, 1, patch, &view, NULL),
			BELFRY_NOT_FOUND);
	assert_int_equal(bf_deployments_enable(f->host, text, 0, true, BF_STR(""), &view, NULL),
			BELFRY_NOT_FOUND);
	assert_int_equal(bf_runs_trigger(f->host, text, &request, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(bf_runs_list(f->host, &runs, &arena, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(bf_runs_why(f->host, text, 0, &arena, &why, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(bf_runs_list_due(f->host, text, 0, BELFRY_TIME_NEVER, 1, &arena, &items,
					 &count, NULL),
			BELFRY_NOT_FOUND);
	assert_int_equal(count_listed(f, ""), 0);
	assert_int_equal(count_listed(f, "a"), 0);
	json_decref(patch);
}

/* --- a provider that fails --- */

static void b01_a_removal_that_the_provider_fails_hides_and_frees_the_name(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char other[BELFRY_ID_TEXT_BYTES];

	create(f, id);
	f->fake.fails[FAKE_REMOVE] = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 1, NULL), BELFRY_UNAVAILABLE);
	expect_not_found(f, id);
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 1, NULL), BELFRY_UNAVAILABLE);
	create(f, other); /* of the same name */
	f->fake.fails[FAKE_REMOVE] = BELFRY_OK;
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 1, NULL), BELFRY_OK);
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_NOT_FOUND);
	assert_null(fake_find_schedule(&f->fake, id));
	assert_non_null(fake_find_schedule(&f->fake, other));
	assert_int_equal(count_documents(f), 1);
}

static void b01_a_removal_that_the_provider_failed_is_finished_by_the_next_reconcile(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	create(f, id);
	f->fake.fails[FAKE_REMOVE] = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_UNAVAILABLE);
	/* The stream is without it, so its schedule goes; the record waits for the provider. */
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_null(fake_find_schedule(&f->fake, id));
	assert_int_equal(count_documents(f), 1);
	assert_true(host_fixture_has_logged(f, "event=removal_unfinished"));
	f->fake.fails[FAKE_REMOVE] = BELFRY_OK;
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	expect_nothing_left(f, id);
}

static void a_removal_of_another_revision_marks_nothing(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	create(f, id);
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 2, NULL), BELFRY_PRECONDITION);
	assert_int_equal(count_listed(f, "a"), 1);
	assert_non_null(fake_find_schedule(&f->fake, id));
}

/* --- what stays --- */

static size_t count_runs(struct host_fixture *f, const char *id, uint32_t statuses)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run_query query = {.schedule = bf_str(id), .statuses = statuses, .limit = 9};

	assert_int_equal(bf_runs_list(f->host, &query, &arena, NULL), BELFRY_OK);
	return query.count;
}

static void t078_the_runs_of_a_deleted_deployment_stay_listed(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	struct bf_run_request request = {0};

	create(f, id);
	assert_int_equal(bf_runs_trigger(f->host, bf_str(id), &request, NULL), BELFRY_OK);
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_OK);
	assert_int_equal(count_runs(f, id, 0), 1);
	assert_int_equal(count_runs(f, id, 1u << BELFRY_STATUS_FAILED), 0); /* found, none such */
	assert_int_equal(count_runs(f, "", 0), 1);
	assert_int_equal(bf_runs_trigger(f->host, bf_str(id), &request, NULL), BELFRY_NOT_FOUND);
}

/* --- a host that dies between the steps --- */

static void b01_a_death_behind_the_mark_leaves_nothing_after_the_next_start(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	create(f, id);
	f->fake.fails[FAKE_REMOVE] = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_UNAVAILABLE);
	f->fake.fails[FAKE_REMOVE] = BELFRY_OK;
	restart(f);
	expect_nothing_left(f, id);
}

/* The calls of a removal: read, mark, (provider), remove the record. */
static void b01_a_death_before_the_record_goes_leaves_nothing_after_the_next_start(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	create(f, id);
	bf_fault_arm(bf_store_fault_before(f->store), 3, 1);
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_OK);
	assert_int_equal(bf_fault_fired(bf_store_fault_before(f->store)), 1);
	bf_fault_arm(bf_store_fault_before(f->store), 0, 0);
	assert_int_equal(count_documents(f), 1);
	expect_not_found(f, id);
	restart(f);
	expect_nothing_left(f, id);
}

/* From the `first` call on the store answers nothing, as for one who is dead. */
static bool remove_and_die(struct host_fixture *f, struct bf_fault *fault, int64_t first)
{
	char id[BELFRY_ID_TEXT_BYTES];

	create(f, id);
	bf_fault_arm(fault, first, 1000);
	enum belfry_status status = bf_deployments_remove(f->host, bf_str(id), 0, NULL);
	bool has_fired = bf_fault_fired(fault) > 0;
	bf_fault_arm(fault, 0, 0);
	size_t listed = count_listed(f, "");
	assert_int_equal(count_listed(f, "a"), listed);
	assert_true(status != BELFRY_OK || listed == 0);
	/* What is listed fires, before and after the next start. */
	assert_true(listed == 0 || fake_find_schedule(&f->fake, id) != NULL);
	restart(f);
	assert_int_equal(count_listed(f, ""), listed);
	if (listed == 1) {
		assert_non_null(fake_find_schedule(&f->fake, id));
		assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_OK);
	}
	expect_nothing_left(f, id);
	return has_fired;
}

static void b01_a_removal_that_ends_at_any_call_is_whole_or_not_at_all(void **state)
{
	struct host_fixture *f = *state;
	struct bf_fault *faults[] = {bf_store_fault_before(f->store),
			bf_store_fault_after(f->store)};

	for (size_t kind = 0; kind < BF_COUNT(faults); kind++) {
		bool has_fired = true;
		for (int64_t first = 1; has_fired; first++) {
			has_fired = remove_and_die(f, faults[kind], first);
			fake_provider_forget(&f->fake);
		}
	}
}

/* An apply whose answer was lost, and then no provider and a store that keeps the record: the record
 * that stays is one that the next reconcile can carry out. */
static void t090_a_create_that_cannot_be_undone_is_listed_and_fires(void **state)
{
	struct host_fixture *f = *state;
	struct bf_deployment_view view;
	json_t *body = parse("{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":{"
			     "\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\"}}");

	f->fake.fails[FAKE_APPLY] = BELFRY_UNKNOWN;
	bf_fault_arm(bf_store_fault_before(f->store), 2, 1); /* put, remove */
	assert_int_not_equal(bf_deployments_create(f->host, body, &view, NULL), BELFRY_OK);
	bf_fault_arm(bf_store_fault_before(f->store), 0, 0);
	assert_int_equal(count_listed(f, "a"), 1);
	f->fake.fails[FAKE_APPLY] = BELFRY_OK;
	restart(f);
	assert_int_equal(f->fake.schedule_count, 1);
	assert_false(f->fake.schedules[0].is_removed);
	json_decref(body);
}

/* --- a removal and edits at once, in one process and in two --- */

struct editor {
	struct bf_host *host;
	const char *id;
	enum belfry_status last;
};

static void *edit_until_it_is_gone(void *data)
{
	struct editor *editor = data;
	json_t *patch = parse("{\"prompt\":\"x\"}");

	do {
		struct bf_deployment_view view = {0};
		editor->last = bf_deployments_edit(editor->host, bf_str(editor->id), 0, patch,
				&view, NULL);
		json_decref(view.json);
	} while (editor->last == BELFRY_OK || editor->last == BELFRY_CONFLICT);
	json_decref(patch);
	return NULL;
}

static struct bf_host *second_host(struct host_fixture *f)
{
	struct bf_host *host = NULL;
	struct bf_host_options options = {
			.size = sizeof(options),
			.env = &f->env,
			.scheduler = f->scheduler,
			.store = f->store,
			.zones = f->zones,
			.settings = &f->settings,
			.version = "0.1.0",
	};

	assert_int_equal(bf_host_new(&options, &host, NULL), BELFRY_OK);
	return host;
}

static void t092_a_removal_that_races_an_edit_leaves_no_schedule(void **state)
{
	struct host_fixture *f = *state;
	struct bf_host *other = second_host(f);

	for (int round = 0; round < 60; round++) {
		char id[BELFRY_ID_TEXT_BYTES];
		pthread_t threads[2];
		enum belfry_status status;
		create(f, id);
		struct editor editors[] = {{.host = f->host, .id = id}, {.host = other, .id = id}};
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(pthread_create(&threads[i], NULL, edit_until_it_is_gone,
							 &editors[i]),
					0);
		}
		do {
			status = bf_deployments_remove(round % 2 == 0 ? f->host : other, bf_str(id),
					0, NULL);
		} while (status == BELFRY_CONFLICT);
		assert_int_equal(status, BELFRY_OK);
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			assert_int_equal(editors[i].last, BELFRY_NOT_FOUND);
		}
		expect_nothing_left(f, id);
		fake_provider_forget(&f->fake);
	}
	bf_host_free(other);
}

int run_removal_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(b01_a_removal_that_the_provider_fails_hides_and_frees_the_name),
			CASE(b01_a_removal_that_the_provider_failed_is_finished_by_the_next_reconcile),
			CASE(a_removal_of_another_revision_marks_nothing),
			CASE(t078_the_runs_of_a_deleted_deployment_stay_listed),
			CASE(b01_a_death_behind_the_mark_leaves_nothing_after_the_next_start),
			CASE(b01_a_death_before_the_record_goes_leaves_nothing_after_the_next_start),
			CASE(b01_a_removal_that_ends_at_any_call_is_whole_or_not_at_all),
			CASE(t090_a_create_that_cannot_be_undone_is_listed_and_fires),
			CASE(t092_a_removal_that_races_an_edit_leaves_no_schedule),
#undef CASE
	};

	return cmocka_run_group_tests_name("removal", tests, NULL, NULL);
}

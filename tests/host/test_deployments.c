/* Deployments in the host: the start, two editors at once, and what is left when the store or
 * memory fails in the middle. */
#include "host_cases.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/json.h"
#include "host/deployments.h"
#include "host/merge_patch.h"

static const char body_text[] =
		"{\"name\":\"%s\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":{\"kind\":\"webhook\","
		"\"url\":\"https://hooks.example.org/x\"}}";

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

static json_t *body_of(const char *name)
{
	char text[400];

	(void)snprintf(text, sizeof(text), body_text, name);
	return parse(text);
}

static void create(struct host_fixture *f, const char *name, char *ret_id)
{
	struct bf_deployment_view view;
	json_t *body = body_of(name);
	struct belfry_error err = {0};

	if (bf_deployments_create(f->host, body, &view, &err) != BELFRY_OK) {
		fail_msg("%s | %s", err.message, err.detail);
	}
	memcpy(ret_id, view.id, sizeof(view.id));
	json_decref(view.json);
	json_decref(body);
}

static size_t count_records(struct host_fixture *f)
{
	struct bf_deployment_query query = {.limit = 200};
	json_t *list = NULL;

	assert_int_equal(bf_deployments_list(f->host, &query, &list, NULL), BELFRY_OK);
	size_t count = json_array_size(json_object_get(list, "items"));
	json_decref(list);
	return count;
}

static size_t count_schedules(struct host_fixture *f)
{
	size_t count = 0;

	for (size_t i = 0; i < f->fake.schedule_count; i++) {
		count += f->fake.schedules[i].is_removed ? 0 : 1;
	}
	return count;
}

/* --- start --- */

static void t076_a_start_hands_over_every_record_in_the_order_of_ids(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char name[20];
	struct bf_deployment_view view;

	for (int i = 0; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		create(f, name, id);
	}
	assert_int_equal(bf_deployments_enable(f->host, bf_str(id), 0, false, BF_STR("x"), &view,
					 NULL),
			BELFRY_OK);
	json_decref(view.json);
	host_fixture_close(f);
	fake_provider_fini(&f->fake);
	fake_provider_init(&f->fake);
	host_fixture_open(f); /* the fake asserts the order */
	assert_int_equal(count_schedules(f), 30);
	struct fake_schedule *schedule = fake_find_schedule(&f->fake, id);
	assert_int_equal(schedule->revision, 2);
	assert_int_equal(schedule->flags & BELFRY_SCHEDULE_F_ENABLED, 0);
	assert_string_equal(schedule->rule, "0 9 * * *");
	assert_string_equal(schedule->zone, "UTC");
	assert_int_equal(schedule->policies.grace, BELFRY_MINUTE);
}

/* Opens a host on the fixture's parts, and returns what its start answers. */
static enum belfry_status try_start(struct host_fixture *f, struct belfry_error *err)
{
	struct belfry_scheduler *scheduler = NULL;

	assert_int_equal(bf_scheduler_share(&f->fake.base, &scheduler, err), BELFRY_OK);
	struct bf_host_options options = {
			.size = sizeof(options),
			.env = &f->env,
			.scheduler = scheduler,
			.store = f->store,
			.zones = f->zones,
			.settings = &f->settings,
			.version = "0.1.0",
	};
	struct bf_host *host = NULL;

	assert_int_equal(bf_host_new(&options, &host, err), BELFRY_OK);
	enum belfry_status status = bf_host_start(host, err);
	bf_host_free(host);
	belfry_scheduler_close(scheduler);
	return status;
}

static void b22_a_host_whose_reconcile_fails_does_not_start(void **state)
{
	struct host_fixture *f = *state;
	struct belfry_error err = {0};

	host_fixture_close(f);
	f->fake.fails[FAKE_RECONCILE] = BELFRY_UNAVAILABLE;
	assert_int_equal(try_start(f, &err), BELFRY_UNAVAILABLE);
	assert_non_null(strstr(err.message, "the stored deployments could not be handed"));
	assert_int_equal(f->fake.calls[FAKE_START], 1); /* the fixture's own */
}

/* The member of what a GET of it answers. */
static void assert_shown(struct host_fixture *f, const char *id, const char *member,
		const char *wanted)
{
	struct bf_deployment_view view;
	struct belfry_error err = {0};

	if (bf_deployments_show(f->host, bf_str(id), &view, &err) != BELFRY_OK) {
		fail_msg("%s | %s", err.message, err.detail);
	}
	const char *shown = json_string_value(json_object_get(view.json, member));
	if (wanted == NULL) {
		assert_null(shown);
	} else {
		assert_non_null(shown);
		assert_string_equal(shown, wanted);
	}
	json_decref(view.json);
}

/* One that cannot be handed over stops neither the start nor the others. */
static void b22_a_record_that_cannot_be_read_is_shown_and_the_others_start(void **state)
{
	static const char broken[] = "01234567-89ab-4def-8123-456789abcdef";
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	struct belfry_document document = {
			.kind = BF_STR("deployment"),
			.id = bf_str(broken),
			.owner = BF_STR("default"),
			.name = BF_STR("broken"),
			.bytes = BF_STR("{\"name\":\"broken\"}"),
	};

	create(f, "whole", id);
	host_fixture_close(f);
	assert_int_equal(bf_store_document_put(f->store, &document, 0, NULL), BELFRY_OK);
	fake_provider_forget(&f->fake);
	host_fixture_open(f);
	assert_non_null(fake_find_schedule(&f->fake, id));
	assert_true(host_fixture_has_logged(f,
			"event=deployment_refused deployment=01234567-89ab"));
	assert_shown(f, broken, "name", "broken");
	assert_shown(f, broken, "phase", "quarantined");
	assert_shown(f, broken, "last_error", "stored data cannot be read");
	assert_shown(f, id, "phase", "active");
	assert_int_equal(count_records(f), 2);
	/* It can be removed. */
	assert_int_equal(bf_deployments_remove(f->host, bf_str(broken), 0, NULL), BELFRY_OK);
	assert_int_equal(count_records(f), 1);
}

static void what_the_provider_refuses_is_shown_until_it_is_taken(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char other[BELFRY_ID_TEXT_BYTES];

	create(f, "too many", id);
	create(f, "other", other);
	host_fixture_close(f);
	fake_provider_forget(&f->fake);
	(void)snprintf(f->fake.refused_id, sizeof(f->fake.refused_id), "%s", id);
	host_fixture_open(f);
	assert_null(fake_find_schedule(&f->fake, id));
	assert_non_null(fake_find_schedule(&f->fake, other));
	assert_shown(f, id, "phase", "quarantined");
	assert_shown(f, id, "phase_reason", "it is full");
	assert_shown(f, id, "last_error", "it is full");
	assert_shown(f, other, "last_error", NULL);
	/* Said once, however often it is tried. */
	bf_buf_clear(&f->log);
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_false(host_fixture_has_logged(f, "deployment_refused"));
	assert_shown(f, id, "last_error", "it is full");
	/* A reconcile that fails says nothing of it. */
	f->fake.fails[FAKE_RECONCILE] = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_UNAVAILABLE);
	f->fake.fails[FAKE_RECONCILE] = BELFRY_OK;
	assert_shown(f, id, "last_error", "it is full");
	f->fake.refused_id[0] = '\0';
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_non_null(fake_find_schedule(&f->fake, id));
	assert_shown(f, id, "last_error", NULL);
	assert_shown(f, id, "phase", "active");
}

static void a_reconcile_reads_no_record_that_did_not_change(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	create(f, "a", id);
	create(f, "b", id);
	f->fake.loads = 0;
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_int_equal(f->fake.loads, 0);
	fake_find_schedule(&f->fake, id)->revision = 0;
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_int_equal(f->fake.loads, 1);
}

/* --- two at once --- */

struct editor {
	struct host_fixture *fixture;
	const char *id;
	unsigned done;
	unsigned refused;
};

static void *edit_often(void *data)
{
	struct editor *editor = data;

	for (int i = 0; i < 50; i++) {
		struct bf_deployment_view view = {0};
		json_t *patch = parse("{\"prompt\":\"x\"}");
		enum belfry_status status = bf_deployments_edit(editor->fixture->host,
				bf_str(editor->id), 0, patch, &view, NULL);
		editor->done += status == BELFRY_OK ? 1 : 0;
		editor->refused += status == BELFRY_CONFLICT ? 1 : 0;
		json_decref(view.json);
		json_decref(patch);
	}
	return NULL;
}

static void edits_at_once_lose_nothing(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	struct editor editors[4];
	pthread_t threads[4];
	unsigned done = 0;

	create(f, "a", id);
	for (size_t i = 0; i < 4; i++) {
		editors[i] = (struct editor){.fixture = f, .id = id};
		assert_int_equal(pthread_create(&threads[i], NULL, edit_often, &editors[i]), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(editors[i].done + editors[i].refused, 50);
		done += editors[i].done;
	}
	assert_int_equal(done, 200); /* one process: they wait for each other */
	assert_int_equal(fake_find_schedule(&f->fake, id)->revision, 201);
}

/* Another process changes the record between this one's reading and its writing. */
static void a_change_by_another_process_is_a_conflict(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	struct bf_deployment_view view = {0};
	struct belfry_error err = {0};
	json_t *patch = parse("{\"prompt\":\"x\"}");

	create(f, "a", id);
	f->fake.fails[FAKE_APPLY] = BELFRY_CAPACITY;
	assert_int_equal(bf_deployments_edit(f->host, bf_str(id), 0, patch, &view, &err),
			BELFRY_CAPACITY);
	f->fake.fails[FAKE_APPLY] = BELFRY_OK;
	assert_int_equal(bf_deployments_edit(f->host, bf_str(id), 1, patch, &view, &err),
			BELFRY_PRECONDITION);
	assert_non_null(strstr(err.message, "If-Match"));
	assert_int_equal(bf_deployments_edit(f->host, bf_str(id), 3, patch, &view, &err),
			BELFRY_OK);
	json_decref(view.json);
	json_decref(patch);
}

/* --- faults --- */

/* Whatever call fails, the record and the schedule agree after the next reconcile, and the answer
 * is true: a create that answered OK is there, one that was refused is not. */
static void a_store_that_fails_at_any_call_leaves_nothing_half(void **state)
{
	struct host_fixture *f = *state;
	struct bf_fault *faults[] = {bf_store_fault_before(f->store),
			bf_store_fault_after(f->store)};
	int64_t first = 1;
	bool has_fired = true;

	for (size_t kind = 0; kind < 2; kind++) {
		for (first = 1, has_fired = true; has_fired; first++) {
			struct bf_deployment_view view = {0};
			json_t *body = body_of("swept");
			bf_fault_arm(faults[kind], first, 1);
			enum belfry_status status = bf_deployments_create(f->host, body, &view,
					NULL);
			has_fired = bf_fault_fired(faults[kind]) > 0;
			bf_fault_arm(faults[kind], 0, 0);
			json_decref(body);
			assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
			assert_int_equal(count_records(f), status == BELFRY_OK ? 1 : 0);
			if (status == BELFRY_OK) {
				assert_non_null(fake_find_schedule(&f->fake, view.id));
				assert_int_equal(bf_deployments_remove(f->host, bf_str(view.id), 0,
								 NULL),
						BELFRY_OK);
			}
			json_decref(view.json);
			assert_int_equal(count_schedules(f), 0);
		}
	}
}

/* An edit that was answered OK is there; whatever was answered, the provider has what the record says. */
static void an_edit_whose_store_fails_at_any_call_agrees_in_the_end(void **state)
{
	struct host_fixture *f = *state;
	struct bf_fault *faults[] = {bf_store_fault_before(f->store),
			bf_store_fault_after(f->store)};
	char id[BELFRY_ID_TEXT_BYTES];
	char text[60];
	int number = 0;

	create(f, "a", id);
	for (size_t kind = 0; kind < 4; kind++) {
		bool has_fired = true;
		f->fake.fails[FAKE_APPLY] = kind < 2 ? BELFRY_OK : BELFRY_CAPACITY;
		for (int64_t first = 1; has_fired; first++) {
			struct bf_deployment_view view = {0};
			(void)snprintf(text, sizeof(text), "{\"prompt\":\"%d\"}", ++number);
			json_t *patch = parse(text);
			bf_fault_arm(faults[kind % 2], first, 1);
			enum belfry_status status = bf_deployments_edit(f->host, bf_str(id), 0,
					patch, &view, NULL);
			has_fired = bf_fault_fired(faults[kind % 2]) > 0;
			bf_fault_arm(faults[kind % 2], 0, 0);
			assert_true(kind < 2 || status != BELFRY_OK);
			json_decref(view.json);
			enum belfry_status applying = f->fake.fails[FAKE_APPLY];
			f->fake.fails[FAKE_APPLY] = BELFRY_OK;
			assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
			f->fake.fails[FAKE_APPLY] = applying;
			assert_int_equal(bf_deployments_show(f->host, bf_str(id), &view, NULL),
					BELFRY_OK);
			if (status == BELFRY_OK) {
				assert_string_equal(json_string_value(json_object_get(view.json,
								    "prompt")),
						json_string_value(
								json_object_get(patch, "prompt")));
			}
			assert_int_equal(fake_find_schedule(&f->fake, id)->revision, view.revision);
			json_decref(view.json);
			json_decref(patch);
		}
	}
}

static void a_page_of_large_deployments_ends_early(void **state)
{
	struct host_fixture *f = *state;
	struct bf_buf text = {0};
	size_t pages = 0;
	size_t seen = 0;
	char cursor[1000] = "";

	for (int i = 0; i < 60; i++) {
		struct bf_deployment_view view;
		bf_buf_clear(&text);
		bf_buf_appendf(&text,
				"{\"name\":\"n%02d\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":{"
				"\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\"},"
				"\"prompt\":\"%0*d\"}",
				i, 400000, 0);
		json_t *body = parse(text.ptr);
		assert_int_equal(bf_deployments_create(f->host, body, &view, NULL), BELFRY_OK);
		json_decref(view.json);
		json_decref(body);
	}
	do {
		struct bf_deployment_query query = {.limit = 200, .cursor = bf_str(cursor)};
		json_t *list = NULL;
		assert_int_equal(bf_deployments_list(f->host, &query, &list, NULL), BELFRY_OK);
		seen += json_array_size(json_object_get(list, "items"));
		const char *next = json_string_value(json_object_get(list, "next_cursor"));
		(void)snprintf(cursor, sizeof(cursor), "%s", next != NULL ? next : "");
		json_decref(list);
		pages++;
	} while (cursor[0] != '\0');
	assert_int_equal(seen, 60);
	assert_int_equal(pages, 3);
	bf_buf_fini(&text);
}

static void memory_that_fails_at_any_call_leaves_nothing_half(void **state)
{
	struct host_fixture *f = *state;
	bool has_fired = true;
	size_t made = 0;

	for (int64_t first = 1; has_fired; first++) {
		struct bf_deployment_view view = {0};
		json_t *body = body_of("swept");
		bf_fault_arm(bf_alloc_fault(), first, 1);
		enum belfry_status status = bf_deployments_create(f->host, body, &view, NULL);
		has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		json_decref(body);
		assert_true(status == BELFRY_OK || status == BELFRY_NOMEM ||
				status == BELFRY_UNAVAILABLE);
		if (status == BELFRY_OK) {
			made++;
			assert_int_equal(bf_deployments_remove(f->host, bf_str(view.id), 0, NULL),
					BELFRY_OK);
		} else if (count_records(f) == 1) {
			/* Only the answer had no memory: it was made, under its name. */
			struct bf_deployment_query query = {.name = BF_STR("swept"), .limit = 1};
			json_t *list = NULL;
			assert_int_equal(bf_deployments_list(f->host, &query, &list, NULL),
					BELFRY_OK);
			const char *id = json_string_value(json_object_get(
					json_array_get(json_object_get(list, "items"), 0), "id"));
			assert_non_null(fake_find_schedule(&f->fake, id));
			assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL),
					BELFRY_OK);
			json_decref(list);
		}
		json_decref(view.json);
		assert_int_equal(count_records(f), 0);
		assert_int_equal(count_schedules(f), 0);
		fake_provider_fini(&f->fake);
		const struct belfry_handler *handler = f->fake.handler;
		fake_provider_init(&f->fake);
		f->fake.handler = handler;
	}
	assert_true(made > 0);
}

/* --- merge patches --- */

/* The examples of RFC 7396, appendix A, where its rule is the plain one: inside "input". */
static void merge_patches_follow_the_rfc(void **state)
{
	static const char *const rows[][3] = {
			{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
			{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
			{"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
			{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
			{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
			{"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
			{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
					"{\"a\":{\"b\":\"d\"}}"},
			{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
			{"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
			{"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
			{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
			{"{\"a\":\"foo\"}", "null", "null"},
			{"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		json_t *content = json_pack("{s:o}", "input", parse(rows[i][0]));
		json_t *patch = json_pack("{s:o}", "input", parse(rows[i][1]));
		json_t *wanted = json_pack("{s:o}", "input", parse(rows[i][2]));
		if (json_is_null(json_object_get(wanted, "input"))) {
			assert_int_equal(json_object_del(wanted, "input"), 0); /* null takes away */
		}
		assert_int_equal(bf_merge_patch(content, patch, NULL), BELFRY_OK);
		assert_true(json_equal(content, wanted));
		json_decref(content);
		json_decref(patch);
		json_decref(wanted);
	}
}

int run_deployment_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(t076_a_start_hands_over_every_record_in_the_order_of_ids),
			CASE(b22_a_host_whose_reconcile_fails_does_not_start),
			CASE(b22_a_record_that_cannot_be_read_is_shown_and_the_others_start),
			CASE(what_the_provider_refuses_is_shown_until_it_is_taken),
			CASE(a_reconcile_reads_no_record_that_did_not_change),
			CASE(edits_at_once_lose_nothing),
			CASE(a_change_by_another_process_is_a_conflict),
			CASE(a_store_that_fails_at_any_call_leaves_nothing_half),
			CASE(an_edit_whose_store_fails_at_any_call_agrees_in_the_end),
			CASE(a_page_of_large_deployments_ends_early),
			CASE(memory_that_fails_at_any_call_leaves_nothing_half),
			cmocka_unit_test(merge_patches_follow_the_rfc),
#undef CASE
	};

	return cmocka_run_group_tests_name("deployments", tests, NULL, NULL);
}

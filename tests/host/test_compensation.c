/* A change is two steps, record and engine, and each may fail, be lost on the way back, or be the last one
 * before the host dies. Whatever happens, record and engine agree after the next start, and what was
 * answered is true (contract.md, T071, T090 to T092). */
#include "host_cases.h"

#include "base/fault.h"
#include "base/json.h"
#include "host/deployments.h"

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

static enum belfry_status create(struct host_fixture *f, char *ret_id, struct belfry_error *err)
{
	struct bf_deployment_view view = {0};
	json_t *body = parse("{\"name\":\"a\",\"prompt\":\"old\",\"rule\":{\"cron\":\"0 9 * * *\"},"
			     "\"target\":{\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/"
			     "x\"}}");
	enum belfry_status status = bf_deployments_create(f->host, body, &view, err);

	json_decref(body);
	if (status == BELFRY_OK && ret_id != NULL) {
		memcpy(ret_id, view.id, sizeof(view.id));
	}
	json_decref(view.json);
	return status;
}

static enum belfry_status edit(struct host_fixture *f, const char *id, struct belfry_error *err)
{
	struct bf_deployment_view view = {0};
	json_t *patch = parse("{\"prompt\":\"new\"}");
	enum belfry_status status = bf_deployments_edit(f->host, bf_str(id), 0, patch, &view, err);

	json_decref(patch);
	json_decref(view.json);
	return status;
}

static enum belfry_status disable(struct host_fixture *f, const char *id)
{
	struct bf_deployment_view view = {0};
	enum belfry_status status = bf_deployments_enable(f->host, bf_str(id), 0, false,
			BF_STR("why not"), &view, NULL);

	json_decref(view.json);
	return status;
}

/* ---- do record and engine agree? ---------------------------------------------------------------- */

static bool has_prompt(const struct fake_schedule *schedule, const char *prompt)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "\"prompt\":\"%s\"", prompt);
	return strstr(schedule->payload, text) != NULL;
}

static size_t count_schedules(struct host_fixture *f)
{
	size_t count = 0;

	for (size_t i = 0; i < f->fake.schedule_count; i++) {
		count += f->fake.schedules[i].is_removed ? 0 : 1;
	}
	return count;
}

static void expect_same(struct host_fixture *f, struct belfry_str id)
{
	struct bf_deployment_view view;

	assert_int_equal(bf_deployments_show(f->host, id, &view, NULL), BELFRY_OK);
	const struct fake_schedule *schedule = fake_find_schedule(&f->fake, view.id);
	assert_non_null(schedule);
	assert_int_equal(schedule->revision, view.revision);
	assert_int_equal((schedule->flags & BELFRY_SCHEDULE_F_ENABLED) != 0,
			json_is_true(json_object_get(view.json, "enabled")));
	assert_true(has_prompt(schedule, json_string_value(json_object_get(view.json, "prompt"))));
	json_decref(view.json);
}

/* Each record has its schedule, word for word, and each schedule its record. Returns how many. */
static size_t expect_agreement(struct host_fixture *f)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query query = {.kind = BF_STR("deployment"), .limit = 200};

	assert_int_equal(bf_store_document_list(f->store, &query, &arena, NULL), BELFRY_OK);
	for (size_t i = 0; i < query.count; i++) {
		expect_same(f, query.documents[i].id);
	}
	assert_int_equal(count_schedules(f), query.count);
	return query.count;
}

static void restart(struct host_fixture *f)
{
	host_fixture_close(f);
	host_fixture_open(f);
}

/* ---- statement by statement --------------------------------------------------------------------- */

static void t090_a_create_whose_apply_fails_leaves_no_record_and_answers_the_engines_code(
		void **state)
{
	static const enum belfry_status codes[] = {BELFRY_CAPACITY, BELFRY_INVALID_SCHEDULE,
			BELFRY_UNAVAILABLE, BELFRY_UNKNOWN, BELFRY_CANNOT, BELFRY_NOMEM,
			BELFRY_CORRUPT};
	struct host_fixture *f = *state;

	f->fake.detail = "engine";
	for (size_t i = 0; i < BF_COUNT(codes); i++) {
		struct belfry_error err = {0};
		f->fake.fails[FAKE_APPLY] = codes[i];
		assert_int_equal(create(f, NULL, &err), codes[i]);
		assert_int_equal(err.status, codes[i]);
		assert_int_equal(expect_agreement(f), 0);
	}
	/* The name is free. */
	f->fake.fails[FAKE_APPLY] = BELFRY_OK;
	assert_int_equal(create(f, NULL, NULL), BELFRY_OK);
	assert_int_equal(expect_agreement(f), 1);
}

static void t090_an_apply_whose_answer_was_lost_is_taken_back(void **state)
{
	struct host_fixture *f = *state;

	bf_fault_arm(bf_scheduler_fault_after(f->scheduler, BF_PROVIDER_APPLY), 1, 1);
	assert_int_equal(create(f, NULL, NULL), BELFRY_UNKNOWN);
	assert_int_equal(f->fake.schedule_count, 1); /* it was there */
	assert_int_equal(expect_agreement(f), 0);
}

static void t091_a_record_that_cannot_be_written_leaves_the_engine_as_it_was(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(create(f, id, NULL), BELFRY_OK);
	bf_fault_arm(bf_store_fault_before(f->store), 2, 1); /* read, put */
	assert_int_equal(edit(f, id, NULL), BELFRY_UNAVAILABLE);
	bf_fault_arm(bf_store_fault_before(f->store), 0, 0);
	assert_int_equal(fake_find_schedule(&f->fake, id)->revision, 1);
	assert_true(has_prompt(fake_find_schedule(&f->fake, id), "old"));
	assert_int_equal(expect_agreement(f), 1);
}

/* Under a new revision: the engine would not take the old one back under its own. */
static void t071_t091_an_edit_that_fails_behind_its_apply_puts_the_old_definition_back(void **state)
{
	static const enum belfry_status codes[] = {BELFRY_CAPACITY, BELFRY_UNAVAILABLE};
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(create(f, id, NULL), BELFRY_OK);
	bf_fault_arm(bf_scheduler_fault_after(f->scheduler, BF_PROVIDER_APPLY), 1, 1);
	assert_int_equal(edit(f, id, NULL), BELFRY_UNKNOWN);
	assert_int_equal(fake_find_schedule(&f->fake, id)->revision, 3);
	assert_true(has_prompt(fake_find_schedule(&f->fake, id), "old"));
	assert_int_equal(expect_agreement(f), 1);
	for (size_t i = 0; i < BF_COUNT(codes); i++) {
		f->fake.fails[FAKE_APPLY] = codes[i];
		assert_int_equal(edit(f, id, NULL), codes[i]);
		f->fake.fails[FAKE_APPLY] = BELFRY_OK;
		/* The engine never had the new one; the record's revision is the higher one. */
		assert_true(has_prompt(fake_find_schedule(&f->fake, id), "old"));
		bf_host_tend(f->host, false);
		assert_int_equal(expect_agreement(f), 1);
	}
}

/* ---- deaths ------------------------------------------------------------------------------------- */

enum change { CREATE, EDIT, DISABLE, REMOVE, CHANGE_COUNT };

/* From which call on nothing is answered any more; 0: always something is. */
struct death {
	int64_t store;
	int64_t apply;
	int64_t remove;
	bool is_after; /* the calls are carried out, their answers are lost */
};

static struct bf_fault *fault_of(struct host_fixture *f, const struct death *death, int which)
{
	static const enum bf_provider_method methods[] = {BF_PROVIDER_APPLY, BF_PROVIDER_REMOVE};

	if (which == 2) {
		return death->is_after ? bf_store_fault_after(f->store)
				       : bf_store_fault_before(f->store);
	}
	return death->is_after ? bf_scheduler_fault_after(f->scheduler, methods[which])
			       : bf_scheduler_fault_before(f->scheduler, methods[which]);
}

static void arm(struct host_fixture *f, const struct death *death)
{
	const int64_t firsts[] = {death->apply, death->remove, death->store};

	for (int i = 0; i < 3; i++) {
		bf_fault_arm(fault_of(f, death, i), firsts[i], firsts[i] != 0 ? -1 : 0);
	}
}

static void disarm(struct host_fixture *f, const struct death *death)
{
	for (int i = 0; i < 3; i++) {
		bf_fault_arm(fault_of(f, death, i), 0, 0);
	}
}

static enum belfry_status carry_out(struct host_fixture *f, enum change change, const char *id)
{
	switch (change) {
	case CREATE: return create(f, NULL, NULL);
	case EDIT: return edit(f, id, NULL);
	case DISABLE: return disable(f, id);
	case REMOVE: return bf_deployments_remove(f->host, bf_str(id), 0, NULL);
	case CHANGE_COUNT: break;
	}
	return BELFRY_INTERNAL;
}

static void expect_done(struct host_fixture *f, enum change change, const char *id)
{
	const struct fake_schedule *schedule = fake_find_schedule(&f->fake, id);

	switch (change) {
	case CREATE: assert_int_equal(count_schedules(f), 1); break;
	case EDIT: assert_true(has_prompt(schedule, "new")); break;
	case DISABLE: assert_int_equal(schedule->flags & BELFRY_SCHEDULE_F_ENABLED, 0); break;
	case REMOVE: assert_null(schedule); break;
	case CHANGE_COUNT: break;
	}
}

static void remove_all(struct host_fixture *f)
{
	for (size_t i = 0; i < f->fake.schedule_count; i++) {
		struct fake_schedule *schedule = &f->fake.schedules[i];
		if (!schedule->is_removed) {
			assert_int_equal(bf_deployments_remove(f->host, bf_str(schedule->id), 0,
							 NULL),
					BELFRY_OK);
		}
	}
	assert_int_equal(expect_agreement(f), 0);
	fake_provider_forget(&f->fake);
}

/* The change, the death, and what is there afterwards: with a new start, or by the host that lives on. */
static void die(struct host_fixture *f, enum change change, const struct death *death,
		bool is_refused, bool lives_on)
{
	char id[BELFRY_ID_TEXT_BYTES] = "";

	if (change != CREATE) {
		assert_int_equal(create(f, id, NULL), BELFRY_OK);
	}
	f->fake.fails[FAKE_APPLY] = is_refused ? BELFRY_CAPACITY : BELFRY_OK;
	arm(f, death);
	enum belfry_status status = carry_out(f, change, id);
	disarm(f, death);
	f->fake.fails[FAKE_APPLY] = BELFRY_OK;
	if (status == BELFRY_OK) {
		expect_done(f, change, id);
	}
	if (lives_on) {
		bf_host_tend(f->host, true);
	} else {
		restart(f);
	}
	(void)expect_agreement(f);
	if (status == BELFRY_OK) {
		expect_done(f, change, id);
	}
	remove_all(f);
}

static void t090_t091_t092_a_change_that_ends_at_any_step_heals_by_itself(void **state)
{
	struct host_fixture *f = *state;

	for (int change = CREATE; change < CHANGE_COUNT; change++) {
		for (unsigned kind = 0; kind < 8; kind++) {
			for (int64_t step = 0; step < 6 * 3 * 2; step++) {
				struct death death = {.store = step % 6,
						.apply = step / 6 % 3,
						.remove = step / 18,
						.is_after = (kind & 1) != 0};
				die(f, (enum change)change, &death, (kind & 2) != 0,
						(kind & 4) != 0);
			}
		}
	}
}

/* ---- a reconcile at the same time --------------------------------------------------------------- */

struct race {
	struct host_fixture *f;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_saved;   /* the create has its record, and asks the engine */
	bool is_loaded;  /* the reconcile has read the record, and will put it */
	bool is_refused; /* the create has answered */
	enum belfry_status created;
};

static void say(struct race *race, bool *flag)
{
	(void)pthread_mutex_lock(&race->lock);
	*flag = true;
	(void)pthread_cond_broadcast(&race->changed);
	(void)pthread_mutex_unlock(&race->lock);
}

static void await(struct race *race, const bool *flag)
{
	(void)pthread_mutex_lock(&race->lock);
	while (!*flag) {
		(void)pthread_cond_wait(&race->changed, &race->lock);
	}
	(void)pthread_mutex_unlock(&race->lock);
}

static void on_apply(void *data)
{
	struct race *race = data;

	say(race, &race->is_saved);
	await(race, &race->is_loaded);
}

static void on_loaded(void *data)
{
	struct race *race = data;

	say(race, &race->is_loaded);
	await(race, &race->is_refused);
}

static void *create_main(void *data)
{
	struct race *race = data;

	race->created = create(race->f, NULL, NULL);
	say(race, &race->is_refused);
	return NULL;
}

/* What the reconcile had read, it must not put any more. */
static void t090_a_create_that_is_refused_while_a_reconcile_runs_leaves_no_schedule(void **state)
{
	struct host_fixture *f = *state;
	struct race race = {.f = f};
	pthread_t thread;

	(void)pthread_mutex_init(&race.lock, NULL);
	(void)pthread_cond_init(&race.changed, NULL);
	f->fake.on_data = &race;
	f->fake.on_apply = on_apply;
	f->fake.on_loaded = on_loaded;
	f->fake.fails[FAKE_APPLY] = BELFRY_CAPACITY;
	assert_int_equal(pthread_create(&thread, NULL, create_main, &race), 0);
	await(&race, &race.is_saved);
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(race.created, BELFRY_CAPACITY);
	assert_int_equal(f->fake.loads, 1);
	assert_int_equal(expect_agreement(f), 0);
	(void)pthread_cond_destroy(&race.changed);
	(void)pthread_mutex_destroy(&race.lock);
}

int run_compensation_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(t090_a_create_whose_apply_fails_leaves_no_record_and_answers_the_engines_code),
			CASE(t090_an_apply_whose_answer_was_lost_is_taken_back),
			CASE(t091_a_record_that_cannot_be_written_leaves_the_engine_as_it_was),
			CASE(t071_t091_an_edit_that_fails_behind_its_apply_puts_the_old_definition_back),
			CASE(t090_t091_t092_a_change_that_ends_at_any_step_heals_by_itself),
			CASE(t090_a_create_that_is_refused_while_a_reconcile_runs_leaves_no_schedule),
#undef CASE
	};

	return cmocka_run_group_tests_name("compensation", tests, NULL, NULL);
}

/* The handler: an invocation becomes a call of the target, and its answer the Run's end. The
 * target is a small server on loopback. */
#include "host_cases.h"

#include "base/fault.h"
#include "base/json.h"
#include "host/deployments.h"
#include "model/run.h"
#include "test_targets_server.h"

struct dispatch_fixture {
	struct host_fixture host;
	struct test_server *server;
};

static void make_webhook(struct dispatch_fixture *f, size_t answer_limit)
{
	struct bf_webhook_options options = BF_WEBHOOK_OPTIONS_INIT;

	options.env = &f->host.env;
	options.allow = f->host.allow;
	options.answer_limit = answer_limit;
	assert_int_equal(bf_webhook_new(&options, &f->host.webhook, NULL), BELFRY_OK);
}

static int setup(void **state)
{
	struct dispatch_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	host_fixture_begin(&fixture->host);
	fixture->server = test_server_new();
	assert_non_null(fixture->server);
	assert_int_equal(bf_allow_list_new(&fixture->host.allow), BELFRY_OK);
	bf_allow_list_set_private(fixture->host.allow, true);
	make_webhook(fixture, 64);
	host_fixture_open(&fixture->host);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct dispatch_fixture *fixture = *state;

	host_fixture_end(&fixture->host);
	test_server_free(fixture->server);
	free(fixture);
	return 0;
}

/* Makes a deployment that calls `path` of the server, with more members of the target and of
 * itself; returns its schedule in the provider. */
static const struct fake_schedule *make(struct dispatch_fixture *f, const char *path,
		const char *target_members, const char *members)
{
	struct bf_buf text = {0};
	struct bf_deployment_view view;
	struct belfry_error err = {0};
	json_t *body = NULL;

	bf_buf_appendf(&text,
			"{\"name\":\"a\",\"rule\":{\"cron\":\"* * * * *\"},\"target\":{\"kind\":"
			"\"webhook\",\"url\":\"http://127.0.0.1:%u%s\"%s}%s}",
			(unsigned)test_server_port(f->server), path, target_members, members);
	assert_int_equal(bf_json_parse(bf_buf_str(&text), SIZE_MAX, &body, &err), BELFRY_OK);
	if (bf_deployments_create(f->host.host, body, &view, &err) != BELFRY_OK) {
		fail_msg("%s", err.message);
	}
	const struct fake_schedule *schedule = fake_find_schedule(&f->host.fake, view.id);
	json_decref(view.json);
	json_decref(body);
	bf_buf_fini(&text);
	return schedule;
}

static const char run_text[] = "018f0000-0000-8000-8000-000000000001";

static struct belfry_invocation invocation_of(const struct fake_schedule *schedule)
{
	struct belfry_invocation invocation = {
			.size = sizeof(invocation),
			.trigger = BELFRY_TRIGGER_SCHEDULE,
			.schedule = bf_str(schedule->id),
			.payload = {schedule->payload, schedule->payload_len},
			.revision = schedule->revision,
			.due_at = 1700000000 * BELFRY_SECOND,
			.attempt = 2,
			.fence = 77,
			.stands_for = 1,
			.timeout = 20 * BELFRY_SECOND,
	};

	assert_int_equal(belfry_id_parse(bf_str(run_text), &invocation.run), BELFRY_OK);
	return invocation;
}

/* One admit_turn and its answer. */
static void admit(struct dispatch_fixture *f, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	const struct belfry_handler *handler = f->host.fake.handler;

	fake_reply_init(reply);
	handler->admit_turn(handler->data, invocation, bf_str(run_text), reply);
	fake_reply_wait(reply);
}

static void read_output(struct dispatch_fixture *f, struct belfry_id run, struct bf_buf *out)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str type;
	struct belfry_str bytes;
	uint64_t length;

	assert_int_equal(bf_store_output_read(f->host.store, run, 0, 100000, &arena, &type, &bytes,
					 &length, NULL),
			BELFRY_OK);
	bf_buf_append_str(out, bytes);
	belfry_arena_fini(&arena);
}

static void a_session_is_named_by_its_run(void **state)
{
	struct dispatch_fixture *f = *state;
	const struct belfry_handler *handler = f->host.fake.handler;
	struct belfry_invocation invocation = invocation_of(make(f, "/status/200", "", ""));
	struct belfry_reply reply;

	for (int i = 0; i < 2; i++) {
		fake_reply_init(&reply);
		handler->start_session(handler->data, &invocation, &reply);
		fake_reply_wait(&reply);
		assert_int_equal(reply.kind, FAKE_REPLY_SESSION);
		assert_string_equal(reply.text, run_text);
		fake_reply_fini(&reply);
	}
}

static void each_answer_of_a_target_has_its_meaning(void **state)
{
	static const struct {
		const char *path;
		enum fake_reply_kind kind;
		enum belfry_run_error error;
		belfry_duration after;
		const char *message;
	} rows[] = {
			{"/status/200", FAKE_REPLY_TURN, BELFRY_RUN_ERROR_NONE, 0, ""},
			{"/status/204", FAKE_REPLY_TURN, BELFRY_RUN_ERROR_NONE, 0, ""},
			{"/status/404", FAKE_REPLY_PERMANENT, BELFRY_RUN_ERROR_TARGET_ANSWERED, 0,
					"the target answered 404"},
			{"/redirect", FAKE_REPLY_PERMANENT, BELFRY_RUN_ERROR_TARGET_ANSWERED, 0,
					"the target answered 302"},
			{"/status/503", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_ANSWERED, 0,
					"the target answered 503"},
			{"/status/429?retry=7", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_ANSWERED,
					7 * BELFRY_SECOND, "the target answered 429"},
			{"/close", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, 0,
					"the target could not be reached"},
			{"/raw/0", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, 0,
					"the target's answer could not be read"},
			{"/raw/1", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, 0,
					"the target's answer could not be read"},
			{"/raw/2", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, 0,
					"the target's answer could not be read"},
			{"/raw/3", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, 0,
					"the target's answer could not be read"},
			{"/cut", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, 0,
					"the target's answer could not be read"},
	};
	struct dispatch_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		const struct fake_schedule *schedule = make(f, rows[i].path, "", "");
		struct belfry_invocation invocation = invocation_of(schedule);
		struct belfry_reply reply;
		admit(f, &invocation, &reply);
		assert_int_equal(reply.kind, rows[i].kind);
		assert_int_equal(reply.error, rows[i].error);
		assert_int_equal(reply.after, rows[i].after);
		assert_string_equal(reply.message, rows[i].message);
		if (reply.kind == FAKE_REPLY_TURN) {
			assert_int_equal(reply.outcome.status, BELFRY_STATUS_COMPLETED);
			assert_string_equal(reply.text, run_text);
		}
		fake_reply_fini(&reply);
		assert_int_equal(bf_deployments_remove(f->host.host, bf_str(schedule->id), 0, NULL),
				BELFRY_OK);
	}
}

static void an_attempt_ends_at_its_time_limit_or_when_it_is_cancelled(void **state)
{
	struct dispatch_fixture *f = *state;
	const struct belfry_handler *handler = f->host.fake.handler;
	struct belfry_invocation invocation = invocation_of(make(f, "/hang", "", ""));
	struct belfry_reply reply;

	invocation.timeout = 100 * BELFRY_MILLISECOND;
	admit(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_RETRY);
	assert_int_equal(reply.error, BELFRY_RUN_ERROR_TIMEOUT);
	fake_reply_fini(&reply);
	invocation.timeout = 0;
	fake_reply_init(&reply);
	handler->admit_turn(handler->data, &invocation, bf_str(run_text), &reply);
	handler->cancel(handler->data, invocation.run, invocation.fence);
	fake_reply_wait(&reply);
	assert_int_equal(reply.kind, FAKE_REPLY_RETRY);
	fake_reply_fini(&reply);
}

static void the_standard_body_says_what_runs(void **state)
{
	struct dispatch_fixture *f = *state;
	const struct fake_schedule *schedule = make(f, "/status/200", "",
			",\"prompt\":\"say \\\"hi\\\" \xf0\x9f\x94\x94\",\"input\":{\"n\":[1,2]}");
	struct belfry_invocation invocation = invocation_of(schedule);
	struct belfry_reply reply;
	struct bf_buf request = {0};
	json_t *body = NULL;

	admit(f, &invocation, &reply);
	fake_reply_fini(&reply);
	test_server_latest(f->server, &request);
	const char *start = strstr(request.ptr, "\r\n\r\n");
	assert_non_null(start);
	assert_int_equal(bf_json_parse(bf_str(start + 4), SIZE_MAX, &body, NULL), BELFRY_OK);
	json_t *wanted = json_pack(
			"{s:s, s:{s:s, s:s, s:s, s:s, s:i, s:n, s:i, s:i}, s:{s:s, s:s}, "
			"s:s, s:{s:[i,i]}}",
			"type", "belfry.run", "run", "id", run_text, "deployment_id", schedule->id,
			"trigger", "schedule", "due_at", "2023-11-14T22:13:20Z", "revision", 1,
			"replayed_from", "attempt", 2, "stands_for", 1, "deployment", "id",
			schedule->id, "name", "a", "prompt", "say \"hi\" \xf0\x9f\x94\x94", "input",
			"n", 1, 2);
	assert_non_null(wanted);
	assert_true(json_equal(body, wanted));
	assert_non_null(strstr(request.ptr, "Idempotency-Key: 018f0000"));
	assert_non_null(strstr(request.ptr, "Belfry-Fence: 77"));
	json_decref(wanted);
	json_decref(body);
	bf_buf_fini(&request);
}

static void a_body_and_fields_of_ones_own_are_sent_as_they_are(void **state)
{
	struct dispatch_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(make(f, "/status/200",
			",\"method\":\"PUT\",\"headers\":{\"X-Team\":\"ops\"},\"body\":[1,{\"a\":null}]",
			""));
	struct belfry_reply reply;
	struct bf_buf request = {0};

	admit(f, &invocation, &reply);
	fake_reply_fini(&reply);
	test_server_latest(f->server, &request);
	assert_non_null(strstr(request.ptr, "PUT /status/200"));
	assert_non_null(strstr(request.ptr, "X-Team: ops\r\n"));
	assert_string_equal(strstr(request.ptr, "\r\n\r\n") + 4, "[1,{\"a\":null}]");
	bf_buf_fini(&request);
}

static void output_is_kept_and_cut_at_its_limit(void **state)
{
	struct dispatch_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(make(f, "/big/1000", "", ""));
	struct belfry_reply reply;
	struct bf_buf output = {0};

	admit(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_TURN);
	assert_int_equal(reply.outcome.run_flags, BELFRY_RUN_F_OUTPUT_TRUNCATED);
	fake_reply_fini(&reply);
	read_output(f, invocation.run, &output); /* it is there by then */
	assert_int_equal(output.len, 64);
	bf_buf_fini(&output);
}

/* The target has done its work: the Run is COMPLETED, and says that its output is not whole. */
static void output_that_cannot_be_stored_is_marked_and_not_hidden(void **state)
{
	struct dispatch_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(make(f, "/big/10", "", ""));
	struct belfry_reply reply;

	bf_fault_arm(bf_store_fault_before(f->host.store), 1, -1);
	admit(f, &invocation, &reply);
	bf_fault_arm(bf_store_fault_before(f->host.store), 0, 0);
	assert_int_equal(reply.kind, FAKE_REPLY_TURN);
	assert_int_equal(reply.outcome.status, BELFRY_STATUS_COMPLETED);
	assert_int_equal(reply.outcome.run_flags, BELFRY_RUN_F_OUTPUT_TRUNCATED);
	assert_true(host_fixture_has_logged(&f->host, "event=output_lost"));
	fake_reply_fini(&reply);
}

static void what_cannot_be_called_ends_for_good(void **state)
{
	struct dispatch_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(
			make(f, "/status/200", ",\"secret\":\"ABSENT\"", ""));
	struct belfry_reply reply;

	admit(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_PERMANENT);
	assert_int_equal(reply.error, BELFRY_RUN_ERROR_PERMANENT);
	assert_non_null(strstr(reply.message, "ABSENT"));
	fake_reply_fini(&reply);
	invocation.payload = BF_STR("{\"no\":\"payload\"}");
	admit(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_PERMANENT);
	assert_non_null(strstr(reply.message, "save it again"));
	fake_reply_fini(&reply);
	assert_int_equal(test_server_requests(f->server), 0);
}

/* Permission that was taken back after the deployment was saved. */
static void an_address_that_is_no_longer_allowed_is_not_called(void **state)
{
	struct dispatch_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(make(f, "/status/200", "", ""));
	struct belfry_reply reply;

	bf_allow_list_set_private(f->host.allow, false);
	admit(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_PERMANENT);
	assert_int_equal(reply.error, BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED);
	assert_non_null(strstr(reply.message, "at a private address"));
	assert_non_null(strstr(reply.message, "--allow-private-targets"));
	assert_null(strstr(reply.message, "127.0.0.1"));
	fake_reply_fini(&reply);
	assert_int_equal(test_server_requests(f->server), 0);
}

/* A Run of the schedule in the store, claimed by an incarnation; its fence and id go into the
 * invocation. */
static void claim_in_store(struct bf_store *store, const struct fake_schedule *schedule,
		struct belfry_invocation *invocation)
{
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_REGISTER,
			.incarnation = {{1}},
			.identity = BF_STR("test")};
	struct belfry_schedule_put put = {.revision = schedule->revision,
			.definition = BF_STR("opaque")};
	struct belfry_new_run run = {.trigger = BELFRY_TRIGGER_SCHEDULE,
			.state = BELFRY_RUN_DISPATCHING,
			.due_at = invocation->due_at,
			.ready_at = invocation->due_at,
			.stands_for = 1};
	struct belfry_advance_item item = {.schedule = bf_str(schedule->id),
			.put = &put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = invocation->due_at};
	struct belfry_advance advance = {.size = sizeof(advance),
			.holder = beat.incarnation,
			.items = &item,
			.item_count = 1};
	struct belfry_arena arena = BELFRY_ARENA_INIT;

	assert_int_equal(bf_store_beat(store, &beat, &arena, NULL), BELFRY_OK);
	belfry_arena_fini(&arena);
	assert_int_equal(bf_store_advance(store, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_OK);
	item = (struct belfry_advance_item){.schedule = bf_str(schedule->id),
			.expect_version = item.version,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = invocation->due_at,
			.runs = &run,
			.run_count = 1};
	assert_int_equal(belfry_run_id(bf_str(schedule->id), run.due_at, &run.id), BELFRY_OK);
	assert_int_equal(bf_store_advance(store, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_OK);
	assert_true(run.is_inserted);
	invocation->run = run.id;
	invocation->fence = advance.fence;
	invocation->attempt = 1;
}

/* What a dispatcher does with the answer to admit_turn. */
static enum belfry_status record_turn(struct bf_store *store,
		const struct belfry_invocation *invocation, const struct belfry_reply *reply)
{
	struct belfry_record record = {.kind = BELFRY_RECORD_TURN,
			.run = invocation->run,
			.fence = invocation->fence,
			.attempt = invocation->attempt,
			.step = BELFRY_STEP_TURN,
			.turn = bf_str(reply->text),
			.status = reply->outcome.status};

	assert_int_equal(bf_store_record(store, &record, 1, NULL), BELFRY_OK);
	return record.result;
}

static void expect_one_run(struct bf_store *store, const struct belfry_invocation *invocation,
		const char *turn)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {.size = sizeof(list),
			.kind = BELFRY_LIST_RUNS,
			.schedule = invocation->schedule,
			.limit = 10};

	assert_int_equal(bf_store_list(store, &list, &arena, NULL), BELFRY_OK);
	assert_int_equal(list.count, 1);
	assert_int_equal(bf_id_compare(list.runs[0].id, invocation->run), 0);
	assert_int_equal(list.runs[0].state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(list.runs[0].status, BELFRY_STATUS_COMPLETED);
	assert_true(bf_str_equal(list.runs[0].turn, bf_str(turn)));
	belfry_arena_fini(&arena);
}

/* A second process: its own provider, webhook and host, on the same store. Each records the answers
 * that it got, as long as the store takes them. */
static void b16_the_same_invocation_twice_at_once_is_one_session_and_one_turn(void **state)
{
	struct dispatch_fixture *f = *state;
	const struct fake_schedule *schedule = make(f, "/big/40", "", "");
	struct belfry_invocation invocation = invocation_of(schedule);
	struct host_fixture other;
	struct belfry_reply replies[4];
	struct bf_buf output = {0};
	char own[BELFRY_ID_TEXT_BYTES];
	size_t taken = 0;

	claim_in_store(f->host.store, schedule, &invocation);
	belfry_id_format(invocation.run, own);
	host_fixture_begin(&other);
	bf_store_close(other.store);
	other.store = f->host.store;
	struct bf_webhook_options options = BF_WEBHOOK_OPTIONS_INIT;
	options.env = &other.env;
	options.allow = f->host.allow;
	assert_int_equal(bf_webhook_new(&options, &other.webhook, NULL), BELFRY_OK);
	host_fixture_open(&other);
	for (size_t i = 0; i < BF_COUNT(replies); i++) {
		const struct belfry_handler *handler = i % 2 == 0 ? f->host.fake.handler
								  : other.fake.handler;
		fake_reply_init(&replies[i]);
		handler->admit_turn(handler->data, &invocation, bf_str(own), &replies[i]);
	}
	for (size_t i = 0; i < BF_COUNT(replies); i++) {
		fake_reply_wait(&replies[i]);
		assert_int_equal(replies[i].kind, FAKE_REPLY_TURN);
		assert_string_equal(replies[i].text, own); /* one turn */
		enum belfry_status status = record_turn(i % 2 == 0 ? f->host.store : other.store,
				&invocation, &replies[i]);
		assert_true(status == BELFRY_OK || status == BELFRY_STALE);
		taken += status == BELFRY_OK;
		fake_reply_fini(&replies[i]);
	}
	assert_int_equal(taken, 1); /* however many calls there were */
	expect_one_run(f->host.store, &invocation, own);
	read_output(f, invocation.run, &output); /* one place for the output */
	assert_int_equal(output.len, 40);
	bf_buf_fini(&output);
	assert_int_equal(test_server_requests(f->server), 4);
	other.store = NULL;
	host_fixture_end(&other);
}

int run_dispatch_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(a_session_is_named_by_its_run),
			CASE(each_answer_of_a_target_has_its_meaning),
			CASE(an_attempt_ends_at_its_time_limit_or_when_it_is_cancelled),
			CASE(the_standard_body_says_what_runs),
			CASE(a_body_and_fields_of_ones_own_are_sent_as_they_are),
			CASE(output_is_kept_and_cut_at_its_limit),
			CASE(output_that_cannot_be_stored_is_marked_and_not_hidden),
			CASE(what_cannot_be_called_ends_for_good),
			CASE(an_address_that_is_no_longer_allowed_is_not_called),
			CASE(b16_the_same_invocation_twice_at_once_is_one_session_and_one_turn),
#undef CASE
	};

	return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}

/* The hub of hints: order, folding, what is bounded, and that a gap is always told. */
#include "host_cases.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "host/deployments.h"
#include "host/events.h"

struct hub {
	struct bf_env env;
	struct bf_boot_time now; /* moves when a test says so */
	struct bf_events *events;
	struct bf_events_reader reader;
};

static struct bf_boot_time boot(void *data)
{
	return ((const struct hub *)data)->now;
}

static void random_bytes(void *data, void *bytes, size_t len)
{
	(void)data;
	memset(bytes, 7, len);
}

static void open_hub(struct hub *hub)
{
	*hub = (struct hub){.now = {1}};
	hub->env = (struct bf_env){.data = hub, .boot = boot, .random = random_bytes};
	assert_int_equal(bf_events_new(&hub->env, &hub->events), BELFRY_OK);
	bf_events_join(hub->events, &hub->reader);
}

static void close_hub(struct hub *hub)
{
	bf_events_leave(hub->events);
	bf_events_free(hub->events);
}

static void change(struct hub *hub, unsigned number)
{
	char id[BELFRY_ID_TEXT_BYTES];

	(void)snprintf(id, sizeof(id), "%08x-0000-4000-8000-000000000000", number);
	bf_events_changed(hub->events, bf_str(id));
}

/* Makes what has changed visible, when the pause is over. */
static void publish(struct hub *hub)
{
	hub->now.us += BF_EVENTS_PAUSE;
	assert_true(bf_events_wait(hub->events));
}

static unsigned number_of(struct belfry_id id)
{
	return (unsigned)id.bytes[0] << 24 | (unsigned)id.bytes[1] << 16 |
			(unsigned)id.bytes[2] << 8 | id.bytes[3];
}

/* What the reader hears, a few at a time: "resync 3 1", or "" for nothing. */
static void expect(struct hub *hub, struct bf_events_reader *reader, const char *words)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf heard = {0};
	struct belfry_id ids[2];
	bool is_resync = false;
	size_t count;

	do {
		count = bf_events_read(hub->events, reader, BF_COUNT(ids), ids, &is_resync);
		if (is_resync) {
			bf_buf_append_text(&heard, "resync ");
		}
		for (size_t i = 0; i < count; i++) {
			bf_buf_appendf(&heard, "%u ", number_of(ids[i]));
		}
	} while (count > 0 || is_resync);
	if (!bf_str_equal(bf_buf_str(&heard), bf_str(words))) {
		fail_msg("heard \"%.*s\" instead of \"%s\"", BF_STR_ARGS(bf_buf_str(&heard)),
				words);
	}
}

static void a_reader_begins_by_reading_everything(void **state)
{
	struct hub hub;

	(void)state;
	open_hub(&hub);
	expect(&hub, &hub.reader, "resync ");
	expect(&hub, &hub.reader, "");
	close_hub(&hub);
}

static void changes_are_heard_in_their_order_once(void **state)
{
	struct hub hub;

	(void)state;
	open_hub(&hub);
	expect(&hub, &hub.reader, "resync ");
	change(&hub, 3);
	change(&hub, 1);
	change(&hub, 2);
	change(&hub, 3);
	change(&hub, 3);
	expect(&hub, &hub.reader, ""); /* not visible yet */
	publish(&hub);
	expect(&hub, &hub.reader, "3 1 2 ");
	expect(&hub, &hub.reader, "");
	change(&hub, 1);
	publish(&hub);
	expect(&hub, &hub.reader, "1 ");
	close_hub(&hub);
}

static void a_slow_reader_hears_of_a_deployment_once_and_misses_none(void **state)
{
	struct bf_events_reader quick;
	struct hub hub;

	(void)state;
	open_hub(&hub);
	bf_events_join(hub.events, &quick);
	expect(&hub, &hub.reader, "resync ");
	expect(&hub, &quick, "resync ");
	for (int i = 0; i < 5; i++) {
		change(&hub, 1);
		change(&hub, 2);
		publish(&hub);
		/* It changes again at once: what was published stays there to be read. */
		change(&hub, 2);
		expect(&hub, &quick, i == 0 ? "1 2 " : "2 1 ");
	}
	publish(&hub);
	expect(&hub, &hub.reader, "1 2 ");
	expect(&hub, &quick, "2 ");
	bf_events_leave(hub.events);
	close_hub(&hub);
}

static void a_batch_waits_for_the_pause(void **state)
{
	struct bf_boot_time first;
	struct hub hub;

	(void)state;
	open_hub(&hub);
	hub.env = *bf_env_system();
	expect(&hub, &hub.reader, "resync ");
	/* The first one is visible at once. */
	change(&hub, 1);
	assert_true(bf_events_wait(hub.events));
	first = hub.env.boot(hub.env.data);
	expect(&hub, &hub.reader, "1 ");
	change(&hub, 1);
	assert_true(bf_events_wait(hub.events));
	/* The clock was read a moment after the first batch. */
	assert_true(bf_boot_since(hub.env.boot(hub.env.data), first) >
			BF_EVENTS_PAUSE - 50 * BELFRY_MILLISECOND);
	expect(&hub, &hub.reader, "1 ");
	change(&hub, 1);
	bf_events_end(hub.events);
	assert_false(bf_events_wait(hub.events));
	close_hub(&hub);
}

static void a_reader_that_falls_behind_the_bound_is_told_so(void **state)
{
	struct bf_events_reader quick;
	struct hub hub;

	(void)state;
	open_hub(&hub);
	bf_events_join(hub.events, &quick);
	expect(&hub, &hub.reader, "resync ");
	expect(&hub, &quick, "resync ");
	for (unsigned i = 1; i <= BF_EVENTS_KEPT + 1; i++) {
		change(&hub, i);
		if (i % 500 == 0) {
			char words[16];
			publish(&hub);
			struct belfry_id ids[500];
			bool is_resync;
			assert_int_equal(bf_events_read(hub.events, &quick, 500, ids, &is_resync),
					500);
			assert_false(is_resync);
			(void)snprintf(words, sizeof(words), "%u", i);
			assert_int_equal(number_of(ids[499]), i);
		}
	}
	publish(&hub);
	expect(&hub, &quick, "1001 "); /* it has missed nothing */
	expect(&hub, &hub.reader, "resync ");
	change(&hub, 5);
	publish(&hub);
	expect(&hub, &hub.reader, "5 ");
	bf_events_leave(hub.events);
	close_hub(&hub);
}

static void more_changes_at_once_than_are_kept_are_a_gap(void **state)
{
	struct hub hub;

	(void)state;
	open_hub(&hub);
	expect(&hub, &hub.reader, "resync ");
	for (unsigned i = 1; i <= 3 * BF_EVENTS_KEPT; i++) {
		change(&hub, i);
	}
	publish(&hub);
	expect(&hub, &hub.reader, "resync ");
	change(&hub, 1);
	publish(&hub);
	expect(&hub, &hub.reader, "1 ");
	close_hub(&hub);
}

static void whatever_is_lost_is_told_to_everybody(void **state)
{
	struct hub hub;

	(void)state;
	open_hub(&hub);
	expect(&hub, &hub.reader, "resync ");
	change(&hub, 1);
	bf_events_lost(hub.events);
	publish(&hub);
	expect(&hub, &hub.reader, "resync ");
	bf_events_changed(hub.events, BF_STR("no id"));
	publish(&hub);
	expect(&hub, &hub.reader, "resync ");
	close_hub(&hub);
}

/* What changes while nobody listens is not kept: who comes later reads anyhow. */
static void nothing_is_kept_while_nobody_listens(void **state)
{
	struct hub hub;

	(void)state;
	open_hub(&hub);
	bf_events_leave(hub.events);
	change(&hub, 1);
	bf_events_lost(hub.events);
	bf_events_join(hub.events, &hub.reader);
	change(&hub, 2);
	publish(&hub);
	expect(&hub, &hub.reader, "resync ");
	change(&hub, 3);
	publish(&hub);
	expect(&hub, &hub.reader, "3 ");
	close_hub(&hub);
	bf_events_changed(NULL, BF_STR("x"));
	bf_events_lost(NULL);
	bf_events_free(NULL);
}

static void a_hub_without_memory_is_refused(void **state)
{
	struct bf_events *events = NULL;

	(void)state;
	bf_fault_arm(bf_alloc_fault(), 1, 1);
	assert_int_equal(bf_events_new(bf_env_system(), &events), BELFRY_NOMEM);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_null(events);
}

/* --- the host tells it --- */

static void expect_hint(struct host_fixture *fixture, struct bf_events_reader *reader,
		const char *id)
{
	struct belfry_id ids[2];
	char text[BELFRY_ID_TEXT_BYTES] = "";
	bool is_resync;

	assert_true(bf_events_wait(fixture->events));
	assert_int_equal(bf_events_read(fixture->events, reader, 2, ids, &is_resync), 1);
	belfry_id_format(ids[0], text);
	assert_string_equal(text, id);
}

static void every_change_of_a_deployment_is_a_hint(void **state)
{
	struct host_fixture fixture;
	struct bf_events_reader reader;
	struct bf_deployment_view view = {0};
	struct belfry_id ids[1];
	struct belfry_error err;
	bool is_resync;

	(void)state;
	host_fixture_begin(&fixture);
	assert_int_equal(bf_events_new(&fixture.env, &fixture.events), BELFRY_OK);
	host_fixture_open(&fixture);
	bf_events_join(fixture.events, &reader);
	assert_int_equal(bf_events_read(fixture.events, &reader, 1, ids, &is_resync), 0);
	json_t *body = json_pack("{s:s, s:{s:s}, s:{s:s, s:s}}", "name", "n", "rule", "cron",
			"0 9 * * *", "target", "kind", "webhook", "url", "https://h.example.org/");
	json_t *patch = json_pack("{s:s}", "prompt", "new");
	assert_int_equal(bf_deployments_create(fixture.host, body, &view, &err), BELFRY_OK);
	struct belfry_str id = bf_str(view.id);
	expect_hint(&fixture, &reader, view.id);
	json_decref(view.json);
	assert_int_equal(bf_deployments_edit(fixture.host, id, 0, patch, &view, &err), BELFRY_OK);
	expect_hint(&fixture, &reader, view.id);
	json_decref(view.json);
	assert_int_equal(bf_deployments_enable(fixture.host, id, 0, false, BF_STR("why"), &view,
					 &err),
			BELFRY_OK);
	expect_hint(&fixture, &reader, view.id);
	json_decref(view.json);
	/* An edit that the provider refuses is put back: under another revision. */
	fixture.fake.fails[FAKE_APPLY] = BELFRY_CAPACITY;
	assert_int_equal(bf_deployments_edit(fixture.host, id, 0, patch, &view, &err),
			BELFRY_CAPACITY);
	expect_hint(&fixture, &reader, view.id);
	/* Gone for everybody, though the provider is not there to hear it. */
	fixture.fake.fails[FAKE_REMOVE] = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_deployments_remove(fixture.host, id, 0, &err), BELFRY_UNAVAILABLE);
	expect_hint(&fixture, &reader, view.id);
	assert_int_equal(bf_deployments_remove(fixture.host, BF_STR("nothing"), 0, &err),
			BELFRY_NOT_FOUND);
	json_decref(body);
	json_decref(patch);
	bf_events_leave(fixture.events);
	host_fixture_end(&fixture);
}

int run_event_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_reader_begins_by_reading_everything),
			cmocka_unit_test(changes_are_heard_in_their_order_once),
			cmocka_unit_test(a_slow_reader_hears_of_a_deployment_once_and_misses_none),
			cmocka_unit_test(a_batch_waits_for_the_pause),
			cmocka_unit_test(a_reader_that_falls_behind_the_bound_is_told_so),
			cmocka_unit_test(more_changes_at_once_than_are_kept_are_a_gap),
			cmocka_unit_test(whatever_is_lost_is_told_to_everybody),
			cmocka_unit_test(nothing_is_kept_while_nobody_listens),
			cmocka_unit_test(a_hub_without_memory_is_refused),
			cmocka_unit_test(every_change_of_a_deployment_is_a_hint),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}

/* Reply handles: single use, from any thread, too late when the attempt is over, alive after the runtime;
 * what a handler answers wrongly ends its own Run and no other. */
#include "cases.h"

#include "base/alloc.h"
#include "runtime/message.h"
#include "runtime/replies.h"

struct bench {
	struct bf_inbox inbox;
	struct bf_reply_book *book;
	struct bf_token token;
};

static int set_up(void **state)
{
	struct bench *b = bf_alloc(sizeof(*b));

	assert_non_null(b);
	assert_int_equal(bf_inbox_init(&b->inbox), BELFRY_OK);
	assert_int_equal(bf_reply_book_new(&b->inbox, &b->book), BELFRY_OK);
	b->token = (struct bf_token){.run = {{1}}, .fence = 5, .attempt = 1};
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	bf_reply_book_close(b->book);
	bf_inbox_fini(&b->inbox);
	bf_free(b);
	return 0;
}

static struct belfry_reply *new_reply(struct bench *b)
{
	struct belfry_reply *reply = bf_reply_new(b->book, &b->token);

	assert_non_null(reply);
	return reply;
}

/* The answer that was posted; NULL: none. */
static struct bf_answer *take(struct bench *b)
{
	bool has_more;
	struct bf_link *link = bf_inbox_take(&b->inbox, &has_more);

	return link != NULL ? BF_CONTAINER(link, struct bf_message, link)->answer : NULL;
}

static void an_answer_carries_its_token_and_a_copy_of_its_words(void **state)
{
	struct bench *b = *state;
	struct belfry_reply *reply = new_reply(b);
	char name[] = "session";

	assert_int_equal(bf_reply_book_wait(b->book, bf_monotonic_in(0)), 1);
	assert_int_equal(belfry_reply_session(&reply, bf_str(name)), BELFRY_OK);
	assert_null(reply);
	name[0] = 'X';
	assert_int_equal(bf_reply_book_wait(b->book, bf_monotonic_in(0)), 0);
	struct bf_answer *answer = take(b);
	assert_int_equal(answer->kind, BF_ANSWER_SESSION);
	assert_true(bf_str_equal(answer->name, BF_STR("session")));
	assert_true(answer->token.fence == 5);
	bf_answer_release(answer);
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_INVALID);
}

static void an_attempt_that_is_over_answers_stale(void **state)
{
	struct bench *b = *state;
	struct belfry_reply *reply = new_reply(b);

	bf_reply_cancel(b->book, &b->token);
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_STALE);
	assert_null(reply);
	assert_null(take(b));
	/* Others, whose fence or step is another, are not over. */
	reply = new_reply(b);
	struct bf_token other = b->token;
	other.fence++;
	bf_reply_cancel(b->book, &other);
	other = b->token;
	other.step = BELFRY_STEP_TURN;
	bf_reply_cancel(b->book, &other);
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_OK);
	bf_answer_release(take(b));
}

static void t080_after_the_end_every_answer_is_stale_and_counted(void **state)
{
	struct bench *b = *state;
	struct belfry_reply *reply = new_reply(b);

	bf_reply_book_end(b->book);
	assert_int_equal(bf_reply_book_wait(b->book, bf_monotonic_in(0)), 1);
	assert_int_equal(belfry_reply_turn(&reply, BF_STR("t"), NULL), BELFRY_STALE);
	assert_int_equal(bf_reply_book_wait(b->book, bf_monotonic_in(0)), 0);
}

static void a_handle_may_outlive_the_book(void **state)
{
	struct bench *b = *state;
	struct belfry_reply *first = new_reply(b);
	b->token.attempt++;
	struct belfry_reply *second = new_reply(b);

	bf_reply_book_close(b->book);
	b->book = NULL;
	assert_int_equal(belfry_reply_retry(&first, 0, BELFRY_RUN_ERROR_NONE, BF_STR(""),
					 BF_STR("")),
			BELFRY_STALE);
	assert_int_equal(belfry_reply_session(&second, BF_STR("s")), BELFRY_STALE);
}

static void check_permanent(struct bench *b, enum belfry_status status)
{
	assert_int_equal(status, BELFRY_OK);
	struct bf_answer *answer = take(b);
	assert_int_equal(answer->kind, BF_ANSWER_PERMANENT);
	assert_true((unsigned)answer->error < BELFRY_RUN_ERROR_COUNT);
	bf_answer_release(answer);
}

static void what_cannot_be_stored_ends_the_run_and_spoils_no_batch(void **state)
{
	struct bench *b = *state;
	static char long_name[201];
	struct belfry_outcome bad[] = {
			{.status = BELFRY_STATUS_RUNNING},
			{.status = BELFRY_STATUS_SKIPPED},
			{.status = BELFRY_RUN_STATUS_COUNT},
			{.status = BELFRY_STATUS_FAILED, .error = BELFRY_RUN_ERROR_COUNT},
			{.status = BELFRY_STATUS_FAILED, .error = (enum belfry_run_error) - 1},
			{.status = BELFRY_STATUS_COMPLETED, .message = BF_STR("\xff\xfe")},
	};

	memset(long_name, 'n', sizeof(long_name));
	const struct belfry_str names[] = {BF_STR(""), BF_STR("\xc3\x28"),
			{long_name, sizeof(long_name)}};
	for (size_t i = 0; i < BF_COUNT(names); i++) {
		struct belfry_reply *reply = new_reply(b);
		check_permanent(b, belfry_reply_session(&reply, names[i]));
	}
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		struct belfry_reply *reply = new_reply(b);
		bad[i].size = sizeof(bad[i]);
		check_permanent(b, belfry_reply_turn(&reply, BF_STR("t"), &bad[i]));
	}
	struct belfry_reply *reply = new_reply(b);
	check_permanent(b,
			belfry_reply_permanent(&reply, (enum belfry_run_error)1000, BF_STR("\xff"),
					BF_STR("")));
}

static void long_words_are_cut_where_a_character_ends(void **state)
{
	struct bench *b = *state;
	struct belfry_reply *reply = new_reply(b);
	char message[1202];

	for (size_t i = 0; i + 1 < sizeof(message); i += 3) {
		memcpy(message + i, i % 2 == 0 ? "\xe2\x82\xac" : "a\xc3\xa9",
				BF_MIN(3, sizeof(message) - i));
	}
	assert_int_equal(belfry_reply_retry(&reply, -5, BELFRY_RUN_ERROR_TARGET_ANSWERED,
					 (struct belfry_str){message, 1200},
					 (struct belfry_str){message, 1200}),
			BELFRY_OK);
	struct bf_answer *answer = take(b);
	assert_in_range(answer->message.len, 297, 300);
	assert_true(bf_str_is_utf8(answer->message));
	assert_in_range(answer->detail.len, 997, 1000);
	assert_true(bf_str_is_utf8(answer->detail));
	assert_true(answer->after == 0);
	bf_answer_release(answer);
}

static void without_memory_for_its_name_a_session_is_asked_for_again(void **state)
{
	struct bench *b = *state;
	struct belfry_reply *reply = new_reply(b);

	bf_fault_arm(bf_alloc_fault(), 1, -1);
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_OK);
	assert_null(bf_reply_new(b->book, &b->token));
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	struct bf_answer *answer = take(b);
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	bf_answer_release(answer);
	assert_int_equal(bf_reply_book_wait(b->book, bf_monotonic_in(0)), 0);
}

/* ---- races ------------------------------------------------------------------------------------- */

enum { RACES = 2000 };

struct race {
	struct bench *bench;
	struct belfry_reply *replies[RACES];
	size_t taken;
};

static void *answer_main(void *data)
{
	struct race *race = data;

	for (size_t i = 0; i < RACES; i++) {
		enum belfry_status status = belfry_reply_session(&race->replies[i], BF_STR("s"));
		race->taken += status == BELFRY_OK;
	}
	return NULL;
}

/* The far end answers while the provider declares the same attempts over: each answer is either
 * taken, and then arrives, or stale, and then never does. */
static void answers_race_with_cancels(void **state)
{
	struct bench *b = *state;
	static struct race race;
	pthread_t thread;
	size_t arrived = 0;

	race.bench = b;
	for (uint32_t i = 0; i < RACES; i++) {
		b->token.attempt = i;
		race.replies[i] = new_reply(b);
	}
	assert_int_equal(pthread_create(&thread, NULL, answer_main, &race), 0);
	for (uint32_t i = 0; i < RACES; i++) {
		b->token.attempt = RACES - 1 - i;
		bf_reply_cancel(b->book, &b->token);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (struct bf_answer *answer = take(b); answer != NULL; answer = take(b)) {
		bf_answer_release(answer);
		arrived++;
	}
	assert_int_equal(arrived, race.taken);
	assert_int_equal(bf_reply_book_wait(b->book, bf_monotonic_in(0)), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int run_replies_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(an_answer_carries_its_token_and_a_copy_of_its_words),
			CASE(an_attempt_that_is_over_answers_stale),
			CASE(t080_after_the_end_every_answer_is_stale_and_counted),
			CASE(a_handle_may_outlive_the_book),
			CASE(what_cannot_be_stored_ends_the_run_and_spoils_no_batch),
			CASE(long_words_are_cut_where_a_character_ends),
			CASE(without_memory_for_its_name_a_session_is_asked_for_again),
			CASE(answers_race_with_cancels),
	};
	return cmocka_run_group_tests_name("replies", tests, NULL, NULL);
}

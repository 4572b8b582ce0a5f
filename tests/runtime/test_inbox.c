/* The inbox: order, wake-ups that are never lost, and waits that end. */
#include "cases.h"

#include "base/alloc.h"
#include "runtime/inbox.h"

enum { SENDERS = 4, EACH = 5000 };

struct letter {
	struct bf_link link;
	unsigned sender;
	unsigned number;
};

struct sender {
	struct bf_inbox *inbox;
	struct letter *letters;
	pthread_t thread;
};

static struct bf_boot_time in(belfry_duration d)
{
	const struct bf_env *env = bf_env_system();

	return bf_boot_add(env->boot(env->data), d);
}

static void *send_main(void *data)
{
	struct sender *sender = data;

	for (unsigned i = 0; i < EACH; i++) {
		bf_inbox_post(sender->inbox, &sender->letters[i].link);
	}
	return NULL;
}

static void every_message_arrives_in_its_senders_order(void **state)
{
	struct bf_inbox inbox;
	struct sender senders[SENDERS];
	unsigned seen[SENDERS] = {0};
	size_t count = 0;

	(void)state;
	assert_int_equal(bf_inbox_init(&inbox), BELFRY_OK);
	for (unsigned s = 0; s < SENDERS; s++) {
		senders[s].inbox = &inbox;
		senders[s].letters = bf_alloc_array(EACH, sizeof(struct letter));
		assert_non_null(senders[s].letters);
		for (unsigned i = 0; i < EACH; i++) {
			senders[s].letters[i].sender = s;
			senders[s].letters[i].number = i;
		}
		assert_int_equal(pthread_create(&senders[s].thread, NULL, send_main, &senders[s]),
				0);
	}
	while (count < SENDERS * EACH) {
		bool has_more;
		bool clock_set;
		struct bf_link *link = bf_inbox_take(&inbox, &has_more);
		if (link == NULL) {
			/* A lost wake-up would let this wait run out. */
			bf_inbox_wait(&inbox, in(30 * BELFRY_SECOND), &clock_set);
			assert_false(bf_inbox_is_empty(&inbox) && count == 0 && clock_set);
			continue;
		}
		struct letter *letter = BF_CONTAINER(link, struct letter, link);
		assert_int_equal(letter->number, seen[letter->sender]);
		seen[letter->sender]++;
		count++;
	}
	for (unsigned s = 0; s < SENDERS; s++) {
		assert_int_equal(pthread_join(senders[s].thread, NULL), 0);
		bf_free(senders[s].letters);
	}
	bf_inbox_fini(&inbox);
}

static void a_wait_ends_at_its_time_and_at_once_for_the_past(void **state)
{
	const struct bf_env *env = bf_env_system();
	struct bf_inbox inbox;
	bool clock_set;

	(void)state;
	assert_int_equal(bf_inbox_init(&inbox), BELFRY_OK);
	struct bf_boot_time until = in(50 * BELFRY_MILLISECOND);
	bf_inbox_wait(&inbox, until, &clock_set);
	struct bf_boot_time now = env->boot(env->data);
	assert_true(now.us >= until.us);
	assert_true(now.us < until.us + 20 * BELFRY_SECOND);
	bf_inbox_wait(&inbox, (struct bf_boot_time){0}, &clock_set);
	bf_inbox_wait(&inbox, in(-BELFRY_HOUR), &clock_set);
	/* Before the machine was booted, however long it has been up. */
	bf_inbox_wait(&inbox, (struct bf_boot_time){-BELFRY_HOUR}, &clock_set);
	assert_true(env->boot(env->data).us < now.us + 20 * BELFRY_SECOND);
	bf_inbox_fini(&inbox);
}

static void a_wake_up_before_the_wait_is_kept(void **state)
{
	const struct bf_env *env = bf_env_system();
	struct bf_inbox inbox;
	bool clock_set;

	(void)state;
	assert_int_equal(bf_inbox_init(&inbox), BELFRY_OK);
	bf_inbox_wake(&inbox);
	bf_inbox_wake(&inbox);
	struct bf_boot_time until = in(30 * BELFRY_SECOND);
	bf_inbox_wait(&inbox, until, &clock_set);
	assert_true(env->boot(env->data).us < until.us);
	bf_inbox_fini(&inbox);
}

/* The same sender: the higher number stays. Sender 0 alone is told where the letter is. */
static enum bf_inbox_merge merge(struct bf_link *waiting_link, struct bf_link *news_link)
{
	struct letter *waiting = BF_CONTAINER(waiting_link, struct letter, link);
	struct letter *news = BF_CONTAINER(news_link, struct letter, link);

	if (waiting->sender != news->sender) {
		return BF_INBOX_KEEP_BOTH;
	}
	if (news->sender > 0) {
		return BF_INBOX_KEEP_NEWS;
	}
	waiting->number = news->number;
	return BF_INBOX_KEEP_WAITING;
}

static void what_is_told_again_waits_once(void **state)
{
	static const unsigned wanted[][2] = {{0, 3}, {2, 1}, {1, 5}};
	const struct bf_env *env = bf_env_system();
	struct bf_inbox inbox;
	struct letter letters[] = {{.sender = 0, .number = 2}, {.sender = 1, .number = 4},
			{.sender = 2, .number = 1}, {.sender = 1, .number = 5},
			{.sender = 0, .number = 3}};
	bool has_more;
	bool clock_set;

	(void)state;
	assert_int_equal(bf_inbox_init(&inbox), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(letters); i++) {
		struct bf_link *left = bf_inbox_post_merged(&inbox, &letters[i].link, merge);
		struct bf_link *expected = i == 3 ? &letters[1].link
				: i == 4          ? &letters[4].link
						  : NULL;
		assert_ptr_equal(left, expected);
		assert_true(left == NULL || left->list == NULL);
	}
	struct bf_boot_time until = in(30 * BELFRY_SECOND);
	bf_inbox_wait(&inbox, until, &clock_set);
	assert_true(env->boot(env->data).us < until.us); /* the first one has woken it */
	for (size_t i = 0; i < BF_COUNT(wanted); i++) {
		struct letter *letter = BF_CONTAINER(bf_inbox_take(&inbox, &has_more),
				struct letter, link);
		assert_int_equal(letter->sender, wanted[i][0]);
		assert_int_equal(letter->number, wanted[i][1]);
		assert_int_equal(has_more, i + 1 < BF_COUNT(wanted));
	}
	bf_inbox_fini(&inbox);
}

int run_inbox_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_message_arrives_in_its_senders_order),
			cmocka_unit_test(a_wait_ends_at_its_time_and_at_once_for_the_past),
			cmocka_unit_test(a_wake_up_before_the_wait_is_kept),
			cmocka_unit_test(what_is_told_again_waits_once),
	};
	return cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
}

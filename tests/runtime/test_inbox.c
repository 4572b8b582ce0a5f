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

int run_inbox_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_message_arrives_in_its_senders_order),
			cmocka_unit_test(a_wait_ends_at_its_time_and_at_once_for_the_past),
			cmocka_unit_test(a_wake_up_before_the_wait_is_kept),
	};
	return cmocka_run_group_tests_name("inbox", tests, NULL, NULL);
}

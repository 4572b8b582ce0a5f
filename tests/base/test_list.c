/* The intrusive list: order, and membership as the state of an element. */
#include "cases.h"

#include "base/list.h"

struct item {
	int number;
	struct bf_link link;
};

/* Reads the list both ways; `expected` are the numbers in order. */
static void check_list(const struct bf_list *list, const char *expected)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf forward = {0};
	size_t count = 0;
	const struct bf_link *last = NULL;

	bf_buf_append_text(&forward, "");
	for (struct bf_link *link = list->first; link != NULL; link = link->next) {
		bf_buf_appendf(&forward, "%d", BF_CONTAINER(link, struct item, link)->number);
		assert_ptr_equal(link->previous, last);
		assert_ptr_equal(link->list, list);
		last = link;
		count++;
	}
	assert_ptr_equal(list->last, last);
	assert_int_equal(list->count, count);
	check_text(bf_buf_str(&forward), expected);
}

static void elements_keep_their_order_wherever_one_leaves(void **state)
{
	(void)state;
	static const char *left[] = {"234", "134", "124", "123"};

	for (size_t gone = 0; gone < 4; gone++) {
		struct bf_list list = {0};
		struct item items[] = {{1, {0}}, {2, {0}}, {3, {0}}, {4, {0}}};
		for (size_t i = 0; i < 4; i++) {
			bf_list_append(&list, &items[i].link);
		}
		check_list(&list, "1234");
		bf_list_remove(&items[gone].link);
		assert_null(items[gone].link.list);
		check_list(&list, left[gone]);
	}
}

static void moving_changes_the_list_and_both_counts(void **state)
{
	(void)state;
	struct bf_list waiting = {0};
	struct bf_list running = {0};
	struct item items[] = {{1, {0}}, {2, {0}}};

	bf_list_move(&waiting, &items[0].link);
	bf_list_move(&waiting, &items[1].link);
	bf_list_move(&running, &items[0].link);
	check_list(&waiting, "2");
	check_list(&running, "1");
	bf_list_move(&running, &items[0].link);
	check_list(&running, "1");
	bf_list_move(&running, &items[1].link);
	check_list(&waiting, "");
	check_list(&running, "12");
}

static void removing_what_is_in_no_list_does_nothing(void **state)
{
	(void)state;
	struct item item = {1, {0}};

	bf_list_remove(&item.link);
	assert_null(item.link.list);
}

static void an_element_cannot_be_in_two_lists(void **state)
{
	(void)state;
	struct bf_list one = {0};
	struct bf_list two = {0};
	struct item item = {1, {0}};

	catch_assertions();
	bf_list_append(&one, &item.link);
	expect_assert_failure(bf_list_append(&two, &item.link));
	check_list(&one, "1");
	check_list(&two, "");
	bf_assert_set_handler(NULL);
}

int run_list_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(elements_keep_their_order_wherever_one_leaves),
			cmocka_unit_test(moving_changes_the_list_and_both_counts),
			cmocka_unit_test(removing_what_is_in_no_list_does_nothing),
			cmocka_unit_test(an_element_cannot_be_in_two_lists),
	};

	return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}

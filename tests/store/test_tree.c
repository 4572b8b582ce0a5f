/* The tree of the memory store against a plain array that does the same. */
#include "support.h"

#include "store/memory/tree.h"

#define VALUES 257

struct row {
	struct mem_node node;
	int64_t value;
	bool is_in;
};

static struct mem_key row_key(const struct mem_node *node)
{
	const struct row *row = (const struct row *)(const void *)node;

	return (struct mem_key){.number = row->value};
}

static struct row rows[VALUES];
static struct mem_tree tree;

static int64_t value_of(const struct mem_node *node)
{
	return node != NULL ? ((const struct row *)(const void *)node)->value : -1;
}

/* The array's answers to the tree's questions. */
static int64_t first_from(int64_t from)
{
	for (int64_t v = from < 0 ? 0 : from; v < VALUES; v++) {
		if (rows[v].is_in) {
			return v;
		}
	}
	return -1;
}

static int64_t last_below(int64_t below)
{
	for (int64_t v = below - 1; v >= 0; v--) {
		if (rows[v].is_in) {
			return v;
		}
	}
	return -1;
}

static size_t count_below(int64_t below)
{
	size_t count = 0;

	for (int64_t v = 0; v < below; v++) {
		count += rows[v].is_in;
	}
	return count;
}

static void compare_all(void)
{
	for (int64_t v = 0; v < VALUES; v++) {
		struct mem_key key = {.number = v};
		struct mem_node *node = mem_tree_find_from(&tree, &key);
		assert_int_equal(value_of(node), first_from(v));
		assert_int_equal(value_of(mem_tree_find_below(&tree, &key)), last_below(v));
		assert_int_equal(mem_tree_rank(&tree, &key), count_below(v));
		assert_int_equal(mem_tree_find(&tree, &key) != NULL, rows[v].is_in);
		if (rows[v].is_in) {
			assert_int_equal(value_of(mem_tree_next(&rows[v].node)), first_from(v + 1));
			assert_int_equal(value_of(mem_tree_previous(&rows[v].node)), last_below(v));
		}
	}
	assert_int_equal(value_of(mem_tree_first(&tree)), first_from(0));
	assert_int_equal(value_of(mem_tree_last(&tree)), last_below(VALUES));
	assert_int_equal(mem_tree_count(&tree), count_below(VALUES));
}

static void a_tree_answers_as_an_array_would(void **state)
{
	uint64_t seed = 42;

	(void)state;
	tree = (struct mem_tree){.key = row_key};
	for (int i = 0; i < 4000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		struct row *row = &rows[(seed >> 33) % VALUES];
		row->value = row - rows;
		if (row->is_in && (seed >> 20 & 1) != 0) {
			mem_tree_remove(&tree, &row->node);
			row->is_in = false;
		} else if (!row->is_in) {
			assert_true(mem_tree_put(&tree, &row->node));
			row->is_in = true;
		}
		if (i % 100 == 0) {
			compare_all();
		}
	}
	compare_all();
}

static void a_key_is_in_the_tree_once(void **state)
{
	struct row one = {.value = 7};
	struct row other = {.value = 7};

	(void)state;
	tree = (struct mem_tree){.key = row_key};
	assert_true(mem_tree_put(&tree, &one.node));
	assert_false(mem_tree_put(&tree, &other.node));
	assert_int_equal(other.node.size, 0);
	mem_tree_remove(&tree, &other.node);
	assert_int_equal(mem_tree_count(&tree), 1);
	mem_tree_remove(&tree, &one.node);
	assert_int_equal(mem_tree_count(&tree), 0);
}

int test_tree(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_tree_answers_as_an_array_would),
			cmocka_unit_test(a_key_is_in_the_tree_once),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}

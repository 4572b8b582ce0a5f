/* The treap: a search tree by key that is a heap by a pseudo-random priority, and so about
 * balanced.
 *
 * Invariants  left < node < right by key; parent's priority >= child's; size counts the subtree.
 * It does not allocate, lock or own anything. */
#include "store/memory/tree.h"

#include <string.h>

#include "base/str.h"

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const struct mem_key *a, const struct mem_key *b)
{
	int order = compare_numbers(a->time, b->time);

	for (size_t i = 0; order == 0 && i < BF_COUNT(a->text); i++) {
		order = bf_str_compare(a->text[i], b->text[i]);
	}
	if (order == 0) {
		order = memcmp(a->id.bytes, b->id.bytes, sizeof(a->id.bytes));
	}
	if (order == 0) {
		order = compare_numbers(a->number, b->number);
	}
	return order != 0 ? order : compare_numbers(a->sequence, b->sequence);
}

static size_t node_size(const struct mem_node *node)
{
	return node != NULL ? node->size : 0;
}

static void measure(struct mem_node *node)
{
	node->size = 1 + node_size(node->left) + node_size(node->right);
}

/* Let `child` (or nothing) stand where `node` stands below its parent. */
static void replace(struct mem_tree *tree, const struct mem_node *node, struct mem_node *child)
{
	struct mem_node *parent = node->parent;

	if (parent == NULL) {
		tree->root = child;
	} else if (parent->left == node) {
		parent->left = child;
	} else {
		parent->right = child;
	}
	if (child != NULL) {
		child->parent = parent;
	}
}

/* Turn `node` above its parent. */
static void rotate_up(struct mem_tree *tree, struct mem_node *node)
{
	struct mem_node *parent = node->parent;
	bool is_left = parent->left == node;
	struct mem_node *inner = is_left ? node->right : node->left;

	replace(tree, parent, node);
	*(is_left ? &parent->left : &parent->right) = inner;
	if (inner != NULL) {
		inner->parent = parent;
	}
	*(is_left ? &node->right : &node->left) = parent;
	parent->parent = node;
	measure(parent);
	measure(node);
}

/* xorshift64: the priorities need to be spread, not secret. */
static uint64_t next_priority(struct mem_tree *tree)
{
	uint64_t x = tree->seed != 0 ? tree->seed : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	tree->seed = x;
	return x;
}

bool mem_tree_put(struct mem_tree *tree, struct mem_node *node)
{
	struct mem_key key = tree->key(node);
	struct mem_node *parent = NULL;
	struct mem_node **place = &tree->root;

	while (*place != NULL) {
		parent = *place;
		struct mem_key other = tree->key(parent);
		int order = compare_keys(&key, &other);
		if (order == 0) {
			return false;
		}
		place = order < 0 ? &parent->left : &parent->right;
	}
	*node = (struct mem_node){.parent = parent, .size = 1, .priority = next_priority(tree)};
	*place = node;
	for (struct mem_node *up = parent; up != NULL; up = up->parent) {
		up->size++;
	}
	while (node->parent != NULL && node->parent->priority < node->priority) {
		rotate_up(tree, node);
	}
	return true;
}

void mem_tree_remove(struct mem_tree *tree, struct mem_node *node)
{
	if (node->size == 0) {
		return;
	}
	while (node->left != NULL && node->right != NULL) {
		rotate_up(tree,
				node->left->priority > node->right->priority ? node->left
									     : node->right);
	}
	replace(tree, node, node->left != NULL ? node->left : node->right);
	for (struct mem_node *up = node->parent; up != NULL; up = up->parent) {
		up->size--;
	}
	*node = (struct mem_node){0};
}

struct mem_node *mem_tree_find_from(const struct mem_tree *tree, const struct mem_key *key)
{
	struct mem_node *found = NULL;

	for (struct mem_node *node = tree->root; node != NULL;) {
		struct mem_key other = tree->key(node);
		if (compare_keys(&other, key) >= 0) {
			found = node;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return found;
}

struct mem_node *mem_tree_find_below(const struct mem_tree *tree, const struct mem_key *key)
{
	struct mem_node *found = NULL;

	for (struct mem_node *node = tree->root; node != NULL;) {
		struct mem_key other = tree->key(node);
		if (compare_keys(&other, key) < 0) {
			found = node;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return found;
}

struct mem_node *mem_tree_find(const struct mem_tree *tree, const struct mem_key *key)
{
	struct mem_node *node = mem_tree_find_from(tree, key);

	if (node == NULL) {
		return NULL;
	}
	struct mem_key other = tree->key(node);
	return compare_keys(&other, key) == 0 ? node : NULL;
}

static struct mem_node *leftmost(struct mem_node *node)
{
	while (node != NULL && node->left != NULL) {
		node = node->left;
	}
	return node;
}

static struct mem_node *rightmost(struct mem_node *node)
{
	while (node != NULL && node->right != NULL) {
		node = node->right;
	}
	return node;
}

struct mem_node *mem_tree_first(const struct mem_tree *tree)
{
	return leftmost(tree->root);
}

struct mem_node *mem_tree_last(const struct mem_tree *tree)
{
	return rightmost(tree->root);
}

struct mem_node *mem_tree_next(const struct mem_node *node)
{
	if (node->right != NULL) {
		return leftmost(node->right);
	}
	while (node->parent != NULL && node->parent->right == node) {
		node = node->parent;
	}
	return node->parent;
}

struct mem_node *mem_tree_previous(const struct mem_node *node)
{
	if (node->left != NULL) {
		return rightmost(node->left);
	}
	while (node->parent != NULL && node->parent->left == node) {
		node = node->parent;
	}
	return node->parent;
}

size_t mem_tree_count(const struct mem_tree *tree)
{
	return node_size(tree->root);
}

size_t mem_tree_rank(const struct mem_tree *tree, const struct mem_key *key)
{
	size_t rank = 0;

	for (const struct mem_node *node = tree->root; node != NULL;) {
		struct mem_key other = tree->key(node);
		if (compare_keys(&other, key) < 0) {
			rank += node_size(node->left) + 1;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return rank;
}

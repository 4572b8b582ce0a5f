/* The one ordered structure of the memory store: an intrusive treap with subtree sizes. Linking a
 * row never allocates, so a change that was prepared can no longer fail.
 *
 * Keys       every table is ordered by one struct mem_key; members that a table does not use are
 *            zero.
 * Ownership  the tree links nodes that live inside rows; it owns nothing.
 * Threads    the caller holds the database's lock. */
#ifndef BF_STORE_MEMORY_TREE_H
#define BF_STORE_MEMORY_TREE_H

#include <belfry/types.h>

#include "base/compiler.h"

/* Compared member by member, in this order. */
struct mem_key {
	int64_t time;
	struct belfry_str text[4];
	struct belfry_id id;
	int64_t number;
	int64_t sequence;
};

struct mem_node {
	struct mem_node *parent;
	struct mem_node *left;
	struct mem_node *right;
	size_t size; /* of the subtree; 0: linked nowhere */
	uint64_t priority;
};

struct mem_tree {
	struct mem_node *root;
	struct mem_key (*key)(const struct mem_node *node);
	uint64_t seed; /* of the priorities; any value */
};

/* Links `node`. False: the key is there already, nothing was changed. */
bool mem_tree_put(struct mem_tree *tree, struct mem_node *node);
/* Nothing where it is not linked. */
void mem_tree_remove(struct mem_tree *tree, struct mem_node *node);
struct mem_node *mem_tree_find(const struct mem_tree *tree, const struct mem_key *key);
/* The first node whose key is not below `key`; NULL: none. */
struct mem_node *mem_tree_find_from(const struct mem_tree *tree, const struct mem_key *key);
/* The last node whose key is below `key`; NULL: none. */
struct mem_node *mem_tree_find_below(const struct mem_tree *tree, const struct mem_key *key);
struct mem_node *mem_tree_first(const struct mem_tree *tree);
struct mem_node *mem_tree_last(const struct mem_tree *tree);
struct mem_node *mem_tree_next(const struct mem_node *node);
struct mem_node *mem_tree_previous(const struct mem_node *node);
size_t mem_tree_count(const struct mem_tree *tree);
/* How many nodes have a key below `key`. */
size_t mem_tree_rank(const struct mem_tree *tree, const struct mem_key *key);

#endif

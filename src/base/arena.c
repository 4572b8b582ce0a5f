/* The arena: blocks in a chain, filled from the first on; reset goes back to the first. */
#include <belfry/arena.h>

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"

#define BLOCK_BYTES ((size_t)16384)

struct belfry_arena_block {
	struct belfry_arena_block *next;
	size_t used;
	size_t capacity;
	alignas(max_align_t) unsigned char bytes[];
};

void belfry_arena_fini(struct belfry_arena *arena)
{
	struct belfry_arena_block *block = arena != NULL ? arena->first : NULL;

	while (block != NULL) {
		struct belfry_arena_block *next = block->next;
		bf_free(block);
		block = next;
	}
	if (arena == NULL) {
		return;
	}
	*arena = (struct belfry_arena)BELFRY_ARENA_INIT;
}

void belfry_arena_reset(struct belfry_arena *arena)
{
	if (arena == NULL) {
		return;
	}
	arena->current = arena->first;
	if (arena->first != NULL) {
		arena->first->used = 0;
	}
}

static bool fits(const struct belfry_arena_block *block, size_t size)
{
	return block != NULL && block->capacity - block->used >= size;
}

/* The next block that holds `size` bytes: one that an earlier round left, else a new one. */
static struct belfry_arena_block *next_block(struct belfry_arena *arena, size_t size)
{
	struct belfry_arena_block **place = arena->current != NULL ? &arena->current->next
								   : &arena->first;

	if (*place != NULL) {
		(*place)->used = 0;
		if (fits(*place, size)) {
			return *place;
		}
	}
	size_t capacity = BF_MAX(size, BLOCK_BYTES);
	if (capacity > SIZE_MAX - sizeof(struct belfry_arena_block)) {
		return NULL;
	}
	struct belfry_arena_block *block = bf_realloc_array(NULL, 1,
			sizeof(struct belfry_arena_block) + capacity);
	if (block == NULL) {
		return NULL;
	}
	*block = (struct belfry_arena_block){.next = *place, .capacity = capacity};
	*place = block;
	return block;
}

void *belfry_arena_alloc(struct belfry_arena *arena, size_t size)
{
	if (arena == NULL || size > SIZE_MAX / 2) {
		return NULL;
	}
	size = (BF_MAX(size, 1) + alignof(max_align_t) - 1) / alignof(max_align_t) *
			alignof(max_align_t);
	if (!fits(arena->current, size)) {
		struct belfry_arena_block *block = next_block(arena, size);
		if (block == NULL) {
			return NULL;
		}
		arena->current = block;
	}
	void *memory = arena->current->bytes + arena->current->used;
	arena->current->used += size;
	memset(memory, 0, size);
	return memory;
}

enum belfry_status belfry_arena_copy(struct belfry_arena *arena, struct belfry_str text,
		struct belfry_str *ret_copy)
{
	if (arena == NULL || ret_copy == NULL || text.len == SIZE_MAX ||
			(text.len > 0 && text.ptr == NULL)) {
		return BELFRY_INVALID;
	}
	char *copy = belfry_arena_alloc(arena, text.len + 1);
	if (copy == NULL) {
		return BELFRY_NOMEM;
	}
	if (text.len > 0) {
		memcpy(copy, text.ptr, text.len);
	}
	*ret_copy = (struct belfry_str){copy, text.len};
	return BELFRY_OK;
}

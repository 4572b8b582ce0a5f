/* An arena: memory that is given out piece by piece and taken back all at once. Stores put their
 * results into the caller's arena; nothing in it is freed alone.
 *
 * Ownership  the caller makes it with BELFRY_ARENA_INIT (or all zero), keeps it as long as it reads the
 *            results, and ends it with fini. reset forgets the contents and keeps the memory: a loop
 *            allocates nothing after its first rounds.
 * Threads    one at a time. Nothing here blocks.
 * Since      0.1 */
#ifndef BELFRY_ARENA_H
#define BELFRY_ARENA_H

#include <belfry/status.h>

BELFRY_BEGIN_DECLS

struct belfry_arena_block; /* opaque */

struct belfry_arena {
	struct belfry_arena_block *first;
	struct belfry_arena_block *current;
};

#define BELFRY_ARENA_INIT                                                                          \
	{                                                                                          \
		NULL, NULL                                                                         \
	}

/* Frees all memory; what was given out is gone. The arena is empty then, and may be used again. NULL is
 * fine. */
BELFRY_API void belfry_arena_fini(struct belfry_arena *arena);
/* Forgets what was given out, and keeps the memory for what follows. NULL is fine. */
BELFRY_API void belfry_arena_reset(struct belfry_arena *arena);

/* Zeroed bytes, aligned for any type; NULL when there is no memory (or no arena). Borrowed until
 * reset or fini. */
BELFRY_API BELFRY_MUST_CHECK void *belfry_arena_alloc(struct belfry_arena *arena, size_t size);

/* A copy of `text` with a NUL behind it, which *ret_copy borrows from the arena until reset or fini.
 * BELFRY_OK, BELFRY_NOMEM, BELFRY_INVALID (a pointer is NULL, also that of a text with a length). */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_arena_copy(struct belfry_arena *arena,
		struct belfry_str text, struct belfry_str *ret_copy);

BELFRY_END_DECLS

#endif

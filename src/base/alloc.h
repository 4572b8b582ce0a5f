/* All allocation of the tree goes through here: one replaceable table, and the fault counter of the
 * allocator sweeps behind it. NULL is an ordinary answer (BELFRY_NOMEM); only `main` may give up. */
#ifndef BF_ALLOC_H
#define BF_ALLOC_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/fault.h"

struct bf_allocator {
	void *(*resize)(void *pointer, size_t size); /* as realloc(3) */
	void (*release)(void *pointer);              /* as free(3) */
};

/* Set before any thread exists. NULL: the C library's. */
void bf_alloc_set(const struct bf_allocator *allocator);

/* The counter that every allocation passes; armed by tests alone. */
struct bf_fault *bf_alloc_fault(void);

/* Zeroed memory; NULL when there is none, or when count * size overflows. Freed by bf_free. */
BF_MUST_CHECK void *bf_alloc(size_t size);
BF_MUST_CHECK void *bf_alloc_array(size_t count, size_t size);
/* Grow or shrink; new bytes are NOT zeroed; on failure the old block stays as it is. */
BF_MUST_CHECK void *bf_realloc_array(void *pointer, size_t count, size_t size);
/* A copy of `len` bytes with a NUL behind. */
BF_MUST_CHECK char *bf_strndup(const char *text, size_t len);
void bf_free(void *pointer);

/* For BF_CLEANUP on a local pointer of any type: BF_CLEANUP(bf_free_pointer) char *text = NULL; */
void bf_free_pointer(void *pointer_to_pointer);

/* Hand a pointer on and forget it: return BF_TAKE(thing); */
void *bf_take(void *pointer_to_pointer);
#define BF_TAKE(pointer) bf_take(&(pointer))

#endif

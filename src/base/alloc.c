/* The one allocator of the tree. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const struct bf_allocator libc_allocator = {.resize = realloc, .release = free};

/* Set once in `main` or a test, before any thread exists. */
static const struct bf_allocator *current_allocator = &libc_allocator;
static struct bf_fault allocator_fault;

void bf_alloc_set(const struct bf_allocator *allocator)
{
	current_allocator = allocator != NULL ? allocator : &libc_allocator;
}

struct bf_fault *bf_alloc_fault(void)
{
	return &allocator_fault;
}

static void *resize(void *pointer, size_t size)
{
	if (bf_fault_hit(&allocator_fault)) {
		return NULL;
	}
	return current_allocator->resize(pointer, size > 0 ? size : 1);
}

void *bf_alloc(size_t size)
{
	void *pointer = resize(NULL, size);

	if (pointer != NULL) {
		memset(pointer, 0, size);
	}
	return pointer;
}

void *bf_alloc_array(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		return NULL;
	}
	return bf_alloc(total);
}

void *bf_realloc_array(void *pointer, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		return NULL;
	}
	return resize(pointer, total);
}

char *bf_strndup(const char *text, size_t len)
{
	if (len == SIZE_MAX) {
		return NULL;
	}
	char *copy = resize(NULL, len + 1);
	if (copy != NULL) {
		if (len > 0) {
			memcpy(copy, text, len);
		}
		copy[len] = '\0';
	}
	return copy;
}

void bf_free(void *pointer)
{
	if (pointer != NULL) {
		current_allocator->release(pointer);
	}
}

void bf_free_pointer(void *pointer_to_pointer)
{
	bf_free(bf_take(pointer_to_pointer));
}

void *bf_take(void *pointer_to_pointer)
{
	void *pointer;
	void *none = NULL;

	/* memcpy: the pointer may have any type, and aliasing rules hold for it too. */
	memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
	memcpy(pointer_to_pointer, &none, sizeof(none));
	return pointer;
}

/* Growing an array that a struct keeps as pointer, count and capacity. */
#ifndef BF_GROW_H
#define BF_GROW_H

#include <string.h>

#include <belfry/status.h>

#include "base/alloc.h"

/* Room for `need` elements of `size` bytes behind *pointer; doubles, keeps what is there, zeroes what
 * is new. BELFRY_OK or BELFRY_NOMEM (then nothing changed). Use it through BF_GROW. */
BF_MUST_CHECK static inline enum belfry_status bf_grow(void *pointer_to_pointer, size_t *capacity,
		size_t need, size_t size)
{
	void *old;

	if (need <= *capacity) {
		return BELFRY_OK;
	}
	size_t wanted = BF_MAX(need, *capacity < SIZE_MAX / 2 ? *capacity * 2 : need);
	wanted = BF_MAX(wanted, 16);
	memcpy(&old, pointer_to_pointer, sizeof(old));
	char *grown = bf_realloc_array(old, wanted, size);
	if (grown == NULL) {
		return BELFRY_NOMEM;
	}
	memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
	memcpy(pointer_to_pointer, &grown, sizeof(grown));
	*capacity = wanted;
	return BELFRY_OK;
}

#define BF_GROW(array, capacity, need) bf_grow(&(array), &(capacity), (need), sizeof(*(array)))

#endif

/* Filling a struct belfry_error on the way up. Each returns the status, so that a refusal is one line:
 *   return bf_error_set(err, BELFRY_INVALID, "limit: %d is below 1", limit);
 * Message texts name what is wrong, where, and what to do; they hold no engine word. */
#ifndef BF_ERROR_H
#define BF_ERROR_H

#include <belfry/status.h>

#include "base/compiler.h"

/* NULL err is allowed everywhere. */
BF_PRINTF(3, 4)
enum belfry_status bf_error_set(struct belfry_error *err, enum belfry_status status,
		const char *format, ...);
/* The same, with the JSON pointer of the member at fault. */
BF_PRINTF(4, 5)
enum belfry_status bf_error_at(struct belfry_error *err, enum belfry_status status,
		const char *pointer, const char *format, ...);
/* The same, with the byte position (from 0) in the text at fault. */
BF_PRINTF(4, 5)
enum belfry_status bf_error_position(struct belfry_error *err, enum belfry_status status,
		size_t position, const char *format, ...);
/* A failure of the system or of a driver: the status's own public text, and the detail for the log. */
BF_PRINTF(4, 5)
enum belfry_status bf_error_system(struct belfry_error *err, enum belfry_status status,
		int driver_code, const char *format, ...);
/* Put words in front of the message of a failure that is passed on; the rest of err stays as it is. */
BF_PRINTF(2, 3)
void bf_error_prefix(struct belfry_error *err, const char *format, ...);

#endif

/* Filling a struct belfry_error. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void begin(struct belfry_error *err, enum belfry_status status)
{
	*err = (struct belfry_error){.status = status};
}

static void text_v(char *out, size_t size, const char *format, va_list args)
{
	if (vsnprintf(out, size, format, args) < 0) {
		out[0] = '\0';
	}
}

enum belfry_status bf_error_set(struct belfry_error *err, enum belfry_status status,
		const char *format, ...)
{
	if (err != NULL) {
		begin(err, status);
		va_list args;
		va_start(args, format);
		text_v(err->message, sizeof(err->message), format, args);
		va_end(args);
	}
	return status;
}

enum belfry_status bf_error_at(struct belfry_error *err, enum belfry_status status,
		const char *pointer, const char *format, ...)
{
	if (err != NULL) {
		begin(err, status);
		(void)snprintf(err->pointer, sizeof(err->pointer), "%s", pointer);
		va_list args;
		va_start(args, format);
		text_v(err->message, sizeof(err->message), format, args);
		va_end(args);
	}
	return status;
}

enum belfry_status bf_error_position(struct belfry_error *err, enum belfry_status status,
		size_t position, const char *format, ...)
{
	if (err != NULL) {
		begin(err, status);
		err->position = (int64_t)position + 1;
		va_list args;
		va_start(args, format);
		text_v(err->message, sizeof(err->message), format, args);
		va_end(args);
	}
	return status;
}

enum belfry_status bf_error_system(struct belfry_error *err, enum belfry_status status,
		int driver_code, const char *format, ...)
{
	if (err != NULL) {
		begin(err, status);
		err->driver_code = driver_code;
		(void)snprintf(err->message, sizeof(err->message), "%s",
				belfry_status_text(status));
		va_list args;
		va_start(args, format);
		text_v(err->detail, sizeof(err->detail), format, args);
		va_end(args);
	}
	return status;
}

void bf_error_prefix(struct belfry_error *err, const char *format, ...)
{
	if (err == NULL) {
		return;
	}
	char old[BELFRY_ERROR_MESSAGE_BYTES];
	memcpy(old, err->message, sizeof(old));
	va_list args;
	va_start(args, format);
	text_v(err->message, sizeof(err->message), format, args);
	va_end(args);
	size_t used = strlen(err->message);
	(void)snprintf(err->message + used, sizeof(err->message) - used, "%s", old);
}

/* What operations answer, and the detail that goes with a refusal.
 *
 * Every fallible function returns enum belfry_status; 0 is success. "Nothing due", "lease lost" and
 * "never again" are statuses, not failures. No text is ever parsed.
 *
 * struct belfry_error belongs to the caller, is passed down last, and may be NULL. It is written only
 * on failure: begin with BELFRY_ERROR_INIT, and go by the status that is returned. A caller further up may add to the
 * message in front, never replace it.
 *
 * Since      0.1 */
#ifndef BELFRY_STATUS_H
#define BELFRY_STATUS_H

#include <belfry/types.h>

BELFRY_BEGIN_DECLS

enum belfry_status {
#define BELFRY_STATUS(name, class_, http, exit_, code, text) BELFRY_##name,
#include <belfry/status.def>
#undef BELFRY_STATUS
	BELFRY_STATUS_COUNT
};

enum belfry_class {
	BELFRY_CLASS_OK,
	BELFRY_CLASS_RETRY,
	BELFRY_CLASS_CONFLICT,
	BELFRY_CLASS_GONE,
	BELFRY_CLASS_CALLER,
	BELFRY_CLASS_DATA,
	BELFRY_CLASS_SYSTEM
};

#define BELFRY_ERROR_MESSAGE_BYTES 320
#define BELFRY_ERROR_POINTER_BYTES 128

/* Why something was refused. `message` may be shown to whoever asked; `detail` is for the operator's
 * log alone (it may name files, addresses and database errors, never a secret). */
struct belfry_error {
	enum belfry_status status;
	int driver_code;  /* the database's or system's own number, 0 where there is none */
	int64_t position; /* byte offset in the text at fault, plus one; 0 where there is none */
	char pointer[BELFRY_ERROR_POINTER_BYTES]; /* JSON pointer to the member at fault (RFC 6901) */
	char message[BELFRY_ERROR_MESSAGE_BYTES];
	char detail[BELFRY_ERROR_MESSAGE_BYTES];
};

#define BELFRY_ERROR_INIT                                                                          \
	{                                                                                          \
		BELFRY_OK, 0, 0, "", "", ""                                                        \
	}

/* The properties of a status, from status.def. A number outside the list reads as INTERNAL.
 * All are pure, never block, and may be called from any thread; the text is static. */
BELFRY_API const char *belfry_status_name(enum belfry_status status); /* "NOT_FOUND" of the list */
BELFRY_API const char *belfry_status_code(enum belfry_status status); /* word of the HTTP API */
BELFRY_API const char *belfry_status_text(enum belfry_status status); /* public sentence */
BELFRY_API enum belfry_class belfry_status_class(enum belfry_status status);
BELFRY_API int belfry_status_http(enum belfry_status status);
BELFRY_API int belfry_status_exit(enum belfry_status status);

BELFRY_END_DECLS

#endif

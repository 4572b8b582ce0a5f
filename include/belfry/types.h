/* The few value types that every other header speaks in.
 *
 * Shapes     plain values, passed and copied freely; zero is always a valid "empty".
 * Units      every time is microseconds since 1970-01-01T00:00:00Z, leap seconds not counted
 *            (POSIX); every duration is microseconds.
 * Ownership  a struct belfry_str borrows its bytes: the header that hands one out says until when.
 * Since      0.1 */
#ifndef BELFRY_TYPES_H
#define BELFRY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <belfry/export.h>

BELFRY_BEGIN_DECLS

/* An instant, microseconds UTC. In a record 0 means "not set"; BELFRY_TIME_NEVER is after all others. */
typedef int64_t belfry_time;

/* A length of time, microseconds. */
typedef int64_t belfry_duration;

/* A fence: of two holders of one Run the later one has the higher (contract.md, T036). */
typedef uint64_t belfry_fence;

#define BELFRY_TIME_NEVER INT64_MAX

#define BELFRY_MILLISECOND ((belfry_duration)1000)
#define BELFRY_SECOND      ((belfry_duration)1000000)
#define BELFRY_MINUTE      (60 * BELFRY_SECOND)
#define BELFRY_HOUR        (60 * BELFRY_MINUTE)
#define BELFRY_DAY         (24 * BELFRY_HOUR)

/* Text or bytes with a counted length; not necessarily ended by NUL, never owning. A length without bytes (ptr
 * is NULL) is no text: a function that answers with a status refuses it with BELFRY_INVALID. */
struct belfry_str {
	const char *ptr;
	size_t len;
};

/* A C string as such a text; borrowed from `text`. NULL is the empty text. */
static inline struct belfry_str belfry_str_of(const char *text)
{
	struct belfry_str str = {text, text != NULL ? strlen(text) : 0};

	return str;
}

/* 128 bits. A Run's id is a UUID (RFC 9562): version 8 where it is computed from the due time,
 * version 7 where a person asked for the Run. An incarnation's id is random, version 4. Ids compare
 * as bytes, and so do Runs in time. All zero means "none". */
struct belfry_id {
	unsigned char bytes[16];
};

/* Room for an id as text, "018f...-....-8...-....-............", and its NUL. */
#define BELFRY_ID_TEXT_BYTES 37

BELFRY_END_DECLS

#endif

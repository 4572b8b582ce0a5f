/* Putting an explained rule's words together: the table of phrases, lists, numbers and names.
 *
 * Everything said lies in one arena, which a failed allocation spoils once and for all: each function
 * then answers with empty text, and whoever puts the whole together looks at is_failed at the end. */
#ifndef BF_CALENDAR_EXPLAIN_SAY_H
#define BF_CALENDAR_EXPLAIN_SAY_H

#include <belfry/arena.h>

#include "base/str.h"

#define BF_SAY(name, text) BF_SAY_##name,
enum bf_phrase {
#include "calendar/explain_words.def"
	BF_SAY_COUNT
};
#undef BF_SAY

struct bf_speech {
	struct belfry_arena *arena; /* borrowed; of the explanation alone */
	bool is_failed;             /* memory ran out */
};

/* The phrase with its places filled in; NULL where it has none. */
struct belfry_str bf_say(struct bf_speech *speech, enum bf_phrase phrase,
		const struct belfry_str *fill);
struct belfry_str bf_say_one(struct bf_speech *speech, enum bf_phrase phrase,
		struct belfry_str fill);
struct belfry_str bf_say_two(struct bf_speech *speech, enum bf_phrase phrase,
		struct belfry_str first, struct belfry_str second);

/* "a", "a and b", "a, b and c"; `last` joins the last two (BF_SAY_AND, BF_SAY_OR). */
struct belfry_str bf_say_list(struct bf_speech *speech, enum bf_phrase last,
		const struct belfry_str *items, size_t count);

/* How a member of a set is said. */
typedef struct belfry_str (*bf_say_item_fn)(struct bf_speech *speech, int value);
struct belfry_str bf_say_number(struct bf_speech *speech, int value);
struct belfry_str bf_say_two_digits(struct bf_speech *speech, int value);
struct belfry_str bf_say_colon(struct bf_speech *speech, int value);   /* ":07" */
struct belfry_str bf_say_ordinal(struct bf_speech *speech, int value); /* "22nd" */
struct belfry_str bf_say_weekday(struct bf_speech *speech, int value); /* 0 is Sunday */
struct belfry_str bf_say_month(struct bf_speech *speech, int value);   /* 1 is January */

/* A set in order, in a way that no other set is said: "0, 5, ..., 55", "3, 5 to 8 and 40". */
struct belfry_str bf_say_set(struct bf_speech *speech, uint64_t set, bf_say_item_fn item);
/* The same without "...". */
struct belfry_str bf_say_runs(struct bf_speech *speech, uint64_t set, bf_say_item_fn item);

/* first, first + step, ..., last. */
struct bf_progression {
	int first;
	int step; /* 0: one member alone */
	int last;
	int count;
};
/* False: the set's members are not evenly apart, or it is empty. */
bool bf_set_progression(uint64_t set, struct bf_progression *ret);
int bf_set_count(uint64_t set);
int bf_set_lowest(uint64_t set);
int bf_set_highest(uint64_t set);

/* "09:30", and "09:30:15" with seconds or where is_long. */
struct belfry_str bf_say_clock(struct bf_speech *speech, int second_of_day, bool is_long);

#endif

/* Phrases, lists, numbers and names of an explained rule.
 *
 * Invariant  all words come from explain_words.def. What is said of a set says it whole: two sets are
 *            never said alike.
 * Not here   what a rule means (the other explain files). */
#include "calendar/explain_say.h"

#include <stdio.h>

#define NUMBER_BYTES    40
#define SET_MEMBERS_MAX 64
#define ELIDED_FROM     6 /* members, from where on all but three of an even row are left out */
#define RUN_FROM        3 /* members, from where on "to" is shorter */

#define BF_SAY(name, text) text,
static const char *const phrases[] = {
#include "calendar/explain_words.def"
};
#undef BF_SAY

static struct belfry_str keep(struct bf_speech *speech, struct belfry_str text)
{
	struct belfry_str copy = {NULL, 0};

	if (speech->is_failed || belfry_arena_copy(speech->arena, text, &copy) != BELFRY_OK) {
		speech->is_failed = true;
		return BF_STR("");
	}
	return copy;
}

/* Whether a place, "{0}" to "{3}", stands here. */
static bool is_place(const char *text)
{
	return text[0] == '{' && text[1] >= '0' && text[1] <= '3' && text[2] == '}';
}

struct belfry_str bf_say(struct bf_speech *speech, enum bf_phrase phrase,
		const struct belfry_str *fill)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	for (const char *text = phrases[phrase]; *text != '\0'; text++) {
		if (is_place(text)) {
			bf_buf_append_str(&buf, fill[text[1] - '0']);
			text += 2;
		} else {
			bf_buf_append_byte(&buf, *text);
		}
	}
	if (bf_buf_status(&buf) != BELFRY_OK) {
		speech->is_failed = true;
	}
	return keep(speech, bf_buf_str(&buf));
}

struct belfry_str bf_say_one(struct bf_speech *speech, enum bf_phrase phrase,
		struct belfry_str fill)
{
	return bf_say(speech, phrase, &fill);
}

struct belfry_str bf_say_two(struct bf_speech *speech, enum bf_phrase phrase,
		struct belfry_str first, struct belfry_str second)
{
	return bf_say(speech, phrase, (struct belfry_str[]){first, second});
}

struct belfry_str bf_say_list(struct bf_speech *speech, enum bf_phrase last,
		const struct belfry_str *items, size_t count)
{
	struct belfry_str list = count > 0 ? items[0] : BF_STR("");

	for (size_t i = 1; i < count; i++) {
		list = bf_say_two(speech, i + 1 < count ? BF_SAY_COMMA : last, list, items[i]);
	}
	return list;
}

struct belfry_str bf_say_number(struct bf_speech *speech, int value)
{
	char text[NUMBER_BYTES];

	(void)snprintf(text, sizeof(text), "%d",
			value); /* fits: an int has 11 characters at most */
	return keep(speech, bf_str(text));
}

struct belfry_str bf_say_two_digits(struct bf_speech *speech, int value)
{
	char text[NUMBER_BYTES];

	(void)snprintf(text, sizeof(text), "%02d", value); /* fits, as above */
	return keep(speech, bf_str(text));
}

struct belfry_str bf_say_colon(struct bf_speech *speech, int value)
{
	char text[NUMBER_BYTES];

	(void)snprintf(text, sizeof(text), ":%02d", value); /* fits, as above */
	return keep(speech, bf_str(text));
}

struct belfry_str bf_say_ordinal(struct bf_speech *speech, int value)
{
	static const enum bf_phrase endings[] = {BF_SAY_ORDINAL_TH, BF_SAY_ORDINAL_ST,
			BF_SAY_ORDINAL_ND, BF_SAY_ORDINAL_RD};
	bool is_th = value % 10 > 3 || value / 10 % 10 == 1;

	return bf_say_one(speech, endings[is_th ? 0 : value % 10], bf_say_number(speech, value));
}

struct belfry_str bf_say_weekday(struct bf_speech *speech, int value)
{
	return bf_say(speech, (enum bf_phrase)(BF_SAY_SUNDAY + value), NULL);
}

struct belfry_str bf_say_month(struct bf_speech *speech, int value)
{
	return bf_say(speech, (enum bf_phrase)(BF_SAY_JANUARY + value - 1), NULL);
}

struct belfry_str bf_say_clock(struct bf_speech *speech, int second_of_day, bool is_long)
{
	char text[NUMBER_BYTES];
	int hour = second_of_day / 3600 % 24;
	int minute = second_of_day / 60 % 60;
	int second = second_of_day % 60;

	if (is_long || second != 0) {
		(void)snprintf(text, sizeof(text), "%02d:%02d:%02d", hour, minute, second);
	} else {
		(void)snprintf(text, sizeof(text), "%02d:%02d", hour, minute);
	}
	return keep(speech, bf_str(text));
}

int bf_set_count(uint64_t set)
{
	return __builtin_popcountll(set);
}

int bf_set_lowest(uint64_t set)
{
	return __builtin_ctzll(set);
}

int bf_set_highest(uint64_t set)
{
	return 63 - __builtin_clzll(set);
}

bool bf_set_progression(uint64_t set, struct bf_progression *ret)
{
	if (set == 0) {
		return false;
	}
	struct bf_progression row = {.first = bf_set_lowest(set),
			.last = bf_set_highest(set),
			.count = bf_set_count(set)};
	uint64_t rest = set & (set - 1);
	row.step = rest != 0 ? bf_set_lowest(rest) - row.first : 0;
	uint64_t even = 0;
	for (int value = row.first; value <= row.last; value += row.step) {
		even |= UINT64_C(1) << value;
		if (row.step == 0) {
			break;
		}
	}
	*ret = row;
	return even == set;
}

struct belfry_str bf_say_runs(struct bf_speech *speech, uint64_t set, bf_say_item_fn item)
{
	struct belfry_str items[SET_MEMBERS_MAX];
	size_t count = 0;

	for (int from = 0; from < SET_MEMBERS_MAX; from++) {
		int to = from;
		if ((set >> from & 1u) == 0) {
			continue;
		}
		while (to + 1 < SET_MEMBERS_MAX && (set >> (to + 1) & 1u) != 0) {
			to++;
		}
		if (to - from + 1 >= RUN_FROM) {
			items[count++] = bf_say_two(speech, BF_SAY_TO, item(speech, from),
					item(speech, to));
			from = to;
		} else {
			items[count++] = item(speech, from);
		}
	}
	return bf_say_list(speech, BF_SAY_AND, items, count);
}

struct belfry_str bf_say_set(struct bf_speech *speech, uint64_t set, bf_say_item_fn item)
{
	struct bf_progression row;

	if (!bf_set_progression(set, &row) || row.count < ELIDED_FROM || row.step == 1) {
		return bf_say_runs(speech, set, item);
	}
	return bf_say(speech, BF_SAY_ELIDED,
			(struct belfry_str[]){item(speech, row.first),
					item(speech, row.first + row.step),
					item(speech, row.last)});
}

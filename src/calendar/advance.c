/* Walking due times. Every function here is a loop over belfry_rule_next.
 *
 * Not here  which due times are live, missed or fired: the planner's. */
#include "calendar/advance.h"

#include "base/timefmt.h"

static belfry_time next_or_never(const struct belfry_rule *rule, belfry_time after)
{
	belfry_time due;

	return belfry_rule_next(rule, after, &due) == BELFRY_OK ? due : BELFRY_TIME_NEVER;
}

void bf_advance_init(struct bf_advance *advance, const struct belfry_rule *rule,
		belfry_time stored_due, belfry_time now)
{
	*advance = (struct bf_advance){rule, stored_due, now};
}

enum belfry_status bf_advance_next(struct bf_advance *advance, belfry_time *ret_due)
{
	if (advance->next > advance->now || advance->next == BELFRY_TIME_NEVER) {
		return BELFRY_NEVER;
	}
	*ret_due = advance->next;
	advance->next = next_or_never(advance->rule, advance->next);
	return BELFRY_OK;
}

void bf_advance_count(const struct belfry_rule *rule, belfry_time from, belfry_time to,
		uint64_t max, uint64_t *ret_count, belfry_time *ret_last)
{
	uint64_t count = 0;

	while (count < max) {
		belfry_time due = next_or_never(rule, from);
		if (due > to || due == BELFRY_TIME_NEVER) {
			break;
		}
		from = due;
		*ret_last = due;
		count++;
	}
	*ret_count = count;
}

/* The last `max` of (from, to] in ret_times, used as a ring; says how many there were. */
static uint64_t fill_ring(const struct belfry_rule *rule, belfry_time from, belfry_time to,
		size_t max, belfry_time *ret_times)
{
	uint64_t count = 0;

	for (;;) {
		belfry_time due = next_or_never(rule, from);
		if (due > to || due == BELFRY_TIME_NEVER) {
			return count;
		}
		ret_times[count % max] = due;
		from = due;
		count++;
	}
}

static void reverse(belfry_time *times, size_t from, size_t to)
{
	while (from + 1 < to) {
		belfry_time swapped = times[from];
		times[from++] = times[--to];
		times[to] = swapped;
	}
}

/* Turns a full ring so that its oldest time, at `first`, comes first. */
static void unroll(belfry_time *times, size_t max, size_t first)
{
	reverse(times, 0, first);
	reverse(times, first, max);
	reverse(times, 0, max);
}

/* Looks back over windows that double until one holds enough. */
void bf_advance_latest(const struct belfry_rule *rule, belfry_time from, belfry_time to, size_t max,
		belfry_time *ret_times, size_t *ret_count)
{
	belfry_duration window = BELFRY_MINUTE;
	uint64_t count = 0;

	*ret_count = 0;
	if (max == 0 || from >= to) {
		return;
	}
	for (bool is_whole = false; !is_whole && count < max; window *= 2) {
		is_whole = window > INT64_MAX / 4 || window >= bf_time_since(to, from);
		count = fill_ring(rule, is_whole ? from : to - window, to, max, ret_times);
	}
	if (count > max) {
		unroll(ret_times, max, (size_t)(count % max));
		count = max;
	}
	*ret_count = (size_t)count;
}

bool bf_advance_is_due(const struct belfry_rule *rule, belfry_time time)
{
	return time > INT64_MIN && next_or_never(rule, time - 1) == time;
}

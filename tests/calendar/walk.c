/* The walk over minutes. */
#include "cases.h"

#include "walk.h"

#include <stdio.h>

#include "calendar/civil.h"
#include "calendar/due.h"

#define DUES_MAX (2 * WALK_MINUTES)

static bool is_named(const struct naive *n, int64_t local_minute)
{
	int64_t day = bf_floor_div(local_minute, 1440);
	int64_t of_day = local_minute - day * 1440;
	int64_t weekday = ((day + 4) % 7 + 7) % 7;

	return n->minutes >> of_day % 60 & 1 && n->hours >> of_day / 60 & 1 &&
			n->weekdays >> weekday & 1;
}

struct dues {
	int64_t at[DUES_MAX];
	size_t count;
};

static void put_due(struct dues *dues, int64_t at)
{
	size_t i = dues->count;

	while (i > 0 && dues->at[i - 1] > at) {
		i--;
	}
	if (i > 0 && dues->at[i - 1] == at) {
		return;
	}
	memmove(dues->at + i + 1, dues->at + i, (dues->count - i) * sizeof(dues->at[0]));
	dues->at[i] = at;
	dues->count++;
}

static bool occurs(const struct walk *w, int64_t local, int from, int to)
{
	for (int i = from < 0 ? 0 : from; i < to && i < WALK_MINUTES; i++) {
		if (w->local[i] == local) {
			return true;
		}
	}
	return false;
}

static void walk_gap(const struct walk *w, const struct naive *n, int index,
		enum belfry_dst_gap gap, struct dues *dues)
{
	for (int64_t local = w->local[index - 1] + 1; local < w->local[index]; local++) {
		if (!is_named(n, local) || occurs(w, local, 0, WALK_MINUTES)) {
			continue;
		}
		if (gap == BELFRY_DST_GAP_AT_END) {
			put_due(dues, w->start + index * INT64_C(60));
		} else if (gap == BELFRY_DST_GAP_SHIFT) {
			put_due(dues, w->start + (index - 1 + local - w->local[index - 1]) * 60);
		}
	}
}

/* Everything that is due in the walk. Folds are looked for within 26 hours on both sides. */
static void walk_dues(const struct walk *w, const struct naive *n, enum belfry_dst_gap gap,
		enum belfry_dst_fold fold, struct dues *dues)
{
	static bool has_edge[WALK_MINUTES];
	int reach = 26 * 60;

	memset(has_edge, 0, sizeof(has_edge));
	for (int i = 1; i < WALK_MINUTES; i++) {
		if (w->local[i] < w->local[i - 1] + 1) {
			for (int j = BF_MAX(0, i - reach); j < BF_MIN(WALK_MINUTES, i + reach);
					j++) {
				has_edge[j] = true;
			}
		}
	}
	dues->count = 0;
	for (int i = 1; i < WALK_MINUTES; i++) {
		int64_t at = w->start + i * INT64_C(60);
		if (n->is_fixed && w->local[i] > w->local[i - 1] + 1) {
			walk_gap(w, n, i, gap, dues);
		}
		if (!is_named(n, w->local[i])) {
			continue;
		}
		bool is_taken = n->is_fixed && has_edge[i] &&
				((fold == BELFRY_DST_FOLD_FIRST &&
						 occurs(w, w->local[i], i - reach, i)) ||
						(fold == BELFRY_DST_FOLD_LAST &&
								occurs(w, w->local[i], i + 1,
										i + reach)));
		if (!is_taken) {
			put_due(dues, at);
		}
	}
}

uint64_t walk_random(uint64_t *seed, uint64_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*seed >> 33) % limit;
}

/* A field as text and as a set; weekdays never begin with a star, so that days stay simple. */
static uint64_t random_field(uint64_t *seed, struct bf_buf *text, uint64_t size, bool *ret_star)
{
	uint64_t set = 0;
	uint64_t kind = walk_random(seed, 4);

	*ret_star = kind == 0;
	if (kind == 0) {
		uint64_t step = 1 + walk_random(seed, size / 2);
		for (uint64_t i = 0; i < size; i += step) {
			set |= UINT64_C(1) << i;
		}
		bf_buf_appendf(text, "*/%d ", (int)step);
	} else if (kind == 1) {
		uint64_t from = walk_random(seed, size);
		uint64_t to = from + walk_random(seed, size - from);
		for (uint64_t i = from; i <= to; i++) {
			set |= UINT64_C(1) << i;
		}
		bf_buf_appendf(text, "%d-%d ", (int)from, (int)to);
	} else {
		uint64_t count = 1 + walk_random(seed, 3);
		for (uint64_t i = 0; i < count; i++) {
			uint64_t value = walk_random(seed, size == 24 && kind == 2 ? 4 : size);
			set |= UINT64_C(1) << value;
			bf_buf_appendf(text, "%s%d", i > 0 ? "," : "", (int)value);
		}
		bf_buf_append_byte(text, ' ');
	}
	return set;
}

struct naive walk_random_expression(uint64_t *seed)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct naive n = {.weekdays = 0x7f};
	bool has_star[2];

	n.minutes = random_field(seed, &text, 60, &has_star[0]);
	n.hours = (uint32_t)random_field(seed, &text, 24, &has_star[1]);
	n.is_fixed = !has_star[0] && !has_star[1];
	bf_buf_append_text(&text, "* * ");
	if (walk_random(seed, 3) == 0) {
		n.weekdays = 1u << walk_random(seed, 7) | 1u << walk_random(seed, 7) | 1;
		for (int day = 0; day < 7; day++) {
			if (n.weekdays >> day & 1) {
				bf_buf_appendf(&text, "%d,", day);
			}
		}
		text.ptr[text.len - 1] = '\0';
	} else {
		bf_buf_append_byte(&text, '*');
	}
	(void)snprintf(n.text, sizeof(n.text), "%s", text.ptr);
	return n;
}

const struct naive walk_chosen[] = {
		{1u << 30, 1u << 2, 0x7f, true, "30 2 * * *"},
		{1u, 1u, 0x7f, true, "0 0 * * *"},
		{1u << 30, 3u, 0x7f, true, "30 0,1 * * *"},
		{1u | 1u << 15 | 1u << 30 | UINT64_C(1) << 45, 0xffffff, 0x7f, true,
				"0,15,30,45 0-23 * * *"},
		{1u | 1u << 20 | UINT64_C(1) << 40, 1u << 2 | 1u << 3, 0x7f, true,
				"0/20 2,3 * * *"},
		{1u | 1u << 10 | 1u << 20 | 1u << 30 | UINT64_C(1) << 40 | UINT64_C(1) << 50,
				0xffffff, 0x7f, false, "*/10 * * * *"},
		{1u, 0xffffff, 0x7f, false, "0 * * * *"},
		{1u | 1u << 20 | UINT64_C(1) << 40, 1u << 2, 0x7f, false, "*/20 2 * * *"},
};
const size_t walk_chosen_count = BF_COUNT(walk_chosen);

static void compare(const struct walk *w, const struct naive *n, const struct bf_cron *cron,
		const struct bf_due_policy *policy)
{
	static struct dues dues;
	int64_t first = w->start + WALK_EDGE_S;
	int64_t last = w->start + WALK_MINUTES * INT64_C(60) - WALK_EDGE_S;
	int64_t due = first;

	walk_dues(w, n, policy->gap, policy->fold, &dues);
	for (size_t i = 0; i < dues.count; i++) {
		if (dues.at[i] <= first || dues.at[i] > last) {
			continue;
		}
		int64_t before = due;
		due = bf_due_next(policy, cron, due + 1);
		if (due != dues.at[i]) {
			fail_msg("\"%s\" in %s, gap %d, fold %d, from %lld: %lld is not %lld",
					n->text, policy->zone->name, (int)policy->gap,
					(int)policy->fold, (long long)before, (long long)due,
					(long long)dues.at[i]);
		}
	}
	assert_true(bf_due_next(policy, cron, due + 1) > last);
}

void walk_compare(const struct walk *walk, const struct naive *expression,
		const struct bf_zone *zone)
{
	struct bf_cron cron;

	assert_int_equal(bf_cron_parse(bf_str(expression->text), true, &cron, NULL), BELFRY_OK);
	assert_int_equal(cron.is_fixed, expression->is_fixed);
	for (int i = 0; i < BELFRY_DST_GAP_COUNT * BELFRY_DST_FOLD_COUNT; i++) {
		struct bf_due_policy policy = {zone,
				(enum belfry_dst_gap)(i / BELFRY_DST_FOLD_COUNT),
				(enum belfry_dst_fold)(i % BELFRY_DST_FOLD_COUNT)};
		compare(walk, expression, &cron, &policy);
	}
}

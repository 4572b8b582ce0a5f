/* Cron text from sets: each field as the fewest arithmetic rows that a look from below finds, behind a star
 * where it began with one, since a star decides the day rule and the class (docs/calendar.md).
 *
 * Invariant  parse(print(cron)) is cron, and print(parse(text)) is text where text came from here. */
#include "calendar/cron_print.h"

#include "calendar/cron_field.h"

/* Values as the parser counts them: 7 is Sunday again. */
static const struct {
	int min;
	int max;
} ranges[BF_CRON_FIELDS] = {
		[BF_CRON_SECOND] = {0, 59},
		[BF_CRON_MINUTE] = {0, 59},
		[BF_CRON_HOUR] = {0, 23},
		[BF_CRON_DOM] = {1, 31},
		[BF_CRON_MONTH] = {1, 12},
		[BF_CRON_DOW] = {0, 7},
};

struct printer {
	struct bf_buf *buf;
	bool is_first; /* member of its list */
};

static void begin_member(struct printer *p)
{
	if (!p->is_first) {
		bf_buf_append_byte(p->buf, ',');
	}
	p->is_first = false;
}

/* What "*" with this step names. */
static uint64_t star_set(enum bf_cron_field field, int step)
{
	uint64_t set = 0;

	for (int value = ranges[field].min; value <= ranges[field].max; value += step) {
		set |= UINT64_C(1) << (field == BF_CRON_DOW ? value % 7 : value);
	}
	return set;
}

/* The star that names most of the set and nothing else; returns what it names. */
static uint64_t print_star(struct printer *p, enum bf_cron_field field, uint64_t set)
{
	int last = ranges[field].max - ranges[field].min + 1;
	int step = 1;

	while (step < last && (star_set(field, step) & ~set) != 0) {
		step++;
	}
	begin_member(p);
	bf_buf_append_text(p->buf, "*");
	if (step > 1) {
		bf_buf_appendf(p->buf, "/%d", step);
	}
	return star_set(field, step);
}

/* How many values of the set follow `from` in steps, itself included. */
static int row_length(uint64_t set, int from, int step)
{
	int count = 0;

	for (int value = from; value < 64 && set >> value & 1u; value += step) {
		count++;
	}
	return count;
}

/* The longest row that begins at the lowest value; returns what it names. */
static uint64_t print_row(struct printer *p, uint64_t set)
{
	int from = __builtin_ctzll(set);
	int step = 1;
	uint64_t named = 0;

	for (int n = 2; n < 31; n++) {
		step = row_length(set, from, n) > row_length(set, from, step) ? n : step;
	}
	int count = row_length(set, from, step);
	count = count == 2 && step > 1 ? 1 : count; /* two apart are two values */
	begin_member(p);
	bf_buf_appendf(p->buf, "%d", from);
	if (count > 1) {
		bf_buf_appendf(p->buf, "-%d", from + (count - 1) * step);
	}
	if (count > 1 && step > 1) {
		bf_buf_appendf(p->buf, "/%d", step);
	}
	for (int i = 0; i < count; i++) {
		named |= UINT64_C(1) << (from + i * step);
	}
	return named;
}

static void print_set(struct printer *p, const struct bf_cron *cron, enum bf_cron_field field,
		uint64_t set)
{
	if (cron->starred & BF_CRON_STARRED(field)) {
		set &= ~print_star(p, field, set);
	}
	while (set != 0) {
		set &= ~print_row(p, set);
	}
}

/* One member for each bit of a set; the format has the bit's number in it. */
static void print_each(struct printer *p, uint32_t set, const char *suffix)
{
	for (; set != 0; set &= set - 1) {
		begin_member(p);
		bf_buf_appendf(p->buf, "%d%s", __builtin_ctz(set), suffix);
	}
}

static void print_special_dom(struct printer *p, const struct bf_cron_days *days)
{
	for (uint32_t set = days->before_last; set != 0; set &= set - 1) {
		int before = __builtin_ctz(set);
		begin_member(p);
		bf_buf_append_text(p->buf, "L");
		if (before > 0) {
			bf_buf_appendf(p->buf, "-%d", before);
		}
	}
	if (days->has_last_weekday) {
		begin_member(p);
		bf_buf_append_text(p->buf, "LW");
	}
	print_each(p, days->nearest, "W");
}

static void print_special_dow(struct printer *p, const struct bf_cron_days *days)
{
	static const char *const nth[] = {"", "#1", "#2", "#3", "#4", "#5"};

	print_each(p, days->last_dow, "L");
	for (int n = 1; n <= 5; n++) {
		print_each(p, days->nth_dow[n], nth[n]);
	}
}

static uint64_t set_of(const struct bf_cron *cron, enum bf_cron_field field)
{
	switch (field) {
	case BF_CRON_SECOND: return cron->seconds;
	case BF_CRON_MINUTE: return cron->minutes;
	case BF_CRON_HOUR: return cron->hours;
	case BF_CRON_DOM: return cron->special.dom;
	case BF_CRON_MONTH: return cron->months;
	case BF_CRON_DOW: return cron->special.dow;
	case BF_CRON_FIELDS: return 0;
	}
	return 0;
}

void bf_cron_print(const struct bf_cron *cron, struct bf_buf *buf)
{
	int first = cron->has_seconds ? BF_CRON_SECOND : BF_CRON_MINUTE;

	for (int i = first; i < BF_CRON_FIELDS; i++) {
		enum bf_cron_field field = (enum bf_cron_field)i;
		struct printer p = {buf, true};
		if (i > first) {
			bf_buf_append_byte(buf, ' ');
		}
		print_set(&p, cron, field, set_of(cron, field));
		if (field == BF_CRON_DOM) {
			print_special_dom(&p, &cron->special);
		} else if (field == BF_CRON_DOW) {
			print_special_dow(&p, &cron->special);
		}
	}
}

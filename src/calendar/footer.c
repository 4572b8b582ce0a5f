/* Footer strings such as "CET-1CEST,M3.5.0,M10.5.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1" or "<+00>0<+02>-2,...".
 *
 * Invariant  every number read is bounded before it is used, so that no sum below can overflow.
 * Not here   what happens between the changes (zone.c). */
#include "calendar/footer.h"

#include "base/timefmt.h"
#include "calendar/civil.h"

/* Remembers a failure, so that the parser reads like the grammar. */
struct reader {
	const char *at;
	const char *end;
	bool is_failed;
};

static char peek(const struct reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static bool accept(struct reader *r, char c)
{
	if (r->at >= r->end || *r->at != c) {
		return false;
	}
	r->at++;
	return true;
}

static void expect(struct reader *r, char c)
{
	if (!accept(r, c)) {
		r->is_failed = true;
	}
}

static bool is_alpha(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int number(struct reader *r, int min, int max)
{
	int value = 0;
	int digits = 0;

	for (; is_digit(peek(r)) && digits < 4; r->at++, digits++) {
		value = value * 10 + (peek(r) - '0');
	}
	if (digits == 0 || value < min || value > max) {
		r->is_failed = true;
		return min;
	}
	return value;
}

static void name(struct reader *r)
{
	int letters = 0;

	if (accept(r, '<')) {
		for (; is_alpha(peek(r)) || is_digit(peek(r)) || peek(r) == '+' || peek(r) == '-';
				r->at++) {
			letters++;
		}
		expect(r, '>');
	} else {
		for (; is_alpha(peek(r)); r->at++) {
			letters++;
		}
	}
	if (letters < 3) {
		r->is_failed = true;
	}
}

/* [+-]h[h[h]][:mm[:ss]] in seconds. */
static int32_t signed_time(struct reader *r, int max_hours)
{
	bool is_negative = accept(r, '-');

	if (!is_negative) {
		(void)accept(r, '+'); /* the sign may be left out */
	}
	int32_t value = number(r, 0, max_hours) * 3600;
	if (accept(r, ':')) {
		value += number(r, 0, 59) * 60;
		if (accept(r, ':')) {
			value += number(r, 0, 59);
		}
	}
	return is_negative ? -value : value;
}

static struct bf_footer_rule rule(struct reader *r)
{
	struct bf_footer_rule rule = {.time_s = 2 * 3600};

	expect(r, ',');
	if (accept(r, 'M')) {
		rule.kind = BF_FOOTER_WEEK;
		rule.month = number(r, 1, 12);
		expect(r, '.');
		rule.week = number(r, 1, 5);
		expect(r, '.');
		rule.day = number(r, 0, 6);
	} else if (accept(r, 'J')) {
		rule.kind = BF_FOOTER_JULIAN;
		rule.day = number(r, 1, 365);
	} else {
		rule.kind = BF_FOOTER_ZERO;
		rule.day = number(r, 0, 365);
	}
	if (accept(r, '/')) {
		rule.time_s = signed_time(r, 167);
	}
	return rule;
}

enum belfry_status bf_footer_parse(struct belfry_str text, struct bf_footer *ret_footer)
{
	struct reader r = {.at = text.ptr, .end = text.ptr + text.len};
	struct bf_footer footer = {.has_dst = false};

	name(&r);
	footer.standard_offset = -signed_time(&r, 24); /* POSIX counts westwards */
	if (!r.is_failed && r.at < r.end) {
		footer.has_dst = true;
		name(&r);
		footer.dst_offset = peek(&r) == ',' ? footer.standard_offset + 3600
						    : -signed_time(&r, 24);
		footer.start = rule(&r);
		footer.end = rule(&r);
	}
	if (r.is_failed || r.at < r.end) {
		return BELFRY_CORRUPT;
	}
	*ret_footer = footer;
	return BELFRY_OK;
}

/* The day, counted from 1970, on which a rule's change comes in a year. */
static int64_t rule_day(const struct bf_footer_rule *rule, int64_t year)
{
	int64_t new_year = bf_days_from_civil(year, 1, 1);

	if (rule->kind == BF_FOOTER_ZERO) {
		return new_year + rule->day;
	}
	if (rule->kind == BF_FOOTER_JULIAN) {
		return new_year + rule->day - (bf_is_leap(year) && rule->day >= 60 ? 0 : 1);
	}
	int64_t first = bf_days_from_civil(year, rule->month, 1);
	int day = (rule->day - bf_weekday(first) + 7) % 7 + (rule->week - 1) * 7;
	if (day >= bf_month_length(bf_is_leap(year), rule->month)) {
		day -= 7;
	}
	return first + day;
}

void bf_footer_changes(const struct bf_footer *footer, int64_t year, int64_t *ret_start,
		int64_t *ret_end)
{
	*ret_start = rule_day(&footer->start, year) * BF_DAY_S + footer->start.time_s -
			footer->standard_offset;
	*ret_end = rule_day(&footer->end, year) * BF_DAY_S + footer->end.time_s -
			footer->dst_offset;
}

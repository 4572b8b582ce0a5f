/* The members of a cron field: values, ranges, steps, names, and the special days. The grammar is the
 * dialect table of docs/calendar.md.
 *
 * Invariant  a cursor never leaves its field; whatever a member leaves unread is trailing text, refused by
 *            bf_cron_read_field. Nothing is allocated, no locale is asked.
 * Not here   how fields make an expression (cron_parse.c), what the sets mean (cron.c). */
#include "calendar/cron_field.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

#define STEP_DIGITS 9
#define VALUE_LIMIT 1000000000

struct field_spec {
	const char *name;
	int min;
	int max;
	const char *names; /* three letters each, NULL: none */
	int first_named;
};

static const struct field_spec specs[BF_CRON_FIELDS] = {
		[BF_CRON_SECOND] = {"second", 0, 59, NULL, 0},
		[BF_CRON_MINUTE] = {"minute", 0, 59, NULL, 0},
		[BF_CRON_HOUR] = {"hour", 0, 23, NULL, 0},
		[BF_CRON_DOM] = {"day of month", 1, 31, NULL, 0},
		[BF_CRON_MONTH] = {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1},
		[BF_CRON_DOW] = {"day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT", 0},
};

/* A value or a range of them, as written. */
struct range {
	int from;
	int to;
	bool is_open; /* a lone value, which a step runs on from */
};

BF_PRINTF(3, 4)
static enum belfry_status refuse(const struct bf_cron_cursor *c, size_t position,
		const char *format, ...)
{
	char reason[200];
	va_list args;

	va_start(args, format);
	if (vsnprintf(reason, sizeof(reason), format, args) < 0) {
		reason[0] = '\0';
	}
	va_end(args);
	return bf_error_position(c->err, BELFRY_INVALID_SCHEDULE, position, "field %d (%s): %s",
			c->number, specs[c->field].name, reason);
}

static char peek(const struct bf_cron_cursor *c)
{
	return c->at < c->end ? c->text[c->at] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool accept(struct bf_cron_cursor *c, char wanted)
{
	if (c->at >= c->end || upper(c->text[c->at]) != wanted) {
		return false;
	}
	c->at++;
	return true;
}

static bool at_member_end(const struct bf_cron_cursor *c)
{
	return c->at >= c->end || c->text[c->at] == ',';
}

/* What stands here is not what the grammar wants. */
static enum belfry_status refuse_here(const struct bf_cron_cursor *c)
{
	char found = peek(c);

	if (c->at >= c->end) {
		return refuse(c, c->at, "a value is missing at its end");
	}
	if (found == ',') {
		return refuse(c, c->at, "a list member is empty");
	}
	if (found <= ' ' || found > '~') {
		return refuse(c, c->at, "byte 0x%02x does not belong in an expression",
				(unsigned)(unsigned char)found);
	}
	return refuse(c, c->at, "\"%.*s\" is not understood here",
			(int)BF_MIN(c->end - c->at, (size_t)20), c->text + c->at);
}

/* Digits as a number that stops growing at VALUE_LIMIT. */
static int read_digits(struct bf_cron_cursor *c)
{
	int64_t value = 0;

	for (; is_digit(peek(c)); c->at++) {
		value = BF_MIN(value * 10 + (peek(c) - '0'), VALUE_LIMIT);
	}
	return (int)value;
}

/* A number within [min, max]. */
static enum belfry_status read_number(struct bf_cron_cursor *c, int min, int max, int *ret_value)
{
	size_t start = c->at;

	if (!is_digit(peek(c))) {
		return refuse_here(c);
	}
	int value = read_digits(c);
	int shown = (int)BF_MIN(c->at - start, (size_t)24);
	if (value > max) {
		return refuse(c, start, "%.*s is past %d", shown, c->text + start, max);
	}
	if (value < min) {
		return refuse(c, start, "%.*s is below %d", shown, c->text + start, min);
	}
	*ret_value = value;
	return BELFRY_OK;
}

static size_t letters_here(const struct bf_cron_cursor *c)
{
	size_t at = c->at;

	while (at < c->end && upper(c->text[at]) >= 'A' && upper(c->text[at]) <= 'Z') {
		at++;
	}
	return at - c->at;
}

/* The value that the next three letters name, or -1. */
static int read_name(struct bf_cron_cursor *c)
{
	const char *names = specs[c->field].names;

	for (int i = 0; names != NULL && names[i] != '\0' && letters_here(c) >= 3; i += 3) {
		if (upper(c->text[c->at]) == names[i] &&
				upper(c->text[c->at + 1]) == names[i + 1] &&
				upper(c->text[c->at + 2]) == names[i + 2]) {
			c->at += 3;
			return i / 3 + specs[c->field].first_named;
		}
	}
	return -1;
}

static enum belfry_status read_value(struct bf_cron_cursor *c, int *ret_value)
{
	const struct field_spec *spec = &specs[c->field];
	size_t letters = letters_here(c);

	if (letters == 0) {
		return read_number(c, spec->min, spec->max, ret_value);
	}
	int value = read_name(c);
	if (value < 0) {
		return refuse(c, c->at, "\"%.*s\" is no name of a %s",
				(int)BF_MIN(letters, (size_t)20), c->text + c->at, spec->name);
	}
	*ret_value = value;
	return BELFRY_OK;
}

/* "/n" if it stands here, else 1. */
static enum belfry_status read_step(struct bf_cron_cursor *c, int *ret_step, bool *ret_is_given)
{
	*ret_step = 1;
	*ret_is_given = accept(c, '/');
	if (!*ret_is_given) {
		return BELFRY_OK;
	}
	size_t start = c->at;
	if (!is_digit(peek(c))) {
		return refuse(c, start, "a step is missing behind the slash");
	}
	int step = read_digits(c);
	if (c->at - start > STEP_DIGITS) {
		return refuse(c, start, "a step has at most %d digits", STEP_DIGITS);
	}
	if (step == 0) {
		return refuse(c, start, "a step must be 1 or more");
	}
	*ret_step = step;
	return BELFRY_OK;
}

/* Days of the week run on over the week's end; 7 is Sunday again. */
static void put_range(struct bf_cron_cursor *c, struct range range, int step)
{
	bool is_dow = c->field == BF_CRON_DOW;

	for (int64_t value = range.from; value <= range.to; value += step) {
		c->set |= UINT64_C(1) << (is_dow ? value % 7 : value);
	}
}

/* What may follow a day: W in day-of-month; L and #n in day-of-week. */
static enum belfry_status read_day_suffix(struct bf_cron_cursor *c, int day, bool *ret_is_special)
{
	*ret_is_special = true;
	if (c->field == BF_CRON_DOM && accept(c, 'W')) {
		c->days->nearest |= 1u << day;
		return BELFRY_OK;
	}
	if (c->field == BF_CRON_DOW && accept(c, 'L')) {
		c->days->last_dow |= 1u << day % 7;
		return BELFRY_OK;
	}
	if (c->field == BF_CRON_DOW && accept(c, '#')) {
		int nth;
		enum belfry_status status = read_number(c, 1, 5, &nth);
		if (status == BELFRY_OK) {
			c->days->nth_dow[nth] |= 1u << day % 7;
		}
		return status;
	}
	*ret_is_special = false;
	return BELFRY_OK;
}

/* "-b" behind a value, if it stands here. */
static enum belfry_status read_range_end(struct bf_cron_cursor *c, size_t start,
		struct range *range)
{
	if (!accept(c, '-')) {
		return BELFRY_OK;
	}
	enum belfry_status status = read_value(c, &range->to);
	if (status != BELFRY_OK) {
		return status;
	}
	range->is_open = false;
	if (range->to < range->from && c->field == BF_CRON_DOW) {
		range->to += 7;
	}
	if (range->to < range->from) {
		return refuse(c, start, "the range %.*s runs backwards",
				(int)BF_MIN(c->at - start, (size_t)24), c->text + start);
	}
	return BELFRY_OK;
}

/* a, a-b, a/n, a-b/n, and the days with a suffix. */
static enum belfry_status read_values(struct bf_cron_cursor *c)
{
	size_t start = c->at;
	struct range range = {.is_open = true};
	bool is_special;
	bool has_step;
	int step;

	enum belfry_status status = read_value(c, &range.from);
	if (status != BELFRY_OK) {
		return status;
	}
	status = read_day_suffix(c, range.from, &is_special);
	if (status != BELFRY_OK || is_special) {
		return status;
	}
	range.to = range.from;
	status = read_range_end(c, start, &range);
	if (status != BELFRY_OK) {
		return status;
	}
	status = read_step(c, &step, &has_step);
	if (status != BELFRY_OK) {
		return status;
	}
	if (range.is_open && has_step) {
		range.to = specs[c->field].max;
	}
	put_range(c, range, step);
	return BELFRY_OK;
}

/* L, L-n and LW of day-of-month. */
static enum belfry_status read_last(struct bf_cron_cursor *c)
{
	if (accept(c, 'W')) {
		c->days->has_last_weekday = true;
		return BELFRY_OK;
	}
	int before = 0;
	if (accept(c, '-')) {
		enum belfry_status status = read_number(c, 0, 30, &before);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	c->days->before_last |= 1u << before;
	return BELFRY_OK;
}

static enum belfry_status read_star(struct bf_cron_cursor *c)
{
	bool has_step;
	int step;
	enum belfry_status status = read_step(c, &step, &has_step);

	if (status == BELFRY_OK) {
		put_range(c, (struct range){specs[c->field].min, specs[c->field].max, false}, step);
	}
	return status;
}

/* "?" stands for "*", alone and in the two day fields only. */
static enum belfry_status read_question(struct bf_cron_cursor *c, size_t field_start)
{
	if (c->field != BF_CRON_DOM && c->field != BF_CRON_DOW) {
		return refuse(c, c->at - 1, "\"?\" stands in the two day fields only");
	}
	if (c->end - field_start != 1) {
		return refuse(c, c->at - 1, "\"?\" stands alone");
	}
	put_range(c, (struct range){specs[c->field].min, specs[c->field].max, false}, 1);
	return BELFRY_OK;
}

static enum belfry_status read_member(struct bf_cron_cursor *c, size_t field_start)
{
	if (at_member_end(c)) {
		return refuse(c, c->at, "a list member is empty");
	}
	if (accept(c, '*')) {
		return read_star(c);
	}
	if (accept(c, '?')) {
		return read_question(c, field_start);
	}
	if (c->field == BF_CRON_DOM && accept(c, 'L')) {
		return read_last(c);
	}
	return read_values(c);
}

enum belfry_status bf_cron_read_field(struct bf_cron_cursor *c)
{
	size_t start = c->at;

	for (;;) {
		enum belfry_status status = read_member(c, start);
		if (status != BELFRY_OK) {
			return status;
		}
		if (!at_member_end(c)) {
			return refuse_here(c);
		}
		if (c->at >= c->end) {
			return BELFRY_OK;
		}
		c->at++;
	}
}

/* Cron text to bit sets: the dialect table of docs/calendar.md, with every refusal saying where and why.
 *
 * Invariant  a cursor never leaves its field; whatever a member parser leaves unread is trailing text
 *            and refused by its caller. Nothing is allocated, no locale is asked.
 * Not here   what the sets mean (cron.c), rule JSON (rule_json.c). */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "calendar/cron.h"

#define FIELD_MAX   6
#define STEP_DIGITS 9
#define VALUE_LIMIT 1000000000

enum field { FIELD_SECOND, FIELD_MINUTE, FIELD_HOUR, FIELD_DOM, FIELD_MONTH, FIELD_DOW };

struct field_spec {
	const char *name;
	int min;
	int max;
	const char *names; /* three letters each, NULL: none */
	int first_named;
};

static const struct field_spec specs[FIELD_MAX] = {
		[FIELD_SECOND] = {"second", 0, 59, NULL, 0},
		[FIELD_MINUTE] = {"minute", 0, 59, NULL, 0},
		[FIELD_HOUR] = {"hour", 0, 23, NULL, 0},
		[FIELD_DOM] = {"day of month", 1, 31, NULL, 0},
		[FIELD_MONTH] = {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1},
		[FIELD_DOW] = {"day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT", 0},
};

static const struct {
	const char *name;
	const char *text;
} macros[] = {
		{"@yearly", "0 0 1 1 *"},
		{"@annually", "0 0 1 1 *"},
		{"@monthly", "0 0 1 * *"},
		{"@weekly", "0 0 * * 0"},
		{"@daily", "0 0 * * *"},
		{"@midnight", "0 0 * * *"},
		{"@hourly", "0 * * * *"},
};

/* One field being read. */
struct cursor {
	const char *text;
	size_t at;
	size_t end;
	enum field field;
	int number; /* of the field as the reader counts, from 1 */
	uint64_t set;
	struct bf_cron_days *days;
	struct belfry_error *err;
};

/* A value or a range of them, as written. */
struct range {
	int from;
	int to;
	bool is_open; /* a lone value, which a step runs on from */
};

BF_PRINTF(3, 4)
static enum belfry_status refuse(const struct cursor *c, size_t position, const char *format, ...)
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

static char peek(const struct cursor *c)
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

static bool accept(struct cursor *c, char wanted)
{
	if (c->at >= c->end || upper(c->text[c->at]) != wanted) {
		return false;
	}
	c->at++;
	return true;
}

static bool at_member_end(const struct cursor *c)
{
	return c->at >= c->end || c->text[c->at] == ',';
}

/* What stands here is not what the grammar wants. */
static enum belfry_status refuse_here(const struct cursor *c)
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
static int read_digits(struct cursor *c)
{
	int64_t value = 0;

	for (; is_digit(peek(c)); c->at++) {
		value = BF_MIN(value * 10 + (peek(c) - '0'), VALUE_LIMIT);
	}
	return (int)value;
}

/* A number within [min, max]. */
static enum belfry_status read_number(struct cursor *c, int min, int max, int *ret_value)
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

static size_t letters_here(const struct cursor *c)
{
	size_t at = c->at;

	while (at < c->end && upper(c->text[at]) >= 'A' && upper(c->text[at]) <= 'Z') {
		at++;
	}
	return at - c->at;
}

/* The value that the next three letters name, or -1. */
static int read_name(struct cursor *c)
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

static enum belfry_status read_value(struct cursor *c, int *ret_value)
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
static enum belfry_status read_step(struct cursor *c, int *ret_step, bool *ret_is_given)
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
static void put_range(struct cursor *c, struct range range, int step)
{
	bool is_dow = c->field == FIELD_DOW;

	for (int64_t value = range.from; value <= range.to; value += step) {
		c->set |= UINT64_C(1) << (is_dow ? value % 7 : value);
	}
}

/* What may follow a day: W in day-of-month; L and #n in day-of-week. */
static enum belfry_status read_day_suffix(struct cursor *c, int day, bool *ret_is_special)
{
	*ret_is_special = true;
	if (c->field == FIELD_DOM && accept(c, 'W')) {
		c->days->nearest |= 1u << day;
		return BELFRY_OK;
	}
	if (c->field == FIELD_DOW && accept(c, 'L')) {
		c->days->last_dow |= 1u << day % 7;
		return BELFRY_OK;
	}
	if (c->field == FIELD_DOW && accept(c, '#')) {
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
static enum belfry_status read_range_end(struct cursor *c, size_t start, struct range *range)
{
	if (!accept(c, '-')) {
		return BELFRY_OK;
	}
	enum belfry_status status = read_value(c, &range->to);
	if (status != BELFRY_OK) {
		return status;
	}
	range->is_open = false;
	if (range->to < range->from && c->field == FIELD_DOW) {
		range->to += 7;
	}
	if (range->to < range->from) {
		return refuse(c, start, "the range %.*s runs backwards",
				(int)BF_MIN(c->at - start, (size_t)24), c->text + start);
	}
	return BELFRY_OK;
}

/* a, a-b, a/n, a-b/n, and the days with a suffix. */
static enum belfry_status read_values(struct cursor *c)
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
static enum belfry_status read_last(struct cursor *c)
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

static enum belfry_status read_star(struct cursor *c)
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
static enum belfry_status read_question(struct cursor *c, size_t field_start)
{
	if (c->field != FIELD_DOM && c->field != FIELD_DOW) {
		return refuse(c, c->at - 1, "\"?\" stands in the two day fields only");
	}
	if (c->end - field_start != 1) {
		return refuse(c, c->at - 1, "\"?\" stands alone");
	}
	put_range(c, (struct range){specs[c->field].min, specs[c->field].max, false}, 1);
	return BELFRY_OK;
}

static enum belfry_status read_member(struct cursor *c, size_t field_start)
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
	if (c->field == FIELD_DOM && accept(c, 'L')) {
		return read_last(c);
	}
	return read_values(c);
}

static enum belfry_status read_field(struct cursor *c)
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

struct fields {
	struct belfry_str part[FIELD_MAX]; /* slices of the text */
	int count;                         /* may be past FIELD_MAX */
	size_t extra;                      /* where the first field too many starts */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void split(struct belfry_str text, int max, struct fields *ret_fields)
{
	size_t at = 0;

	for (;;) {
		while (at < text.len && is_blank(text.ptr[at])) {
			at++;
		}
		if (at == text.len) {
			return;
		}
		size_t start = at;
		while (at < text.len && !is_blank(text.ptr[at])) {
			at++;
		}
		if (ret_fields->count < FIELD_MAX) {
			ret_fields->part[ret_fields->count] = bf_str_slice(text, start, at);
		}
		if (ret_fields->count == max) {
			ret_fields->extra = start;
		}
		ret_fields->count++;
	}
}

static enum belfry_status check_text(struct belfry_str text, struct belfry_error *err)
{
	if (text.len > BF_CRON_TEXT_BYTES) {
		return bf_error_position(err, BELFRY_INVALID_SCHEDULE, BF_CRON_TEXT_BYTES,
				"a cron expression has at most %d bytes, this one has %zu",
				BF_CRON_TEXT_BYTES, text.len);
	}
	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.ptr[i];
		if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
			return bf_error_position(err, BELFRY_INVALID_SCHEDULE, i,
					"a cron expression holds no control character (byte 0x%02x)",
					(unsigned)byte);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status check_count(struct belfry_str text, const struct fields *fields, int max,
		struct belfry_error *err)
{
	const char *wanted = max == FIELD_MAX ? "five or six" : "five";

	if (fields->count > max) {
		return bf_error_position(err, BELFRY_INVALID_SCHEDULE, fields->extra,
				"%d fields, where a cron expression has %s", fields->count, wanted);
	}
	if (fields->count < 5) {
		return bf_error_position(err, BELFRY_INVALID_SCHEDULE, text.len,
				"%d field%s, where a cron expression has %s", fields->count,
				fields->count == 1 ? "" : "s", wanted);
	}
	return BELFRY_OK;
}

/* All fields of an expression, in the order of enum field; without seconds the first one is 0. */
static enum belfry_status read_fields(struct belfry_str text, const struct fields *fields,
		uint64_t sets[FIELD_MAX], struct bf_cron_days *days, struct belfry_error *err)
{
	int skipped = FIELD_MAX - fields->count;

	sets[FIELD_SECOND] = 1;
	for (int i = 0; i < fields->count; i++) {
		size_t start = (size_t)(fields->part[i].ptr - text.ptr);
		struct cursor c = {
				.text = text.ptr,
				.at = start,
				.end = start + fields->part[i].len,
				.field = (enum field)(i + skipped),
				.number = i + 1,
				.days = days,
				.err = err,
		};
		enum belfry_status status = read_field(&c);
		if (status != BELFRY_OK) {
			return status;
		}
		sets[c.field] = c.set;
	}
	return BELFRY_OK;
}

static bool begins_with_star(struct belfry_str field)
{
	return field.ptr[0] == '*' || field.ptr[0] == '?';
}

static enum belfry_status parse_fields(struct belfry_str text, bool five_fields,
		struct bf_cron *ret_cron, struct belfry_error *err)
{
	int max = five_fields ? 5 : FIELD_MAX;
	struct fields fields = {.count = 0};
	struct bf_cron_days days = {0};
	uint64_t sets[FIELD_MAX] = {0};

	split(text, max, &fields);
	enum belfry_status status = check_count(text, &fields, max, err);
	if (status != BELFRY_OK) {
		return status;
	}
	status = read_fields(text, &fields, sets, &days, err);
	if (status != BELFRY_OK) {
		return status;
	}
	const struct belfry_str *minute = &fields.part[fields.count - 5];
	days.dom = (uint32_t)sets[FIELD_DOM];
	days.dow = (uint32_t)sets[FIELD_DOW];
	days.is_either = !begins_with_star(minute[2]) && !begins_with_star(minute[4]);
	struct bf_cron cron = {
			.seconds = sets[FIELD_SECOND],
			.minutes = sets[FIELD_MINUTE],
			.hours = (uint32_t)sets[FIELD_HOUR],
			.months = (uint32_t)sets[FIELD_MONTH],
			.is_fixed = !begins_with_star(minute[0]) && !begins_with_star(minute[1]),
	};
	if (!bf_cron_build(&cron, &days)) {
		return bf_error_position(err, BELFRY_INVALID_SCHEDULE,
				(size_t)(minute[2].ptr - text.ptr),
				"the day \"%.*s\" in month \"%.*s\" never comes, in no year",
				BF_STR_ARGS(minute[2]), BF_STR_ARGS(minute[3]));
	}
	*ret_cron = cron;
	return BELFRY_OK;
}

/* `text` begins with '@' at `start`. */
static enum belfry_status parse_macro(struct belfry_str text, size_t start,
		struct bf_cron *ret_cron, struct belfry_error *err)
{
	size_t end = text.len;

	while (is_blank(text.ptr[end - 1])) {
		end--;
	}
	struct belfry_str name = bf_str_slice(text, start, end);
	for (size_t i = 0; i < BF_COUNT(macros); i++) {
		if (bf_str_equal_nocase(name, bf_str(macros[i].name))) {
			return parse_fields(bf_str(macros[i].text), true, ret_cron, err);
		}
	}
	if (bf_str_equal_nocase(name, BF_STR("@reboot"))) {
		return bf_error_position(err, BELFRY_INVALID_SCHEDULE, start,
				"@reboot names no time: a schedule does not depend on a machine's start");
	}
	return bf_error_position(err, BELFRY_INVALID_SCHEDULE, start,
			"unknown macro; there are @yearly @annually @monthly @weekly @daily @midnight @hourly");
}

enum belfry_status bf_cron_parse(struct belfry_str text, bool five_fields, struct bf_cron *ret_cron,
		struct belfry_error *err)
{
	enum belfry_status status = check_text(text, err);

	if (status != BELFRY_OK) {
		return status;
	}
	size_t start = 0;
	while (start < text.len && is_blank(text.ptr[start])) {
		start++;
	}
	if (start < text.len && text.ptr[start] == '@') {
		return parse_macro(text, start, ret_cron, err);
	}
	return parse_fields(text, five_fields, ret_cron, err);
}

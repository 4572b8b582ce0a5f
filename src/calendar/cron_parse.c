/* Cron text as a whole: fields apart, macros, the day rule, and what no year can satisfy.
 *
 * Invariant  every refusal says where in the text and why. Nothing is allocated.
 * Not here   the inside of a field (cron_field.c), searching (cron.c), rule JSON (rule_json.c). */
#include "base/error.h"
#include "base/str.h"
#include "calendar/cron.h"
#include "calendar/cron_field.h"

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

struct fields {
	struct belfry_str part[BF_CRON_FIELDS]; /* slices of the text */
	int count;                              /* may be past BF_CRON_FIELDS */
	size_t extra;                           /* where the first field too many starts */
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
		if (ret_fields->count < BF_CRON_FIELDS) {
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
	const char *wanted = max == BF_CRON_FIELDS ? "five or six" : "five";

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

/* All fields of an expression, in the order of enum bf_cron_field; without seconds the first one is 0. */
static enum belfry_status read_fields(struct belfry_str text, const struct fields *fields,
		uint64_t sets[BF_CRON_FIELDS], struct bf_cron_days *days, struct belfry_error *err)
{
	int skipped = BF_CRON_FIELDS - fields->count;

	sets[BF_CRON_SECOND] = 1;
	for (int i = 0; i < fields->count; i++) {
		size_t start = (size_t)(fields->part[i].ptr - text.ptr);
		struct bf_cron_cursor c = {
				.text = text.ptr,
				.at = start,
				.end = start + fields->part[i].len,
				.field = (enum bf_cron_field)(i + skipped),
				.number = i + 1,
				.days = days,
				.err = err,
		};
		enum belfry_status status = bf_cron_read_field(&c);
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

static uint8_t starred_fields(const struct fields *fields)
{
	unsigned starred = 0;

	for (int i = 0; i < fields->count; i++) {
		if (begins_with_star(fields->part[i])) {
			starred |= BF_CRON_STARRED(i + BF_CRON_FIELDS - fields->count);
		}
	}
	return (uint8_t)starred;
}

static enum belfry_status parse_fields(struct belfry_str text, bool five_fields,
		struct bf_cron *ret_cron, struct belfry_error *err)
{
	int max = five_fields ? 5 : BF_CRON_FIELDS;
	struct fields fields = {.count = 0};
	struct bf_cron_days days = {0};
	uint64_t sets[BF_CRON_FIELDS] = {0};

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
	days.dom = (uint32_t)sets[BF_CRON_DOM];
	days.dow = (uint32_t)sets[BF_CRON_DOW];
	days.is_either = !begins_with_star(minute[2]) && !begins_with_star(minute[4]);
	struct bf_cron cron = {
			.seconds = sets[BF_CRON_SECOND],
			.minutes = sets[BF_CRON_MINUTE],
			.hours = (uint32_t)sets[BF_CRON_HOUR],
			.months = (uint32_t)sets[BF_CRON_MONTH],
			.is_fixed = !begins_with_star(minute[0]) && !begins_with_star(minute[1]),
			.has_seconds = fields.count == BF_CRON_FIELDS,
			.starred = starred_fields(&fields),
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

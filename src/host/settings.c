/* The settings: one table of name, kind, range and default; everything else reads it.
 *
 * Not here  where texts come from (files, flags, environment of the process), and what a setting
 * does. */
#include "host/settings.h"

#include <ctype.h>
#include <stdio.h>

#include "base/error.h"
#include "base/timefmt.h"

enum kind {
	KIND_BOOL,
	KIND_COUNT,
	KIND_COUNT_OR_NONE, /* 0 inside; null outside */
	KIND_CLAMPED,       /* a number beyond the range becomes the nearest one in it */
	KIND_DURATION
};

struct row {
	const char *name;
	enum kind kind;
	size_t offset;
	int64_t initial;
	int64_t min;
	int64_t max;
	bool is_offered; /* by this version */
	bool is_live;    /* a change holds at once, without a restart */
};

#define COUNT_MAX  1000000000
#define BYTES_MAX  (64 * 1024 * 1024)
#define AT(member) offsetof(struct bf_settings, member)

static const struct row rows[] = {
		{"enabled", KIND_BOOL, AT(enabled), 1, 0, 1, false},
		{"max_concurrent", KIND_COUNT, AT(max_concurrent), 1000, 1, 1000000, true},
		{"exec_concurrent", KIND_COUNT, AT(exec_concurrent), 1, 1, 10000, true},
		{"per_host", KIND_COUNT, AT(per_host), 100, 1, 1000000, true},
		{"tick_seconds", KIND_CLAMPED, AT(tick_seconds), 1, 1, 300, true},
		{"lease", KIND_DURATION, AT(lease), 8 * BELFRY_SECOND, 100 * BELFRY_MILLISECOND,
				BELFRY_HOUR, true},
		{"beat", KIND_DURATION, AT(beat), 2 * BELFRY_SECOND, 10 * BELFRY_MILLISECOND,
				BELFRY_HOUR, true},
		{"grace", KIND_DURATION, AT(grace), BELFRY_MINUTE, 0, 366 * BELFRY_DAY, true, true},
		{"stop_time", KIND_DURATION, AT(stop_time), 25 * BELFRY_SECOND, 0, BELFRY_HOUR,
				true, true},
		{"keep_age", KIND_DURATION, AT(keep_age), 30 * BELFRY_DAY, BELFRY_SECOND,
				36600 * BELFRY_DAY, true},
		{"keep_runs", KIND_COUNT, AT(keep_runs), 10000, 1, COUNT_MAX, true},
		{"keep_failed_age", KIND_DURATION, AT(keep_failed_age), 90 * BELFRY_DAY,
				BELFRY_SECOND, 36600 * BELFRY_DAY, true},
		{"output_limit", KIND_COUNT, AT(output_limit), 1024 * 1024, 1, BYTES_MAX, true},
		{"answer_limit", KIND_COUNT, AT(answer_limit), 64 * 1024, 1, BYTES_MAX, true},
		{"audit_age", KIND_DURATION, AT(audit_age), 365 * BELFRY_DAY, BELFRY_DAY,
				36600 * BELFRY_DAY, false},
		{"streams_per_token", KIND_COUNT, AT(streams_per_token), 64, 1, 1000000, true},
		{"streams", KIND_COUNT, AT(streams), 1024, 1, 1000000, true},
		{"max_active_schedules", KIND_COUNT_OR_NONE, AT(max_active_schedules), 0, 1,
				COUNT_MAX, true},
		{"recovery_limit", KIND_COUNT, AT(recovery_limit), 10, 1, 1000000, true},
		{"zones_check", KIND_DURATION, AT(zones_check), 30 * BELFRY_SECOND,
				100 * BELFRY_MILLISECOND, BELFRY_DAY, true},
};

_Static_assert(BF_COUNT(rows) <= BF_SETTINGS_MAX, "each has a source");

static int64_t *value_of(struct bf_settings *settings, const struct row *row)
{
	return (int64_t *)(void *)((char *)settings + row->offset);
}

static int64_t read_value(const struct bf_settings *settings, const struct row *row)
{
	return *(const int64_t *)(const void *)((const char *)settings + row->offset);
}

void bf_settings_init(struct bf_settings *settings, int64_t processors)
{
	*settings = (struct bf_settings){0};
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		*value_of(settings, &rows[i]) = rows[i].initial;
	}
	settings->processors = BF_MAX(processors, 1);
	settings->exec_concurrent = settings->processors;
}

static int64_t default_of(const struct bf_settings *settings, const struct row *row)
{
	return row->offset == AT(exec_concurrent) ? settings->processors : row->initial;
}

static unsigned char *source_of(struct bf_settings *settings, const struct row *row)
{
	return &settings->sources[row - rows];
}

static enum belfry_status parse_bool(struct belfry_str text, int64_t *ret_value)
{
	if (!bf_str_equal(text, BF_STR("true")) && !bf_str_equal(text, BF_STR("false"))) {
		return BELFRY_INVALID;
	}
	*ret_value = bf_str_equal(text, BF_STR("true"));
	return BELFRY_OK;
}

static enum belfry_status parse_value(const struct row *row, struct belfry_str text,
		int64_t *ret_value)
{
	enum belfry_status status = BELFRY_INVALID;
	int64_t value = 0;

	switch (row->kind) {
	case KIND_BOOL: return parse_bool(text, ret_value);
	case KIND_DURATION: status = bf_duration_parse(text, &value); break;
	case KIND_CLAMPED:
		status = bf_str_parse_int(text, INT64_MIN, INT64_MAX, &value);
		value = BF_MIN(BF_MAX(value, row->min), row->max);
		break;
	case KIND_COUNT_OR_NONE:
		if (bf_str_equal(text, BF_STR("null"))) {
			*ret_value = 0;
			return BELFRY_OK;
		}
		status = bf_str_parse_int(text, row->min, row->max, &value);
		break;
	case KIND_COUNT: status = bf_str_parse_int(text, row->min, row->max, &value); break;
	}
	if (status != BELFRY_OK || value < row->min || value > row->max) {
		return BELFRY_INVALID;
	}
	*ret_value = value;
	return BELFRY_OK;
}

static enum belfry_status refuse_value(const struct row *row, struct belfry_str text,
		struct belfry_error *err)
{
	char low[BF_DURATION_TEXT_BYTES];
	char high[BF_DURATION_TEXT_BYTES];

	text = bf_str_slice(text, 0, 60);
	if (row->kind == KIND_BOOL) {
		return bf_error_set(err, BELFRY_INVALID,
				"setting %s: \"%.*s\" is not true or false", row->name,
				BF_STR_ARGS(text));
	}
	if (row->kind == KIND_DURATION) {
		bf_duration_format(row->min, low);
		bf_duration_format(row->max, high);
		return bf_error_set(err, BELFRY_INVALID,
				"setting %s: \"%.*s\" is not a duration from %s to %s, written "
				"like 10m or PT10M",
				row->name, BF_STR_ARGS(text), low, high);
	}
	return bf_error_set(err, BELFRY_INVALID,
			"setting %s: \"%.*s\" is not a whole number from %lld to %lld%s", row->name,
			BF_STR_ARGS(text), (long long)row->min, (long long)row->max,
			row->kind == KIND_COUNT_OR_NONE ? ", or null for no ceiling" : "");
}

static const struct row *find_row(struct belfry_str name)
{
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (bf_str_equal(name, bf_str(rows[i].name))) {
			return &rows[i];
		}
	}
	return NULL;
}

static enum belfry_status refuse_unknown(struct belfry_str name, struct belfry_error *err)
{
	name = bf_str_slice(name, 0, 60);
	return bf_error_set(err, BELFRY_INVALID,
			"setting %.*s: there is no such setting; GET /v1/settings lists all",
			BF_STR_ARGS(name));
}

enum belfry_status bf_settings_set(struct bf_settings *settings, struct belfry_str name,
		struct belfry_str text, struct belfry_error *err)
{
	const struct row *row = find_row(name);
	int64_t value;

	if (row == NULL) {
		return refuse_unknown(name, err);
	}
	if (parse_value(row, text, &value) != BELFRY_OK) {
		return refuse_value(row, text, err);
	}
	if (!row->is_offered && value != read_value(settings, row)) {
		return bf_error_set(err, BELFRY_INVALID,
				"setting %s: this version does not offer a value other than the "
				"default; leave it out",
				row->name);
	}
	*value_of(settings, row) = value;
	return BELFRY_OK;
}

/* "BELFRY_MAX_CONCURRENT" is max_concurrent? */
static bool is_variable_of(struct belfry_str variable, const struct row *row)
{
	struct belfry_str prefix = BF_STR("BELFRY_");
	struct belfry_str rest = bf_str_slice(variable, prefix.len, variable.len);

	if (!bf_str_starts_with(variable, prefix) ||
			!bf_str_equal_nocase(rest, bf_str(row->name))) {
		return false;
	}
	for (size_t i = 0; i < rest.len; i++) {
		if (rest.ptr[i] >= 'a' && rest.ptr[i] <= 'z') {
			return false;
		}
	}
	return true;
}

/* What others read, here or in a client: not settings, and no mistake. The last ones are beginnings. */
static bool is_known_otherwise(struct belfry_str variable)
{
	static const char *const names[] = {"BELFRY_URL", "BELFRY_TOKEN",
			"BELFRY_SCHEDULER_PROVIDER", "BELFRY_PLUGIN_PATH", "BELFRY_CRASH_POINT",
			"BELFRY_BINARY"};
	static const char *const beginnings[] = {"BELFRY_SECRET_", "BELFRY_TEST_"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_str_equal(variable, bf_str(names[i]))) {
			return true;
		}
	}
	for (size_t i = 0; i < BF_COUNT(beginnings); i++) {
		if (bf_str_starts_with(variable, bf_str(beginnings[i]))) {
			return true;
		}
	}
	return false;
}

/* How many bytes the two names have in common at their beginning, whatever their case. */
static size_t common_beginning(struct belfry_str word, const char *name)
{
	size_t len = 0;

	while (len < word.len && name[len] != '\0' &&
			bf_str_equal_nocase(bf_str_slice(word, len, len + 1),
					bf_str_slice(bf_str(name), len, len + 1))) {
		len++;
	}
	return len;
}

/* The setting that begins most like it. */
static const char *near_name(struct belfry_str word)
{
	const char *best = rows[0].name;
	size_t longest = 0;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		size_t len = common_beginning(word, rows[i].name);
		if (len > longest) {
			longest = len;
			best = rows[i].name;
		}
	}
	return longest >= 3 ? best : NULL;
}

/* A variable of ours that nothing reads would be a wish that is silently not carried out. */
static enum belfry_status refuse_variable(struct belfry_str variable, struct belfry_error *err)
{
	struct belfry_str word = bf_str_slice(variable, sizeof("BELFRY_") - 1, variable.len);
	const char *near = near_name(word);

	variable = bf_str_slice(variable, 0, 60);
	if (bf_str_equal(word, BF_STR("METRICS_PER_DEPLOYMENT"))) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.*s: this version does not offer the setting "
				"metrics.per_deployment; leave it out",
				BF_STR_ARGS(variable));
	}
	if (bf_str_equal(word, BF_STR("LISTEN")) || bf_str_equal(word, BF_STR("DATA")) ||
			bf_str_equal(word, BF_STR("STORE"))) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.*s: this is an option of `belfry serve`, and no setting; see "
				"`belfry serve --help`",
				BF_STR_ARGS(variable));
	}
	return bf_error_set(err, BELFRY_INVALID, "%.*s: there is no such setting%s%s%s",
			BF_STR_ARGS(variable), near != NULL ? "; did you mean " : "",
			near != NULL ? near : "; leave it out",
			near != NULL ? ", in capitals behind BELFRY_?" : "");
}

static enum belfry_status read_variable(struct bf_settings *settings, struct belfry_str pair,
		struct belfry_error *err)
{
	size_t equals = 0;

	while (equals < pair.len && pair.ptr[equals] != '=') {
		equals++;
	}
	struct belfry_str variable = bf_str_slice(pair, 0, equals);
	struct belfry_str text = bf_str_slice(pair, equals + 1, pair.len);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (!is_variable_of(variable, &rows[i])) {
			continue;
		}
		enum belfry_status status = bf_settings_set(settings, bf_str(rows[i].name), text,
				err);
		if (status != BELFRY_OK) {
			bf_error_prefix(err, "%.*s: ", BF_STR_ARGS(variable));
			return status;
		}
		*source_of(settings, &rows[i]) = BF_SETTING_ENVIRONMENT;
		return BELFRY_OK;
	}
	bool is_ours = bf_str_starts_with(variable, BF_STR("BELFRY_"));
	return is_ours && !is_known_otherwise(variable) ? refuse_variable(variable, err)
							: BELFRY_OK;
}

enum belfry_status bf_settings_read_environment(struct bf_settings *settings,
		const char *const *environment, struct belfry_error *err)
{
	for (size_t i = 0; environment[i] != NULL; i++) {
		enum belfry_status status = read_variable(settings, bf_str(environment[i]), err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

enum belfry_status bf_settings_check(const struct bf_settings *settings, struct belfry_error *err)
{
	if (settings->beat > settings->lease / 2) {
		return bf_error_set(err, BELFRY_INVALID,
				"setting beat: it must be at most half of lease, so that one lost "
				"beat does not end the process's lease");
	}
	if (settings->output_limit < settings->answer_limit) {
		return bf_error_set(err, BELFRY_INVALID,
				"setting answer_limit: it may not be above output_limit");
	}
	return BELFRY_OK;
}

/* --- over the API --- */

/* The value's text, as the environment would give it; empty for what no setting takes. */
static void append_value(struct bf_buf *text, const struct row *row, const json_t *value)
{
	if (row->kind == KIND_DURATION) {
		bf_buf_append_str(text, bf_json_str(value));
	} else if (row->kind == KIND_BOOL && json_is_boolean(value)) {
		bf_buf_append_text(text, json_is_true(value) ? "true" : "false");
	} else if (row->kind != KIND_BOOL && json_is_integer(value)) {
		bf_buf_appendf(text, "%lld", (long long)json_integer_value(value));
	} else if (bf_json_dump(value, text) != BELFRY_OK) {
		text->is_failed = true;
	}
}

static bool is_right_type(const struct row *row, const json_t *value)
{
	switch (row->kind) {
	case KIND_BOOL: return json_is_boolean(value);
	case KIND_DURATION: return json_is_string(value);
	case KIND_COUNT:
	case KIND_COUNT_OR_NONE:
	case KIND_CLAMPED: return json_is_integer(value);
	}
	return false;
}

static enum belfry_status refuse_pinned(const struct row *row, struct belfry_error *err)
{
	char variable[sizeof("BELFRY_") + 40];
	size_t len = (size_t)snprintf(variable, sizeof(variable), "BELFRY_%s", row->name);

	for (size_t i = 0; i < len && i < sizeof(variable); i++) {
		variable[i] = (char)toupper((unsigned char)variable[i]);
	}
	return bf_error_set(err, BELFRY_CONFLICT,
			"setting %s: %s gives it, and goes before what is changed here; change it "
			"there, or start without it",
			row->name, variable);
}

static enum belfry_status change_row(struct bf_settings *settings, const struct row *row,
		const json_t *value, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	int64_t parsed = default_of(settings, row);

	if (!row->is_offered) {
		return bf_error_set(err, BELFRY_INVALID,
				"setting %s: this version does not offer to change it; leave it out",
				row->name);
	}
	if (*source_of(settings, row) == BF_SETTING_ENVIRONMENT) {
		return refuse_pinned(row, err);
	}
	if (!json_is_null(value)) {
		append_value(&text, row, value);
		if (bf_buf_status(&text) != BELFRY_OK) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
		if (!is_right_type(row, value) ||
				parse_value(row, bf_buf_str(&text), &parsed) != BELFRY_OK) {
			return refuse_value(row, bf_buf_str(&text), err);
		}
	}
	*value_of(settings, row) = parsed;
	*source_of(settings, row) = json_is_null(value) ? BF_SETTING_DEFAULT : BF_SETTING_API;
	return BELFRY_OK;
}

static void point_at(struct belfry_error *err, const char *name)
{
	if (err != NULL) {
		(void)snprintf(err->pointer, sizeof(err->pointer), "/%s", name); /* may be cut */
	}
}

enum belfry_status bf_settings_change(struct bf_settings *settings, const json_t *changes,
		struct belfry_error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(changes)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the body must be an object that holds the settings to change");
	}
	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)changes, name, value)
	{
		const struct row *row = find_row(bf_str(name));
		enum belfry_status status = row != NULL ? change_row(settings, row, value, err)
							: refuse_unknown(bf_str(name), err);
		if (status != BELFRY_OK) {
			point_at(err, name);
			return status;
		}
	}
	return BELFRY_OK;
}

void bf_settings_take_live(struct bf_settings *settings, const struct bf_settings *next)
{
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (rows[i].is_live) {
			*value_of(settings, &rows[i]) = read_value(next, &rows[i]);
			settings->sources[i] = next->sources[i];
		}
	}
}

/* --- writing --- */

static void write_value(struct bf_json_writer *writer, const char *name, const struct row *row,
		int64_t value)
{
	switch (row->kind) {
	case KIND_BOOL: bf_json_write_bool(writer, name, value != 0); return;
	case KIND_DURATION: bf_json_write_duration(writer, name, value); return;
	case KIND_COUNT_OR_NONE:
		if (value == 0) {
			bf_json_write_null(writer, name);
			return;
		}
		bf_json_write_int(writer, name, value);
		return;
	case KIND_COUNT:
	case KIND_CLAMPED: bf_json_write_int(writer, name, value); return;
	}
}

static json_t *new_setting(const struct bf_settings *settings, const struct bf_settings *next,
		const struct row *row)
{
	static const char *const sources[] = {"default", "environment", "api"};
	struct bf_json_writer w;
	json_t *object = NULL;
	unsigned source = settings->sources[row - rows];

	bf_json_writer_begin(&w);
	write_value(&w, "value", row, read_value(settings, row));
	write_value(&w, "default", row, default_of(settings, row));
	bf_json_write_text(&w, "source", sources[BF_MIN(source, BF_COUNT(sources) - 1)]);
	bf_json_write_bool(&w, "changeable", row->is_offered && source != BF_SETTING_ENVIRONMENT);
	bf_json_write_bool(&w, "needs_restart", !row->is_live);
	write_value(&w, "next_value", row, read_value(next, row));
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

enum belfry_status bf_settings_write(const struct bf_settings *settings,
		const struct bf_settings *next, json_t **ret_object)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		bf_json_write_value(&writer, rows[i].name, new_setting(settings, next, &rows[i]));
	}
	return bf_json_writer_end(&writer, ret_object);
}

void bf_settings_fill_provider(const struct bf_settings *settings,
		struct belfry_provider_options *options)
{
	options->max_active_schedules = settings->max_active_schedules;
	options->max_concurrent = (uint32_t)settings->max_concurrent;
	options->recovery_limit = (uint32_t)settings->recovery_limit;
	options->zones_check = settings->zones_check;
	options->lease = settings->lease;
	options->beat = settings->beat;
	options->tick = settings->tick_seconds * BELFRY_SECOND;
	options->keep_age = settings->keep_age;
	options->keep_runs = settings->keep_runs;
	options->keep_failed_age = settings->keep_failed_age;
}

/* The settings: one table of name, kind, range and default; everything else reads it.
 *
 * Not here  where texts come from (files, flags, environment of the process), and what a setting
 * does. */
#include "host/settings.h"

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
		{"grace", KIND_DURATION, AT(grace), BELFRY_MINUTE, 0, 366 * BELFRY_DAY, true},
		{"stop_time", KIND_DURATION, AT(stop_time), 25 * BELFRY_SECOND, 0, BELFRY_HOUR,
				true},
		{"keep_age", KIND_DURATION, AT(keep_age), 30 * BELFRY_DAY, BELFRY_SECOND,
				36600 * BELFRY_DAY, true},
		{"keep_runs", KIND_COUNT, AT(keep_runs), 10000, 1, COUNT_MAX, true},
		{"keep_failed_age", KIND_DURATION, AT(keep_failed_age), 90 * BELFRY_DAY,
				BELFRY_SECOND, 36600 * BELFRY_DAY, true},
		{"output_limit", KIND_COUNT, AT(output_limit), 1024 * 1024, 1, BYTES_MAX, true},
		{"answer_limit", KIND_COUNT, AT(answer_limit), 64 * 1024, 1, BYTES_MAX, true},
		{"audit_age", KIND_DURATION, AT(audit_age), 365 * BELFRY_DAY, BELFRY_DAY,
				36600 * BELFRY_DAY, false},
		{"streams_per_token", KIND_COUNT, AT(streams_per_token), 64, 1, 1000000, false},
		{"streams", KIND_COUNT, AT(streams), 1024, 1, 1000000, false},
		{"max_active_schedules", KIND_COUNT_OR_NONE, AT(max_active_schedules), 0, 1,
				COUNT_MAX, true},
		{"recovery_limit", KIND_COUNT, AT(recovery_limit), 10, 1, 1000000, true},
};

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
	settings->exec_concurrent = BF_MAX(processors, 1);
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

enum belfry_status bf_settings_set(struct bf_settings *settings, struct belfry_str name,
		struct belfry_str text, struct belfry_error *err)
{
	const struct row *row = find_row(name);
	int64_t value;

	if (row == NULL) {
		name = bf_str_slice(name, 0, 60);
		return bf_error_set(err, BELFRY_INVALID,
				"setting %.*s: there is no such setting; GET /v1/settings lists all",
				BF_STR_ARGS(name));
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
		}
		return status;
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

static void write_row(struct bf_json_writer *writer, const struct row *row, int64_t value)
{
	switch (row->kind) {
	case KIND_BOOL: bf_json_write_bool(writer, row->name, value != 0); return;
	case KIND_DURATION: bf_json_write_duration(writer, row->name, value); return;
	case KIND_COUNT_OR_NONE:
		if (value == 0) {
			bf_json_write_null(writer, row->name);
			return;
		}
		bf_json_write_int(writer, row->name, value);
		return;
	case KIND_COUNT:
	case KIND_CLAMPED: bf_json_write_int(writer, row->name, value); return;
	}
}

enum belfry_status bf_settings_write(const struct bf_settings *settings, json_t **ret_object)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		write_row(&writer, &rows[i], read_value(settings, &rows[i]));
	}
	return bf_json_writer_end(&writer, ret_object);
}

void bf_settings_fill_provider(const struct bf_settings *settings,
		struct belfry_provider_options *options)
{
	options->max_active_schedules = settings->max_active_schedules;
	options->max_concurrent = (uint32_t)settings->max_concurrent;
	options->recovery_limit = (uint32_t)settings->recovery_limit;
	options->lease = settings->lease;
	options->beat = settings->beat;
	options->tick = settings->tick_seconds * BELFRY_SECOND;
	options->keep_age = settings->keep_age;
	options->keep_runs = settings->keep_runs;
	options->keep_failed_age = settings->keep_failed_age;
}

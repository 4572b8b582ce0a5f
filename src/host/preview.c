/* Previews. What a change of the clocks does to the shown times is found by asking the same rule under
 * the other policies: where they answer otherwise, the policy decided. What is said of the fields of
 * an expression is read from its text, and only where that is plain.
 *
 * Not here  the rule in words: a later version has it. */
#include "host/preview.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/timefmt.h"
#include "host/calendars_priv.h"
#include "host/deployment.h"
#include "host/host_priv.h"

#define RARE_AFTER (366 * BELFRY_DAY)
#define CRON_WORDS 6

struct preview {
	struct bf_host *host;
	struct bf_deployment d; /* of which only rule, zone and policies are filled */
	belfry_time from;
	size_t max;
	struct belfry_rule *rule;
	belfry_time due[BF_PREVIEW_DUE_MAX];
	size_t count;
	json_t *warnings;
	bool is_failed;
};

static void preview_fini(struct preview *preview)
{
	bf_deployment_fini(&preview->d);
	belfry_rule_free(preview->rule);
	json_decref(preview->warnings);
}

BF_PRINTF(3, 4)
static void warn(struct preview *preview, const char *code, const char *format, ...)
{
	struct bf_json_writer w;
	json_t *warning = NULL;
	char message[BELFRY_ERROR_MESSAGE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "code", code);
	bf_json_write_text(&w, "message", message);
	if (bf_json_writer_end(&w, &warning) != BELFRY_OK ||
			json_array_append_new(preview->warnings, warning) != 0) {
		preview->is_failed = true;
	}
}

/* --- what the expression's text shows --- */

/* The words of a plain cron expression; 0 where it is none (a macro, rule JSON). */
static size_t split_cron(struct belfry_str text, struct belfry_str *words)
{
	size_t count = 0;
	size_t at = 0;

	if (text.len == 0 || text.ptr[0] == '{' || text.ptr[0] == '@') {
		return 0;
	}
	while (at < text.len) {
		size_t end = at;
		while (end < text.len && text.ptr[end] != ' ' && text.ptr[end] != '\t') {
			end++;
		}
		if (end > at && count == CRON_WORDS) {
			return 0;
		}
		if (end > at) {
			words[count++] = bf_str_slice(text, at, end);
		}
		at = end + 1;
	}
	return count == 5 || count == CRON_WORDS ? count : 0;
}

/* "31" or "29,30,31": numbers alone, each a day that some month lacks. */
static bool is_late_days(struct belfry_str field)
{
	size_t at = 0;

	while (at < field.len) {
		size_t end = at;
		int64_t day;
		while (end < field.len && field.ptr[end] != ',') {
			end++;
		}
		if (bf_str_parse_int(bf_str_slice(field, at, end), 29, 31, &day) != BELFRY_OK) {
			return false;
		}
		at = end + 1;
	}
	return field.len > 0;
}

static bool is_restricted(struct belfry_str field)
{
	return field.len > 0 && field.ptr[0] != '*' && field.ptr[0] != '?';
}

static void warn_of_fields(struct preview *preview)
{
	struct belfry_str words[CRON_WORDS];
	size_t count = split_cron(bf_buf_str(&preview->d.rule), words);

	if (count == 0) {
		return;
	}
	struct belfry_str day = words[count - 3];
	struct belfry_str month = words[count - 2];
	struct belfry_str week_day = words[count - 1];
	if (is_restricted(day) && is_restricted(week_day)) {
		warn(preview, "EITHER_DAY",
				"both the day of the month and the day of the week are given: it "
				"fires on either, not only where both match");
	} else if (is_late_days(day) && !is_restricted(month)) {
		warn(preview, "SHORT_MONTHS",
				"day %.*s: a month without that day is left out; L is the last day of "
				"every month",
				BF_STR_ARGS(day));
	}
}

/* --- what the due times show --- */

static void warn_of_rarity(struct preview *preview)
{
	belfry_time before = preview->from;

	if (preview->count == 0) {
		warn(preview, "NEVER", "it does not fire any more after the given time");
	}
	for (size_t i = 0; i < preview->count; i++) {
		if (bf_time_since(preview->due[i], before) > RARE_AFTER) {
			char text[BF_TIME_TEXT_BYTES];
			bf_time_format(preview->due[i], 0, text);
			warn(preview, "RARE", "there is nothing for more than a year before %s",
					text);
			return;
		}
		before = preview->due[i];
	}
}

static void list_due(const struct belfry_rule *rule, belfry_time from, belfry_time *due, size_t max,
		size_t *ret_count)
{
	uint32_t max_fires = belfry_rule_max_fires(rule);
	size_t count = 0;

	max = max_fires != 0 ? BF_MIN(max, max_fires) : max; /* as though none had been yet */
	while (count < max && belfry_rule_next(rule, from, &due[count]) == BELFRY_OK) {
		from = due[count++];
	}
	*ret_count = count;
}

/* The first time at which the two lists part; 0: nowhere within both. */
static belfry_time first_difference(const struct preview *preview, const belfry_time *other,
		size_t count)
{
	for (size_t i = 0; i < BF_MIN(count, preview->count); i++) {
		if (other[i] != preview->due[i]) {
			return BF_MIN(other[i], preview->due[i]);
		}
	}
	return 0;
}

/* The rule as it is, but for one policy. */
static belfry_time difference_under(struct preview *preview, enum belfry_dst_gap gap,
		enum belfry_dst_fold fold)
{
	struct belfry_policies *policies = &preview->d.policies;
	const struct belfry_policies kept = *policies;
	belfry_time other[BF_PREVIEW_DUE_MAX];
	struct belfry_rule *rule = NULL;
	belfry_time at = 0;
	size_t count = 0;

	policies->dst_gap = gap;
	policies->dst_fold = fold;
	/* A rule that fires under one policy alone: then that is what differs. */
	if (bf_deployment_parse_rule(&preview->d, preview->host->options.zones, &rule, NULL) ==
			BELFRY_OK) {
		list_due(rule, preview->from, other, preview->max, &count);
		at = first_difference(preview, other, count);
		belfry_rule_free(rule);
	}
	*policies = kept;
	return at;
}

static void warn_of_clock_change(struct preview *preview, const char *code, const char *what,
		belfry_time at)
{
	char text[BF_TIME_TEXT_BYTES];

	if (at != 0) {
		bf_time_format(at, belfry_rule_offset(preview->rule, at), text);
		warn(preview, code, "%s: what happens there is decided by dst, first at %s", what,
				text);
	}
}

static void warn_of_clocks(struct preview *preview)
{
	enum belfry_dst_gap gap = preview->d.policies.dst_gap;
	enum belfry_dst_fold fold = preview->d.policies.dst_fold;
	enum belfry_dst_gap other_gap = gap == BELFRY_DST_GAP_SKIP ? BELFRY_DST_GAP_AT_END
								   : BELFRY_DST_GAP_SKIP;
	enum belfry_dst_fold other_fold = fold == BELFRY_DST_FOLD_BOTH ? BELFRY_DST_FOLD_FIRST
								       : BELFRY_DST_FOLD_BOTH;

	warn_of_clock_change(preview, "DST_GAP", "a local time that does not exist is among them",
			difference_under(preview, other_gap, fold));
	warn_of_clock_change(preview, "DST_FOLD", "a local time that comes twice is among them",
			difference_under(preview, gap, other_fold));
}

/* --- the answer --- */

static enum belfry_status read_query(struct preview *preview, const json_t *body,
		struct belfry_error *err)
{
	struct bf_json_reader reader;
	int64_t n = BF_PREVIEW_DUE_DEFAULT;

	bf_json_reader_begin(&reader, body, "", err);
	bf_deployment_read_rule(&reader, &preview->d);
	(void)bf_json_reader_time(&reader, "from", BF_JSON_NULLABLE, &preview->from);
	(void)bf_json_reader_int(&reader, "n", BF_JSON_NULLABLE, INT64_MIN, INT64_MAX, &n);
	bf_deployment_read_dst(&reader, &preview->d.policies);
	preview->max = (size_t)BF_MIN(BF_MAX(n, 1), BF_PREVIEW_DUE_MAX);
	return bf_json_reader_end(&reader);
}

static json_t *new_due(const struct preview *preview)
{
	json_t *list = json_array();

	for (size_t i = 0; i < preview->count && list != NULL; i++) {
		struct bf_json_writer w;
		char local[BF_TIME_TEXT_BYTES];
		json_t *due = NULL;
		bf_time_format(preview->due[i], belfry_rule_offset(preview->rule, preview->due[i]),
				local);
		bf_json_writer_begin(&w);
		bf_json_write_time(&w, "at", preview->due[i]);
		bf_json_write_text(&w, "local", local);
		if (bf_json_writer_end(&w, &due) != BELFRY_OK ||
				json_array_append_new(list, due) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static enum belfry_status write_answer(struct preview *preview, json_t **ret_answer,
		struct belfry_error *err)
{
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	bf_json_write_str(&w, "timezone_used", bf_deployment_zone(&preview->d));
	bf_json_write_text(&w, "tz_version", bf_host_tz_version(preview->host));
	bf_json_write_value(&w, "due", new_due(preview));
	bf_json_write_value(&w, "warnings", json_incref(preview->warnings));
	if (bf_json_writer_end(&w, ret_answer) != BELFRY_OK || preview->is_failed) {
		json_decref(*ret_answer);
		*ret_answer = NULL;
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

enum belfry_status bf_preview(struct bf_host *host, const json_t *body, json_t **ret_answer,
		struct belfry_error *err)
{
	const struct bf_env *env = host->options.env;
	BF_CLEANUP(preview_fini)
	struct preview preview = {
			.host = host,
			.d = {.is_enabled = true, .policies = BELFRY_POLICIES_INIT},
			.from = env->wall(env->data),
			.warnings = json_array(),
	};

	*ret_answer = NULL;
	if (preview.warnings == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = read_query(&preview, body, err);
	preview.d.created_at = preview.from;
	if (status == BELFRY_OK) {
		status = bf_calendars_expand(host, &preview.d, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployment_parse_rule(&preview.d, host->options.zones, &preview.rule,
				err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	list_due(preview.rule, preview.from, preview.due, preview.max, &preview.count);
	warn_of_fields(&preview);
	warn_of_rarity(&preview);
	warn_of_clocks(&preview);
	return write_answer(&preview, ret_answer, err);
}

/* Reading a time from the command line. The zone's data comes from the calendar; a rule that fires every
 * minute is the handle by which it answers for an offset. */
#include "cli/timearg.h"

#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

static enum belfry_status refuse(const char *what, const char *text, struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_USAGE,
			"%s: \"%.60s\" is no time: use 2026-12-01T09:00:00Z, a local date and time "
			"(2026-12-01 09:00), now, or -2h",
			what, text);
}

/* "-2h", "+30m": false where it is not of this form. */
static bool parse_distance(struct belfry_str text, belfry_time now, belfry_time *ret_time)
{
	belfry_duration distance;

	if (text.len < 2 || (text.ptr[0] != '-' && text.ptr[0] != '+') ||
			bf_duration_parse(bf_str_slice(text, 1, text.len), &distance) !=
					BELFRY_OK) {
		return false;
	}
	*ret_time = bf_time_add(now, text.ptr[0] == '-' ? -distance : distance);
	return true;
}

/* The fields of a local date and time, read as if they were UTC; hours or seconds may be missing.
 * BELFRY_INVALID: it is none. */
static enum belfry_status parse_local(struct belfry_str text, belfry_time *ret_local)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf full = {0};
	size_t date = sizeof("2026-12-01") - 1;
	size_t minute = sizeof("2026-12-01T09:00") - 1;

	bf_buf_append_str(&full, text);
	if (text.len == date) {
		bf_buf_append_text(&full, "T00:00:00");
	} else if (text.len == minute) {
		bf_buf_append_text(&full, ":00");
	}
	bf_buf_append_byte(&full, 'Z');
	if (bf_buf_status(&full) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return bf_time_parse(bf_buf_str(&full), ret_local);
}

static belfry_time shift(const struct belfry_rule *rule, belfry_time local, belfry_time near)
{
	return bf_time_add(local, -(belfry_duration)belfry_rule_offset(rule, near) * BELFRY_SECOND);
}

/* Tries the offsets a day before and after, the earlier result first. False: the clock skips it. */
static bool local_to_utc(const struct belfry_rule *rule, belfry_time local, belfry_time *ret_time)
{
	belfry_time before = shift(rule, local, bf_time_add(local, -BELFRY_DAY));
	belfry_time after = shift(rule, local, bf_time_add(local, BELFRY_DAY));
	belfry_time candidates[] = {BF_MIN(before, after), BF_MAX(before, after)};

	for (size_t i = 0; i < BF_COUNT(candidates); i++) {
		if (shift(rule, local, candidates[i]) == candidates[i]) {
			*ret_time = candidates[i];
			return true;
		}
	}
	return false;
}

static enum belfry_status new_zone_rule(struct bf_cli *cli, const char *zone,
		struct belfry_rule **ret_rule, struct belfry_error *err)
{
	struct belfry_zones *zones;
	enum belfry_status status = bf_cli_zones(cli, &zones, err);

	if (status != BELFRY_OK) {
		return status;
	}
	return belfry_rule_new(zones, BF_STR("* * * * *"), bf_str(zone), NULL, ret_rule, err);
}

/* The first instant in (from, to] with another offset than at `from`, if it changes once there. */
static belfry_time find_change(const struct belfry_rule *rule, belfry_time from, belfry_time to)
{
	int32_t offset = belfry_rule_offset(rule, from);

	while (to - from > 1) {
		belfry_time middle = from + (to - from) / 2;
		if (belfry_rule_offset(rule, middle) == offset) {
			from = middle;
		} else {
			to = middle;
		}
	}
	return to;
}

static enum belfry_status parse_in_zone(struct bf_cli *cli, const char *what, const char *text,
		const char *zone, belfry_time local, belfry_time *ret_time,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	enum belfry_status status = new_zone_rule(cli, zone, &rule, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (!local_to_utc(rule, local, ret_time)) {
		return bf_error_set(err, BELFRY_USAGE,
				"%s: the clocks of %.64s skip %.60s: use a time with an offset",
				what, zone, text);
	}
	return BELFRY_OK;
}

enum belfry_status bf_timearg_parse(struct bf_cli *cli, const char *what, const char *text,
		const char *zone, belfry_time *ret_time, struct belfry_error *err)
{
	belfry_time now = cli->env->wall(cli->env->data);
	belfry_time local;

	if (strcmp(text, "now") == 0) {
		*ret_time = now;
		return BELFRY_OK;
	}
	if (bf_time_parse(bf_str(text), ret_time) == BELFRY_OK ||
			parse_distance(bf_str(text), now, ret_time)) {
		return BELFRY_OK;
	}
	enum belfry_status status = parse_local(bf_str(text), &local);
	if (status == BELFRY_NOMEM) {
		return bf_error_set(err, status, "out of memory");
	}
	if (status != BELFRY_OK) {
		return refuse(what, text, err);
	}
	if (zone == NULL) {
		*ret_time = local;
		return BELFRY_OK;
	}
	return parse_in_zone(cli, what, text, zone, local, ret_time, err);
}

enum belfry_status bf_timearg_gap(struct bf_cli *cli, const char *text, const char *zone,
		struct bf_timearg_gap *ret_gap, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	belfry_time local;
	belfry_time time;

	if (parse_local(bf_str(text), &local) != BELFRY_OK) {
		return BELFRY_NOT_FOUND;
	}
	enum belfry_status status = new_zone_rule(cli, zone, &rule, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (local_to_utc(rule, local, &time)) {
		return BELFRY_NOT_FOUND;
	}
	belfry_time before = bf_time_add(local, -BELFRY_DAY);
	belfry_time at = find_change(rule, before, bf_time_add(local, BELFRY_DAY));
	*ret_gap = (struct bf_timearg_gap){
			.at = at,
			.shifted = shift(rule, local, before),
			.from = at +
					(belfry_duration)belfry_rule_offset(rule, before) *
							BELFRY_SECOND,
			.to = at + (belfry_duration)belfry_rule_offset(rule, at) * BELFRY_SECOND,
	};
	return BELFRY_OK;
}

void bf_timearg_put_local(struct belfry_str text, struct bf_buf *buf)
{
	char full[BF_TIME_TEXT_BYTES];
	belfry_time local;

	enum belfry_status status = parse_local(text, &local);
	if (status != BELFRY_OK) {
		bf_buf_append_str(buf, text);
		buf->is_failed = buf->is_failed || status == BELFRY_NOMEM;
		return;
	}
	bf_time_format(local, 0, full);
	bf_buf_append(buf, full, strlen(full) - 1); /* without the Z: the zone is the rule's */
}

void bf_timearg_format(const struct belfry_rule *rule, belfry_time time, char *buffer)
{
	int32_t offset = belfry_rule_offset(rule, time);

	bf_time_format(time, offset - offset % 60, buffer);
}

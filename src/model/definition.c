/* Encoding of a schedule's definition, and the check of its policies. Data from a store is never
 * trusted: every length, enum and duration is checked on the way in. */
#include "model/definition.h"

#include "base/assert.h"
#include "base/error.h"

#define DEFINITION_VERSION 1
#define DURATION_MAX       (400 * 366 * BELFRY_DAY)

static void put_int(struct bf_buf *out, int64_t value, size_t width)
{
	for (size_t i = 0; i < width; i++) {
		bf_buf_append_byte(out, (char)(unsigned char)((uint64_t)value >> (8 * i)));
	}
}

_Static_assert(BELFRY_RULE_BYTES <= UINT16_MAX, "the length of a text has two bytes");

static void put_text(struct bf_buf *out, struct belfry_str text)
{
	BF_ASSERT(text.len <= UINT16_MAX); /* whoever takes a definition has checked it */
	put_int(out, (int64_t)text.len, 2);
	bf_buf_append_str(out, text);
}

void bf_definition_encode(const struct bf_definition *definition, struct bf_buf *out)
{
	const struct belfry_policies *p = &definition->policies;

	put_int(out, DEFINITION_VERSION, 1);
	put_int(out, definition->flags, 4);
	put_int(out, definition->anchor, 8);
	put_text(out, definition->rule);
	put_text(out, definition->zone);
	put_int(out, p->missed, 1);
	put_int(out, p->missed_max_age, 8);
	put_int(out, p->missed_max_count, 4);
	put_int(out, p->grace, 8);
	put_int(out, p->late_limit, 8);
	put_int(out, p->overlap, 1);
	put_int(out, p->interrupted, 1);
	put_int(out, p->max_attempts, 4);
	put_int(out, p->first_delay, 8);
	put_int(out, p->max_delay, 8);
	put_int(out, p->timeout, 8);
	put_int(out, p->session_timeout, 8);
	put_int(out, p->on_exhausted, 1);
	put_int(out, p->disable_after, 4);
	put_int(out, p->dst_gap, 1);
	put_int(out, p->dst_fold, 1);
	put_int(out, p->deadline, 8);
}

/* What is left to read; the first failure is remembered with the member's name. */
struct reader {
	struct belfry_str rest;
	const char *failed_at;
};

static uint64_t get_int(struct reader *r, size_t width, const char *member)
{
	uint64_t value = 0;

	if (r->rest.len < width) {
		r->failed_at = r->failed_at != NULL ? r->failed_at : member;
		return 0;
	}
	for (size_t i = 0; i < width; i++) {
		value |= (uint64_t)(unsigned char)r->rest.ptr[i] << (8 * i);
	}
	r->rest = bf_str_slice(r->rest, width, r->rest.len);
	return value;
}

static uint64_t get_below(struct reader *r, size_t width, uint64_t end, const char *member)
{
	uint64_t value = get_int(r, width, member);

	if (value >= end) {
		r->failed_at = r->failed_at != NULL ? r->failed_at : member;
		return 0;
	}
	return value;
}

static belfry_duration get_duration(struct reader *r, const char *member)
{
	return (belfry_duration)get_below(r, 8, (uint64_t)DURATION_MAX + 1, member);
}

static struct belfry_str get_text(struct reader *r, size_t max, const char *member)
{
	size_t len = (size_t)get_below(r, 2, max + 1, member);

	if (r->rest.len < len) {
		r->failed_at = r->failed_at != NULL ? r->failed_at : member;
		return BF_STR("");
	}
	struct belfry_str text = bf_str_slice(r->rest, 0, len);
	r->rest = bf_str_slice(r->rest, len, r->rest.len);
	return text;
}

static void get_policies(struct reader *r, struct belfry_policies *p)
{
	p->missed = (enum belfry_missed)get_below(r, 1, BELFRY_MISSED_COUNT, "missed");
	p->missed_max_age = get_duration(r, "missed.max_age");
	p->missed_max_count = (uint32_t)get_int(r, 4, "missed.max_count");
	p->grace = get_duration(r, "grace");
	p->late_limit = get_duration(r, "late_limit");
	p->overlap = (enum belfry_overlap)get_below(r, 1, BELFRY_OVERLAP_COUNT, "overlap");
	p->interrupted = (enum belfry_interrupted)get_below(r, 1, BELFRY_INTERRUPTED_COUNT,
			"interrupted");
	p->max_attempts = (uint32_t)get_int(r, 4, "retry.max_attempts");
	p->first_delay = get_duration(r, "retry.first_delay");
	p->max_delay = get_duration(r, "retry.max_delay");
	p->timeout = get_duration(r, "timeout");
	p->session_timeout = get_duration(r, "session_timeout");
	p->on_exhausted = (enum belfry_on_exhausted)get_below(r, 1, BELFRY_EXHAUSTED_COUNT,
			"on_exhausted");
	p->disable_after = (uint32_t)get_int(r, 4, "on_failure");
	p->dst_gap = (enum belfry_dst_gap)get_below(r, 1, BELFRY_DST_GAP_COUNT, "dst.gap");
	p->dst_fold = (enum belfry_dst_fold)get_below(r, 1, BELFRY_DST_FOLD_COUNT, "dst.fold");
	p->deadline = get_duration(r, "deadline");
}

enum belfry_status bf_definition_decode(struct belfry_str bytes,
		struct bf_definition *ret_definition, struct belfry_error *err)
{
	struct reader r = {.rest = bytes};
	struct bf_definition d = {0};

	if (get_int(&r, 1, "version") != DEFINITION_VERSION) {
		return bf_error_system(err, BELFRY_CORRUPT, 0, "definition: unknown version");
	}
	d.flags = (uint32_t)get_int(&r, 4, "flags");
	d.anchor = (belfry_time)get_int(&r, 8, "anchor");
	d.rule = get_text(&r, BELFRY_RULE_BYTES, "rule");
	d.zone = get_text(&r, BELFRY_ZONE_BYTES, "zone");
	get_policies(&r, &d.policies);
	if (r.failed_at != NULL || r.rest.len != 0) {
		return bf_error_system(err, BELFRY_CORRUPT, 0, "definition: cannot read %s",
				r.failed_at != NULL ? r.failed_at : "the bytes behind its end");
	}
	*ret_definition = d;
	return BELFRY_OK;
}

static enum belfry_status check_duration(belfry_duration value, belfry_duration min,
		const char *pointer, struct belfry_error *err)
{
	if (value < min || value > DURATION_MAX) {
		return bf_error_at(err, BELFRY_INVALID, pointer,
				"%s: a duration from %s to 400 years is needed", pointer + 1,
				min > 0 ? "PT0.001S" : "PT0S");
	}
	return BELFRY_OK;
}

static enum belfry_status check_durations(const struct belfry_policies *p, struct belfry_error *err)
{
	const struct {
		belfry_duration value;
		belfry_duration min;
		const char *pointer;
	} rows[] = {
			{p->missed_max_age, 0, "/policies/missed/max_age"},
			{p->grace, 0, "/policies/grace"},
			{p->late_limit, 0, "/policies/late_limit"},
			{p->first_delay, BELFRY_MILLISECOND, "/policies/retry/first_delay"},
			{p->max_delay, BELFRY_MILLISECOND, "/policies/retry/max_delay"},
			{p->timeout, 0, "/policies/timeout"},
			{p->session_timeout, BELFRY_MILLISECOND, "/policies/session_timeout"},
			{p->deadline, 0, "/policies/deadline"},
	};
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		enum belfry_status status = check_duration(rows[i].value, rows[i].min,
				rows[i].pointer, err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* A number that is in no list would lose its high bits in the store and come back as another value. */
static enum belfry_status check_lists(const struct belfry_policies *p, struct belfry_error *err)
{
	const struct {
		unsigned value;
		unsigned count;
		const char *pointer;
	} rows[] = {
			{p->interrupted, BELFRY_INTERRUPTED_COUNT, "/policies/interrupted"},
			{p->dst_gap, BELFRY_DST_GAP_COUNT, "/policies/dst/gap"},
			{p->dst_fold, BELFRY_DST_FOLD_COUNT, "/policies/dst/fold"},
	};
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (rows[i].value >= rows[i].count) {
			return bf_error_at(err, BELFRY_INVALID, rows[i].pointer,
					"%s: there is no such value", rows[i].pointer + 1);
		}
	}
	return BELFRY_OK;
}

/* What interface.md names and this version does not carry out yet is refused, never ignored. The two
 * bounds of what is missed concern policies that are not offered: written out, they may be those that
 * this one has by itself. */
static enum belfry_status check_offered(const struct belfry_policies *p, struct belfry_error *err)
{
	const struct {
		bool is_asked;
		const char *pointer;
		const char *offered;
	} rows[] = {
			{p->missed != BELFRY_MISSED_SKIP, "/policies/missed/policy", "\"skip\""},
			{p->overlap != BELFRY_OVERLAP_ALLOW, "/policies/overlap", "\"allow\""},
			{p->on_exhausted != BELFRY_EXHAUSTED_KEEP, "/policies/on_exhausted",
					"\"keep\""},
			{p->disable_after != 0, "/policies/on_failure/disable_after", "null"},
			{p->deadline != 0, "/policies/deadline", "null"},
			{p->missed_max_age != 0 && p->missed_max_age != BELFRY_HOUR,
					"/policies/missed/max_age", "PT1H"},
			{p->missed_max_count != 0 && p->missed_max_count != 10,
					"/policies/missed/max_count", "10"},
			{p->session_timeout != BELFRY_DAY, "/policies/session_timeout", "P1D"},
	};
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (rows[i].is_asked) {
			return bf_error_at(err, BELFRY_INVALID, rows[i].pointer,
					"%s: this version offers %s alone", rows[i].pointer + 1,
					rows[i].offered);
		}
	}
	return BELFRY_OK;
}

enum belfry_status bf_policies_check(const struct belfry_policies *policies,
		struct belfry_error *err)
{
	enum belfry_status status = check_durations(policies, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (policies->max_attempts < 1 || policies->max_attempts > 1000) {
		return bf_error_at(err, BELFRY_INVALID, "/policies/retry/max_attempts",
				"policies/retry/max_attempts: a number from 1 to 1000 is needed");
	}
	if (policies->max_delay < policies->first_delay) {
		return bf_error_at(err, BELFRY_INVALID, "/policies/retry/max_delay",
				"policies/retry/max_delay: it may not be shorter than first_delay");
	}
	status = check_lists(policies, err);
	return status == BELFRY_OK ? check_offered(policies, err) : status;
}

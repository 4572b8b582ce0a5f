/* Shared calendars: named lists of exceptions that rules refer to, kept by the host in the documents of
 * the store. A calendar's revision is its document's etag, and is never used again for another calendar of
 * its name.
 *
 * A change is planned like an edit of every deployment that uses it. Order: a mark that the calendar
 * changes, the calendar under its new revision, then one user after another (record under a new
 * revision, apply), then the mark goes. Whoever dies in between leaves the mark, and the next reconcile
 * finishes (calendar_plan.c).
 *
 * Answers    BELFRY_NOT_FOUND, BELFRY_PRECONDITION (another revision than the one named, or there is one
 *            already), BELFRY_CONFLICT (it is in use, or a user would have no due time left), refusals of
 *            the content with the pointer.
 * Ownership  JSON that is handed out is the caller's. */
#ifndef BF_HOST_CALENDARS_H
#define BF_HOST_CALENDARS_H

#include "base/json.h"
#include "host/calendar_rule.h"
#include "host/host.h"

#define BF_CALENDAR_ITEMS             1000
#define BF_CALENDAR_DESCRIPTION_BYTES 500

struct bf_calendar_view {
	json_t *json;
	int64_t revision;
	bool is_new;
};

struct bf_calendar_query {
	struct belfry_str cursor; /* of an earlier answer; empty: from the beginning */
	int64_t limit;            /* clamped to 1..200 */
	struct belfry_str q;      /* prefix of the name */
};

/* {"items": [...], "next_cursor": ...}, by name, without their content. */
BF_MUST_CHECK enum belfry_status bf_calendars_list(struct bf_host *host,
		const struct bf_calendar_query *query, json_t **ret_list, struct belfry_error *err);

BF_MUST_CHECK enum belfry_status bf_calendars_show(struct bf_host *host, struct belfry_str name,
		struct bf_calendar_view *ret_view, struct belfry_error *err);

/* The present revision. BELFRY_OK or BELFRY_NOT_FOUND. */
BF_MUST_CHECK enum belfry_status bf_calendars_get_revision(struct bf_host *host,
		struct belfry_str name, int64_t *ret_revision, struct belfry_error *err);

/* What the calendar must be for a change to be made. */
struct bf_calendar_match {
	int64_t revision;  /* 0: whatever it is */
	bool is_needed;    /* it must be there */
	bool is_forbidden; /* it must not */
};

/* Makes it, or gives it new content; equal content changes nothing. The answer says how many deployments
 * were planned anew; those that are left are planned soon, by bf_host_tend. */
BF_MUST_CHECK enum belfry_status bf_calendars_put(struct bf_host *host, struct belfry_str name,
		const struct bf_calendar_match *match, const json_t *body,
		struct bf_calendar_view *ret_view, struct belfry_error *err);

BF_MUST_CHECK enum belfry_status bf_calendars_remove(struct bf_host *host, struct belfry_str name,
		int64_t revision, struct belfry_error *err);

#endif

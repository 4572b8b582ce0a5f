/* Deployments: records in the documents of the store, and the provider told of each change.
 *
 * A deployment's revision is its record's etag. Order of a change: record (revision + 1), then
 * apply; an apply that fails puts the old content back under a NEW revision, and applies that
 * (contract.md, T071, T090). A crash between the two is healed by the next reconcile, which goes
 * by the records. A removal marks the record first: from then on the deployment is not found, and
 * its name is free.
 *
 * Answers    BELFRY_NOT_FOUND (always with the same words), BELFRY_PRECONDITION (another revision
 *            than the one named), BELFRY_CONFLICT (a name that is taken; somebody else's change in
 *            between), refusals of the content with pointer and position,
 *            BELFRY_TARGET_NOT_ALLOWED, and what a provider answers.
 * Ownership  JSON that is handed out is the caller's. */
#ifndef BF_HOST_DEPLOYMENTS_H
#define BF_HOST_DEPLOYMENTS_H

#include "base/json.h"
#include "host/host.h"

/* The answer to most calls: the shape of the API, and the id and revision for Location and ETag. */
struct bf_deployment_view {
	json_t *json;
	char id[BELFRY_ID_TEXT_BYTES];
	int64_t revision;
};

/* `body` is the content (shared). */
BF_MUST_CHECK enum belfry_status bf_deployments_create(struct bf_host *host, json_t *body,
		struct bf_deployment_view *ret_view, struct belfry_error *err);

BF_MUST_CHECK enum belfry_status bf_deployments_show(struct bf_host *host, struct belfry_str id,
		struct bf_deployment_view *ret_view, struct belfry_error *err);

/* BELFRY_OK or BELFRY_NOT_FOUND: is there such a deployment? */
BF_MUST_CHECK enum belfry_status bf_deployments_check_id(struct bf_host *host, struct belfry_str id,
		struct belfry_error *err);

/* The present revision. BELFRY_OK or BELFRY_NOT_FOUND. */
BF_MUST_CHECK enum belfry_status bf_deployments_get_revision(struct bf_host *host,
		struct belfry_str id, int64_t *ret_revision, struct belfry_error *err);

struct bf_deployment_query {
	struct belfry_str cursor; /* of an earlier answer; empty: from the beginning */
	int64_t limit;            /* clamped to 1..200 */
	struct belfry_str q;      /* prefix of the name */
	struct belfry_str name;   /* exactly this one, where it is not empty */
	bool is_enabled_asked;
	bool is_enabled;
	struct belfry_str label_name; /* empty: whatever the labels */
	struct belfry_str label_value;
};

/* {"items": [...], "next_cursor": ...}, by name. A page may hold fewer than the limit, and with a
 * label none, and more may follow all the same. BELFRY_INVALID: the cursor is none of ours. */
BF_MUST_CHECK enum belfry_status bf_deployments_list(struct bf_host *host,
		const struct bf_deployment_query *query, json_t **ret_list,
		struct belfry_error *err);

/* Changes need the present revision, or 0 for whatever it is. `patch`: RFC 7396. */
BF_MUST_CHECK enum belfry_status bf_deployments_edit(struct bf_host *host, struct belfry_str id,
		int64_t revision, const json_t *patch, struct bf_deployment_view *ret_view,
		struct belfry_error *err);

/* `body` is the whole new content, and what it does not name gets its default; but `enabled`, which then
 * stays as it is. */
BF_MUST_CHECK enum belfry_status bf_deployments_replace(struct bf_host *host, struct belfry_str id,
		int64_t revision, const json_t *body, struct bf_deployment_view *ret_view,
		struct belfry_error *err);

/* Answers after the provider has: a disabled deployment starts no scheduled Run from then on.
 * `reason`: shown with a disabled one; may be empty, at most BF_DEPLOYMENT_REASON_BYTES. */
BF_MUST_CHECK enum belfry_status bf_deployments_enable(struct bf_host *host, struct belfry_str id,
		int64_t revision, bool is_enabled, struct belfry_str reason,
		struct bf_deployment_view *ret_view, struct belfry_error *err);

/* Runs stay. The provider's failure is answered, and the deployment is gone all the same: the next
 * reconcile finishes the removal, or the same call again (its revision is not looked at any
 * more). */
BF_MUST_CHECK enum belfry_status bf_deployments_remove(struct bf_host *host, struct belfry_str id,
		int64_t revision, struct belfry_error *err);

#endif

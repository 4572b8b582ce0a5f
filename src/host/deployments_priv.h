/* Between the files of deployments. */
#ifndef BF_HOST_DEPLOYMENTS_PRIV_H
#define BF_HOST_DEPLOYMENTS_PRIV_H

#include "host/deployment.h"
#include "host/deployments.h"

/* The answer to a change that has taken place: where the provider cannot say what comes next, the
 * calendar does, so that a change that was made is not answered with a failure. BELFRY_OK or
 * BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_deployment_view_changed(struct bf_host *host,
		const struct bf_deployment *deployment, struct bf_deployment_view *ret_view,
		struct belfry_error *err);

/* What needs more than the content: the rule, which is expanded here where it names shared calendars, the
 * list of what is allowed, the size. Whoever saves it holds bf_calendars_hold from here until then. */
struct bf_calendar_overlay;
BF_MUST_CHECK enum belfry_status bf_deployment_check(struct bf_host *host,
		const struct bf_calendar_overlay *overlay, struct bf_deployment *deployment,
		struct belfry_error *err);

/* Hands it to the provider as its record is. */
BF_MUST_CHECK enum belfry_status bf_deployment_apply(struct bf_host *host,
		const struct bf_deployment *deployment, struct belfry_error *err);

/* The body as the whole content. Where it does not say `enabled`, it stays as in `old` (NULL: there is
 * none, and the default holds). */
BF_MUST_CHECK enum belfry_status bf_deployment_read_whole(struct bf_host *host,
		const struct bf_deployment *old, const json_t *body,
		struct bf_deployment *ret_changed, struct belfry_error *err);

/* `named`: 0 for whatever it is. BELFRY_OK or BELFRY_PRECONDITION. */
BF_MUST_CHECK enum belfry_status bf_revision_check(int64_t present, int64_t named,
		struct belfry_error *err);

/* What is left to do for a record that is marked as one that goes (removal.c): the provider, then the
 * record. `revision`: the mark's. What the provider answers; a record that cannot be removed now is
 * logged, and left to the next reconcile. */
BF_MUST_CHECK enum belfry_status bf_removal_finish(struct bf_host *host, struct belfry_str id,
		int64_t revision, struct belfry_error *err);

#endif

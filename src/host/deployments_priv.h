/* Between the two files of deployments. */
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

#endif

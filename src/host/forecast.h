/* The load of the enabled deployments over the coming hours, its peaks, and a proposal that halves them. */
#ifndef BF_HOST_FORECAST_H
#define BF_HOST_FORECAST_H

#include "base/json.h"
#include "host/host.h"

#define BF_FORECAST_HOURS_DEFAULT 24
#define BF_FORECAST_HOURS_MAX     168

struct bf_forecast_query {
	belfry_time from;             /* exact; minutes are counted from the one it lies in */
	int64_t hours;                /* 1 to BF_FORECAST_HOURS_MAX */
	belfry_duration bucket;       /* whole minutes, a day at most */
	struct belfry_str q;          /* prefix of the name */
	struct belfry_str label_name; /* empty: whatever the labels */
	struct belfry_str label_value;
};

/* interface.md, GET /v1/forecast; *ret_answer is owned by the caller. Takes a few seconds at most: where there
 * are more deployments than can be counted in them, the answer says how many were. BELFRY_INVALID (a value
 * out of its range), BELFRY_NOMEM, what the store answers. Blocks for reading, page by page. */
BF_MUST_CHECK enum belfry_status bf_forecast(struct bf_host *host,
		const struct bf_forecast_query *query, json_t **ret_answer,
		struct belfry_error *err);

#endif

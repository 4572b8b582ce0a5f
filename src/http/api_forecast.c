/* The route of the forecast: its parameters and their defaults. */
#include "base/error.h"
#include "host/forecast.h"
#include "http/api_priv.h"

enum belfry_status bf_api_forecast(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const names[] = {"from", "hours", "bucket", "q", "label", NULL};
	const struct bf_env *env = bf_host_env(call->host);
	struct bf_forecast_query query = {
			.from = env->wall(env->data),
			.hours = BF_FORECAST_HOURS_DEFAULT,
			.bucket = BELFRY_MINUTE,
			.q = bf_api_text(call, "q"),
	};
	json_t *answer = NULL;

	enum belfry_status status = bf_api_check_parameters(call, names, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_time(call, "from", &query.from, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_int(call, "hours", &query.hours, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_duration(call, "bucket", &query.bucket, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_label(call, &query.label_name, &query.label_value, err);
	}
	if (status == BELFRY_OK) {
		status = bf_forecast(call->host, &query, &answer, err);
	}
	return status == BELFRY_OK ? bf_api_answer(call, 200, &answer, err) : status;
}

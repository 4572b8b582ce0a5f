/* /metrics as OpenMetrics text (openmetrics.io, version 1.0.0), with the names of interface.md.
 * Where the provider cannot say how it is, belfry_store_up is 0 and the rest is left out, so that
 * nothing stands still in a graph that is not known. */
#include "base/error.h"
#include "host/runs.h"
#include "http/api_priv.h"

#define CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

static void append_head(struct bf_buf *out, const char *name, const char *type, const char *help)
{
	bf_buf_appendf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

/* Microseconds as seconds, exactly: no floating point. "0.0", "2.5", "-0.0015". */
static void append_seconds(struct bf_buf *out, int64_t us)
{
	uint64_t size = us < 0 ? (uint64_t)0 - (uint64_t)us : (uint64_t)us;
	uint64_t second = (uint64_t)BELFRY_SECOND;
	unsigned long long rest = size % second;
	int digits = 6;

	for (; digits > 1 && rest % 10 == 0; digits--) {
		rest /= 10;
	}
	bf_buf_appendf(out, "%s%llu.%0*llu", us < 0 ? "-" : "", (unsigned long long)(size / second),
			digits, rest);
}

static void append_due_times(struct bf_buf *out, const struct belfry_provider_metrics *m)
{
	static const char *const names[BELFRY_DUE_OUTCOME_COUNT] = {
			[BELFRY_DUE_RUN] = "run",
			[BELFRY_DUE_MISSED] = "missed",
			[BELFRY_DUE_DISABLED] = "disabled",
	};

	append_head(out, "belfry_due_times", "counter", "Due times that were decided.");
	for (size_t i = 0; i < BF_COUNT(names); i++) {
		bf_buf_appendf(out, "belfry_due_times_total{outcome=\"%s\"} %lld\n", names[i],
				(long long)m->due_times[i]);
	}
}

static void append_runs(struct bf_buf *out, const struct belfry_provider_metrics *m)
{
	append_head(out, "belfry_runs", "counter", "Runs that have ended.");
	for (unsigned trigger = 0; trigger < BELFRY_TRIGGER_COUNT; trigger++) {
		for (unsigned status = 0; status < BELFRY_RUN_STATUS_COUNT; status++) {
			if (!belfry_run_status_is_terminal((enum belfry_run_status)status)) {
				continue;
			}
			bf_buf_appendf(out,
					"belfry_runs_total{trigger=\"%s\",status=\"%s\"} %lld\n",
					belfry_trigger_name((enum belfry_trigger)trigger),
					belfry_run_status_name((enum belfry_run_status)status),
					(long long)m->runs[trigger][status]);
		}
	}
}

static void append_lateness(struct bf_buf *out, const struct belfry_provider_metrics *m)
{
	static const int64_t bounds[BELFRY_LATENESS_BUCKETS - 1] = BELFRY_LATENESS_BOUNDS;
	int64_t below = 0;

	append_head(out, "belfry_start_lateness_seconds", "histogram",
			"Time from a Run's ready time to its start.");
	for (size_t i = 0; i < BF_COUNT(bounds); i++) {
		below += m->lateness[i];
		bf_buf_append_text(out, "belfry_start_lateness_seconds_bucket{le=\"");
		append_seconds(out, bounds[i]);
		bf_buf_appendf(out, "\"} %lld\n", (long long)below);
	}
	below += m->lateness[BELFRY_LATENESS_BUCKETS - 1];
	bf_buf_appendf(out,
			"belfry_start_lateness_seconds_bucket{le=\"+Inf\"} %lld\n"
			"belfry_start_lateness_seconds_count %lld\n"
			"belfry_start_lateness_seconds_sum ",
			(long long)below, (long long)below);
	append_seconds(out, m->lateness_sum_us);
	bf_buf_append_byte(out, '\n');
}

static void append_open(struct bf_buf *out, const struct belfry_provider_metrics *m)
{
	static const enum belfry_run_state states[] = {BELFRY_RUN_QUEUED, BELFRY_RUN_DELAYED,
			BELFRY_RUN_DISPATCHING};

	append_head(out, "belfry_runs_open", "gauge",
			"Runs that have not ended, by dispatch state.");
	for (size_t i = 0; i < BF_COUNT(states); i++) {
		bf_buf_appendf(out, "belfry_runs_open{state=\"%s\"} %lld\n",
				belfry_run_state_name(states[i]), (long long)m->open[states[i]]);
	}
}

static void append_gauge_seconds(struct bf_buf *out, const char *name, const char *help, int64_t us)
{
	append_head(out, name, "gauge", help);
	bf_buf_appendf(out, "%s ", name);
	append_seconds(out, us);
	bf_buf_append_byte(out, '\n');
}

static void append_steps(struct bf_buf *out, const struct belfry_provider_metrics *m)
{
	static const char *const names[] = {"planner", "dispatcher", "keeper"};

	append_head(out, "belfry_step_last_seconds", "gauge",
			"Time since the last step that succeeded.");
	for (size_t i = 0; i < BF_COUNT(names); i++) {
		bf_buf_appendf(out, "belfry_step_last_seconds{step=\"%s\"} ", names[i]);
		append_seconds(out, m->step_age[i]);
		bf_buf_append_byte(out, '\n');
	}
}

static void append_known(struct bf_buf *out, const struct belfry_provider_metrics *m,
		belfry_time now)
{
	belfry_duration waited = m->oldest_queued != 0 ? BF_MAX(now - m->oldest_queued, 0) : 0;

	append_due_times(out, m);
	append_runs(out, m);
	append_lateness(out, m);
	append_open(out, m);
	append_gauge_seconds(out, "belfry_oldest_queued_seconds",
			"How long the oldest Run that could start has waited.", waited);
	append_steps(out, m);
	append_gauge_seconds(out, "belfry_clock_offset_seconds",
			"The store's clock minus this machine's.", m->clock_offset);
	append_head(out, "belfry_takeovers", "counter",
			"Runs that were taken over from a process that had ended.");
	bf_buf_appendf(out, "belfry_takeovers_total %lld\n", (long long)m->takeovers);
}

static void append_build(struct bf_buf *out, const struct bf_host *host)
{
	append_head(out, "belfry_build", "info", "This program.");
	bf_buf_appendf(out, "belfry_build_info{version=\"%s\",tz_version=\"%s\"} 1\n",
			bf_host_version(host), bf_host_tz_version(host));
}

enum belfry_status bf_api_show_metrics(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const no_parameters[] = {NULL};
	const struct bf_env *env = bf_host_env(call->host);
	struct belfry_provider_metrics m = {.size = sizeof(m)};
	struct bf_buf *out = &call->response.body;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bool is_known = bf_host_get_metrics(call->host, &m, NULL) == BELFRY_OK;
	if (is_known) {
		append_known(out, &m, env->wall(env->data));
	}
	append_head(out, "belfry_store_up", "gauge", "1 while the store answers.");
	bf_buf_appendf(out, "belfry_store_up %d\n", is_known && m.is_store_up ? 1 : 0);
	append_build(out, call->host);
	bf_buf_append_text(out, "# EOF\n");
	call->response.status = 200;
	call->response.content_type = CONTENT_TYPE;
	return bf_buf_status(out) == BELFRY_OK ? BELFRY_OK : bf_api_no_memory(err);
}

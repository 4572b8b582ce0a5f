/* Is the host ready? Asked by /readyz and by a watchdog. Pure reading of the provider's metrics;
 * the log gets a line when the answer changes, not each time somebody asks. */
#include "host/backend.h"
#include "host/host_priv.h"
#include "host/runs.h"

/* A step that has stood still for so many leases is a fault. */
#define LEASES_STOOD_STILL 3

enum fault {
	FAULT_NOT_STARTED,
	FAULT_UNKNOWN,
	FAULT_STORE,
	FAULT_PLANNER,
	FAULT_DISPATCHER,
	FAULT_KEEPER,
	FAULT_COUNT
};

static const char *const texts[FAULT_COUNT] = {
		[FAULT_NOT_STARTED] = "the scheduler is not started",
		[FAULT_UNKNOWN] = "the scheduler does not say how it is",
		[FAULT_STORE] = "the store does not answer",
		[FAULT_PLANNER] = "the planner has stood still for three leases",
		[FAULT_DISPATCHER] = "the dispatcher has stood still for three leases",
		[FAULT_KEEPER] = "the keeper has stood still for three leases",
};

enum belfry_status bf_host_get_metrics(struct bf_host *host,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	return belfry_scheduler_metrics(host->options.scheduler, ret_metrics, err);
}

static unsigned bit_of(enum fault fault, bool is_so)
{
	return is_so ? 1u << fault : 0;
}

static unsigned find_faults(struct bf_host *host)
{
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};
	unsigned faults = bit_of(FAULT_NOT_STARTED, !atomic_load(&host->is_started));
	enum belfry_status status = bf_host_get_metrics(host, &metrics, NULL);

	if (status == BELFRY_CANNOT) {
		return faults;
	}
	if (status != BELFRY_OK) {
		return faults | bit_of(FAULT_UNKNOWN, true);
	}
	faults |= bit_of(FAULT_NOT_STARTED, !metrics.is_started);
	faults |= bit_of(FAULT_STORE, !metrics.is_store_up);
	belfry_duration limit = LEASES_STOOD_STILL * metrics.lease;
	for (unsigned step = 0; step < BF_COUNT(metrics.step_age); step++) {
		faults |= bit_of((enum fault)(FAULT_PLANNER + step),
				metrics.is_started && metrics.step_age[step] > limit);
	}
	return faults;
}

static void log_change(struct bf_host *host, unsigned faults)
{
	if (atomic_exchange(&host->logged_faults, faults) == faults) {
		return;
	}
	if (faults == 0) {
		bf_log(host->options.env, BF_LOG_INFO, "event=ready");
	}
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		if ((faults & 1u << i) != 0) {
			/* Every host is not started at first: that is no error yet. */
			bf_log(host->options.env,
					i == FAULT_NOT_STARTED ? BF_LOG_INFO : BF_LOG_ERROR,
					"event=not_ready reason=\"%s\"", texts[i]);
		}
	}
}

size_t bf_host_list_faults(struct bf_host *host, const char *ret_reasons[BF_HOST_FAULTS])
{
	unsigned faults = find_faults(host);
	size_t count = 0;

	log_change(host, faults);
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		if ((faults & 1u << i) != 0) {
			ret_reasons[count++] = texts[i];
		}
	}
	return count;
}

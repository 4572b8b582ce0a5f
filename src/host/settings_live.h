/* Settings that are changed while the host runs: durable, and in force at once or from the next start on. */
#ifndef BF_HOST_SETTINGS_LIVE_H
#define BF_HOST_SETTINGS_LIVE_H

#include "base/json.h"
#include "host/host.h"

/* Before the host is made: lays what was changed earlier over the settings of this start. BELFRY_OK, also
 * where something stored had to be left out (it is logged); else what the store answers. */
BF_MUST_CHECK enum belfry_status bf_settings_load(struct bf_settings *settings,
		struct bf_store *store, const struct bf_env *env, struct belfry_error *err);

/* The shape of GET /v1/settings, owned by the caller. BELFRY_OK or BELFRY_NOMEM. Any thread. */
BF_MUST_CHECK enum belfry_status bf_host_write_settings(struct bf_host *host, json_t **ret_object,
		struct belfry_error *err);

/* All of `changes` (settings.h, bf_settings_change) or none. Stored when it answers. BELFRY_INVALID,
 * BELFRY_CONFLICT, and what the store answers. Any thread. */
BF_MUST_CHECK enum belfry_status bf_host_change_settings(struct bf_host *host,
		const json_t *changes, struct belfry_error *err);

#endif

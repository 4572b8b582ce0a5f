/* The host's settings: names, defaults and ranges of interface.md, in one table (settings.c).
 *
 * Values come from the environment (BELFRY_ and the name in capitals), or were changed over the API and
 * are kept in a document of the store (settings_live.c). From the strongest: environment, API, default.
 * A setting that a later version carries out is known, shown with its default, and refused by name where
 * somebody gives another value.
 *
 * Threads  plain values; one that is shared is the owner's to guard. */
#ifndef BF_HOST_SETTINGS_H
#define BF_HOST_SETTINGS_H

#include <belfry/provider.h>

#include "base/compiler.h"
#include "base/json.h"

/* Where a value comes from; the names are those of the API. */
enum bf_setting_source { BF_SETTING_DEFAULT, BF_SETTING_ENVIRONMENT, BF_SETTING_API };

#define BF_SETTINGS_MAX 32

struct bf_settings {
	unsigned char sources[BF_SETTINGS_MAX]; /* by place in the table */
	int64_t processors;                     /* default of exec_concurrent */
	int64_t enabled;                        /* 1: the global switch is on */
	int64_t max_concurrent;
	int64_t exec_concurrent;
	int64_t per_host;
	int64_t tick_seconds;
	belfry_duration lease;
	belfry_duration beat;
	belfry_duration grace; /* of deployments that name none */
	belfry_duration stop_time;
	belfry_duration keep_age;
	int64_t keep_runs;
	belfry_duration keep_failed_age;
	int64_t output_limit; /* bytes kept of a Run's output */
	int64_t answer_limit; /* bytes read of a webhook's answer */
	belfry_duration audit_age;
	int64_t streams_per_token;
	int64_t streams;
	int64_t max_active_schedules; /* 0: no ceiling */
	int64_t recovery_limit;
	belfry_duration zones_check; /* between looks whether the tz database is another */
};

/* The defaults. `processors`: of this machine, for exec_concurrent; 0 reads as 1. */
void bf_settings_init(struct bf_settings *settings, int64_t processors);

/* One value. BELFRY_OK; BELFRY_INVALID names the setting and what is right (also an unknown
 * one). */
BF_MUST_CHECK enum belfry_status bf_settings_set(struct bf_settings *settings,
		struct belfry_str name, struct belfry_str text, struct belfry_error *err);

/* Every BELFRY_NAME=TEXT of `environment` (ended by NULL) whose NAME is a setting. One that is neither
 * a setting nor anything else that Belfry reads is refused: BELFRY_INVALID, and the message names the
 * variable and the nearest setting. Variables without BELFRY_ are somebody else's. */
BF_MUST_CHECK enum belfry_status bf_settings_read_environment(struct bf_settings *settings,
		const char *const *environment, struct belfry_error *err);

/* What no single value shows: a lease needs several beats. BELFRY_OK or BELFRY_INVALID. */
BF_MUST_CHECK enum belfry_status bf_settings_check(const struct bf_settings *settings,
		struct belfry_error *err);

/* Lays `changes` ({"NAME": value}, null: the default again) over the settings, as coming from the API.
 * BELFRY_INVALID with the pointer: no such setting, none of this version, or not its value;
 * BELFRY_CONFLICT: the environment gives it. Then some may be changed and others not. */
BF_MUST_CHECK enum belfry_status bf_settings_change(struct bf_settings *settings,
		const json_t *changes, struct belfry_error *err);

/* Carries over those that hold at once. */
void bf_settings_take_live(struct bf_settings *settings, const struct bf_settings *next);

/* The shape of GET /v1/settings, owned by the caller. `next`: what holds from the next start on. BELFRY_OK
 * or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_settings_write(const struct bf_settings *settings,
		const struct bf_settings *next, json_t **ret_object);

/* Lays the settings that concern a provider over its options. */
void bf_settings_fill_provider(const struct bf_settings *settings,
		struct belfry_provider_options *options);

#endif

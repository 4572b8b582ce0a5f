/* The host: the application that owns deployments, decides what is allowed, and starts the work of
 * Runs. It stands on a scheduler (which makes and dispatches Runs, by whatever provider) and on the
 * documents of a store (which keep the records), and is the handler that the provider calls.
 *
 * Life       new -> start -> (requests) -> stop -> free. Changes and questions are taken at any
 *            time between new and free; nothing is dispatched before start. At the end: stop, free
 *            the webhook (its open calls end, and are told to the host), free the host, then close
 *            the scheduler.
 * Threads    everything but new, start, stop and free may be called from any thread, and blocks for
 *            as long as the seams do. */
#ifndef BF_HOST_HOST_H
#define BF_HOST_HOST_H

#include <belfry/calendar.h>
#include <belfry/scheduler.h>

#include "base/compiler.h"
#include "base/env.h"
#include "host/settings.h"
#include "host/targets/allow.h"
#include "host/targets/webhook.h"

struct bf_events; /* host/events.h */
struct bf_host;
struct bf_store; /* store/store.h */

/* What commands need (the target `exec`). */
struct bf_host_exec {
	const char *data_folder;     /* absolute: of Sessions and of what supervisors write */
	const char *const *programs; /* that are allowed (--allow-exec) */
	size_t program_count;
	const struct bf_secrets *secrets;
	const char *supervisor; /* the program; NULL: this one (exec_supervisor.h) */
};

struct bf_host_options {
	size_t size;
	const struct bf_env *env;           /* borrowed until free, like all that follows */
	struct belfry_scheduler *scheduler; /* opened, not started */
	struct bf_store *store;             /* for its documents; open and migrated */
	struct belfry_zones *zones;
	struct bf_webhook *webhook;         /* NULL: this host calls no target, Runs fail */
	const struct bf_allow_list *allow;  /* NULL: public addresses alone */
	const struct bf_host_exec *exec;    /* itself copied; NULL: no command is run */
	const struct bf_settings *settings; /* copied */
	const char *version;                /* copied: of this program, for metrics */
	struct bf_events *events;           /* told of each change; NULL: nobody is */
};

/* BELFRY_OK; BELFRY_CONFIGURATION (the store keeps no documents); BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_host_new(const struct bf_host_options *options,
		struct bf_host **ret_host, struct belfry_error *err);
/* Stops first where stop was not called. NULL is allowed. */
void bf_host_free(struct bf_host *host);

/* Brings the provider to what the records say, and starts it. A failure means that the host must
 * not start (contract.md, B22); the message says why. A second call changes nothing. */
BF_MUST_CHECK enum belfry_status bf_host_start(struct bf_host *host, struct belfry_error *err);

/* The same reconciliation again, now: heals what a crash between a record and its apply left. */
BF_MUST_CHECK enum belfry_status bf_host_reconcile(struct bf_host *host, struct belfry_error *err);

#define BF_HOST_RECONCILE_EVERY (5 * BELFRY_MINUTE)

/* What is to be done by the clock, for whoever has a loop: to be called every second or so, by one thread.
 * Reconciles when the time has come, and at once where a change could not be finished; a failure is logged,
 * and tried again after a wait that doubles. Looks whether the tz database on disk has changed, and takes over
 * the newer one. is_asked: both now, whatever the clock says. May block for as long
 * as the seams do. */
void bf_host_tend(struct bf_host *host, bool is_asked);
/* Something was left over: the next tend reconciles. Any thread, never blocks. */
void bf_host_reconcile_soon(struct bf_host *host);

/* Drains for the setting stop_time, and ends the provider. BELFRY_BUSY: calls were still open;
 * their Runs go on at the next start. */
enum belfry_status bf_host_stop(struct bf_host *host, struct belfry_error *err);

const char *bf_host_version(const struct bf_host *host);
const char *bf_host_tz_version(const struct bf_host *host); /* of its zones */
const struct bf_env *bf_host_env(const struct bf_host *host);

#endif

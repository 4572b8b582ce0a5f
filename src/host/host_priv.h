/* The host's inside, for the files of this folder alone. */
#ifndef BF_HOST_HOST_PRIV_H
#define BF_HOST_HOST_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "host/deployment.h"
#include "host/host.h"
#include "host/outputs.h"
#include "host/refusals.h"
#include "host/targets/exec.h"

/* Changes of one deployment go one after another; of different ones at once (a lock for each of
 * these by a hash of the id). What other processes do is seen by the record's etag. */
#define BF_HOST_LOCKS 32

struct bf_host {
	struct bf_host_options options;
	struct bf_settings settings;      /* grace and stop_time change: settings_live.c */
	struct bf_settings next_settings; /* of the next start */
	char *version;                    /* owned */
	struct belfry_handler handler;
	struct bf_outputs *outputs; /* owned */
	struct bf_exec_allowed allowed;
	struct bf_exec *exec; /* owned; NULL: none is run */
	pthread_mutex_t locks[BF_HOST_LOCKS];
	pthread_mutex_t settings_lock;
	pthread_mutex_t settings_change_lock;  /* taken before settings_lock */
	pthread_rwlock_t calendars_lock;       /* calendar_users.c */
	atomic_ullong calendars_named;         /* bits of names: bf_calendar_watch */
	pthread_mutex_t calendars_change_lock; /* of calendars; taken before any but the next */
	pthread_mutex_t reconcile_lock; /* one reconciliation at a time; taken before any other */
	struct bf_refusals refusals;
	struct {                        /* tend.c; but for left_over, of the thread that tends */
		struct bf_boot_time at; /* the next reconciliation */
		unsigned failures;      /* of it, in a row */
		atomic_bool left_over;
		struct bf_boot_time zones_at; /* the next look at the tz database */
		bool is_zones_away;           /* the last look failed */
	} tend;
	atomic_bool is_started;
	atomic_uint logged_faults; /* of readiness: which ones the log has (bits) */
};

/* Takes the lock of this id. For BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL; */
void bf_host_lock(struct bf_host *host, struct belfry_str id, pthread_mutex_t **ret_lock);

static inline void bf_host_unlock(pthread_mutex_t **lock)
{
	if (*lock != NULL) {
		(void)pthread_mutex_unlock(*lock); /* ours: cannot fail */
	}
}

/* Settings that change while it runs (settings_live.c). */
belfry_duration bf_host_grace(struct bf_host *host);
belfry_duration bf_host_stop_time(struct bf_host *host);

/* --- records (record.c) --- */

/* A record that is marked as one that goes (removal.c) is not found by anything but
 * bf_record_get_stage; its name is free. */

/* The one refusal of an id that names nothing. */
enum belfry_status bf_record_not_found(struct belfry_error *err);

/* The document itself, in the arena. BELFRY_NOT_FOUND with the one text. */
BF_MUST_CHECK enum belfry_status bf_record_get(struct bf_host *host, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err);
/* BELFRY_NOT_FOUND with the one text; BELFRY_CORRUPT (detail names the id). */
BF_MUST_CHECK enum belfry_status bf_record_load(struct bf_host *host, struct belfry_str id,
		struct bf_deployment *ret_deployment, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_record_decode(struct bf_host *host,
		const struct belfry_document *document, struct bf_deployment *ret_deployment,
		struct belfry_error *err);
/* The present revision, without reading the content. */
BF_MUST_CHECK enum belfry_status bf_record_get_revision(struct bf_host *host, struct belfry_str id,
		int64_t *ret_revision, struct belfry_error *err);
/* The same, also of a record that is marked. */
BF_MUST_CHECK enum belfry_status bf_record_get_stage(struct bf_host *host, struct belfry_str id,
		int64_t *ret_revision, bool *ret_is_marked, struct belfry_error *err);
/* Marks the record, in one put: gives up its name and its content. *revision: the one that it must
 * have, then the mark's. BELFRY_PRECONDITION: it has another one, or is gone. */
BF_MUST_CHECK enum belfry_status bf_record_mark(struct bf_host *host, struct belfry_str id,
		int64_t *revision, struct belfry_error *err);
/* Inserts (revision 0) or replaces: the record must have the deployment's revision; then revision
 * and times are those that were stored. BELFRY_PRECONDITION, BELFRY_CONFLICT (the name). */
BF_MUST_CHECK enum belfry_status bf_record_save(struct bf_host *host,
		struct bf_deployment *deployment, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_record_remove(struct bf_host *host, struct belfry_str id,
		int64_t revision, struct belfry_error *err);

#define BF_RECORD_KIND      "deployment"
#define BF_RECORD_F_ENABLED 1u
#define BF_RECORD_F_GOING   2u /* marked: it goes */
/* From the eighth bit on: the shared calendars that its rule names (bf_calendar_flags). */

/* --- by the clock (tend.c) --- */

void bf_host_tend_init(struct bf_host *host);

/* --- the handler (dispatch.c) --- */

void bf_dispatch_init(struct bf_host *host);
/* The turn of a target `exec` (dispatch_exec.c). `reply` is taken. */
void bf_dispatch_exec(struct bf_host *host, const struct bf_payload *payload,
		const struct belfry_invocation *invocation, struct belfry_reply *reply);

#endif

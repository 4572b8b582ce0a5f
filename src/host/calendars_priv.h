/* Between the files of shared calendars, and those of deployments, whose rules name them. */
#ifndef BF_HOST_CALENDARS_PRIV_H
#define BF_HOST_CALENDARS_PRIV_H

#include <pthread.h>

#include <belfry/documents.h>

#include "host/calendars.h"
#include "host/deployment.h"

/* --- one calendar (calendar_record.c) --- */

struct bf_calendar {
	json_t *content; /* owned; what the rest borrows from */
	char name[BF_CALENDAR_NAME_BYTES + 1];
	struct belfry_str description; /* may be empty */
	const json_t *except;
	int64_t revision; /* 0: not stored */
	belfry_time created_at;
	belfry_time updated_at;
};

void bf_calendar_fini(struct bf_calendar *calendar);

/* Is `stored` there, and has it the content of the other? */
bool bf_calendar_is_equal(const struct bf_calendar *stored, const struct bf_calendar *other);

/* Reads a body, or (is_stored) the bytes of a record; each item is checked as the calendar library reads
 * it. BELFRY_OK; BELFRY_INVALID, BELFRY_INVALID_SCHEDULE or BELFRY_TOO_LARGE with the pointer;
 * BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_calendar_read(struct bf_host *host, struct belfry_str name,
		const json_t *body, struct bf_calendar *ret_calendar, struct belfry_error *err);

BF_MUST_CHECK enum belfry_status bf_calendar_load(struct bf_host *host, struct belfry_str name,
		struct bf_calendar *ret_calendar, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_calendar_decode(const struct belfry_document *document,
		struct bf_calendar *ret_calendar, struct belfry_error *err);
/* Makes it (revision 0) or replaces the one of this revision. BELFRY_PRECONDITION, BELFRY_CONFLICT. */
BF_MUST_CHECK enum belfry_status bf_calendar_save(struct bf_host *host,
		struct bf_calendar *calendar, struct belfry_error *err);

/* Removes the one of this revision. BELFRY_PRECONDITION. */
BF_MUST_CHECK enum belfry_status bf_calendar_remove(struct bf_host *host, struct belfry_str name,
		int64_t revision, struct belfry_error *err);

#define BF_CALENDAR_KIND      "calendar"
#define BF_CALENDAR_F_GONE    1u                /* removed: what is left keeps its revision */
#define BF_CALENDAR_MARK_KIND "calendar-change" /* of the same id: the users are not all planned */

/* --- who uses them (calendar_users.c) --- */

/* Bits of a record's flags: it uses calendars, and for each of them one that its name gives, so that a
 * calendar's users are found without reading every record. `calendars` may be NULL. */
uint64_t bf_calendar_flags(const json_t *calendars);

/* Calendars as they would be; those that the store has are behind them. */
struct bf_calendar_overlay {
	const struct bf_calendar *items; /* borrowed; one without content is passed over */
	size_t count;
};

/* Reads what the overlay (NULL: none), or else the store has of the calendars that the rule names, and keeps
 * its expanded text in the deployment. The caller holds bf_calendars_hold from here until the record is
 * saved, or saves none.
 * Failures as bf_calendar_expand has them. */
BF_MUST_CHECK enum belfry_status bf_calendars_expand(struct bf_host *host,
		const struct bf_calendar_overlay *overlay, struct bf_deployment *deployment,
		struct belfry_error *err);

/* Changes of calendars go one after another, whichever they are: from here until BF_CLEANUP(bf_host_unlock)
 * pthread_mutex_t *lock = NULL ends. */
void bf_calendars_begin_change(struct bf_host *host, pthread_mutex_t **ret_lock);

/* While one of these is held no calendar changes. BF_CLEANUP(bf_calendars_release) struct bf_host *held =
 * NULL; *ret_held is the host. */
void bf_calendars_hold(struct bf_host *host, struct bf_host **ret_held);
void bf_calendars_release(struct bf_host **held);

#define BF_CALENDAR_LOOKED_AT 10000 /* records that may be users', for one request */

/* Goes through the records that have the bit of a name, in the order of ids. */
struct bf_calendar_walk {
	struct bf_host *host;
	struct belfry_str name;
	struct belfry_arena arenas[2]; /* by turns: a page's position lies in the one before it */
	unsigned turn;
	struct belfry_document_query page;
	size_t at;
	size_t looked_at;
	size_t max;  /* so many are looked at; 0: all */
	bool is_cut; /* there are more than that */
};

void bf_calendar_walk_init(struct bf_calendar_walk *walk, struct bf_host *host,
		struct belfry_str name);
void bf_calendar_walk_fini(struct bf_calendar_walk *walk);
/* An id of a record that may be a user's; borrowed until the next but one. BELFRY_NEVER: there is none, or
 * max is reached and there is one more (is_cut): with a higher max the walk goes on there. */
BF_MUST_CHECK enum belfry_status bf_calendar_walk_next(struct bf_calendar_walk *walk,
		struct belfry_str *ret_id, struct belfry_error *err);
/* The revision of the calendar that its record was made with; 0: it does not use it. */
int64_t bf_calendar_used_revision(const struct bf_deployment *deployment, struct belfry_str name);

#define BF_CALENDAR_NAMES 20 /* of users that an answer names */

struct bf_calendar_users {
	size_t max;   /* records that may be users', and are looked at */
	bool is_sure; /* where none of them is one, it looks further: a count of 0 is certain */
	/* answers */
	int64_t count;
	bool is_at_least; /* there may be more */
	json_t *names;    /* owned: of BF_CALENDAR_NAMES */
	size_t looked_at;
};

/* BELFRY_OK, or what the store answers. The answers are filled in any case. */
BF_MUST_CHECK enum belfry_status bf_calendar_find_users(struct bf_host *host,
		struct belfry_str name, struct bf_calendar_users *users, struct belfry_error *err);

/* Has a rule been expanded with this name since the last bf_calendar_watch? It may be, where only a name with
 * the same bit was. Both while no rule is between its expansion and its record. */
void bf_calendar_watch(struct bf_host *host, struct belfry_str name);
bool bf_calendar_was_named(struct bf_host *host, struct belfry_str name);

/* Would each user still fire with the new content? BELFRY_OK; BELFRY_CONFLICT names the first that would
 * not. */
BF_MUST_CHECK enum belfry_status bf_calendar_check_users(struct bf_host *host,
		const struct bf_calendar *changed, struct belfry_error *err);

/* --- what a change does to them (calendar_plan.c) --- */

/* Gives the users that have another revision of the calendar a record with its present one. */
struct bf_calendar_plan {
	struct belfry_str name;
	size_t max;           /* new records; 0: all */
	size_t max_looked_at; /* records; 0: all */
	bool is_handed_over;  /* to the provider too; else that is left to the reconcile */
	/* answers */
	size_t count;        /* of new records */
	size_t failed_count; /* users that have none, and should: logged */
	bool has_more;       /* a maximum was reached */
};

/* `revision`: the calendar's; the caller has begun a change. BELFRY_OK, whatever failed_count says; what the
 * store answers, and then nothing is lost: the mark stays. */
BF_MUST_CHECK enum belfry_status bf_calendar_plan_users(struct bf_host *host,
		struct bf_calendar_plan *plan, int64_t revision, struct belfry_error *err);

/* Says in the store that the users of a calendar are to be planned. *ret_etag: for unmark. */
BF_MUST_CHECK enum belfry_status bf_calendar_mark(struct bf_host *host, struct belfry_str name,
		int64_t *ret_etag, struct belfry_error *err);
/* *ret_etag: 0: there is no mark. */
BF_MUST_CHECK enum belfry_status bf_calendar_get_mark(struct bf_host *host, struct belfry_str name,
		int64_t *ret_etag, struct belfry_error *err);
/* All are planned; a mark that was renewed meanwhile stays. */
BF_MUST_CHECK enum belfry_status bf_calendar_unmark(struct bf_host *host, struct belfry_str name,
		int64_t etag, struct belfry_error *err);

/* Finishes every change that was left in between: its users get their records. `max`: about so many records
 * are looked at, the others by the next reconcile, which is told to come soon; 0: any number. What cannot
 * be finished is logged, and tried again. BELFRY_OK, or what the store answers where the marks cannot be
 * read. */
BF_MUST_CHECK enum belfry_status bf_calendars_finish(struct bf_host *host, size_t max,
		struct belfry_error *err);

#endif

/* Between the files of apply. */
#ifndef BF_HOST_APPLY_PRIV_H
#define BF_HOST_APPLY_PRIV_H

#include "host/calendars_priv.h"
#include "host/deployment.h"
#include "host/host.h"

enum bf_apply_outcome {
	BF_APPLY_CREATED,
	BF_APPLY_CHANGED,
	BF_APPLY_UNCHANGED,
	BF_APPLY_REFUSED,
	BF_APPLY_OUTCOME_COUNT
};

/* Does a failure speak of one item alone? */
bool bf_apply_is_of_item(enum belfry_status status);
/* {"code", "detail", "pointer", "position"}: owned by the caller; NULL: no memory. */
BF_MUST_CHECK json_t *bf_apply_new_error(const struct belfry_error *why);
/* Puts the place of item `index` of the list `name` in front of the pointer. */
void bf_apply_place_error(struct belfry_error *err, const char *name, size_t index);

/* --- the calendars of a set (apply_calendars.c) --- */

struct bf_apply_calendar {
	const json_t *body;
	enum bf_apply_outcome outcome;
	int64_t revision; /* 0: none yet */
	json_t *error;    /* owned; NULL: none */
};

struct bf_apply_calendars {
	struct bf_apply_calendar *items;
	struct bf_calendar *planned; /* one for each; empty where it is refused */
	size_t count;
	bool is_changed;            /* one was carried out */
	enum belfry_status refused; /* of the first that is; OK: none is */
	struct belfry_error first;
};

void bf_apply_calendars_fini(struct bf_apply_calendars *set);
/* The member "calendars", if it is there. BELFRY_OK or BELFRY_NOMEM; a failure stays in the reader. */
BF_MUST_CHECK enum belfry_status bf_apply_calendars_read(struct bf_json_reader *reader,
		struct bf_apply_calendars *set);
/* What each would do. BELFRY_OK: refusals are noted; else what is of no item. */
BF_MUST_CHECK enum belfry_status bf_apply_calendars_plan(struct bf_host *host,
		struct bf_apply_calendars *set, struct belfry_error *err);
/* What the planned ones would be for the rules of the set; borrowed. */
struct bf_calendar_overlay bf_apply_calendars_overlay(const struct bf_apply_calendars *set);
/* BELFRY_OK: failures are noted; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_apply_calendars_carry_out(struct bf_host *host,
		struct bf_apply_calendars *set);
/* A list with one item for each, owned by the caller; NULL: no memory. */
BF_MUST_CHECK json_t *bf_apply_calendars_answer(const struct bf_apply_calendars *set);

/* The members that differ, [{"pointer", "old", "new"}], by their deepest object; `before` may be NULL:
 * then nothing is named, since all is new. Owned by the caller; NULL: no memory. */
BF_MUST_CHECK json_t *bf_apply_list_changes(const json_t *before, const json_t *after);

/* The first due times after now that only one of the two has. `old` and `changed` may be NULL. Both lists
 * are owned by the caller. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_apply_list_due(struct bf_host *host,
		const struct bf_deployment *old, const struct bf_deployment *changed,
		json_t **ret_appears, json_t **ret_vanishes);

#endif

/* A set of deployments on its way through POST /v1/apply, and what the server said of each. */
#ifndef BF_CLI_APPLY_SEND_H
#define BF_CLI_APPLY_SEND_H

#include "cli/cli.h"

/* Looking is a dry run; it goes first, so that a refusal changes nothing, and the answer to what was done
 * then tells what came to be. */
enum bf_apply_mode {
	BF_APPLY_LOOK,
	BF_APPLY_DO, /* the caller has looked */
	BF_APPLY_LOOK_AND_DO
};

/* What is sent, and what is answered of its calendars. */
struct bf_apply_set {
	const json_t *deployments; /* an array, borrowed */
	const json_t *calendars;   /* the same; NULL or empty: none */
	json_t *calendar_items;    /* owned: one for each; NULL: none were sent */
};

void bf_apply_set_fini(struct bf_apply_set *set);

/* Sends the deployments in parts, as large as the server takes, with progress on a terminal.
 * A refusal of single deployments is an answer: *ret_items (json_decref) has one item for each, in order,
 * with an outcome (interface.md). *ret_is_done: they were sent to be carried out, and what is not refused
 * is there. */
BF_MUST_CHECK enum belfry_status bf_apply_send(struct bf_cli *cli, struct bf_apply_set *set,
		enum bf_apply_mode mode, json_t **ret_items, bool *ret_is_done,
		struct belfry_error *err);

/* Was one of the deployments (`items`) or of the calendars refused? */
bool bf_apply_is_refused(const struct bf_apply_set *set, const json_t *items);

/* Adds to each of set->calendar_items that would change what would: "changes" (the description), "gone" and
 * "new" (its items), and "used_by" (the deployments concerned). Asks the server for each. */
BF_MUST_CHECK enum belfry_status bf_apply_compare_calendars(struct bf_cli *cli,
		const struct bf_apply_set *set, struct belfry_error *err);

/* How many items have this outcome. */
size_t bf_apply_count(const json_t *items, const char *outcome);

/* What changes member by member, the due times that appear and vanish, and a table at the end. Items that
 * stay as they are count alone. `is_done`: of bf_apply_send. */
BF_MUST_CHECK enum belfry_status bf_apply_show(struct bf_cli *cli, const json_t *items,
		bool is_dry_run, bool is_done, struct belfry_error *err);

/* {"created": 1, ...}: a new object, NULL: no memory. */
json_t *bf_apply_counts(const json_t *items);

#endif

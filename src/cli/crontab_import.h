/* What the lines of a crontab become: deployments whose target is the shell, and a report of each line:
 * what was taken, what is changed by the move and how, what was refused and why.
 *
 * Ownership  what is handed out is the caller's. */
#ifndef BF_CLI_CRONTAB_IMPORT_H
#define BF_CLI_CRONTAB_IMPORT_H

#include <belfry/calendar.h>

#include "base/json.h"

/* Every imported deployment has it: another of the same name is not ours to change. */
#define BF_IMPORT_LABEL "imported"
#define BF_IMPORT_VALUE "crontab"

struct bf_import_options {
	struct belfry_zones *zones;
	struct belfry_str zone; /* of due times above the first CRON_TZ */
	struct belfry_str user; /* who runs Belfry */
	struct belfry_str home; /* the folder cron would start the commands in; empty: not known */
	bool has_user;          /* the lines have a user column */
};

struct bf_import {
	json_t *deployments; /* bodies for POST /v1/apply, in the order of the lines */
	json_t *lines;       /* {line, column, result, name, rule, timezone, reason, notes} */
	json_t *shells;      /* name -> true: what --allow-exec has to name */
	size_t refused_count;
};

/* A line that is refused is in the report, and no failure of this function. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_crontab_import(struct belfry_str text,
		const struct bf_import_options *options, struct bf_import *ret_import,
		struct belfry_error *err);
void bf_import_fini(struct bf_import *import);

#endif

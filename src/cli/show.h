/* Runs and deployments as the API writes them, shown to people. All text is escaped. */
#ifndef BF_CLI_SHOW_H
#define BF_CLI_SHOW_H

#include "cli/cli.h"
#include "cli/text.h"

/* "name  value" lines of an object, nested members as "policies.retry.max_attempts"; null and empty ones
 * are left out, arrays of objects too. */
BF_MUST_CHECK enum belfry_status bf_show_object(struct bf_cli *cli, const json_t *object,
		struct belfry_error *err);

/* One value as short text: strings as they are, the rest as JSON. */
void bf_show_value(struct bf_buf *buf, const json_t *value);

/* The rule in one line: the cron text where it is only that, else JSON. */
void bf_show_rule(struct bf_buf *buf, const json_t *rule);

enum bf_colour bf_show_status_colour(struct belfry_str status);

/* Rows of a list, with a heading. `names` maps deployment ids to names, NULL: ids are shown. */
BF_MUST_CHECK enum belfry_status bf_show_runs(struct bf_cli *cli, const json_t *runs,
		const json_t *names, bool has_heading, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_show_deployments(struct bf_cli *cli, const json_t *deployments,
		struct belfry_error *err);
/* A Run, and its attempts as a table. */
BF_MUST_CHECK enum belfry_status bf_show_run(struct bf_cli *cli, const json_t *run,
		struct belfry_error *err);

/* {"items": [...]} as a line of JSON. */
BF_MUST_CHECK enum belfry_status bf_show_items(struct bf_cli *cli, const json_t *items,
		struct belfry_error *err);

#endif

/* Polling. Events would be hints only; reading again is the truth, and one request a second is nothing. */
#include "cli/watch.h"

#include <poll.h>

#include "base/error.h"
#include "base/str.h"
#include "cli/resolve.h"
#include "cli/text.h"

#include <belfry/run.h>

#define AWAY_MAX (30 * BELFRY_SECOND)

void bf_watch_pause(struct bf_watch *watch)
{
	unsigned doublings = BF_MIN(watch->polls++ / 4, 4u);

	(void)poll(NULL, 0, (int)BF_MIN(100u << doublings, 1000u));
}

bool bf_watch_bears(struct bf_cli *cli, struct bf_watch *watch, enum belfry_status status)
{
	belfry_time now = cli->env->wall(cli->env->data);

	if (belfry_status_class(status) != BELFRY_CLASS_RETRY) {
		return false;
	}
	if (watch->away_since == 0) {
		watch->away_since = now;
	}
	return now - watch->away_since < AWAY_MAX;
}

bool bf_watch_is_over(struct belfry_str run_status)
{
	for (int s = 0; s < BELFRY_RUN_STATUS_COUNT; s++) {
		enum belfry_run_status status = (enum belfry_run_status)s;

		if (bf_str_equal(bf_str(belfry_run_status_name(status)), run_status)) {
			return belfry_run_status_is_terminal(status);
		}
	}
	return false;
}

static void show_progress(struct bf_cli *cli, const json_t *run, belfry_time since)
{
	belfry_duration waited = cli->env->wall(cli->env->data) - since;

	if (!cli->is_err_terminal) {
		return;
	}
	(void)fputs("\r\033[K", cli->err);
	if (run != NULL) {
		bf_text_print(cli->err, false, BF_COLOUR_NONE, bf_member(run, "status"));
		(void)fprintf(cli->err, ", %lld s", (long long)(waited / BELFRY_SECOND));
	}
	(void)fflush(cli->err);
}

static enum belfry_status poll_until_over(struct bf_cli *cli, json_t **run, belfry_duration limit,
		struct belfry_error *err)
{
	struct bf_watch watch = {0};
	belfry_time since = cli->env->wall(cli->env->data);

	while (!bf_watch_is_over(bf_member(*run, "status"))) {
		json_t *newer = NULL;

		if (limit > 0 && cli->env->wall(cli->env->data) - since >= limit) {
			return bf_error_set(err, BELFRY_UNAVAILABLE,
					"the Run did not end in time; it goes on: `belfry runs show` tells");
		}
		show_progress(cli, *run, since);
		bf_watch_pause(&watch);
		enum belfry_status status = bf_resolve_get(cli, "runs", bf_member(*run, "id"),
				&newer, err);
		if (status == BELFRY_OK) {
			watch.away_since = 0;
			json_decref(*run);
			*run = newer;
		} else if (!bf_watch_bears(cli, &watch, status)) {
			return status;
		}
	}
	return BELFRY_OK;
}

enum belfry_status bf_watch_run(struct bf_cli *cli, json_t **run, belfry_duration limit,
		struct belfry_error *err)
{
	enum belfry_status status = poll_until_over(cli, run, limit, err);

	show_progress(cli, NULL, 0);
	return status;
}

/* `belfry runs`: the history, and what can be done with one Run of it. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/logs.h"
#include "cli/resolve.h"
#include "cli/run_now.h"
#include "cli/show.h"
#include "cli/timearg.h"
#include "cli/watch.h"

#include <belfry/run.h>

#define COUNT_DEFAULT 20
#define FOLLOW_COUNT  ((size_t)200) /* Runs looked at in each round of --follow */

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- list --- */

static enum belfry_status put_status_query(const struct bf_args *args, struct bf_buf *path,
		struct belfry_error *err)
{
	const char *names[BELFRY_RUN_STATUS_COUNT + 1] = {NULL};
	unsigned index = BELFRY_RUN_STATUS_COUNT;

	for (int s = 0; s < BELFRY_RUN_STATUS_COUNT; s++) {
		names[s] = belfry_run_status_name((enum belfry_run_status)s);
	}
	enum belfry_status status = bf_args_enum(args, "status", names, &index, err);
	if (status == BELFRY_OK && index < BELFRY_RUN_STATUS_COUNT) {
		bf_buf_appendf(path, "&status=%s", names[index]);
	}
	return status;
}

static enum belfry_status put_trigger_query(const struct bf_args *args, struct bf_buf *path,
		struct belfry_error *err)
{
	const char *names[BELFRY_TRIGGER_COUNT + 1] = {NULL};
	unsigned index = BELFRY_TRIGGER_COUNT;

	for (int t = 0; t < BELFRY_TRIGGER_COUNT; t++) {
		names[t] = belfry_trigger_name((enum belfry_trigger)t);
	}
	enum belfry_status status = bf_args_enum(args, "trigger", names, &index, err);
	if (status == BELFRY_OK && index < BELFRY_TRIGGER_COUNT) {
		bf_buf_appendf(path, "&trigger=%s", names[index]);
	}
	return status;
}

static enum belfry_status put_since_query(struct bf_cli *cli, const struct bf_args *args,
		const json_t *deployment, struct bf_buf *path, struct belfry_error *err)
{
	const char *text = bf_args_value(args, "since");
	char since[BF_TIME_TEXT_BYTES];
	belfry_time time;

	if (text == NULL) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_resolve_time(cli, "--since", text, deployment, &time, err);
	if (status == BELFRY_OK) {
		bf_time_format(time, 0, since);
		bf_buf_append_text(path, "&since=");
		bf_client_encode(path, bf_str(since));
	}
	return status;
}

/* "/v1/runs?" or the deployment's own, with the filters behind. `deployment` may be NULL. */
static enum belfry_status make_path(struct bf_cli *cli, const struct bf_args *args,
		const json_t *deployment, struct bf_buf *path, struct belfry_error *err)
{
	bf_buf_append_text(path, "/v1/");
	if (deployment != NULL) {
		bf_buf_append_text(path, "deployments/");
		bf_client_encode(path, bf_member(deployment, "id"));
		bf_buf_append_byte(path, '/');
	}
	bf_buf_append_text(path, "runs?");
	enum belfry_status status = put_status_query(args, path, err);
	if (status == BELFRY_OK) {
		status = put_trigger_query(args, path, err);
	}
	if (status == BELFRY_OK) {
		status = put_since_query(cli, args, deployment, path, err);
	}
	if (status == BELFRY_OK && bf_buf_status(path) != BELFRY_OK) {
		status = no_memory(err);
	}
	/* "runs?&status=" is "runs?status=" */
	char *mark = path->ptr != NULL ? strchr(path->ptr, '?') : NULL;
	if (mark != NULL && mark[1] == '&') {
		(void)memmove(mark + 1, mark + 2, strlen(mark + 2) + 1);
		path->len--;
	} else if (mark != NULL && mark[1] == '\0') {
		*mark = '\0';
		path->len--;
	}
	return status;
}

static enum belfry_status put_name(json_t *names, const json_t *deployment,
		struct belfry_error *err)
{
	struct belfry_str id = bf_member(deployment, "id");

	if (id.len > 0 &&
			json_object_setn(names, id.ptr, id.len,
					json_object_get(deployment, "name")) != 0) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

/* Names for people: of the one deployment, or of all. Without them ids are shown, which is no failure. */
static enum belfry_status collect_names(struct bf_cli *cli, const json_t *deployment,
		json_t **ret_names, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *names = json_object();
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	enum belfry_status status = BELFRY_OK;

	if (deployment != NULL) {
		status = put_name(names, deployment, err);
	} else if (bf_client_list(cli, "/v1/deployments", 0, &items, NULL) == BELFRY_OK) {
		for (size_t i = 0; i < json_array_size(items) && status == BELFRY_OK; i++) {
			status = put_name(names, json_array_get(items, i), err);
		}
	}
	*ret_names = json_incref(names);
	return status;
}

/* How many Runs of a full page stand behind the oldest known one: they came into it because others left,
 * and are old. Of a page that is not full, or where none is known, none. */
static size_t count_old(const json_t *page, const json_t *seen)
{
	size_t old = 0;
	size_t size = json_array_size(page);

	if (size < FOLLOW_COUNT || json_object_size(seen) == 0) {
		return 0;
	}
	for (; old < size; old++) {
		struct belfry_str id = bf_member(json_array_get(page, size - 1 - old), "id");

		if (json_object_getn(seen, id.len > 0 ? id.ptr : "", id.len) != NULL) {
			return old;
		}
	}
	return 0;
}

/* Of `page` (newest first) what is new or has another status than in `seen`, oldest first; `seen` then
 * holds the page. */
static enum belfry_status take_news(const json_t *page, json_t **seen, json_t **ret_news,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *now = json_object();
	BF_CLEANUP(bf_cleanup_json) json_t *news = json_array();
	size_t old_from = json_array_size(page) - count_old(page, *seen);

	for (size_t i = json_array_size(page); i-- > 0;) {
		json_t *run = json_array_get(page, i);
		struct belfry_str id = bf_member(run, "id");
		json_t *status = json_object_get(run, "status");
		const json_t *before = json_object_getn(*seen, id.len > 0 ? id.ptr : "", id.len);
		bool is_news = i < old_from && (before == NULL || !json_equal(before, status));

		if (json_object_setn(now, id.len > 0 ? id.ptr : "", id.len, status) != 0 ||
				(is_news && json_array_append(news, run) != 0)) {
			return no_memory(err);
		}
	}
	json_decref(*seen);
	*seen = json_incref(now);
	*ret_news = json_incref(news);
	return BELFRY_OK;
}

static enum belfry_status show_news(struct bf_cli *cli, const json_t *news, const json_t *names,
		bool has_heading, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	if (!cli->is_json && (has_heading || json_array_size(news) > 0)) {
		status = bf_show_runs(cli, news, names, has_heading, err);
	}
	for (size_t i = 0; cli->is_json && i < json_array_size(news) && status == BELFRY_OK; i++) {
		status = bf_cli_put_json(cli, json_array_get(news, i), err);
	}
	(void)fflush(cli->out);
	return status;
}

/* Leaves the newest `max` of what is oldest first. */
static void keep_newest(json_t *runs, size_t max)
{
	while (json_array_size(runs) > max) {
		(void)json_array_remove(runs, 0); /* the index is in range */
	}
}

/* For ever, until the server is gone or somebody stops it. The first page is read as far as the later
 * ones, though fewer are shown of it: what is not shown is old, and no news later. */
static enum belfry_status follow(struct bf_cli *cli, const char *path, size_t max,
		const json_t *names, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *seen = json_object();
	struct bf_watch watch = {0};
	enum belfry_status status;

	for (bool is_first = true;; bf_watch_pause(&watch)) {
		BF_CLEANUP(bf_cleanup_json) json_t *page = NULL;
		BF_CLEANUP(bf_cleanup_json) json_t *news = NULL;

		status = bf_client_list(cli, path,
				is_first ? BF_MAX(max, FOLLOW_COUNT) : FOLLOW_COUNT, &page, err);
		if (status == BELFRY_OK) {
			watch.away_since = 0;
			status = take_news(page, &seen, &news, err);
			keep_newest(news, is_first ? max : SIZE_MAX);
		} else if (bf_watch_bears(cli, &watch, status)) {
			continue;
		}
		if (status == BELFRY_OK) {
			status = show_news(cli, news, names, is_first, err);
		}
		if (status != BELFRY_OK || ferror(cli->out) != 0) {
			return status;
		}
		is_first = false;
	}
}

static enum belfry_status list(struct bf_cli *cli, const char *path, size_t max,
		const json_t *names, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	enum belfry_status status = bf_client_list(cli, path, max, &items, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		return bf_show_items(cli, items, err);
	}
	if (json_array_size(items) == 0) {
		(void)fputs("no Runs\n", cli->err);
		return BELFRY_OK;
	}
	return bf_show_runs(cli, items, names, true, err);
}

static enum belfry_status run_list(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *deployment = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *names = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	int64_t max = 0;
	enum belfry_status status = bf_args_int(args, "number", 1, INT32_MAX, COUNT_DEFAULT, &max,
			err);

	if (status == BELFRY_OK && bf_args_word(args, 0) != NULL) {
		status = bf_resolve_deployment(cli, bf_args_word(args, 0), &deployment, err);
	}
	if (status == BELFRY_OK) {
		status = make_path(cli, args, deployment, &path, err);
	}
	if (status == BELFRY_OK && !cli->is_json) {
		status = collect_names(cli, deployment, &names, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_args_has(args, "follow") ? follow(cli, path.ptr, (size_t)max, names, err)
					   : list(cli, path.ptr, (size_t)max, names, err);
}

static const struct bf_option list_options[] = {
		{.name = "status", .argument = "S", .help = "Only those with this status: FAILED"},
		{.name = "trigger",
				.argument = "T",
				.help = "Only those made by: schedule, manual, replay"},
		{.name = "since", .argument = "TIME", .help = "Only those due or made since: -2h"},
		{.name = "number", .letter = 'n', .argument = "N", .help = "At most so many (20)"},
		{.name = "follow", .help = "Go on, and show what changes"},
		{.name = NULL},
};

static const struct bf_command command_list = {
		.path = "runs list",
		.synopsis = "[DEPLOYMENT] [--status S] [--trigger T] [--since TIME] [-n N] [--follow]",
		.summary = "List Runs, the newest first",
		.example = "belfry runs list morning-brief --status FAILED --since -24h",
		.options = list_options,
		.max_words = 1,
		.run = run_list,
};

/* --- show, logs, replay --- */

static enum belfry_status run_show(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *run = NULL;
	enum belfry_status status = bf_resolve_run(cli, bf_args_word(args, 0), &run, err);

	if (status != BELFRY_OK) {
		return status;
	}
	return cli->is_json ? bf_cli_put_json(cli, run, err) : bf_show_run(cli, run, err);
}

static const struct bf_command command_show = {
		.path = "runs show",
		.synopsis = "RUN",
		.summary = "Show one Run and its attempts",
		.details = "RUN is an id, NAME@TIME or NAME@last.",
		.example = "belfry runs show morning-brief@last",
		.min_words = 1,
		.max_words = 1,
		.run = run_show,
};

static enum belfry_status run_logs(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *run = NULL;
	enum belfry_status status = bf_resolve_run(cli, bf_args_word(args, 0), &run, err);

	return status == BELFRY_OK ? bf_logs_run(cli, &run, bf_args_has(args, "follow"), err)
				   : status;
}

static const struct bf_option logs_options[] = {
		{.name = "follow", .help = "Go on until the Run ends"},
		{.name = NULL},
};

static const struct bf_command command_logs = {
		.path = "runs logs",
		.synopsis = "RUN [--follow]",
		.summary = "Print the output of one Run",
		.details = "RUN is an id, NAME@TIME or NAME@last.",
		.example = "belfry runs logs morning-brief@last --follow",
		.options = logs_options,
		.min_words = 1,
		.max_words = 1,
		.run = run_logs,
};

static enum belfry_status make_replay_body(struct bf_cli *cli, const struct bf_args *args,
		json_t *body, struct belfry_error *err)
{
	const char *as_of = bf_args_value(args, "as-of");
	char text[BF_TIME_TEXT_BYTES];
	belfry_time time;

	if (as_of != NULL) {
		enum belfry_status status = bf_timearg_parse(cli, "--as-of", as_of, NULL, &time,
				err);

		if (status != BELFRY_OK) {
			return status;
		}
		bf_time_format(time, 0, text);
		if (json_object_set_new(body, "as_of", json_string(text)) != 0) {
			return no_memory(err);
		}
	}
	if (bf_args_has(args, "dry-run") &&
			json_object_set_new(body, "dry_run", json_true()) != 0) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

static enum belfry_status run_replay(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *run = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	enum belfry_status status = make_replay_body(cli, args, body, err);

	if (status == BELFRY_OK) {
		status = bf_resolve_run(cli, bf_args_word(args, 0), &run, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bf_buf_append_text(&path, "/v1/runs/");
	bf_client_encode(&path, bf_member(run, "id"));
	bf_buf_append_text(&path, "/replay");
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	return bf_run_now(cli, args, path.ptr, body, err);
}

static const struct bf_option replay_options[] = {
		BF_RUN_NOW_OPTIONS,
		{.name = "as-of",
				.argument = "TIME",
				.help = "With the prompt that was valid then: not in this version"},
		{.name = "dry-run", .help = "Show what would be sent: not in this version"},
		{.name = NULL},
};

static const struct bf_command command_replay = {
		.path = "runs replay",
		.synopsis = "RUN [--wait [--timeout D]] [--request-key KEY]",
		.summary = "Run again what a Run ran, as it was then",
		.details = "RUN is an id, NAME@TIME or NAME@last.",
		.example = "belfry runs replay morning-brief@last --wait",
		.options = replay_options,
		.min_words = 1,
		.max_words = 1,
		.run = run_replay,
};

/* --- cancel --- */

static enum belfry_status run_cancel(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *run = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *ended = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	const char *reason = NULL;
	enum belfry_status status = bf_args_text(args, "reason", &reason, err);

	if (status == BELFRY_OK) {
		status = bf_resolve_run(cli, bf_args_word(args, 0), &run, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bf_buf_append_text(&path, "/v1/runs/");
	bf_client_encode(&path, bf_member(run, "id"));
	bf_buf_append_text(&path, "/cancel");
	if (body == NULL || bf_buf_status(&path) != BELFRY_OK ||
			(reason != NULL &&
					json_object_set_new(body, "reason", json_string(reason)) !=
							0)) {
		return no_memory(err);
	}
	struct bf_request request = {.method = "POST", .path = path.ptr, .body = body};
	status = bf_client_json(cli, &request, &ended, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return cli->is_json ? bf_cli_put_json(cli, ended, err) : bf_show_run(cli, ended, err);
}

static const struct bf_option cancel_options[] = {
		{.name = "reason", .argument = "TEXT", .help = "Why; kept with the Run"},
		{.name = NULL},
};

static const struct bf_command command_cancel = {
		.path = "runs cancel",
		.synopsis = "RUN [--reason TEXT]",
		.summary = "End a Run that its target has not taken yet",
		.details = "RUN is an id, NAME@TIME or NAME@last. Again it changes nothing; a Run that has ended\n"
			   "otherwise is refused.",
		.example = "belfry runs cancel morning-brief@last --reason \"not today\"",
		.options = cancel_options,
		.min_words = 1,
		.max_words = 1,
		.run = run_cancel,
};

static const struct bf_command *const children[] = {&command_list, &command_show, &command_logs,
		&command_replay, &command_cancel, NULL};

const struct bf_command bf_command_runs = {
		.path = "runs",
		.synopsis = "COMMAND ...",
		.summary = "List, show, replay and cancel Runs",
		.example = "belfry runs list -n 5",
		.children = children,
};

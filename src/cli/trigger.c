/* `belfry trigger`: Run now. With --wait the Run's end is the command's own. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/resolve.h"
#include "cli/run_now.h"
#include "cli/show.h"
#include "cli/watch.h"

/* Waits where it was asked for, and shows how the Run stands. */
static enum belfry_status finish(struct bf_cli *cli, const struct bf_args *args, json_t **run,
		struct belfry_error *err)
{
	belfry_duration limit = 0;
	const char *text = bf_args_value(args, "timeout");

	if (text != NULL && bf_duration_parse(bf_str(text), &limit) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_USAGE,
				"--timeout: \"%.60s\" is no duration: use 90s, 10m or PT10M", text);
	}
	if (!bf_args_has(args, "wait")) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_watch_run(cli, run, limit, err);
	if (status == BELFRY_OK && !bf_str_equal(bf_member(*run, "status"), BF_STR("COMPLETED"))) {
		cli->exit_status = 1;
	}
	return status;
}

static void print_run(struct bf_cli *cli, const json_t *run)
{
	struct belfry_str status = bf_member(run, "status");
	const json_t *error = json_object_get(run, "error");

	(void)fputs("Run ", cli->out);
	bf_text_print(cli->out, false, BF_COLOUR_NONE, bf_member(run, "id"));
	(void)fputc(' ', cli->out);
	bf_text_print(cli->out, cli->is_out_coloured, bf_show_status_colour(status), status);
	if (json_is_object(error)) {
		(void)fputs(": ", cli->out);
		bf_text_print(cli->out, false, BF_COLOUR_NONE, bf_member(error, "message"));
	}
	(void)fputc('\n', cli->out);
}

enum belfry_status bf_run_now(struct bf_cli *cli, const struct bf_args *args, const char *path,
		const json_t *body, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *run = NULL;
	const char *key = bf_args_value(args, "request-key");
	struct bf_request request = {.method = "POST",
			.path = path,
			.body = body,
			.idempotency_key = key};

	for (const char *p = key; p != NULL && *p != '\0'; p++) {
		if (*p < ' ' || *p > '~') {
			return bf_error_set(err, BELFRY_USAGE,
					"--request-key: use printable ASCII characters");
		}
	}
	enum belfry_status status = bf_client_json(cli, &request, &run, err);
	if (status == BELFRY_OK) {
		status = finish(cli, args, &run, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		return bf_cli_put_json(cli, run, err);
	}
	print_run(cli, run);
	return BELFRY_OK;
}

static enum belfry_status run_trigger(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *deployment = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	enum belfry_status status = bf_resolve_deployment(cli, bf_args_word(args, 0), &deployment,
			err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (bf_args_has(args, "respect-overlap") &&
			json_object_set_new(body, "respect_overlap", json_true()) != 0) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(deployment, "id"));
	bf_buf_append_text(&path, "/runs");
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_run_now(cli, args, path.ptr, body, err);
}

static const struct bf_option options[] = {
		BF_RUN_NOW_OPTIONS,
		{.name = "respect-overlap", .help = "Let the overlap policy decide when it starts"},
		{.name = NULL},
};

const struct bf_command bf_command_trigger = {
		.path = "trigger",
		.synopsis = "DEPLOYMENT [--wait [--timeout D]] [--request-key KEY]",
		.summary = "Run a deployment now, beside its rule",
		.details = "With --wait the exit status is 1 when the Run does not end as COMPLETED.\n"
			   "A second trigger with the same key answers with the first one's Run.",
		.example = "belfry trigger morning-brief --wait",
		.options = options,
		.min_words = 1,
		.max_words = 1,
		.run = run_trigger,
};

/* `belfry logs`: the output of a Run, or of a deployment's latest ones. On a terminal control characters
 * are escaped; into a file or a pipe the bytes go as they are. */
#include "cli/logs.h"

#include "base/error.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "cli/watch.h"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static enum belfry_status print_bytes(struct bf_cli *cli, struct belfry_str bytes,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf safe = {0};

	if (!cli->is_out_terminal) {
		(void)fwrite(bytes.len > 0 ? bytes.ptr : "", 1, bytes.len, cli->out);
	} else {
		bf_text_escape(&safe, bytes, BF_TEXT_F_LINES);
		if (bf_buf_status(&safe) != BELFRY_OK) {
			return no_memory(err);
		}
		(void)fwrite(safe.len > 0 ? safe.ptr : "", 1, safe.len, cli->out);
	}
	(void)fflush(cli->out);
	return BELFRY_OK;
}

/* In JSON one object a piece: {"run": ..., "output": ...}. */
static enum belfry_status print_piece(struct bf_cli *cli, const json_t *run,
		struct belfry_str bytes, struct belfry_error *err)
{
	if (!cli->is_json) {
		return print_bytes(cli, bytes, err);
	}
	BF_CLEANUP(bf_cleanup_json)
	json_t *piece = json_pack("{s:O, s:o}", "run", json_object_get(run, "id"), "output",
			bf_json_new_str(bytes));
	return bf_cli_put_json(cli, piece, err);
}

/* The output from byte `from` on. A Run that has none yet has an empty one (404, 416). */
static enum belfry_status get_output(struct bf_cli *cli, const json_t *run, size_t from,
		struct bf_answer *ret_answer, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	char range[48] = "";
	struct bf_request request = {.takes_any_status = true};

	bf_buf_append_text(&path, "/v1/runs/");
	bf_client_encode(&path, bf_member(run, "id"));
	bf_buf_append_text(&path, "/output");
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	(void)snprintf(range, sizeof(range), "bytes=%zu-", from);
	request.path = path.ptr;
	request.range = from > 0 ? range : NULL;
	enum belfry_status status = bf_client_call(cli, &request, ret_answer, err);
	if (status != BELFRY_OK || ret_answer->http_status == 200 ||
			ret_answer->http_status == 206) {
		return status;
	}
	if (ret_answer->http_status == 404 || ret_answer->http_status == 416) {
		bf_buf_clear(&ret_answer->body);
		return BELFRY_OK;
	}
	return bf_client_problem(cli, ret_answer, err);
}

/* Prints what is new behind *shown. A server that ignores the range sends the whole again. */
static enum belfry_status print_new(struct bf_cli *cli, const json_t *run, size_t *shown,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	enum belfry_status status = get_output(cli, run, *shown, &answer, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_str body = bf_buf_str(&answer.body);
	if (answer.http_status == 200) {
		body = bf_str_slice(body, *shown, body.len);
	}
	if (body.len == 0) {
		return BELFRY_OK;
	}
	*shown += body.len;
	return print_piece(cli, run, body, err);
}

static enum belfry_status refresh(struct bf_cli *cli, json_t **run, struct belfry_error *err)
{
	json_t *newer = NULL;
	enum belfry_status status = bf_resolve_get(cli, "runs", bf_member(*run, "id"), &newer, err);

	if (status == BELFRY_OK) {
		json_decref(*run);
		*run = newer;
	}
	return status;
}

/* Reads the output once more after the Run was seen to be over: nothing is lost between the two. */
static enum belfry_status follow_run(struct bf_cli *cli, json_t **run, size_t *shown,
		struct belfry_error *err)
{
	struct bf_watch watch = {0};

	for (;;) {
		bool is_over = bf_watch_is_over(bf_member(*run, "status"));
		enum belfry_status status = print_new(cli, *run, shown, err);

		if (status == BELFRY_OK && is_over) {
			return BELFRY_OK;
		}
		if (status == BELFRY_OK) {
			bf_watch_pause(&watch);
			status = refresh(cli, run, err);
		} else {
			bf_watch_pause(&watch);
		}
		if (status == BELFRY_OK) {
			watch.away_since = 0;
		} else if (!bf_watch_bears(cli, &watch, status)) {
			return status;
		}
	}
}

enum belfry_status bf_logs_run(struct bf_cli *cli, json_t **run, bool is_following,
		struct belfry_error *err)
{
	size_t shown = 0;
	enum belfry_status status = is_following ? follow_run(cli, run, &shown, err)
						 : print_new(cli, *run, &shown, err);

	if (status == BELFRY_OK && shown == 0) {
		struct belfry_str run_status = bf_member(*run, "status");

		(void)fputs("no output (", cli->err);
		bf_text_print(cli->err, false, BF_COLOUR_NONE, run_status);
		(void)fputs(")\n", cli->err);
	}
	return status;
}

/* "==> 018f... COMPLETED, due 2026-12-01T01:00:00Z", on standard error, so that the output is alone. */
static void print_heading(struct bf_cli *cli, const json_t *run)
{
	struct belfry_str due = bf_member(run, "due_at");

	(void)fputs("==> ", cli->err);
	bf_text_print(cli->err, false, BF_COLOUR_NONE, bf_member(run, "id"));
	(void)fputc(' ', cli->err);
	bf_text_print(cli->err, false, BF_COLOUR_NONE, bf_member(run, "status"));
	(void)fputs(due.len > 0 ? ", due " : ", ", cli->err);
	bf_text_print(cli->err, false, BF_COLOUR_NONE,
			due.len > 0 ? due : bf_member(run, "trigger"));
	(void)fputc('\n', cli->err);
}

static enum belfry_status newest_runs(struct bf_cli *cli, const json_t *deployment, size_t max,
		json_t **ret_items, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(deployment, "id"));
	bf_buf_append_text(&path, "/runs");
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	return bf_client_list(cli, path.ptr, max, ret_items, err);
}

/* Where in `items` (newest first) the Runs begin that came after `last`: so many are new. */
static size_t count_new(const json_t *items, const json_t *last)
{
	size_t count = 0;

	while (count < json_array_size(items) &&
			!json_equal(json_object_get(json_array_get(items, count), "id"),
					json_object_get(last, "id"))) {
		count++;
	}
	return count;
}

static enum belfry_status follow_new(struct bf_cli *cli, const json_t *items, json_t **last,
		struct belfry_error *err)
{
	size_t count = *last != NULL ? count_new(items, *last) : BF_MIN(json_array_size(items), 1u);

	for (size_t i = count; i-- > 0;) {
		json_t *run = json_incref(json_array_get(items, i));

		print_heading(cli, run);
		enum belfry_status status = bf_logs_run(cli, &run, true, err);
		json_decref(*last);
		*last = run;
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* One Run after the other, for ever. */
static enum belfry_status follow_deployment(struct bf_cli *cli, const json_t *deployment,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *last = NULL;
	struct bf_watch watch = {0};

	for (;; bf_watch_pause(&watch)) {
		BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
		enum belfry_status status = newest_runs(cli, deployment, last != NULL ? 200 : 1,
				&items, err);

		if (status == BELFRY_OK) {
			watch.away_since = 0;
			status = follow_new(cli, items, &last, err);
		}
		if (status != BELFRY_OK && !bf_watch_bears(cli, &watch, status)) {
			return status;
		}
		if (ferror(cli->out) != 0) {
			return BELFRY_OK;
		}
	}
}

static enum belfry_status logs_deployment(struct bf_cli *cli, const json_t *deployment,
		bool is_following, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *run = NULL;

	if (is_following) {
		return follow_deployment(cli, deployment, err);
	}
	enum belfry_status status = newest_runs(cli, deployment, 1, &items, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (json_array_size(items) == 0) {
		(void)fputs("no Runs yet: `belfry trigger` makes one\n", cli->err);
		return BELFRY_OK;
	}
	run = json_incref(json_array_get(items, 0));
	print_heading(cli, run);
	return bf_logs_run(cli, &run, false, err);
}

static enum belfry_status run_logs(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	const char *word = bf_args_word(args, 0);
	bool is_following = bf_args_has(args, "follow");
	BF_CLEANUP(bf_cleanup_json) json_t *found = NULL;
	enum belfry_status status = BELFRY_NOT_FOUND;

	if (bf_resolve_is_id(word) || strchr(word, '@') != NULL) {
		status = bf_resolve_run(cli, word, &found, err);
		if (status == BELFRY_OK) {
			return bf_logs_run(cli, &found, is_following, err);
		}
	}
	if (status == BELFRY_NOT_FOUND) {
		struct belfry_error own = {0};

		status = bf_resolve_deployment(cli, word, &found, &own);
		/* The first refusal is the better one where there was one. */
		if (status != BELFRY_OK && err != NULL &&
				(status != BELFRY_NOT_FOUND || err->status == BELFRY_OK)) {
			*err = own;
		}
	}
	return status == BELFRY_OK ? logs_deployment(cli, found, is_following, err) : status;
}

static const struct bf_option options[] = {
		{.name = "follow", .help = "Go on: until the Run ends, or with each new Run"},
		{.name = NULL},
};

const struct bf_command bf_command_logs = {
		.path = "logs",
		.synopsis = "RUN|DEPLOYMENT [--follow]",
		.summary = "Print the output of a Run, or of a deployment's latest",
		.details = "RUN is an id, NAME@TIME or NAME@last; DEPLOYMENT an id, a name, or OWNER/NAME.",
		.example = "belfry logs morning-brief --follow",
		.options = options,
		.min_words = 1,
		.max_words = 1,
		.run = run_logs,
};

/* `belfry why`: the Run of a due time, or the reason that there is none. The server's ledger answers;
 * this only asks and shows. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/resolve.h"
#include "cli/show.h"

static enum belfry_status ask(struct bf_cli *cli, const json_t *deployment, const char *time,
		json_t **ret_answer, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	char text[BF_TIME_TEXT_BYTES];
	belfry_time at;

	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(deployment, "id"));
	bf_buf_append_text(&path, "/why");
	if (time != NULL) {
		enum belfry_status status = bf_resolve_time(cli, "TIME", time, deployment, &at,
				err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (time[0] == 'n' || time[0] == '-' || time[0] == '+') {
			at -= at % BELFRY_SECOND; /* of a distance nobody means the microsecond */
		}
		bf_time_format(at, 0, text);
		bf_buf_append_text(&path, "?at=");
		bf_client_encode(&path, bf_str(text));
	}
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_client_json(cli, &(struct bf_request){.path = path.ptr}, ret_answer, err);
}

/* "2026-12-01T08:00:00Z: missed: no process covered it, ..." and the Run below where there is one. An
 * answer without a reason is shown as it is. */
static enum belfry_status show(struct bf_cli *cli, const json_t *answer, struct belfry_error *err)
{
	const json_t *run = json_object_get(answer, "run");
	struct belfry_str reason = bf_member(answer, "reason");
	struct belfry_str due = bf_member(answer, "due_at");

	if (reason.len == 0) {
		return bf_show_object(cli, answer, err);
	}
	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD, due);
	(void)fputs(due.len > 0 ? ": " : "", cli->out);
	bf_text_print(cli->out, false, BF_COLOUR_NONE, reason);
	(void)fputc('\n', cli->out);
	if (!json_is_object(run)) {
		return BELFRY_OK;
	}
	(void)fputc('\n', cli->out);
	return bf_show_run(cli, run, err);
}

static enum belfry_status run_why(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *deployment = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *answer = NULL;
	enum belfry_status status = bf_resolve_deployment(cli, bf_args_word(args, 0), &deployment,
			err);

	if (status == BELFRY_OK) {
		status = ask(cli, deployment, bf_args_word(args, 1), &answer, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	return cli->is_json ? bf_cli_put_json(cli, answer, err) : show(cli, answer, err);
}

const struct bf_command bf_command_why = {
		.path = "why",
		.synopsis = "DEPLOYMENT [TIME]",
		.summary = "Tell the Run of a due time, or the reason that there is none",
		.details = "TIME is RFC 3339, or a local date and time in the deployment's zone; without it\n"
			   "the latest due time is meant.",
		.example = "belfry why morning-brief \"2026-12-01 09:00\"",
		.min_words = 1,
		.max_words = 2,
		.run = run_why,
};

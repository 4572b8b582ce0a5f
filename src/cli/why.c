/* `belfry why`: the Run of a due time, or the reason that there is none. The server's ledger answers;
 * this only asks and shows. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/resolve.h"
#include "cli/show.h"
#include "cli/timearg.h"

struct asked {
	bool is_skipped; /* a local time that does not exist: `gap` says what is there instead */
	struct bf_timearg_gap gap;
	belfry_time at;
};

/* What stands for a time that the clocks skip: where `gap` moves it to. */
static belfry_time instead(const json_t *deployment, const struct bf_timearg_gap *gap)
{
	const json_t *policies = json_object_get(deployment, "policies");
	struct belfry_str policy = bf_member(json_object_get(policies, "dst"), "gap");

	return bf_str_equal(policy, BF_STR("at_end")) ? gap->at : gap->shifted;
}

static enum belfry_status read_time(struct bf_cli *cli, const json_t *deployment, const char *time,
		struct asked *ret_asked, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) char *zone = bf_str_dup(bf_member(deployment, "timezone_used"));

	if (zone == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = zone[0] == '\0'
			? BELFRY_NOT_FOUND
			: bf_timearg_gap(cli, time, zone, &ret_asked->gap, err);
	if (status == BELFRY_NOT_FOUND) {
		return bf_resolve_time(cli, "TIME", time, deployment, &ret_asked->at, err);
	}
	ret_asked->is_skipped = status == BELFRY_OK;
	if (status == BELFRY_OK) {
		ret_asked->at = instead(deployment, &ret_asked->gap);
	}
	return status;
}

static enum belfry_status ask(struct bf_cli *cli, const json_t *deployment, const char *time,
		struct asked *asked, json_t **ret_answer, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	char text[BF_TIME_TEXT_BYTES];

	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(deployment, "id"));
	bf_buf_append_text(&path, "/why");
	if (time != NULL) {
		enum belfry_status status = read_time(cli, deployment, time, asked, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (time[0] == 'n' || time[0] == '-' || time[0] == '+') {
			asked->at -= asked->at %
					BELFRY_SECOND; /* of a distance nobody means the microsecond */
		}
		bf_time_format(asked->at, 0, text);
		bf_buf_append_text(&path, "?at=");
		bf_client_encode(&path, bf_str(text));
	}
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_client_json(cli, &(struct bf_request){.path = path.ptr}, ret_answer, err);
}

/* "2027-03-28 02:30 does not exist: the clocks go from 02:00 to 03:00" */
static void print_skipped(struct bf_cli *cli, const char *time, const struct bf_timearg_gap *gap)
{
	char from[BF_TIME_TEXT_BYTES];
	char to[BF_TIME_TEXT_BYTES];

	bf_time_format(gap->from, 0, from);
	bf_time_format(gap->to, 0, to);
	(void)fprintf(cli->out, "%s does not exist: the clocks go from %.5s to %.5s\n", time,
			from + 11, to + 11);
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
	struct asked asked = {0};
	enum belfry_status status = bf_resolve_deployment(cli, bf_args_word(args, 0), &deployment,
			err);

	if (status == BELFRY_OK) {
		status = ask(cli, deployment, bf_args_word(args, 1), &asked, &answer, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		return bf_cli_put_json(cli, answer, err);
	}
	if (asked.is_skipped) {
		print_skipped(cli, bf_args_word(args, 1), &asked.gap);
	}
	return show(cli, answer, err);
}

const struct bf_command bf_command_why = {
		.path = "why",
		.synopsis = "DEPLOYMENT [TIME]",
		.summary = "Tell the Run of a due time, or the reason that there is none",
		.details = "TIME is RFC 3339, or a local date and time in the deployment's zone; without it\n"
			   "the latest due time is meant. Of a time that the clocks skip it tells what was\n"
			   "there instead.",
		.example = "belfry why morning-brief \"2026-12-01 09:00\"",
		.min_words = 1,
		.max_words = 2,
		.run = run_why,
};

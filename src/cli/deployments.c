/* `belfry deployments`: the records of what runs and when. Each sub-command is one or two requests; what
 * is allowed is for the server to say. */
#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/deployment_body.h"
#include "cli/resolve.h"
#include "cli/show.h"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* One deployment, as JSON or as lines. */
static enum belfry_status show_one(struct bf_cli *cli, const json_t *deployment,
		struct belfry_error *err)
{
	return cli->is_json ? bf_cli_put_json(cli, deployment, err)
			    : bf_show_object(cli, deployment, err);
}

/* A sentence about it: "created morning-brief, next due 2026-12-01T01:00:00Z". */
static enum belfry_status say(struct bf_cli *cli, const char *what, const json_t *deployment,
		struct belfry_error *err)
{
	const json_t *next = json_array_get(json_object_get(deployment, "next_due"), 0);

	if (cli->is_json) {
		return bf_cli_put_json(cli, deployment, err);
	}
	(void)fprintf(cli->out, "%s ", what);
	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD,
			bf_member(deployment, "name"));
	if (json_is_string(next) && json_is_true(json_object_get(deployment, "enabled"))) {
		(void)fputs(", next due ", cli->out);
		bf_text_print(cli->out, false, BF_COLOUR_NONE, bf_json_str(next));
	}
	(void)fputc('\n', cli->out);
	return BELFRY_OK;
}

/* A rule in the past is valid, and seldom meant. */
static void warn_of_never(struct bf_cli *cli, const json_t *deployment)
{
	const json_t *due = json_object_get(deployment, "next_due");

	if (json_is_true(json_object_get(deployment, "enabled")) && json_is_array(due) &&
			json_array_size(due) == 0) {
		(void)fputs("warning: its rule never fires: no due time lies ahead\n", cli->err);
	}
}

/* A request on /v1/deployments/{id}SUFFIX that answers with the deployment. */
static enum belfry_status change(struct bf_cli *cli, const json_t *deployment, const char *suffix,
		struct bf_request request, json_t **ret_changed, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(deployment, "id"));
	bf_buf_append_text(&path, suffix);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	request.path = path.ptr;
	return bf_client_json(cli, &request, ret_changed, err);
}

/* --- list --- */

static void put_query(struct bf_buf *path, const char *name, const char *value)
{
	if (value != NULL) {
		bf_buf_appendf(path, "%c%s=", strchr(path->ptr, '?') != NULL ? '&' : '?', name);
		bf_client_encode(path, bf_str(value));
	}
}

static enum belfry_status run_list(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	int64_t max;
	enum belfry_status status = bf_args_int(args, "number", 1, INT32_MAX, 0, &max, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (bf_args_has(args, "enabled") && bf_args_has(args, "disabled")) {
		return bf_error_set(err, BELFRY_USAGE,
				"--enabled and --disabled exclude each other");
	}
	bf_buf_append_text(&path, "/v1/deployments");
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	put_query(&path, "q", bf_args_word(args, 0));
	put_query(&path, "owner", bf_args_value(args, "owner"));
	put_query(&path, "label", bf_args_value(args, "label"));
	put_query(&path, "enabled", bf_args_has(args, "enabled") ? "true" : NULL);
	put_query(&path, "enabled", bf_args_has(args, "disabled") ? "false" : NULL);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	status = bf_client_list(cli, path.ptr, (size_t)max, &items, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		return bf_show_items(cli, items, err);
	}
	if (json_array_size(items) == 0) {
		(void)fputs("no deployments: `belfry deployments create --help` shows how to make one\n",
				cli->err);
		return BELFRY_OK;
	}
	return bf_show_deployments(cli, items, err);
}

static const struct bf_option list_options[] = {
		{.name = "number", .letter = 'n', .argument = "N", .help = "At most so many (all)"},
		{.name = "enabled", .help = "Only those that are enabled"},
		{.name = "disabled", .help = "Only those that are disabled"},
		{.name = "owner", .argument = "OWNER", .help = "Only those of this owner"},
		{.name = "label", .argument = "KEY=VALUE", .help = "Only those with this label"},
		{.name = NULL},
};

static const struct bf_command command_list = {
		.path = "deployments list",
		.synopsis = "[PREFIX] [--enabled | --disabled] [--owner OWNER] [--label KEY=VALUE] [-n N]",
		.summary = "List deployments, those alone whose name begins with PREFIX",
		.example = "belfry deployments list --enabled",
		.options = list_options,
		.max_words = 1,
		.run = run_list,
};

/* --- show --- */

static enum belfry_status run_show(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *found = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *whole = NULL;
	enum belfry_status status = bf_resolve_deployment(cli, bf_args_word(args, 0), &found, err);

	if (status == BELFRY_OK) {
		status = bf_resolve_get(cli, "deployments", bf_member(found, "id"), &whole, err);
	}
	return status == BELFRY_OK ? show_one(cli, whole, err) : status;
}

static const struct bf_command command_show = {
		.path = "deployments show",
		.synopsis = "DEPLOYMENT",
		.summary = "Show one deployment",
		.details = "DEPLOYMENT is an id, a name, or OWNER/NAME.",
		.example = "belfry deployments show morning-brief",
		.min_words = 1,
		.max_words = 1,
		.run = run_show,
};

/* --- create --- */

static enum belfry_status put_own(json_t *body, const char *name, json_t *value,
		struct belfry_error *err)
{
	return json_object_set_new(body, name, value) == 0 ? BELFRY_OK : no_memory(err);
}

static enum belfry_status put_name(json_t *body, const char *name, struct belfry_error *err)
{
	if (!bf_str_is_utf8(bf_str(name))) {
		return bf_error_set(err, BELFRY_USAGE, "NAME is not UTF-8");
	}
	return put_own(body, "name", json_string(name), err);
}

static enum belfry_status run_create(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *made = NULL;
	const char *owner = NULL;
	enum belfry_status status = bf_deployment_body(cli, args, true, &body, err);

	if (status == BELFRY_OK) {
		status = put_name(body, bf_args_word(args, 0), err);
	}
	if (status == BELFRY_OK) {
		status = bf_args_text(args, "owner", &owner, err);
	}
	if (status == BELFRY_OK && bf_args_has(args, "disabled")) {
		status = put_own(body, "enabled", json_false(), err);
	}
	if (status == BELFRY_OK && owner != NULL) {
		status = put_own(body, "owner", json_string(owner), err);
	}
	if (status == BELFRY_OK) {
		struct bf_request request = {.method = "POST",
				.path = "/v1/deployments",
				.body = body};

		status = bf_client_json(cli, &request, &made, err);
	}
	if (status == BELFRY_OK) {
		warn_of_never(cli, made);
		status = say(cli, "created", made, err);
	}
	return status;
}

static const struct bf_option create_options[] = {
		BF_DEPLOYMENT_OPTIONS,
		{.name = "owner", .argument = "OWNER", .help = "Whose it is: not in this version"},
		{.name = "disabled", .help = "Make it, but do not let it fire yet"},
		{.name = NULL},
};

static const struct bf_command command_create = {
		.path = "deployments create",
		.synopsis = "NAME (--cron C | --every D | --at T | --rule JSON) [--spread D] [--tz Z]\n"
			    "         (--webhook URL | --exec [option]... -- COMMAND [ARG]...) [option]...",
		.summary = "Make a deployment: one thing to run, and when",
		.details = "Durations are written as 90s, 1h30m or PT1H30M. --at 2026-12-24 is midnight, and\n"
			   "2026-12-24 18:00 a time, by the clock of --tz, which is UTC where it is left out.\n"
			   "A command is an absolute path that the host was started with: serve --allow-exec\n"
			   "COMMAND.",
		.example = "belfry deployments create morning-brief --cron \"0 9 * * 1-5\" --tz Europe/Berlin \\\n"
			   "    --webhook https://hooks.example.org/brief --prompt \"Summarise the news.\"",
		.options = create_options,
		.min_words = 1,
		.max_words = 1,
		.has_rest = true,
		.run = run_create,
};

/* --- edit --- */

static enum belfry_status make_patch(struct bf_cli *cli, const struct bf_args *args,
		const json_t *old, json_t **ret_body, struct belfry_error *err)
{
	enum belfry_status status = bf_deployment_body(cli, args, false, ret_body, err);

	if (status == BELFRY_OK) {
		status = bf_deployment_patch(*ret_body, args, old, err);
	}
	if (status == BELFRY_OK && bf_args_has(args, "name")) {
		status = put_name(*ret_body, bf_args_value(args, "name"), err);
	}
	if (status == BELFRY_OK && json_object_size(*ret_body) == 0) {
		status = bf_error_set(err, BELFRY_USAGE,
				"there is nothing to change: `belfry deployments edit --help` lists what can be");
	}
	return status;
}

static enum belfry_status run_edit(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *old = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *changed = NULL;
	int64_t revision = 0;
	char match[32] = "";
	enum belfry_status status = bf_resolve_deployment(cli, bf_args_word(args, 0), &old, err);

	if (status == BELFRY_OK) {
		status = bf_resolve_revision(args, old, &revision, err);
	}
	if (status == BELFRY_OK) {
		status = make_patch(cli, args, old, &body, err);
	}
	if (status == BELFRY_OK) {
		struct bf_request request = {.method = "PATCH", .body = body};

		(void)snprintf(match, sizeof(match), "\"%lld\"", (long long)revision);
		request.if_match = revision > 0 ? match : NULL;
		status = change(cli, old, "", request, &changed, err);
	}
	if (status == BELFRY_OK) {
		warn_of_never(cli, changed);
		status = say(cli, "changed", changed, err);
	}
	return status;
}

static const struct bf_option edit_options[] = {
		{.name = "name", .argument = "NAME", .help = "The new name"},
		BF_DEPLOYMENT_OPTIONS,
		{.name = "if-revision",
				.argument = "N",
				.help = "Only if it is still at this revision"},
		{.name = NULL},
};

static const struct bf_command command_edit = {
		.path = "deployments edit",
		.synopsis = "DEPLOYMENT [option]...",
		.summary = "Change a deployment; what is not named stays",
		.details = "Nothing fires because of an edit: the first due time is after the save. --cron, --every\n"
			   "and --at change when, and keep the rule's except, max_fires, spread, not_before and\n"
			   "not_after; --rule JSON replaces the whole rule. --spread none and --max-fires none\n"
			   "remove what they name.",
		.example = "belfry deployments edit morning-brief --cron \"30 8 * * 1-5\"",
		.options = edit_options,
		.min_words = 1,
		.max_words = 1,
		.has_rest = true,
		.run = run_edit,
};

/* --- enable, disable, delete --- */

static enum belfry_status switch_one(struct bf_cli *cli, const struct bf_args *args,
		const char *suffix, const char *said, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *found = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *changed = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	const char *reason = NULL;
	enum belfry_status status = bf_args_text(args, "reason", &reason, err);

	if (status == BELFRY_OK) {
		status = bf_resolve_deployment(cli, bf_args_word(args, 0), &found, err);
	}
	if (status == BELFRY_OK && reason != NULL) {
		status = put_own(body, "reason", json_string(reason), err);
	}
	if (status == BELFRY_OK) {
		status = change(cli, found, suffix,
				(struct bf_request){.method = "POST", .body = body}, &changed, err);
	}
	return status == BELFRY_OK ? say(cli, said, changed, err) : status;
}

static enum belfry_status run_enable(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	return switch_one(cli, args, "/enable", "enabled", err);
}

static enum belfry_status run_disable(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	return switch_one(cli, args, "/disable", "disabled", err);
}

static enum belfry_status run_delete(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *found = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	enum belfry_status status = bf_resolve_deployment(cli, bf_args_word(args, 0), &found, err);

	if (status != BELFRY_OK) {
		return status;
	}
	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(found, "id"));
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	status = bf_client_call(cli, &(struct bf_request){.method = "DELETE", .path = path.ptr},
			&answer, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		BF_CLEANUP(bf_cleanup_json)
		json_t *gone = json_pack("{s:O}", "deleted", json_object_get(found, "id"));

		return bf_cli_put_json(cli, gone, err);
	}
	(void)fputs("deleted ", cli->out);
	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD, bf_member(found, "name"));
	(void)fputs("; its Runs are kept\n", cli->out);
	return BELFRY_OK;
}

static const struct bf_option reason_options[] = {
		{.name = "reason", .argument = "TEXT", .help = "Why; shown with the deployment"},
		{.name = NULL},
};

static const struct bf_command command_enable = {
		.path = "deployments enable",
		.synopsis = "DEPLOYMENT [--reason TEXT]",
		.summary = "Let a deployment fire from now on",
		.example = "belfry deployments enable morning-brief",
		.options = reason_options,
		.min_words = 1,
		.max_words = 1,
		.run = run_enable,
};

static const struct bf_command command_disable = {
		.path = "deployments disable",
		.synopsis = "DEPLOYMENT [--reason TEXT]",
		.summary = "Stop a deployment from firing; final when it answers",
		.details = "Runs that have started go on; those that have not are cancelled.",
		.example = "belfry deployments disable morning-brief --reason \"the receiver moves\"",
		.options = reason_options,
		.min_words = 1,
		.max_words = 1,
		.run = run_disable,
};

static const struct bf_command command_delete = {
		.path = "deployments delete",
		.synopsis = "DEPLOYMENT",
		.summary = "Remove a deployment; its Runs stay in the history",
		.example = "belfry deployments delete morning-brief",
		.min_words = 1,
		.max_words = 1,
		.run = run_delete,
};

static const struct bf_command *const children[] = {&command_list, &command_show, &command_create,
		&command_edit, &command_enable, &command_disable, &command_delete, NULL};

const struct bf_command bf_command_deployments = {
		.path = "deployments",
		.synopsis = "COMMAND ...",
		.summary = "List, show, create, change and remove deployments",
		.example = "belfry deployments list",
		.children = children,
};

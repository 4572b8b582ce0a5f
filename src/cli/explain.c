/* `belfry explain`: a rule in words, computed here, without a server; or the rule of a deployment, which its
 * server explains, since that knows the shared calendars. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/resolve.h"
#include "cli/rulearg.h"
#include "cli/text.h"
#include "cli/timearg.h"

#define DUE_SHOWN 3

struct shown {
	struct bf_cli *cli;
	const struct belfry_rule *rule;
	const char *zone;
	belfry_time from;
	struct belfry_explanation explanation;
};

static const char *class_name(enum belfry_rule_class class_)
{
	return class_ == BELFRY_RULE_FIXED_TIME ? "fixed-time" : "interval-like";
}

/* The class, and what it means where that is no word that everybody knows. */
static const char *class_words(enum belfry_rule_class class_)
{
	return class_ == BELFRY_RULE_FIXED_TIME
			? "fixed-time"
			: "interval-like: a skipped hour has no due times, a repeated hour has them "
			  "twice";
}

/* The due times behind `from`, as `belfry next` has them. NULL: no memory. */
static json_t *list_due(const struct shown *shown)
{
	json_t *list = json_array();
	belfry_time due = shown->from;
	int64_t most = bf_rulearg_most(shown->rule, DUE_SHOWN);

	for (int64_t i = 0; i < most && belfry_rule_next(shown->rule, due, &due) == BELFRY_OK;
			i++) {
		char text[BF_TIME_TEXT_BYTES];
		bf_timearg_format(shown->rule, due, text);
		if (json_array_append_new(list, json_string(text)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *list_warnings(const struct shown *shown)
{
	json_t *list = json_array();

	for (size_t i = 0; i < shown->explanation.warning_count; i++) {
		const struct belfry_rule_warning *warning = &shown->explanation.warnings[i];
		if (json_array_append_new(list,
				    json_pack("{s:s, s:s%}", "code", warning->code, "message",
						    warning->text.ptr, warning->text.len)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static enum belfry_status put_json(const struct shown *shown, struct belfry_error *err)
{
	const struct belfry_explanation *explanation = &shown->explanation;
	BF_CLEANUP(bf_cleanup_json)
	json_t *answer = json_pack("{s:s%, s:s, s:s, s:o, s:o}", "sentence",
			explanation->sentence.ptr, explanation->sentence.len, "class",
			class_name(explanation->class_), "timezone", shown->zone, "due",
			list_due(shown), "warnings", list_warnings(shown));

	return bf_cli_put_json(shown->cli, answer, err);
}

static void print_due(const struct shown *shown)
{
	belfry_time due = shown->from;
	int64_t most = bf_rulearg_most(shown->rule, DUE_SHOWN);

	for (int64_t i = 0; i < most && belfry_rule_next(shown->rule, due, &due) == BELFRY_OK;
			i++) {
		char text[BF_TIME_TEXT_BYTES];
		bf_timearg_format(shown->rule, due, text);
		(void)fprintf(shown->cli->out, "%s%s\n", i == 0 ? "due      " : "         ", text);
	}
}

static void print_warning(struct bf_cli *cli, struct belfry_str code, struct belfry_str text)
{
	(void)fputs("warning  ", cli->out);
	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_YELLOW, code);
	(void)fputs(": ", cli->out);
	bf_text_print(cli->out, false, BF_COLOUR_NONE, text);
	(void)fputc('\n', cli->out);
}

static void print_text(const struct shown *shown)
{
	const struct belfry_explanation *explanation = &shown->explanation;
	FILE *out = shown->cli->out;
	bool is_coloured = shown->cli->is_out_coloured;

	bf_text_print(out, is_coloured, BF_COLOUR_BOLD, explanation->sentence);
	(void)fprintf(out, "\nclass    %s\n", class_words(explanation->class_));
	print_due(shown);
	for (size_t i = 0; i < explanation->warning_count; i++) {
		print_warning(shown->cli, bf_str(explanation->warnings[i].code),
				explanation->warnings[i].text);
	}
}

/* --- the rule of a deployment --- */

/* Writes into each `every` that has no anchor the one that it goes by. BELFRY_OK or BELFRY_NOMEM. */
static enum belfry_status put_anchors(json_t *rule, json_t *anchor)
{
	BF_CLEANUP(bf_cleanup_json) json_t *todo = json_pack("[O]", rule);
	bool is_failed = todo == NULL;

	for (size_t i = 0; i < json_array_size(todo); i++) {
		json_t *one = json_array_get(todo, i);
		const json_t *any = json_object_get(one, "any");
		if (json_object_get(one, "every") != NULL &&
				json_object_get(one, "anchor") == NULL) {
			is_failed = is_failed || json_object_set(one, "anchor", anchor) != 0;
		}
		for (size_t k = 0; k < json_array_size(any); k++) {
			is_failed = is_failed ||
					json_array_append(todo, json_array_get(any, k)) != 0;
		}
	}
	return is_failed ? BELFRY_NOMEM : BELFRY_OK;
}

/* What POST /v1/preview takes. NULL: no memory. */
static json_t *new_question(const json_t *deployment, belfry_time from)
{
	json_t *policies = json_object_get(deployment, "policies");
	BF_CLEANUP(bf_cleanup_json)
	json_t *rule = json_deep_copy(json_object_get(deployment, "rule"));
	char text[BF_TIME_TEXT_BYTES];

	bf_time_format(from, 0, text);
	if (rule == NULL ||
			put_anchors(rule, json_object_get(deployment, "created_at")) != BELFRY_OK) {
		return NULL;
	}
	return json_pack("{s:O, s:O*, s:O*, s:s, s:i}", "rule", rule, "timezone",
			json_object_get(deployment, "timezone_used"), "dst",
			json_object_get(policies, "dst"), "from", text, "n", DUE_SHOWN);
}

/* The server's answer as this command shows one. NULL: no memory. */
static json_t *new_shown(const json_t *answer)
{
	const json_t *due = json_object_get(answer, "due");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(due); i++) {
		json_t *local = json_object_get(json_array_get(due, i), "local");
		if (local != NULL && json_array_append(list, local) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:O*, s:O*, s:O*, s:o, s:O*}", "sentence",
			json_object_get(answer, "sentence"), "class",
			json_object_get(answer, "class"), "timezone",
			json_object_get(answer, "timezone_used"), "due", list, "warnings",
			json_object_get(answer, "warnings"));
}

static void print_shown(struct bf_cli *cli, const json_t *shown)
{
	const json_t *due = json_object_get(shown, "due");
	const json_t *warnings = json_object_get(shown, "warnings");
	bool is_fixed = bf_str_equal(bf_member(shown, "class"), BF_STR("fixed-time"));

	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD, bf_member(shown, "sentence"));
	(void)fprintf(cli->out, "\nclass    %s\n",
			class_words(is_fixed ? BELFRY_RULE_FIXED_TIME : BELFRY_RULE_INTERVAL_LIKE));
	for (size_t i = 0; i < json_array_size(due); i++) {
		(void)fputs(i == 0 ? "due      " : "         ", cli->out);
		bf_text_print(cli->out, false, BF_COLOUR_NONE, bf_json_str(json_array_get(due, i)));
		(void)fputc('\n', cli->out);
	}
	for (size_t i = 0; i < json_array_size(warnings); i++) {
		const json_t *warning = json_array_get(warnings, i);
		print_warning(cli, bf_member(warning, "code"), bf_member(warning, "message"));
	}
}

static enum belfry_status refuse_beside(const struct bf_args *args, struct belfry_error *err)
{
	static const char *const names[] = {"tz", "gap", "fold"};

	if (bf_args_word(args, 0) != NULL) {
		return bf_error_set(err, BELFRY_USAGE,
				"RULE and --deployment are two rules: give one of them");
	}
	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_args_has(args, names[i])) {
			return bf_error_set(err, BELFRY_USAGE,
					"--%s: the deployment has its own: leave it out", names[i]);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status explain_deployment(struct bf_cli *cli, const struct bf_args *args,
		const char *from, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *deployment = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *question = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *answer = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *shown = NULL;
	belfry_time at;
	enum belfry_status status = refuse_beside(args, err);

	if (status == BELFRY_OK) {
		status = bf_resolve_deployment(cli, bf_args_value(args, "deployment"), &deployment,
				err);
	}
	if (status == BELFRY_OK) {
		status = bf_resolve_time(cli, "--from", from, deployment, &at, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	question = new_question(deployment, at);
	if (question == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	struct bf_request request = {.method = "POST", .path = "/v1/preview", .body = question};
	status = bf_client_json(cli, &request, &answer, err);
	if (status != BELFRY_OK) {
		return status;
	}
	shown = new_shown(answer);
	if (shown == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (cli->is_json) {
		return bf_cli_put_json(cli, shown, err);
	}
	print_shown(cli, shown);
	return BELFRY_OK;
}

static enum belfry_status run_explain(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	const char *from = bf_args_has(args, "from") ? bf_args_value(args, "from") : "now";
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct shown shown = {
			.cli = cli,
			.zone = bf_args_has(args, "tz") ? bf_args_value(args, "tz") : "UTC",
			.explanation = BELFRY_EXPLANATION_INIT,
	};

	if (bf_args_has(args, "deployment")) {
		return explain_deployment(cli, args, from, err);
	}
	if (bf_args_word(args, 0) == NULL) {
		return bf_error_set(err, BELFRY_USAGE,
				"RULE is missing: belfry explain RULE, or --deployment NAME");
	}
	enum belfry_status status = bf_timearg_parse(cli, "--from", from, shown.zone, &shown.from,
			err);

	if (status == BELFRY_OK) {
		status = bf_rulearg_new(cli, args, shown.zone, shown.from, &rule, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	shown.rule = rule;
	status = belfry_rule_explain(rule, shown.from, &arena, &shown.explanation);
	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "%s", belfry_status_text(status));
	}
	if (cli->is_json) {
		return put_json(&shown, err);
	}
	print_text(&shown);
	return BELFRY_OK;
}

static const struct bf_option explain_options[] = {
		{.name = "tz", .argument = "ZONE", .help = "The rule's zone, an IANA name (UTC)"},
		{.name = "deployment",
				.argument = "NAME",
				.help = "The rule of this deployment, explained by its server"},
		{.name = "from",
				.argument = "TIME",
				.help = "Told as of this time; due times strictly after it (now)"},
		BF_RULEARG_GAP,
		BF_RULEARG_FOLD,
		{.name = NULL},
};

const struct bf_command bf_command_explain = {
		.path = "explain",
		.synopsis = "(RULE [--tz ZONE] [--gap P] [--fold P] | --deployment NAME) [--from TIME]",
		.summary = "Say in words when a rule is due, and what may surprise in it",
		.details = "RULE is a cron expression of five or six fields (seconds first), or rule JSON;\n"
			   "no server is asked, so a shared calendar needs its content beside its name.\n"
			   "TIME is RFC 3339, a local date and time in the zone, now, or a distance: -2h.\n"
			   "Exit status 1: the rule is not valid. A rule that is never due again is told so.",
		.example = "belfry explain \"30 2 * * 1-5\" --tz Europe/Berlin\n"
			   "belfry explain \"*/7 9-17 * * *\" --from 2026-12-24\n"
			   "belfry explain --deployment morning-brief",
		.options = explain_options,
		.max_words = 1,
		.is_rule_first = true,
		.run = run_explain,
};

/* `belfry explain`: a rule in words, computed here, without a server. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
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

static void print_text(const struct shown *shown)
{
	const struct belfry_explanation *explanation = &shown->explanation;
	FILE *out = shown->cli->out;
	bool is_coloured = shown->cli->is_out_coloured;

	bf_text_print(out, is_coloured, BF_COLOUR_BOLD, explanation->sentence);
	(void)fprintf(out, "\nclass    %s\n", class_words(explanation->class_));
	print_due(shown);
	for (size_t i = 0; i < explanation->warning_count; i++) {
		(void)fputs("warning  ", out);
		bf_text_print(out, is_coloured, BF_COLOUR_YELLOW,
				bf_str(explanation->warnings[i].code));
		(void)fputs(": ", out);
		bf_text_print(out, false, BF_COLOUR_NONE, explanation->warnings[i].text);
		(void)fputc('\n', out);
	}
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
		{.name = "from",
				.argument = "TIME",
				.help = "Told as of this time; due times strictly after it (now)"},
		BF_RULEARG_GAP,
		BF_RULEARG_FOLD,
		{.name = NULL},
};

const struct bf_command bf_command_explain = {
		.path = "explain",
		.synopsis = "RULE [--tz ZONE] [--from TIME] [--gap P] [--fold P]",
		.summary = "Say in words when a rule is due, and what may surprise in it; needs no server",
		.details = "RULE is a cron expression of five or six fields (seconds first), or rule JSON.\n"
			   "TIME is RFC 3339, a local date and time in the zone, now, or a distance: -2h.\n"
			   "Exit status 1: the rule is not valid. A rule that is never due again is told so.",
		.example = "belfry explain \"30 2 * * 1-5\" --tz Europe/Berlin\n"
			   "belfry explain \"*/7 9-17 * * *\" --from 2026-12-24",
		.options = explain_options,
		.min_words = 1,
		.max_words = 1,
		.is_rule_first = true,
		.run = run_explain,
};

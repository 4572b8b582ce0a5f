/* `belfry next`: the due times of a rule, computed here, without a server. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/rulearg.h"
#include "cli/timearg.h"

#define COUNT_DEFAULT 5
#define COUNT_MAX     10000

/* Prints as it goes; in JSON at the end. *ret_count: how many there were. */
static enum belfry_status print_due(struct bf_cli *cli, const struct belfry_rule *rule,
		belfry_time from, int64_t wanted, int64_t *ret_count, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	BF_CLEANUP(bf_cleanup_json) json_t *answer = NULL;
	char text[BF_TIME_TEXT_BYTES];
	int64_t most = bf_rulearg_most(rule, wanted);
	int64_t count = 0;

	for (; count < most && belfry_rule_next(rule, from, &from) == BELFRY_OK; count++) {
		bf_timearg_format(rule, from, text);
		if (!cli->is_json) {
			(void)fprintf(cli->out, "%s\n", text);
		} else if (json_array_append_new(items, json_string(text)) != 0) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
	}
	*ret_count = count;
	if (cli->is_json) {
		answer = json_pack("{s:O}", "items", items);
		return bf_cli_put_json(cli, answer, err);
	}
	return BELFRY_OK;
}

static enum belfry_status run_next(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	const char *zone = bf_args_has(args, "tz") ? bf_args_value(args, "tz") : "UTC";
	const char *from_text = bf_args_has(args, "from") ? bf_args_value(args, "from") : "now";
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	int64_t wanted = 0;
	int64_t count = 0;
	belfry_time from = 0;
	enum belfry_status status = bf_args_int(args, "number", 1, COUNT_MAX, COUNT_DEFAULT,
			&wanted, err);

	if (status == BELFRY_OK) {
		status = bf_timearg_parse(cli, "--from", from_text, zone, &from, err);
	}
	if (status == BELFRY_OK) {
		status = bf_rulearg_new(cli, args, zone, from, &rule, err);
	}
	if (status == BELFRY_OK) {
		status = print_due(cli, rule, from, wanted, &count, err);
	}
	if (status == BELFRY_OK && count < wanted) {
		status = bf_error_set(err, BELFRY_NEVER,
				count > 0 ? "the rule never fires again after that"
					  : "the rule never fires again");
	}
	return status;
}

static const struct bf_option next_options[] = {
		{.name = "tz", .argument = "ZONE", .help = "The rule's zone, an IANA name (UTC)"},
		{.name = "from",
				.argument = "TIME",
				.help = "Due times strictly after this one (now)"},
		{.name = "number",
				.letter = 'n',
				.argument = "N",
				.help = "How many, 1 to 10000 (5)"},
		BF_RULEARG_GAP,
		BF_RULEARG_FOLD,
		{.name = NULL},
};

const struct bf_command bf_command_next = {
		.path = "next",
		.synopsis = "RULE [--tz ZONE] [--from TIME] [-n N] [--gap P] [--fold P]",
		.summary = "Show the next due times of a rule; needs no server",
		.details = "RULE is a cron expression of five or six fields (seconds first), or rule JSON.\n"
			   "TIME is RFC 3339, a local date and time in the zone, now, or a distance: -2h.\n"
			   "Exit status 1: the rule is not valid; 3: it never fires again.",
		.example = "belfry next \"0 9 * * 1-5\" --tz Europe/Berlin -n 3\n"
			   "belfry next \"30 2 * * *\" --tz America/New_York --from 2026-03-07 --gap skip",
		.options = next_options,
		.min_words = 1,
		.max_words = 1,
		.is_rule_first = true,
		.run = run_next,
};

/* A rule as the first word of a command, with its policies: `belfry next`, `belfry explain`. */
#ifndef BF_CLI_RULEARG_H
#define BF_CLI_RULEARG_H

#include "cli/cli.h"

#define BF_RULEARG_GAP                                                                             \
	{                                                                                          \
		.name = "gap", .argument = "P",                                                    \
		.help = "A time that the clocks skip: at_end, skip or shift (at_end)"              \
	}
#define BF_RULEARG_FOLD                                                                            \
	{                                                                                          \
		.name = "fold", .argument = "P",                                                   \
		.help = "A time that occurs twice: first, last or both (first)"                    \
	}

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

/* The rule that the first word is, in `zone`, by --gap and --fold; the anchor is for an interval that
 * names none. ret_rule is owned: belfry_rule_free. What belfry_rule_new and bf_cli_zones return, and
 * BELFRY_USAGE. A refusal is shown with its place (cli->text_at_fault). */
BF_MUST_CHECK enum belfry_status bf_rulearg_new(struct bf_cli *cli, const struct bf_args *args,
		const char *zone, belfry_time anchor, struct belfry_rule **ret_rule,
		struct belfry_error *err);

/* Of so many due times those that the rule may fire at, as though it had not fired yet. */
int64_t bf_rulearg_most(const struct belfry_rule *rule, int64_t wanted);

#endif

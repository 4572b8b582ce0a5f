/* A rule given on the command line, for the commands that look at it here. */
#include "cli/rulearg.h"

#include "base/error.h"
#include "base/str.h"

static enum belfry_status read_policies(const struct bf_args *args,
		struct belfry_rule_options *options, struct belfry_error *err)
{
	static const char *const gaps[] = {"at_end", "skip", "shift", NULL};
	static const char *const folds[] = {"first", "last", "both", NULL};
	unsigned gap = options->gap;
	unsigned fold = options->fold;
	enum belfry_status status = bf_args_enum(args, "gap", gaps, &gap, err);

	if (status == BELFRY_OK) {
		status = bf_args_enum(args, "fold", folds, &fold, err);
	}
	options->gap = (enum belfry_dst_gap)gap;
	options->fold = (enum belfry_dst_fold)fold;
	return status;
}

enum belfry_status bf_rulearg_new(struct bf_cli *cli, const struct bf_args *args, const char *zone,
		belfry_time anchor, struct belfry_rule **ret_rule, struct belfry_error *err)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_zones *zones = NULL;
	enum belfry_status status = read_policies(args, &options, err);

	if (status == BELFRY_OK) {
		status = bf_cli_zones(cli, &zones, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	cli->text_at_fault = bf_args_word(args, 0);
	options.anchor = anchor;
	return belfry_rule_new(zones, bf_str(bf_args_word(args, 0)), bf_str(zone), &options,
			ret_rule, err);
}

int64_t bf_rulearg_most(const struct belfry_rule *rule, int64_t wanted)
{
	int64_t max_fires = belfry_rule_max_fires(rule);

	return max_fires != 0 ? BF_MIN(wanted, max_fires) : wanted;
}

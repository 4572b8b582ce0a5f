/* From a host's schedule to the planner's request: everything is checked before anything is asked of
 * the store, so that a refusal leaves no trace (contract.md, T071, T072). Lengths, flags and policies come checked
 * (provider_check.c). */
#include "base/error.h"
#include "provider/embedded_priv.h"

static struct belfry_rule_options rule_options(const struct bf_definition *definition)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;

	options.five_fields = (definition->flags & BELFRY_SCHEDULE_F_FIVE_FIELDS) != 0;
	options.gap = definition->policies.dst_gap;
	options.fold = definition->policies.dst_fold;
	options.anchor = definition->anchor;
	return options;
}

static enum belfry_status check_rule(struct bf_embedded *embedded,
		const struct bf_definition *definition, struct belfry_error *err)
{
	struct belfry_rule_options options = rule_options(definition);
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;

	return belfry_rule_new(embedded->zones, definition->rule, definition->zone, &options, &rule,
			err);
}

/* Is it what is stored already, word for word? Then it was valid, and is to be switched off now: a zone
 * that has gone from this machine must not keep it on. */
static bool is_stored_rule(struct bf_embedded *embedded, const struct belfry_schedule *schedule)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_schedule_row row;
	struct bf_definition stored;
	belfry_time now;

	return bf_embedded_row(embedded, schedule->id, &arena, &row, &now, NULL) == BELFRY_OK &&
			!row.is_removed &&
			bf_definition_decode(row.definition, &stored, NULL) == BELFRY_OK &&
			bf_str_equal(stored.rule, schedule->rule) &&
			bf_str_equal(stored.zone, schedule->zone);
}

/* All text of the request in one block, cut into its parts. */
static enum belfry_status fill(struct bf_put *put, const struct belfry_schedule *schedule,
		const struct bf_definition *definition)
{
	size_t ends[4];

	bf_buf_append_str(&put->text, schedule->id);
	ends[0] = put->text.len;
	bf_definition_encode(definition, &put->text);
	ends[1] = put->text.len;
	bf_buf_append_str(&put->text, schedule->fair_key);
	ends[2] = put->text.len;
	bf_buf_append_str(&put->text, schedule->payload);
	ends[3] = put->text.len;
	if (bf_buf_status(&put->text) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	struct belfry_str all = bf_buf_str(&put->text);
	put->request.schedule = bf_str_slice(all, 0, ends[0]);
	put->request.revision = schedule->revision;
	put->request.put = (struct belfry_schedule_put){
			.revision = schedule->revision,
			.flags = schedule->flags,
			.definition = bf_str_slice(all, ends[0], ends[1]),
			.fair_key = bf_str_slice(all, ends[1], ends[2]),
			.payload = bf_str_slice(all, ends[2], ends[3]),
	};
	return BELFRY_OK;
}

enum belfry_status bf_put_init(struct bf_put *put, struct bf_embedded *embedded,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	*put = (struct bf_put){0};
	struct bf_definition definition = {
			.flags = schedule->flags,
			.anchor = schedule->created_at != 0
					? schedule->created_at
					: embedded->env.wall(embedded->env.data),
			.rule = schedule->rule,
			.zone = schedule->zone,
			.policies = schedule->policies,
	};
	enum belfry_status status = check_rule(embedded, &definition, err);
	bool is_enabled = (schedule->flags & BELFRY_SCHEDULE_F_ENABLED) != 0;
	if (status != BELFRY_OK && (is_enabled || !is_stored_rule(embedded, schedule))) {
		return status;
	}
	status = fill(put, schedule, &definition);
	if (status != BELFRY_OK) {
		bf_put_fini(put);
		return bf_error_system(err, status, 0, "put");
	}
	return BELFRY_OK;
}

void bf_put_fini(struct bf_put *put)
{
	bf_buf_fini(&put->text);
}

enum belfry_status bf_embedded_rule(struct bf_embedded *embedded,
		const struct belfry_schedule_row *row, struct bf_definition *ret_definition,
		struct belfry_rule **ret_rule, struct belfry_error *err)
{
	enum belfry_status status = bf_definition_decode(row->definition, ret_definition, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_rule_options options = rule_options(ret_definition);
	return belfry_rule_new(embedded->zones, ret_definition->rule, ret_definition->zone,
			&options, ret_rule, err);
}

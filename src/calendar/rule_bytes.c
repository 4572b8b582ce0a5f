/* What a rule keeps in memory, for whoever keeps many: its own blocks, as asked for. The zone is not counted,
 * because its rules share it. */
#include "calendar/rule_bytes.h"

#include "calendar/rule.h"

static size_t part_bytes(const struct bf_part *part)
{
	size_t bytes = sizeof(*part);

	if (part->kind == BF_PART_AT) {
		bytes += (part->of.at.count + part->of.at.local_count) * sizeof(belfry_time);
	} else if (part->kind == BF_PART_EVERY && part->of.every.seconds != NULL) {
		bytes += sizeof(*part->of.every.seconds);
	}
	if (part->left != NULL) {
		bytes += sizeof(*part->left) +
				part->left->partial_count * sizeof(*part->left->partial);
	}
	return bytes;
}

static size_t set_bytes(const struct bf_except_set *set)
{
	return sizeof(*set) + set->date_count * sizeof(*set->dates) +
			set->cron_count * sizeof(*set->crons) +
			set->instant_count * sizeof(*set->instants);
}

size_t bf_rule_bytes(const struct belfry_rule *rule)
{
	size_t bytes = sizeof(*rule) + rule->set_capacity * sizeof(*rule->sets);

	for (size_t i = 0; i < rule->count; i++) {
		bytes += part_bytes(&rule->parts[i]);
	}
	for (size_t i = 0; i < rule->set_count; i++) {
		bytes += set_bytes(rule->sets[i]);
	}
	return bytes;
}

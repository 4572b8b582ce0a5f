/* The cache of compiled rules: a hash table in order of arrival (uthash keeps it). */
#include "engine/rules.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "calendar/rule_bytes.h"

/* A failed insertion leaves the entry out, and the caller sees it. */
#define HASH_NONFATAL_OOM          1
#define uthash_malloc(size)        bf_alloc(size)
#define uthash_free(pointer, size) bf_free(pointer)
#include <uthash.h>

struct entry {
	UT_hash_handle hh;
	struct belfry_rule *rule;
	int64_t revision;
	uint64_t fingerprint; /* of what it was parsed from */
	size_t bytes;         /* its own and the rule's */
	size_t id_len;
	char id[BELFRY_SCHEDULE_ID_BYTES];
};

struct bf_rules {
	struct belfry_zones *zones;
	uint64_t generation; /* of the zones: every entry was made with it, or a later one */
	struct entry *entries;
	size_t max_count;
	size_t max_bytes;
	size_t bytes; /* of all entries */
};

enum belfry_status bf_rules_new(struct belfry_zones *zones, size_t max_count, size_t max_bytes,
		struct bf_rules **ret_rules)
{
	struct bf_rules *rules = bf_alloc(sizeof(*rules));

	if (rules == NULL) {
		return BELFRY_NOMEM;
	}
	*rules = (struct bf_rules){.zones = zones,
			.generation = belfry_zones_generation(zones),
			.max_count = max_count,
			.max_bytes = max_bytes};
	*ret_rules = rules;
	return BELFRY_OK;
}

static void remove_entry(struct bf_rules *rules, struct entry *entry)
{
	HASH_DEL(rules->entries, entry);
	rules->bytes -= entry->bytes;
	belfry_rule_free(entry->rule);
	bf_free(entry);
}

void bf_rules_clear(struct bf_rules *rules)
{
	while (rules->entries != NULL) {
		remove_entry(rules, rules->entries);
	}
}

size_t bf_rules_bytes(const struct bf_rules *rules)
{
	return rules->bytes;
}

void bf_rules_free(struct bf_rules *rules)
{
	if (rules != NULL) {
		bf_rules_clear(rules);
		bf_free(rules);
	}
}

static enum belfry_status parse(struct bf_rules *rules, const struct bf_definition *definition,
		struct belfry_rule **ret_rule, struct belfry_error *err)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;

	options.five_fields = (definition->flags & BELFRY_SCHEDULE_F_FIVE_FIELDS) != 0;
	options.gap = definition->policies.dst_gap;
	options.fold = definition->policies.dst_fold;
	options.anchor = definition->anchor;
	enum belfry_status status = belfry_rule_new(rules->zones, definition->rule,
			definition->zone, &options, ret_rule, err);
	/* A damaged zone file is this machine's fault, not the row's: others may evaluate it. */
	return status == BELFRY_CORRUPT ? BELFRY_INVALID_SCHEDULE : status;
}

/* A revision that was refused may come again with other words: its number alone tells nothing. */
static uint64_t fingerprint_of(const struct bf_definition *definition)
{
	uint64_t print = bf_hash64((uint64_t)definition->anchor, definition->rule.ptr,
			definition->rule.len);

	print = bf_hash64(print ^ definition->flags, definition->zone.ptr, definition->zone.len);
	return print ^ ((uint64_t)definition->policies.dst_gap << 8) ^
			((uint64_t)definition->policies.dst_fold << 16);
}

/* What is larger than the bound is kept alone: whoever asked borrows it. */
static void make_room(struct bf_rules *rules, size_t bytes)
{
	while (rules->entries != NULL &&
			(HASH_COUNT(rules->entries) >= rules->max_count ||
					rules->bytes + bytes > rules->max_bytes)) {
		remove_entry(rules, rules->entries);
	}
}

/* Takes the rule. */
static enum belfry_status add_entry(struct bf_rules *rules, struct belfry_str schedule,
		int64_t revision, uint64_t fingerprint, struct belfry_rule *rule)
{
	struct entry *entry = bf_alloc(sizeof(*entry));

	if (entry == NULL) {
		belfry_rule_free(rule);
		return BELFRY_NOMEM;
	}
	entry->rule = rule;
	entry->revision = revision;
	entry->fingerprint = fingerprint;
	entry->id_len = schedule.len;
	memcpy(entry->id, schedule.ptr, schedule.len);
	entry->bytes = sizeof(*entry) + bf_rule_bytes(rule);
	make_room(rules, entry->bytes);
	HASH_ADD_KEYPTR(hh, rules->entries, entry->id, (unsigned)entry->id_len, entry);
	if (entry->hh.tbl == NULL) {
		belfry_rule_free(rule);
		bf_free(entry);
		return BELFRY_NOMEM;
	}
	rules->bytes += entry->bytes;
	return BELFRY_OK;
}

enum belfry_status bf_rules_find(struct bf_rules *rules, struct belfry_str schedule,
		int64_t revision, const struct bf_definition *definition,
		const struct belfry_rule **ret_rule, struct belfry_error *err)
{
	struct entry *entry = NULL;
	struct belfry_rule *rule = NULL;

	if (schedule.len == 0 || schedule.len > BELFRY_SCHEDULE_ID_BYTES) {
		return BELFRY_CORRUPT;
	}
	uint64_t generation = belfry_zones_generation(rules->zones);
	if (generation != rules->generation) {
		bf_rules_clear(rules);
		rules->generation = generation;
	}
	uint64_t fingerprint = fingerprint_of(definition);
	HASH_FIND(hh, rules->entries, schedule.ptr, (unsigned)schedule.len, entry);
	if (entry != NULL && entry->revision == revision && entry->fingerprint == fingerprint) {
		*ret_rule = entry->rule;
		return BELFRY_OK;
	}
	if (entry != NULL) {
		remove_entry(rules, entry);
	}
	enum belfry_status status = parse(rules, definition, &rule, err);
	if (status != BELFRY_OK) {
		return status;
	}
	status = add_entry(rules, schedule, revision, fingerprint, rule);
	if (status == BELFRY_OK) {
		*ret_rule = rule;
	}
	return status;
}

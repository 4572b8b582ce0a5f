/* Counting the load, and finding the busiest minutes.
 *
 * Invariant  once counted, the members of a group lie together, in the order of their putting, and
 *            group->first is the first of them.
 * Not here   the plan (load_spread.c), reading deployments (forecast.c). */
#include "host/load.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/timefmt.h"

#define HASH_NONFATAL_OOM          1
#define uthash_malloc(size)        bf_alloc(size)
#define uthash_free(pointer, size) bf_free(pointer)
#include <uthash.h>

#define MEMORY_BYTES ((size_t)96 * 1024 * 1024)
/* What a rule takes beside its text, roughly: one part, its share of a table, its place here. */
#define RULE_BYTES      1024
#define RULE_TEXT_TIMES 8 /* a byte of text that becomes an instant */
#define LATE_EVERY      64
#define PEAK_SHARE      4 /* a level below a quarter of the highest is no peak */

struct bf_load_key {
	UT_hash_handle hh;
	uint32_t group;
	size_t len;
	char bytes[];
};

enum belfry_status bf_load_init(struct bf_load *load, belfry_time from, size_t minute_count,
		bool (*is_late)(void *data), void *data)
{
	*load = (struct bf_load){
			.from = from - from % BELFRY_MINUTE,
			.begin = from,
			.now = INT64_MIN,
			.minute_count = minute_count,
			.is_late = is_late,
			.data = data,
			.counts = bf_alloc_array(minute_count, sizeof(*load->counts)),
			.scratch = bf_alloc_array(minute_count, sizeof(*load->scratch)),
	};
	if (load->counts == NULL || load->scratch == NULL) {
		return BELFRY_NOMEM;
	}
	memset(load->counts, 0, minute_count * sizeof(*load->counts));
	memset(load->scratch, 0, minute_count * sizeof(*load->scratch));
	return BELFRY_OK;
}

void bf_load_fini(struct bf_load *load)
{
	struct bf_load_key *key;
	struct bf_load_key *next;

	HASH_ITER(hh, load->keys, key, next)
	{
		HASH_DEL(load->keys, key);
		bf_free(key);
	}
	for (size_t i = 0; i < load->group_count; i++) {
		belfry_rule_free(load->groups[i].rule);
	}
	bf_free(load->groups);
	bf_free(load->members);
	bf_free(load->counts);
	bf_free(load->scratch);
	*load = (struct bf_load){0};
}

/* --- putting --- */

bool bf_load_is_full(const struct bf_load *load)
{
	return load->bytes >= MEMORY_BYTES;
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* Cron text means the same for everybody in a zone who had it from the beginning; what JSON says may hang on
 * the schedule: when it was made, what it has fired, where its id puts it in a spread. */
static bool is_shared(const struct bf_load *load, const struct bf_load_rule *rule)
{
	return rule->text.len > 0 && rule->text.ptr[0] != '{' && rule->since <= load->begin;
}

static enum belfry_status write_key(const struct bf_load_rule *rule, struct bf_buf *bytes)
{
	bf_buf_append_str(bytes, rule->text);
	bf_buf_append_byte(bytes, '\0');
	bf_buf_append_str(bytes, rule->zone);
	bf_buf_append_byte(bytes, '\0');
	bf_buf_append_byte(bytes, (char)rule->options.gap);
	bf_buf_append_byte(bytes, (char)rule->options.fold);
	return bf_buf_status(bytes);
}

static enum belfry_status put_key(struct bf_load *load, struct belfry_str bytes, uint32_t group)
{
	struct bf_load_key *key = bf_alloc(sizeof(*key) + bytes.len);

	if (key == NULL) {
		return BELFRY_NOMEM;
	}
	key->group = group;
	key->len = bytes.len;
	memcpy(key->bytes, bytes.ptr, bytes.len);
	HASH_ADD_KEYPTR(hh, load->keys, key->bytes, key->len, key);
	if (key->hh.tbl == NULL) { /* no memory for the table */
		bf_free(key);
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

/* How many firings are left, if they are limited. False: none. */
static bool find_left(const struct belfry_rule *rule, uint64_t fired_count, uint64_t *ret_left)
{
	uint64_t max_fires = belfry_rule_max_fires(rule);

	*ret_left = max_fires > fired_count ? max_fires - fired_count : 0;
	return max_fires == 0 || *ret_left > 0;
}

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

/* *ret_group stays as it is where the rule has no firing left. */
static enum belfry_status new_group(struct bf_load *load, struct belfry_zones *zones,
		const struct bf_load_rule *source, uint32_t *ret_group, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	uint64_t left;

	enum belfry_status status = belfry_rule_new(zones, source->text, source->zone,
			&source->options, &rule, err);
	if (status != BELFRY_OK || !find_left(rule, source->fired_count, &left)) {
		return status;
	}
	if (BF_GROW(load->groups, load->group_capacity, load->group_count + 1) != BELFRY_OK) {
		return no_memory(err);
	}
	*ret_group = (uint32_t)load->group_count++;
	load->groups[*ret_group].spread = belfry_rule_spread(rule); /* grown: the rest is zero */
	load->groups[*ret_group].max_fires = left;
	load->groups[*ret_group].since = source->since;
	load->groups[*ret_group].rule = BF_TAKE(rule);
	load->bytes += RULE_BYTES + RULE_TEXT_TIMES * source->text.len;
	return BELFRY_OK;
}

static enum belfry_status find_group(struct bf_load *load, struct belfry_zones *zones,
		const struct bf_load_rule *rule, uint32_t *ret_group, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	struct bf_load_key *key = NULL;

	if (!is_shared(load, rule)) {
		return new_group(load, zones, rule, ret_group, err);
	}
	if (write_key(rule, &bytes) != BELFRY_OK) {
		return no_memory(err);
	}
	HASH_FIND(hh, load->keys, bytes.ptr, bytes.len, key);
	if (key != NULL) {
		*ret_group = key->group;
		return BELFRY_OK;
	}
	enum belfry_status status = new_group(load, zones, rule, ret_group, err);
	if (status == BELFRY_OK && put_key(load, bf_buf_str(&bytes), *ret_group) != BELFRY_OK) {
		status = no_memory(err);
	}
	return status;
}

enum belfry_status bf_load_put(struct bf_load *load, struct belfry_zones *zones,
		struct belfry_id id, const struct bf_load_rule *rule, struct belfry_error *err)
{
	uint32_t group = UINT32_MAX;
	enum belfry_status status = find_group(load, zones, rule, &group, err);

	if (status != BELFRY_OK || group == UINT32_MAX) {
		return status;
	}
	if (BF_GROW(load->members, load->member_capacity, load->member_count + 1) != BELFRY_OK) {
		return no_memory(err);
	}
	load->members[load->member_count] = (struct bf_load_member){
			.id = id,
			.group = group,
			.order = (uint32_t)load->member_count,
	};
	load->groups[group].member_count++;
	load->member_count++;
	load->bytes += sizeof(struct bf_load_member);
	return BELFRY_OK;
}

/* --- counting --- */

static int compare_members(const void *a, const void *b)
{
	const struct bf_load_member *left = a;
	const struct bf_load_member *right = b;

	if (left->group != right->group) {
		return left->group < right->group ? -1 : 1;
	}
	return left->order < right->order ? -1 : 1;
}

static void order_members(struct bf_load *load)
{
	uint32_t first = 0;

	if (load->member_count > 0) {
		qsort(load->members, load->member_count, sizeof(*load->members), compare_members);
	}
	for (size_t i = 0; i < load->group_count; i++) {
		load->groups[i].first = first;
		first += load->groups[i].member_count;
	}
}

enum belfry_status bf_load_add(const struct bf_load *load, const struct bf_load_group *group,
		uint32_t member, belfry_duration spread, uint32_t *counts)
{
	struct belfry_forecast_options options = BELFRY_FORECAST_OPTIONS_INIT;
	char id[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(load->members[member].id, id);
	options.from = load->begin;
	options.lead = load->begin - load->from;
	options.to = load->from + (belfry_duration)load->minute_count * BELFRY_MINUTE;
	options.schedule = bf_str(id);
	options.spread = spread;
	options.max_fires = group->max_fires;
	options.since = group->since;
	options.left_since = load->now;
	return belfry_rule_forecast(group->rule, &options, counts, load->minute_count, NULL);
}

/* What one member of the group has, in `scratch`. */
static enum belfry_status count_one(struct bf_load *load, const struct bf_load_group *group)
{
	memset(load->scratch, 0, load->minute_count * sizeof(*load->scratch));
	return bf_load_add(load, group, group->first, group->spread, load->scratch);
}

static enum belfry_status count_group(struct bf_load *load, const struct bf_load_group *group)
{
	if (group->member_count == 1) {
		return bf_load_add(load, group, group->first, group->spread, load->counts);
	}
	enum belfry_status status = count_one(load, group);
	for (size_t i = 0; i < load->minute_count && status == BELFRY_OK; i++) {
		uint64_t sum = load->counts[i] + (uint64_t)load->scratch[i] * group->member_count;
		load->counts[i] = (uint32_t)BF_MIN(sum, UINT32_MAX);
	}
	return status;
}

/* The minutes that have most, among those with fewer than `below`. False: there are none. */
static bool find_level(const struct bf_load *load, uint32_t below, struct bf_load_peak *ret_peak)
{
	struct bf_load_peak peak = {0};

	for (size_t i = 0; i < load->minute_count; i++) {
		uint32_t count = load->counts[i];
		if (count >= below || count < peak.count || count == 0) {
			continue;
		}
		if (count > peak.count) {
			peak = (struct bf_load_peak){.minute = (uint32_t)i, .count = count};
		}
		peak.minute_count++;
	}
	*ret_peak = peak;
	return peak.count > 0;
}

static void find_levels(struct bf_load *load)
{
	uint32_t below = UINT32_MAX;
	struct bf_load_peak peak;

	while (load->peak_count < BF_LOAD_PEAKS && find_level(load, below, &peak) &&
			peak.count >= load->peaks[0].count / PEAK_SHARE) {
		load->peaks[load->peak_count++] = peak;
		below = peak.count;
	}
}

/* --- who makes them --- */

static void look_at_group(struct bf_load *load, struct bf_load_group *group)
{
	uint32_t half = load->peaks[0].count / 2;

	for (size_t i = 0; i < load->peak_count; i++) {
		struct bf_load_peak *peak = &load->peaks[i];
		group->at_peaks[i] = load->scratch[peak->minute];
		peak->member_count += group->at_peaks[i] > 0 ? group->member_count : 0;
	}
	for (size_t i = 0; i < load->minute_count; i++) {
		group->total += load->scratch[i];
		if (load->counts[i] > half) {
			group->crowded += load->scratch[i];
		}
	}
}

/* Whether member a, with `count`, is to be named before the one at `at`: who is always there does not make
 * the peak. */
static bool is_before(const struct bf_load *load, const struct bf_load_peak *peak, uint32_t a,
		uint32_t count, size_t at)
{
	const struct bf_load_member *one = &load->members[a];
	const struct bf_load_member *other = &load->members[peak->named[at].member];
	uint64_t one_total = load->groups[one->group].total;
	uint64_t other_total = load->groups[other->group].total;

	if (count != peak->named[at].count) {
		return count > peak->named[at].count;
	}
	return one_total != other_total ? one_total < other_total : one->order < other->order;
}

static void name_member(const struct bf_load *load, struct bf_load_peak *peak, uint32_t member,
		uint32_t count)
{
	size_t at = peak->named_count;

	if (at == BF_LOAD_NAMED) {
		if (!is_before(load, peak, member, count, --at)) {
			return;
		}
	} else {
		peak->named_count++;
	}
	for (; at > 0 && is_before(load, peak, member, count, at - 1); at--) {
		peak->named[at] = peak->named[at - 1];
	}
	peak->named[at].member = member;
	peak->named[at].count = count;
}

static void name_group(struct bf_load *load, const struct bf_load_group *group)
{
	uint32_t named = BF_MIN(group->member_count, BF_LOAD_NAMED); /* no more of it can be */

	for (size_t i = 0; i < load->peak_count; i++) {
		for (uint32_t j = 0; j < named && group->at_peaks[i] > 0; j++) {
			name_member(load, &load->peaks[i], group->first + j, group->at_peaks[i]);
		}
	}
}

static enum belfry_status find_peaks(struct bf_load *load)
{
	enum belfry_status status = BELFRY_OK;

	find_levels(load);
	for (size_t i = 0; i < load->group_count && status == BELFRY_OK; i++) {
		status = count_one(load, &load->groups[i]);
		if (status == BELFRY_OK) {
			look_at_group(load, &load->groups[i]);
			name_group(load, &load->groups[i]);
		}
	}
	return status;
}

/* Where it takes too long, as if the other groups were not there. */
static void give_up_from(struct bf_load *load, size_t group)
{
	for (size_t i = group; i < load->group_count; i++) {
		belfry_rule_free(load->groups[i].rule);
	}
	load->member_count = group < load->group_count ? load->groups[group].first
						       : load->member_count;
	load->group_count = group;
}

enum belfry_status bf_load_count(struct bf_load *load, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;
	size_t i = 0;

	order_members(load);
	for (; i < load->group_count && status == BELFRY_OK; i++) {
		if (i > 0 && i % LATE_EVERY == 0 && load->is_late != NULL &&
				load->is_late(load->data)) {
			break;
		}
		status = count_group(load, &load->groups[i]);
	}
	load->is_complete = i == load->group_count;
	give_up_from(load, i);
	for (size_t minute = 0; minute < load->minute_count; minute++) {
		load->total += load->counts[minute];
	}
	if (status == BELFRY_OK) {
		status = find_peaks(load);
	}
	return status == BELFRY_OK ? BELFRY_OK : no_memory(err);
}

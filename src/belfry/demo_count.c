/* Counting the demo: one slot for each due time, filled from the Runs that the host lists and from the
 * calls that the receiver saw; then each slot is judged by itself. */
#include "belfry/demo_count.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/timefmt.h"

struct slot {
	uint32_t runs;
	uint32_t completed;
	uint32_t calls;
	uint32_t foreign_calls; /* under another id than the due time's */
	belfry_time first_call;
};

static belfry_time first_due(const struct bf_demo_bell *bell)
{
	return (bell->from + BELFRY_SECOND - 1) / BELFRY_SECOND * BELFRY_SECOND;
}

static size_t due_count(const struct bf_demo_bell *bell)
{
	belfry_time first = first_due(bell);

	return bell->to < first ? 0 : (size_t)((bell->to - first) / BELFRY_SECOND) + 1;
}

/* NULL: not one of this bell's due times. */
static struct slot *find_slot(struct slot *slots, const struct bf_demo_bell *bell, belfry_time due)
{
	belfry_time first = first_due(bell);

	if (due < first || due > bell->to || due % BELFRY_SECOND != 0) {
		return NULL;
	}
	return &slots[(due - first) / BELFRY_SECOND];
}

static void put_runs(struct slot *slots, const struct bf_demo_bell *bell, const json_t *runs)
{
	for (size_t i = 0; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);
		struct belfry_str status = bf_json_str(json_object_get(run, "status"));
		belfry_time due;

		if (bf_time_parse(bf_json_str(json_object_get(run, "due_at")), &due) != BELFRY_OK) {
			continue;
		}
		struct slot *slot = find_slot(slots, bell, due);
		if (slot != NULL) {
			slot->runs++;
			slot->completed += bf_str_equal(status, BF_STR("COMPLETED")) ? 1 : 0;
		}
	}
}

static enum belfry_status put_calls(struct slot *slots, const struct bf_demo_bell *bell,
		const struct bf_demo_call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = find_slot(slots, bell, calls[i].due);
		struct belfry_id id;

		if (slot == NULL || strcmp(calls[i].deployment, bell->id) != 0) {
			continue;
		}
		if (belfry_run_id(bf_str(bell->id), calls[i].due, &id) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
		slot->calls++;
		if (memcmp(id.bytes, calls[i].run.bytes, sizeof(id.bytes)) != 0) {
			slot->foreign_calls++;
		}
		if (slot->first_call == 0 || calls[i].arrived < slot->first_call) {
			slot->first_call = calls[i].arrived;
		}
	}
	return BELFRY_OK;
}

static void judge(const struct slot *slot, belfry_time due, bool is_paused, struct bf_demo_sum *sum)
{
	belfry_duration lateness = slot->first_call - due;

	sum->due++;
	sum->paused_due += is_paused ? 1 : 0;
	sum->made += slot->runs > 0 ? 1 : 0;
	sum->paused_made += is_paused && slot->runs > 0 ? 1 : 0;
	sum->doubled += (slot->runs > 1 ? slot->runs - 1 : 0) + slot->foreign_calls;
	sum->unfinished += slot->runs - slot->completed;
	sum->beyond -= slot->calls;
	sum->repeated += slot->calls > 1 ? slot->calls - 1 : 0;
	if ((slot->runs == 0 && !is_paused) || (slot->runs > 0 && slot->calls == 0)) {
		sum->lost++;
	}
	if (slot->calls == 0) {
		return;
	}
	sum->early += lateness < 0 ? 1 : 0;
	if (is_paused) {
		sum->worst_paused = BF_MAX(sum->worst_paused, lateness);
	} else {
		sum->worst = BF_MAX(sum->worst, lateness);
	}
}

static int compare_durations(const void *a, const void *b)
{
	belfry_duration left = *(const belfry_duration *)a;
	belfry_duration right = *(const belfry_duration *)b;

	return left < right ? -1 : left > right;
}

/* Lateness of the slots outside the pause, appended to `late`. */
static void judge_bell(const struct slot *slots, const struct bf_demo_bell *bell,
		struct bf_demo_pause pause, struct bf_demo_sum *sum, belfry_duration *late,
		size_t *late_count)
{
	for (size_t i = 0; i < due_count(bell); i++) {
		belfry_time due = first_due(bell) + (belfry_time)i * BELFRY_SECOND;
		bool is_paused = due > pause.from && due <= pause.to;

		judge(&slots[i], due, is_paused, sum);
		if (slots[i].calls > 0 && !is_paused) {
			late[(*late_count)++] = slots[i].first_call - due;
		}
	}
}

enum belfry_status bf_demo_count(const struct bf_demo_bell *bells, json_t *const *runs,
		size_t bell_count, const struct bf_demo_call *calls, size_t call_count,
		struct bf_demo_pause pause, struct bf_demo_sum *ret_sum)
{
	struct bf_demo_sum sum = {.calls = call_count, .beyond = call_count}; /* until judged */
	size_t total = 0;
	size_t late_count = 0;

	for (size_t b = 0; b < bell_count; b++) {
		total += due_count(&bells[b]);
	}
	BF_CLEANUP(bf_free_pointer)
	belfry_duration *late = bf_alloc_array(total + 1, sizeof(*late));
	if (late == NULL) {
		return BELFRY_NOMEM;
	}
	for (size_t b = 0; b < bell_count; b++) {
		BF_CLEANUP(bf_free_pointer)
		struct slot *slots = bf_alloc_array(due_count(&bells[b]) + 1, sizeof(*slots));

		if (slots == NULL) {
			return BELFRY_NOMEM;
		}
		put_runs(slots, &bells[b], runs[b]);
		if (put_calls(slots, &bells[b], calls, call_count) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
		judge_bell(slots, &bells[b], pause, &sum, late, &late_count);
	}
	qsort(late, late_count, sizeof(*late), compare_durations);
	sum.p50 = late_count > 0 ? late[late_count / 2] : 0;
	*ret_sum = sum;
	return BELFRY_OK;
}

bool bf_demo_sum_is_good(const struct bf_demo_sum *sum)
{
	return sum->lost == 0 && sum->doubled == 0 && sum->unfinished == 0 && sum->early == 0 &&
			sum->made > 0;
}

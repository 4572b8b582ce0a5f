/* What a schedule's change pushed into its own document: Runs to insert, gaps to write, unstarted
 * Runs to end. Carrying it out is idempotent and may be continued by anybody: each round finds the
 * schedule again, does one document write, and forgets that part of the push. The last round clears
 * it.
 *
 * In the atomic mode all rounds happen under one hold of the lock, and nobody sees the push. */
#include "store/memory/memory_priv.h"

static bool insert_next_run(struct mem_db *db, struct mem_owed *owed)
{
	for (size_t i = 0; i < owed->run_count; i++) {
		struct mem_run *run = BF_TAKE(owed->runs[i]);
		if (run != NULL) {
			if (!mem_run_insert(db, run)) {
				mem_run_free(run);
			}
			return true;
		}
	}
	return false;
}

static bool write_next_gap(struct mem_db *db, struct mem_owed *owed)
{
	for (size_t i = 0; i < owed->gap_count; i++) {
		struct mem_gap *gap = BF_TAKE(owed->gaps[i]);
		if (gap != NULL) {
			gap->sequence = ++db->last_sequence;
			BF_ASSERT(mem_tree_put(&db->gaps, &gap->by_time));
			return true;
		}
	}
	return false;
}

static bool end_next_unstarted(struct mem_db *db, struct belfry_str schedule)
{
	struct mem_node *node = mem_tree_find_from(&db->unstarted,
			&(struct mem_key){.text = {schedule}});

	if (node == NULL) {
		return false;
	}
	struct mem_run *run = BF_CONTAINER(node, struct mem_run, unstarted);
	if (!bf_str_equal(run->run.schedule, schedule)) {
		return false;
	}
	mem_run_end_unstarted(db, run);
	return true;
}

/* One document write; names it. */
static const char *carry_out_next(struct mem_db *db, struct mem_schedule *schedule)
{
	if (insert_next_run(db, schedule->owed)) {
		return "owed: run inserted";
	}
	if (write_next_gap(db, schedule->owed)) {
		return "owed: gap written";
	}
	if (schedule->owed->ends_unstarted && end_next_unstarted(db, schedule->row.id)) {
		return "owed: unstarted run ended";
	}
	bf_list_remove(&schedule->owed_link);
	mem_owed_free(BF_TAKE(schedule->owed));
	return "owed: cleared";
}

enum belfry_status mem_owed_finish(struct mem_db *db, struct belfry_str id)
{
	struct mem_schedule *schedule;

	while ((schedule = mem_schedule_find(db, id)) != NULL && schedule->owed != NULL) {
		enum belfry_status status = mem_step(db, carry_out_next(db, schedule));
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

enum belfry_status mem_owed_finish_all(struct mem_db *db)
{
	while (db->owed.first != NULL) {
		struct mem_schedule *schedule = BF_CONTAINER(db->owed.first, struct mem_schedule,
				owed_link);
		enum belfry_status status = mem_step(db, carry_out_next(db, schedule));
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

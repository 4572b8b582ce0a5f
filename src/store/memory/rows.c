/* The rows of the memory store: how each is made, keyed, found and freed. A row is made complete
 * before it is linked, so that linking cannot fail. What changes a Run's state is in runs.c. */
#include "store/memory/memory_priv.h"

/* --- texts --- */

enum belfry_status mem_text_copy(struct belfry_str *ret_copy, struct belfry_str text)
{
	char *copy = text.len > 0 ? bf_str_dup(text) : NULL;

	if (text.len > 0 && copy == NULL) {
		return BELFRY_NOMEM;
	}
	*ret_copy = (struct belfry_str){copy, text.len};
	return BELFRY_OK;
}

void mem_text_free(struct belfry_str *text)
{
	bf_free((void *)(uintptr_t)text->ptr);
	*text = (struct belfry_str){0};
}

void mem_text_move(struct belfry_str *to, struct belfry_str *from)
{
	mem_text_free(to);
	*to = *from;
	*from = (struct belfry_str){0};
}

/* --- keys --- */

#define KEY(name, type, member, ...)                                                               \
	static struct mem_key name##_key(const struct mem_node *node)                              \
	{                                                                                          \
		const struct type *row = BF_CONTAINER(node, const struct type, member);            \
		return (struct mem_key){__VA_ARGS__};                                              \
	}

KEY(payload, mem_payload, by_bytes, .text = {row->bytes})
KEY(revision, mem_revision, by_number, .text = {row->schedule}, .number = row->revision)
KEY(schedule, mem_schedule, by_id, .text = {row->row.id})
KEY(due, mem_schedule, due, .time = row->row.cursor, .text = {row->row.id})
KEY(run, mem_run, by_id, .id = row->run.id)
KEY(history, mem_run, history, .text = {row->run.schedule}, .id = row->run.id)
KEY(queue, mem_run, queue, .time = row->run.ready_at, .id = row->run.id)
KEY(owned, mem_run, owned, .text = {{(const char *)row->run.holder.bytes, 16}}, .id = row->run.id)
KEY(unstarted, mem_run, unstarted, .text = {row->run.schedule}, .id = row->run.id)
KEY(request, mem_run, by_key, .text = {row->run.schedule, row->request_key})
KEY(gap, mem_gap, by_time, .text = {row->gap.schedule}, .number = row->gap.from,
		.sequence = row->sequence)
/* Fences are microseconds, so there is room for the step behind them. */
KEY(attempt, mem_attempt, by_run, .id = row->attempt.run, .number = row->attempt.number,
		.sequence = (int64_t)row->attempt.fence * 2 + (int64_t)row->attempt.step)
KEY(incarnation, mem_incarnation, by_id, .id = row->incarnation.id)
KEY(document, mem_document, by_id, .text = {row->document.kind, row->document.id})
KEY(name, mem_document, by_name,
		.text = {row->document.kind, row->document.owner, row->document.name,
				row->document.id})
KEY(output, mem_output, by_run, .id = row->run)

void mem_db_init_trees(struct mem_db *db)
{
	db->payloads.key = payload_key;
	db->revisions.key = revision_key;
	db->schedules.key = schedule_key;
	db->due.key = due_key;
	db->runs.key = run_key;
	db->history.key = history_key;
	db->queue.key = queue_key;
	db->owned.key = owned_key;
	db->unstarted.key = unstarted_key;
	db->request_keys.key = request_key;
	db->gaps.key = gap_key;
	db->attempts.key = attempt_key;
	db->incarnations.key = incarnation_key;
	db->documents.key = document_key;
	db->document_names.key = name_key;
	db->outputs.key = output_key;
}

/* --- Runs --- */

enum belfry_status mem_run_new(struct belfry_str schedule, struct belfry_id id,
		struct belfry_str tz_version, struct mem_run **ret_run)
{
	struct mem_run *run = bf_alloc(sizeof(*run));

	if (run == NULL) {
		return BELFRY_NOMEM;
	}
	run->run.id = id;
	belfry_id_format(id, run->id_text);
	if (mem_text_copy(&run->run.schedule, schedule) != BELFRY_OK ||
			mem_text_copy(&run->run.tz_version, tz_version) != BELFRY_OK) {
		mem_run_free(run);
		return BELFRY_NOMEM;
	}
	*ret_run = run;
	return BELFRY_OK;
}

void mem_run_free(struct mem_run *run)
{
	if (run == NULL) {
		return;
	}
	mem_text_free(&run->run.schedule);
	mem_text_free(&run->run.tz_version);
	mem_text_free(&run->run.session);
	mem_text_free(&run->run.turn);
	mem_text_free(&run->run.message);
	mem_text_free(&run->run.detail);
	mem_text_free(&run->request_key);
	bf_free(run);
}

struct mem_run *mem_run_find(const struct mem_db *db, struct belfry_id id)
{
	struct mem_node *node = mem_tree_find(&db->runs, &(struct mem_key){.id = id});

	return node != NULL ? BF_CONTAINER(node, struct mem_run, by_id) : NULL;
}

/* --- revisions and payloads --- */

static void payload_free(struct mem_payload *payload)
{
	if (payload != NULL) {
		mem_text_free(&payload->bytes);
		bf_free(payload);
	}
}

enum belfry_status mem_revision_new(struct belfry_str schedule,
		const struct belfry_schedule_put *put, struct mem_revision **ret_revision)
{
	struct mem_revision *revision = bf_alloc(sizeof(*revision));

	if (revision == NULL) {
		return BELFRY_NOMEM;
	}
	revision->revision = put->revision;
	revision->flags = put->flags;
	revision->payload = bf_alloc(sizeof(*revision->payload));
	if (revision->payload == NULL ||
			mem_text_copy(&revision->payload->bytes, put->payload) != BELFRY_OK ||
			mem_text_copy(&revision->schedule, schedule) != BELFRY_OK ||
			mem_text_copy(&revision->definition, put->definition) != BELFRY_OK) {
		mem_revision_free(revision);
		return BELFRY_NOMEM;
	}
	*ret_revision = revision;
	return BELFRY_OK;
}

void mem_revision_free(struct mem_revision *revision)
{
	if (revision == NULL) {
		return;
	}
	payload_free(revision->payload);
	mem_text_free(&revision->schedule);
	mem_text_free(&revision->definition);
	bf_free(revision);
}

struct mem_revision *mem_revision_find(const struct mem_db *db, struct belfry_str schedule,
		int64_t revision)
{
	struct mem_node *node = mem_tree_find(&db->revisions,
			&(struct mem_key){.text = {schedule}, .number = revision});

	return node != NULL ? BF_CONTAINER(node, struct mem_revision, by_number) : NULL;
}

void mem_revision_put(struct mem_db *db, struct mem_revision *revision)
{
	struct mem_node *same = mem_tree_find(&db->payloads,
			&(struct mem_key){.text = {revision->payload->bytes}});

	if (same != NULL) {
		payload_free(revision->payload);
		revision->payload = BF_CONTAINER(same, struct mem_payload, by_bytes);
	} else {
		(void)mem_tree_put(&db->payloads, &revision->payload->by_bytes);
	}
	revision->payload->users++;
	/* The number is free: a put has a higher one than every revision before it. */
	BF_ASSERT(mem_tree_put(&db->revisions, &revision->by_number));
}

void mem_revision_delete(struct mem_db *db, struct mem_revision *revision)
{
	struct mem_payload *payload = revision->payload;

	if (--payload->users > 0) {
		revision->payload = NULL;
	} else {
		mem_tree_remove(&db->payloads, &payload->by_bytes);
	}
	mem_tree_remove(&db->revisions, &revision->by_number);
	mem_revision_free(revision);
}

/* --- gaps, attempts, incarnations --- */

enum belfry_status mem_gap_new(struct belfry_str schedule, const struct belfry_gap *gap,
		struct mem_gap **ret_gap)
{
	struct mem_gap *row = bf_alloc(sizeof(*row));

	if (row == NULL) {
		return BELFRY_NOMEM;
	}
	row->gap = *gap;
	row->gap.schedule = row->gap.who = (struct belfry_str){0};
	if (mem_text_copy(&row->gap.schedule, schedule) != BELFRY_OK ||
			mem_text_copy(&row->gap.who, gap->who) != BELFRY_OK) {
		mem_gap_free(row);
		return BELFRY_NOMEM;
	}
	*ret_gap = row;
	return BELFRY_OK;
}

void mem_gap_free(struct mem_gap *gap)
{
	if (gap != NULL) {
		mem_text_free(&gap->gap.schedule);
		mem_text_free(&gap->gap.who);
		bf_free(gap);
	}
}

void mem_attempt_free(struct mem_attempt *attempt)
{
	if (attempt != NULL) {
		mem_text_free(&attempt->attempt.message);
		mem_text_free(&attempt->attempt.detail);
		bf_free(attempt);
	}
}

void mem_incarnation_free(struct mem_incarnation *incarnation)
{
	if (incarnation != NULL) {
		mem_text_free(&incarnation->incarnation.identity);
		mem_text_free(&incarnation->incarnation.version);
		mem_text_free(&incarnation->incarnation.tz_version);
		bf_free(incarnation);
	}
}

struct mem_incarnation *mem_incarnation_find(const struct mem_db *db, struct belfry_id id)
{
	struct mem_node *node = mem_tree_find(&db->incarnations, &(struct mem_key){.id = id});

	return node != NULL ? BF_CONTAINER(node, struct mem_incarnation, by_id) : NULL;
}

bool mem_incarnation_lives(const struct mem_db *db, struct belfry_id id)
{
	const struct mem_incarnation *row = mem_incarnation_find(db, id);

	return row != NULL && row->incarnation.ended_at == 0;
}

/* --- schedules --- */

void mem_owed_free(struct mem_owed *owed)
{
	if (owed == NULL) {
		return;
	}
	for (size_t i = 0; i < owed->run_count; i++) {
		mem_run_free(owed->runs[i]);
	}
	for (size_t i = 0; i < owed->gap_count; i++) {
		mem_gap_free(owed->gaps[i]);
	}
	bf_free(owed->runs);
	bf_free(owed->gaps);
	bf_free(owed);
}

void mem_schedule_free(struct mem_schedule *schedule)
{
	if (schedule == NULL) {
		return;
	}
	mem_text_free(&schedule->row.id);
	mem_text_free(&schedule->row.definition);
	mem_text_free(&schedule->row.fair_key);
	mem_text_free(&schedule->row.tz_version);
	mem_text_free(&schedule->row.phase_reason);
	mem_owed_free(schedule->owed);
	bf_free(schedule);
}

struct mem_schedule *mem_schedule_find(const struct mem_db *db, struct belfry_str id)
{
	struct mem_node *node = mem_tree_find(&db->schedules, &(struct mem_key){.text = {id}});

	return node != NULL ? BF_CONTAINER(node, struct mem_schedule, by_id) : NULL;
}

/* --- the host's rows --- */

void mem_document_free(struct mem_document *row)
{
	if (row == NULL) {
		return;
	}
	mem_text_free(&row->document.kind);
	mem_text_free(&row->document.id);
	mem_text_free(&row->document.owner);
	mem_text_free(&row->document.name);
	mem_text_free(&row->document.bytes);
	bf_free(row);
}

void mem_output_free(struct mem_output *output)
{
	if (output != NULL) {
		mem_text_free(&output->content_type);
		mem_text_free(&output->bytes);
		bf_free(output);
	}
}

/* --- the end --- */

/* Unlinks and frees every row of one table. */
#define CLEAR(db, tree, type, member, free_row)                                                    \
	for (struct mem_node * node; (node = mem_tree_first(&(db)->tree)) != NULL;) {              \
		struct type *row = BF_CONTAINER(node, struct type, member);                        \
		mem_tree_remove(&(db)->tree, node);                                                \
		free_row(row);                                                                     \
	}

void mem_db_clear(struct mem_db *db)
{
	for (struct mem_node *node; (node = mem_tree_first(&db->runs)) != NULL;) {
		mem_run_delete(db, BF_CONTAINER(node, struct mem_run, by_id));
	}
	for (struct mem_node *node; (node = mem_tree_first(&db->revisions)) != NULL;) {
		mem_revision_delete(db, BF_CONTAINER(node, struct mem_revision, by_number));
	}
	CLEAR(db, schedules, mem_schedule, by_id, mem_schedule_free)
	CLEAR(db, gaps, mem_gap, by_time, mem_gap_free)
	CLEAR(db, attempts, mem_attempt, by_run, mem_attempt_free)
	CLEAR(db, incarnations, mem_incarnation, by_id, mem_incarnation_free)
	CLEAR(db, documents, mem_document, by_id, mem_document_free)
	CLEAR(db, outputs, mem_output, by_run, mem_output_free)
}

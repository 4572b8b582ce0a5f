/* The tables of the memory store, and what its files share. Every function here is called with the
 * database's lock held unless it says otherwise. */
#ifndef BF_STORE_MEMORY_PRIV_H
#define BF_STORE_MEMORY_PRIV_H

#include <pthread.h>

#include <belfry/documents.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/list.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "model/run.h"
#include "store/memory/memory.h"
#include "store/memory/tree.h"

/* Kept once for all revisions that have the same bytes. */
struct mem_payload {
	struct mem_node by_bytes;
	size_t users; /* revisions */
	struct belfry_str bytes;
};

struct mem_revision {
	struct mem_node by_number; /* schedule, revision */
	size_t users;              /* Runs */
	struct belfry_str schedule;
	int64_t revision;
	uint32_t flags;
	belfry_time replaced_at; /* 0: the present one */
	struct belfry_str definition;
	struct mem_payload *payload;
};

struct mem_run {
	struct mem_node by_id;
	struct mem_node history;   /* schedule, id */
	struct mem_node queue;     /* QUEUED, DELAYED: ready time, id */
	struct mem_node owned;     /* DISPATCHING: holder, id */
	struct mem_node unstarted; /* scheduled, waiting, never held: schedule, id */
	struct mem_node by_key;    /* schedule, request key; where there is one */
	struct bf_link told;       /* cancelled under its holder, who is told */
	struct belfry_run run;
	struct mem_revision *revision;
	struct belfry_str request_key;
	uint64_t request_hash;
	uint64_t born_version; /* of the schedule's change that made it; 0: made on request */
	char id_text[BELFRY_ID_TEXT_BYTES];
};

struct mem_gap {
	struct mem_node by_time; /* schedule, from, sequence */
	struct belfry_gap gap;
	int64_t sequence;
};

/* One row for a token and step: the same record again, after a lost answer, writes it anew. */
struct mem_attempt {
	struct mem_node by_run; /* run, number, fence, step */
	struct belfry_attempt attempt;
};

struct mem_incarnation {
	struct mem_node by_id;
	struct belfry_incarnation incarnation;
};

/* What a schedule's change pushed into its document and is still to be carried out. In the atomic
 * mode it lives for a moment inside one call; in the single-document mode a crash may leave it, and
 * whoever touches the schedule next carries it out. */
struct mem_owed {
	struct mem_run **runs; /* a NULL: inserted by now */
	size_t run_count;
	struct mem_gap **gaps;
	size_t gap_count;
	bool ends_unstarted;
};

struct mem_schedule {
	struct mem_node by_id;
	struct mem_node due; /* cursor, id; where there is one */
	struct bf_link owed_link;
	struct bf_link tombstone_link;
	struct belfry_schedule_row row;
	struct mem_revision *present; /* NULL: a tombstone */
	struct mem_owed *owed;        /* NULL: nothing */
	belfry_time removed_at;
	belfry_time history_from;
};

struct mem_document {
	struct mem_node by_id;   /* kind, id */
	struct mem_node by_name; /* kind, owner, name, id */
	struct belfry_document document;
};

struct mem_output {
	belfry_fence fence;
	struct mem_node by_run;
	struct belfry_id run;
	struct belfry_str content_type;
	struct belfry_str bytes;
};

struct mem_db {
	pthread_mutex_t lock;
	size_t handles;
	const struct bf_env *env;
	bool is_single_document;
	bf_memory_step_fn step;
	void *step_data;

	bool is_on; /* the global switch */
	uint64_t last_version;
	int64_t last_sequence;
	int64_t schedule_count; /* not removed */
	int64_t active_count;   /* enabled */
	int64_t by_state[BELFRY_RUN_STATE_COUNT];
	uint64_t ended_unstarted; /* so many Runs so far */

	struct mem_tree payloads;
	struct mem_tree revisions;
	struct mem_tree schedules;
	struct mem_tree due;
	struct mem_tree runs;
	struct mem_tree history;
	struct mem_tree queue;
	struct mem_tree owned;
	struct mem_tree unstarted;
	struct mem_tree request_keys;
	struct mem_tree gaps;
	struct mem_tree attempts;
	struct mem_tree incarnations;
	struct mem_tree documents;
	struct mem_tree document_names;
	struct mem_tree outputs;
	struct bf_list owed;       /* schedules whose push is not cleared */
	struct bf_list tombstones; /* in the order of their removal */
	struct bf_list told;       /* Runs that were cancelled under a holder that may live */
};

struct mem_store {
	struct belfry_store base; /* first: a store begins with its table */
	struct mem_db *db;
};

/* --- the database and its clock (memory.c) --- */

/* Takes the lock and returns the database; mem_leave gives the lock back. */
struct mem_db *mem_enter(struct belfry_store *store);
void mem_leave(struct mem_db **db);
belfry_time mem_now(const struct mem_db *db);
/* A document was written. BELFRY_UNKNOWN: the caller died here. In the single-document mode the
 * lock is let go meanwhile, so rows that the caller knows may be gone: find them again. */
BF_MUST_CHECK enum belfry_status mem_step(struct mem_db *db, const char *step);

/* --- texts (rows.c) --- */

/* A copy owned by the row. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status mem_text_copy(struct belfry_str *ret_copy, struct belfry_str text);
void mem_text_free(struct belfry_str *text);
/* Frees what `to` holds and takes what `from` holds. */
void mem_text_move(struct belfry_str *to, struct belfry_str *from);

/* --- rows: made unlinked, linked by mem_*_put, freed where they are not linked (rows.c) --- */

void mem_db_init_trees(struct mem_db *db);
void mem_db_clear(struct mem_db *db);

BF_MUST_CHECK enum belfry_status mem_run_new(struct belfry_str schedule, struct belfry_id id,
		struct belfry_str tz_version, struct mem_run **ret_run);
void mem_run_free(struct mem_run *run);
BF_MUST_CHECK enum belfry_status mem_revision_new(struct belfry_str schedule,
		const struct belfry_schedule_put *put, struct mem_revision **ret_revision);
void mem_revision_free(struct mem_revision *revision);
BF_MUST_CHECK enum belfry_status mem_gap_new(struct belfry_str schedule,
		const struct belfry_gap *gap, struct mem_gap **ret_gap);
void mem_gap_free(struct mem_gap *gap);
void mem_attempt_free(struct mem_attempt *attempt);
void mem_incarnation_free(struct mem_incarnation *incarnation);
void mem_owed_free(struct mem_owed *owed);
void mem_schedule_free(struct mem_schedule *schedule);
void mem_document_free(struct mem_document *document);
void mem_output_free(struct mem_output *output);

struct mem_schedule *mem_schedule_find(const struct mem_db *db, struct belfry_str id);
struct mem_run *mem_run_find(const struct mem_db *db, struct belfry_id id);
struct mem_incarnation *mem_incarnation_find(const struct mem_db *db, struct belfry_id id);
struct mem_revision *mem_revision_find(const struct mem_db *db, struct belfry_str schedule,
		int64_t revision);
/* Registered, and not ended. */
bool mem_incarnation_lives(const struct mem_db *db, struct belfry_id id);

/* Links a new revision; from now on it shares the payload of any other with the same bytes. */
void mem_revision_put(struct mem_db *db, struct mem_revision *revision);
/* Unlinks and frees it; the last revision of a payload takes that along. */
void mem_revision_delete(struct mem_db *db, struct mem_revision *revision);

/* --- Runs (runs.c) --- */

struct mem_move {
	enum belfry_run_state state;
	struct belfry_id holder; /* all zero: it has none from now on */
	belfry_fence fence;      /* with DISPATCHING */
	belfry_time ready_at;    /* 0: stays */
	belfry_time now;
};

/* Inserts or ignores. False: a Run with this id exists, or the request key is taken. */
bool mem_run_insert(struct mem_db *db, struct mem_run *run);
/* Takes the Run out of every table, with its attempts and output, and frees it. */
void mem_run_delete(struct mem_db *db, struct mem_run *run);
/* The one mover: state, status, holder, times, counts and indexes change together. */
void mem_run_move(struct mem_db *db, struct mem_run *run, const struct mem_move *move);
/* End it as CANCELLED, SCHEDULE_DISABLED. */
void mem_run_end_unstarted(struct mem_db *db, struct mem_run *run);
/* The Session: what was stored, or the Run's own id where the Session is the host's. */
struct belfry_str mem_run_session(const struct mem_run *run);
BF_MUST_CHECK enum belfry_status mem_run_copy(const struct mem_run *run, struct belfry_arena *arena,
		struct belfry_run *ret_run);

/* --- what is owed (owed.c) --- */

/* Carries out what this schedule, or every one, has pushed and not cleared. */
BF_MUST_CHECK enum belfry_status mem_owed_finish(struct mem_db *db, struct belfry_str schedule);
BF_MUST_CHECK enum belfry_status mem_owed_finish_all(struct mem_db *db);

/* --- methods --- */

enum belfry_status mem_beat(struct belfry_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status mem_advance(struct belfry_store *store, struct belfry_advance *advance,
		struct belfry_error *err);
enum belfry_status mem_add_runs(struct belfry_store *store, struct belfry_add *adds, size_t count,
		struct belfry_error *err);
enum belfry_status mem_claim_runs(struct belfry_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status mem_record(struct belfry_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err);
enum belfry_status mem_prune(struct belfry_store *store, struct belfry_prune *prune,
		struct belfry_error *err);
enum belfry_status mem_list(struct belfry_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err);
/* Incarnations that live, or (unless only_living) cover anything after `from`, in the order of
 * ids. */
BF_MUST_CHECK enum belfry_status mem_incarnations_copy(const struct mem_db *db, bool only_living,
		belfry_time from, struct belfry_arena *arena, struct belfry_incarnation **ret_rows,
		size_t *ret_count);

extern const struct belfry_document_ops mem_document_ops;

#endif

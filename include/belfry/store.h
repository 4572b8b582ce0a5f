/* The store seam: a table of methods, for those who have another database and want our engine.
 *
 * The engine asks for few, large, conditional operations; each is ONE atomic commit unless the store
 * declares BELFRY_STORE_CAP_SINGLE_DOCUMENT (then see there). The store decides what is due, by its own
 * clock, inside the operation, and returns the time it used.
 *
 * Shapes     Each operation is one struct: what is asked for, then (below the line "answers") what the
 *            store found. Answers are written only where the method returns BELFRY_OK.
 * Ownership  What is asked for is borrowed for the call. Answers that point somewhere point into the
 *            caller's arena.
 * Threads    Every method but open, migrate and close may be called from several threads at once, and
 *            may block for as long as `timeout` of the options says, not longer.
 * Answers    BELFRY_OK; else
 *            BELFRY_UNAVAILABLE  nothing was done: the database is down, full, read-only, too slow
 *            BELFRY_UNKNOWN      a commit was sent and its answer was lost: it may have happened
 *            BELFRY_STALE        the incarnation that acts was declared dead, or has ended
 *            BELFRY_CORRUPT      what is stored cannot be read
 *            BELFRY_NOMEM        no memory; nothing was done
 *            and what the method names itself. A conflict on one item is an answer of that item, not
 *            a failure of the call: one bad row never stops the others.
 * Since      0.1 */
#ifndef BELFRY_STORE_H
#define BELFRY_STORE_H

#include <belfry/arena.h>
#include <belfry/run.h>
#include <belfry/schedule.h>

BELFRY_BEGIN_DECLS

/* Raised only when a plug-in must be rebuilt; tables grow at their end under `size`. */
#define BELFRY_SEAMS_ABI 2u

/* No transaction spans two rows: `advance` moves the cursor and pushes the new Runs into the
 * schedule's own document (that is their birth), then inserts the Runs, then clears the push; whoever
 * finds a push that was not cleared finishes it. Each item of a call commits alone. */
#define BELFRY_STORE_CAP_SINGLE_DOCUMENT 1u
/* Opening it proves that every earlier incarnation is dead: open has declared them so (a lock). */
#define BELFRY_STORE_CAP_EXCLUSIVE 2u

struct belfry_store_ops;
struct belfry_document_ops;

/* What an adapter's object begins with. */
struct belfry_store {
	const struct belfry_store_ops *ops;
};

struct belfry_store_options {
	size_t size;
	struct belfry_str url;   /* "sqlite:PATH", "memory:" */
	belfry_duration timeout; /* the longest that one call may take; 0: 10 s */
	bool is_standby;         /* wait for the present owner of an exclusive store */
	struct belfry_str owner; /* who we are, for the lock file: "belfry 0.2.0 pid 12" */
};

/* ---- incarnations and beats -------------------------------------------------------------------- */

struct belfry_incarnation {
	struct belfry_id id;
	uint64_t beat; /* counter, rises by one with each renewal */
	belfry_time registered_at;
	belfry_time covers_from; /* 0 until the first renewal */
	belfry_time covered_until;
	belfry_time ended_at; /* 0: lives */
	bool was_declared_dead;
	struct belfry_str identity;
	struct belfry_str version;
	struct belfry_str tz_version;
};

enum belfry_beat_kind {
	BELFRY_BEAT_REGISTER, /* insert the incarnation; beat 0; covers nothing yet */
	BELFRY_BEAT_RENEW, /* beat + 1; the first sets covers_from = now; covered_until = now + beat */
	BELFRY_BEAT_DEAD, /* end another one, only while its beat is still `expect_beat` */
	BELFRY_BEAT_END   /* clean stop: covered_until = ended_at = now */
};

/* RENEW and END answer BELFRY_STALE when the incarnation has ended; DEAD answers BELFRY_CONFLICT when
 * the beat is another one by now, and BELFRY_OK when it was dead already (covered_until stays as it
 * is; an incarnation may judge itself). `now` is written also with BELFRY_CONFLICT. */
struct belfry_beat {
	size_t size;
	enum belfry_beat_kind kind;
	struct belfry_id incarnation;
	uint64_t expect_beat;
	belfry_duration length; /* of one beat */
	struct belfry_id low;   /* RENEW: no open Run that was born to it has a smaller id */
	/* RENEW: what the sender's steady clock makes the store's clock now. Further off than the
	 * tolerance the clock was stepped: nothing is renewed, BELFRY_CONFLICT and `now`. 0: any. */
	belfry_time expect_now;
	belfry_duration tolerance;
	struct belfry_str identity; /* REGISTER */
	struct belfry_str version;
	struct belfry_str tz_version; /* REGISTER; RENEW: the one in use now, empty: as before */
	/* answers */
	belfry_time now;
	uint64_t beat;
	struct belfry_incarnation *living; /* RENEW: all that have not ended, this one too */
	size_t living_count;
	/* RENEW: Runs of this incarnation that the host cancelled while they were dispatching, within the
	 * last BELFRY_CANCELLED_TOLD (or four beats, where these take longer); each is named by every beat
	 * of that time. */
	struct belfry_id *cancelled;
	size_t cancelled_count;
};

/* A holder that hears of no cancel for so long is dead, or records something and is refused. */
#define BELFRY_CANCELLED_TOLD BELFRY_MINUTE

/* ---- schedules --------------------------------------------------------------------------------- */

/* A row of `schedules` as the engine reads it. */
struct belfry_schedule_row {
	struct belfry_str id;
	uint64_t version; /* changes whenever revision, cursor, phase or presence change */
	int64_t revision;
	uint32_t flags;  /* BELFRY_SCHEDULE_F_... */
	bool is_removed; /* a tombstone: id and revision alone */
	enum belfry_phase phase;
	belfry_time cursor;     /* next due time, owed because it is stored; NEVER: none */
	belfry_time idle_since; /* since when there is no cursor (disabled, removed); 0: there is one */
	int64_t fired_count; /* scheduled Runs that were inserted, but for those SKIPPED */
	belfry_time last_fire_at;
	uint32_t payload_bytes;
	struct belfry_str definition; /* opaque to the store: rule, zone, policies */
	struct belfry_str fair_key;
	struct belfry_str tz_version; /* with which the cursor was computed; empty: there is none */
	struct belfry_str phase_reason;
	/* What a newer tz database needs to compute the cursor anew. A local time is what the clocks of the
	 * rule's zone show, by the database of its writer, in microseconds as though they showed UTC. */
	belfry_time decided_due; /* the last due time that was decided, or where the revision began */
	belfry_time decided_local; /* its local time */
	belfry_time cursor_local;  /* the cursor's; 0: there is none */
};

/* A Run to be made. Its deployment, revision and tz version are the item's. */
struct belfry_new_run {
	struct belfry_id id;
	enum belfry_trigger trigger;
	/* QUEUED; DISPATCHING: born claimed by `holder`; CANCELLED, SKIPPED */
	enum belfry_run_state state;
	belfry_time due_at;
	belfry_time ready_at;
	uint32_t stands_for;
	enum belfry_run_error error; /* of CANCELLED and SKIPPED */
	/* answer */
	bool is_inserted; /* false: this id was there already, nothing was changed */
};

/* A new definition, of BELFRY_RULE_BYTES + 16 KiB at most. The payload is kept once for all revisions that
 * have the same bytes. */
struct belfry_schedule_put {
	int64_t revision;
	uint32_t flags;
	struct belfry_str definition;
	struct belfry_str fair_key;
	struct belfry_str payload;
};

/* Leave a tombstone in place of the definition; Runs stay. */
#define BELFRY_ADVANCE_F_REMOVE 1u
/* End as CANCELLED (SCHEDULE_DISABLED), in this commit, the scheduled Runs of the schedule that have
 * not started, the new ones of this item included. */
#define BELFRY_ADVANCE_F_END_UNSTARTED 2u
/* The clock was set back: forget what the ledger says of times after `decided_at` (gaps that begin
 * later go, one that reaches past it is cut there, and has at least its first due time: count 1,
 * is_at_least). Runs stay: their ids keep them from firing twice. */
#define BELFRY_ADVANCE_F_DROP_LATER_GAPS 4u

/* One schedule's step. It takes place if the row's version is `expect_version` (0: there is no row,
 * or a tombstone with a lower revision than `put`), and not at all otherwise. */
struct belfry_advance_item {
	struct belfry_str schedule;
	uint64_t expect_version;
	uint32_t flags;                        /* BELFRY_ADVANCE_F_... */
	const struct belfry_schedule_put *put; /* NULL: the definition stays */
	int64_t remove_revision;               /* with REMOVE */
	belfry_time cursor;                    /* the new one; NEVER: none from now on */
	belfry_time decided_at; /* the store's time that the decision is about: becomes
						* idle_since where `cursor` is NEVER */
	struct belfry_str tz_version;
	belfry_time decided_due; /* and what follows: kept in the row as given */
	belfry_time decided_local;
	belfry_time cursor_local;
	enum belfry_phase phase;
	struct belfry_str phase_reason;
	belfry_time last_fire_at; /* 0: stays; never goes back */
	struct belfry_new_run *runs;
	size_t run_count;
	const struct belfry_gap *gaps; /* `schedule` and `written_at` are the item's */
	size_t gap_count;
	/* answers */
	enum belfry_status result; /* OK; CONFLICT: another version; CAPACITY: too many enabled;
				    * CORRUPT: this row cannot be written */
	uint64_t version;          /* the row's new version, where it took place */
	uint32_t ended;            /* Runs that END_UNSTARTED has ended */
};

/* Plan, put, remove, enable, disable: one conditional operation over many schedules.
 *
 * Must: for each item whose condition holds, in one atomic step: move the cursor, put or remove, write
 * the gaps, insert the Runs that are not there yet (insert-or-ignore on the primary key, never a read
 * before the write), and say which were really inserted. `fired_count` rises by those of them whose
 * trigger is SCHEDULE and whose state is not SKIPPED, in the same step: max_fires rests on it. A Run born claimed gets holder = `holder`,
 * fence = `fence`, attempt 1, started_at = `now`. No Run whose due time is after `now` is made.
 * Born claimed and a holder that has ended: BELFRY_STALE, nothing is done.
 * If you get it wrong: a cursor moved without its Runs is a lost due time; Runs without the cursor's
 * condition are doubled work for a revision that is gone. */
struct belfry_advance {
	size_t size;
	struct belfry_id holder; /* all zero: nobody (a put before start) */
	bool is_plan;            /* obey the global switch: off answers CONFLICT for every item */
	int64_t max_active;      /* ceiling of enabled schedules; 0: none */
	struct belfry_advance_item *items;
	size_t item_count;
	/* answers */
	belfry_time now;
	belfry_fence fence;
};

/* ---- Runs -------------------------------------------------------------------------------------- */

/* Run now, replay, backfill. The revision must be one that is kept; 0: the present one. */
struct belfry_add {
	struct belfry_str schedule;
	struct belfry_id id;
	enum belfry_trigger trigger;
	belfry_time due_at;   /* backfill */
	belfry_time ready_at; /* 0: at once */
	int64_t revision;
	struct belfry_id replayed_from;
	struct belfry_str tz_version;
	struct belfry_str
			request_key; /* empty: none; unique for the schedule, lives as long as the Run */
	uint64_t request_hash;       /* of the request that came with the key */
	/* answers */
	enum belfry_status
			result; /* OK; NOT_FOUND: no such schedule or revision; KEY_REUSED: the key
				    * came with another request; CONFLICT: a Run with this id exists */
	struct belfry_id
			existing; /* OK: the Run's id: the new one, or the one that the key made before */
	bool is_new;
};

enum belfry_claim_kind {
	BELFRY_CLAIM_QUEUE,    /* Runs that wait and are ready, oldest ready first */
	BELFRY_CLAIM_TAKEOVER, /* Runs whose holder has ended: takeovers + 1, same attempt */
	BELFRY_CLAIM_OWNED     /* what `holder` owns, changed in nothing: after an unknown commit */
};

struct belfry_claimed {
	struct belfry_run run;
	struct belfry_str definition; /* of the Run's revision */
	uint32_t payload_bytes;
};

/* Must: give each Run returned (QUEUE, TAKEOVER) state DISPATCHING, the holder, fence =
 * max(old + 1, now in microseconds), started_at where it was 0, attempt + 1 (QUEUE), in one step that
 * no other claim can share. BELFRY_STALE when the holder has ended.
 * If you get it wrong: two holders with one fence, and T033 falls. */
struct belfry_claim {
	size_t size;
	enum belfry_claim_kind kind;
	struct belfry_id holder;
	uint32_t max_runs;
	uint64_t max_bytes;     /* of payloads; the first Run is returned even past it */
	struct belfry_id after; /* OWNED: only larger ids */
	/* answers */
	belfry_time now;
	struct belfry_claimed *runs;
	size_t run_count;
	bool is_short;          /* no further Run waits that is ready */
	belfry_time next_ready; /* QUEUE: when the next one gets ready; NEVER: none waits */
};

enum belfry_record_kind {
	/* the Session is stored: fence matches AND (none stored OR the same); failures and takeovers
	 * begin anew (takeovers do so with RETRY too) */
	BELFRY_RECORD_SESSION,
	BELFRY_RECORD_TURN,   /* dispatched; with a terminal `status` the Run has ended as well */
	BELFRY_RECORD_RETRY,  /* delayed until `ready_at`; no holder */
	BELFRY_RECORD_FAILED, /* failed with `error` */
	BELFRY_RECORD_CANCELLED, /* cancelled with `error` */
	BELFRY_RECORD_RELEASED,  /* handed back by a clean stop: queued, no holder, attempt - 1 */
	/* Two that the host asks for, whoever holds the Run: no fence is asked for, none is changed, and
	 * no row in `attempts` is written.
	 * CONCLUDED: how its turn ended. A Run that is open, has started and has its Session stored
	 * (LOCAL_SESSION: always) becomes dispatched by it, with an empty turn, and leaves the queue where
	 * it waits for another attempt.
	 * CANCELLED_BY_HOST: a Run that is queued, delayed or dispatching becomes cancelled. One that waits
	 * leaves the queue; one that is dispatching keeps its holder, who learns of it by its next beat, and
	 * whose own records are STALE from now on.
	 * To say again what has become of the Run is OK and changes nothing. */
	BELFRY_RECORD_CONCLUDED,
	BELFRY_RECORD_CANCELLED_BY_HOST
};

/* Of the attempts of a Run the latest so many stay: with each row that is written, those whose number is
 * lower by this or more go. */
#define BELFRY_ATTEMPTS_KEPT 100u

struct belfry_record {
	enum belfry_record_kind kind;
	struct belfry_id run;
	belfry_fence fence; /* must be the Run's, and the Run dispatching (not with the last two kinds) */
	uint32_t attempt;
	enum belfry_step step;
	struct belfry_str session;     /* SESSION */
	struct belfry_str turn;        /* TURN */
	enum belfry_run_status status; /* TURN, CONCLUDED: terminal, or RUNNING */
	uint32_t run_flags;            /* added to the Run's */
	enum belfry_run_error error;
	enum belfry_run_error attempt_error; /* of the row in `attempts`; NONE: `error` */
	struct belfry_str message;
	struct belfry_str detail;
	belfry_time ready_at; /* RETRY */
	bool is_failure;      /* RETRY: failures + 1; false where the target asked for the wait */
	bool write_attempt; /* keep a row in `attempts`; at most BELFRY_ATTEMPTS_KEPT numbers back */
	belfry_time attempt_started_at;
	/* answers */
	enum belfry_status result; /* OK; NOT_FOUND; STALE: fence or state are others (CONCLUDED: it
				    * has not started, or no Session is stored; CANCELLED_BY_HOST: never);
				    * CONFLICT: another Session is stored, or it has ended otherwise, or
				    * (CANCELLED_BY_HOST) its turn is stored */
	bool is_again; /* the last two kinds, OK: it had ended so before, nothing was changed */
};

struct belfry_prune {
	size_t size;
	belfry_duration keep_age;        /* terminal Runs younger than this stay ... */
	int64_t keep_runs;               /* ... and so do this many of each deployment */
	belfry_duration keep_failed_age; /* failed ones */
	belfry_duration keep_tombstones;
	uint32_t max_rows;      /* looked at in this call: small, so that nobody waits long */
	struct belfry_id after; /* where the last call stopped; all zero: from the oldest */
	/* answers */
	uint64_t removed;
	struct belfry_id next;
	bool is_done; /* everything was looked at; begin anew later */
};

/* ---- reading ----------------------------------------------------------------------------------- */

enum belfry_list_kind {
	BELFRY_LIST_DUE,       /* rows: from <= cursor <= now, oldest cursor first; next_due */
	BELFRY_LIST_SCHEDULES, /* rows by id, after `after_text`; with `ids`: those alone */
	BELFRY_LIST_REVISIONS, /* rows by id, after `after_text`: id, revision and is_removed alone,
				   * so that a million are compared without being read */
	BELFRY_LIST_RUNS,      /* runs newest id first, below `before` where it is not zero */
	BELFRY_LIST_RUN_IDS,   /* runs: those named in `run_ids` that exist, in their order */
	BELFRY_LIST_INVOCATIONS,  /* invocations: payload of each of `run_ids` that exists */
	BELFRY_LIST_ATTEMPTS,     /* attempts of `run_ids[0]`, oldest first */
	BELFRY_LIST_GAPS,         /* gaps of `schedule` that touch [from, to], oldest first */
	BELFRY_LIST_INCARNATIONS, /* incarnations that live, or cover anything after `from` */
	BELFRY_LIST_COUNTS,       /* counts: open Runs by state, oldest ready one */
	/* rows: each tz version that some cursor was computed with, once, in no order, and nothing else of
	 * them. Asked for again and again: its cost must not grow with the number of schedules. */
	BELFRY_LIST_TZ_VERSIONS
};

struct belfry_invocation_row {
	struct belfry_id run;
	struct belfry_str payload;
};

struct belfry_counts {
	int64_t by_state[BELFRY_RUN_STATE_COUNT]; /* QUEUED, DELAYED, DISPATCHING; others 0 */
	belfry_time oldest_queued;                /* ready_at of the oldest ready one; 0: none */
	int64_t schedules;                        /* not removed */
	int64_t active_schedules;                 /* enabled */
	bool is_on;                               /* the global switch */
};

struct belfry_list {
	size_t size;
	enum belfry_list_kind kind;
	struct belfry_str schedule; /* RUNS: empty for all; GAPS */
	uint32_t statuses;          /* RUNS: bit n: status n; 0: all */
	uint32_t triggers;          /* RUNS: bit n: trigger n; 0: all */
	belfry_time from; /* DUE; RUNS: since, of due or creation time; GAPS; INCARNATIONS */
	belfry_time to;   /* GAPS; 0: no end */
	struct belfry_id before;
	struct belfry_str after_text;
	/* SCHEDULES without ids: those alone whose cursor was computed with it; empty: all */
	struct belfry_str tz_version;
	const struct belfry_str *ids;
	size_t id_count;
	const struct belfry_id *run_ids;
	size_t run_id_count;
	uint32_t limit;
	/* answers: the array that the kind names, `count` long */
	belfry_time now;
	size_t count;
	bool has_more;
	belfry_time next_due;     /* DUE: the smallest cursor after now; NEVER */
	belfry_time history_from; /* RUNS, GAPS with a schedule: kept since; 0: everything is */
	struct belfry_schedule_row *rows;
	struct belfry_run *runs;
	struct belfry_invocation_row *invocations;
	struct belfry_attempt *attempts;
	struct belfry_gap *gaps;
	struct belfry_incarnation *incarnations;
	struct belfry_counts *counts;
};

/* ---- the table --------------------------------------------------------------------------------- */

struct belfry_store_ops {
	uint32_t seams_abi; /* BELFRY_SEAMS_ABI */
	size_t size;        /* sizeof(struct belfry_store_ops) as the adapter was built with */
	const char *name;   /* "sqlite"; the file name of a plug-in without ".so" */
	uint32_t caps;      /* BELFRY_STORE_CAP_... */

	/* Required. Open the database; touch nothing in it but a lock. BELFRY_CONFIGURATION names what
	 * is missing or wrong and the remedy; BELFRY_BUSY names who holds an exclusive store. */
	enum belfry_status (*open)(const struct belfry_store_options *options,
			struct belfry_store **ret_store, struct belfry_error *err);
	/* Required. Bring the schema to what this build needs, by numbered steps, each of them atomic;
	 * refuse a newer one (BELFRY_CONFIGURATION), and one that lacks a key that uniqueness rests on. */
	enum belfry_status (*migrate)(struct belfry_store *store, struct belfry_error *err);
	/* Required. Takes the store, accepts NULL, waits for calls that are under way. */
	void (*close)(struct belfry_store *store);
	/* Required. The store's clock. */
	enum belfry_status (*time)(struct belfry_store *store, belfry_time *ret_now,
			struct belfry_error *err);
	/* Required; see each struct above. */
	enum belfry_status (*beat)(struct belfry_store *store, struct belfry_beat *beat,
			struct belfry_arena *arena, struct belfry_error *err);
	enum belfry_status (*advance)(struct belfry_store *store, struct belfry_advance *advance,
			struct belfry_error *err);
	enum belfry_status (*add_runs)(struct belfry_store *store, struct belfry_add *adds,
			size_t count, struct belfry_error *err);
	enum belfry_status (*claim_runs)(struct belfry_store *store, struct belfry_claim *claim,
			struct belfry_arena *arena, struct belfry_error *err);
	enum belfry_status (*record)(struct belfry_store *store, struct belfry_record *records,
			size_t count, struct belfry_error *err);
	enum belfry_status (*prune)(struct belfry_store *store, struct belfry_prune *prune,
			struct belfry_error *err);
	enum belfry_status (*list)(struct belfry_store *store, struct belfry_list *list,
			struct belfry_arena *arena, struct belfry_error *err);
	/* Optional. A descriptor that is readable when another process may have changed something,
	 * and what empties it. A hint: polling is the truth. */
	int (*wait_fd)(struct belfry_store *store);
	void (*drain)(struct belfry_store *store);
	/* Optional. Turn the global switch; off also ends scheduled Runs that have not started. */
	enum belfry_status (*turn_switch)(struct belfry_store *store, bool is_on,
			struct belfry_error *err);
	/* Optional: the host's own records in the same database (documents.h). */
	const struct belfry_document_ops *documents;
};

BELFRY_END_DECLS

#endif

/* A Run: the durable record of one invocation.
 *
 * Shapes     plain values. `struct belfry_run` borrows its text from whoever handed it out.
 * Threads    every function here is pure, never blocks, and may be called from any thread.
 * Source     contract.md, "A Run's life".
 * Since      0.1 */
#ifndef BELFRY_RUN_H
#define BELFRY_RUN_H

#include <belfry/status.h>

BELFRY_BEGIN_DECLS

enum belfry_run_state {
#define BELFRY_RUN_STATE(name, text, flags, status, next) BELFRY_RUN_##name,
#include <belfry/run_state.def>
#undef BELFRY_RUN_STATE
	BELFRY_RUN_STATE_COUNT
};

enum belfry_run_status {
#define BELFRY_RUN_STATUS(name, terminal) BELFRY_STATUS_##name,
#include <belfry/run_status.def>
#undef BELFRY_RUN_STATUS
	BELFRY_RUN_STATUS_COUNT
};

enum belfry_run_error {
#define BELFRY_RUN_ERROR(name, text) BELFRY_RUN_ERROR_##name,
#include <belfry/run_error.def>
#undef BELFRY_RUN_ERROR
	BELFRY_RUN_ERROR_COUNT
};

/* Why a Run was made. Stored: append only. */
enum belfry_trigger {
	BELFRY_TRIGGER_SCHEDULE,
	BELFRY_TRIGGER_MANUAL,
	BELFRY_TRIGGER_REPLAY,
	BELFRY_TRIGGER_BACKFILL,
	BELFRY_TRIGGER_COUNT
};

/* The two steps of dispatch. Stored: append only. */
enum belfry_step {
	BELFRY_STEP_SESSION, /* start_session */
	BELFRY_STEP_TURN     /* admit_turn */
};

/* The Session of this Run is the host's own and carries the Run's id: it is stored WITH the Run, and
 * start_session is not called (performance.md, "What follows", 3). */
#define BELFRY_RUN_F_LOCAL_SESSION    1u
#define BELFRY_RUN_F_OUTPUT_TRUNCATED 2u

struct belfry_run {
	struct belfry_id id;
	struct belfry_str schedule; /* the deployment's id */
	enum belfry_trigger trigger;
	enum belfry_run_state state;
	enum belfry_run_status status;
	uint32_t flags;       /* BELFRY_RUN_F_... */
	int64_t revision;     /* of the schedule, captured when the Run was made */
	belfry_time due_at;   /* 0 for manual and replay (T057) */
	belfry_time ready_at; /* not dispatched before */
	belfry_time created_at;
	belfry_time started_at;    /* first holder; 0 until then */
	belfry_time dispatched_at; /* turn stored; 0 until then */
	belfry_time finished_at;   /* status became terminal; 0 until then */
	struct belfry_id replayed_from;
	struct belfry_id holder;   /* incarnation; all zero where there is none */
	belfry_fence fence;        /* of the latest holder; 0 before the first */
	uint32_t attempt;          /* number of the latest attempt, from 1; 0 before the first */
	uint32_t failures;         /* failed attempts of the present step */
	uint32_t takeovers;        /* in a row, with nothing new stored */
	uint32_t stands_for;       /* due times it stands for: 1, more with missed: fire_once */
	struct belfry_str session; /* empty until stored */
	struct belfry_str turn;
	enum belfry_run_error error;
	struct belfry_str message; /* public sentence that goes with the error, may be empty */
	struct belfry_str detail;  /* for operators */
	struct belfry_str tz_version;
};

/* One attempt; kept from the first failure or second attempt on (architecture.md, Data). */
struct belfry_attempt {
	struct belfry_id run;
	uint32_t number;
	enum belfry_step step;
	belfry_fence fence;
	struct belfry_id holder;
	belfry_time started_at;
	belfry_time ended_at;
	enum belfry_run_error error; /* NONE: the attempt succeeded */
	struct belfry_str message;
	struct belfry_str detail;
};

/* A stretch of due times that became no Run, and why. Both ends count. */
struct belfry_gap {
	struct belfry_str schedule; /* empty: of every schedule */
	belfry_time from;
	belfry_time to;
	int64_t count;    /* due times in it */
	bool is_at_least; /* counting stopped there */
	int32_t reason;   /* enum belfry_gap_reason */
	int64_t revision;
	struct belfry_str who; /* free text: "planner", a token's name */
	belfry_time written_at;
};

enum belfry_gap_reason {
#define BELFRY_GAP_REASON(name, text) BELFRY_GAP_##name,
#include <belfry/gap_reason.def>
#undef BELFRY_GAP_REASON
	BELFRY_GAP_REASON_COUNT
};

/* Names as the API writes them ("dispatching", "COMPLETED", "TIMEOUT", "schedule"). Static text, any
 * thread. A value outside its list reads as "?". */
BELFRY_API const char *belfry_run_state_name(enum belfry_run_state state);
BELFRY_API const char *belfry_run_status_name(enum belfry_run_status status);
BELFRY_API const char *belfry_run_error_name(enum belfry_run_error error);
BELFRY_API const char *belfry_run_error_text(enum belfry_run_error error);
BELFRY_API const char *belfry_trigger_name(enum belfry_trigger trigger);
BELFRY_API const char *belfry_gap_reason_text(enum belfry_gap_reason reason);
BELFRY_API bool belfry_run_status_is_terminal(enum belfry_run_status status);

/* The id of the Run that belongs to a due time (contract.md, "A Run's life"): the same on every
 * replica and after every restart, and so the uniqueness of (deployment, due time).
 *
 *   bytes 0-5   milliseconds since 1970, big endian
 *   bytes 6-15  the first ten bytes of SHA-256 over the deployment's id, one zero byte, and the due
 *               time in microseconds as eight bytes big endian; the version (8) and variant bits of
 *               RFC 9562 laid over them
 *
 * schedule  borrowed; due  microseconds, not before 1970.
 * Returns BELFRY_OK, BELFRY_INVALID (due before 1970, or a pointer is NULL), BELFRY_NOMEM. Pure, any
 * thread. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_run_id(struct belfry_str schedule,
		belfry_time due, struct belfry_id *ret_id);

/* An id as text and back, copied. format writes BELFRY_ID_TEXT_BYTES with the NUL; its
 * buffer is not NULL. parse takes the 36
 * characters of RFC 9562, either case; BELFRY_INVALID for anything else. Pure, any thread. */
BELFRY_API void belfry_id_format(struct belfry_id id, char *buffer);
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_id_parse(struct belfry_str text,
		struct belfry_id *ret_id);

BELFRY_END_DECLS

#endif

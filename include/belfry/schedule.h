/* A Schedule: what a provider is told of a Deployment.
 *
 * Shapes     option structs with their size first: initialise with the _INIT macro, which holds the
 *            defaults of contract.md (Policies) for a schedule that comes through the seam.
 * Ownership  borrowed for the call, copied if kept.
 * Since      0.1 */
#ifndef BELFRY_SCHEDULE_H
#define BELFRY_SCHEDULE_H

#include <belfry/status.h>

BELFRY_BEGIN_DECLS

/* Every list below is stored: append only. The first value is the default. */
enum belfry_missed {
	BELFRY_MISSED_SKIP,
	BELFRY_MISSED_FIRE_ONCE,
	BELFRY_MISSED_CATCH_UP,
	BELFRY_MISSED_COUNT
};
enum belfry_overlap {
	BELFRY_OVERLAP_ALLOW,
	BELFRY_OVERLAP_SKIP,
	BELFRY_OVERLAP_QUEUE,
	BELFRY_OVERLAP_QUEUE_LATEST,
	BELFRY_OVERLAP_CANCEL_PREVIOUS,
	BELFRY_OVERLAP_COUNT
};
enum belfry_interrupted {
	BELFRY_INTERRUPTED_RESUME,
	BELFRY_INTERRUPTED_ABANDON,
	BELFRY_INTERRUPTED_COUNT
};
enum belfry_on_exhausted {
	BELFRY_EXHAUSTED_KEEP,
	BELFRY_EXHAUSTED_DISABLE,
	BELFRY_EXHAUSTED_COUNT
};
enum belfry_dst_gap {
	BELFRY_DST_GAP_AT_END,
	BELFRY_DST_GAP_SKIP,
	BELFRY_DST_GAP_SHIFT,
	BELFRY_DST_GAP_COUNT
};
enum belfry_dst_fold {
	BELFRY_DST_FOLD_FIRST,
	BELFRY_DST_FOLD_LAST,
	BELFRY_DST_FOLD_BOTH,
	BELFRY_DST_FOLD_COUNT
};
enum belfry_phase {
	BELFRY_PHASE_ACTIVE,
	BELFRY_PHASE_PAUSED,
	BELFRY_PHASE_EXHAUSTED,
	BELFRY_PHASE_QUARANTINED,
	BELFRY_PHASE_COUNT
};

/* What each means: contract.md, Policies. What this version does not carry out is refused by name at apply
 * (err->pointer names it), never ignored. */
struct belfry_policies {
	enum belfry_missed missed;
	belfry_duration missed_max_age; /* 0: the policy's own (1 h, 7 days) */
	uint32_t missed_max_count;      /* 0: 10 */
	belfry_duration grace;          /* uncovered due times no older than this are fired */
	belfry_duration late_limit;     /* covered ones decided later than this count as missed */
	enum belfry_overlap overlap;
	enum belfry_interrupted interrupted;
	uint32_t max_attempts;       /* of each step, 1 to 1000 */
	belfry_duration first_delay; /* before the second attempt, 1 ms at least; doubles, half random */
	belfry_duration max_delay;       /* no wait is longer; at least first_delay */
	belfry_duration timeout;         /* of one attempt of one step; 0: none */
	belfry_duration session_timeout; /* of a Session that outlives dispatch */
	enum belfry_on_exhausted on_exhausted;
	uint32_t disable_after; /* consecutive FAILED Runs; 0: never */
	enum belfry_dst_gap dst_gap;
	enum belfry_dst_fold dst_fold;
	belfry_duration deadline; /* 0: none */
};

#define BELFRY_POLICIES_INIT                                                                       \
	{                                                                                          \
		BELFRY_MISSED_SKIP, 0, 0, 0, BELFRY_HOUR, BELFRY_OVERLAP_ALLOW,                    \
				BELFRY_INTERRUPTED_RESUME, 5, BELFRY_SECOND, BELFRY_MINUTE, 0,     \
				BELFRY_DAY, BELFRY_EXHAUSTED_KEEP, 0, BELFRY_DST_GAP_AT_END,       \
				BELFRY_DST_FOLD_FIRST, 0                                           \
	}

#define BELFRY_SCHEDULE_F_ENABLED 1u
/* Five cron fields alone, as the seam of the scheduler-provider document asks; else six are allowed. */
#define BELFRY_SCHEDULE_F_FIVE_FIELDS 2u
/* Runs get BELFRY_RUN_F_LOCAL_SESSION. */
#define BELFRY_SCHEDULE_F_LOCAL_SESSION 4u

struct belfry_schedule {
	size_t size;                /* sizeof(struct belfry_schedule) */
	uint32_t flags;             /* BELFRY_SCHEDULE_F_... */
	int64_t revision;           /* from 1, rising with every change */
	struct belfry_str id;       /* 1 to BELFRY_SCHEDULE_ID_BYTES bytes of printable ASCII */
	struct belfry_str rule;     /* cron text of at most 256 bytes, or the JSON of calendar.md */
	struct belfry_str zone;     /* IANA name */
	struct belfry_str fair_key; /* opaque; Runs with one key share the places (B18) */
	struct belfry_str payload;  /* opaque; handed back with every invocation */
	struct belfry_policies policies;
	belfry_time created_at; /* where {"every": ...} counts from; 0: the time of the apply */
};

#define BELFRY_SCHEDULE_INIT                                                                       \
	{                                                                                          \
		sizeof(struct belfry_schedule), BELFRY_SCHEDULE_F_ENABLED, 0, {NULL, 0},           \
				{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, BELFRY_POLICIES_INIT,  \
				0                                                                  \
	}

#define BELFRY_SCHEDULE_ID_BYTES 64
/* With the shared calendars that a rule names written out in it; a host takes less from people. */
#define BELFRY_RULE_BYTES     65535
#define BELFRY_ZONE_BYTES     64
#define BELFRY_FAIR_KEY_BYTES 64
#define BELFRY_PAYLOAD_BYTES  (4u << 20)

/* As the API writes it ("active"). Static text, any thread; a value outside the list reads as "?". */
BELFRY_API const char *belfry_phase_name(enum belfry_phase phase);

BELFRY_END_DECLS

#endif

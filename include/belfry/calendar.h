/* The calendar: what a rule means, to the microsecond. Pure: no clock, no locale, no libc time zone.
 *
 * Ownership  a zone and a rule are owned by the caller, freed by their _free, immutable and so shared
 *            between threads without locks. A rule keeps its own reference to its zone. The freeing
 *            functions accept NULL. Texts are borrowed for the call.
 * Threads    any, but for the freeing of what another still uses.
 * Source     POSIX crontab, Debian cron's manual, RFC 9636 (TZif).
 * Since      0.1 */
#ifndef BELFRY_CALENDAR_H
#define BELFRY_CALENDAR_H

#include <belfry/arena.h>
#include <belfry/schedule.h>

BELFRY_BEGIN_DECLS

struct belfry_zones; /* the tz database as it was at the last look at the disk */
struct belfry_rule;  /* a parsed rule bound to a zone */

/* A set of zones read from `directory` (copied; NULL: the usual system folders, $TZDIR is NOT read here).
 * Loads lazily and keeps what it loaded; one lock, taken only in belfry_rule_new.
 *
 * ret_zones  owned: belfry_zones_free, once no rule is being made from it. Rules outlive it.
 * BELFRY_OK, BELFRY_NOMEM, BELFRY_CONFIGURATION (no database there), BELFRY_INVALID (ret_zones is NULL).
 * Blocks for the reading of one or two small files. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_zones_new(const char *directory,
		struct belfry_zones **ret_zones, struct belfry_error *err);
BELFRY_API void belfry_zones_free(struct belfry_zones *zones);
/* The database's version, "2026f"; "unknown" where the folder does not say. Borrowed from zones, for as
 * long as they live, also when a refresh finds a newer one. */
BELFRY_API const char *belfry_zones_version(const struct belfry_zones *zones);

/* Look whether the database on disk is another than the one read: its version, or the content of a zone
 * that was asked for before. Then the zones are read anew and the version with them; rules that exist
 * keep what they were made with. A zone that is gone is refused from then on, until it is there again.
 * Nothing else ever looks: a program that runs for long calls this every minute or so. Where no file was
 * touched it costs a stat(2) for each zone that is loaded.
 *
 * ret_is_changed  whether it was another (then the generation has risen); may be NULL
 * BELFRY_OK; BELFRY_CONFIGURATION: the database is not there, or not whole (a file that is being
 * written, a version that it had and has no more). Then, and on BELFRY_NOMEM, nothing changes, and the
 * next look may find it whole; BELFRY_INVALID (zones is NULL).
 * Blocks for the reading of small files. Any thread, beside any other call on the same zones. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_zones_refresh(struct belfry_zones *zones,
		bool *ret_is_changed, struct belfry_error *err);
/* How many databases were seen: 1, and one more for each change that belfry_zones_refresh found. Who keeps
 * rules reads it BEFORE making one, and makes the rule anew once it has risen. Never blocks. */
BELFRY_API uint64_t belfry_zones_generation(const struct belfry_zones *zones);

struct belfry_rule_options {
	size_t size;
	bool five_fields; /* refuse six cron fields */
	enum belfry_dst_gap gap;
	enum belfry_dst_fold fold;
	belfry_time anchor; /* for {"every": ...} without one: the creation time */
};
#define BELFRY_RULE_OPTIONS_INIT                                                                   \
	{                                                                                          \
		sizeof(struct belfry_rule_options), false, BELFRY_DST_GAP_AT_END,                  \
				BELFRY_DST_FOLD_FIRST, 0                                           \
	}

/* Parse `text` (cron, or rule JSON where it begins with '{') for `zone`, an IANA name.
 *
 * options   NULL: the defaults
 * ret_rule  owned: belfry_rule_free
 * BELFRY_OK; BELFRY_INVALID_SCHEDULE (err->position is the byte at fault plus one, within `text`; also
 * an unknown zone, with pointer "/timezone", and a rule that can never fire); BELFRY_NOMEM;
 * BELFRY_INVALID (zones or ret_rule is NULL, or a text has a length and no bytes). Reads the zone's file the first time. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_rule_new(struct belfry_zones *zones,
		struct belfry_str text, struct belfry_str zone,
		const struct belfry_rule_options *options, struct belfry_rule **ret_rule,
		struct belfry_error *err);
BELFRY_API void belfry_rule_free(struct belfry_rule *rule);

/* In what follows `rule` and the places for answers are not NULL where nothing else is said: these functions
 * are called in loops, and check nothing. */

/* The first due time STRICTLY after `after`, microseconds UTC. BELFRY_OK; BELFRY_NEVER: there is none.
 * Pure: allocates nothing, never blocks. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_rule_next(const struct belfry_rule *rule,
		belfry_time after, belfry_time *ret_due);

/* After how many firings the rule is exhausted ("max_fires"); 0: never by that. belfry_rule_next knows of no
 * firing and goes on behind the last: who fires, or lists what would, counts. Pure, never blocks. */
BELFRY_API uint32_t belfry_rule_max_fires(const struct belfry_rule *rule);
/* The window within which a Run of the rule becomes ready after its due time ("spread"), microseconds; 0:
 * at once. Pure, never blocks. */
BELFRY_API belfry_duration belfry_rule_spread(const struct belfry_rule *rule);

/* How a change of the clocks is taken. A rule is fixed-time if all its parts are: lists of instants are,
 * cron expressions with neither a minute nor an hour field that begins with a star, and no "every". */
enum belfry_rule_class {
	BELFRY_RULE_FIXED_TIME, /* at these local times: the dst policies say what a change of clocks does */
	BELFRY_RULE_INTERVAL_LIKE /* again and again: real time counts, a change of clocks adds nothing */
};
/* Pure, never blocks. */
BELFRY_API enum belfry_rule_class belfry_rule_class(const struct belfry_rule *rule);

/* Write the rule as text in its one canonical form: cron text where it is a cron expression and nothing else,
 * else compact JSON with unions side by side, and local times of windows, lists and exceptions as instants.
 * A rule made of that text, in the same zone and under the same options, has the same due times and prints the
 * same text.
 *
 * ret_text  borrowed from the arena until it is reset or ended; a NUL stands behind it
 * BELFRY_OK; BELFRY_TOO_LARGE (a union whose parts have exceptions of their own can print more than
 * BELFRY_RULE_BYTES); BELFRY_NOMEM; BELFRY_INVALID (a pointer is NULL). Never blocks. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_rule_print(const struct belfry_rule *rule,
		struct belfry_arena *arena, struct belfry_str *ret_text);

struct belfry_forecast_options {
	size_t size;
	belfry_time from;           /* counts; not before the year 1 */
	belfry_time to;             /* does not; not behind the year 9999 */
	belfry_duration bucket;     /* at least a microsecond */
	struct belfry_str schedule; /* its id, which decides where in a spread it lies; borrowed */
	belfry_duration spread;     /* the window: the rule's, or one that is tried; 0: none */
	uint64_t max_fires;         /* how many firings are left; 0: no limit */
	belfry_duration lead;   /* how long before `from` the first bucket began; 0: at `from` */
	belfry_time since;      /* due times before it are none: a schedule was made then */
	belfry_time left_since; /* where `from` is older: firings are left from here on */
};
#define BELFRY_FORECAST_OPTIONS_INIT                                                               \
	{                                                                                          \
		sizeof(struct belfry_forecast_options), 0, 0, BELFRY_MINUTE, {NULL, 0}, 0, 0, 0,   \
				INT64_MIN, INT64_MIN                                               \
	}

/* Add a rule's load to `counts`, so that the load of many rules adds up: how many of its due times lie in
 * each bucket of [from, to); with a spread, how many of its Runs get ready there, those that were due
 * before `from` included. A count stops at UINT32_MAX. A rule that is one cron expression costs about a
 * nanosecond for a due time; a union, a spread and a limit of firings cost as much as asking for each.
 *
 * counts        not cleared; bucket_count of them, at least as many as [from - lead, to) has, the last of
 *               which may be cut short by `to`
 * BELFRY_OK; BELFRY_INVALID (options not initialised, times not in order, too few buckets): then nothing
 * was added; BELFRY_NOMEM (with a spread alone: then a part was). Pure, never blocks. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_rule_forecast(const struct belfry_rule *rule,
		const struct belfry_forecast_options *options, uint32_t *counts,
		size_t bucket_count, struct belfry_error *err);

/* Seconds east of UTC that the rule's zone has at `at`. Pure. */
BELFRY_API int32_t belfry_rule_offset(const struct belfry_rule *rule, belfry_time at);

/* What belfry_rule_explain answers. Texts and the list are borrowed from the arena of the call. */
struct belfry_rule_warning {
	const char *code;       /* stable: "EITHER_DAY"; the list is in docs/calendar.md. Static */
	struct belfry_str text; /* one sentence with the facts, no full stop */
};
struct belfry_explanation {
	size_t size;
	struct belfry_str sentence; /* UTF-8, no newline, no full stop; a NUL stands behind it */
	enum belfry_rule_class class_;
	const struct belfry_rule_warning *warnings;
	size_t warning_count;
};
#define BELFRY_EXPLANATION_INIT                                                                    \
	{                                                                                          \
		sizeof(struct belfry_explanation), {NULL, 0}, BELFRY_RULE_FIXED_TIME, NULL, 0      \
	}

/* Say in English when the rule fires, of which class it is, and what may surprise in it.
 *
 * now              what "today" and "next" go by, microseconds UTC; also where warnings look from
 * arena            borrowed; holds the answer until it is reset or ended
 * ret_explanation  BELFRY_EXPLANATION_INIT on the way in
 * BELFRY_OK; BELFRY_NOMEM; BELFRY_INVALID (size is another, or a pointer is NULL). Pure; never blocks;
 * a few microseconds to a few milliseconds. Any thread, one arena each. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_rule_explain(const struct belfry_rule *rule,
		belfry_time now, struct belfry_arena *arena,
		struct belfry_explanation *ret_explanation);

BELFRY_END_DECLS

#endif

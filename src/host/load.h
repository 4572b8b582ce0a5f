/* The load of many schedules: how many Runs get ready in each minute, which minutes are the busiest and who
 * makes them, and which schedules to spread so that the busiest minute has half as many (load_spread.c).
 * Pure: no store, no clock; it asks `is_late` whether to go on.
 *
 * Schedules whose rule is the same text in the same zone are one group and counted once, so that a thousand
 * of "0 2 * * *" cost what one does.
 *
 * Order      bf_load_init, bf_load_put..., bf_load_count once, then the questions; bf_load_fini.
 * Memory     bounded: bf_load_is_full says when no more should be put.
 * Threads    one. */
#ifndef BF_HOST_LOAD_H
#define BF_HOST_LOAD_H

#include <belfry/calendar.h>
#include <belfry/run.h>

#include "base/compiler.h"

#define BF_LOAD_PEAKS   5     /* levels of busy minutes */
#define BF_LOAD_NAMED   10    /* schedules that are named for each */
#define BF_LOAD_CHANGES 10000 /* schedules that a plan may change */

struct bf_load_group {
	struct belfry_rule *rule; /* owned */
	belfry_duration spread;
	uint64_t max_fires; /* that are left; 0: no limit */
	belfry_time since;  /* due times before it are none */
	uint32_t first;     /* of its members */
	uint32_t member_count;
	uint32_t changed_count;           /* the first of its members, by the plan */
	uint32_t at_peaks[BF_LOAD_PEAKS]; /* what each member has there */
	uint32_t crowded;                 /* what each member has in minutes above half the peak */
	uint64_t total;                   /* what each has in all */
	belfry_duration gap;              /* the shortest between two due times */
	belfry_duration window;           /* the plan's, for those that it changes */
};

struct bf_load_member {
	struct belfry_id id;
	uint32_t group;
	uint32_t order; /* in which it was put */
};

/* Minutes that are as busy as each other. */
struct bf_load_peak {
	uint32_t minute; /* the first of them */
	uint32_t minute_count;
	uint32_t count;        /* in each */
	uint32_t member_count; /* that make the first */
	struct {
		uint32_t member;
		uint32_t count;
	} named[BF_LOAD_NAMED]; /* with the most there, then with the fewest elsewhere, then as put */
	size_t named_count;
};

/* Why no plan halves the peak. */
enum bf_load_obstacle {
	BF_LOAD_POSSIBLE,
	BF_LOAD_NO_PEAK,    /* no minute has more than one */
	BF_LOAD_FLAT,       /* the mean of all minutes is above half the peak */
	BF_LOAD_ONE_ALONE,  /* one schedule alone has more than half of it: `member` */
	BF_LOAD_TOO_CLOSE,  /* most of it comes again before a window would end */
	BF_LOAD_IS_SPREAD,  /* most of it has a spread, or a limit of firings, already */
	BF_LOAD_NOT_ENOUGH, /* the windows that are tried do not reach */
	BF_LOAD_TOO_MANY,   /* more than BF_LOAD_CHANGES would have to change */
	BF_LOAD_TOO_LATE    /* it took too long to find out */
};

struct bf_load_plan {
	enum bf_load_obstacle obstacle;
	uint32_t minute; /* the one that cannot be made smaller */
	uint32_t member; /* BF_LOAD_ONE_ALONE */
	uint32_t before; /* the peak as it is, and with the plan */
	uint32_t after;
	uint32_t change_count;
};

struct bf_load {
	belfry_time from;  /* a whole minute: the first one's beginning */
	belfry_time begin; /* counts: in the first minute */
	belfry_time now;   /* firings are left from here on; INT64_MIN: from `begin` */
	size_t minute_count;
	bool (*is_late)(void *data);
	void *data;
	uint32_t *counts;  /* of each minute; owned, as the rest */
	uint32_t *scratch; /* the same, of one rule */
	struct bf_load_group *groups;
	size_t group_count;
	size_t group_capacity;
	struct bf_load_member *members;
	size_t member_count;
	size_t member_capacity;
	struct bf_load_key *keys; /* groups by what they were made of */
	size_t bytes;
	uint64_t total;
	bool is_complete; /* counting came to its end */
	struct bf_load_peak peaks[BF_LOAD_PEAKS];
	size_t peak_count;
};

/* What decides when a schedule is due. Texts are copied. */
struct bf_load_rule {
	struct belfry_str text;
	struct belfry_str zone;
	struct belfry_rule_options options;
	uint64_t fired_count; /* of the limit of firings, if it has one */
	belfry_time since;    /* no due time before it: the rule is in force from then on */
};

/* From `from` on, in whole minutes of which it lies in the first. is_late may be NULL. BELFRY_OK or
 * BELFRY_NOMEM; bf_load_fini in either case. */
BF_MUST_CHECK enum belfry_status bf_load_init(struct bf_load *load, belfry_time from,
		size_t minute_count, bool (*is_late)(void *data), void *data);
void bf_load_fini(struct bf_load *load);

bool bf_load_is_full(const struct bf_load *load);
/* BELFRY_OK, also where its firings are used up, and it has no load; BELFRY_NOMEM; what belfry_rule_new
 * answers. */
BF_MUST_CHECK enum belfry_status bf_load_put(struct bf_load *load, struct belfry_zones *zones,
		struct belfry_id id, const struct bf_load_rule *rule, struct belfry_error *err);

/* Fills counts, total, is_complete and peaks. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_load_count(struct bf_load *load, struct belfry_error *err);

/* Looks for few schedules and short windows. Those that it changes are the first changed_count members of
 * each group. The result was counted anew, and is what bf_load_count would find once the changes are made.
 * BELFRY_OK (ret_plan->obstacle says whether there is one) or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_load_plan(struct bf_load *load, struct bf_load_plan *ret_plan,
		struct belfry_error *err);

/* Adds one member's load with the window `spread` to `counts`. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_load_add(const struct bf_load *load,
		const struct bf_load_group *group, uint32_t member, belfry_duration spread,
		uint32_t *counts);

#endif

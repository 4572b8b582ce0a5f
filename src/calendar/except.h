/* Exceptions: local times, days and instants that a rule leaves out.
 *
 * What a list of exceptions names in local time is taken out of an expression before the zone is applied,
 * as though the expression had never named it; the policies for gaps and folds act on what is left. So an
 * expression with exceptions is searched like any other: the days on which nothing of it survives are found
 * when the rule is made, and a search never steps through them.
 *
 * Ownership  a set belongs to its rule; a struct bf_except belongs to the part that it was made for, and
 *            borrows from the rule's sets. */
#ifndef BF_CALENDAR_EXCEPT_H
#define BF_CALENDAR_EXCEPT_H

#include <belfry/calendar.h>

#include "calendar/cron.h"
#include "calendar/zone.h"

#define BF_EXCEPT_NAME_BYTES 64
/* Expressions that leave out some of a day's times, of one part and of all parts of a rule: each is looked
 * at for each shape of a month. */
#define BF_EXCEPT_PARTIAL_MAX     ((size_t)16)
#define BF_EXCEPT_PARTIAL_SUM_MAX ((size_t)24)
/* ... and of one part where any of them has seconds, since a day has so many. */
#define BF_EXCEPT_SECONDS_MAX ((size_t)4)
/* ... and those that leave out whole days. */
#define BF_EXCEPT_CRON_MAX     ((size_t)64)
#define BF_EXCEPT_CRON_SUM_MAX ((size_t)1024)

/* One list of exceptions as it was read: the rule's own, or a shared calendar. */
struct bf_except_set {
	const struct bf_except_set *outer; /* the next one that holds too; NULL: none */
	char *calendar;                    /* NULL: the rule's own */
	int64_t *dates;                    /* days since 1970-01-01, ascending, different */
	size_t date_count;
	struct bf_cron *crons; /* one without seconds names the whole minute: all its seconds are set */
	size_t cron_count;
	belfry_time *instants; /* ascending, different */
	size_t instant_count;
};

void bf_except_set_free(struct bf_except_set *set);

/* What a chain of sets leaves of one expression. */
struct bf_except {
	const struct bf_except_set *innermost;
	const struct bf_cron **partial; /* exceptions that leave out a part of some day */
	size_t partial_count;
	uint32_t days[13][7];     /* [month, 0 is January and 12 February of a leap year][weekday of
				     the 1st]: days on which anything is left, dates not looked at */
	uint16_t year_months[14]; /* as in struct bf_cron */
};

/* Where the sums of BF_EXCEPT_..._SUM_MAX stand, over the parts of one rule. */
struct bf_except_sums {
	size_t partial;
	size_t crons;
};

/* What `innermost` and the sets around it leave of `cron`, whose `except` is not looked at. BELFRY_OK
 * (*ret_except is owned: bf_except_free), BELFRY_INVALID_SCHEDULE (nothing is left, or too many), or
 * BELFRY_NOMEM, with the words in err. */
BF_MUST_CHECK enum belfry_status bf_except_new(const struct bf_cron *cron,
		const struct bf_except_set *innermost, struct bf_except_sums *sums,
		struct bf_except **ret_except, struct belfry_error *err);
void bf_except_free(struct bf_except *except);

/* The first local second >= from that cron matches and cron->except leaves in; BF_CRON_NEVER past the year
 * 9999. */
int64_t bf_except_next(const struct bf_cron *cron, int64_t from);

/* An interval's due times, in local microseconds of one stretch of a zone: anchor, and every period behind. */
struct bf_except_steps {
	int64_t anchor;
	int64_t period; /* a second or more */
};
#define BF_EXCEPT_UNTIL INT64_MAX

/* The first step >= from and before `until` that seconds->except (of an expression of every second) leaves
 * in; BF_EXCEPT_UNTIL: there is none. *looks counts down with the days and minutes that are looked at; at 0 it
 * was given up. A day of which a whole pass has found nothing is passed over where the next has the same times of
 * day, so that what repeats is looked at once. */
int64_t bf_except_next_step(const struct bf_cron *seconds, const struct bf_except_steps *steps,
		int64_t from, int64_t until, unsigned *looks);

/* Whether `at` is one of the instants of a chain of sets. */
bool bf_except_has_instant(const struct bf_except_set *innermost, belfry_time at);
/* The set of a chain that leaves out an instant, or the local second that a zone has then; NULL: none. */
const struct bf_except_set *bf_except_find(const struct bf_except_set *innermost,
		const struct bf_zone *zone, belfry_time at);

#endif

/* The parts of an explained rule, from sets and instants to phrases. */
#ifndef BF_CALENDAR_EXPLAIN_H
#define BF_CALENDAR_EXPLAIN_H

#include "calendar/explain_say.h"
#include "calendar/rule.h"

/* The clock of an expression: "at 09:00", "every 5 minutes between 09:00 and 17:59". */
struct bf_clock_phrase {
	struct belfry_str text;
	bool is_every; /* it begins with "every", so that "every Monday" behind it would sound odd */
};
/* has_all_days: no day is left out, so that what goes over midnight may be said as one. */
struct bf_clock_phrase bf_explain_clock(struct bf_speech *speech, const struct bf_cron *cron,
		bool has_all_days);

/* The clock of an expression that leaves out: "at 09:30", "between 12:00 and 12:59"; empty for the whole
 * day. */
struct belfry_str bf_explain_covered(struct bf_speech *speech, const struct bf_cron *cron,
		bool has_all_days);

/* The days of an expression: "on the last Friday of the month"; empty for all days where nothing need
 * be said. after_every: it stands behind "every 5 minutes". */
struct belfry_str bf_explain_days(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every);
/* The same of one of the two fields alone, and of both where either is enough. */
struct belfry_str bf_explain_month_days(struct bf_speech *speech, const struct bf_cron *cron);
struct belfry_str bf_explain_week_days(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every);
struct belfry_str bf_explain_either(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every);
/* Neither days nor months are left out. */
bool bf_explain_has_all_days(const struct bf_cron *cron);

/* --- instants, said in the rule's zone --- */

struct belfry_str bf_explain_zone(struct bf_speech *speech, struct belfry_str name);
/* "09:00 on 24 December 2026"; "midnight on ...". */
struct belfry_str bf_explain_clock_on_date(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time);
struct belfry_str bf_explain_clock_of(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time);
/* "24 December 2026 09:00", without the clock at midnight where is_start. */
struct belfry_str bf_explain_bound(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time, bool is_start);
/* The due time as told at `now`: "tomorrow 09:00 (01:00 UTC)". */
struct belfry_str bf_explain_due(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now, belfry_time due);
/* "every 90 minutes". */
struct belfry_str bf_explain_period(struct bf_speech *speech, belfry_duration period);
/* "90 minutes". */
struct belfry_str bf_explain_amount(struct bf_speech *speech, belfry_duration amount);
/* Local time of an instant, as if UTC. */
belfry_time bf_explain_local(const struct belfry_rule *rule, belfry_time time);
struct belfry_str bf_explain_date(struct bf_speech *speech, belfry_time local);

/* --- limits (explain_limits.c) --- */

/* The phrase with what its exceptions leave out from `now` on; the phrase alone where that is nothing. */
struct belfry_str bf_explain_with_excepts(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now, struct belfry_str phrase, const struct bf_except_set *excepts);
/* What an expression leaves out: "at 09:30 every Friday". */
struct belfry_str bf_explain_exception(struct bf_speech *speech, const struct bf_cron *cron);
/* Whether a list is among those that hold. */
bool bf_explain_holds(const struct bf_except_set *chain, const struct bf_except_set *set);
/* The phrase with what limits the rule as a whole: max_fires and spread. */
struct belfry_str bf_explain_with_limits(struct bf_speech *speech, const struct belfry_rule *rule,
		struct belfry_str phrase);

/* --- warnings --- */

#define BF_WARNINGS_MAX 16

struct bf_warnings {
	struct belfry_rule_warning list[BF_WARNINGS_MAX];
	size_t count;
};
/* What may surprise in the rule, from `now` on; each code and text once, and no more than fit. */
void bf_explain_warnings(struct bf_speech *speech, const struct belfry_rule *rule, belfry_time now,
		struct bf_warnings *ret);

#endif

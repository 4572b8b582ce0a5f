/* Inside the reading of rule JSON: what its files share. */
#ifndef BF_CALENDAR_RULE_JSON_H
#define BF_CALENDAR_RULE_JSON_H

#include "base/json.h"
#include "calendar/except.h"
#include "calendar/rule.h"

/* One rule object that is still to be read. */
struct bf_rule_pending {
	const json_t *value; /* borrowed from the document */
	belfry_time not_before;
	belfry_time not_after;
	const struct bf_except_set *excepts; /* the chain that holds for it */
	char pointer[BELFRY_ERROR_POINTER_BYTES];
};

struct bf_rule_parser {
	struct belfry_rule *rule;
	const struct belfry_rule_options *options;
	struct belfry_error *err;
	struct belfry_str text;      /* the document, for positions */
	struct bf_rule_pending *row; /* BF_RULE_PARTS_MAX */
	size_t count;
	struct bf_except_sums sums;
};

#define BF_RULE_PARTS_MAX  100
#define BF_RULE_TIMES_MAX  200
#define BF_RULE_TIME_BYTES 40 /* of a time's text */
#define BF_RULE_TIME_HINT                                                                          \
	"is neither a local time like \"2026-12-24T18:00:00\" nor an instant like "                \
	"\"2026-12-24T18:00:00Z\""

/* The instants that a member's text means: the first and the last. */
struct bf_rule_moment {
	bool is_local; /* written without an offset */
	bool is_due;   /* false: a local time in a gap that the policy skips */
	belfry_time first;
	belfry_time last;
	int64_t missing;  /* the local second, where the clocks skip it; else BF_CRON_NEVER */
	int64_t repeated; /* the same where they show it twice */
};

/* RFC 3339 with an offset is an instant; without one it is local time, a fixed time of the zone. BELFRY_OK
 * or BELFRY_INVALID. */
BF_MUST_CHECK enum belfry_status bf_rule_read_moment(const struct bf_due_policy *policy,
		struct belfry_str text, struct bf_rule_moment *ret);

/* The member "cron" of what the reader reads; a failure stays in the reader, with its place. */
bool bf_rule_read_cron(const struct bf_rule_parser *parser, struct bf_json_reader *reader,
		struct bf_cron *ret_cron);

/* Keeps values ascending and different; there is room for one more. */
void bf_rule_put_value(int64_t *values, size_t *count, int64_t value);
/* Both ends of a moment that is due; what lies outside the years 1 to 9999 is left out. */
void bf_rule_put_moment(belfry_time *times, size_t *count, const struct bf_rule_moment *moment);

/* The member "except", if it is there: its sets go in front of *chain (rule_except.c). A failure stays in
 * the reader. */
void bf_rule_read_except(struct bf_rule_parser *parser, struct bf_json_reader *reader,
		const struct bf_except_set **chain);

/* What a chain leaves of a part that was read. The words are in parser->err. */
BF_MUST_CHECK enum belfry_status bf_rule_except_part(struct bf_rule_parser *parser,
		struct bf_part *part, const struct bf_except_set *chain);

#endif

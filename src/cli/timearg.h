/* Times as people type them: RFC 3339, a local date and time, "now", or a distance from now. */
#ifndef BF_CLI_TIMEARG_H
#define BF_CLI_TIMEARG_H

#include "cli/cli.h"

/* `what` names the place in messages ("--from"). `zone` is the IANA name that local times are in; NULL:
 * UTC. Returns BELFRY_OK; BELFRY_USAGE with the forms that are read, also for a local time that the
 * zone's clock skips; BELFRY_INVALID_SCHEDULE for a zone that does not exist; what bf_cli_zones
 * returns. A local time that occurs twice is the first. */
BF_MUST_CHECK enum belfry_status bf_timearg_parse(struct bf_cli *cli, const char *what,
		const char *text, const char *zone, belfry_time *ret_time,
		struct belfry_error *err);

/* What a local time that the zone's clocks skip may be taken for. */
struct bf_timearg_gap {
	belfry_time at;      /* the instant at which the clocks are put forward */
	belfry_time shifted; /* as many minutes behind it as the local time lies behind its beginning */
	belfry_time from; /* what they skip, local, as if UTC */
	belfry_time to;
};

/* BELFRY_NOT_FOUND: it is no local time that the zone's clocks skip; else as bf_timearg_parse. */
BF_MUST_CHECK enum belfry_status bf_timearg_gap(struct bf_cli *cli, const char *text,
		const char *zone, struct bf_timearg_gap *ret_gap, struct belfry_error *err);

/* Appends a local date and time, or a date alone, as the rules have it: "2026-12-01 09:00" is
 * 2026-12-01T09:00:00. Text of any other form is appended as it is. */
void bf_timearg_put_local(struct belfry_str text, struct bf_buf *buf);

/* The time as RFC 3339 with the offset of a rule's zone. Offsets with seconds (before 1972) are cut to
 * the minute, the instant stays exact. Buffer: BF_TIME_TEXT_BYTES. */
void bf_timearg_format(const struct belfry_rule *rule, belfry_time time, char *buffer);

#endif

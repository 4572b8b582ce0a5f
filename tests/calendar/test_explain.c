/* Rules in words: the sentences that a person would have written, and warnings with their facts. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include <belfry/arena.h>

#include "base/alloc.h"
#include "base/timefmt.h"

#define NOW            "2026-12-01T10:00:00Z" /* a Tuesday */
#define SENTENCE_BYTES 2048

static void explain_at(const char *text, const char *zone, const char *now,
		struct belfry_arena *arena, struct belfry_explanation *ret)
{
	struct belfry_rule *rule = new_rule(text, zone);

	*ret = (struct belfry_explanation)BELFRY_EXPLANATION_INIT;
	assert_int_equal(belfry_rule_explain(rule, at(now), arena, ret), BELFRY_OK);
	belfry_rule_free(rule);
}

/* The whole sentence, or with `is_start` what stands before "; next" or "; never". */
static void check_sentence(const char *text, const char *zone, const char *now, bool is_start,
		const char *expected)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_explanation explanation;

	explain_at(text, zone, now, &arena, &explanation);
	char *end = strstr(explanation.sentence.ptr, "; next: ");
	end = end != NULL ? end : strstr(explanation.sentence.ptr, "; never again");
	assert_non_null(end);
	if (is_start) {
		*end = '\0';
	}
	if (strcmp(explanation.sentence.ptr, expected) != 0) {
		fail_msg("\"%s\" in %s:\nis     \"%s\"\nwanted \"%s\"", text, zone,
				explanation.sentence.ptr, expected);
	}
	belfry_arena_fini(&arena);
}

struct row {
	const char *rule;
	const char *sentence; /* without the zone and the next due time */
};

static const struct row cron_rows[] = {
		/* One time a day, and several. */
		{"0 9 * * *", "At 09:00 every day"},
		{"@daily", "At midnight every day"},
		{"@midnight", "At midnight every day"},
		{"0 12 * * *", "At noon every day"},
		{"5 0 * * *", "At 00:05 every day"},
		{"0 9,17 * * *", "At 09:00 and 17:00 every day"},
		{"0,30 9,17 * * *", "At 09:00, 09:30, 17:00 and 17:30 every day"},
		{"30 9 * * *", "At 09:30 every day"},
		{"15 10 9 * * *", "At 09:10:15 every day"},
		{"0,30 10 9 * * *", "At 09:10:00 and 09:10:30 every day"},
		{"0 0,12 * * *", "At 00:00 and 12:00 every day"},
		{"0 8,9,10 * * *", "At 08:00, 09:00 and 10:00 every day"},
		/* A row of times a day. */
		{"0 9-17 * * *", "Every hour from 09:00 to 17:00"},
		{"30 9-17 * * 1-5", "Every hour from 09:30 to 17:30 on Monday to Friday"},
		{"0 8-20/2 * * *", "Every 2 hours from 08:00 to 20:00"},
		{"0,30 9-17 * * *", "Every 30 minutes from 09:00 to 17:30"},
		{"5,35 9-17 * * *", "Every 30 minutes from 09:05 to 17:35"},
		{"0/5 9 * * *", "Every 5 minutes from 09:00 to 09:55"},
		{"0-29 9 * * *", "Every minute from 09:00 to 09:29"},
		{"0-59 0-23 * * *", "Every minute from 00:00 to 23:59"},
		{"0 0-23 * * *", "Every hour from 00:00 to 23:00"},
		{"* 30 9 * * *", "Every second from 09:30:00 to 09:30:59"},
		{"*/10 0-29 9 * * *", "Every 10 seconds from 09:00:00 to 09:29:50"},
		{"0,15 9-17 * * 1-5",
				"At 0 and 15 minutes past the hours 09 to 17 on Monday to Friday"},
		{"1 3-5,10-12,20 * * *",
				"At 1 minute past the hours 03 to 05, 10 to 12 and 20 every day"},
		{"30 0,15 9-17 * * *",
				"At second 30 of the minutes 0 and 15 of the hours 09 to 17 every day"},
		{"0,7 0,15 9-17 * * *",
				"At seconds 0 and 7 of the minutes 0 and 15 of the hours 09 to 17 every "
				"day"},
		/* Again and again. */
		{"* * * * *", "Every minute"},
		{"* * * * * *", "Every second"},
		{"*/5 * * * *", "Every 5 minutes"},
		{"0/5 * * * *", "Every 5 minutes"},
		{"*/30 * * * *", "Every 30 minutes"},
		{"*/10 * * * * *", "Every 10 seconds"},
		{"30 * * * * *", "At 30 seconds past every minute"},
		{"1 * * * * *", "At 1 second past every minute"},
		{"15,45 * * * * *", "At 15 and 45 seconds past every minute"},
		{"*/7 * * * * *", "Every 7 seconds from the minute (at :00, :07, ..., :56)"},
		{"@hourly", "Every hour"},
		{"*/60 * * * *", "Every hour"},
		{"5 * * * *", "At 5 minutes past every hour"},
		{"1 * * * *", "At 1 minute past every hour"},
		{"5,20,50 * * * *", "At 5, 20 and 50 minutes past every hour"},
		{"0,40 * * * *", "At 0 and 40 minutes past every hour"},
		{"*/40 * * * *", "Every 40 minutes from the hour (at :00 and :40)"},
		{"30 5 * * * *", "At 5 minutes and 30 seconds past every hour"},
		{"30 0 * * * *", "At 30 seconds past every hour"},
		{"30 */5 * * * *", "Every 5 minutes, at 30 seconds past the minute"},
		{"*/7 * * * *", "Every 7 minutes from the hour (at :00, :07, ..., :56)"},
		{"*/25 * * * *", "Every 25 minutes from the hour (at :00, :25 and :50)"},
		{"2/5 * * * *", "Every 5 minutes, at :02, :07, ..., :57"},
		{"5/15 * * * *", "Every 15 minutes, at :05, :20, :35 and :50"},
		{"0-10 * * * *", "Every minute from :00 to :10 past every hour"},
		{"10-40/5 * * * *", "Every 5 minutes from :10 to :40 past every hour"},
		{"0,5-8,40 * * * *", "At 0, 5 to 8 and 40 minutes past every hour"},
		{"*/10 */5 * * * *", "Every 10 seconds in the minutes 0, 5, ..., 55 of every hour"},
		{"* 5 * * * *", "Every second in minute 5 of every hour"},
		{"*/15 9-17 * * 1-5",
				"Every 15 minutes between 09:00 and 17:59 on Monday to Friday"},
		{"* 9 * * *", "Every minute between 09:00 and 09:59"},
		{"* * 9 * * *", "Every second between 09:00 and 09:59"},
		{"*/5 8-11,14-17 * * *",
				"Every 5 minutes between 08:00 and 11:59 and between 14:00 and 17:59"},
		{"*/5 22-23,0-5 * * *", "Every 5 minutes between 22:00 and 05:59"},
		{"*/5 22-23,0-5 * * 1",
				"Every 5 minutes between 00:00 and 05:59 and between 22:00 and 23:59 on "
				"Mondays"},
		{"*/5 */2 * * *", "Every 5 minutes in the hours 00, 02, ..., 22"},
		{"*/5 1,5,9,11 * * *", "Every 5 minutes in the hours 01, 05, 09 and 11"},
		{"0 */2 * * *", "Every 2 hours"},
		{"0 */6 * * 1", "Every 6 hours on Mondays"},
		{"0 */12 * * *", "Every 12 hours"},
		{"30 */2 * * *", "Every 2 hours, at 30 minutes past the hour"},
		{"0 */5 * * *", "Every 5 hours from midnight (at 00:00, 05:00, 10:00, 15:00 and 20:00)"},
		{"30 */9 * * *", "Every 9 hours from 00:30 (at 00:30, 09:30 and 18:30)"},
		{"0 */24 * * *", "Whenever the clock shows 00:00"},
		{"*/60 9 * * *", "Whenever the clock shows 09:00"},
		{"*/60 9-17 * * *", "On the hour between 09:00 and 17:59"},
		/* Days of the week. */
		{"0 9 * * 1-5", "At 09:00 on Monday to Friday"},
		{"0 9 * * 1", "At 09:00 every Monday"},
		{"0 9 * * 1,3,5", "At 09:00 on Monday, Wednesday and Friday"},
		{"0 9 * * 6,0", "At 09:00 on Saturday and Sunday"},
		{"0 9 * * FRI-MON", "At 09:00 on Friday to Monday"},
		{"0 9 * * sun-tue", "At 09:00 on Sunday to Tuesday"},
		{"0 9 * * 1-6", "At 09:00 on Monday to Saturday"},
		{"0 9 * * 0-2,4-6", "At 09:00 every day but Wednesday"},
		{"0 9 * * 1-3,5", "At 09:00 on Monday to Wednesday and Friday"},
		{"@weekly", "At midnight every Sunday"},
		{"30 2 * * 5L", "At 02:30 on the last Friday of the month"},
		{"0 9 * * MON#2", "At 09:00 on the second Monday of the month"},
		{"0 9 * * 1#1,1#3",
				"At 09:00 on the first Monday and the third Monday of the month"},
		{"0 9 * * 1#1,FRIL",
				"At 09:00 on the first Monday and the last Friday of the month"},
		{"0 9 * * 2,FRIL", "At 09:00 every Tuesday and on the last Friday of the month"},
		{"0 9 * 3 FRIL", "At 09:00 on the last Friday of March"},
		{"0 9 * 3,6,9,12 1#2",
				"At 09:00 on the second Monday of March, June, September and December"},
		/* Days of the month. */
		{"@monthly", "At midnight on the 1st of the month"},
		{"@yearly", "At midnight on 1 January"},
		{"@annually", "At midnight on 1 January"},
		{"0 0 29 2 *", "At midnight on 29 February"},
		{"0 6 1,15 * *", "At 06:00 on the 1st and 15th of the month"},
		{"0 6 2,3,22,23 * *", "At 06:00 on the 2nd, 3rd, 22nd and 23rd of the month"},
		{"0 6 1-7 * *", "At 06:00 from the 1st to the 7th of the month"},
		{"0 6 */2 * *", "At 06:00 on the 1st, 3rd, ..., 31st of the month"},
		{"0 6 1,15 1 *", "At 06:00 on the 1st and 15th of January"},
		{"0 6 1 1,4,7,10 *", "At 06:00 on the 1st of January, April, July and October"},
		{"0 6 1 11,12,1,2 *",
				"At 06:00 on the 1st of every month from November to February"},
		{"0 6 L * *", "At 06:00 on the last day of the month"},
		{"0 6 L-1 * *", "At 06:00 on the day before the last day of the month"},
		{"0 6 L-3 * *", "At 06:00 on the 3rd day before the last day of the month"},
		{"0 6 LW * *", "At 06:00 on the last weekday (Monday to Friday) of the month"},
		{"0 6 15W * *", "At 06:00 on the weekday (Monday to Friday) nearest to the 15th of the month"},
		{"0 6 1W,15W * *",
				"At 06:00 on the weekdays (Monday to Friday) nearest to the 1st and 15th of "
				"the month"},
		{"0 6 1,L * *", "At 06:00 on the 1st and the last day of the month"},
		{"0 6 L 2 *", "At 06:00 on the last day of February"},
		/* Months. */
		{"0 9 * 1 *", "At 09:00 every day in January"},
		{"0 9 * 1,7 *", "At 09:00 every day in January and July"},
		{"0 9 * 11-12 *", "At 09:00 every day in November and December"},
		{"0 9 * 1-2,11-12 *", "At 09:00 every day from November to February"},
		{"0 9 * */2 *", "At 09:00 every day in January, March, May, July, September and November"},
		{"0 9 * 1-11 *", "At 09:00 every day from January to November"},
		{"*/5 * * 6-8 *", "Every 5 minutes from June to August"},
		{"0 9 * 1 1-5", "At 09:00 on Monday to Friday in January"},
		{"0 9 * 1,3-5 *", "At 09:00 every day in January and March to May"},
		/* Both day fields. */
		{"0 0 13 * 5", "At midnight on the 13th of the month and also every Friday"},
		{"0 0 1,15 * 1-5",
				"At midnight on the 1st and 15th of the month and also on Monday to Friday"},
		{"0 0 13 1 5", "At midnight on 13 January and also every Friday in January"},
		{"0 0 L * 1#1",
				"At midnight on the last day of the month and also on the first Monday of "
				"the month"},
		{"0 0 13 3,6,9 5",
				"At midnight on the 13th of the month and also every Friday, only in March, "
				"June and September"},
		{"43 * 13 * 5", "At 43 minutes past every hour on the 13th of the month and also on Fridays"},
		{"0 0 */2 4 1",
				"At midnight every Monday in April, but only on the 1st, 3rd, ..., 31st of the "
				"month"},
		{"0 0 13 * 0-7", "At midnight every day"},
		{"0 0 */2 * 1", "At midnight every Monday, but only on the 1st, 3rd, ..., 31st of the month"},
		{"0 0 13 * */2",
				"At midnight on the 13th of the month, but only on Tuesday, Thursday, "
				"Saturday and Sunday"},
		{"0 0 ? * 1", "At midnight every Monday"},
};

static const struct row json_rows[] = {
		/* the zone stands in them */
		/* Elapsed time. */
		{"{\"every\":\"PT30M\",\"anchor\":\"2026-01-01T00:00:00Z\"}",
				"Every 30 minutes from midnight on 1 January 2026, UTC"},
		{"{\"every\":\"1h\",\"anchor\":\"2026-01-01T00:10:30Z\"}",
				"Every hour from 00:10:30 on 1 January 2026, UTC"},
		{"{\"every\":\"90m\",\"anchor\":\"2026-01-01T00:00:00Z\"}",
				"Every 90 minutes from midnight on 1 January 2026, UTC"},
		{"{\"every\":\"1d\",\"anchor\":\"2026-01-01T09:00:00Z\"}",
				"Every 24 hours from 09:00 on 1 January 2026, UTC"},
		{"{\"every\":\"P7D\",\"anchor\":\"2026-01-01T09:00:00Z\"}",
				"Every 7 days of 24 hours from 09:00 on 1 January 2026, UTC"},
		{"{\"every\":\"P1DT1S\",\"anchor\":\"2026-01-01T09:00:00Z\"}",
				"Every 24 hours and 1 second from 09:00 on 1 January 2026, UTC"},
		{"{\"every\":\"1s\",\"anchor\":\"2026-01-01T09:00:00Z\"}",
				"Every second from 09:00 on 1 January 2026, UTC"},
		{"{\"every\":\"PT1.5S\",\"anchor\":\"2026-01-01T09:00:00.25Z\"}",
				"Every 1.5 seconds from 09:00:00.25 on 1 January 2026, UTC"},
		/* Once, or a few times. */
		{"{\"at\":\"2026-12-24T18:00:00\"}", "Once, at 18:00 on 24 December 2026, UTC"},
		{"{\"at\":\"2026-12-24T00:00:00\"}", "Once, at midnight on 24 December 2026, UTC"},
		{"{\"at\":[\"2026-12-24T18:00:00\",\"2027-01-01T00:00:01\"]}",
				"At 18:00 on 24 December 2026 and at 00:00:01 on 1 January "
				"2027, UTC"},
		{"{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-24T09:00:00\"]}",
				"At 09:00 and 18:00 on 24 December 2026, UTC"},
		{"{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-25T18:00:00\","
		 "\"2026-12-26T18:00:00\",\"2026-12-27T18:00:00\","
		 "\"2026-12-28T18:00:00\",\"2026-12-29T18:00:00\"]}",
				"At 18:00 on 24 December 2026, at 18:00 on 25 December 2026 "
				"and 4 more times, the last at 18:00 on 29 December 2026, UTC"},
		/* Windows. */
		{"{\"cron\":\"0 9 * * *\",\"not_before\":\"2027-01-01T00:00:00\"}",
				"At 09:00 every day, UTC, from 1 January 2027"},
		{"{\"cron\":\"0 9 * * *\",\"not_after\":\"2027-12-31T23:59:59\"}",
				"At 09:00 every day, UTC, until 31 December 2027 23:59:59"},
		{"{\"cron\":\"0 9 * * *\",\"not_after\":\"2027-12-31T00:00:00\"}",
				"At 09:00 every day, UTC, until 31 December 2027 00:00"},
		{"{\"cron\":\"0 9 * * *\",\"not_before\":\"2026-12-01T09:00:00\","
		 "\"not_after\":\"2027-12-31T18:00:00\"}",
				"At 09:00 every day, UTC, from 1 December 2026 09:00 until 31 "
				"December 2027 18:00"},
		{"{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-25T18:00:00\"],"
		 "\"not_before\":\"2026-12-25T00:00:00\"}",
				"Once, at 18:00 on 25 December 2026, UTC"},
		/* Several rules. */
		{"{\"any\":[{\"cron\":\"0 9 * * 1-5\"}]}", "At 09:00 on Monday to Friday, UTC"},
		{"{\"any\":[{\"cron\":\"0 9 * * 1-5\"},{\"cron\":\"0 11 * * 6,0\"}]}",
				"At 09:00 on Monday to Friday; and also at 11:00 on Saturday "
				"and Sunday; all in UTC"},
		{"{\"any\":[{\"cron\":\"0 9 * * 1-5\"},{\"cron\":\"0 11 * * 6\"},"
		 "{\"at\":\"2026-12-24T18:00:00\"}]}",
				"At 09:00 on Monday to Friday; at 11:00 every Saturday; and "
				"also once, at 18:00 on 24 December 2026; all in UTC"},
		{"{\"any\":[{\"cron\":\"0 1 * * *\"},{\"cron\":\"0 2 * * *\"},{\"cron\":"
		 "\"0 3 * * *\"},{\"cron\":\"0 4 * * *\"},{\"cron\":\"0 5 * * *\"},"
		 "{\"cron\":\"0 6 * * *\"}]}",
				"At 01:00 every day; at 02:00 every day; at 03:00 every day; "
				"and 3 more rules; all in UTC"},
		{"{\"any\":[{\"cron\":\"0 1 * * *\"},{\"cron\":\"0 2 * * *\"}],"
		 "\"not_before\":\"2027-01-01T00:00:00\"}",
				"At 01:00 every day; and also at 02:00 every day; all in UTC, "
				"from 1 January 2027"},
		{"{\"any\":[{\"cron\":\"0 1 * * *\",\"not_before\":"
		 "\"2027-01-01T00:00:00\"},{\"cron\":\"0 2 * * *\"}]}",
				"At 01:00 every day, from 1 January 2027; and also at 02:00 "
				"every day; all in UTC"},
};

static void check_rows(const struct row *rows, size_t count, const char *zone)
{
	for (size_t i = 0; i < count; i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf wanted = {0};
		bf_buf_appendf(&wanted, "%s%s", rows[i].sentence, zone);
		check_sentence(rows[i].rule, "UTC", NOW, true, wanted.ptr);
	}
}

static void the_sentence_of_each_form_of_cron_reads_like_a_person_s(void **state)
{
	(void)state;
	check_rows(cron_rows, BF_COUNT(cron_rows), ", UTC");
}

static void the_sentence_of_every_other_form_reads_like_a_person_s(void **state)
{
	(void)state;
	check_rows(json_rows, BF_COUNT(json_rows), "");
}

static void the_next_due_time_is_told_as_people_tell_it(void **state)
{
	static const struct {
		const char *rule;
		const char *zone;
		const char *now;
		const char *sentence;
	} rows[] = {
			{"0 9 * * 1-5", "Asia/Shanghai", NOW,
					"At 09:00 on Monday to Friday, Shanghai time; next: tomorrow 09:00 "
					"(01:00 UTC)"},
			{"0 9 * * *", "UTC", "2026-12-01T08:00:00Z",
					"At 09:00 every day, UTC; next: today 09:00"},
			{"0 9 * * *", "UTC", "2026-12-01T09:00:00Z",
					"At 09:00 every day, UTC; next: tomorrow 09:00"},
			{"0 2 * * *", "Asia/Shanghai", NOW,
					"At 02:00 every day, Shanghai time; next: tomorrow 02:00 (18:00 UTC on "
					"1 December)"},
			{"0 0 * * 5", "UTC", NOW,
					"At midnight every Friday, UTC; next: Friday 00:00"},
			{"0 0 * * 1", "UTC", NOW,
					"At midnight every Monday, UTC; next: Monday 00:00"},
			{"0 0 * * 2", "UTC", NOW,
					"At midnight every Tuesday, UTC; next: Tuesday 8 December 00:00"},
			{"0 9 24 * *", "America/New_York", NOW,
					"At 09:00 on the 24th of the month, New York time; next: Thursday 24 "
					"December 09:00 (14:00 UTC)"},
			{"0 22 31 12 *", "America/New_York", NOW,
					"At 22:00 on 31 December, New York time; next: Thursday 31 December "
					"22:00 (03:00 UTC on 1 January 2027)"},
			{"0 9 1 1 *", "America/Argentina/Ushuaia", NOW,
					"At 09:00 on 1 January, Ushuaia time; next: Friday 1 January 2027 09:00 "
					"(12:00 UTC)"},
			{"30 0 9 * * *", "Etc/UTC", NOW,
					"At 09:00:30 every day, UTC; next: tomorrow 09:00:30"},
			{"{\"at\":\"2026-11-01T00:00:00Z\"}", "UTC", NOW,
					"Once, at midnight on 1 November 2026, UTC; never again"},
			{"{\"every\":\"PT1.5S\",\"anchor\":\"2026-12-01T10:00:00.25Z\"}", "UTC",
					NOW,
					"Every 1.5 seconds from 10:00:00.25 on 1 December 2026, UTC; next: "
					"today 10:00:00.25"},
			{"0 9 * * *", "Europe/London", NOW,
					"At 09:00 every day, London time; next: tomorrow 09:00"},
			{"0 9 29 2 *", "UTC", "2097-01-01T00:00:00Z",
					"At 09:00 on 29 February, UTC; next: Friday 29 February 2104 09:00"},
			{"{\"at\":\"9999-12-31T23:59:59Z\"}", "UTC", "0001-01-01T00:00:00Z",
					"Once, at 23:59:59 on 31 December 9999, UTC; next: Friday 31 December "
					"9999 23:59:59"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		check_sentence(rows[i].rule, rows[i].zone, rows[i].now, false, rows[i].sentence);
	}
}

static void a_zone_has_the_name_that_people_use(void **state)
{
	static const struct {
		const char *zone;
		const char *name;
	} rows[] = {
			{"UTC", "UTC"},
			{"Etc/UTC", "UTC"},
			{"Zulu", "UTC"},
			{"Etc/UCT", "UTC"},
			{"GMT", "GMT"},
			{"Etc/GMT", "GMT"},
			{"Etc/GMT+5", "UTC-5"},
			{"Etc/GMT-14", "UTC+14"},
			{"Asia/Shanghai", "Shanghai time"},
			{"America/New_York", "New York time"},
			{"America/Argentina/Ushuaia", "Ushuaia time"},
			{"America/Port-au-Prince", "Port-au-Prince time"},
			{"Japan", "Japan time"},
			{"US/Eastern", "US Eastern time"},
			{"Canada/Atlantic", "Canada Atlantic time"},
			{"Australia/North", "Australia North time"},
			{"CET", "CET"},
			{"EST5EDT", "EST5EDT"},
			{"NZ", "NZ time"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf wanted = {0};
		bf_buf_appendf(&wanted, "Every minute, %s", rows[i].name);
		check_sentence("* * * * *", rows[i].zone, NOW, true, wanted.ptr);
	}
}

static void a_warning_names_its_facts(void **state)
{
	static const struct {
		const char *rule;
		const char *zone;
		const char *warnings; /* all of them, "CODE: text" with a bar between */
	} rows[] = {
			{"0 9 * * *", "Europe/Berlin", ""},
			{"* * * * * *", "Europe/Berlin", ""},
			{"*/5 * * * *", "Europe/Berlin", ""},
			{"0 0 28 * *", "UTC", ""},
			{"0 0 31 12 *", "UTC", ""},
			{"0 0 15-31 * *", "UTC", ""},
			{"0 0 28-31 * *", "UTC", ""},
			{"0 0 13 * 5", "UTC",
					"EITHER_DAY: both day fields are given, and either is enough: it is due on "
					"the 13th of the month and also every Friday, and not only on days that "
					"both name"},
			{"0 0 13 * 0-7", "UTC", ""},
			{"0 0 */2 * 1", "UTC",
					"STAR_STEP: a day field that begins with a star only leaves days out: it is "
					"due every Monday, but only on the 1st, 3rd, ..., 31st of the month, because "
					"both day fields must name the day|"
					"UNEVEN_STEP: a step of 2 days starts anew on the 1st of each month: it is 1 "
					"day from the 31st to the 1st of the next, where a month has 31 days"},
			{"*/7 * * * *", "UTC",
					"UNEVEN_STEP: a step of 7 minutes does not divide the hour: the last one is "
					"4 minutes, from :56 to :00"},
			{"0-56/7 * * * *", "UTC", ""},
			{"*/7 * * * * *", "UTC",
					"UNEVEN_STEP: a step of 7 seconds does not divide the minute: the last one "
					"is 4 seconds, from :56 to :00"},
			{"0 */5 * * *", "UTC",
					"UNEVEN_STEP: a step of 5 hours does not divide the day: the last one is 4 "
					"hours, from 20:00 to 00:00"},
			{"0 0 1 */5 *", "UTC",
					"UNEVEN_STEP: a step of 5 months does not divide the year: the last one is "
					"2 months, from November to January"},
			{"0 0 * * */2", "UTC",
					"UNEVEN_STEP: a step of 2 days does not divide the week: the last one is 1 "
					"day, from Saturday to Sunday"},
			{"*/90 * * * *", "UTC",
					"UNEVEN_STEP: a step as long as the hour or longer leaves minute 0 alone"},
			{"0 */48 * * *", "UTC",
					"UNEVEN_STEP: a step as long as the day or longer leaves hour 00 alone"},
			{"0 0 */40 * *", "UTC",
					"UNEVEN_STEP: a step as long as the month or longer leaves the 1st alone"},
			{"0 0 * * 1#5", "UTC",
					"FIFTH_WEEKDAY: not every month has a fifth Monday: in 2026 there is one in "
					"March, June, August and November"},
			{"0 0 * 2 1#5", "UTC",
					"RARE: nothing is due for more than a year before midnight on 29 February "
					"2044|FIFTH_WEEKDAY: not every month has a fifth Monday: in 2026 none of the "
					"months named here has"},
			{"0 0 31 * *", "UTC",
					"SHORT_MONTHS: February, April, June, September and November have no 31st, "
					"and nothing is due for it there; L is the last day of each month"},
			{"0 0 30,31 2,3 *", "UTC",
					"SHORT_MONTHS: February has no 31st, and nothing is due for it there; L is "
					"the last day of each month"},
			{"0 0 31W * *", "UTC",
					"SHORT_MONTHS: February, April, June, September and November have no 31st, "
					"and nothing is due for it there; L is the last day of each month"},
			{"0 0 29 * *", "UTC",
					"SHORT_MONTHS: February has a 29th in leap years alone, and else nothing is "
					"due for it; L is the last day of each month"},
			{"0 0 29 2 *", "UTC",
					"RARE: nothing is due for more than a year before midnight on 29 February "
					"2028|LEAP_DAY: 29 February comes in leap years alone, next in 2028"},
			{"30 2 * * *", "Europe/Berlin",
					"DST_GAP: 02:30 does not exist on 28 March 2027, where the clocks go from "
					"02:00 to 03:00: it is due at 03:00 instead (gap: at_end)|DST_FOLD: 02:30 "
					"comes twice on 31 October 2027, where the clocks go back: it is due the "
					"first time alone, at 00:30 UTC (fold: first)"},
			{"30 2 * * 1", "Europe/Berlin", ""},
			{"*/30 2 * * *", "Europe/Berlin", ""},
			{"{\"cron\":\"30 2 * * *\",\"not_after\":\"2027-01-01T00:00:00Z\"}",
					"Europe/Berlin", ""},
			{"{\"cron\":\"30 2 * * *\",\"not_before\":\"2027-04-01T00:00:00Z\",\"not_after\":"
			 "\"2027-10-01T00:00:00Z\"}",
					"Europe/Berlin", ""},
			{"{\"at\":\"2027-03-28T02:30:00\"}", "Europe/Berlin",
					"DST_GAP: 02:30 does not exist on 28 March 2027, where the clocks go from "
					"02:00 to 03:00: it is due at 03:00 instead (gap: at_end)"},
			{"{\"at\":[\"2027-10-31T02:30:00\",\"2027-10-30T02:30:00\"]}",
					"Europe/Berlin",
					"DST_FOLD: 02:30 comes twice on 31 October 2027, where the clocks go back: "
					"it is due the first time alone, at 00:30 UTC (fold: first)"},
			{"{\"at\":[\"2027-10-31T02:30:00+01:00\",\"2027-03-28T03:00:00\"]}",
					"Europe/Berlin", ""},
			{"{\"at\":\"2026-11-01T00:00:00Z\"}", "UTC",
					"NEVER: it is not due any more"},
			{"{\"any\":[{\"cron\":\"0 0 31 * *\"},{\"cron\":\"0 1 31 * *\"}]}", "UTC",
					"SHORT_MONTHS: February, April, June, September and November have no 31st, "
					"and nothing is due for it there; L is the last day of each month"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation;
		BF_CLEANUP(bf_buf_fini) struct bf_buf found = {0};
		explain_at(rows[i].rule, rows[i].zone, NOW, &arena, &explanation);
		for (size_t k = 0; k < explanation.warning_count; k++) {
			bf_buf_appendf(&found, "%s%s: %.*s", k > 0 ? "|" : "",
					explanation.warnings[k].code,
					BF_STR_ARGS(explanation.warnings[k].text));
		}
		const char *text = found.len > 0 ? found.ptr : "";
		if (strcmp(text, rows[i].warnings) != 0) {
			fail_msg("\"%s\":\nis     \"%s\"\nwanted \"%s\"", rows[i].rule, text,
					rows[i].warnings);
		}
		belfry_arena_fini(&arena);
	}
}

static void a_change_of_the_clocks_says_what_the_policy_does(void **state)
{
	static const struct {
		enum belfry_dst_gap gap;
		enum belfry_dst_fold fold;
		const char *gap_words;
		const char *fold_words;
	} rows[] = {
			{BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST,
					"it is due at 03:00 instead (gap: at_end)",
					"it is due the first time alone, at 05:45 UTC (fold: first)"},
			{BELFRY_DST_GAP_SKIP, BELFRY_DST_FOLD_LAST,
					"it is not due that day (gap: skip)",
					"it is due the second time alone, at 06:45 UTC (fold: last)"},
			{BELFRY_DST_GAP_SHIFT, BELFRY_DST_FOLD_BOTH,
					"it is due at 03:45 instead (gap: shift)",
					"it is due both times, at 05:45 UTC and 06:45 UTC (fold: both)"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation gap = BELFRY_EXPLANATION_INIT;
		struct belfry_explanation fold = BELFRY_EXPLANATION_INIT;
		struct belfry_rule *rule = new_rule_with("45 1,2 * * *", "America/New_York",
				rows[i].gap, rows[i].fold);
		assert_int_equal(belfry_rule_explain(rule, at(NOW), &arena, &gap), BELFRY_OK);
		assert_int_equal(gap.warning_count, 2);
		assert_string_equal(gap.warnings[0].code, "DST_GAP");
		assert_non_null(strstr(gap.warnings[0].text.ptr, rows[i].gap_words));
		assert_string_equal(gap.warnings[1].code, "DST_FOLD");
		assert_non_null(strstr(gap.warnings[1].text.ptr, rows[i].fold_words));
		/* Each is told for the year ahead: what is past is not told. */
		assert_int_equal(belfry_rule_explain(rule, at("2026-04-01T00:00:00Z"), &arena,
						 &fold),
				BELFRY_OK);
		assert_string_equal(fold.warnings[0].code, "DST_FOLD");
		assert_non_null(strstr(fold.warnings[0].text.ptr, "1 November 2026"));
		assert_non_null(strstr(fold.warnings[1].text.ptr, "14 March 2027"));
		belfry_rule_free(rule);
		belfry_arena_fini(&arena);
	}
}

static void the_class_is_fixed_time_only_if_every_part_is(void **state)
{
	static const struct {
		const char *rule;
		enum belfry_rule_class class_;
	} rows[] = {
			{"0 9 * * *", BELFRY_RULE_FIXED_TIME},
			{"* 0 9 * * *", BELFRY_RULE_FIXED_TIME},
			{"0 0-23 * * *", BELFRY_RULE_FIXED_TIME},
			{"@hourly", BELFRY_RULE_INTERVAL_LIKE},
			{"*/5 9 * * *", BELFRY_RULE_INTERVAL_LIKE},
			{"{\"every\":\"PT1H\"}", BELFRY_RULE_INTERVAL_LIKE},
			{"{\"at\":\"2026-12-24T18:00:00\"}", BELFRY_RULE_FIXED_TIME},
			{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"at\":\"2026-12-24T18:00:00\"}]}",
					BELFRY_RULE_FIXED_TIME},
			{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"* 9 * * *\"}]}",
					BELFRY_RULE_INTERVAL_LIKE},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation;
		struct belfry_rule *rule = new_rule(rows[i].rule, "UTC");
		explain_at(rows[i].rule, "UTC", NOW, &arena, &explanation);
		assert_int_equal(explanation.class_, rows[i].class_);
		assert_int_equal(belfry_rule_class(rule), rows[i].class_);
		belfry_rule_free(rule);
		belfry_arena_fini(&arena);
	}
}

/* Rules with many parts and many times: the first few are told. */
static void a_rule_of_a_hundred_parts_stays_readable(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	(void)state;
	for (int count = 2; count <= 99; count = count == 2 ? 10 : count + 89) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation;
		bf_buf_clear(&text);
		bf_buf_append_text(&text, "{\"any\":[");
		for (int i = 0; i < count - 1; i++) {
			bf_buf_appendf(&text, "{\"cron\":\"%d %d * * *\"},", i % 60, i / 5);
		}
		bf_buf_append_text(&text, "{\"cron\":\"1-58/3 1-21/4 2-29/3 2-11/4 6L\"}]}");
		explain_at(text.ptr, "UTC", NOW, &arena, &explanation);
		assert_true(explanation.sentence.len < 512);
		assert_int_equal(strstr(explanation.sentence.ptr, "more rules") != NULL, count > 4);
		belfry_arena_fini(&arena);
	}
}

/* --- properties of random rules --- */

struct random {
	uint64_t state;
};

static int draw(struct random *random, int below)
{
	random->state = random->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (int)((random->state >> 33) % (uint64_t)below);
}

/* One field: a star, a step, a value, a range, a list, or one of the specials. */
static void put_field(struct random *random, struct bf_buf *text, int min, int max, bool is_dom,
		bool is_dow)
{
	int span = max - min + 1;
	int from = min + draw(random, span);
	int to = from + draw(random, max - from + 1);

	switch (draw(random, is_dom || is_dow ? 10 : 7)) {
	case 0:
	case 1: bf_buf_append_text(text, "*"); return;
	case 2: bf_buf_appendf(text, "*/%d", 1 + draw(random, span + 2)); return;
	case 3: bf_buf_appendf(text, "%d-%d/%d", from, to, 1 + draw(random, span)); return;
	case 4: bf_buf_appendf(text, "%d-%d", from, to); return;
	case 5: bf_buf_appendf(text, "%d,%d,%d", from, to, min + draw(random, span)); return;
	case 6: bf_buf_appendf(text, "%d", from); return;
	case 7: bf_buf_appendf(text, is_dom ? "L-%d,%d" : "%dL,%d", from % 7, to); return;
	case 8: bf_buf_appendf(text, is_dom ? "%dW" : "%d#%d", from, 1 + draw(random, 5)); return;
	default: bf_buf_append_text(text, is_dom ? "L" : "MON#5"); return;
	}
}

static void put_cron(struct random *random, struct bf_buf *text)
{
	bf_buf_clear(text);
	if (draw(random, 3) == 0) {
		put_field(random, text, 0, 59, false, false);
		bf_buf_append_byte(text, ' ');
	}
	put_field(random, text, 0, 59, false, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 0, 23, false, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 1, 31, true, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 1, 12, false, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 0, 6, false, true);
}

/* NULL where the drawn text can never be due. */
static struct belfry_rule *draw_rule(struct random *random, struct bf_buf *text)
{
	struct belfry_rule *rule = NULL;

	put_cron(random, text);
	enum belfry_status status = belfry_rule_new(shared_zones(), bf_buf_str(text),
			BF_STR("America/New_York"), NULL, &rule, NULL);
	assert_true(status == BELFRY_OK || status == BELFRY_INVALID_SCHEDULE);
	return rule;
}

static void check_text(const char *rule, struct belfry_str text)
{
	static const char *const stray[] = {"  ", " ,", ",,", " ;", "; ;", "{", "}", "()", ",;"};

	assert_true(text.len > 0 && text.len <= SENTENCE_BYTES && bf_str_is_utf8(text));
	assert_int_equal(text.ptr[text.len], '\0');
	for (size_t i = 0; i < BF_COUNT(stray); i++) {
		if (strstr(text.ptr, stray[i]) != NULL) {
			fail_msg("\"%s\": \"%s\" in \"%s\"", rule, stray[i], text.ptr);
		}
	}
	assert_true(text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ' &&
			text.ptr[text.len - 1] != ',');
}

static void a_random_rule_is_told_in_bounds_and_without_stray_marks(void **state)
{
	struct random random = {20261201};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	int told = 0;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
		struct belfry_rule *rule = draw_rule(&random, &text);
		if (rule == NULL) {
			continue;
		}
		assert_int_equal(belfry_rule_explain(rule, at(NOW), &arena, &explanation),
				BELFRY_OK);
		check_text(text.ptr, explanation.sentence);
		assert_true(explanation.sentence.ptr[0] >= 'A' &&
				explanation.sentence.ptr[0] <= 'Z');
		for (size_t k = 0; k < explanation.warning_count; k++) {
			check_text(text.ptr, explanation.warnings[k].text);
		}
		belfry_rule_free(rule);
		belfry_arena_reset(&arena);
		told++;
	}
	assert_true(told > 2000);
	belfry_arena_fini(&arena);
}

/* A rule's text, its sentence without the next due time, and its due times for a while as one number. */
struct told {
	char rule[128];
	char *sentence;
	uint64_t dues;
};

static uint64_t sum_dues(const struct belfry_rule *rule, belfry_time from, belfry_time to)
{
	uint64_t sum = UINT64_C(1469598103934665603);
	belfry_time due = from;

	for (int i = 0; i < 1000 && belfry_rule_next(rule, due, &due) == BELFRY_OK && due <= to;
			i++) {
		sum = (sum ^ (uint64_t)due) * UINT64_C(1099511628211);
	}
	return sum;
}

static int by_sentence(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->sentence, ((const struct told *)b)->sentence);
}

/* False: the rule can never be due. */
static bool tell(const char *text, struct belfry_arena *arena, struct told *ret)
{
	struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
	struct belfry_rule *rule = NULL;

	if (belfry_rule_new(shared_zones(), bf_str(text), BF_STR("America/New_York"), NULL, &rule,
			    NULL) != BELFRY_OK) {
		return false;
	}
	assert_int_equal(belfry_rule_explain(rule, at(NOW), arena, &explanation), BELFRY_OK);
	assert_true(strlen(text) < sizeof(ret->rule));
	memcpy(ret->rule, text, strlen(text) + 1);
	ret->sentence = (char *)explanation.sentence.ptr;
	*strrchr(ret->sentence, ';') = '\0';
	/* Both changes of the clocks with a month around each, and some years for what is rare. */
	ret->dues = sum_dues(rule, at("2026-03-01T00:00:00Z"), at("2026-04-01T00:00:00Z")) ^
			3 * sum_dues(rule, at("2026-10-20T00:00:00Z"), at("2026-11-20T00:00:00Z")) ^
			5 * sum_dues(rule, at("2027-11-01T00:00:00Z"), at("2032-12-20T00:00:00Z"));
	belfry_rule_free(rule);
	return true;
}

static void check_told_alike(struct told *told, size_t count, int at_least)
{
	int same = 0;

	qsort(told, count, sizeof(*told), by_sentence);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(told[i].sentence, told[i - 1].sentence) != 0) {
			continue;
		}
		same++;
		if (told[i].dues != told[i - 1].dues) {
			fail_msg("\"%s\" and \"%s\" are both \"%s\"", told[i - 1].rule,
					told[i].rule, told[i].sentence);
		}
	}
	assert_true(same >= at_least);
}

/* Rules that are told alike are due alike: no sentence says less than the rule. */
static void random_rules_of_one_sentence_are_due_at_the_same_times(void **state)
{
	enum { COUNT = 3000 };
	struct random random = {4711};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_free_pointer) struct told *told = bf_alloc_array(COUNT, sizeof(*told));
	size_t count = 0;

	(void)state;
	assert_non_null(told);
	while (count < COUNT) {
		put_cron(&random, &text);
		count += tell(text.ptr, &arena, &told[count]) ? 1 : 0;
	}
	check_told_alike(told, count, 1);
	belfry_arena_fini(&arena);
}

/* All combinations of fields that lie close to each other. */
static void near_rules_of_one_sentence_are_due_at_the_same_times(void **state)
{
	static const char *const minutes[] = {"0", "*/30", "0,30", "*", "*/60", "*/40", "5-7"};
	static const char *const hours[] = {"*", "2", "1-2", "*/12", "0,12", "0-23", "0-3,22-23"};
	static const char *const doms[] = {"*", "1", "*/2", "1-31/2", "L", "15W"};
	static const char *const months[] = {"*", "3", "1-3", "1-2,11-12"};
	static const char *const dows[] = {"*", "1", "1-5", "5L", "*/2", "MON#1", "0-7"};
	enum { COUNT = 7 * 7 * 6 * 4 * 7 };
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_free_pointer) struct told *told = bf_alloc_array(COUNT, sizeof(*told));
	size_t count = 0;

	(void)state;
	assert_non_null(told);
	for (size_t i = 0; i < COUNT; i++) {
		char text[64];
		(void)snprintf(text, sizeof(text), "%s %s %s %s %s", minutes[i % 7],
				hours[i / 7 % 7], doms[i / 49 % 6], months[i / 294 % 4],
				dows[i / 1176]);
		count += tell(text, &arena, &told[count]) ? 1 : 0;
	}
	assert_true(count > COUNT - 100);
	check_told_alike(told, count, 500);
	belfry_arena_fini(&arena);
}

/* --- edges --- */

static void any_instant_may_be_now(void **state)
{
	static const belfry_time nows[] = {INT64_MIN, -1, 0, INT64_C(253402300799999999),
			INT64_MAX - 1, INT64_MAX};
	static const char *const rules[] = {"30 2 * * *", "0 0 29 2 *", "0 0 * * 1#5",
			"{\"every\":\"PT1S\"}", "{\"at\":\"9999-12-31T23:59:59Z\"}",
			"{\"at\":\"0001-01-01T00:00:00Z\"}"};
	static const char *const zones[] = {"UTC", "Europe/Berlin", "Pacific/Kiritimati",
			"Etc/GMT+12"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(nows) * BF_COUNT(rules) * BF_COUNT(zones); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
		const char *text = rules[i % BF_COUNT(rules)];
		struct belfry_rule *rule = new_rule(text,
				zones[i / BF_COUNT(rules) % BF_COUNT(zones)]);
		belfry_time now = nows[i / BF_COUNT(rules) / BF_COUNT(zones)];
		assert_int_equal(belfry_rule_explain(rule, now, &arena, &explanation), BELFRY_OK);
		check_text(text, explanation.sentence);
		belfry_rule_free(rule);
		belfry_arena_fini(&arena);
	}
}

static void a_wrong_call_is_refused(void **state)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
	struct belfry_rule *rule = new_rule("@daily", "UTC");

	(void)state;
	assert_int_equal(belfry_rule_explain(NULL, 0, &arena, &explanation), BELFRY_INVALID);
	assert_int_equal(belfry_rule_explain(rule, 0, NULL, &explanation), BELFRY_INVALID);
	assert_int_equal(belfry_rule_explain(rule, 0, &arena, NULL), BELFRY_INVALID);
	explanation.size--;
	assert_int_equal(belfry_rule_explain(rule, 0, &arena, &explanation), BELFRY_INVALID);
	assert_null(explanation.sentence.ptr);
	belfry_rule_free(rule);
}

static void every_failed_allocation_of_an_explanation_is_a_status(void **state)
{
	static const char *const rules[] = {"*/7 1-5,9 */2 1,5 1",
			"{\"any\":[{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-25T18:00:00\"]},{\"every\":"
			"\"PT30M\"}],\"not_before\":\"2026-01-01T00:00:00\"}"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		struct belfry_rule *rule = new_rule(rules[i], "Europe/Berlin");
		bool has_fired = true;
		for (int64_t call = 1; has_fired; call++) {
			struct belfry_arena arena = BELFRY_ARENA_INIT;
			struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
			bf_fault_arm(bf_alloc_fault(), call, 1);
			enum belfry_status status = belfry_rule_explain(rule, 0, &arena,
					&explanation);
			has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
			bf_fault_arm(bf_alloc_fault(), 0, 0);
			assert_int_equal(status, has_fired ? BELFRY_NOMEM : BELFRY_OK);
			assert_int_equal(explanation.sentence.ptr == NULL, has_fired);
			assert_true(has_fired || call > 20);
			belfry_arena_fini(&arena);
		}
		belfry_rule_free(rule);
	}
}

int run_explain_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_sentence_of_each_form_of_cron_reads_like_a_person_s),
			cmocka_unit_test(the_sentence_of_every_other_form_reads_like_a_person_s),
			cmocka_unit_test(the_next_due_time_is_told_as_people_tell_it),
			cmocka_unit_test(a_zone_has_the_name_that_people_use),
			cmocka_unit_test(a_warning_names_its_facts),
			cmocka_unit_test(a_change_of_the_clocks_says_what_the_policy_does),
			cmocka_unit_test(the_class_is_fixed_time_only_if_every_part_is),
			cmocka_unit_test(a_rule_of_a_hundred_parts_stays_readable),
			cmocka_unit_test(a_random_rule_is_told_in_bounds_and_without_stray_marks),
			cmocka_unit_test(random_rules_of_one_sentence_are_due_at_the_same_times),
			cmocka_unit_test(near_rules_of_one_sentence_are_due_at_the_same_times),
			cmocka_unit_test(any_instant_may_be_now),
			cmocka_unit_test(a_wrong_call_is_refused),
			cmocka_unit_test(every_failed_allocation_of_an_explanation_is_a_status),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}

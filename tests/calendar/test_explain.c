/* Rules in words: the sentences that a person would have written. */
#include "cases.h"

#define NOW "2026-12-01T10:00:00Z" /* a Tuesday */

void explain_at(const char *text, const char *zone, const char *now, struct belfry_arena *arena,
		struct belfry_explanation *ret)
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
		{"0 6 L-2,L-4 * *",
				"At 06:00 on the 2nd and 4th days before the last day of the month"},
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

static const struct row limit_rows[] = {
		{"{\"cron\":\"0 9 * * *\",\"max_fires\":10}",
				"At 09:00 every day, UTC, at most 10 times"},
		{"{\"cron\":\"0 9 * * *\",\"max_fires\":1}", "At 09:00 every day, UTC, once only"},
		{"{\"cron\":\"0 9 * * *\",\"spread\":\"PT5M\"}",
				"At 09:00 every day, UTC, with starts spread over 5 minutes"},
		{"{\"cron\":\"0 9 * * *\",\"spread\":\"PT90S\",\"max_fires\":3,\"not_before\":"
		 "\"2027-01-01T00:00:00Z\"}",
				"At 09:00 every day, UTC, from 1 January 2027, at most 3 times, with starts "
				"spread over 90 seconds"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\"]}",
				"At 09:00 every day, UTC, except on 25 December 2026"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-01\",\"2026-11-30\"]}",
				"At 09:00 every day, UTC, except on 1 December 2026"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-11-25\"]}", "At 09:00 every day, UTC"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\",\"2026-12-24\"]}",
				"At 09:00 every day, UTC, except on 24 December 2026 and on 25 December 2026"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\",\"2026-12-24\",\"2026-12-26\","
		 "\"2027-01-01\"]}",
				"At 09:00 every day, UTC, except from 24 December 2026 to 26 December 2026 and "
				"on 1 January 2027"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2027-01-01\",\"2027-02-01\",\"2027-03-01\","
		 "\"2027-04-01\",\"2027-05-01\"]}",
				"At 09:00 every day, UTC, except on 1 January 2027, on 1 February 2027, on 1 "
				"March 2027 and on 2 more dates"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-24T09:00:00\"]}",
				"At 09:00 every day, UTC, except at 09:00 on 24 December 2026"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * * 8 *\"}]}",
				"At 09:00 every day, UTC, except in August"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * 24-31 12 *\"}]}",
				"At 09:00 every day, UTC, except from the 24th to the 31st of December"},
		{"{\"cron\":\"*/5 * * * *\",\"except\":[{\"cron\":\"* 12 * * *\"},{\"cron\":"
		 "\"* * * * 0\"}]}",
				"Every 5 minutes, UTC, except between 12:00 and 12:59 and on Sundays"},
		{"{\"cron\":\"*/5 * * * *\",\"except\":[{\"cron\":\"* 22-23,0-5 * * *\"}]}",
				"Every 5 minutes, UTC, except between 22:00 and 05:59"},
		{"{\"cron\":\"*/5 * * * *\",\"except\":[{\"cron\":\"30 9 * * 1-5\"}]}",
				"Every 5 minutes, UTC, except at 09:30 on Monday to Friday"},
		{"{\"cron\":\"*/5 * * * *\",\"except\":[{\"cron\":\"0 9-17 * * *\"}]}",
				"Every 5 minutes, UTC, except every hour from 09:00 to 17:00"},
		{"{\"cron\":\"* * * * * *\",\"except\":[{\"cron\":\"15 30 9 * * *\"}]}",
				"Every second, UTC, except at 09:30:15"},
		{"{\"cron\":\"0 9 * * *\",\"except\":[{\"calendar\":\"holidays-de\",\"except\":"
		 "[\"2026-12-25\"]}]}",
				"At 09:00 every day, UTC, except on the days of the calendar \"holidays-de\""},
		{"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-24\",{\"calendar\":\"a\",\"except\":[]},"
		 "{\"calendar\":\"b\",\"except\":[]},{\"cron\":\"* * * 8 *\"}]}",
				"At 09:00 every day, UTC, except in August, on 24 December 2026, on "
				"the days of the calendar \"a\" and on the days of the calendar \"b\""},
		{"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * * 1 *\"},{\"cron\":"
		 "\"* * * 3 *\"},{\"cron\":\"* * * 5 *\"},{\"cron\":\"* * * 7 *\"}]}",
				"At 09:00 every day, UTC, except in January, in March, in May and at the times "
				"of 1 more expression"},
		{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"0 10 * * *\"}],\"except\":"
		 "[\"2026-12-25\"]}",
				"At 09:00 every day; and also at 10:00 every day; all in UTC, except on 25 "
				"December 2026"},
		{"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\"]},{\"cron\":"
		 "\"0 10 * * *\"}]}",
				"At 09:00 every day, except on 25 December 2026; and also at 10:00 every day; "
				"all in UTC"},
		{"{\"every\":\"PT1H\",\"anchor\":\"2026-01-01T00:00:00Z\",\"except\":"
		 "[{\"cron\":\"* 2 * * *\"}]}",
				"Every hour from midnight on 1 January 2026, UTC, except between 02:00 and "
				"02:59"},
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

static void limits_and_exceptions_are_told_behind_the_rule(void **state)
{
	(void)state;
	check_rows(limit_rows, BF_COUNT(limit_rows), "");
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

static void an_every_without_an_anchor_is_told_from_when_it_is_made(void **state)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_rule *rule = NULL;

	(void)state;
	options.anchor = at("2026-12-01T09:41:37.343062Z");
	assert_int_equal(belfry_rule_new(shared_zones(), BF_STR("{\"every\":\"PT6H\"}"),
					 BF_STR("UTC"), &options, &rule, NULL),
			BELFRY_OK);
	assert_int_equal(belfry_rule_explain(rule, at(NOW), &arena, &explanation), BELFRY_OK);
	assert_string_equal(explanation.sentence.ptr,
			"Every 6 hours from when it is made, UTC; next: today 15:41:37");
	belfry_rule_free(rule);
	belfry_arena_fini(&arena);
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

int run_explain_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_sentence_of_each_form_of_cron_reads_like_a_person_s),
			cmocka_unit_test(the_sentence_of_every_other_form_reads_like_a_person_s),
			cmocka_unit_test(limits_and_exceptions_are_told_behind_the_rule),
			cmocka_unit_test(the_next_due_time_is_told_as_people_tell_it),
			cmocka_unit_test(an_every_without_an_anchor_is_told_from_when_it_is_made),
			cmocka_unit_test(a_zone_has_the_name_that_people_use),
			cmocka_unit_test(a_rule_of_a_hundred_parts_stays_readable),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}

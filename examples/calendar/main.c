/* The calendar alone: the next ten due times of a rule in three zones, local time with its offset beside UTC.
 * No store, no thread, no network; what a rule means is in docs/calendar.md.
 *
 *   cc main.c $(pkg-config --cflags --libs belfry) -o due && ./due '30 2 * * *' */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <belfry/calendar.h>

static void print_time(const char *format, belfry_time at, int32_t offset)
{
	char text[32];
	struct tm fields;
	time_t seconds = (time_t)(at / BELFRY_SECOND) + offset;

	strftime(text, sizeof(text), format, gmtime_r(&seconds, &fields));
	fputs(text, stdout);
}

static enum belfry_status print_zone(struct belfry_zones *zones, const char *text, const char *zone,
		belfry_time after, struct belfry_error *err)
{
	struct belfry_rule *rule = NULL;
	enum belfry_status status = belfry_rule_new(zones, belfry_str_of(text), belfry_str_of(zone),
			NULL, &rule, err);

	/* It ends earlier with BELFRY_NEVER: the rule has no more. */
	for (int i = 0; rule && i < 10 && belfry_rule_next(rule, after, &after) == BELFRY_OK; i++) {
		int32_t offset = belfry_rule_offset(rule, after);
		print_time("%a %Y-%m-%d %H:%M:%S", after, offset);
		printf(" %c%02d:%02d  ", offset < 0 ? '-' : '+', abs(offset) / 3600,
				abs(offset) / 60 % 60);
		print_time("%Y-%m-%dT%H:%M:%SZ", after, 0);
		printf("  %s\n", zone);
	}
	belfry_rule_free(rule);
	return status;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"Europe/Berlin", "America/New_York", "Asia/Kathmandu"};
	struct belfry_error err = BELFRY_ERROR_INIT;
	struct belfry_zones *zones = NULL;
	const char *text = argc > 1 ? argv[1] : "0 9 * * 1-5";
	enum belfry_status status = belfry_zones_new(NULL, &zones, &err);

	for (int i = 0; status == BELFRY_OK && i < 3; i++) {
		status = print_zone(zones, text, names[i], time(NULL) * BELFRY_SECOND, &err);
	}
	if (status != BELFRY_OK) {
		fprintf(stderr, "%s: %s\n", text, err.message);
	}
	belfry_zones_free(zones);
	return status == BELFRY_OK ? 0 : 1;
}

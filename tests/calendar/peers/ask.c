/* Answers questions to the calendar for the comparison with other libraries (compare.py).
 *
 * Reads lines of three columns with a tab between: a rule, a zone, an instant in seconds UTC. Writes a line for
 * each, in their order: the first due time behind the instant in seconds UTC, "never", or "refused: " and why.
 * Judges nothing, and knows no other library. */
#include <stdio.h>

#include <belfry/calendar.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

#define LINE_BYTES 1024

static void answer(struct belfry_zones *zones, const char *text, const char *zone, int64_t from)
{
	struct belfry_error err = BELFRY_ERROR_INIT;
	struct belfry_rule *rule;
	belfry_time due;

	if (belfry_rule_new(zones, bf_str(text), bf_str(zone), NULL, &rule, &err) != BELFRY_OK) {
		printf("refused: %s\n", err.message);
		return;
	}
	if (belfry_rule_next(rule, from * BELFRY_SECOND, &due) == BELFRY_OK) {
		printf("%lld\n", (long long)(due / BELFRY_SECOND));
	} else {
		printf("never\n");
	}
	belfry_rule_free(rule);
}

static bool answer_line(struct belfry_zones *zones, char *line)
{
	char *zone = strchr(line, '\t');
	char *from = zone != NULL ? strchr(zone + 1, '\t') : NULL;
	int64_t seconds;

	if (from == NULL) {
		return false;
	}
	*zone++ = '\0';
	*from++ = '\0';
	from[strcspn(from, "\n")] = '\0';
	if (bf_str_parse_int(bf_str(from), -INT64_C(62135596800), INT64_C(253402300799),
			    &seconds) != BELFRY_OK) {
		return false;
	}
	answer(zones, line, zone, seconds);
	return true;
}

int main(void)
{
	struct belfry_zones *zones;
	struct belfry_error err;
	char line[LINE_BYTES];
	bool is_read = true;

	bf_json_init();
	if (belfry_zones_new(NULL, &zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	while (is_read && fgets(line, sizeof(line), stdin) != NULL) {
		is_read = answer_line(zones, line);
	}
	belfry_zones_free(zones);
	if (!is_read) {
		(void)fprintf(stderr, "three columns, please: rule, zone, seconds\n");
	}
	return is_read ? 0 : 2;
}

/* Fuzzes times as people type them: the first line is the text, the second a zone (empty: none). What is
 * read is shown in the zone's time, and that reads as the same instant; a local time has those fields in its
 * zone. */
#include <stdio.h>

#include "base/str.h"
#include "base/timefmt.h"
#include "cli/timearg.h"
#include "fuzz.h"

#define TEXT_BYTES 128

static belfry_time wall(void *data)
{
	(void)data;
	return INT64_C(1796126400) * BELFRY_SECOND;
}

static const struct bf_env env = {.wall = wall};
static struct bf_cli cli = {.env = &env};

static void take_text(struct belfry_str *rest, char *ret_text)
{
	struct belfry_str line = fuzz_take_until(rest, '\n');

	(void)snprintf(ret_text, TEXT_BYTES, "%.*s", BF_STR_ARGS(line));
}

static void check_shown(const char *text, const char *zone, belfry_time time)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	char shown[BF_TIME_TEXT_BYTES];
	struct belfry_rule *rule;
	belfry_time again;

	fuzz_require(belfry_rule_new(cli.zones, BF_STR("* * * * *"), bf_str(zone), &options, &rule,
				     NULL) == BELFRY_OK);
	bf_timearg_format(rule, time, shown);
	/* Local times at the very ends of the years lie outside of them in UTC. */
	bool is_outside = memcmp(shown, "0001", 4) <= 0 || memcmp(shown, "9999", 4) == 0;
	fuzz_require(is_outside ||
			(bf_time_parse(bf_str(shown), &again) == BELFRY_OK && again == time));
	/* Shown with these very fields, but where the offset has seconds that cannot be written. */
	if (memcmp(shown, "1972", 4) >= 0) {
		fuzz_require(memcmp(text, shown, 10) == 0 && memcmp(text + 11, shown + 11, 5) == 0);
	}
	belfry_rule_free(rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str rest = {(const char *)data, size};
	struct belfry_error err = {0};
	struct belfry_zones *zones;
	char text[TEXT_BYTES];
	char zone[TEXT_BYTES];
	belfry_time time;

	if (cli.zones == NULL) {
		bf_json_init();
		fuzz_require(bf_cli_zones(&cli, &zones, NULL) == BELFRY_OK);
	}
	take_text(&rest, text);
	take_text(&rest, zone);
	enum belfry_status status = bf_timearg_parse(&cli, "--from", text,
			zone[0] != '\0' ? zone : NULL, &time, &err);
	if (status != BELFRY_OK) {
		fuzz_require_refusal(&err, TEXT_BYTES);
		return 0;
	}
	bool is_local = strlen(text) == sizeof("2026-12-01 09:00") - 1 && text[4] == '-';
	if (zone[0] != '\0' && is_local) {
		check_shown(text, zone, time);
	}
	return 0;
}

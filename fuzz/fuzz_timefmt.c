/* Fuzzes times and durations as text: what is read is written, and what was written reads as the same
 * instant or length. */
#include "base/str.h"
#include "base/timefmt.h"
#include "fuzz.h"

static void check_time(belfry_time time, int32_t offset_s)
{
	char text[BF_TIME_TEXT_BYTES];
	belfry_time again;

	bf_time_format(time, 0, text);
	fuzz_require(bf_time_parse(bf_str(text), &again) == BELFRY_OK && again == time);
	/* At the very ends the local time of another offset has no year of four digits. */
	if (text[0] == '0' || text[0] == '9') {
		return;
	}
	bf_time_format(time, offset_s, text);
	fuzz_require(bf_time_parse(bf_str(text), &again) == BELFRY_OK && again == time);
}

static void check_duration(belfry_duration duration)
{
	char text[BF_DURATION_TEXT_BYTES];
	belfry_duration again;

	fuzz_require(duration >= 0);
	bf_duration_format(duration, text);
	fuzz_require(bf_duration_parse(bf_str(text), &again) == BELFRY_OK && again == duration);
}

/* Any number at all is a time and a duration to write. */
static void check_number(const uint8_t *data)
{
	char text[BF_TIME_TEXT_BYTES];
	int64_t number;

	memcpy(&number, data, sizeof(number));
	bf_time_format(number, (int32_t)(number % 86400), text);
	check_duration(number < 0 ? -(number + 1) : number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str text = {(const char *)data, size};
	belfry_time time;
	belfry_duration duration;

	if (bf_time_parse(text, &time) == BELFRY_OK) {
		check_time(time, (int32_t)(data[0] * 337 + data[size - 2] * 7) - 43200);
	}
	if (bf_duration_parse(text, &duration) == BELFRY_OK) {
		check_duration(duration);
	}
	if (size == sizeof(int64_t)) {
		check_number(data);
	}
	return 0;
}

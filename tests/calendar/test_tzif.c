/* TZif files: versions, footers, odd tables; and hostile bytes, which are refused or read, never more. */
#include "cases.h"

#include <time.h>

#include "base/alloc.h"
#include "calendar/civil.h"
#include "calendar/due.h"
#include "calendar/tzif.h"
#include "calendar/zone.h"
#include "tzif_build.h"

/* A copy of exactly this length on the heap, so that a sanitizer sees a read past its end. */
static enum belfry_status open_copy(const void *bytes, size_t len, struct bf_zone **ret_zone)
{
	struct belfry_error err;
	char *copy = len > 0 ? bf_alloc(len) : NULL;

	if (len > 0) {
		assert_non_null(copy);
		memcpy(copy, bytes, len);
	}
	enum belfry_status status = bf_zone_new(BF_STR("Test/Zone"),
			(const unsigned char *)(copy != NULL ? copy : ""), len, ret_zone, &err);
	bf_free(copy);
	return status;
}

static struct bf_zone *build_zone(const struct tzif_spec *spec)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	struct bf_zone *zone = NULL;

	tzif_build(spec, &file);
	assert_int_equal(open_copy(file.ptr, file.len, &zone), BELFRY_OK);
	return zone;
}

static void check_offset(const struct bf_zone *zone, const char *time, int32_t offset)
{
	assert_int_equal(bf_zone_span(zone, at(time) / BELFRY_SECOND).offset, offset);
}

static const int32_t two_offsets[] = {3600, 7200};
static const struct tzif_change one_change[] = {{1000000000, 1}};

static void version_1_has_32_bits_and_no_footer(void **state)
{
	struct tzif_spec spec = {'\0', one_change, 1, two_offsets, 2, "", 0};
	struct bf_zone *zone = build_zone(&spec);

	(void)state;
	check_offset(zone, "2001-09-09T01:46:39Z", 3600);
	check_offset(zone, "2001-09-09T01:46:40Z", 7200);
	check_offset(zone, "9999-01-01T00:00:00Z", 7200);
	bf_zone_free(zone);
}

static void versions_2_to_4_are_read_and_others_refused(void **state)
{
	static const char versions[] = "\0001234567A";
	struct tzif_spec spec = {'2', one_change, 1, two_offsets, 2, "EET-2", 0};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) - 1; i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
		struct bf_zone *zone = NULL;
		bool is_known = versions[i] == '\0' || (versions[i] >= '2' && versions[i] <= '4');
		spec.version = versions[i];
		tzif_build(&spec, &file);
		assert_int_equal(open_copy(file.ptr, file.len, &zone),
				is_known ? BELFRY_OK : BELFRY_CORRUPT);
		bf_zone_free(zone);
	}
}

static void the_footer_rules_from_the_last_change_on(void **state)
{
	struct tzif_spec spec = {'2', one_change, 1, two_offsets, 2, "CET-1CEST,M3.5.0,M10.5.0/3",
			0};
	struct bf_zone *zone = build_zone(&spec);

	(void)state;
	check_offset(zone, "2001-09-09T01:46:40Z", 7200);
	check_offset(zone, "2001-10-28T00:59:59Z", 7200);
	check_offset(zone, "2001-10-28T01:00:00Z", 3600);
	check_offset(zone, "2400-07-01T00:00:00Z", 7200);
	check_offset(zone, "2401-12-01T00:00:00Z", 3600);
	check_offset(zone, "2402-03-31T00:59:59Z", 3600);
	check_offset(zone, "2402-03-31T01:00:00Z", 7200);
	check_offset(zone, "9999-07-01T00:00:00Z", 7200);
	bf_zone_free(zone);
}

static void a_footer_alone_rules_always(void **state)
{
	struct tzif_spec spec = {'3', NULL, 0, two_offsets, 1, "CET-1CEST,M3.5.0,M10.5.0/3", 0};
	struct bf_zone *zone = build_zone(&spec);

	(void)state;
	check_offset(zone, "0001-07-01T00:00:00Z", 7200);
	check_offset(zone, "0001-12-01T00:00:00Z", 3600);
	check_offset(zone, "1600-07-01T00:00:00Z", 7200);
	check_offset(zone, "2026-07-01T00:00:00Z", 7200);
	check_offset(zone, "9999-12-01T00:00:00Z", 3600);
	bf_zone_free(zone);
}

static void daylight_saving_all_year_is_one_offset(void **state)
{
	static const char *const footers[] = {"XXX3EDT4,0/0,J365/23", "EST5EDT,0/0,J365/25",
			"EST5EDT,0/0,J365/30"};
	static const int32_t expected[] = {-14400, -14400, -14400};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(footers); i++) {
		struct tzif_spec spec = {'3', one_change, 1, two_offsets, 2, footers[i], 0};
		struct bf_zone *zone = build_zone(&spec);
		check_offset(zone, "2010-01-01T00:00:00Z", expected[i]);
		for (int64_t t = 1000000000; t < 1000000000 + 20 * INT64_C(31556952); t += 1800) {
			assert_int_equal(bf_zone_span(zone, t).offset, expected[i]);
		}
		check_offset(zone, "2750-01-01T04:30:00Z", expected[i]);
		bf_zone_free(zone);
	}
}

/* Folds and gaps whose edges lie within one another; counted by hand. */
static void changes_close_together_do_not_confuse(void **state)
{
	/* +1 h at 12:00 (gap 12:00-13:00 local), back at 12:20 (fold 12:20-13:20): 12:30 exists once. */
	static const struct tzif_change changes[] = {{1767268800, 1}, {1767270000, 0}};
	static const int32_t offsets[] = {0, 3600};
	struct tzif_spec spec = {'2', changes, 2, offsets, 2, "ABC0", 0};
	struct bf_zone *zone = build_zone(&spec);
	struct bf_due_policy policy = {zone, BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST};
	struct bf_cron cron;

	(void)state;
	assert_int_equal(bf_cron_parse(BF_STR("30 12 * * *"), false, &cron, NULL), BELFRY_OK);
	assert_int_equal(bf_due_next(&policy, &cron, 1767268000), 1767268800 + 1800);
	assert_int_equal(bf_cron_parse(BF_STR("10 12,13 * * *"), false, &cron, NULL), BELFRY_OK);
	assert_int_equal(bf_due_next(&policy, &cron, 1767268000), 1767268800);
	assert_int_equal(bf_due_next(&policy, &cron, 1767268801), 1767268800 + 600);
	assert_int_equal(bf_due_next(&policy, &cron, 1767268800 + 601), 1767268800 + 86400 + 600);
	policy.fold = BELFRY_DST_FOLD_BOTH;
	assert_int_equal(bf_due_next(&policy, &cron, 1767268800 + 601), 1767268800 + 4200);
	bf_zone_free(zone);
}

static void changes_before_all_history_are_read(void **state)
{
	static const struct tzif_change changes[] = {{-(INT64_C(1) << 59), 1}, {0, 0}};
	struct tzif_spec spec = {'2', changes, 2, two_offsets, 2, "CET-1", 0};
	struct bf_zone *zone = build_zone(&spec);

	(void)state;
	check_offset(zone, "0001-01-01T00:00:00Z", 7200);
	check_offset(zone, "1970-01-01T00:00:00Z", 3600);
	bf_zone_free(zone);
}

static void check_refused_spec(const struct tzif_spec *spec)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	struct bf_zone *zone = NULL;

	tzif_build(spec, &file);
	assert_int_equal(open_copy(file.ptr, file.len, &zone), BELFRY_CORRUPT);
	assert_null(zone);
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct tzif_change backwards[] = {{1000, 1}, {999, 0}};
	static const struct tzif_change twice[] = {{1000, 1}, {1000, 0}};
	static const struct tzif_change unknown_type[] = {{1000, 2}};
	static const struct tzif_change far[] = {{INT64_MAX, 1}};
	static const int32_t wild[] = {0, 100000};
	const struct tzif_spec specs[] = {
			{'2', backwards, 2, two_offsets, 2, "", 0},
			{'2', twice, 2, two_offsets, 2, "", 0},
			{'2', unknown_type, 1, two_offsets, 2, "", 0},
			{'2', far, 1, two_offsets, 2, "", 0},
			{'2', one_change, 1, wild, 2, "", 0},
			{'2', one_change, 1, two_offsets, 2, "nonsense", 0},
			{'2', one_change, 1, two_offsets, 2, "ABC0\nDEF0", 0},
			{'2', one_change, 1, two_offsets, 2, "", 2}, /* leap seconds */
			{'2', NULL, 0, two_offsets, 0, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(specs); i++) {
		check_refused_spec(&specs[i]);
	}
}

static void every_truncation_is_refused(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	struct bf_zone *zone = NULL;

	(void)state;
	tzif_read_system("Europe/Berlin", &file);
	for (size_t len = 0; len < file.len; len++) {
		assert_int_equal(open_copy(file.ptr, len, &zone), BELFRY_CORRUPT);
	}
	assert_int_equal(open_copy(file.ptr, file.len, &zone), BELFRY_OK);
	bf_zone_free(zone);
	bf_buf_append_byte(&file, 'x');
	assert_int_equal(open_copy(file.ptr, file.len, &zone), BELFRY_CORRUPT);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/* Asks a zone that passed the reader everything there is to ask. */
static void use_zone(const struct bf_zone *zone, uint64_t *seed)
{
	struct bf_cron cron;

	assert_int_equal(bf_cron_parse(BF_STR("0,30 2 * * *"), false, &cron, NULL), BELFRY_OK);
	for (int i = 0; i < 20; i++) {
		struct bf_due_policy policy = {zone,
				(enum belfry_dst_gap)(next_random(seed) % BELFRY_DST_GAP_COUNT),
				(enum belfry_dst_fold)(next_random(seed) % BELFRY_DST_FOLD_COUNT)};
		int64_t from = (int64_t)(next_random(seed) * 8) - 2000000000;
		int64_t due = bf_due_next(&policy, &cron, from);
		assert_true(due >= from);
		(void)bf_due_local(&policy, from);
	}
}

static void flipped_bytes_are_refused_or_read(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	uint64_t seed = 20260329;
	int read = 0;

	(void)state;
	tzif_read_system("America/New_York", &file);
	for (int round = 0; round < 20000; round++) {
		struct bf_zone *zone = NULL;
		char kept[3];
		size_t places[3];
		for (int i = 0; i < 3; i++) {
			places[i] = next_random(&seed) % file.len;
			kept[i] = file.ptr[places[i]];
			file.ptr[places[i]] = (char)(next_random(&seed) & 0xff);
		}
		if (open_copy(file.ptr, file.len, &zone) == BELFRY_OK) {
			use_zone(zone, &seed);
			bf_zone_free(zone);
			read++;
		}
		for (int i = 2; i >= 0; i--) {
			file.ptr[places[i]] = kept[i];
		}
	}
	assert_in_range(read, 1, 19999);
}

/* Each count of both headers, with values that are too large, too small, or overflow when multiplied. */
static void counts_that_do_not_fit_are_refused(void **state)
{
	static const uint32_t values[] = {0, 1, 2, 255, 256, 257, 2048, 2049, 4096, 4097, 65535,
			65536, 0x1fffffff, 0x20000000, 0x7fffffff, 0x80000000, 0xfffffffe,
			0xffffffff};
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};

	(void)state;
	tzif_read_system("Europe/Berlin", &file);
	size_t second = 44;
	while (memcmp(file.ptr + second, "TZif", 4) != 0) {
		second++;
	}
	for (size_t place = 0; place < 12; place++) {
		char *count = file.ptr + (place < 6 ? 20 : second + 20) + place % 6 * 4;
		char kept[4];
		memcpy(kept, count, sizeof(kept));
		for (size_t i = 0; i < BF_COUNT(values); i++) {
			struct bf_zone *zone = NULL;
			for (int byte = 0; byte < 4; byte++) {
				count[byte] = (char)(values[i] >> (24 - 8 * byte));
			}
			bool is_same = memcmp(kept, count, sizeof(kept)) == 0;
			assert_int_equal(open_copy(file.ptr, file.len, &zone),
					is_same ? BELFRY_OK : BELFRY_CORRUPT);
			bf_zone_free(zone);
		}
		memcpy(count, kept, sizeof(kept));
	}
}

/* Every byte of a small file, with values at the edges: nothing but a status, or a zone that answers. */
static void each_byte_may_be_anything(void **state)
{
	static const int values[] = {0x00, 0x01, 0x0a, 0x30, 0x7f, 0x80, 0xfe, 0xff};
	static const char *const names[] = {"Etc/GMT+5", "Asia/Tokyo", "Africa/Cairo"};
	uint64_t seed = 9636;

	(void)state;
	for (size_t n = 0; n < BF_COUNT(names); n++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
		tzif_read_system(names[n], &file);
		for (size_t i = 0; i < file.len; i++) {
			char kept = file.ptr[i];
			for (size_t v = 0; v < BF_COUNT(values); v++) {
				struct bf_zone *zone = NULL;
				file.ptr[i] = (char)values[v];
				if (open_copy(file.ptr, file.len, &zone) == BELFRY_OK) {
					use_zone(zone, &seed);
					bf_zone_free(zone);
				}
			}
			file.ptr[i] = kept;
		}
	}
}

/* Footers cut, doubled and with characters exchanged. */
static void footers_of_any_kind_are_refused_or_read(void **state)
{
	static const char *const footers[] = {"CET-1CEST,M3.5.0,M10.5.0/3",
			"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "EST5EDT,0/0,J365/25",
			"AAA24BBB-24,J1/-167,J365/167:59:59"};
	static const char alphabet[] = "0123456789MJ,./:+-<>ABC\n \x80";
	uint64_t seed = 2026;
	size_t read = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const char *footer = footers[(size_t)round % BF_COUNT(footers)];
		char text[128] = "";
		size_t len = strlen(footer);
		memcpy(text, footer, len);
		for (int i = 0; i < 1 + round % 3; i++) {
			text[next_random(&seed) % len] =
					alphabet[next_random(&seed) % (sizeof(alphabet) - 1)];
		}
		if (round % 5 == 0) {
			text[next_random(&seed) % len] = '\0';
		}
		BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
		struct bf_zone *zone = NULL;
		struct tzif_spec spec = {'3', one_change, round % 2 == 0 ? 1 : 0, two_offsets, 2,
				text, 0};
		tzif_build(&spec, &file);
		if (open_copy(file.ptr, file.len, &zone) == BELFRY_OK) {
			use_zone(zone, &seed);
			bf_zone_free(zone);
			read++;
		}
	}
	assert_in_range(read, 1000, 19000);
}

/* ---- what a hostile file costs ----------------------------------------------------------------- */

/* Time on the processor that reading takes; the least of many. */
static int64_t cost_ns(const struct bf_buf *file)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 60; i++) {
		struct bf_zone *zone = NULL;
		struct timespec before;
		struct timespec after;
		assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before), 0);
		enum belfry_status status = bf_zone_new(BF_STR("Test/Zone"),
				(const unsigned char *)file->ptr, file->len, &zone, NULL);
		assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after), 0);
		assert_true(status == BELFRY_OK || status == BELFRY_CORRUPT);
		bf_zone_free(zone);
		int64_t spent = (after.tv_sec - before.tv_sec) * INT64_C(1000000000) +
				(after.tv_nsec - before.tv_nsec);
		least = BF_MIN(least, spent);
	}
	return least;
}

/* As many changes as are taken, `step` seconds apart, each to another offset. */
static void build_full(int64_t start, int64_t step, const char *footer, struct bf_buf *ret_file)
{
	static struct tzif_change changes[BF_TZIF_CHANGES_MAX];
	int32_t offsets[256];

	for (size_t i = 0; i < BF_COUNT(offsets); i++) {
		offsets[i] = (int32_t)i * 60;
	}
	for (size_t i = 0; i < BF_COUNT(changes); i++) {
		changes[i] = (struct tzif_change){start + (int64_t)i * step,
				(unsigned char)(i % BF_COUNT(offsets))};
	}
	struct tzif_spec spec = {'2', changes, BF_COUNT(changes), offsets, BF_COUNT(offsets),
			footer, 0};
	tzif_build(&spec, ret_file);
}

static void no_file_costs_much_more_than_a_real_one(void **state)
{
	static const char *const real[] = {"America/New_York", "Europe/Berlin", "Asia/Jerusalem",
			"Africa/Casablanca", "Pacific/Auckland"};
	static const int64_t steps[] = {1, 5400, 43200, 1500000, 43200000};
	BF_CLEANUP(bf_buf_fini) struct bf_buf longest = {0};
	int64_t usual = 0;
	int64_t worst = 0;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(real); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
		tzif_read_system(real[i], &file);
		usual = BF_MAX(usual, cost_ns(&file));
	}
	for (size_t i = 0; i < BF_COUNT(steps); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
		build_full(-2000000000, steps[i], "CET-1CEST,M3.5.0,M10.5.0/3", &file);
		worst = BF_MAX(worst, cost_ns(&file));
	}
	struct tzif_spec spec = {'2', NULL, 0, two_offsets, 1, "", 0};
	tzif_build(&spec, &longest);
	longest.len--;
	while (longest.len < BF_TZIF_BYTES_MAX - 3) {
		bf_buf_append_byte(&longest, 'A');
	}
	bf_buf_append_text(&longest, "0\n");
	worst = BF_MAX(worst, cost_ns(&longest));
	print_message("the worst costs %d hundredths of the worst real one\n",
			(int)(worst * 100 / usual));
	assert_true(worst < 5 * usual);
}

int run_tzif_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(version_1_has_32_bits_and_no_footer),
			cmocka_unit_test(versions_2_to_4_are_read_and_others_refused),
			cmocka_unit_test(the_footer_rules_from_the_last_change_on),
			cmocka_unit_test(a_footer_alone_rules_always),
			cmocka_unit_test(daylight_saving_all_year_is_one_offset),
			cmocka_unit_test(changes_close_together_do_not_confuse),
			cmocka_unit_test(changes_before_all_history_are_read),
			cmocka_unit_test(what_cannot_be_is_refused),
			cmocka_unit_test(every_truncation_is_refused),
			cmocka_unit_test(flipped_bytes_are_refused_or_read),
			cmocka_unit_test(counts_that_do_not_fit_are_refused),
			cmocka_unit_test(each_byte_may_be_anything),
			cmocka_unit_test(footers_of_any_kind_are_refused_or_read),
			cmocka_unit_test(no_file_costs_much_more_than_a_real_one),
	};

	return cmocka_run_group_tests_name("tzif", tests, NULL, NULL);
}

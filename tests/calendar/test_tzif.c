/* TZif files: versions, footers, odd tables; and hostile bytes, which are refused or read, never more. */
#include "cases.h"

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
	};

	return cmocka_run_group_tests_name("tzif", tests, NULL, NULL);
}

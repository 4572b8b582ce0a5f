/* Fuzzes TZif bytes, footer included: the file is refused, or every question to its zone has an answer.
 *
 * Input that does not begin with the magic bytes is taken as a footer and put into a small file, so that
 * footers are reached without the fuzzer having to find a header first. */
#include <belfry/calendar.h>

#include "base/alloc.h"
#include "base/str.h"
#include "calendar/civil.h"
#include "calendar/due.h"
#include "calendar/zone.h"
#include "fuzz.h"

static void ask(const struct bf_zone *zone, bool is_fixed)
{
	static const enum belfry_dst_fold folds[] = {BELFRY_DST_FOLD_FIRST, BELFRY_DST_FOLD_LAST,
			BELFRY_DST_FOLD_BOTH};
	struct bf_cron cron;
	int64_t from[] = {BF_FIRST_SECOND, -1, 1767225600, 4102444800, BF_LAST_SECOND - 86400};

	fuzz_require(bf_cron_parse(is_fixed ? BF_STR("0,30 2 * * *") : BF_STR("*/30 2 * * *"),
				     false, &cron, NULL) == BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(from); i++) {
		struct bf_span span = bf_zone_span(zone, from[i]);
		fuzz_require(span.start <= from[i] && from[i] < span.end);
		for (int gap = 0; gap < BELFRY_DST_GAP_COUNT; gap++) {
			struct bf_due_policy policy = {zone, (enum belfry_dst_gap)gap,
					folds[(i + (size_t)gap) % BF_COUNT(folds)]};
			int64_t due = bf_due_next(&policy, &cron, from[i]);
			fuzz_require(due >= from[i]);
			fuzz_require(due == BF_DUE_NEVER ||
					bf_due_next(&policy, &cron, due) == due);
			struct bf_due_local local = bf_due_local(&policy, from[i]);
			fuzz_require(local.first <= local.last);
		}
	}
}

/* A file of version 3 with one type, no changes and this footer. */
static void put_footer_file(struct bf_buf *file, const uint8_t *footer, size_t size)
{
	static const char header[] =
			"TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			"\0\0\0\1\0\0\0\4";
	static const char type[] = "\0\0\0\0\0\0ABC";

	for (int block = 0; block < 2; block++) {
		bf_buf_append(file, header, 44);
		bf_buf_append(file, type, sizeof(type));
	}
	bf_buf_append_byte(file, '\n');
	bf_buf_append(file, footer, size);
	bf_buf_append_byte(file, '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	struct belfry_error err;
	struct bf_zone *zone;

	if (size < 4 || memcmp(data, "TZif", 4) != 0) {
		put_footer_file(&file, data, size);
		data = (const uint8_t *)file.ptr;
		size = file.len;
	}
	enum belfry_status status = bf_zone_new(BF_STR("Fuzz"), data, size, &zone, &err);
	if (status == BELFRY_OK) {
		ask(zone, true);
		ask(zone, false);
		bf_zone_free(zone);
	} else {
		fuzz_require(status == BELFRY_CORRUPT);
	}
	return 0;
}

/* What the end of a call means for its Run. */
#include "host/targets/answer.h"

#include <curl/curl.h>

#include "base/str.h"
#include "base/timefmt.h"

enum bf_verdict bf_answer_verdict(const struct bf_answer *answer)
{
	switch (answer->kind) {
	case BF_ANSWER_ANSWERED: break;
	case BF_ANSWER_UNREACHABLE:
	case BF_ANSWER_TIMEOUT:
	case BF_ANSWER_CANCELLED: return BF_VERDICT_RETRY;
	case BF_ANSWER_NOT_ALLOWED: return BF_VERDICT_PERMANENT;
	}
	if (answer->status >= 200 && answer->status < 300) {
		return BF_VERDICT_OK;
	}
	if (answer->status == 408 || answer->status == 425 || answer->status == 429 ||
			(answer->status >= 500 && answer->status < 600)) {
		return BF_VERDICT_RETRY;
	}
	return BF_VERDICT_PERMANENT;
}

enum belfry_run_error bf_answer_error(const struct bf_answer *answer)
{
	switch (answer->kind) {
	case BF_ANSWER_ANSWERED: break;
	case BF_ANSWER_UNREACHABLE: return BELFRY_RUN_ERROR_TARGET_UNREACHABLE;
	case BF_ANSWER_TIMEOUT: return BELFRY_RUN_ERROR_TIMEOUT;
	case BF_ANSWER_NOT_ALLOWED: return BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED;
	case BF_ANSWER_CANCELLED: return BELFRY_RUN_ERROR_CANCELLED;
	}
	return bf_answer_verdict(answer) == BF_VERDICT_OK ? BELFRY_RUN_ERROR_NONE
							  : BELFRY_RUN_ERROR_TARGET_ANSWERED;
}

/* A number of seconds that is too large for us is still a number: an hour. */
static bool is_number(struct belfry_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9') {
			return false;
		}
	}
	return text.len > 0;
}

static belfry_duration clamp(belfry_duration duration)
{
	return BF_MIN(BF_MAX(duration, BELFRY_SECOND), BF_RETRY_AFTER_MAX);
}

belfry_duration bf_retry_after_parse(struct belfry_str text, belfry_time now)
{
	char date[64];
	int64_t seconds;

	while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t')) {
		text.len--;
	}
	if (is_number(text)) {
		bool is_small = bf_str_parse_int(text, 0, 3600, &seconds) == BELFRY_OK;
		return clamp(is_small ? seconds * BELFRY_SECOND : BF_RETRY_AFTER_MAX);
	}
	/* Every date of HTTP begins with the name of a day; curl's reader takes far more than those. */
	if (text.len == 0 || text.len >= sizeof(date) || text.ptr[0] < 'F' || text.ptr[0] > 'W') {
		return 0;
	}
	memcpy(date, text.ptr, text.len);
	date[text.len] = '\0';
	int64_t at = curl_getdate(date, NULL);
	if (at <= 0 || at > INT64_MAX / BELFRY_SECOND) {
		return 0;
	}
	return clamp(bf_time_since(at * BELFRY_SECOND, now));
}

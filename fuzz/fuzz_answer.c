/* Fuzzes the two small texts around a call: the Retry-After of its answer, and the names of secrets, which
 * become names of files. */
#include "base/str.h"
#include "fuzz.h"
#include "host/targets/answer.h"
#include "host/targets/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const belfry_time times[] = {0, INT64_C(1796126400) * BELFRY_SECOND,
			BELFRY_TIME_NEVER};
	struct belfry_str text = {(const char *)data, size};
	struct belfry_error err = {0};

	for (size_t i = 0; i < BF_COUNT(times); i++) {
		belfry_duration after = bf_retry_after_parse(text, times[i]);
		fuzz_require(after == 0 || (after >= BELFRY_SECOND && after <= BF_RETRY_AFTER_MAX));
	}
	if (bf_secret_name_check(text, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
		return 0;
	}
	fuzz_require(size > 0 && size <= BF_SECRET_NAME_BYTES && text.ptr[0] != '.');
	for (size_t i = 0; i < size; i++) {
		fuzz_require(text.ptr[i] != '/' && text.ptr[i] != '\0');
	}
	return 0;
}

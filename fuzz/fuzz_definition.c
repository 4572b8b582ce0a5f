/* Fuzzes definitions of schedules as a store keeps them: what is decoded encodes to the same bytes, what
 * cannot be decoded is corrupt; and the check of policies has words for every refusal. */
#include "fuzz.h"
#include "model/definition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str bytes = {(const char *)data, size};
	BF_CLEANUP(bf_buf_fini) struct bf_buf again = {0};
	struct belfry_error err = {0};
	struct bf_definition definition;

	enum belfry_status status = bf_definition_decode(bytes, &definition, &err);
	if (status != BELFRY_OK) {
		fuzz_require(status == BELFRY_CORRUPT && err.detail[0] != '\0');
		return 0;
	}
	bf_definition_encode(&definition, &again);
	fuzz_require(bf_buf_status(&again) == BELFRY_OK);
	fuzz_require(bf_str_equal(bytes, bf_buf_str(&again)));
	if (bf_policies_check(&definition.policies, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
		fuzz_require(err.pointer[0] == '/');
	}
	return 0;
}

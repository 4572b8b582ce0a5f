/* Fuzzes addresses and the operator's list: the first line is asked about, the others are --allow-target. An
 * address that is read is written and read to the same one; what is never allowed stays so, whatever the
 * list says. */
#include "base/str.h"
#include "fuzz.h"
#include "host/targets/allow.h"

static bool read_address(struct belfry_str text, struct bf_address *ret_address)
{
	char buffer[BF_ADDRESS_TEXT_BYTES];
	struct bf_address again;

	if (bf_address_parse(text, ret_address) != BELFRY_OK) {
		return false;
	}
	bf_address_format(ret_address, buffer);
	fuzz_require(bf_address_parse(bf_str(buffer), &again) == BELFRY_OK);
	fuzz_require(again.is_v4 == ret_address->is_v4);
	fuzz_require(memcmp(again.bytes, ret_address->bytes, again.is_v4 ? 4 : 16) == 0);
	fuzz_require(bf_address_is_within(&again, ret_address, again.is_v4 ? 32 : 128));
	return true;
}

static void ask(const struct bf_allow_list *list, struct belfry_str host,
		const struct bf_address *address)
{
	static const uint16_t ports[] = {1, 80, 8080, UINT16_MAX};

	for (size_t i = 0; i < BF_COUNT(ports); i++) {
		bool is_permitted = bf_allow_list_permits(list, host, address, ports[i]);
		switch (bf_address_classify(address)) {
		case BF_ADDRESS_PUBLIC: fuzz_require(is_permitted); break;
		case BF_ADDRESS_NEVER: fuzz_require(!is_permitted); break;
		case BF_ADDRESS_PRIVATE:
			fuzz_require(is_permitted || !bf_allow_list_names(list, host, ports[i]));
			fuzz_require(!bf_allow_list_permits(NULL, host, address, ports[i]));
			break;
		}
		(void)bf_allow_list_permits_loopback(list, ports[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str rest = {(const char *)data, size};
	struct belfry_str host = fuzz_take_until(&rest, '\n');
	struct bf_address address;
	struct bf_allow_list *list;

	fuzz_require(bf_allow_list_new(&list) == BELFRY_OK);
	while (rest.len > 0) {
		struct belfry_error err = {0};
		if (bf_allow_list_add(list, fuzz_take_until(&rest, '\n'), &err) != BELFRY_OK) {
			fuzz_require_refusal(&err, 0);
		}
	}
	if (read_address(host, &address)) {
		ask(list, host, &address);
	}
	bf_allow_list_free(list);
	return 0;
}

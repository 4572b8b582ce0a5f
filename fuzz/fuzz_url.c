/* Fuzzes what a target may hold: the first line is a URL, the second a method, then a header's name, and its
 * value. A URL's normal form is its own normal form, and is called where the text said. */
#include "base/str.h"
#include "fuzz.h"
#include "host/targets/url.h"

static void check_url(struct belfry_str text)
{
	BF_CLEANUP(bf_target_url_fini) struct bf_target_url url = {0};
	BF_CLEANUP(bf_target_url_fini) struct bf_target_url again = {0};
	struct belfry_error err = {0};

	if (bf_target_url_parse(text, &url, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, text.len);
		return;
	}
	for (const char *at = url.text; *at != '\0'; at++) {
		fuzz_require(*at > ' ' && *at <= '~' && *at != '#');
	}
	fuzz_require(url.port > 0 && url.host[0] != '\0');
	enum belfry_status status = bf_target_url_parse(bf_str(url.text), &again, &err);
	/* Normal form may be longer than what came (a slash, an escape), and then too long. */
	if (status != BELFRY_OK) {
		fuzz_require(strlen(url.text) > BF_TARGET_URL_BYTES);
		return;
	}
	fuzz_require(strcmp(again.host, url.host) == 0 && again.port == url.port);
	fuzz_require(strcmp(again.text, url.text) == 0 && again.is_literal == url.is_literal);
	status = bf_target_url_check(text, NULL, &err);
	if (url.is_literal) {
		bool is_public = bf_address_classify(&url.address) == BF_ADDRESS_PUBLIC;
		fuzz_require((status == BELFRY_OK) == is_public);
	}
}

static void check_header(struct belfry_str name, struct belfry_str value)
{
	struct belfry_error err = {0};

	if (bf_target_header_check(name, value, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
		return;
	}
	fuzz_require(memchr(name.ptr, ':', name.len) == NULL && name.len > 0);
	for (size_t i = 0; i < value.len; i++) {
		fuzz_require(value.ptr[i] != '\r' && value.ptr[i] != '\n' && value.ptr[i] != '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str rest = {(const char *)data, size};
	struct belfry_error err = {0};

	check_url(fuzz_take_until(&rest, '\n'));
	if (bf_target_method_check(fuzz_take_until(&rest, '\n'), &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
	}
	struct belfry_str name = fuzz_take_until(&rest, '\n');
	check_header(name, rest);
	return 0;
}

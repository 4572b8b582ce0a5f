/* Fuzzes deployments: the first line is the content, the second a merge patch for it. What is read is
 * written in one form, and that form reads back to itself; so does the payload that a handler gets. A patch
 * that was taken is taken again, and changes nothing more. */
#include "fuzz.h"
#include "host/deployment.h"
#include "host/merge_patch.h"

static struct belfry_zones *zones;

static void check_payload(const struct bf_deployment *d)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	BF_CLEANUP(bf_payload_fini) struct bf_payload payload = {0};
	struct belfry_error err = {0};

	if (bf_payload_encode(d, &bytes, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
		return;
	}
	fuzz_require(bf_payload_decode(bf_buf_str(&bytes), &payload, &err) == BELFRY_OK);
	fuzz_require(bf_str_equal(payload.prompt, d->prompt));
	fuzz_require(bf_str_equal(payload.target.webhook.url, d->target.webhook.url));
	fuzz_require(d->input == NULL ? payload.input == NULL
				      : json_equal(payload.input, d->input) == 1);
}

/* What is no payload of ours is corrupt, and nothing worse. */
static void check_foreign_payload(struct belfry_str bytes)
{
	BF_CLEANUP(bf_payload_fini) struct bf_payload payload = {0};
	enum belfry_status status = bf_payload_decode(bytes, &payload, NULL);

	fuzz_require(status == BELFRY_OK || status == BELFRY_CORRUPT);
}

static void check_rule(const struct bf_deployment *d)
{
	struct belfry_error err = {0};

	if (bf_deployment_parse_rule(d, zones, NULL, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, d->rule.len);
		fuzz_require(err.pointer[0] == '/');
	}
}

/* Reads `content`; the form that it is stored in is *ret_stored. */
static bool store(json_t *content, bool is_stored, json_t **ret_stored)
{
	const struct bf_deployment_options options = {BELFRY_MINUTE, is_stored};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	struct belfry_error err = {0};

	if (bf_deployment_read(content, &options, &d, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
		fuzz_require(!is_stored);
		return false;
	}
	check_rule(&d);
	check_payload(&d);
	fuzz_require(bf_deployment_write_content(&d, ret_stored) == BELFRY_OK);
	return true;
}

static void check(json_t *content)
{
	BF_CLEANUP(bf_cleanup_json) json_t *stored = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *again = NULL;

	if (store(content, false, &stored)) {
		fuzz_require(store(stored, true, &again));
		fuzz_require(json_equal(stored, again) == 1);
	}
}

static void check_patch(json_t *content, const json_t *patch)
{
	BF_CLEANUP(bf_cleanup_json) json_t *once = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *patched = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *twice = NULL;

	if (bf_merge_patch(content, patch, NULL) != BELFRY_OK) {
		fuzz_require(!json_is_object(patch));
		return;
	}
	if (!store(content, false, &once)) {
		return;
	}
	patched = json_deep_copy(once);
	fuzz_require(patched != NULL && bf_merge_patch(patched, patch, NULL) == BELFRY_OK);
	fuzz_require(store(patched, true, &twice) && json_equal(once, twice) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str rest = {(const char *)data, size};
	struct belfry_str line = fuzz_take_until(&rest, '\n');
	BF_CLEANUP(bf_cleanup_json) json_t *content = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *patch = NULL;

	if (zones == NULL) {
		bf_json_init();
		fuzz_require(belfry_zones_new(NULL, &zones, NULL) == BELFRY_OK);
	}
	check_foreign_payload(line);
	if (bf_json_parse(line, SIZE_MAX, &content, NULL) != BELFRY_OK) {
		return 0;
	}
	check(content);
	if (json_is_object(content) && bf_json_parse(rest, SIZE_MAX, &patch, NULL) == BELFRY_OK) {
		check_patch(content, patch);
	}
	return 0;
}

/* Finding deployments and Runs by what people call them. A text of the form of an id is tried as one
 * first, so that nobody's name can stand in front of an id. */
#include "cli/resolve.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/help.h"
#include "cli/timearg.h"

#include <belfry/run.h>

#define NEAREST_MILLI 1000L /* nobody waits longer for a suggestion */

struct belfry_str bf_member(const json_t *object, const char *name)
{
	return bf_json_str(json_object_get(object, name));
}

bool bf_resolve_is_id(const char *text)
{
	struct belfry_id id;

	return belfry_id_parse(bf_str(text), &id) == BELFRY_OK;
}

enum belfry_status bf_resolve_get(struct bf_cli *cli, const char *kind, struct belfry_str id,
		json_t **ret_object, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	bf_buf_appendf(&path, "/v1/%s/", kind);
	bf_client_encode(&path, id);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_client_json(cli, &(struct bf_request){.path = path.ptr}, ret_object, err);
}

enum belfry_status bf_resolve_revision(const struct bf_args *args, const json_t *object,
		int64_t *ret_revision, struct belfry_error *err)
{
	json_int_t present = json_integer_value(json_object_get(object, "revision"));
	int64_t named;
	enum belfry_status status = bf_args_int(args, "if-revision", 1, INT64_MAX, 0, &named, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (named != 0 && named != present) {
		return bf_error_set(err, BELFRY_PRECONDITION,
				"--if-revision %lld: it is at revision %lld; look at it, and decide again",
				(long long)named, (long long)present);
	}
	*ret_revision = named;
	return BELFRY_OK;
}

/* The nearest of the names that begin as `text` does: one request, and no suggestion where it fails.
 * *ret_page holds what `nearest` borrows. */
static void find_nearest(struct bf_cli *cli, struct belfry_str text, json_t **ret_page,
		struct bf_nearest *nearest)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	size_t first = 1;

	while (first < text.len && ((unsigned char)text.ptr[first] & 0xc0) == 0x80) {
		first++;
	}
	bf_buf_appendf(&path, "/v1/deployments?limit=%d&q=", BF_CLIENT_PAGE);
	bf_client_encode(&path, bf_str_slice(text, 0, first));
	bf_nearest_begin(nearest, text);
	struct bf_request request = {.path = path.ptr, .limit_ms = NEAREST_MILLI};
	if (path.is_failed || bf_client_json(cli, &request, ret_page, NULL) != BELFRY_OK) {
		return;
	}
	const json_t *items = json_object_get(*ret_page, "items");
	for (size_t i = 0; i < json_array_size(items); i++) {
		const char *name = json_string_value(
				json_object_get(json_array_get(items, i), "name"));

		bf_nearest_offer(nearest, name != NULL ? name : "");
	}
}

static enum belfry_status refuse_deployment(struct bf_cli *cli, struct belfry_str text,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *page = NULL;
	struct bf_nearest nearest = {0};

	if (text.len > 0) {
		find_nearest(cli, text, &page, &nearest);
	}
	if (nearest.best != NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"there is no deployment \"%.*s\": did you mean \"%.60s\"?",
				(int)BF_MIN(text.len, (size_t)100), text.ptr, nearest.best);
	}
	return bf_error_set(err, BELFRY_NOT_FOUND,
			"there is no deployment \"%.*s\": `belfry deployments list` shows them",
			(int)BF_MIN(text.len, (size_t)100), text.ptr);
}

/* The one of `items` with this name and, where it is not empty, this owner. */
static enum belfry_status pick(const json_t *items, struct belfry_str owner, struct belfry_str name,
		json_t **ret_deployment, struct belfry_error *err)
{
	json_t *found = NULL;

	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		bool is_it = bf_str_equal(bf_member(item, "name"), name) &&
				(owner.len == 0 || bf_str_equal(bf_member(item, "owner"), owner));

		if (is_it && found != NULL) {
			return bf_error_set(err, BELFRY_CONFLICT,
					"several owners have a deployment \"%.*s\": say OWNER/%.*s",
					(int)BF_MIN(name.len, (size_t)60), name.ptr,
					(int)BF_MIN(name.len, (size_t)60), name.ptr);
		}
		found = is_it ? item : found;
	}
	if (found == NULL) {
		return BELFRY_NOT_FOUND; /* find_by_words has the words for it */
	}
	*ret_deployment = json_incref(found);
	return BELFRY_OK;
}

static enum belfry_status find_by_name(struct bf_cli *cli, struct belfry_str owner,
		struct belfry_str name, json_t **ret_deployment, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;

	bf_buf_append_text(&path, "/v1/deployments?name=");
	bf_client_encode(&path, name);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = bf_client_list(cli, path.ptr, 0, &items, err);
	return status == BELFRY_OK ? pick(items, owner, name, ret_deployment, err) : status;
}

/* A name may hold a slash itself: OWNER/NAME is tried where the whole is no name. */
static enum belfry_status find_by_words(struct bf_cli *cli, const char *text,
		json_t **ret_deployment, struct belfry_error *err)
{
	struct belfry_str whole = bf_str(text);
	const char *slash = strchr(text, '/');
	enum belfry_status status = find_by_name(cli, (struct belfry_str){0}, whole, ret_deployment,
			err);

	if (status == BELFRY_NOT_FOUND && slash != NULL && slash != text) {
		size_t at = (size_t)(slash - text);

		status = find_by_name(cli, bf_str_slice(whole, 0, at),
				bf_str_slice(whole, at + 1, whole.len), ret_deployment, err);
	}
	return status == BELFRY_NOT_FOUND ? refuse_deployment(cli, whole, err) : status;
}

enum belfry_status bf_resolve_deployment(struct bf_cli *cli, const char *text,
		json_t **ret_deployment, struct belfry_error *err)
{
	if (text[0] == '\0' || !bf_str_is_utf8(bf_str(text))) {
		return refuse_deployment(cli, BF_STR(""), err);
	}
	bool is_id = bf_resolve_is_id(text);
	enum belfry_status status = is_id
			? bf_resolve_get(cli, "deployments", bf_str(text), ret_deployment, err)
			: find_by_words(cli, text, ret_deployment, err);
	if (status == BELFRY_NOT_FOUND && is_id) {
		status = find_by_words(cli, text, ret_deployment, err);
	}
	return status;
}

enum belfry_status bf_resolve_time(struct bf_cli *cli, const char *what, const char *text,
		const json_t *deployment, belfry_time *ret_time, struct belfry_error *err)
{
	struct belfry_str zone = bf_member(deployment, "timezone_used");
	BF_CLEANUP(bf_free_pointer) char *copy = NULL;

	zone = zone.len > 0 ? zone : bf_member(deployment, "timezone");
	copy = bf_str_dup(zone.len > 0 ? zone : BF_STR("UTC"));
	if (copy == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_timearg_parse(cli, what, text, copy, ret_time, err);
}

static enum belfry_status get_last(struct bf_cli *cli, const json_t *deployment, json_t **ret_run,
		struct belfry_error *err)
{
	struct belfry_str name = bf_member(deployment, "name");
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;

	bf_buf_append_text(&path, "/v1/deployments/");
	bf_client_encode(&path, bf_member(deployment, "id"));
	bf_buf_append_text(&path, "/runs");
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = bf_client_list(cli, path.ptr, 1, &items, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (json_array_size(items) == 0) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"\"%.*s\" has no Run yet: `belfry trigger` makes one",
				(int)BF_MIN(name.len, (size_t)100), name.ptr);
	}
	return bf_resolve_get(cli, "runs", bf_member(json_array_get(items, 0), "id"), ret_run, err);
}

/* The id of a due time's Run is computed (contract.md, "A Run's life"). */
static enum belfry_status get_by_due(struct bf_cli *cli, const json_t *deployment, const char *time,
		json_t **ret_run, struct belfry_error *err)
{
	belfry_time due;
	struct belfry_id id;
	char text[BELFRY_ID_TEXT_BYTES];
	enum belfry_status status = bf_resolve_time(cli, "RUN", time, deployment, &due, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (belfry_run_id(bf_member(deployment, "id"), due, &id) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "no due time is before 1970");
	}
	belfry_id_format(id, text);
	status = bf_resolve_get(cli, "runs", bf_str(text), ret_run, err);
	if (status == BELFRY_NOT_FOUND) {
		struct belfry_str name = bf_member(deployment, "name");

		return bf_error_set(err, BELFRY_NOT_FOUND,
				"\"%.*s\" has no Run due at %.60s: `belfry why` tells the reason",
				(int)BF_MIN(name.len, (size_t)100), name.ptr, time);
	}
	return status;
}

enum belfry_status bf_resolve_run(struct bf_cli *cli, const char *text, json_t **ret_run,
		struct belfry_error *err)
{
	const char *at = strrchr(text, '@');
	BF_CLEANUP(bf_cleanup_json) json_t *deployment = NULL;
	BF_CLEANUP(bf_free_pointer) char *name = NULL;

	if (bf_resolve_is_id(text)) {
		return bf_resolve_get(cli, "runs", bf_str(text), ret_run, err);
	}
	if (at == NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"\"%.100s\" is no Run: use an id, NAME@TIME or NAME@last", text);
	}
	name = bf_strndup(text, (size_t)(at - text));
	if (name == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = bf_resolve_deployment(cli, name, &deployment, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (strcmp(at + 1, "last") == 0) {
		return get_last(cli, deployment, ret_run, err);
	}
	return get_by_due(cli, deployment, at + 1, ret_run, err);
}

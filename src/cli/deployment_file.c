/* Leaves out of a deployment what its file need not say. The defaults are those of interface.md, by kind
 * of target; what is not known here stays, so that a newer server's members are kept.
 *
 * Invariant  a member is left out only where applying the file gives it the same value again. */
#include "cli/deployment_file.h"

#include "base/error.h"
#include "base/timefmt.h"

static const char *const read_only[] = {"id", "owner", "phase", "phase_reason", "managed_by",
		"paused_until", "next_due", "last_error", "timezone_used", "revision", "created_at",
		"updated_at"};

struct default_value {
	const char *kind;  /* of the target; NULL: of any */
	const char *place; /* "policies/retry/max_attempts" */
	const char *value; /* JSON */
};

static const struct default_value defaults[] = {
		{NULL, "enabled", "true"},
		{NULL, "timezone", "null"},
		{NULL, "prompt", "\"\""},
		{NULL, "input", "null"},
		{NULL, "notify", "[]"},
		{NULL, "labels", "{}"},
		{"webhook", "target/method", "\"POST\""},
		{"webhook", "target/headers", "{}"},
		{"webhook", "target/body", "null"},
		{"exec", "target/cwd", "null"},
		{"exec", "target/env", "{}"},
		{"exec", "target/permanent_exit", "[]"},
		{"exec", "target/output_limit", "1048576"},
		{NULL, "target/secret", "null"},
		{NULL, "policies/missed/policy", "\"skip\""},
		{NULL, "policies/missed/max_count", "10"},
		{NULL, "policies/late_limit", "\"PT1H\""},
		{NULL, "policies/overlap", "\"allow\""},
		{"webhook", "policies/interrupted", "\"resume\""},
		{"exec", "policies/interrupted", "\"abandon\""},
		{"webhook", "policies/retry/max_attempts", "8"},
		{"exec", "policies/retry/max_attempts", "1"},
		{NULL, "policies/retry/first_delay", "\"PT1S\""},
		{NULL, "policies/retry/max_delay", "\"PT1M\""},
		{"webhook", "policies/timeout", "\"PT1M\""},
		{"exec", "policies/timeout", "\"PT0S\""},
		{NULL, "policies/session_timeout", "\"PT24H\""},
		{NULL, "policies/on_exhausted", "\"keep\""},
		{NULL, "policies/on_failure/disable_after", "null"},
		{NULL, "policies/dst/gap", "\"at_end\""},
		{NULL, "policies/dst/fold", "\"first\""},
		{NULL, "policies/deadline", "null"},
};

/* Objects that are left out once nothing is in them; the inner ones first. */
static const char *const shells[] = {"policies/missed", "policies/retry", "policies/on_failure",
		"policies/dst", "policies"};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* The object that holds the last name of `place`; NULL where there is none. */
static json_t *find_parent(json_t *file, const char *place, const char **ret_name)
{
	for (const char *slash; (slash = strchr(place, '/')) != NULL; place = slash + 1) {
		file = json_object_getn(file, place, (size_t)(slash - place));
	}
	*ret_name = place;
	return file;
}

/* The same length of time may be written in several ways. */
static bool is_same(const json_t *a, const json_t *b)
{
	belfry_duration first;
	belfry_duration second;

	if (json_equal(a, b)) {
		return true;
	}
	return json_is_string(a) && json_is_string(b) &&
			bf_duration_parse(bf_json_str(a), &first) == BELFRY_OK &&
			bf_duration_parse(bf_json_str(b), &second) == BELFRY_OK && first == second;
}

static void drop_equal(json_t *file, const char *place, const json_t *value)
{
	const char *name;
	json_t *parent = find_parent(file, place, &name);

	if (is_same(json_object_get(parent, name), value)) {
		(void)json_object_del(parent, name); /* it is there */
	}
}

/* How long a missed due time is made up for depends on the policy. */
static const char *max_age_default(const json_t *file)
{
	const json_t *missed = json_object_get(json_object_get(file, "policies"), "missed");
	struct belfry_str policy = bf_json_str(json_object_get(missed, "policy"));

	return bf_str_equal(policy, BF_STR("fire_once")) ? "P7D" : "PT1H";
}

static enum belfry_status drop_text(json_t *file, const char *place, struct belfry_str text,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = bf_json_new_str(text);

	if (value == NULL) {
		return no_memory(err);
	}
	drop_equal(file, place, value);
	return BELFRY_OK;
}

static enum belfry_status drop_defaults(json_t *file, struct belfry_error *err)
{
	struct belfry_str kind = bf_json_str(
			json_object_get(json_object_get(file, "target"), "kind"));

	for (size_t i = 0; i < BF_COUNT(defaults); i++) {
		BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;

		if (defaults[i].kind != NULL && !bf_str_equal(kind, bf_str(defaults[i].kind))) {
			continue;
		}
		enum belfry_status status = bf_json_parse(bf_str(defaults[i].value), SIZE_MAX,
				&value, NULL);
		if (status != BELFRY_OK) {
			return no_memory(err); /* the text is ours, and JSON */
		}
		drop_equal(file, defaults[i].place, value);
	}
	return BELFRY_OK;
}

static void drop_empty(json_t *file)
{
	for (size_t i = 0; i < BF_COUNT(shells); i++) {
		const char *name;
		json_t *parent = find_parent(file, shells[i], &name);
		const json_t *shell = json_object_get(parent, name);

		if (json_is_object(shell) && json_object_size(shell) == 0) {
			(void)json_object_del(parent, name); /* it is there */
		}
	}
}

/* By way of its text: json_deep_copy would not tell of a member that it had no memory for. */
static enum belfry_status copy(const json_t *value, json_t **ret_copy, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	enum belfry_status status = bf_json_dump(value, &text);

	if (status == BELFRY_OK) {
		status = bf_json_parse(bf_buf_str(&text), SIZE_MAX, ret_copy, err);
	}
	return status == BELFRY_NOMEM ? no_memory(err) : status;
}

enum belfry_status bf_deployment_file(const json_t *shape, struct belfry_str grace,
		json_t **ret_file, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *file = NULL;
	enum belfry_status status = copy(shape, &file, err);

	for (size_t i = 0; i < BF_COUNT(read_only); i++) {
		(void)json_object_del(file, read_only[i]); /* also where it is not there */
	}
	if (status == BELFRY_OK) {
		status = drop_text(file, "policies/missed/max_age", bf_str(max_age_default(file)),
				err);
	}
	if (status == BELFRY_OK && grace.len > 0) {
		status = drop_text(file, "policies/grace", grace, err);
	}
	if (status == BELFRY_OK) {
		status = drop_defaults(file, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	drop_empty(file);
	*ret_file = json_incref(file);
	return BELFRY_OK;
}

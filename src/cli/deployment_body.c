/* Options to JSON by a table: each option has a place in the document and a form. Values that only the
 * server can judge (names of policies, rules, zones) pass as they are; its refusal names the place. */
#include "cli/deployment_body.h"

#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/file.h"
#include "cli/timearg.h"

#define FILE_BYTES_MAX (1u << 20) /* prompt and input (interface.md, limits) */

enum form {
	FORM_TEXT,
	FORM_TEXT_OR_FILE,
	FORM_LOCAL_TIME,
	FORM_DURATION,
	FORM_DURATION_OR_NONE,
	FORM_NUMBER,
	FORM_NUMBER_OR_NONE,
	FORM_JSON,
	FORM_JSON_OR_FILE
};

struct member {
	const char *option;
	const char *place; /* "policies/retry/max_attempts" */
	enum form form;
};

static const struct member members[] = {
		{"cron", "rule/cron", FORM_TEXT},
		{"every", "rule/every", FORM_DURATION},
		{"at", "rule/at", FORM_LOCAL_TIME},
		{"rule", "rule", FORM_JSON},
		{"spread", "rule/spread", FORM_DURATION_OR_NONE},
		{"max-fires", "rule/max_fires", FORM_NUMBER_OR_NONE},
		{"tz", "timezone", FORM_TEXT},
		{"webhook", "target/url", FORM_TEXT},
		{"remote", "target/url", FORM_TEXT},
		{"chat", "target/url", FORM_TEXT},
		{"model", "target/model", FORM_TEXT},
		{"method", "target/method", FORM_TEXT},
		{"body", "target/body", FORM_JSON_OR_FILE},
		{"secret", "target/secret", FORM_TEXT},
		{"cwd", "target/cwd", FORM_TEXT},
		{"output-limit", "target/output_limit", FORM_NUMBER},
		{"prompt", "prompt", FORM_TEXT_OR_FILE},
		{"input", "input", FORM_JSON_OR_FILE},
		{"missed", "policies/missed/policy", FORM_TEXT},
		{"overlap", "policies/overlap", FORM_TEXT},
		{"interrupted", "policies/interrupted", FORM_TEXT},
		{"grace", "policies/grace", FORM_DURATION},
		{"late-limit", "policies/late_limit", FORM_DURATION},
		{"timeout", "policies/timeout", FORM_DURATION},
		{"session-timeout", "policies/session_timeout", FORM_DURATION},
		{"attempts", "policies/retry/max_attempts", FORM_NUMBER},
		{"first-delay", "policies/retry/first_delay", FORM_DURATION},
		{"max-delay", "policies/retry/max_delay", FORM_DURATION},
		{"on-exhausted", "policies/on_exhausted", FORM_TEXT},
		{"disable-after", "policies/on_failure/disable_after", FORM_NUMBER},
		{"gap", "policies/dst/gap", FORM_TEXT},
		{"fold", "policies/dst/fold", FORM_TEXT},
		{"deadline", "policies/deadline", FORM_DURATION},
};

static const char *const rules[] = {"cron", "every", "at", "rule"};
static const char *const targets[] = {"webhook", "remote", "chat", "exec"};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static enum belfry_status make_text(const char *option, struct belfry_str text, json_t **ret_value,
		struct belfry_error *err)
{
	if (!bf_str_is_utf8(text)) {
		return bf_error_set(err, BELFRY_INVALID,
				"--%s: the text is not UTF-8, or holds a NUL byte", option);
	}
	*ret_value = json_stringn(text.len > 0 ? text.ptr : "", text.len);
	return *ret_value != NULL ? BELFRY_OK : no_memory(err);
}

static enum belfry_status make_json(struct bf_cli *cli, const char *option, struct belfry_str text,
		bool is_typed, json_t **ret_value, struct belfry_error *err)
{
	enum belfry_status status = bf_json_parse(text, FILE_BYTES_MAX, ret_value, err);

	if (status == BELFRY_OK || status == BELFRY_NOMEM) {
		return status;
	}
	if (is_typed) {
		cli->text_at_fault = text.ptr;
	}
	bf_error_prefix(err, "--%s: ", option);
	return status;
}

static enum belfry_status make_duration(const char *option, const char *text, json_t **ret_value,
		struct belfry_error *err)
{
	belfry_duration duration;
	char iso[BF_DURATION_TEXT_BYTES];

	if (bf_duration_parse(bf_str(text), &duration) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_USAGE,
				"--%s: \"%.60s\" is no duration: use 90s, 1h30m or PT1H30M", option,
				text);
	}
	bf_duration_format(duration, iso);
	*ret_value = json_string(iso);
	return *ret_value != NULL ? BELFRY_OK : no_memory(err);
}

static enum belfry_status make_number(const char *option, const char *text, json_t **ret_value,
		struct belfry_error *err)
{
	int64_t number;

	if (bf_str_parse_int(bf_str(text), INT32_MIN, INT32_MAX, &number) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_USAGE, "--%s: \"%.60s\" is not a whole number",
				option, text);
	}
	*ret_value = json_integer(number);
	return *ret_value != NULL ? BELFRY_OK : no_memory(err);
}

/* "none": null, which removes it in an edit. */
static bool is_none(const struct member *member, const char *text)
{
	return (member->form == FORM_DURATION_OR_NONE || member->form == FORM_NUMBER_OR_NONE) &&
			strcmp(text, "none") == 0;
}

static enum belfry_status make_value(struct bf_cli *cli, const struct member *member,
		const char *text, json_t **ret_value, struct belfry_error *err)
{
	bool is_json = member->form == FORM_JSON || member->form == FORM_JSON_OR_FILE;
	bool is_file = text[0] == '@' &&
			(member->form == FORM_TEXT_OR_FILE || member->form == FORM_JSON_OR_FILE);
	BF_CLEANUP(bf_buf_fini) struct bf_buf content = {0};
	struct belfry_str value = bf_str(text);

	if (is_none(member, text)) {
		*ret_value = json_null();
		return BELFRY_OK;
	}
	if (member->form == FORM_DURATION || member->form == FORM_DURATION_OR_NONE) {
		return make_duration(member->option, text, ret_value, err);
	}
	if (member->form == FORM_NUMBER || member->form == FORM_NUMBER_OR_NONE) {
		return make_number(member->option, text, ret_value, err);
	}
	if (member->form == FORM_LOCAL_TIME) {
		bf_timearg_put_local(value, &content);
		if (bf_buf_status(&content) != BELFRY_OK) {
			return no_memory(err);
		}
		value = bf_buf_str(&content);
	}
	if (is_file) {
		enum belfry_status status = bf_file_read(text + 1, FILE_BYTES_MAX, &content, err);

		if (status != BELFRY_OK) {
			bf_error_prefix(err, "--%s: ", member->option);
			return status;
		}
		value = bf_buf_str(&content);
	}
	return is_json ? make_json(cli, member->option, value, !is_file, ret_value, err)
		       : make_text(member->option, value, ret_value, err);
}

/* The object at `name` in `object`, made where it is missing. NULL: no memory. */
static json_t *enter(json_t *object, const char *name, size_t len)
{
	json_t *child = json_object_getn(object, name, len);

	if (child == NULL && json_object_setn_new(object, name, len, json_object()) == 0) {
		child = json_object_getn(object, name, len);
	}
	return child;
}

/* Takes `value`. */
static enum belfry_status put_at(json_t *body, const char *place, json_t *value,
		struct belfry_error *err)
{
	for (const char *slash; body != NULL && (slash = strchr(place, '/')) != NULL;
			place = slash + 1) {
		body = enter(body, place, (size_t)(slash - place));
	}
	if (json_object_set_new(body, place, value) != 0) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

/* --rule comes before what goes into it. */
static enum belfry_status check_place(const json_t *body, const struct member *member,
		struct belfry_error *err)
{
	const json_t *rule = json_object_get(body, "rule");

	if (rule != NULL && !json_is_object(rule) && strncmp(member->place, "rule/", 5) == 0) {
		return bf_error_set(err, BELFRY_USAGE,
				"--%s: what --rule gives is no JSON object that it could go into",
				member->option);
	}
	return BELFRY_OK;
}

static enum belfry_status put_members(struct bf_cli *cli, const struct bf_args *args, json_t *body,
		struct belfry_error *err)
{
	for (size_t i = 0; i < BF_COUNT(members); i++) {
		const char *text = bf_args_value(args, members[i].option);
		json_t *value = NULL;

		if (text == NULL) {
			continue;
		}
		enum belfry_status status = check_place(body, &members[i], err);
		if (status == BELFRY_OK) {
			status = make_value(cli, &members[i], text, &value, err);
		}
		if (status == BELFRY_OK) {
			status = put_at(body, members[i].place, value, err);
		}
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* "NAME=VALUE", as the table of options has it. */
static const char *find_form(const struct bf_args *args, const char *name)
{
	for (const struct bf_option *o = args->command->options; bf_option_exists(o); o++) {
		if (strcmp(o->name, name) == 0) {
			return o->argument;
		}
	}
	return "";
}

/* --header and --label: NAME=VALUE into a map; NAME alone is null, which removes it in an edit, and is
 * refused where everything must be there. */
static enum belfry_status put_pairs(const struct bf_args *args, const char *option,
		const char *place, bool needs_all, json_t *body, struct belfry_error *err)
{
	size_t cursor = 0;
	const char *pair;

	while ((pair = bf_args_next(args, option, &cursor)) != NULL) {
		const char *equals = strchr(pair, '=');
		size_t len = equals != NULL ? (size_t)(equals - pair) : strlen(pair);
		json_t *value = equals == NULL ? json_null() : NULL;
		json_t *map = body;

		if (len == 0 || (needs_all && equals == NULL) || !bf_str_is_utf8(bf_str(pair))) {
			return bf_error_set(err, BELFRY_USAGE,
					"--%s: \"%.60s\" is not of the form %s", option, pair,
					find_form(args, option));
		}
		if (equals != NULL) {
			value = json_string(equals + 1);
		}
		const char *rest = place;
		for (const char *slash; (slash = strchr(rest, '/')) != NULL; rest = slash + 1) {
			map = enter(map, rest, (size_t)(slash - rest));
		}
		map = enter(map, rest, strlen(rest));
		if (json_object_setn_new(map, pair, len, value) != 0) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

/* Which one of `names` was given. */
static enum belfry_status pick_one(const struct bf_args *args, const char *const *names,
		size_t count, bool needs_one, const char **ret_name, struct belfry_error *err)
{
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!bf_args_has(args, names[i])) {
			continue;
		}
		if (found != NULL) {
			return bf_error_set(err, BELFRY_USAGE, "--%s and --%s exclude each other",
					found, names[i]);
		}
		found = names[i];
	}
	if (found == NULL && needs_one && names == targets) {
		return bf_error_set(err, BELFRY_USAGE,
				"--webhook URL is needed, or --exec with a command behind --: what "
				"to call");
	}
	if (found == NULL && needs_one) {
		return bf_error_set(err, BELFRY_USAGE, "one of --%s, --%s, --%s and --%s is needed",
				names[0], names[1], names[2], names[3]);
	}
	*ret_name = found;
	return BELFRY_OK;
}

static enum belfry_status put_command(const struct bf_args *args, json_t *body,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *words = json_array();

	for (size_t i = 0; i < args->rest_count; i++) {
		json_t *word = NULL;
		enum belfry_status status = make_text("exec", bf_str(args->rest[i]), &word, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (json_array_append_new(words, word) != 0) {
			return no_memory(err);
		}
	}
	return put_at(body, "target/command", json_incref(words), err);
}

/* Repeated numbers become one list. */
static enum belfry_status put_exits(const struct bf_args *args, json_t *body,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *exits = json_array();
	size_t cursor = 0;
	const char *text;

	while ((text = bf_args_next(args, "permanent-exit", &cursor)) != NULL) {
		json_t *number = NULL;
		enum belfry_status status = make_number("permanent-exit", text, &number, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (json_array_append_new(exits, number) != 0) {
			return no_memory(err);
		}
	}
	return json_array_size(exits) == 0
			? BELFRY_OK
			: put_at(body, "target/permanent_exit", json_incref(exits), err);
}

static enum belfry_status put_target_kind(const struct bf_args *args, const char *target,
		json_t *body, struct belfry_error *err)
{
	bool is_exec = target != NULL && strcmp(target, "exec") == 0;

	if (is_exec != (args->rest_count > 0)) {
		return bf_error_set(err, BELFRY_USAGE,
				is_exec ? "--exec needs the command behind --: --exec -- /bin/date"
					: "what stands behind -- is the command of --exec");
	}
	if (target == NULL) {
		return BELFRY_OK;
	}
	enum belfry_status status = put_at(body, "target/kind", json_string(target), err);
	return status == BELFRY_OK && is_exec ? put_command(args, body, err) : status;
}

/* Where everything is new, what is not wanted is left out. */
static void leave_out_none(json_t *body)
{
	static const char *const names[] = {"spread", "max_fires"};
	json_t *rule = json_object_get(body, "rule");

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (json_is_null(json_object_get(rule, names[i]))) {
			(void)json_object_del(rule, names[i]); /* it is there */
		}
	}
}

enum belfry_status bf_deployment_body(struct bf_cli *cli, const struct bf_args *args,
		bool needs_all, json_t **ret_body, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	const char *rule = NULL;
	const char *target = NULL;
	enum belfry_status status = body != NULL ? BELFRY_OK : no_memory(err);

	if (bf_args_has(args, "notify")) {
		return bf_error_set(err, BELFRY_USAGE,
				"--notify: this version does not offer notifications; leave it out");
	}
	if (status == BELFRY_OK) {
		status = pick_one(args, rules, BF_COUNT(rules), needs_all, &rule, err);
	}

	if (status == BELFRY_OK) {
		status = pick_one(args, targets, BF_COUNT(targets), needs_all, &target, err);
	}
	if (status == BELFRY_OK) {
		status = put_target_kind(args, target, body, err);
	}
	if (status == BELFRY_OK) {
		status = put_members(cli, args, body, err);
	}
	if (status == BELFRY_OK) {
		status = put_pairs(args, "header", "target/headers", needs_all, body, err);
	}
	if (status == BELFRY_OK) {
		status = put_pairs(args, "env", "target/env", needs_all, body, err);
	}
	if (status == BELFRY_OK) {
		status = put_exits(args, body, err);
	}
	if (status == BELFRY_OK) {
		status = put_pairs(args, "label", "labels", needs_all, body, err);
	}
	if (needs_all) {
		leave_out_none(body);
	}
	if (status == BELFRY_OK) {
		cli->text_at_fault = bf_args_value(args, "cron");
		*ret_body = json_incref(body);
	}
	return status;
}

/* Puts null into `given` for each member that `old` alone has. */
static enum belfry_status remove_others(json_t *given, const json_t *old, struct belfry_error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(given) || !json_is_object(old)) {
		return BELFRY_OK;
	}
	json_object_foreach((json_t *)(uintptr_t)old, name, value)
	{
		if (json_object_get(given, name) == NULL && !json_is_null(value) &&
				json_object_set_new(given, name, json_null()) != 0) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

/* Limits of a rule, which hold however its times are told. An anchor is that of `every` alone. */
static bool is_kept(const json_t *rule, const char *name)
{
	static const char *const names[] = {"except", "max_fires", "spread", "not_before",
			"not_after"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return strcmp(name, "anchor") == 0 && json_object_get(rule, "every") != NULL;
}

/* --rule is the whole rule; --cron, --every and --at are how it tells its times, and the other options
 * leave those too. */
static enum belfry_status patch_rule(json_t *rule, const struct bf_args *args, const json_t *old,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *others = NULL;
	const char *name;
	json_t *value;

	if (bf_args_has(args, "rule")) {
		return remove_others(rule, old, err);
	}
	if (!bf_args_has(args, "cron") && !bf_args_has(args, "every") && !bf_args_has(args, "at")) {
		return BELFRY_OK;
	}
	others = json_object();
	json_object_foreach((json_t *)(uintptr_t)old, name, value)
	{
		if (!is_kept(rule, name) && json_object_set(others, name, value) != 0) {
			return no_memory(err);
		}
	}
	return remove_others(rule, others, err);
}

enum belfry_status bf_deployment_patch(json_t *body, const struct bf_args *args, const json_t *old,
		struct belfry_error *err)
{
	json_t *target = json_object_get(body, "target");
	const json_t *old_target = json_object_get(old, "target");
	const json_t *kind = json_object_get(target, "kind");
	enum belfry_status status = patch_rule(json_object_get(body, "rule"), args,
			json_object_get(old, "rule"), err);

	if (status == BELFRY_OK) {
		status = remove_others(json_object_get(body, "input"),
				json_object_get(old, "input"), err);
	}
	if (status == BELFRY_OK) {
		status = remove_others(json_object_get(target, "body"),
				json_object_get(old_target, "body"), err);
	}
	if (status == BELFRY_OK && kind != NULL &&
			json_equal(kind, json_object_get(old_target, "kind")) == 0) {
		status = remove_others(target, old_target, err);
	}
	return status;
}

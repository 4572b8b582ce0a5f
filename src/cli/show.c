/* Shows Runs and deployments as aligned text. Knows their members by name, and shows those that it does
 * not know as well: a newer server is not cut down to what this build has heard of. */
#include "cli/show.h"

#include "base/error.h"
#include "cli/resolve.h"

#define PATH_DEPTH 8

void bf_show_value(struct bf_buf *buf, const json_t *value)
{
	if (json_is_string(value)) {
		bf_buf_append_str(buf, bf_json_str(value));
	} else if (value != NULL && !json_is_null(value) && bf_json_dump(value, buf) != BELFRY_OK) {
		buf->is_failed = true;
	}
}

void bf_show_rule(struct bf_buf *buf, const json_t *rule)
{
	const json_t *cron = json_object_get(rule, "cron");

	bf_show_value(buf, json_object_size(rule) == 1 && cron != NULL ? cron : rule);
}

enum bf_colour bf_show_status_colour(struct belfry_str status)
{
	static const struct {
		const char *name;
		enum bf_colour colour;
	} colours[] = {
			{"COMPLETED", BF_COLOUR_GREEN},
			{"RUNNING", BF_COLOUR_BLUE},
			{"QUEUED", BF_COLOUR_BLUE},
			{"WAITING_INPUT", BF_COLOUR_YELLOW},
			{"FAILED", BF_COLOUR_RED},
			{"UNKNOWN", BF_COLOUR_RED},
			{"CANCELLED", BF_COLOUR_DIM},
			{"SKIPPED", BF_COLOUR_DIM},
	};

	for (size_t i = 0; i < BF_COUNT(colours); i++) {
		if (bf_str_equal(bf_str(colours[i].name), status)) {
			return colours[i].colour;
		}
	}
	return BF_COLOUR_NONE;
}

static void put_text(struct bf_table *table, const char *text)
{
	bf_table_put(table, bf_str(text), BF_COLOUR_NONE);
}

static void put_heading(struct bf_table *table, const char *const *names)
{
	for (; *names != NULL; names++) {
		bf_table_put(table, bf_str(*names), BF_COLOUR_BOLD);
	}
}

/* A member, "-" where it is null. */
static void put_member(struct bf_table *table, const json_t *object, const char *name)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	bf_show_value(&text, json_object_get(object, name));
	table->is_failed = table->is_failed || text.is_failed;
	bf_table_put(table, text.len > 0 ? bf_buf_str(&text) : BF_STR("-"), BF_COLOUR_NONE);
}

static void put_status(struct bf_table *table, const json_t *run)
{
	struct belfry_str status = bf_member(run, "status");

	bf_table_put(table, status, bf_show_status_colour(status));
}

static enum belfry_status print_table(struct bf_cli *cli, const struct bf_table *table,
		struct belfry_error *err)
{
	if (bf_table_print(table, cli->out, cli->is_out_coloured) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

static bool is_worth_showing(const json_t *value)
{
	if (json_is_array(value)) {
		return json_array_size(value) > 0 && !json_is_object(json_array_get(value, 0));
	}
	return !json_is_null(value) && !(json_is_string(value) && json_string_length(value) == 0);
}

/* "a, b" for an array of texts. */
static void show_member(struct bf_buf *buf, const char *name, const json_t *value)
{
	bool is_list = json_is_array(value) && json_is_string(json_array_get(value, 0)) &&
			strcmp(name, "command") != 0;

	if (strcmp(name, "rule") == 0) {
		bf_show_rule(buf, value);
		return;
	}
	if (!is_list) {
		bf_show_value(buf, value);
		return;
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		bf_buf_append_text(buf, i > 0 ? ", " : "");
		bf_show_value(buf, json_array_get(value, i));
	}
}

/* Depth is bounded by the parser (BF_JSON_DEPTH) and here. */
static void put_object(struct bf_table *table, const json_t *object, const char *prefix, int depth)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		bool is_rule = strcmp(name, "rule") == 0;

		bf_buf_appendf(&path, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", name);
		table->is_failed = table->is_failed || path.is_failed;
		if (table->is_failed || !is_worth_showing(value)) {
			continue;
		}
		if (json_is_object(value) && !is_rule && depth < PATH_DEPTH) {
			put_object(table, value, path.ptr, depth + 1);
			continue;
		}
		show_member(&text, name, value);
		bf_table_put(table, bf_buf_str(&path), BF_COLOUR_DIM);
		bf_table_put(table, bf_buf_str(&text),
				strcmp(name, "status") == 0
						? bf_show_status_colour(bf_buf_str(&text))
						: BF_COLOUR_NONE);
	}
}

enum belfry_status bf_show_object(struct bf_cli *cli, const json_t *object,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_table_fini) struct bf_table table = {.columns = 2, .width = cli->out_columns};

	put_object(&table, object, "", 0);
	return print_table(cli, &table, err);
}

/* "RETRIES_SPENT: every attempt failed" */
static void put_error(struct bf_table *table, const json_t *error)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct belfry_str message = bf_member(error, "message");

	if (json_is_object(error)) {
		bf_buf_append_str(&text, bf_member(error, "code"));
		bf_buf_append_text(&text, message.len > 0 ? ": " : "");
		bf_buf_append_str(&text, message);
	} else {
		bf_show_value(&text, error);
	}
	table->is_failed = table->is_failed || text.is_failed;
	bf_table_put(table, bf_buf_str(&text), BF_COLOUR_NONE);
}

static void put_lateness(struct bf_table *table, const json_t *run)
{
	const json_t *lateness = json_object_get(run, "lateness_ms");
	char text[32];

	if (!json_is_integer(lateness)) {
		put_text(table, "-");
		return;
	}
	(void)snprintf(text, sizeof(text), "%lld ms", (long long)json_integer_value(lateness));
	put_text(table, text);
}

static void put_deployment_name(struct bf_table *table, const json_t *run, const json_t *names)
{
	struct belfry_str id = bf_member(run, "deployment_id");
	const json_t *name = json_object_getn(names, id.len > 0 ? id.ptr : "", id.len);

	bf_table_put(table, json_is_string(name) ? bf_json_str(name) : id, BF_COLOUR_NONE);
}

enum belfry_status bf_show_runs(struct bf_cli *cli, const json_t *runs, const json_t *names,
		bool has_heading, struct belfry_error *err)
{
	static const char *const heading[] = {"RUN", "DEPLOYMENT", "TRIGGER", "STATUS", "DUE",
			"STARTED", "LATE", "ERROR", NULL};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading) - 1, .width = cli->out_columns};

	if (has_heading) {
		put_heading(&table, heading);
	}
	for (size_t i = 0; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);

		put_member(&table, run, "id");
		put_deployment_name(&table, run, names);
		put_member(&table, run, "trigger");
		put_status(&table, run);
		put_member(&table, run, "due_at");
		put_member(&table, run, "started_at");
		put_lateness(&table, run);
		put_error(&table, json_object_get(run, "error"));
	}
	return print_table(cli, &table, err);
}

static void put_state(struct bf_table *table, const json_t *deployment)
{
	struct belfry_str phase = bf_member(deployment, "phase");

	if (!json_is_true(json_object_get(deployment, "enabled"))) {
		bf_table_put(table, BF_STR("disabled"), BF_COLOUR_DIM);
	} else {
		bf_table_put(table, phase,
				bf_str_equal(phase, BF_STR("active")) ? BF_COLOUR_GREEN
								      : BF_COLOUR_YELLOW);
	}
}

static void put_target(struct bf_table *table, const json_t *target)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	bf_buf_append_str(&text, bf_member(target, "kind"));
	bf_buf_append_byte(&text, ' ');
	bf_show_value(&text, json_object_get(target, "url"));
	bf_show_value(&text, json_object_get(target, "command"));
	table->is_failed = table->is_failed || text.is_failed;
	bf_table_put(table, bf_buf_str(&text), BF_COLOUR_NONE);
}

static void put_deployment(struct bf_table *table, const json_t *deployment)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf rule = {0};
	const json_t *zone = json_object_get(deployment, "timezone_used");
	const json_t *next = json_array_get(json_object_get(deployment, "next_due"), 0);

	bf_show_rule(&rule, json_object_get(deployment, "rule"));
	table->is_failed = table->is_failed || rule.is_failed;
	put_member(table, deployment, "name");
	put_state(table, deployment);
	bf_table_put(table, bf_buf_str(&rule), BF_COLOUR_NONE);
	put_member(table, deployment, json_is_string(zone) ? "timezone_used" : "timezone");
	bf_table_put(table, json_is_string(next) ? bf_json_str(next) : BF_STR("-"), BF_COLOUR_NONE);
	put_target(table, json_object_get(deployment, "target"));
}

enum belfry_status bf_show_deployments(struct bf_cli *cli, const json_t *deployments,
		struct belfry_error *err)
{
	static const char *const heading[] = {"NAME", "STATE", "RULE", "ZONE", "NEXT DUE", "TARGET",
			NULL};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading) - 1, .width = cli->out_columns};

	put_heading(&table, heading);
	for (size_t i = 0; i < json_array_size(deployments); i++) {
		put_deployment(&table, json_array_get(deployments, i));
	}
	return print_table(cli, &table, err);
}

static enum belfry_status show_attempts(struct bf_cli *cli, const json_t *attempts,
		struct belfry_error *err)
{
	static const char *const heading[] = {"ATTEMPT", "STEP", "STARTED", "ENDED", "OUTCOME",
			"ERROR", NULL};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading) - 1, .width = cli->out_columns};

	put_heading(&table, heading);
	for (size_t i = 0; i < json_array_size(attempts); i++) {
		const json_t *attempt = json_array_get(attempts, i);

		put_member(&table, attempt, "number");
		put_member(&table, attempt, "step");
		put_member(&table, attempt, "started_at");
		put_member(&table, attempt, "ended_at");
		put_member(&table, attempt, "outcome");
		put_error(&table, json_object_get(attempt, "error"));
	}
	(void)fputc('\n', cli->out);
	return print_table(cli, &table, err);
}

enum belfry_status bf_show_run(struct bf_cli *cli, const json_t *run, struct belfry_error *err)
{
	const json_t *attempts = json_object_get(run, "attempts");
	enum belfry_status status = bf_show_object(cli, run, err);

	if (status == BELFRY_OK && json_array_size(attempts) > 0) {
		status = show_attempts(cli, attempts, err);
	}
	return status;
}

enum belfry_status bf_show_items(struct bf_cli *cli, const json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *answer = json_pack("{s:O}", "items", (json_t *)(uintptr_t)items);

	return bf_cli_put_json(cli, answer, err);
}

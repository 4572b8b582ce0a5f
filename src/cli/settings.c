/* `belfry settings`: what the server goes by, and changing what can be changed while it runs. What a value
 * may be is for the server to say. */
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/help.h"
#include "cli/resolve.h"
#include "cli/show.h"

#define PATH "/v1/settings"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- showing --- */

static void put_value(struct bf_table *table, const json_t *value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	bf_show_value(&text, value);
	table->is_failed = table->is_failed || text.is_failed;
	bf_table_put(table, text.len > 0 ? bf_buf_str(&text) : BF_STR("-"), BF_COLOUR_NONE);
}

/* "from the next start: 20", where that is something else. */
static void put_next(struct bf_table *table, const json_t *setting)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	const json_t *next = json_object_get(setting, "next_value");

	if (next != NULL && !json_equal(next, json_object_get(setting, "value"))) {
		bf_buf_append_text(&text, "from the next start: ");
		bf_show_value(&text, next);
		bf_buf_append_text(&text, json_is_null(next) ? "none" : "");
	}
	table->is_failed = table->is_failed || text.is_failed;
	bf_table_put(table, bf_buf_str(&text), BF_COLOUR_YELLOW);
}

static enum belfry_status show_table(struct bf_cli *cli, const json_t *settings,
		struct belfry_error *err)
{
	static const char *const heading[] = {"SETTING", "VALUE", "DEFAULT", "FROM", ""};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading), .width = cli->out_columns};
	const char *name;
	json_t *setting;

	for (size_t i = 0; i < BF_COUNT(heading); i++) {
		bf_table_put(&table, bf_str(heading[i]), BF_COLOUR_BOLD);
	}
	json_object_foreach((json_t *)(uintptr_t)settings, name, setting)
	{
		bf_table_put(&table, bf_str(name), BF_COLOUR_NONE);
		put_value(&table, json_object_get(setting, "value"));
		put_value(&table, json_object_get(setting, "default"));
		put_value(&table, json_object_get(setting, "source"));
		put_next(&table, setting);
	}
	if (bf_table_print(&table, cli->out, cli->is_out_coloured) != BELFRY_OK) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

static enum belfry_status show(struct bf_cli *cli, const json_t *settings, struct belfry_error *err)
{
	return cli->is_json ? bf_cli_put_json(cli, settings, err) : show_table(cli, settings, err);
}

static enum belfry_status refuse_name(const json_t *settings, const char *name,
		struct belfry_error *err)
{
	struct bf_nearest nearest;
	const char *known;
	json_t *setting;

	bf_nearest_begin(&nearest, bf_str(name));
	json_object_foreach((json_t *)(uintptr_t)settings, known, setting)
	{
		bf_nearest_offer(&nearest, known);
	}
	if (nearest.best != NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"there is no setting \"%.60s\": did you mean %.60s?", name,
				nearest.best);
	}
	return bf_error_set(err, BELFRY_NOT_FOUND,
			"there is no setting \"%.60s\": `belfry settings show` lists them", name);
}

/* Those alone that the words name; all without words. */
static enum belfry_status pick(const json_t *settings, const struct bf_args *args,
		json_t **ret_picked, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *picked = json_object();
	const char *name;

	if (picked == NULL ||
			(args->word_count == 0 &&
					json_object_update(picked, (json_t *)(uintptr_t)settings) !=
							0)) {
		return no_memory(err);
	}
	for (size_t i = 0; (name = bf_args_word(args, i)) != NULL; i++) {
		json_t *setting = json_object_get(settings, name);

		if (setting == NULL) {
			return refuse_name(settings, name, err);
		}
		if (json_object_set(picked, name, setting) != 0) {
			return no_memory(err);
		}
	}
	*ret_picked = json_incref(picked);
	return BELFRY_OK;
}

static enum belfry_status run_show(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *settings = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *picked = NULL;
	enum belfry_status status = bf_client_json(cli, &(struct bf_request){.path = PATH},
			&settings, err);

	if (status == BELFRY_OK) {
		status = pick(settings, args, &picked, err);
	}
	return status == BELFRY_OK ? show(cli, picked, err) : status;
}

static const struct bf_command command_show = {
		.path = "settings show",
		.synopsis = "[SETTING]...",
		.summary = "Show the settings, their defaults and where they come from",
		.example = "belfry settings show\nbelfry settings show max_concurrent grace",
		.max_words = 100,
		.run = run_show,
};

/* --- changing --- */

/* A number, true, false or null as such; a duration in its ISO form; else text. */
static enum belfry_status make_value(const char *text, json_t **ret_value, struct belfry_error *err)
{
	char iso[BF_DURATION_TEXT_BYTES];
	belfry_duration duration;
	json_t *value = NULL;

	if (!bf_str_is_utf8(bf_str(text))) {
		return bf_error_set(err, BELFRY_USAGE, "the value is not UTF-8");
	}
	enum belfry_status status = bf_json_parse(bf_str(text), SIZE_MAX, &value, NULL);
	if (status == BELFRY_NOMEM) {
		return no_memory(err);
	}
	if (status != BELFRY_OK && bf_duration_parse(bf_str(text), &duration) == BELFRY_OK) {
		bf_duration_format(duration, iso);
		value = json_string(iso);
	} else if (status != BELFRY_OK) {
		value = json_string(text);
	}
	*ret_value = value;
	return value != NULL ? BELFRY_OK : no_memory(err);
}

static enum belfry_status make_body(const struct bf_args *args, json_t *body,
		struct belfry_error *err)
{
	const char *pair;

	for (size_t i = 0; (pair = bf_args_word(args, i)) != NULL; i++) {
		const char *equals = strchr(pair, '=');
		json_t *value = NULL;

		if (equals == NULL || equals == pair || !bf_str_is_utf8(bf_str(pair))) {
			return bf_error_set(err, BELFRY_USAGE,
					"\"%.60s\" is not of the form NAME=VALUE", pair);
		}
		size_t len = (size_t)(equals - pair);
		if (json_object_getn(body, pair, len) != NULL) {
			return bf_error_set(err, BELFRY_USAGE, "%.*s is given twice: leave one out",
					(int)BF_MIN(len, (size_t)60), pair);
		}
		enum belfry_status status = make_value(equals + 1, &value, err);
		if (status != BELFRY_OK) {
			return status;
		}
		if (json_object_setn_new(body, pair, len, value) != 0) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

/* Of all settings those that `names` has. */
static enum belfry_status keep_named(const json_t *settings, const json_t *names, json_t *kept,
		struct belfry_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)names, name, value)
	{
		json_t *setting = json_object_get(settings, name);

		if (setting != NULL && json_object_set(kept, name, setting) != 0) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status run_set(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	BF_CLEANUP(bf_cleanup_json) json_t *settings = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *kept = json_object();
	enum belfry_status status = body != NULL && kept != NULL ? make_body(args, body, err)
								 : no_memory(err);

	if (status == BELFRY_OK) {
		status = bf_client_json(cli,
				&(struct bf_request){.method = "PATCH", .path = PATH, .body = body},
				&settings, err);
	}
	if (status == BELFRY_OK && cli->is_json) {
		return bf_cli_put_json(cli, settings, err);
	}
	if (status == BELFRY_OK) {
		status = keep_named(settings, body, kept, err);
	}
	return status == BELFRY_OK ? show_table(cli, kept, err) : status;
}

static const struct bf_command command_set = {
		.path = "settings set",
		.synopsis = "NAME=VALUE...",
		.summary = "Change settings, all of them or none",
		.details = "A change outlives a restart; null takes it back. What came from a variable of the\n"
			   "environment is changed there. Durations are written as 90s, 1h30m or PT1H30M.",
		.example = "belfry settings set max_concurrent=500 grace=2m",
		.min_words = 1,
		.max_words = 100,
		.run = run_set,
};

static const struct bf_command *const children[] = {&command_show, &command_set, NULL};

const struct bf_command bf_command_settings = {
		.path = "settings",
		.synopsis = "COMMAND ...",
		.summary = "Show and change what the server goes by",
		.example = "belfry settings show",
		.children = children,
};

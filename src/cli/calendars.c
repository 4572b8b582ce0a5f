/* `belfry calendars`: lists of exceptions that rules share.
 *
 * Not here   `calendars set` (calendars_set.c). */
#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/resolve.h"
#include "cli/show.h"

#define PATH "/v1/calendars"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* "/v1/calendars/NAME" */
static enum belfry_status make_path(struct bf_buf *path, const char *name, struct belfry_error *err)
{
	bf_buf_append_text(path, PATH "/");
	bf_client_encode(path, bf_str(name));
	return bf_buf_status(path) == BELFRY_OK ? BELFRY_OK : no_memory(err);
}

/* --- list --- */

/* "12", or "10000 or more" */
static void put_count(struct bf_buf *buf, const json_t *users)
{
	bf_show_value(buf, json_object_get(users, "count"));
	bf_buf_append_text(buf, json_is_true(json_object_get(users, "at_least")) ? " or more" : "");
}

static void put_cell(struct bf_table *table, const struct bf_buf *text)
{
	table->is_failed = table->is_failed || text->is_failed;
	bf_table_put(table, text->len > 0 ? bf_buf_str(text) : BF_STR("-"), BF_COLOUR_NONE);
}

static void put_row(struct bf_table *table, const json_t *calendar)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf items = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf users = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf words = {0};

	bf_show_value(&items, json_object_get(calendar, "except_count"));
	put_count(&users, json_object_get(calendar, "used_by"));
	bf_show_value(&words, json_object_get(calendar, "description"));
	bf_table_put(table, bf_member(calendar, "name"), BF_COLOUR_NONE);
	put_cell(table, &items);
	put_cell(table, &users);
	bf_table_put(table, bf_member(calendar, "updated_at"), BF_COLOUR_DIM);
	put_cell(table, &words);
}

static enum belfry_status show_table(struct bf_cli *cli, const json_t *items,
		struct belfry_error *err)
{
	static const char *const heading[] = {"NAME", "ITEMS", "USED BY", "CHANGED", "DESCRIPTION"};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading), .width = cli->out_columns};

	for (size_t i = 0; i < BF_COUNT(heading); i++) {
		bf_table_put(&table, bf_str(heading[i]), BF_COLOUR_BOLD);
	}
	for (size_t i = 0; i < json_array_size(items); i++) {
		put_row(&table, json_array_get(items, i));
	}
	if (bf_table_print(&table, cli->out, cli->is_out_coloured) != BELFRY_OK) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

static enum belfry_status run_list(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	const char *prefix = bf_args_word(args, 0);

	bf_buf_append_text(&path, PATH);
	if (prefix != NULL) {
		bf_buf_append_text(&path, "?q=");
		bf_client_encode(&path, bf_str(prefix));
	}
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	enum belfry_status status = bf_client_list(cli, path.ptr, 0, &items, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		return bf_show_items(cli, items, err);
	}
	if (json_array_size(items) == 0) {
		(void)fputs("no calendars: `belfry calendars set --help` shows how to make one\n",
				cli->err);
		return BELFRY_OK;
	}
	return show_table(cli, items, err);
}

static const struct bf_command command_list = {
		.path = "calendars list",
		.synopsis = "[PREFIX]",
		.summary = "List the shared calendars, those alone whose name begins with PREFIX",
		.example = "belfry calendars list",
		.max_words = 1,
		.run = run_list,
};

/* --- show --- */

/* One item a line, as a file of `calendars set` has them. */
static enum belfry_status show_items(struct bf_cli *cli, const json_t *except,
		struct belfry_error *err)
{
	for (size_t i = 0; i < json_array_size(except); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

		bf_show_value(&text, json_array_get(except, i));
		if (bf_buf_status(&text) != BELFRY_OK) {
			return no_memory(err);
		}
		bf_text_print(cli->out, false, BF_COLOUR_NONE, bf_buf_str(&text));
		(void)fputc('\n', cli->out);
	}
	return BELFRY_OK;
}

static enum belfry_status run_show(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *calendar = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *except = NULL;
	enum belfry_status status = bf_resolve_get(cli, "calendars", bf_str(bf_args_word(args, 0)),
			&calendar, err);

	if (status != BELFRY_OK || cli->is_json) {
		return status == BELFRY_OK ? bf_cli_put_json(cli, calendar, err) : status;
	}
	except = json_incref(json_object_get(calendar, "except"));
	(void)json_object_del(calendar, "except"); /* shown below, an item a line */
	status = bf_show_object(cli, calendar, err);
	if (status == BELFRY_OK && json_array_size(except) > 0) {
		(void)fputc('\n', cli->out);
		status = show_items(cli, except, err);
	}
	return status;
}

static const struct bf_command command_show = {
		.path = "calendars show",
		.synopsis = "NAME",
		.summary = "Show a shared calendar: its items, and which deployments use it",
		.example = "belfry calendars show holidays-de",
		.min_words = 1,
		.max_words = 1,
		.run = run_show,
};

/* --- remove --- */

static enum belfry_status run_remove(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	const char *name = bf_args_word(args, 0);
	enum belfry_status status = make_path(&path, name, err);

	if (status == BELFRY_OK) {
		status = bf_client_call(cli,
				&(struct bf_request){.method = "DELETE", .path = path.ptr}, &answer,
				err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		BF_CLEANUP(bf_cleanup_json)
		json_t *gone = json_pack("{s:o}", "removed", bf_json_new_str(bf_str(name)));

		return bf_cli_put_json(cli, gone, err);
	}
	(void)fputs("removed ", cli->out);
	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD, bf_str(name));
	(void)fputc('\n', cli->out);
	return BELFRY_OK;
}

static const struct bf_command command_remove = {
		.path = "calendars remove",
		.synopsis = "NAME",
		.summary = "Remove a shared calendar that no deployment uses",
		.example = "belfry calendars remove holidays-de",
		.min_words = 1,
		.max_words = 1,
		.run = run_remove,
};

static const struct bf_command *const children[] = {&command_list, &command_show,
		&bf_command_calendars_set, &command_remove, NULL};

const struct bf_command bf_command_calendars = {
		.path = "calendars",
		.synopsis = "COMMAND ...",
		.summary = "List, show, set and remove shared calendars of exceptions",
		.example = "belfry calendars list",
		.children = children,
};

/* Shows what a set of deployments changes: member by member, with due times, and as a table. */
#include "base/error.h"
#include "base/str.h"
#include "cli/apply_send.h"
#include "cli/resolve.h"
#include "cli/show.h"

#define VALUE_BYTES 120 /* of a member's value on a line */
#define DATES_MAX   10  /* of a calendar's items, each way */

static enum bf_colour colour_of(struct belfry_str outcome)
{
	static const struct {
		const char *name;
		enum bf_colour colour;
	} colours[] = {
			{"created", BF_COLOUR_GREEN},
			{"changed", BF_COLOUR_YELLOW},
			{"unchanged", BF_COLOUR_DIM},
			{"refused", BF_COLOUR_RED},
	};

	for (size_t i = 0; i < BF_COUNT(colours); i++) {
		if (bf_str_equal(outcome, bf_str(colours[i].name))) {
			return colours[i].colour;
		}
	}
	return BF_COLOUR_NONE;
}

/* A value on one line, cut at a character. */
static void put_value(struct bf_buf *buf, const json_t *value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	if (value == NULL || bf_json_dump(value, &text) != BELFRY_OK) {
		bf_buf_append_text(buf, "-");
		return;
	}
	struct belfry_str shown = bf_str_slice(bf_buf_str(&text), 0, VALUE_BYTES);
	while (!bf_str_is_utf8(shown)) {
		shown.len--;
	}
	bf_buf_append_str(buf, shown);
	bf_buf_append_text(buf, shown.len < text.len ? "..." : "");
}

/* "  policies.grace: "PT1M" -> "PT2M"" */
static enum belfry_status show_changes(struct bf_cli *cli, const json_t *changes,
		struct belfry_error *err)
{
	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *change = json_array_get(changes, i);
		struct belfry_str place = bf_member(change, "pointer");
		BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};

		for (size_t c = 0; c < place.len; c++) {
			bf_buf_append_byte(&line, place.ptr[c] == '/' ? '.' : place.ptr[c]);
		}
		bf_buf_remove_front(&line, BF_MIN(line.len, (size_t)1));
		bf_buf_append_text(&line, ": ");
		put_value(&line, json_object_get(change, "old"));
		bf_buf_append_text(&line, " -> ");
		put_value(&line, json_object_get(change, "new"));
		if (bf_buf_status(&line) != BELFRY_OK) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
		(void)fputs("  ", cli->out);
		bf_text_print(cli->out, false, BF_COLOUR_NONE, bf_buf_str(&line));
		(void)fputc('\n', cli->out);
	}
	return BELFRY_OK;
}

static void show_times(struct bf_cli *cli, const json_t *times, const char *sign,
		enum bf_colour colour)
{
	for (size_t i = 0; i < json_array_size(times); i++) {
		(void)fprintf(cli->out, "  %s", sign);
		bf_text_print(cli->out, cli->is_out_coloured, colour,
				bf_json_str(json_array_get(times, i)));
		(void)fputc('\n', cli->out);
	}
}

/* The items that come to a calendar, or go. */
static enum belfry_status show_dates(struct bf_cli *cli, const json_t *dates, const char *sign,
		enum bf_colour colour, struct belfry_error *err)
{
	size_t count = json_array_size(dates);

	for (size_t i = 0; i < BF_MIN(count, (size_t)DATES_MAX); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

		bf_show_value(&text, json_array_get(dates, i));
		if (bf_buf_status(&text) != BELFRY_OK) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
		(void)fprintf(cli->out, "  %s", sign);
		bf_text_print(cli->out, cli->is_out_coloured, colour, bf_buf_str(&text));
		(void)fputc('\n', cli->out);
	}
	if (count > DATES_MAX) {
		(void)fprintf(cli->out, "  %sand %zu more\n", sign, count - DATES_MAX);
	}
	return BELFRY_OK;
}

/* "  used by 7 deployments: a, b, c, ..." */
static void show_users(struct bf_cli *cli, const json_t *users)
{
	const json_t *names = json_object_get(users, "deployments");
	json_int_t count = json_integer_value(json_object_get(users, "count"));
	size_t shown = BF_MIN(json_array_size(names), (size_t)DATES_MAX);

	if (!json_is_object(users)) {
		return;
	}
	(void)fprintf(cli->out, "  used by %s%lld deployment%s",
			json_is_true(json_object_get(users, "at_least")) ? "at least " : "",
			(long long)count, count == 1 ? "" : "s");
	for (size_t i = 0; i < shown; i++) {
		(void)fputs(i == 0 ? ": " : ", ", cli->out);
		bf_text_print(cli->out, false, BF_COLOUR_NONE,
				bf_json_str(json_array_get(names, i)));
	}
	(void)fputs((json_int_t)shown < count ? ", ...\n" : "\n", cli->out);
}

static enum belfry_status show_calendar(struct bf_cli *cli, const json_t *item,
		struct belfry_error *err)
{
	enum belfry_status status = show_dates(cli, json_object_get(item, "gone"),
			"no longer left out ", BF_COLOUR_RED, err);

	if (status == BELFRY_OK) {
		status = show_dates(cli, json_object_get(item, "new"), "now left out ",
				BF_COLOUR_GREEN, err);
	}
	show_users(cli, json_object_get(item, "used_by"));
	return status;
}

static enum belfry_status show_item(struct bf_cli *cli, const json_t *item,
		struct belfry_error *err)
{
	struct belfry_str outcome = bf_member(item, "outcome");

	if (!bf_str_equal(outcome, BF_STR("changed"))) {
		return BELFRY_OK;
	}
	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD, bf_member(item, "name"));
	(void)fputc('\n', cli->out);
	enum belfry_status status = show_changes(cli, json_object_get(item, "changes"), err);
	show_times(cli, json_object_get(item, "vanishes"), "no longer due ", BF_COLOUR_RED);
	show_times(cli, json_object_get(item, "appears"), "now due ", BF_COLOUR_GREEN);
	return status == BELFRY_OK ? show_calendar(cli, item, err) : status;
}

/* "set.yaml:12", where the item says so. */
static void put_place(struct bf_table *table, const json_t *item)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf place = {0};
	const json_t *line = json_object_get(item, "line");

	bf_buf_append_str(&place, bf_member(item, "file"));
	if (json_is_integer(line)) {
		bf_buf_appendf(&place, "%s%lld", place.len > 0 ? ":" : "line ",
				(long long)json_integer_value(line));
	}
	table->is_failed = table->is_failed || place.is_failed;
	bf_table_put(table, place.len > 0 ? bf_buf_str(&place) : BF_STR("-"), BF_COLOUR_DIM);
}

/* Why it was refused, or what comes next. */
static void put_detail(struct bf_table *table, const json_t *item)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	const json_t *error = json_object_get(item, "error");
	struct belfry_str pointer = bf_member(error, "pointer");
	const json_t *next = json_array_get(json_object_get(item, "appears"), 0);

	if (json_is_object(error)) {
		bf_buf_append_str(&text, bf_member(error, "detail"));
		if (pointer.len > 0) {
			bf_buf_appendf(&text, " (at %.*s)", BF_STR_ARGS(pointer));
		}
	} else if (json_is_string(next)) {
		bf_buf_appendf(&text, "next due %s", json_string_value(next));
	}
	table->is_failed = table->is_failed || text.is_failed;
	bf_table_put(table, text.len > 0 ? bf_buf_str(&text) : BF_STR("-"), BF_COLOUR_NONE);
}

static enum belfry_status show_table(struct bf_cli *cli, const json_t *items,
		struct belfry_error *err)
{
	static const char *const heading[] = {"NAME", "OUTCOME", "FROM", "DETAIL"};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading), .width = cli->out_columns};

	for (size_t i = 0; i < BF_COUNT(heading); i++) {
		bf_table_put(&table, bf_str(heading[i]), BF_COLOUR_BOLD);
	}
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);
		struct belfry_str outcome = bf_member(item, "outcome");

		if (bf_str_equal(outcome, BF_STR("unchanged"))) {
			continue;
		}
		bf_table_put(&table, bf_member(item, "name"), BF_COLOUR_NONE);
		bf_table_put(&table, outcome, colour_of(outcome));
		put_place(&table, item);
		put_detail(&table, item);
	}
	if (table.count == table.columns) {
		return BELFRY_OK;
	}
	if (bf_table_print(&table, cli->out, cli->is_out_coloured) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

/* What the sums are worth. */
static const char *closing_words(size_t refused, bool is_dry_run, bool is_done)
{
	if (is_dry_run) {
		return " (a dry run: nothing was done)";
	}
	if (refused == 0) {
		return "";
	}
	return is_done ? " (what is not refused is done; the same again goes on)"
		       : " (nothing was done: mend what is refused, or leave it out)";
}

enum belfry_status bf_apply_show(struct bf_cli *cli, const json_t *items, bool is_dry_run,
		bool is_done, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;
	size_t refused = bf_apply_count(items, "refused");

	for (size_t i = 0; i < json_array_size(items) && status == BELFRY_OK; i++) {
		status = show_item(cli, json_array_get(items, i), err);
	}
	if (bf_apply_count(items, "changed") > 0) {
		(void)fputc('\n', cli->out);
	}
	if (status == BELFRY_OK) {
		status = show_table(cli, items, err);
	}
	(void)fprintf(cli->out, "%zu created, %zu changed, %zu unchanged, %zu refused%s\n",
			bf_apply_count(items, "created"), bf_apply_count(items, "changed"),
			bf_apply_count(items, "unchanged"), refused,
			closing_words(refused, is_dry_run, is_done));
	return status;
}

/* `belfry calendars set`: a shared calendar from a file, from dates, or from what is there now and what
 * comes and goes. What an item may be, and whether every deployment can do with a change, is for the server
 * to say.
 *
 * The present content is read first, and the change is sent for that revision alone: what is kept, and what
 * is said to be gone, is so. */
#include "base/error.h"
#include "base/str.h"
#include "cli/calendar_change.h"
#include "cli/calendar_file.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/file.h"
#include "cli/resolve.h"
#include "cli/text.h"

#define FILE_BYTES_MAX (1u << 20)
#define PATH           "/v1/calendars/"
/* A change plans every deployment that uses the calendar before it is answered. */
#define CHANGE_MILLI 300000L

struct change {
	json_t *old;                  /* owned; NULL: there is no calendar of this name */
	struct bf_calendar_file file; /* what is sent */
	json_t *answer;               /* owned */
};

static void change_fini(struct change *change)
{
	json_decref(change->old);
	json_decref(change->answer);
	bf_calendar_file_fini(&change->file);
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- what is there --- */

static enum belfry_status read_old(struct bf_cli *cli, const struct bf_args *args,
		struct change *change, struct belfry_error *err)
{
	struct belfry_error failure = {0};
	enum belfry_status status = bf_resolve_get(cli, "calendars", bf_str(bf_args_word(args, 0)),
			&change->old, &failure);

	if (status == BELFRY_NOT_FOUND) {
		return BELFRY_OK;
	}
	if (status != BELFRY_OK && err != NULL) {
		*err = failure;
	}
	return status;
}

static enum belfry_status check_revision(const struct bf_args *args, const json_t *old,
		struct belfry_error *err)
{
	int64_t named;

	if (old != NULL || !bf_args_has(args, "if-revision")) {
		return bf_resolve_revision(args, old, &named, err);
	}
	return bf_error_set(err, BELFRY_PRECONDITION,
			"--if-revision: there is no calendar \"%.64s\"; leave it out to make one",
			bf_args_word(args, 0));
}

/* --- the new content --- */

static enum belfry_status append_dates(const struct bf_args *args, const char *option,
		json_t *except, struct belfry_error *err)
{
	const char *date;
	size_t cursor = 0;

	while ((date = bf_args_next(args, option, &cursor)) != NULL) {
		BF_CLEANUP(bf_cleanup_json) json_t *item = json_string(date);

		if (item == NULL ||
				(!bf_calendar_has(except, item) &&
						json_array_append(except, item) != 0)) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status drop_dates(const struct bf_args *args, json_t *except,
		struct belfry_error *err)
{
	const char *date;
	size_t cursor = 0;

	while ((date = bf_args_next(args, "drop", &cursor)) != NULL) {
		size_t before = json_array_size(except);

		for (size_t i = before; i > 0; i--) {
			if (bf_str_equal(bf_json_str(json_array_get(except, i - 1)),
					    bf_str(date))) {
				(void)json_array_remove(except, i - 1); /* it is there */
			}
		}
		if (json_array_size(except) == before) {
			return bf_error_set(err, BELFRY_NOT_FOUND,
					"--drop: \"%.60s\" is not among the items: `belfry calendars "
					"show %.64s` lists them",
					date, bf_args_word(args, 0));
		}
	}
	return BELFRY_OK;
}

/* What is there, with --add and --drop. */
static enum belfry_status change_present(const struct bf_args *args, struct change *change,
		struct belfry_error *err)
{
	const json_t *present = json_object_get(change->old, "except");
	json_t *except;

	if (change->old == NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"there is no calendar \"%.64s\" to change: FILE or --date makes one",
				bf_args_word(args, 0));
	}
	except = json_is_array(present) ? json_copy((json_t *)(uintptr_t)present) : json_array();
	change->file.body = json_pack("{s:o}", "except", except);
	if (change->file.body == NULL) {
		return no_memory(err);
	}
	enum belfry_status status = drop_dates(args, except, err);
	return status == BELFRY_OK ? append_dates(args, "add", except, err) : status;
}

static enum belfry_status take_dates(const struct bf_args *args, struct change *change,
		struct belfry_error *err)
{
	change->file.body = json_pack("{s:[]}", "except");
	if (change->file.body == NULL) {
		return no_memory(err);
	}
	return append_dates(args, "date", json_object_get(change->file.body, "except"), err);
}

static enum belfry_status read_file(const char *path, struct change *change,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	enum belfry_status status = bf_file_read(path, FILE_BYTES_MAX, &text, err);

	if (status == BELFRY_OK) {
		status = bf_calendar_file_parse(path, bf_buf_str(&text), &change->file, err);
	}
	if (status == BELFRY_OK) {
		bf_calendar_strip(change->file.body);
	}
	return status;
}

/* Exactly one of: FILE, --date, and a change of what is there. */
static enum belfry_status check_forms(const struct bf_args *args, struct belfry_error *err)
{
	bool is_change = bf_args_has(args, "add") || bf_args_has(args, "drop");
	int forms = (bf_args_word(args, 1) != NULL ? 1 : 0) + (bf_args_has(args, "date") ? 1 : 0) +
			(is_change ? 1 : 0);

	if (forms > 1 || (forms == 0 && !bf_args_has(args, "description"))) {
		return bf_error_set(err, BELFRY_USAGE,
				"give FILE, or --date once for each date, or --add and --drop: one of "
				"the three");
	}
	return BELFRY_OK;
}

static enum belfry_status check_texts(const struct bf_args *args, struct belfry_error *err)
{
	static const char *const names[] = {"date", "add", "drop"};
	const char *text;
	enum belfry_status status = bf_args_text(args, "description", &text, err);

	for (size_t i = 0; i < BF_COUNT(names) && status == BELFRY_OK; i++) {
		size_t cursor = 0;

		while ((text = bf_args_next(args, names[i], &cursor)) != NULL) {
			if (!bf_str_is_utf8(bf_str(text))) {
				return bf_error_set(err, BELFRY_USAGE, "--%s is not UTF-8",
						names[i]);
			}
		}
	}
	return status;
}

/* It stays unless it is named, here or in the file. */
static enum belfry_status put_description(const struct bf_args *args, struct change *change,
		struct belfry_error *err)
{
	json_t *kept = json_object_get(change->old, "description");
	const char *given = bf_args_value(args, "description");
	int failed = 0;

	if (given != NULL) {
		failed = json_object_set_new(change->file.body, "description", json_string(given));
	} else if (kept != NULL && json_object_get(change->file.body, "description") == NULL) {
		failed = json_object_set(change->file.body, "description", kept);
	}
	return failed == 0 ? BELFRY_OK : no_memory(err);
}

/* What needs no server. */
static enum belfry_status read_given(const struct bf_args *args, struct change *change,
		struct belfry_error *err)
{
	const char *path = bf_args_word(args, 1);
	enum belfry_status status = check_forms(args, err);

	if (status == BELFRY_OK) {
		status = check_texts(args, err);
	}
	return status == BELFRY_OK && path != NULL ? read_file(path, change, err) : status;
}

static enum belfry_status make_body(const struct bf_args *args, struct change *change,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	if (change->file.body == NULL) {
		status = bf_args_has(args, "date") ? take_dates(args, change, err)
						   : change_present(args, change, err);
	}
	return status == BELFRY_OK ? put_description(args, change, err) : status;
}

/* --- sending it --- */

static enum belfry_status send(struct bf_cli *cli, const struct bf_args *args,
		struct change *change, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	char match[32] = "";

	bf_buf_append_text(&path, PATH);
	bf_client_encode(&path, bf_str(bf_args_word(args, 0)));
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	(void)snprintf(match, sizeof(match), "\"%lld\"",
			(long long)json_integer_value(json_object_get(change->old, "revision")));
	struct bf_request request = {.method = "PUT",
			.path = path.ptr,
			.body = change->file.body,
			.if_match = change->old != NULL ? match : NULL,
			.if_none_match = change->old == NULL ? "*" : NULL,
			.limit_ms = CHANGE_MILLI};
	enum belfry_status status = bf_client_json(cli, &request, &change->answer, err);
	if (status == BELFRY_PRECONDITION) {
		bf_error_prefix(err, "somebody changed it in this moment, so nothing was set: ");
	}
	return status;
}

/* An item by its number is found by nobody: its text, and its line in a file of lines. */
static void place_error(const struct bf_args *args, const struct bf_calendar_file *file,
		struct belfry_error *err)
{
	struct belfry_str begin = BF_STR("/except/");
	struct belfry_str place = bf_str(err->pointer);
	size_t end = begin.len;
	int64_t index;

	while (end < place.len && place.ptr[end] != '/') {
		end++;
	}
	if (!bf_str_starts_with(place, begin) ||
			bf_str_parse_int(bf_str_slice(place, begin.len, end), 0, INT32_MAX,
					&index) != BELFRY_OK) {
		return;
	}
	const json_t *except = json_object_get(file->body, "except");
	const char *item = json_string_value(json_array_get(except, (size_t)index));
	if (item != NULL) {
		bf_error_prefix(err, "\"%.60s\": ", item);
	}
	if ((size_t)index < file->line_count) {
		bf_error_prefix(err, "%.100s: line %zu: ", bf_args_word(args, 1),
				file->lines[index]);
	}
}

/* --- saying it --- */

static enum belfry_status count_beyond(const json_t *calendar, const json_t *other,
		size_t *ret_count)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *beyond = bf_calendar_items_beyond(json_object_get(calendar, "except"),
			json_object_get(other, "except"));

	*ret_count = json_array_size(beyond);
	return beyond != NULL ? BELFRY_OK : BELFRY_NOMEM;
}

/* ", description removed" */
static const char *describe(const json_t *old, const json_t *calendar)
{
	struct belfry_str before = bf_member(old, "description");
	struct belfry_str after = bf_member(calendar, "description");

	if (old == NULL || bf_str_equal(before, after)) {
		return "";
	}
	if (after.len == 0) {
		return ", description removed";
	}
	return before.len == 0 ? ", description added" : ", description changed";
}

static bool is_unchanged(const struct change *change)
{
	const json_t *old = json_object_get(change->old, "revision");

	return old != NULL && json_equal(old, json_object_get(change->answer, "revision"));
}

static void say_items(struct bf_cli *cli, const json_t *calendar)
{
	size_t items = json_array_size(json_object_get(calendar, "except"));

	bf_text_print(cli->out, cli->is_out_coloured, BF_COLOUR_BOLD, bf_member(calendar, "name"));
	(void)fprintf(cli->out, ": %zu item%s", items, items == 1 ? "" : "s");
}

/* "set holidays-de: 12 items (1 gone, 3 new), 3 deployments planned anew" */
static enum belfry_status say(struct bf_cli *cli, const struct change *change,
		struct belfry_error *err)
{
	const json_t *planned = json_object_get(change->answer, "planned");
	json_int_t count = json_integer_value(planned);
	bool is_pending = json_is_true(json_object_get(change->answer, "pending"));
	size_t gone = 0;
	size_t fresh = 0;

	if (count_beyond(change->old, change->answer, &gone) != BELFRY_OK ||
			count_beyond(change->answer, change->old, &fresh) != BELFRY_OK) {
		return no_memory(err);
	}
	(void)fputs(is_unchanged(change) ? "unchanged " : "set ", cli->out);
	say_items(cli, change->answer);
	if (!is_unchanged(change)) {
		(void)fprintf(cli->out, " (%zu gone, %zu new)%s, %lld deployment%s planned anew%s",
				gone, fresh, describe(change->old, change->answer),
				(long long)count, count == 1 ? "" : "s",
				is_pending ? "; the others follow" : "");
	}
	(void)fputc('\n', cli->out);
	return BELFRY_OK;
}

static enum belfry_status run(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(change_fini) struct change change = {0};
	enum belfry_status status = read_given(args, &change, err);

	if (status == BELFRY_OK) {
		status = read_old(cli, args, &change, err);
	}
	if (status == BELFRY_OK) {
		status = check_revision(args, change.old, err);
	}
	if (status == BELFRY_OK) {
		status = make_body(args, &change, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	status = send(cli, args, &change, err);
	if (status != BELFRY_OK) {
		place_error(args, &change.file, err);
		return status;
	}
	if (cli->is_json) {
		return bf_cli_put_json(cli, change.answer, err);
	}
	return say(cli, &change, err);
}

static const struct bf_option options[] = {
		{.name = "date",
				.argument = "DATE",
				.help = "A date or local time to leave out; nothing else stays",
				.is_repeatable = true},
		{.name = "add",
				.argument = "DATE",
				.help = "One more to leave out; the others stay",
				.is_repeatable = true},
		{.name = "drop",
				.argument = "DATE",
				.help = "An item that is there, to leave out no more",
				.is_repeatable = true},
		{.name = "description",
				.argument = "TEXT",
				.help = "What it is for; not named, it stays"},
		{.name = "if-revision",
				.argument = "N",
				.help = "Only if it is still at this revision"},
		{.name = NULL},
};

const struct bf_command bf_command_calendars_set = {
		.path = "calendars set",
		.synopsis = "NAME (FILE | --date DATE... | [--add DATE]... [--drop DATE]...)\n"
			    "         [--description TEXT] [--if-revision N]",
		.summary = "Make a shared calendar, give it new content, or change some of it",
		.details = "FILE is text with one date or local time a line (# begins a comment), or YAML or\n"
			   "JSON: a list, or a mapping with except: and description:, such as `calendars show\n"
			   "--json` writes. FILE - is standard input. FILE and --date replace all items; --add\n"
			   "and --drop change what is there. Deployments that use it are planned anew, as by an\n"
			   "edit: nothing fires because of it.",
		.example = "belfry calendars set holidays-de --date 2026-12-25 --date 2026-12-26\n"
			   "belfry calendars set holidays-de holidays.txt\n"
			   "belfry calendars set holidays-de --add 2027-01-01 --drop 2026-12-26",
		.options = options,
		.min_words = 1,
		.max_words = 2,
		.run = run,
};

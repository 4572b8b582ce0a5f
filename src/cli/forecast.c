/* `belfry forecast`: the server counts and proposes; here it becomes a plot, names, and commands.
 *
 * On a terminal cells are eighths of a block, as wide as it is; elsewhere the plot is ASCII of 80 columns, so
 * that it survives a mail. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/forecast_plot.h"
#include "cli/machine.h"
#include "cli/resolve.h"
#include "cli/show.h"
#include "cli/text.h"
#include "cli/timearg.h"

#define HOURS_DEFAULT  24
#define HOURS_MAX      168
#define MINUTES_MAX    (HOURS_MAX * 60)
#define COLUMNS        80
#define NAMES_SHOWN    3
#define COMMANDS_SHOWN 5

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

struct forecast {
	struct bf_cli *cli;
	struct bf_buf zone_name;
	struct belfry_rule *zone;
	json_t *answer;
	uint64_t *counts;
};

static void forecast_fini(struct forecast *f)
{
	bf_buf_fini(&f->zone_name);
	belfry_rule_free(f->zone);
	json_decref(f->answer);
	bf_free(f->counts);
}

/* --- asking --- */

static enum belfry_status use_zone(struct forecast *f, struct belfry_zones *zones,
		struct belfry_str name, struct belfry_error *err)
{
	bf_buf_fini(&f->zone_name);
	f->zone_name = (struct bf_buf){0};
	bf_buf_append_str(&f->zone_name, name);
	if (bf_buf_status(&f->zone_name) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return belfry_rule_new(zones, BF_STR("* * * * *"), name, NULL, &f->zone, err);
}

/* The zone of the reader: --tz, else the machine's, else UTC. A machine's that is not in the database does
 * not matter to anybody. */
static enum belfry_status find_zone(struct forecast *f, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf machine = {0};
	struct belfry_zones *zones;
	enum belfry_status status = bf_cli_zones(f->cli, &zones, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (bf_args_has(args, "tz")) {
		return use_zone(f, zones, bf_str(bf_args_value(args, "tz")), err);
	}
	bf_machine_zone(&machine);
	status = machine.len > 0 ? use_zone(f, zones, bf_buf_str(&machine), NULL) : BELFRY_INVALID;
	return status == BELFRY_OK ? BELFRY_OK : use_zone(f, zones, BF_STR("UTC"), err);
}

static void append_parameter(struct bf_buf *path, const char *name, struct belfry_str value)
{
	bf_buf_appendf(path, "&%s=", name);
	bf_client_encode(path, value);
}

static enum belfry_status write_path(struct forecast *f, const struct bf_args *args,
		struct bf_buf *path, struct belfry_error *err)
{
	char text[BF_TIME_TEXT_BYTES];
	belfry_time from;
	int64_t hours;
	enum belfry_status status = bf_args_int(args, "hours", 1, HOURS_MAX, HOURS_DEFAULT, &hours,
			err);

	if (status != BELFRY_OK) {
		return status;
	}
	bf_buf_appendf(path, "/v1/forecast?hours=%" PRId64, hours);
	if (bf_args_has(args, "from")) {
		status = bf_timearg_parse(f->cli, "--from", bf_args_value(args, "from"),
				bf_buf_str(&f->zone_name).ptr, &from, err);
		if (status != BELFRY_OK) {
			return status;
		}
		bf_time_format(from, 0, text);
		append_parameter(path, "from", bf_str(text));
	}
	if (bf_args_has(args, "label")) {
		append_parameter(path, "label", bf_str(bf_args_value(args, "label")));
	}
	if (bf_args_word(args, 0) != NULL) {
		append_parameter(path, "q", bf_str(bf_args_word(args, 0)));
	}
	return bf_buf_status(path) == BELFRY_OK ? BELFRY_OK
						: bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- showing --- */

static uint64_t number(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

static belfry_time time_of(const json_t *object, const char *name)
{
	belfry_time time = 0;

	if (bf_time_parse(bf_member(object, name), &time) != BELFRY_OK || time < BELFRY_DAY) {
		return BELFRY_DAY; /* no answer of a server of this kind; nothing breaks */
	}
	return time;
}

static enum belfry_status read_counts(struct forecast *f, struct bf_plot *plot,
		struct belfry_error *err)
{
	const json_t *counts = json_object_get(f->answer, "counts");

	plot->count = json_array_size(counts);
	if (plot->count == 0 || plot->count > MINUTES_MAX) {
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"the answer is not a forecast: is this a server of another version?");
	}
	f->counts = bf_alloc_array(plot->count, sizeof(*f->counts));
	if (f->counts == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	for (size_t i = 0; i < plot->count; i++) {
		json_int_t count = json_integer_value(json_array_get(counts, i));
		f->counts[i] = count > 0 ? (uint64_t)count : 0;
		plot->peak = BF_MAX(plot->peak, f->counts[i]);
	}
	plot->counts = f->counts;
	return BELFRY_OK;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void print_summary(const struct forecast *f, const struct bf_plot *plot)
{
	uint64_t deployments = number(f->answer, "deployments");
	size_t hours = plot->count / 60;
	char from[BF_PLOT_TIME_BYTES];

	bf_plot_format_time(f->zone, plot->from, from);
	(void)fprintf(f->cli->out,
			"%" PRIu64 " due in %zu hour%s from %s, %s\n%" PRIu64
			" in the busiest minute; %" PRIu64 " deployment%s in all\n",
			number(f->answer, "total"), hours, plural(hours), from,
			bf_buf_str(&f->zone_name).ptr, plot->peak, deployments,
			plural(deployments));
}

/* "nightly-a, nightly-b and 410 more" */
static void print_names(const struct forecast *f, const json_t *peak)
{
	const json_t *named = json_object_get(peak, "deployments");
	size_t count = json_array_size(named);
	size_t shown = BF_MIN(count, count <= NAMES_SHOWN + 1 ? count : NAMES_SHOWN);
	uint64_t all = number(peak, "deployment_count");

	shown = all > count ? BF_MIN(shown, NAMES_SHOWN) : shown;
	for (size_t i = 0; i < shown; i++) {
		const json_t *deployment = json_array_get(named, i);
		struct belfry_str name = bf_member(deployment, "name");
		bool is_last = i + 1 == shown && all <= shown;
		(void)fputs(i == 0 ? "" : is_last ? " and " : ", ", f->cli->out);
		bf_text_print(f->cli->out, false, BF_COLOUR_NONE,
				name.len > 0 ? name : bf_member(deployment, "id"));
	}
	if (all > shown) {
		(void)fprintf(f->cli->out, " and %" PRIu64 " more", all - shown);
	}
}

static void print_peak(const struct forecast *f, const json_t *peak, int digits)
{
	uint64_t minutes = number(peak, "minutes");
	char at[BF_PLOT_TIME_BYTES];

	bf_plot_format_time(f->zone, time_of(peak, "at"), at);
	(void)fprintf(f->cli->out, "  %s  %*" PRIu64 " due", at, digits, number(peak, "count"));
	if (minutes > 1) {
		(void)fprintf(f->cli->out, ", as in %" PRIu64 " more minute%s", minutes - 1,
				minutes > 2 ? "s" : "");
	}
	(void)fputs(": ", f->cli->out);
	print_names(f, peak);
	(void)fputc('\n', f->cli->out);
}

static void print_peaks(const struct forecast *f)
{
	const json_t *peaks = json_object_get(f->answer, "peaks");
	const json_t *peak;
	size_t i;

	if (json_array_size(peaks) == 0) {
		return;
	}
	int digits = snprintf(NULL, 0, "%" PRIu64, number(json_array_get(peaks, 0), "count"));
	(void)fputs("\nBusiest minutes\n", f->cli->out);
	json_array_foreach((json_t *)(uintptr_t)peaks, i, peak)
	{
		print_peak(f, peak, digits);
	}
}

/* A word of a shell command: bare where nothing in it means anything to a shell. */
static void print_word(FILE *file, struct belfry_str word)
{
	bool is_bare = word.len > 0;

	for (size_t i = 0; i < word.len; i++) {
		char c = word.ptr[i];
		is_bare = is_bare &&
				((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
						(c >= '0' && c <= '9') || c == '.' || c == '_' ||
						c == '-');
	}
	if (is_bare) {
		(void)fprintf(file, "%.*s", BF_STR_ARGS(word));
		return;
	}
	(void)fputc('\'', file);
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] == '\'') {
			(void)fputs("'\\''", file);
		} else {
			(void)fputc(word.ptr[i], file);
		}
	}
	(void)fputc('\'', file);
}

/* By its name where that says which one is meant: it may look like an option, an id, OWNER/NAME, or hold what a
 * terminal would act upon. */
static void print_command(FILE *file, const json_t *change)
{
	struct belfry_str name = bf_member(change, "name");
	BF_CLEANUP(bf_buf_fini) struct bf_buf escaped = {0};
	bool is_plain = name.len > 0 && name.ptr[0] != '-' &&
			memchr(name.ptr, '/', name.len) == NULL && !bf_resolve_is_id(name.ptr);

	bf_text_escape(&escaped, name, 0);
	(void)fputs("belfry deployments edit ", file);
	print_word(file,
			is_plain && bf_str_equal(bf_buf_str(&escaped), name)
					? name
					: bf_member(change, "id"));
	(void)fputs(" --spread ", file);
	print_word(file, bf_member(change, "spread"));
	(void)fputc('\n', file);
}

static void print_commands(const struct forecast *f, size_t max, const char *indent)
{
	const json_t *changes = json_object_get(json_object_get(f->answer, "proposal"), "changes");
	size_t count = json_array_size(changes);

	for (size_t i = 0; i < BF_MIN(count, max); i++) {
		(void)fputs(indent, f->cli->out);
		print_command(f->cli->out, json_array_get(changes, i));
	}
}

static void print_reason(const struct forecast *f, const json_t *reason)
{
	const json_t *deployment = json_object_get(reason, "deployment");
	bool is_at_a_minute = number(f->answer, "total") > 0 &&
			!bf_str_equal(bf_member(reason, "code"), BF_STR("NO_PEAK"));
	char at[BF_PLOT_TIME_BYTES];

	(void)fputs("\nNo proposal", f->cli->out);
	if (is_at_a_minute) {
		bf_plot_format_time(f->zone, time_of(reason, "at"), at);
		(void)fprintf(f->cli->out, " for %s", at);
	}
	(void)fputs(": ", f->cli->out);
	bf_text_print(f->cli->out, false, BF_COLOUR_NONE, bf_member(reason, "message"));
	if (json_is_object(deployment)) {
		(void)fputs(" (", f->cli->out);
		bf_text_print(f->cli->out, false, BF_COLOUR_NONE, bf_member(deployment, "name"));
		(void)fputc(')', f->cli->out);
	}
	(void)fputc('\n', f->cli->out);
}

static void print_proposal(const struct forecast *f, size_t hours)
{
	const json_t *proposal = json_object_get(f->answer, "proposal");
	size_t count = json_array_size(json_object_get(proposal, "changes"));

	if (count == 0) {
		print_reason(f, json_object_get(proposal, "reason"));
		return;
	}
	(void)fprintf(f->cli->out,
			"\nProposal: spread %zu deployment%s; the peak of %s%zu "
			"hour%s falls from %" PRIu64 " to %" PRIu64 "\n",
			count, plural(count), hours == 1 ? "this " : "these ", hours, plural(hours),
			number(proposal, "before"), number(proposal, "after"));
	print_commands(f, count > COMMANDS_SHOWN + 1 ? COMMANDS_SHOWN : count, "  ");
	if (count > COMMANDS_SHOWN + 1) {
		(void)fprintf(f->cli->out, "  and %zu more: --commands prints all of them\n",
				count - COMMANDS_SHOWN);
	}
}

static void print_left_out(const struct forecast *f)
{
	uint64_t left_out = number(f->answer, "left_out");

	if (left_out > 0) {
		(void)fprintf(f->cli->out,
				"\n%" PRIu64 " enabled deployment%s left out: ", left_out,
				left_out == 1 ? " does not fire as it is, and is"
					      : "s do not fire as they are, and are");
		(void)fputs("paused, exhausted or quarantined\n", f->cli->out);
	}
	if (!json_is_true(json_object_get(f->answer, "complete"))) {
		(void)fprintf(f->cli->out,
				"\nThere are more deployments than could be counted in time: ask for a "
				"part of them by --label or by a PREFIX\n");
	}
}

/* Nothing was counted: why. */
static void print_nothing(const struct forecast *f, const struct bf_args *args)
{
	const char *prefix = bf_args_word(args, 0);
	const char *label = bf_args_has(args, "label") ? bf_args_value(args, "label") : NULL;

	(void)fputs("no enabled deployment", f->cli->out);
	if (prefix != NULL) {
		(void)fputs(" begins with \"", f->cli->out);
		bf_text_print(f->cli->out, false, BF_COLOUR_NONE, bf_str(prefix));
		(void)fputc('"', f->cli->out);
	}
	if (label != NULL) {
		(void)fputs(prefix != NULL ? " and has the label " : " has the label ",
				f->cli->out);
		bf_text_print(f->cli->out, false, BF_COLOUR_NONE, bf_str(label));
	}
	(void)fputs(prefix == NULL && label == NULL ? " is there\n" : "\n", f->cli->out);
}

static enum belfry_status show(struct forecast *f, const struct bf_args *args,
		struct belfry_error *err)
{
	struct bf_plot plot = {
			.from = time_of(f->answer, "from"),
			.zone = f->zone,
			.columns = f->cli->out_columns > 0 ? f->cli->out_columns : COLUMNS,
			.has_blocks = f->cli->is_out_terminal,
			.is_coloured = f->cli->is_out_coloured,
	};
	enum belfry_status status = read_counts(f, &plot, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (number(f->answer, "deployments") == 0 && number(f->answer, "left_out") == 0 &&
			plot.peak == 0) {
		print_nothing(f, args);
		return BELFRY_OK;
	}
	print_summary(f, &plot);
	if (plot.peak > 0) {
		(void)fputc('\n', f->cli->out);
		bf_plot_print(&plot, f->cli->out);
	}
	print_peaks(f);
	print_proposal(f, plot.count / 60);
	print_left_out(f);
	return BELFRY_OK;
}

static enum belfry_status run_forecast(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(forecast_fini) struct forecast f = {.cli = cli};
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	enum belfry_status status = find_zone(&f, args, err);

	if (status == BELFRY_OK) {
		status = write_path(&f, args, &path, err);
	}
	if (status == BELFRY_OK) {
		status = bf_client_json(cli, &(struct bf_request){.path = path.ptr}, &f.answer,
				err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (cli->is_json) {
		return bf_cli_put_json(cli, f.answer, err);
	}
	if (bf_args_has(args, "commands")) {
		print_commands(&f, SIZE_MAX, "");
		return BELFRY_OK;
	}
	return show(&f, args, err);
}

static const struct bf_option forecast_options[] = {
		{.name = "hours", .argument = "N", .help = "How many, 1 to 168 (24)"},
		{.name = "from", .argument = "TIME", .help = "Where they begin (now)"},
		{.name = "tz", .argument = "ZONE", .help = "The zone of the hours (the machine's)"},
		{.name = "label", .argument = "KEY=VALUE", .help = "Only those with this label"},
		{.name = "commands", .help = "Print the proposal's commands alone, all of them"},
		{.name = NULL},
};

const struct bf_command bf_command_forecast = {
		.path = "forecast",
		.synopsis = "[PREFIX] [--hours N] [--from TIME] [--tz ZONE] [--label KEY=VALUE]\n"
			    "[--commands]",
		.summary = "Plot the load by minute, name its peaks, and propose how to halve them",
		.details = "A row is an hour, a cell a minute, as high as its share of the busiest one. Runs\n"
			   "count when they get ready: at their due time, or where their spread puts them.\n"
			   "PREFIX: only deployments whose name begins with it. The proposal changes few\n"
			   "deployments by short spreads, never beyond the next due time.",
		.example = "belfry forecast --hours 24\n"
			   "belfry forecast nightly- --label team=data --commands",
		.options = forecast_options,
		.max_words = 1,
		.run = run_forecast,
};

/* `belfry doctor`: looks, changes nothing, and says for each thing that is not right what to do. */
#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/doctor_report.h"

static const char *finding_name(enum bf_finding finding)
{
	static const char *const names[] = {"ok", "warn", "fail"};

	return names[finding];
}

static enum bf_colour finding_colour(enum bf_finding finding)
{
	static const enum bf_colour colours[] = {BF_COLOUR_GREEN, BF_COLOUR_YELLOW, BF_COLOUR_RED};

	return colours[finding];
}

static void put_json(struct bf_report *report, enum bf_finding finding, const char *check,
		const char *remedy, struct belfry_str text)
{
	struct bf_json_writer writer;
	json_t *item = NULL;

	if (report->items == NULL) {
		report->items = json_array();
	}
	bf_json_writer_begin(&writer);
	bf_json_write_text(&writer, "check", check);
	bf_json_write_text(&writer, "result", finding_name(finding));
	bf_json_write_str(&writer, "text", text);
	bf_json_write_str_or_null(&writer, "remedy", bf_str(remedy));
	if (bf_json_writer_end(&writer, &item) != BELFRY_OK ||
			json_array_append_new(report->items, item) != 0) {
		report->is_failed = true;
	}
}

void bf_report_put(struct bf_report *report, enum bf_finding finding, const char *check,
		const char *remedy, const char *format, ...)
{
	char text[BELFRY_ERROR_MESSAGE_BYTES];
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	report->has_failure = report->has_failure || finding == BF_FINDING_FAIL;
	put_json(report, finding, check, remedy, bf_str(text));
	bf_buf_append_text(&line, text);
	if (remedy != NULL) {
		bf_buf_appendf(&line, ": %s", remedy);
	}
	bf_table_put(&report->table, bf_str(finding_name(finding)), finding_colour(finding));
	bf_table_put(&report->table, bf_str(check), BF_COLOUR_BOLD);
	bf_table_put(&report->table, bf_buf_str(&line), BF_COLOUR_NONE);
	report->is_failed = report->is_failed || line.is_failed || report->table.is_failed;
}

enum belfry_status bf_report_print(struct bf_report *report, struct belfry_error *err)
{
	struct bf_cli *cli = report->cli;
	BF_CLEANUP(bf_cleanup_json) json_t *answer = NULL;

	if (report->is_failed) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (cli->is_json) {
		answer = json_pack("{s:b, s:O}", "ok", !report->has_failure, "items",
				report->items);
		return bf_cli_put_json(cli, answer, err);
	}
	if (bf_table_print(&report->table, cli->out, cli->is_out_coloured) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

void bf_report_fini(struct bf_report *report)
{
	bf_table_fini(&report->table);
	json_decref(report->items);
	report->items = NULL;
}

static enum belfry_status run_doctor(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_report_fini)
	struct bf_report report = {.cli = cli, .table = {.columns = 3}};

	if (bf_args_has(args, "data")) {
		bf_doctor_check_data(&report, bf_args_value(args, "data"));
	}
	bf_doctor_check_server(&report);
	enum belfry_status status = bf_report_print(&report, err);
	if (status == BELFRY_OK && report.has_failure) {
		cli->exit_status = 1;
	}
	return status;
}

static const struct bf_option options[] = {
		{.name = "data", .argument = "DIR", .help = "Look at this data folder too"},
		{.name = NULL},
};

const struct bf_command bf_command_doctor = {
		.path = "doctor",
		.synopsis = "[--data DIR]",
		.summary = "Is this installation sound? Every fault comes with its remedy",
		.details = "Each line is ok, warn or fail. Exit status 1: something failed.",
		.example = "belfry doctor --data /var/lib/belfry",
		.options = options,
		.run = run_doctor,
};

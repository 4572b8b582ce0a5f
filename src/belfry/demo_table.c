/* Prints what the demo counted. */
#include "belfry/demo_table.h"

#include "base/error.h"
#include "cli/text.h"

static enum belfry_status print_json(struct bf_cli *cli, const struct bf_demo_sum *sum,
		size_t deployments, unsigned open_at_kill, struct belfry_error *err)
{
	struct bf_json_writer w;
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_bool(&w, "ok", bf_demo_sum_is_good(sum));
	bf_json_write_int(&w, "deployments", (int64_t)deployments);
	bf_json_write_int(&w, "due", (int64_t)sum->due);
	bf_json_write_int(&w, "made", (int64_t)sum->made);
	bf_json_write_int(&w, "lost", (int64_t)sum->lost);
	bf_json_write_int(&w, "doubled", (int64_t)sum->doubled);
	bf_json_write_int(&w, "unfinished", (int64_t)sum->unfinished);
	bf_json_write_int(&w, "early", (int64_t)sum->early);
	bf_json_write_int(&w, "open_at_kill", open_at_kill);
	bf_json_write_int(&w, "repeated_calls", (int64_t)sum->repeated);
	bf_json_write_int(&w, "calls", (int64_t)sum->calls);
	bf_json_write_int(&w, "calls_not_counted", (int64_t)sum->beyond);
	bf_json_write_int(&w, "restart_due", (int64_t)sum->paused_due);
	bf_json_write_int(&w, "restart_made", (int64_t)sum->paused_made);
	bf_json_write_duration(&w, "lateness_p50", BF_MAX(sum->p50, 0));
	bf_json_write_duration(&w, "lateness_worst", BF_MAX(sum->worst, 0));
	bf_json_write_duration(&w, "lateness_worst_restart", BF_MAX(sum->worst_paused, 0));
	if (bf_json_writer_end(&w, &object) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_cli_put_json(cli, object, err);
}

BF_PRINTF(4, 5)
static void put_row(struct bf_table *table, const char *name, enum bf_colour colour,
		const char *format, ...)
{
	char text[64];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	bf_table_put(table, bf_str(name), BF_COLOUR_NONE);
	bf_table_put(table, bf_str(text), colour);
}

static void put_note(struct bf_table *table, const char *note)
{
	bf_table_put(table, bf_str(note), BF_COLOUR_DIM);
}

static enum bf_colour must_be_zero(uint64_t number)
{
	return number == 0 ? BF_COLOUR_GREEN : BF_COLOUR_RED;
}

static double milliseconds(belfry_duration duration)
{
	return (double)duration / (double)BELFRY_MILLISECOND;
}

/* The parts add up to the whole. */
static void put_due(struct bf_table *table, const struct bf_demo_sum *sum)
{
	put_row(table, "due times", BF_COLOUR_BOLD, "%llu", (unsigned long long)sum->due);
	put_note(table, "one a second for each deployment, the last second before the end left out");
	put_row(table, "  covered", BF_COLOUR_NONE, "%llu",
			(unsigned long long)(sum->due - sum->paused_due));
	put_note(table, "while the host ran: each must have its Run");
	put_row(table, "  during the restart", BF_COLOUR_NONE, "%llu",
			(unsigned long long)sum->paused_due);
	put_note(table, "from the kill until the new host covers: made up for by the grace");
}

static void put_counts(struct bf_table *table, const struct bf_demo_sum *sum)
{
	put_due(table, sum);
	put_row(table, "Runs made", BF_COLOUR_BOLD, "%llu", (unsigned long long)sum->made);
	put_note(table, "due times with a Run");
	put_row(table, "  during the restart", BF_COLOUR_NONE, "%llu",
			(unsigned long long)sum->paused_made);
	put_note(table, "of them, of the due times during the restart");
	put_row(table, "lost", must_be_zero(sum->lost), "%llu", (unsigned long long)sum->lost);
	put_note(table, "covered, but without a Run or a call");
	put_row(table, "doubled", must_be_zero(sum->doubled), "%llu",
			(unsigned long long)sum->doubled);
	put_note(table, "more than one Run for one due time");
	put_row(table, "not ended", must_be_zero(sum->unfinished), "%llu",
			(unsigned long long)sum->unfinished);
	put_note(table, "Runs that are not COMPLETED");
	put_row(table, "too early", must_be_zero(sum->early), "%llu",
			(unsigned long long)sum->early);
	put_note(table, "calls before their due time");
}

static void put_restart(struct bf_table *table, const struct bf_demo_sum *sum)
{
	put_row(table, "calls received", BF_COLOUR_NONE, "%llu", (unsigned long long)sum->calls);
	put_note(table, "one for each Run, and these");
	put_row(table, "  repeated", BF_COLOUR_NONE, "%llu", (unsigned long long)sum->repeated);
	put_note(table, "after the kill, under the same Run id");
	put_row(table, "  not counted above", BF_COLOUR_NONE, "%llu",
			(unsigned long long)sum->beyond);
	put_note(table, "of the last second, before the deployments were disabled");
	put_row(table, "lateness, p50", BF_COLOUR_NONE, "%.1f ms", milliseconds(sum->p50));
	put_note(table, "from the due time until the receiver had the call");
	put_row(table, "lateness, worst", BF_COLOUR_NONE, "%.1f ms", milliseconds(sum->worst));
	put_note(table, "");
	put_row(table, "lateness, restart", BF_COLOUR_NONE, "%.1f ms",
			milliseconds(sum->worst_paused));
	put_note(table, "the worst of the due times during the restart");
}

enum belfry_status bf_demo_print(struct bf_cli *cli, const struct bf_demo_sum *sum,
		size_t deployments, unsigned open_at_kill, struct belfry_error *err)
{
	BF_CLEANUP(bf_table_fini) struct bf_table table = {.columns = 3};

	if (cli->is_json) {
		return print_json(cli, sum, deployments, open_at_kill, err);
	}
	put_counts(&table, sum);
	put_restart(&table, sum);
	(void)fputc('\n', cli->out);
	if (bf_table_print(&table, cli->out, cli->is_out_coloured) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	(void)fputc('\n', cli->out);
	return BELFRY_OK;
}

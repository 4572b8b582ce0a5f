/* A row is an hour by the zone's clock. Where the clock is put back, the hour comes twice and has two rows;
 * where it is put forward, minutes are missing and stay blank.
 *
 * Not here  what is counted, peaks and proposal (forecast.c). */
#include "cli/forecast_plot.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "cli/text.h"

#define HOUR_MINUTES 60
#define COLUMNS_MIN  20
#define LEVELS       8
#define OFFSET_BYTES sizeof("+14:00")

struct row {
	int64_t hour;      /* local hours since 1970 */
	belfry_time first; /* minute of it */
	uint64_t total;
	uint64_t cells[HOUR_MINUTES]; /* the fullest minute of each */
	int last;                     /* minute; -1: none yet */
};

struct printing {
	const struct bf_plot *plot;
	FILE *file;
	size_t minutes; /* of a cell */
	int digits;     /* of an hour's total */
	int offset;     /* room for the offsets of an hour that comes twice */
	int64_t day;    /* of the last row */
};

static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
		"Oct", "Nov", "Dec"};

static int64_t local_minute(const struct belfry_rule *zone, belfry_time at)
{
	return (at / BELFRY_SECOND + belfry_rule_offset(zone, at)) / 60;
}

/* Whether the clock shows this time a second time, around a day before or behind. */
static bool is_twice(const struct belfry_rule *zone, belfry_time at)
{
	int32_t offset = belfry_rule_offset(zone, at);
	const belfry_time sides[] = {at - BELFRY_DAY, at + BELFRY_DAY};

	for (size_t i = 0; i < BF_COUNT(sides); i++) {
		int32_t other = belfry_rule_offset(zone, sides[i]);
		belfry_time again = at + (belfry_duration)(offset - other) * BELFRY_SECOND;
		if (other != offset && belfry_rule_offset(zone, again) == other) {
			return true;
		}
	}
	return false;
}

/* "+02:00" where the clock shows this time twice, else nothing. */
static void format_offset(const struct belfry_rule *zone, belfry_time at, char *buffer)
{
	int offset = belfry_rule_offset(zone, at) / 60;
	unsigned minutes = (unsigned)(offset < 0 ? -offset : offset);

	buffer[0] = '\0';
	if (is_twice(zone, at)) {
		(void)snprintf(buffer, OFFSET_BYTES, "%c%02u:%02u", offset < 0 ? '-' : '+',
				minutes / 60 % 100, minutes % 60);
	}
}

void bf_plot_format_time(const struct belfry_rule *zone, belfry_time at, char *buffer)
{
	int64_t minute = local_minute(zone, at);
	char offset[OFFSET_BYTES];

	format_offset(zone, at, offset);
	(void)snprintf(buffer, BF_PLOT_TIME_BYTES, "%s %02d:%02d%s", days[minute / 1440 % 7],
			(int)(minute / 60 % 24), (int)(minute % 60), offset);
}

/* --- cells --- */

static const char *glyph(const struct bf_plot *plot, uint64_t count)
{
	static const char *const blocks[] = {" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
			"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87",
			"\xe2\x96\x88"};
	static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	uint64_t level = count == 0 ? 0 : (count * LEVELS + plot->peak - 1) / plot->peak;

	return (plot->has_blocks ? blocks : signs)[BF_MIN(level, LEVELS)];
}

/* Above half of the peak is what a proposal is about. */
static enum bf_colour colour_of(const struct bf_plot *plot, uint64_t count)
{
	if (count == plot->peak && count > 1) {
		return BF_COLOUR_RED;
	}
	return count > plot->peak / 2 && count > 1 ? BF_COLOUR_YELLOW : BF_COLOUR_NONE;
}

static void print_cells(const struct printing *p, const struct row *row)
{
	size_t count = HOUR_MINUTES / p->minutes;

	while (count > 0 && row->cells[count - 1] == 0) {
		count--; /* no blanks at the end of a line */
	}
	for (size_t i = 0; i < count; i++) {
		enum bf_colour colour = colour_of(p->plot, row->cells[i]);
		const char *text = glyph(p->plot, row->cells[i]);
		if (colour == BF_COLOUR_NONE || !p->plot->is_coloured) {
			(void)fputs(text, p->file);
		} else {
			bf_text_print(p->file, true, colour, bf_str(text));
		}
	}
}

/* --- rows --- */

static void print_day(struct printing *p, int64_t day)
{
	char date[BF_TIME_TEXT_BYTES]; /* "2026-12-01T..." */
	int64_t month = 1;
	int64_t number = 1;

	p->day = day;
	bf_time_format(day * BELFRY_DAY, 0, date);
	if (bf_str_parse_int(bf_str_slice(bf_str(date), 5, 7), 1, 12, &month) == BELFRY_OK &&
			bf_str_parse_int(bf_str_slice(bf_str(date), 8, 10), 1, 31, &number) ==
					BELFRY_OK) {
		(void)fprintf(p->file, "%s %d %s\n", days[day % 7], (int)number, months[month - 1]);
	}
}

static void print_row(struct printing *p, const struct row *row)
{
	char offset[OFFSET_BYTES];

	if (row->last < 0) {
		return;
	}
	if (row->hour / 24 != p->day) {
		print_day(p, row->hour / 24);
	}
	format_offset(p->plot->zone, row->first, offset);
	(void)fprintf(p->file, " %02d:00%-*s %*llu%s", (int)(row->hour % 24), p->offset, offset,
			p->digits, (unsigned long long)row->total, row->total > 0 ? " " : "");
	print_cells(p, row);
	(void)fputc('\n', p->file);
}

static void put_minute(struct row *row, size_t minutes, int minute, uint64_t count)
{
	uint64_t *cell = &row->cells[(size_t)minute / minutes];

	*cell = BF_MAX(*cell, count);
	row->total += count;
	row->last = minute;
}

typedef void (*row_fn)(struct printing *p, const struct row *row);

/* Begins a row where another hour begins, or the same one once more. */
static void walk_rows(struct printing *p, row_fn use)
{
	const struct bf_plot *plot = p->plot;
	struct row row = {.last = -1};

	for (size_t i = 0; i < plot->count; i++) {
		belfry_time at = plot->from + (belfry_duration)i * BELFRY_MINUTE;
		int64_t local = local_minute(plot->zone, at);
		int minute = (int)(local % 60);
		if (local / 60 != row.hour || minute <= row.last) {
			use(p, &row);
			row = (struct row){.hour = local / 60, .first = at, .last = -1};
		}
		put_minute(&row, p->minutes, minute, plot->counts[i]);
	}
	use(p, &row);
}

static void measure_row(struct printing *p, const struct row *row)
{
	char offset[OFFSET_BYTES] = "";

	if (row->last >= 0) {
		format_offset(p->plot->zone, row->first, offset);
	}
	p->offset = BF_MAX(p->offset, (int)strlen(offset));
	p->digits = BF_MAX(p->digits, snprintf(NULL, 0, "%llu", (unsigned long long)row->total));
}

/* As few minutes in a cell as the columns have room for. */
static size_t find_minutes(size_t columns, size_t left)
{
	static const size_t all[] = {1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30};

	for (size_t i = 0; i < BF_COUNT(all); i++) {
		if (left + HOUR_MINUTES / all[i] <= columns) {
			return all[i];
		}
	}
	return HOUR_MINUTES;
}

/* ":00            :15            :30 ..." over the cells; halves where a quarter is no whole number of cells,
 * or has no room. */
static void print_axis(const struct printing *p, size_t left)
{
	size_t step = 15 % p->minutes == 0 && 15 / p->minutes > 3 ? 15 : 30;
	size_t cells = step / p->minutes;

	(void)fprintf(p->file, "%*s:00", (int)left, "");
	for (size_t at = step; at < HOUR_MINUTES && cells > 3 && step % p->minutes == 0;
			at += step) {
		(void)fprintf(p->file, "%*s:%02d", (int)cells - 3, "", (int)at);
	}
	(void)fputc('\n', p->file);
}

void bf_plot_print(const struct bf_plot *plot, FILE *file)
{
	struct printing p = {.plot = plot, .file = file, .minutes = 1, .digits = 1, .day = -1};

	walk_rows(&p, measure_row);
	size_t left = strlen(" 00:00 ") + (size_t)p.offset + (size_t)p.digits + strlen(" ");
	p.minutes = find_minutes(BF_MAX(plot->columns, COLUMNS_MIN), left);
	print_axis(&p, left);
	walk_rows(&p, print_row);
	if (plot->peak > 0) {
		(void)fprintf(file, "%*s%s = %llu\n", (int)left, "", glyph(plot, plot->peak),
				(unsigned long long)plot->peak);
	}
}

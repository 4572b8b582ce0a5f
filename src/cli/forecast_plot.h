/* The load of each minute as rows of cells, an hour in each, in a zone. */
#ifndef BF_CLI_FORECAST_PLOT_H
#define BF_CLI_FORECAST_PLOT_H

#include "cli/cli.h"

struct bf_plot {
	belfry_time from;       /* of the first count; a whole minute */
	const uint64_t *counts; /* of each minute; borrowed */
	size_t count;
	uint64_t peak;                  /* the largest of them */
	const struct belfry_rule *zone; /* answers for its zone's offset; borrowed */
	size_t columns;                 /* of the terminal */
	bool has_blocks;                /* eighths of a block, else ASCII */
	bool is_coloured;
};

/* "Tue  1 Dec" at the head of each day, then a row for each local hour: its beginning, its total, and its
 * minutes. Where the columns do not suffice for sixty, a cell stands for some minutes, and shows the fullest.
 * Hours that come twice have their offset; the last line says what the highest cell stands for. */
void bf_plot_print(const struct bf_plot *plot, FILE *file);

/* Local date and time of an instant: "Tue 02:00", and "Sun 02:00+01:00" where the clock shows it twice. Buffer:
 * BF_PLOT_TIME_BYTES. */
#define BF_PLOT_TIME_BYTES 24
void bf_plot_format_time(const struct belfry_rule *zone, belfry_time at, char *buffer);

#endif

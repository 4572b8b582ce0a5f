/* Text for people: what came from elsewhere made harmless, columns that line up, colour where it is
 * wanted. */
#ifndef BF_CLI_TEXT_H
#define BF_CLI_TEXT_H

#include <stdio.h>

#include "base/json.h"

#define BF_TEXT_F_LINES 1u /* newlines and tabs may stay */

/* Appends `text` with everything escaped that could move the cursor, change a terminal's state or turn
 * the direction of writing: control characters become \xHH or \u{HHHH}, newlines and tabs \n and \t (or
 * stay), bytes that are not UTF-8 \xHH. */
void bf_text_escape(struct bf_buf *buf, struct belfry_str text, unsigned flags);

/* Columns that `text`, escaped already, takes on a terminal. */
size_t bf_text_width(struct belfry_str text);

/* Two lines behind a refusal: the text at fault, and a caret below the byte at `position`. A long text
 * is cut around the fault. */
void bf_text_print_caret(FILE *file, struct belfry_str text, size_t position);

enum bf_colour {
	BF_COLOUR_NONE,
	BF_COLOUR_BOLD,
	BF_COLOUR_DIM,
	BF_COLOUR_RED,
	BF_COLOUR_GREEN,
	BF_COLOUR_YELLOW,
	BF_COLOUR_BLUE
};

/* `text` escaped, in a colour where is_coloured. */
void bf_text_print(FILE *file, bool is_coloured, enum bf_colour colour, struct belfry_str text);

/* Rows of cells, printed with each column as wide as its widest cell. Cells are copied and escaped. A
 * failed allocation is kept until the print. */
struct bf_table {
	unsigned columns;
	size_t width; /* of the terminal: the last column is broken at blanks to fit; 0: it is not */
	size_t count; /* of cells */
	struct bf_table_cell *cells;
	size_t capacity;
	bool is_failed;
};

/* The first row is the heading. */
void bf_table_put(struct bf_table *table, struct belfry_str text, enum bf_colour colour);
BF_MUST_CHECK enum belfry_status bf_table_print(const struct bf_table *table, FILE *file,
		bool is_coloured);
void bf_table_fini(struct bf_table *table);

#endif

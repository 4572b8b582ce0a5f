/* Escaping, width and colour of text for people. Knows no locale: UTF-8 is what goes in and out. */
#include "cli/text.h"

#include "base/alloc.h"

#define CARET_CONTEXT 60 /* bytes shown before the fault */
#define CARET_AFTER   40
#define ROOM_MIN      24 /* columns; a last column with less is not broken */

struct range {
	uint32_t first;
	uint32_t last;
};

/* Decodes one character. Returns its length in bytes, 0 where the bytes are not UTF-8. */
static size_t decode(struct belfry_str text, uint32_t *ret_code)
{
	const unsigned char *p = (const unsigned char *)text.ptr;
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (p[0] == 0) {
		*ret_code = 0;
		return 1;
	}
	if (len > text.len || !bf_str_is_utf8((struct belfry_str){text.ptr, len})) {
		return 0;
	}
	uint32_t code = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (p[i] & 0x3fu);
	}
	*ret_code = code;
	return len;
}

static bool is_in(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (code >= ranges[i].first && code <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

/* C0 and C1 controls, line separators, what turns the direction of writing, and tags. */
static bool is_harmful(uint32_t code)
{
	static const struct range ranges[] = {
			{0x00, 0x1f},
			{0x7f, 0x9f},
			{0x061c, 0x061c},
			{0x200e, 0x200f},
			{0x2028, 0x202e},
			{0x2066, 0x2069},
			{0xfeff, 0xfeff},
			{0xfff9, 0xfffb},
			{0xe0000, 0xe007f},
	};

	return is_in(code, ranges, BF_COUNT(ranges));
}

static void escape_character(struct bf_buf *buf, uint32_t code)
{
	if (code == '\n' || code == '\t' || code == '\r') {
		bf_buf_append_text(buf, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r");
	} else if (code < 0x80) {
		bf_buf_appendf(buf, "\\x%02x", (unsigned)code);
	} else {
		bf_buf_appendf(buf, "\\u{%x}", (unsigned)code);
	}
}

void bf_text_escape(struct bf_buf *buf, struct belfry_str text, unsigned flags)
{
	bool lines = (flags & BF_TEXT_F_LINES) != 0;

	for (size_t at = 0; at < text.len;) {
		struct belfry_str rest = bf_str_slice(text, at, text.len);
		uint32_t code = 0;
		size_t len = decode(rest, &code);

		if (len == 0) {
			bf_buf_appendf(buf, "\\x%02x", (unsigned)(unsigned char)rest.ptr[0]);
			at++;
			continue;
		}
		if (is_harmful(code) && !(lines && (code == '\n' || code == '\t'))) {
			escape_character(buf, code);
		} else {
			bf_buf_append(buf, rest.ptr, len);
		}
		at += len;
	}
}

size_t bf_text_width(struct belfry_str text)
{
	static const struct range none[] = {{0x0300, 0x036f}, {0x200b, 0x200d}, {0xfe00, 0xfe0f}};
	static const struct range wide[] = {
			{0x1100, 0x115f},
			{0x2e80, 0xa4cf},
			{0xac00, 0xd7a3},
			{0xf900, 0xfaff},
			{0xfe30, 0xfe6f},
			{0xff00, 0xff60},
			{0xffe0, 0xffe6},
			{0x1f300, 0x1f64f},
			{0x1f680, 0x1f6ff},
			{0x1f900, 0x1f9ff},
			{0x20000, 0x3fffd},
	};
	size_t width = 0;

	for (size_t at = 0; at < text.len;) {
		uint32_t code = 0;
		size_t len = decode(bf_str_slice(text, at, text.len), &code);

		at += BF_MAX(len, (size_t)1);
		if (!is_in(code, none, BF_COUNT(none))) {
			width += is_in(code, wide, BF_COUNT(wide)) ? 2 : 1;
		}
	}
	return width;
}

/* Moves back to the first byte of a character. */
static size_t character_start(struct belfry_str text, size_t at)
{
	while (at > 0 && at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80) {
		at--;
	}
	return at;
}

void bf_text_print_caret(FILE *file, struct belfry_str text, size_t position)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf shown = {0};
	size_t at = BF_MIN(position, text.len);
	size_t from = at > CARET_CONTEXT ? character_start(text, at - CARET_CONTEXT) : 0;
	size_t to = at + CARET_AFTER < text.len ? character_start(text, at + CARET_AFTER)
						: text.len;

	bf_buf_append_text(&shown, from > 0 ? "..." : "");
	bf_text_escape(&shown, bf_str_slice(text, from, at), 0);
	size_t before = bf_text_width(bf_buf_str(&shown));
	bf_text_escape(&shown, bf_str_slice(text, at, to), 0);
	bf_buf_append_text(&shown, to < text.len ? "..." : "");
	if (bf_buf_status(&shown) == BELFRY_OK) {
		(void)fprintf(file, "  %s\n  %*s^\n", shown.len > 0 ? shown.ptr : "", (int)before,
				"");
	}
}

static const char *colour_code(enum bf_colour colour)
{
	static const char *const codes[] = {"", "1", "2", "31", "32", "33", "34"};

	return codes[colour];
}

static void print_safe(FILE *file, bool is_coloured, enum bf_colour colour, struct belfry_str text)
{
	if (is_coloured && colour != BF_COLOUR_NONE) {
		(void)fprintf(file, "\033[%sm%.*s\033[0m", colour_code(colour), BF_STR_ARGS(text));
	} else {
		(void)fprintf(file, "%.*s", BF_STR_ARGS(text));
	}
}

void bf_text_print(FILE *file, bool is_coloured, enum bf_colour colour, struct belfry_str text)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf safe = {0};

	bf_text_escape(&safe, text, 0);
	if (bf_buf_status(&safe) == BELFRY_OK) {
		print_safe(file, is_coloured, colour, bf_buf_str(&safe));
	}
}

struct bf_table_cell {
	char *text;
	size_t width;
	enum bf_colour colour;
};

static bool grow(struct bf_table *table)
{
	if (table->count < table->capacity) {
		return true;
	}
	size_t capacity = table->capacity > 0 ? table->capacity * 2 : 64;
	struct bf_table_cell *cells = bf_realloc_array(table->cells, capacity, sizeof(*cells));
	if (cells == NULL) {
		return false;
	}
	table->cells = cells;
	table->capacity = capacity;
	return true;
}

void bf_table_put(struct bf_table *table, struct belfry_str text, enum bf_colour colour)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf safe = {0};

	bf_text_escape(&safe, text, 0);
	bf_buf_append_text(&safe, "");
	size_t width = bf_text_width(bf_buf_str(&safe));
	char *copy = safe.is_failed ? NULL : bf_str_dup(bf_buf_str(&safe));
	if (copy == NULL || !grow(table)) {
		bf_free(copy);
		table->is_failed = true;
		return;
	}
	table->cells[table->count++] = (struct bf_table_cell){copy, width, colour};
}

static size_t column_width(const struct bf_table *table, unsigned column)
{
	size_t width = 0;

	for (size_t i = column; i < table->count; i += table->columns) {
		width = BF_MAX(width, table->cells[i].width);
	}
	return width;
}

/* How many bytes of `text` fit into `room` columns: up to a blank, and one word at least. */
static size_t fit(struct belfry_str text, size_t room)
{
	size_t end = 0;

	for (size_t at = 0; at <= text.len; at++) {
		if (at < text.len && text.ptr[at] != ' ') {
			continue;
		}
		if (end > 0 && bf_text_width(bf_str_slice(text, 0, at)) > room) {
			break;
		}
		end = at;
	}
	return end;
}

/* The last cell of a row, in lines of `room` columns that begin below the first. 0: one line. */
static void print_last(FILE *file, bool is_coloured, const struct bf_table_cell *cell,
		size_t indent, size_t room)
{
	struct belfry_str rest = bf_str(cell->text);

	while (room > 0 && cell->width > room && bf_text_width(rest) > room) {
		size_t len = fit(rest, room);

		if (len >= rest.len) {
			break;
		}
		print_safe(file, is_coloured, cell->colour, bf_str_slice(rest, 0, len));
		(void)fprintf(file, "\n%*s", (int)indent, "");
		rest = bf_str_slice(rest, len + 1, rest.len);
	}
	print_safe(file, is_coloured, cell->colour, rest);
	(void)fputc('\n', file);
}

static void print_row(const struct bf_table *table, size_t row, const size_t *widths, FILE *file,
		bool is_coloured)
{
	const struct bf_table_cell *cells = &table->cells[row * table->columns];
	size_t indent = 0;

	for (unsigned c = 0; c + 1 < table->columns; c++) {
		print_safe(file, is_coloured, cells[c].colour, bf_str(cells[c].text));
		(void)fprintf(file, "%*s", (int)(widths[c] - cells[c].width + 2), "");
		indent += widths[c] + 2;
	}
	size_t room = table->width >= indent + ROOM_MIN ? table->width - indent : 0;
	print_last(file, is_coloured, &cells[table->columns - 1], indent, room);
}

enum belfry_status bf_table_print(const struct bf_table *table, FILE *file, bool is_coloured)
{
	BF_CLEANUP(bf_free_pointer)
	size_t *widths = bf_alloc_array(table->columns, sizeof(*widths));

	if (widths == NULL || table->is_failed) {
		return BELFRY_NOMEM;
	}
	for (unsigned c = 0; c < table->columns; c++) {
		widths[c] = column_width(table, c);
	}
	for (size_t row = 0; row < table->count / table->columns; row++) {
		print_row(table, row, widths, file, is_coloured);
	}
	return BELFRY_OK;
}

void bf_table_fini(struct bf_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		bf_free(table->cells[i].text);
	}
	bf_free(table->cells);
	*table = (struct bf_table){.columns = table->columns};
}

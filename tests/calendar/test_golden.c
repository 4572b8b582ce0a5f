/* Every row of tests/data/calendar.tsv: expression, zone, from, and the due times that are the truth. */
#include "cases.h"

#include <stdio.h>

#include "base/timefmt.h"

#define COLUMNS    7
#define LINE_BYTES 4096

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - 'A' + 10;
}

static unsigned read_hex(const char *text, int digits)
{
	unsigned value = 0;

	for (int i = 0; i < digits; i++) {
		value = value * 16 + (unsigned)hex_digit(text[i]);
	}
	return value;
}

static void put_utf8(struct bf_buf *out, unsigned code)
{
	if (code < 0x80) {
		bf_buf_append_byte(out, (char)code);
	} else if (code < 0x800) {
		bf_buf_append_byte(out, (char)(0xc0 | code >> 6));
		bf_buf_append_byte(out, (char)(0x80 | (code & 0x3f)));
	} else {
		bf_buf_append_byte(out, (char)(0xe0 | code >> 12));
		bf_buf_append_byte(out, (char)(0x80 | (code >> 6 & 0x3f)));
		bf_buf_append_byte(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* The escapes that the file's header names: \n \t \\ \xHH \uHHHH. */
static void unescape(const char *text, struct bf_buf *out)
{
	for (; *text != '\0'; text++) {
		if (*text != '\\') {
			bf_buf_append_byte(out, *text);
			continue;
		}
		text++;
		switch (*text) {
		case 'n': bf_buf_append_byte(out, '\n'); break;
		case 't': bf_buf_append_byte(out, '\t'); break;
		case '\\': bf_buf_append_byte(out, '\\'); break;
		case 'x':
			bf_buf_append_byte(out, (char)read_hex(text + 1, 2));
			text += 2;
			break;
		case 'u':
			put_utf8(out, read_hex(text + 1, 4));
			text += 4;
			break;
		default: fail_msg("unknown escape \\%c", *text);
		}
	}
}

static size_t split_line(char *line, char *columns[COLUMNS])
{
	size_t count = 1;

	columns[0] = line;
	for (char *p = line; *p != '\0' && count < COLUMNS; p++) {
		if (*p == '\t') {
			*p = '\0';
			columns[count++] = p + 1;
		}
	}
	return count;
}

/* What `belfry next` would print for a row, or INVALID. */
static void answer(struct belfry_str text, struct belfry_str zone, belfry_time from, int64_t count,
		struct bf_buf *out)
{
	struct belfry_rule *rule;
	struct belfry_error err;

	enum belfry_status status = belfry_rule_new(shared_zones(), text, zone, NULL, &rule, &err);
	if (status != BELFRY_OK) {
		assert_int_equal(status, BELFRY_INVALID_SCHEDULE);
		assert_true(strlen(err.message) > 10);
		bf_buf_append_text(out, "INVALID");
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		char due_text[BF_TIME_TEXT_BYTES];
		if (belfry_rule_next(rule, from, &from) != BELFRY_OK) {
			break;
		}
		bf_time_format(from, 0, due_text);
		bf_buf_appendf(out, "%s%s", i > 0 ? "," : "", due_text);
	}
	belfry_rule_free(rule);
}

static bool check_row(char *columns[COLUMNS])
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf zone = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf found = {0};
	int64_t count;

	unescape(columns[1], &text);
	unescape(columns[2], &zone);
	assert_int_equal(bf_str_parse_int(bf_str(columns[4]), 1, 1000, &count), BELFRY_OK);
	answer(bf_buf_str(&text), bf_buf_str(&zone), at(columns[3]), count, &found);
	if (strcmp(found.ptr, columns[5]) == 0) {
		return true;
	}
	print_error("%s \"%s\" %s from %s\n  found    %s\n  expected %s\n", columns[0], columns[1],
			columns[2], columns[3], found.ptr, columns[5]);
	return false;
}

static void every_row_of_the_table_is_met(void **state)
{
	char line[LINE_BYTES];
	char *columns[COLUMNS];
	int rows = 0;
	int met = 0;

	(void)state;
	FILE *file = fopen(CALENDAR_ROWS, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] != 'S') {
			continue;
		}
		assert_true(split_line(line, columns) >= 6);
		rows++;
		met += check_row(columns) ? 1 : 0;
	}
	assert_int_equal(fclose(file), 0);
	assert_true(rows >= 104);
	assert_int_equal(met, rows);
}

int run_golden_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_row_of_the_table_is_met),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}

/* Prints help from the command table. Holds no text of any single command, but for the names that other
 * versions offer. */
#include "cli/help.h"

#include "base/str.h"

#define NAME_BYTES 32 /* of what can be suggested */
#define LINE_BYTES 92
#define COLUMN_MAX 28 /* an option wider than this has its help on the next line */

static int option_width(const struct bf_option *option)
{
	size_t len = strlen(option->name) +
			(option->argument != NULL ? strlen(option->argument) + 1 : 0);

	return (int)len;
}

static int widest_option(const struct bf_option *options, int width)
{
	for (; bf_option_exists(options); options++) {
		int own = option_width(options);

		width = own <= COLUMN_MAX ? BF_MAX(width, own) : width;
	}
	return width;
}

static void print_option(FILE *file, const struct bf_option *option, int width)
{
	int own = option_width(option);
	char letter[5] = "    ";

	if (option->letter != 0) {
		(void)snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	}
	(void)fprintf(file, "  %s--%s%s%s", letter, option->name,
			option->argument != NULL ? " " : "",
			option->argument != NULL ? option->argument : "");
	if (own > width) {
		(void)fprintf(file, "\n%*s", width + 8, "");
	} else {
		(void)fprintf(file, "%*s", width - own, "");
	}
	(void)fprintf(file, "  %s%s\n", option->help, option->is_repeatable ? " (repeatable)" : "");
}

static void print_options(FILE *file, const struct bf_option *options, int width)
{
	for (; bf_option_exists(options); options++) {
		print_option(file, options, width);
	}
}

/* `own`, where it is not NULL: one more, that is in no table. */
static void print_children(FILE *file, const struct bf_command *const *commands, const char *own,
		const char *own_summary)
{
	int width = own != NULL ? (int)strlen(own) : 0;

	for (size_t i = 0; commands[i] != NULL; i++) {
		width = BF_MAX(width, (int)strlen(commands[i]->path));
	}
	for (size_t i = 0; commands[i] != NULL; i++) {
		(void)fprintf(file, "  belfry %-*s  %s\n", width, commands[i]->path,
				commands[i]->summary);
	}
	if (own != NULL) {
		(void)fprintf(file, "  belfry %-*s  %s\n", width, own, own_summary);
	}
}

static void print_lines(FILE *file, const char *text)
{
	for (const char *line = text; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		(void)fprintf(file, "  %.*s\n", (int)len, line);
		line += len + (line[len] == '\n' ? 1 : 0);
	}
}

/* A paragraph, broken at blanks where a line would be too long. */
static void print_wrapped(FILE *file, const char *text)
{
	for (size_t left; (left = strcspn(text, "\n")) > 0 || *text != '\0';) {
		size_t len = left;

		if (left > LINE_BYTES) {
			for (len = LINE_BYTES; len > 0 && text[len] != ' '; len--) {
			}
			len = len > 0 ? len : left;
		}
		(void)fprintf(file, "%.*s\n", (int)len, text);
		text += len + (text[len] == ' ' || text[len] == '\n' ? 1 : 0);
	}
}

void bf_help_print_command(FILE *file, const struct bf_command *command)
{
	int width = widest_option(bf_options_common, widest_option(command->options, 0));

	(void)fprintf(file, "%s.\n\nUsage:\n  belfry %s %s\n", command->summary, command->path,
			command->children != NULL ? "COMMAND ..." : command->synopsis);
	if (command->details != NULL) {
		(void)fputc('\n', file);
		print_wrapped(file, command->details);
	}
	if (command->children != NULL) {
		(void)fputs("\nCommands:\n", file);
		print_children(file, command->children, NULL, NULL);
	}
	(void)fputs("\nOptions:\n", file);
	print_options(file, command->options, width);
	print_options(file, bf_options_common, width);
	(void)fputs("\nExample:\n", file);
	print_lines(file, command->example);
}

void bf_help_print_all(const struct bf_cli *cli, FILE *file)
{
	(void)fputs("Belfry runs what is due: exactly one Run for each due time, kept through crashes.\n\n"
		    "Usage:\n  belfry COMMAND ...\n\nCommands:\n",
			file);
	print_children(file, cli->commands, "help [COMMAND]",
			"Show this text, or that of a command");
	(void)fprintf(file,
			"\nOptions:\n"
			"  --help     Show this text, or that of a command\n"
			"  --version  Show the version\n"
			"  --json     Write JSON, for machines (every command)\n\n"
			"Environment:\n"
			"  BELFRY_URL    Where the server is (%s)\n"
			"  BELFRY_TOKEN  The token that it asks for\n"
			"  TZDIR         The folder of the zone database\n"
			"  NO_COLOR      Set: no colour\n\n"
			"Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 not found,\n"
			"4 no permission, 5 unavailable.\n\n"
			"Example:\n"
			"  belfry next \"0 9 * * 1-5\" --tz Europe/Berlin\n",
			BF_CLI_URL);
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	return BF_MIN(a, BF_MIN(b, c));
}

/* Edits (insert, remove, replace) from a to b; both shorter than NAME_BYTES. */
static unsigned edit_distance(struct belfry_str a, struct belfry_str b)
{
	unsigned row[NAME_BYTES + 1];

	for (unsigned j = 0; j <= b.len; j++) {
		row[j] = j;
	}
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b.len; j++) {
			unsigned cost = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);

			diagonal = row[j];
			row[j] = least(row[j] + 1, row[j - 1] + 1, cost);
		}
	}
	return row[b.len];
}

void bf_nearest_begin(struct bf_nearest *nearest, struct belfry_str word)
{
	*nearest = (struct bf_nearest){.word = word, .distance = UINT32_MAX};
}

/* Near is: at most a third of the letters differ, or the name begins with the word. */
void bf_nearest_offer(struct bf_nearest *nearest, const char *name)
{
	struct belfry_str word = nearest->word;
	struct belfry_str offered = bf_str(name);

	if (word.len < 2 || word.len > NAME_BYTES || offered.len > NAME_BYTES) {
		return;
	}
	unsigned distance = bf_str_starts_with(offered, word) ? 1 : edit_distance(word, offered);
	if (distance <= (BF_MAX(word.len, offered.len) + 2) / 3 && distance < nearest->distance) {
		nearest->distance = distance;
		nearest->best = name;
	}
}

bool bf_help_is_later(struct belfry_str path)
{
	static const char *const names[] = {
			"backfill",
			"backup",
			"bench",
			"conformance",
			"import k8s",
			"move",
			"notify",
			"owners",
			"pause",
			"restore",
			"resume",
			"secrets",
			"skip",
			"token",
			"undo",
	};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_str_equal(bf_str(names[i]), path)) {
			return true;
		}
	}
	return false;
}

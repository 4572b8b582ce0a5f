/* Reads a line of a crontab as cron does: first as a variable, else as fields and a command. Whether the
 * fields are a rule is for the calendar to say. Nothing is expanded, and no line goes on in the next. */
#include "cli/crontab.h"

#include "base/error.h"
#include "base/hash.h"

#define FIELDS       5
#define DIGEST_BYTES 4

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static size_t skip_blanks(struct belfry_str text, size_t at)
{
	while (at < text.len && is_blank(text.ptr[at])) {
		at++;
	}
	return at;
}

static size_t skip_word(struct belfry_str text, size_t at)
{
	while (at < text.len && !is_blank(text.ptr[at])) {
		at++;
	}
	return at;
}

bool bf_crontab_next_line(struct belfry_str *rest, struct belfry_str *ret_line,
		bool *ret_has_return)
{
	if (rest->len == 0) {
		return false;
	}
	const char *end = memchr(rest->ptr, '\n', rest->len);
	size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;

	*ret_has_return = len > 0 && rest->ptr[len - 1] == '\r';
	*ret_line = bf_str_slice(*rest, 0, len - (*ret_has_return ? 1 : 0));
	*rest = bf_str_slice(*rest, len + 1, rest->len);
	return true;
}

/* --- variables --- */

static bool is_name(struct belfry_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!is_letter && !(i > 0 && c >= '0' && c <= '9')) {
			return false;
		}
	}
	return name.len > 0;
}

/* A word in quotes of either kind that match, at `at`; *at moves behind it. */
static bool take_quoted(struct belfry_str line, size_t *at, struct belfry_str *ret_text)
{
	char quote = *at < line.len ? line.ptr[*at] : '\0';

	if (quote != '"' && quote != '\'') {
		return false;
	}
	const char *end = memchr(line.ptr + *at + 1, quote, line.len - *at - 1);
	if (end == NULL) {
		return false;
	}
	size_t close = (size_t)(end - line.ptr);
	*ret_text = bf_str_slice(line, *at + 1, close);
	*at = close + 1;
	return true;
}

static size_t find_name(struct belfry_str line, size_t at, struct belfry_str *ret_name)
{
	size_t end = at;

	if (take_quoted(line, &end, ret_name)) {
		return end;
	}
	while (end < line.len && !is_blank(line.ptr[end]) && line.ptr[end] != '=') {
		end++;
	}
	*ret_name = bf_str_slice(line, at, end);
	return end;
}

/* What stands behind "=": blanks around it are dropped, quotes that match keep them. */
static struct belfry_str find_value(struct belfry_str line, size_t at)
{
	struct belfry_str value;
	size_t end = line.len;

	at = skip_blanks(line, at);
	while (end > at && is_blank(line.ptr[end - 1])) {
		end--;
	}
	size_t behind = at;
	if (take_quoted(line, &behind, &value) && behind == end) {
		return value;
	}
	return bf_str_slice(line, at, end);
}

/* False: it is none. */
static bool parse_variable(struct belfry_str line, size_t at, struct bf_crontab_line *ret_line,
		enum belfry_status *ret_status, struct belfry_error *err)
{
	struct belfry_str name;
	size_t equals = skip_blanks(line, find_name(line, at, &name));

	if (equals >= line.len || line.ptr[equals] != '=') {
		return false;
	}
	*ret_status = BELFRY_OK;
	if (!is_name(name)) {
		*ret_status = bf_error_position(err, BELFRY_INVALID, at,
				"this is no name of a variable: letters, digits and _ make one");
		return true;
	}
	*ret_line = (struct bf_crontab_line){.kind = BF_CRONTAB_VARIABLE,
			.name = name,
			.value = find_value(line, equals + 1)};
	return true;
}

/* --- fields and command --- */

static enum belfry_status take_rule(struct belfry_str line, size_t *at,
		struct bf_crontab_line *parsed, struct belfry_error *err)
{
	size_t from = *at;
	size_t count = line.ptr[from] == '@' ? 1 : FIELDS;
	size_t end = from;

	for (size_t i = 0; i < count; i++) {
		size_t field = skip_blanks(line, end);

		if (field >= line.len) {
			return bf_error_position(err, BELFRY_INVALID, field,
					"%zu of five fields are there: minute, hour, day of month, month, "
					"day of week",
					i);
		}
		end = skip_word(line, field);
	}
	parsed->rule = bf_str_slice(line, from, end);
	*at = skip_blanks(line, end);
	return BELFRY_OK;
}

static enum belfry_status take_command(struct belfry_str line, size_t at, bool has_user,
		struct bf_crontab_line *parsed, struct belfry_error *err)
{
	if (has_user) {
		size_t end = skip_word(line, at);

		if (end == at) {
			return bf_error_position(err, BELFRY_INVALID, at,
					"the user is missing: in a system table it stands behind the fields");
		}
		parsed->user = bf_str_slice(line, at, end);
		at = skip_blanks(line, end);
	}
	if (at >= line.len) {
		return bf_error_position(err, BELFRY_INVALID, at, "the command is missing");
	}
	if (line.ptr[at] == '-') {
		return bf_error_position(err, BELFRY_INVALID, at,
				"flags in front of a command (-n, -q, -s) are not read: leave them out");
	}
	parsed->command = bf_str_slice(line, at, line.len);
	return BELFRY_OK;
}

enum belfry_status bf_crontab_parse_line(struct belfry_str line, bool has_user,
		struct bf_crontab_line *ret_line, struct belfry_error *err)
{
	struct bf_crontab_line parsed = {.kind = BF_CRONTAB_COMMAND};
	enum belfry_status status = BELFRY_OK;
	size_t at = skip_blanks(line, 0);

	if (at >= line.len || line.ptr[at] == '#') {
		*ret_line = (struct bf_crontab_line){.kind = BF_CRONTAB_NOTHING};
		return BELFRY_OK;
	}
	if (parse_variable(line, at, ret_line, &status, err)) {
		return status;
	}
	if (line.ptr[at] == '-' && at + 1 < line.len && !is_blank(line.ptr[at + 1])) {
		parsed.is_quiet = true;
		at++;
	}
	status = take_rule(line, &at, &parsed, err);
	if (status == BELFRY_OK) {
		status = take_command(line, at, has_user, &parsed, err);
	}
	if (status == BELFRY_OK) {
		*ret_line = parsed;
	}
	return status;
}

void bf_crontab_put_rule(struct bf_buf *buf, struct belfry_str rule)
{
	for (size_t at = 0; at < rule.len;) {
		size_t end = skip_word(rule, at);

		bf_buf_append_text(buf, at > 0 ? " " : "");
		bf_buf_append_str(buf, bf_str_slice(rule, at, end));
		at = skip_blanks(rule, end);
	}
}

/* --- the percent sign --- */

/* Of the input "\%" is a percent sign, "%" a newline, and any other backslash itself. */
static void put_input(struct belfry_str raw, struct bf_buf *input)
{
	for (size_t i = 0; i < raw.len; i++) {
		bool is_escaped = raw.ptr[i] == '\\' && i + 1 < raw.len && raw.ptr[i + 1] == '%';

		i += is_escaped ? 1 : 0;
		bf_buf_append_byte(input, raw.ptr[i] == '%' && !is_escaped ? '\n' : raw.ptr[i]);
	}
	if (raw.len == 0 || input->is_failed || input->ptr[input->len - 1] != '\n') {
		bf_buf_append_byte(input, '\n');
	}
}

bool bf_crontab_split_command(struct belfry_str raw, struct bf_buf *command, struct bf_buf *input)
{
	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.ptr[i];
		bool has_next = i + 1 < raw.len;

		if (c == '%') {
			put_input(bf_str_slice(raw, i + 1, raw.len), input);
			return true;
		}
		if (c == '\\' && has_next) {
			/* A backslash keeps its meaning for the shell, but before a percent sign. */
			bf_buf_append_text(command, raw.ptr[i + 1] == '%' ? "" : "\\");
			c = raw.ptr[++i];
		}
		bf_buf_append_byte(command, c);
	}
	return false;
}

/* --- names --- */

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '.' || c == '_';
}

/* "/usr/local/bin/backup.sh --full >/dev/null" is "backup.sh-full": without the folder of the first word
 * and without what goes nowhere. */
static void put_slug(struct bf_buf *buf, struct belfry_str command)
{
	size_t first = skip_word(command, 0);
	size_t at = 0;
	bool is_apart = false;

	for (size_t i = 0; i < first; i++) {
		at = command.ptr[i] == '/' && i + 1 < first ? i + 1 : at;
	}
	for (; at < command.len; at++) {
		if (!is_of_name(command.ptr[at])) {
			is_apart = buf->len > 0;
			continue;
		}
		bf_buf_append_text(buf, is_apart ? "-" : "");
		bf_buf_append_byte(buf, command.ptr[at]);
		is_apart = false;
	}
}

/* How much of the command names it: not what the shell does with its output. */
static struct belfry_str without_redirections(struct belfry_str command)
{
	for (size_t i = 1; i < command.len; i++) {
		bool is_end = command.ptr[i] == '>' ||
				(command.ptr[i] == '#' && is_blank(command.ptr[i - 1]));

		if (is_end) {
			bool has_number = i > 1 && command.ptr[i - 1] >= '0' &&
					command.ptr[i - 1] <= '9' && is_blank(command.ptr[i - 2]);

			return bf_str_slice(command, 0, has_number ? i - 1 : i);
		}
	}
	return command;
}

/* "cd /srv && backup": the folder is not what names it. */
static struct belfry_str without_folder(struct belfry_str command)
{
	if (!bf_str_starts_with(command, BF_STR("cd "))) {
		return command;
	}
	for (size_t i = 0; i + 1 < command.len; i++) {
		if (command.ptr[i] == '&' && command.ptr[i + 1] == '&') {
			return bf_str_slice(command, skip_blanks(command, i + 2), command.len);
		}
	}
	return command;
}

enum belfry_status bf_crontab_put_name(struct bf_buf *buf, struct belfry_str command)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf slug = {0};
	unsigned char digest[BF_SHA256_BYTES];

	put_slug(&slug, without_redirections(without_folder(command)));
	enum belfry_status status = bf_buf_status(&slug);
	if (status == BELFRY_OK && slug.len > 0 && slug.len <= BF_CRONTAB_NAME_BYTES) {
		bf_buf_append_str(buf, bf_buf_str(&slug));
		return bf_buf_status(buf);
	}
	if (status == BELFRY_OK) {
		status = bf_sha256(&command, 1, digest);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	size_t kept = BF_CRONTAB_NAME_BYTES - 1 - 2 * DIGEST_BYTES;
	while (kept > 0 && kept <= slug.len && slug.ptr[kept - 1] == '-') {
		kept--;
	}
	bf_buf_append_str(buf, bf_str_slice(bf_buf_str(&slug), 0, kept));
	bf_buf_append_text(buf, slug.len > 0 ? "-" : "cron-");
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		bf_buf_appendf(buf, "%02x", digest[i]);
	}
	return bf_buf_status(buf);
}

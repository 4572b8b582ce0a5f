/* Reads a shared calendar from a file. Which form it has is decided by its first line that says anything:
 * one that begins with a digit is an item of a list of lines, since no object, list or member begins so.
 *
 * What an item may be is for the server to say. */
#include "cli/calendar_file.h"

#include "base/error.h"
#include "base/grow.h"
#include "cli/document.h"

void bf_calendar_file_fini(struct bf_calendar_file *file)
{
	json_decref(file->body);
	bf_free(file->lines);
	*file = (struct bf_calendar_file){0};
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A line without its comment, and without blanks at its ends. */
static struct belfry_str trim(struct belfry_str line)
{
	const char *comment = line.len > 0 ? memchr(line.ptr, '#', line.len) : NULL;

	if (comment != NULL) {
		line.len = (size_t)(comment - line.ptr);
	}
	while (line.len > 0 && is_blank(line.ptr[0])) {
		line = bf_str_slice(line, 1, line.len);
	}
	while (line.len > 0 && is_blank(line.ptr[line.len - 1])) {
		line.len--;
	}
	return line;
}

/* The line at *at, which moves behind it. */
static struct belfry_str next_line(struct belfry_str text, size_t *at)
{
	const char *begin = text.ptr + *at;
	const char *end = memchr(begin, '\n', text.len - *at);
	size_t len = end != NULL ? (size_t)(end - begin) : text.len - *at;

	*at += len + (end != NULL ? 1 : 0);
	return (struct belfry_str){begin, len};
}

static bool is_lines(struct belfry_str text)
{
	struct belfry_str line = {0};

	for (size_t at = 0; at < text.len && line.len == 0;) {
		line = trim(next_line(text, &at));
	}
	return line.len > 0 && line.ptr[0] >= '0' && line.ptr[0] <= '9';
}

static enum belfry_status put_line(struct bf_calendar_file *file, size_t *capacity, json_t *except,
		struct belfry_str line, size_t number)
{
	if (BF_GROW(file->lines, *capacity, file->line_count + 1) != BELFRY_OK ||
			json_array_append_new(except, bf_json_new_str(line)) != 0) {
		return BELFRY_NOMEM;
	}
	file->lines[file->line_count++] = number;
	return BELFRY_OK;
}

static enum belfry_status parse_lines(const char *path, struct belfry_str text,
		struct bf_calendar_file *file, struct belfry_error *err)
{
	json_t *except = json_array();
	size_t capacity = 0;
	size_t number = 0;
	enum belfry_status status = BELFRY_OK;

	file->body = json_pack("{s:o}", "except", except);
	if (file->body == NULL) {
		return no_memory(err);
	}
	for (size_t at = 0; at < text.len && status == BELFRY_OK;) {
		struct belfry_str line = trim(next_line(text, &at));
		number++;
		if (line.len > 0 && !bf_str_is_utf8(line)) {
			return bf_error_set(err, BELFRY_INVALID, "%.100s: line %zu is not UTF-8",
					path, number);
		}
		if (line.len > 0) {
			status = put_line(file, &capacity, except, line, number);
		}
	}
	return status == BELFRY_OK ? status : no_memory(err);
}

static enum belfry_status take_document(const char *path, const struct bf_yaml *yaml,
		struct bf_calendar_file *file, struct belfry_error *err)
{
	json_t *document = json_array_get(yaml->documents, 0);

	if (json_array_size(yaml->documents) == 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.100s: there is nothing in it; a calendar that leaves nothing out is []",
				path);
	}
	if (json_array_size(yaml->documents) != 1) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.100s: a calendar is one document, and there are %zu", path,
				json_array_size(yaml->documents));
	}
	if (json_is_array(document)) {
		file->body = json_pack("{s:O}", "except", document);
		return file->body != NULL ? BELFRY_OK : no_memory(err);
	}
	if (!json_is_object(document)) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.100s: a calendar is a list of dates, or a mapping with except: and "
				"description:",
				path);
	}
	file->body = json_incref(document);
	return BELFRY_OK;
}

enum belfry_status bf_calendar_file_parse(const char *path, struct belfry_str text,
		struct bf_calendar_file *ret_file, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_file_fini) struct bf_calendar_file file = {0};
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	enum belfry_status status;

	if (is_lines(text)) {
		status = parse_lines(path, text, &file, err);
	} else {
		status = bf_document_parse(path, text, &yaml, err);
		if (status == BELFRY_OK) {
			status = take_document(path, &yaml, &file, err);
		} else {
			bf_error_prefix(err, "%.100s: ", path);
		}
	}
	if (status == BELFRY_OK) {
		*ret_file = file;
		file = (struct bf_calendar_file){0};
	}
	return status;
}

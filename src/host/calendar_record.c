/* One calendar: reading what somebody sends, and the document that keeps it. Kind "calendar"; id and name
 * of the document are the calendar's name, the etag is its revision, the bytes are description and list.
 *
 * Invariant  a name never has a revision twice: of a calendar that was removed an empty document stays, which
 *            is not found, and whose etag the next calendar of this name goes on from. So a revision that
 *            somebody remembers is never taken for another calendar's.
 *
 * Not here   what a change does to deployments (calendar_users.c). */
#include <stdio.h>

#include "base/error.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/host_priv.h"

/* So that the shortest rule that names it, and the longest that a person may write, still fit. */
#define LIST_BYTES   (BELFRY_RULE_BYTES - BF_DEPLOYMENT_RULE_BYTES)
#define RECORD_BYTES (2 * BELFRY_RULE_BYTES)
#define NO_CONTENT   "{}"

/* A rule around the list that only a list of everything leaves nothing of. */
#define CHECK_BEGIN "{\"cron\":\"* * * * * *\",\"except\":"
#define CHECK_END   "}"

void bf_calendar_fini(struct bf_calendar *calendar)
{
	json_decref(calendar->content);
	*calendar = (struct bf_calendar){0};
}

bool bf_calendar_is_equal(const struct bf_calendar *stored, const struct bf_calendar *other)
{
	return stored->revision > 0 && bf_str_equal(stored->description, other->description) &&
			json_equal(stored->except, other->except);
}

/* --- the list --- */

static enum belfry_status refuse_item(size_t index, const char *what, struct belfry_error *err)
{
	char pointer[64];

	(void)snprintf(pointer, sizeof(pointer), "/except/%zu", index);
	return bf_error_at(err, BELFRY_INVALID_SCHEDULE, pointer, "except: item %zu %s", index,
			what);
}

/* The calendar library says what an item may be. */
static enum belfry_status parse_list(struct bf_host *host, struct belfry_str list,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct belfry_rule *rule = NULL;

	bf_buf_append_text(&text, CHECK_BEGIN);
	bf_buf_append_str(&text, list);
	bf_buf_append_text(&text, CHECK_END);
	if (bf_buf_status(&text) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = belfry_rule_new(host->options.zones, bf_buf_str(&text),
			BF_STR("UTC"), NULL, &rule, err);
	if (status != BELFRY_OK && err != NULL && err->position > 0) {
		err->position = bf_deployment_rule_position(bf_buf_str(&text), err->position);
	}
	belfry_rule_free(rule);
	return status;
}

static enum belfry_status check_list(struct bf_host *host, const json_t *except,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	for (size_t i = 0; i < json_array_size(except); i++) {
		if (json_object_get(json_array_get(except, i), "calendar") != NULL) {
			return refuse_item(i,
					"names another calendar: a calendar holds dates, local times and "
					"crons alone",
					err);
		}
	}
	if (bf_json_dump(except, &text) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (text.len > LIST_BYTES) {
		return bf_error_at(err, BELFRY_TOO_LARGE, "/except",
				"except: it has %zu bytes as JSON, and at most %d are taken: make "
				"two calendars of it",
				text.len, LIST_BYTES);
	}
	return json_array_size(except) > 0 ? parse_list(host, bf_buf_str(&text), err) : BELFRY_OK;
}

/* --- reading --- */

static void read_name(struct bf_json_reader *reader, struct belfry_str name)
{
	struct belfry_str given;

	if (bf_json_reader_string(reader, "name", BF_JSON_NULLABLE, 0, SIZE_MAX, &given) &&
			!bf_str_equal(given, name)) {
		bf_json_reader_refuse(reader, "name", NULL, BELFRY_INVALID,
				"\"name\" is another one than the path has: leave it out");
	}
}

static void refuse_read_only(struct bf_json_reader *reader)
{
	static const char *const names[] = {"revision", "created_at", "updated_at", "used_by"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_json_reader_has(reader, names[i])) {
			bf_json_reader_refuse(reader, names[i], NULL, BELFRY_INVALID,
					"\"%s\" is read-only: leave it out", names[i]);
		}
	}
}

static void read_members(struct bf_json_reader *reader, struct bf_calendar *calendar)
{
	(void)bf_json_reader_string(reader, "description", BF_JSON_NULLABLE, 0,
			BF_CALENDAR_DESCRIPTION_BYTES, &calendar->description);
	(void)bf_json_reader_array(reader, "except", BF_JSON_REQUIRED, 0, BF_CALENDAR_ITEMS,
			&calendar->except); /* the reader keeps the failure */
}

static void put_name(struct bf_calendar *calendar, struct belfry_str name)
{
	size_t len = BF_MIN(name.len, BF_CALENDAR_NAME_BYTES);

	memcpy(calendar->name, name.ptr, len);
	calendar->name[len] = '\0';
}

enum belfry_status bf_calendar_read(struct bf_host *host, struct belfry_str name,
		const json_t *body, struct bf_calendar *ret_calendar, struct belfry_error *err)
{
	struct bf_json_reader reader;
	struct bf_calendar calendar = {0};

	if (!bf_calendar_name_is_good(name)) {
		return bf_error_set(err, BELFRY_INVALID,
				"a calendar's name has 1 to %d letters, digits, \"-\", \"_\" and \".\", and "
				"does not begin with \".\"",
				BF_CALENDAR_NAME_BYTES);
	}
	bf_json_reader_begin(&reader, body, "", err);
	refuse_read_only(&reader);
	read_name(&reader, name);
	read_members(&reader, &calendar);
	enum belfry_status status = bf_json_reader_end(&reader);
	if (status == BELFRY_OK) {
		status = check_list(host, calendar.except, err);
	}
	if (status == BELFRY_OK) {
		put_name(&calendar, name);
		calendar.content = json_incref((json_t *)(uintptr_t)body);
		*ret_calendar = calendar;
	}
	return status;
}

enum belfry_status bf_calendar_decode(const struct belfry_document *document,
		struct bf_calendar *ret_calendar, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *content = NULL;
	struct bf_calendar calendar = {
			.revision = document->etag,
			.created_at = document->created_at,
			.updated_at = document->updated_at,
	};
	struct bf_json_reader reader;
	struct belfry_error reading = {0};
	enum belfry_status status = bf_json_parse(document->bytes, RECORD_BYTES, &content,
			&reading);

	if (status == BELFRY_OK) {
		bf_json_reader_begin(&reader, content, "", &reading);
		read_members(&reader, &calendar);
		status = bf_json_reader_end(&reader);
	}
	if (status == BELFRY_NOMEM) {
		return bf_error_set(err, status, "out of memory");
	}
	if (status != BELFRY_OK || !bf_calendar_name_is_good(document->id)) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"the record of the calendar %.*s cannot be read: %s",
				BF_STR_ARGS(document->id), reading.message);
	}
	put_name(&calendar, document->id);
	calendar.content = json_incref(content);
	*ret_calendar = calendar;
	return BELFRY_OK;
}

enum belfry_status bf_calendar_load(struct bf_host *host, struct belfry_str name,
		struct bf_calendar *ret_calendar, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	if (!bf_calendar_name_is_good(name)) {
		return bf_record_not_found(err);
	}
	enum belfry_status status = bf_backend_get_document(host->options.store,
			BF_STR(BF_CALENDAR_KIND), name, &arena, &document, err);
	if (status == BELFRY_OK && (document.flags & BF_CALENDAR_F_GONE) != 0) {
		status = BELFRY_NOT_FOUND;
	}
	if (status == BELFRY_NOT_FOUND) {
		return bf_error_set(err, status,
				"there is no calendar \"%.*s\": `belfry calendars list` shows those "
				"that there are",
				BF_STR_ARGS(name));
	}
	return status == BELFRY_OK ? bf_calendar_decode(&document, ret_calendar, err) : status;
}

/* --- writing --- */

static enum belfry_status write_bytes(const struct bf_calendar *calendar, struct bf_buf *bytes)
{
	struct bf_json_writer writer;
	BF_CLEANUP(bf_cleanup_json) json_t *content = NULL;

	bf_json_writer_begin(&writer);
	bf_json_write_str_or_null(&writer, "description", calendar->description);
	bf_json_write_value(&writer, "except", json_incref((json_t *)(uintptr_t)calendar->except));
	enum belfry_status status = bf_json_writer_end(&writer, &content);
	return status == BELFRY_OK ? bf_json_dump(content, bytes) : status;
}

/* The etag of what is left of an earlier calendar of this name; 0: nothing is. */
static enum belfry_status find_rest(struct bf_host *host, struct belfry_str name, int64_t *ret_etag,
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document = {0};
	enum belfry_status status = bf_backend_get_document(host->options.store,
			BF_STR(BF_CALENDAR_KIND), name, &arena, &document, err);

	if (status != BELFRY_OK && status != BELFRY_NOT_FOUND) {
		return status;
	}
	*ret_etag = (document.flags & BF_CALENDAR_F_GONE) != 0 ? document.etag : 0;
	return BELFRY_OK;
}

enum belfry_status bf_calendar_save(struct bf_host *host, struct bf_calendar *calendar,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	int64_t etag = calendar->revision;
	enum belfry_status status = write_bytes(calendar, &bytes);

	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "out of memory");
	}
	if (etag == 0) {
		status = find_rest(host, bf_str(calendar->name), &etag, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_document document = {
			.kind = BF_STR(BF_CALENDAR_KIND),
			.id = bf_str(calendar->name),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.name = bf_str(calendar->name),
			.bytes = bf_buf_str(&bytes),
	};
	status = bf_backend_put_document(host->options.store, &document, etag, err);
	if (status == BELFRY_OK) {
		calendar->revision = document.etag;
		calendar->created_at = document.created_at;
		calendar->updated_at = document.updated_at;
	}
	return status;
}

enum belfry_status bf_calendar_remove(struct bf_host *host, struct belfry_str name,
		int64_t revision, struct belfry_error *err)
{
	struct belfry_document rest = {
			.kind = BF_STR(BF_CALENDAR_KIND),
			.id = name,
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.flags = BF_CALENDAR_F_GONE,
			.bytes = BF_STR(NO_CONTENT),
	};

	return bf_backend_put_document(host->options.store, &rest, revision, err);
}

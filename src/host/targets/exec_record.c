/* The document of a command that may run: who it is, and under which fence it was started.
 *
 * Invariant  it is there from before the gate is opened until the Run's end is on record; so a Run whose
 *            document is there may have run, and one without it has not, or is over. */
#include "base/error.h"
#include "base/json.h"
#include "host/backend.h"
#include "host/targets/exec_priv.h"

#define NOTE_BYTES_MAX (16 * 1024)

static enum belfry_status build(const struct bf_exec_note *note, json_t **ret_object)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	bf_json_write_int(&writer, "pid", note->identity.pid);
	bf_json_write_int(&writer, "start_time", (int64_t)note->identity.start_time);
	bf_json_write_text(&writer, "boot", note->identity.boot);
	bf_json_write_str(&writer, "folder", note->folder);
	bf_json_write_int(&writer, "fence", (int64_t)note->fence);
	bf_json_write_int(&writer, "attempt", note->attempt);
	bf_json_write_int(&writer, "output_limit", (int64_t)note->output_limit);
	bf_json_write_bool(&writer, "abandon", note->is_abandoned);
	return bf_json_writer_end(&writer, ret_object);
}

void bf_exec_note_format(const struct bf_exec_note *note, struct bf_buf *out)
{
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;

	if (build(note, &object) != BELFRY_OK || bf_json_dump(object, out) != BELFRY_OK) {
		out->is_failed = true;
	}
}

static void read_identity(struct bf_json_reader *reader, struct bf_exec_identity *identity)
{
	struct belfry_str boot = {0};
	int64_t pid = 0;
	int64_t start_time = 0;

	(void)bf_json_reader_int(reader, "pid", BF_JSON_REQUIRED, 2, INT32_MAX, &pid);
	(void)bf_json_reader_int(reader, "start_time", BF_JSON_REQUIRED, 0, INT64_MAX, &start_time);
	if (bf_json_reader_string(reader, "boot", BF_JSON_REQUIRED, 0, BF_EXEC_BOOT_BYTES - 1,
			    &boot)) {
		memcpy(identity->boot, boot.ptr, boot.len);
		identity->boot[boot.len] = '\0';
	}
	identity->pid = (pid_t)pid;
	identity->start_time = (uint64_t)start_time;
}

enum belfry_status bf_exec_note_parse(struct belfry_str bytes, struct belfry_arena *arena,
		struct bf_exec_note *ret_note)
{
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;
	struct bf_json_reader reader;
	struct bf_exec_note note = {0};
	struct belfry_str folder = {0};
	int64_t fence = 0;
	int64_t attempt = 0;
	int64_t limit = 0;

	enum belfry_status status = bf_json_parse(bytes, NOTE_BYTES_MAX, &object, NULL);
	if (status != BELFRY_OK) {
		return status == BELFRY_NOMEM ? status : BELFRY_CORRUPT;
	}
	bf_json_reader_begin(&reader, object, "", NULL);
	read_identity(&reader, &note.identity);
	(void)bf_json_reader_string(&reader, "folder", BF_JSON_REQUIRED, 0, SIZE_MAX, &folder);
	(void)bf_json_reader_int(&reader, "fence", BF_JSON_REQUIRED, 0, INT64_MAX, &fence);
	(void)bf_json_reader_int(&reader, "attempt", BF_JSON_REQUIRED, 0, UINT32_MAX, &attempt);
	(void)bf_json_reader_int(&reader, "output_limit", BF_JSON_REQUIRED, 1, INT64_MAX, &limit);
	(void)bf_json_reader_bool(&reader, "abandon", BF_JSON_REQUIRED, &note.is_abandoned);
	status = bf_json_reader_end(&reader);
	if (status != BELFRY_OK) {
		return status == BELFRY_NOMEM ? status : BELFRY_CORRUPT;
	}
	note.fence = (belfry_fence)fence;
	note.attempt = (uint32_t)attempt;
	note.output_limit = (uint64_t)limit;
	status = belfry_arena_copy(arena, folder, &note.folder);
	if (status == BELFRY_OK) {
		*ret_note = note;
	}
	return status;
}

enum belfry_status bf_exec_note_put(struct bf_exec_command *command, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	const struct bf_exec_note note = {
			.identity = command->identity,
			.fence = command->request.fence,
			.attempt = command->request.attempt,
			.output_limit = command->request.output_limit,
			.is_abandoned = command->request.is_abandoned,
			.folder = bf_str(command->exec->options.data_folder),
	};

	bf_exec_note_format(&note, &bytes);
	if (bf_buf_status(&bytes) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	struct belfry_document document = {
			.kind = BF_STR(BF_EXEC_KIND),
			.id = bf_str(command->run_text),
			.bytes = bf_buf_str(&bytes),
	};
	enum belfry_status status = bf_backend_put_document(command->exec->options.store, &document,
			command->etag, err);
	if (status == BELFRY_OK) {
		command->etag = document.etag;
	}
	return status;
}

enum belfry_status bf_exec_note_get(struct bf_exec_command *command, struct belfry_arena *arena,
		struct bf_exec_note *ret_note, struct belfry_error *err)
{
	struct belfry_document document;
	enum belfry_status status = bf_backend_get_document(command->exec->options.store,
			BF_STR(BF_EXEC_KIND), bf_str(command->run_text), arena, &document, err);

	if (status != BELFRY_OK) {
		return status;
	}
	command->etag = document.etag;
	return bf_exec_note_parse(document.bytes, arena, ret_note);
}

void bf_exec_note_remove(struct bf_exec_command *command)
{
	struct belfry_error err = {0};

	if (command->etag == 0) {
		return;
	}
	/* The one that we wrote. One that stays is looked at again by the next start. */
	enum belfry_status status = bf_backend_remove_document(command->exec->options.store,
			BF_STR(BF_EXEC_KIND), bf_str(command->run_text), command->etag, &err);
	if (status == BELFRY_OK || status == BELFRY_NOT_FOUND || status == BELFRY_PRECONDITION) {
		command->etag = 0;
		return;
	}
	bf_log(command->exec->options.env, BF_LOG_WARNING,
			"event=exec_note_left run=%s detail=\"%s\" next=\"the next start removes it\"",
			command->run_text, err.detail[0] != '\0' ? err.detail : err.message);
}

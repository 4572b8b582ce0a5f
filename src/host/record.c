/* The records of deployments: documents of the kind "deployment", owned by the one owner, named by
 * the deployment's name (so the store keeps names unique), with the enabled bit among the flags
 * (so lists can ask for it), and the canonical content as bytes. The etag is the revision.
 *
 * A record that is to go has the flag BF_RECORD_F_GOING, no name, and no content: the name is free
 * from that put on, and nothing here finds the record any more. */
#include "base/error.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/host_priv.h"

/* Content above the payload's limit was never saved. */
#define RECORD_BYTES (8 * 1024 * 1024)

#define NO_CONTENT "{}" /* no deployment's */

enum belfry_status bf_record_not_found(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOT_FOUND, "%s", belfry_status_text(BELFRY_NOT_FOUND));
}

enum belfry_status bf_record_decode(struct bf_host *host, const struct belfry_document *document,
		struct bf_deployment *ret_deployment, struct belfry_error *err)
{
	struct bf_deployment_options options = {
			.grace = bf_host_grace(host),
			.is_stored = true,
	};
	struct belfry_error reading = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *content = NULL;

	enum belfry_status status = bf_json_parse(document->bytes, RECORD_BYTES, &content,
			&reading);
	if (status == BELFRY_OK) {
		status = bf_deployment_read(content, &options, ret_deployment, &reading);
	}
	if (status == BELFRY_NOMEM) {
		return bf_error_set(err, status, "out of memory");
	}
	if (status != BELFRY_OK || document->id.len >= sizeof(ret_deployment->id)) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"the record of deployment %.*s cannot be read: %s",
				BF_STR_ARGS(document->id), reading.message);
	}
	memcpy(ret_deployment->id, document->id.ptr, document->id.len);
	ret_deployment->id[document->id.len] = '\0';
	ret_deployment->revision = document->etag;
	ret_deployment->created_at = document->created_at;
	ret_deployment->updated_at = document->updated_at;
	return BELFRY_OK;
}

/* An id that is none is not there: nobody learns what ids look like from another answer. */
static enum belfry_status get_any_document(struct bf_host *host, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	struct belfry_id parsed;

	if (belfry_id_parse(id, &parsed) != BELFRY_OK) {
		return bf_record_not_found(err);
	}
	enum belfry_status status = bf_backend_get_document(host->options.store,
			BF_STR(BF_RECORD_KIND), id, arena, ret_document, err);
	return status == BELFRY_NOT_FOUND ? bf_record_not_found(err) : status;
}

enum belfry_status bf_record_get(struct bf_host *host, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	enum belfry_status status = get_any_document(host, id, arena, ret_document, err);

	if (status == BELFRY_OK && (ret_document->flags & BF_RECORD_F_GOING) != 0) {
		return bf_record_not_found(err);
	}
	return status;
}

enum belfry_status bf_record_load(struct bf_host *host, struct belfry_str id,
		struct bf_deployment *ret_deployment, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	enum belfry_status status = bf_record_get(host, id, &arena, &document, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_record_decode(host, &document, ret_deployment, err);
}

enum belfry_status bf_record_get_revision(struct bf_host *host, struct belfry_str id,
		int64_t *ret_revision, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	enum belfry_status status = bf_record_get(host, id, &arena, &document, err);
	if (status == BELFRY_OK) {
		*ret_revision = document.etag;
	}
	return status;
}

enum belfry_status bf_record_get_stage(struct bf_host *host, struct belfry_str id,
		int64_t *ret_revision, bool *ret_is_marked, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	enum belfry_status status = get_any_document(host, id, &arena, &document, err);
	if (status == BELFRY_OK) {
		*ret_revision = document.etag;
		*ret_is_marked = (document.flags & BF_RECORD_F_GOING) != 0;
	}
	return status;
}

enum belfry_status bf_record_mark(struct bf_host *host, struct belfry_str id, int64_t *revision,
		struct belfry_error *err)
{
	struct belfry_document document = {
			.kind = BF_STR(BF_RECORD_KIND),
			.id = id,
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.flags = BF_RECORD_F_GOING,
			.bytes = BF_STR(NO_CONTENT),
	};
	enum belfry_status status = bf_backend_put_document(host->options.store, &document,
			*revision, err);

	if (status == BELFRY_OK) {
		*revision = document.etag;
	}
	return status;
}

/* Beside the content: what the shared calendars made of the rule, and which they were. */
static enum belfry_status put_expansion(json_t *content, const struct bf_expansion *expansion)
{
	if (expansion->calendars == NULL) {
		return BELFRY_OK;
	}
	if (json_object_set(content, "calendars", expansion->calendars) != 0 ||
			json_object_set_new(content, "rule_expanded",
					bf_json_new_str(bf_buf_str(&expansion->text))) != 0) {
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

enum belfry_status bf_record_save(struct bf_host *host, struct bf_deployment *deployment,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *content = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};

	enum belfry_status status = bf_deployment_write_content(deployment, &content);
	if (status == BELFRY_OK) {
		status = put_expansion(content, &deployment->expansion);
	}
	if (status == BELFRY_OK) {
		status = bf_json_dump(content, &bytes);
	}
	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "out of memory");
	}
	struct belfry_document document = {
			.kind = BF_STR(BF_RECORD_KIND),
			.id = bf_str(deployment->id),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.name = deployment->name,
			.flags = (deployment->is_enabled ? BF_RECORD_F_ENABLED : 0) |
					bf_calendar_flags(deployment->expansion.calendars),
			.bytes = bf_buf_str(&bytes),
	};
	status = bf_backend_put_document(host->options.store, &document, deployment->revision, err);
	if (status == BELFRY_CONFLICT) {
		struct belfry_str name = bf_str_slice(deployment->name, 0, 100);
		return bf_error_at(err, status, "/name",
				"name: there is a deployment named \"%.*s\" already; choose "
				"another name, or change that one",
				BF_STR_ARGS(name));
	}
	if (status == BELFRY_OK) {
		deployment->revision = document.etag;
		deployment->created_at = document.created_at;
		deployment->updated_at = document.updated_at;
	}
	return status;
}

enum belfry_status bf_record_remove(struct bf_host *host, struct belfry_str id, int64_t revision,
		struct belfry_error *err)
{
	return bf_backend_remove_document(host->options.store, BF_STR(BF_RECORD_KIND), id, revision,
			err);
}

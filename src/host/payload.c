/* The payload of a schedule: compact JSON of target, prompt, input and the deployment's id and
 * name, encoded once when a deployment is saved, and decoded where the Run is dispatched.
 * Everything between carries it as opaque bytes, so a prompt comes back as it went in
 * (contract.md, T063), and a Run keeps the content that it was made with (T060). */
#include "host/deployment.h"

#include "base/error.h"

static void write_deployment(struct bf_json_writer *writer, const struct bf_deployment *d)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "id", d->id);
	bf_json_write_str(&w, "name", d->name);
	if (bf_json_writer_end(&w, &object) != BELFRY_OK) {
		writer->is_failed = true;
		return;
	}
	bf_json_write_value(writer, "deployment", object);
}

static void write_limits(struct bf_json_writer *writer, const struct bf_deployment *d)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_str(&w, "timezone", bf_deployment_zone(d));
	bf_json_write_duration(&w, "timeout", d->policies.timeout);
	bf_json_write_bool(&w, "abandon", d->policies.interrupted == BELFRY_INTERRUPTED_ABANDON);
	bf_json_write_bool(&w, "single", d->policies.max_attempts == 1);
	if (bf_json_writer_end(&w, &object) != BELFRY_OK) {
		writer->is_failed = true;
		return;
	}
	bf_json_write_value(writer, "limits", object);
}

static enum belfry_status build(const struct bf_deployment *d, json_t **ret_object)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	write_deployment(&writer, d);
	bf_deployment_write_target(&writer, &d->target);
	if (d->target.kind == BF_TARGET_EXEC) {
		write_limits(&writer, d);
	}
	bf_json_write_str(&writer, "prompt", d->prompt);
	if (d->input != NULL) {
		bf_json_write_value(&writer, "input", json_incref((json_t *)(uintptr_t)d->input));
	} else {
		bf_json_write_null(&writer, "input");
	}
	return bf_json_writer_end(&writer, ret_object);
}

enum belfry_status bf_payload_encode(const struct bf_deployment *deployment, struct bf_buf *payload,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;
	enum belfry_status status = build(deployment, &object);

	bf_buf_clear(payload);
	if (status == BELFRY_OK) {
		status = bf_json_dump(object, payload);
	}
	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "out of memory");
	}
	if (payload->len > BELFRY_PAYLOAD_BYTES) {
		return bf_error_at(err, BELFRY_TOO_LARGE, "/prompt",
				"prompt, input and target have %zu bytes together as JSON, and at "
				"most %u are taken: send less",
				payload->len, BELFRY_PAYLOAD_BYTES);
	}
	return BELFRY_OK;
}

void bf_payload_fini(struct bf_payload *payload)
{
	json_decref(payload->json);
	*payload = (struct bf_payload){0};
}

static void read_limits(struct bf_json_reader *reader, struct bf_payload_limits *ret_limits)
{
	struct bf_json_reader child;

	if (!bf_json_reader_enter(reader, "limits", BF_JSON_REQUIRED, &child)) {
		return;
	}
	(void)bf_json_reader_string(&child, "timezone", BF_JSON_REQUIRED, 1, BELFRY_ZONE_BYTES,
			&ret_limits->timezone);
	(void)bf_json_reader_duration(&child, "timeout", BF_JSON_REQUIRED, 0, INT64_MAX,
			&ret_limits->timeout);
	(void)bf_json_reader_bool(&child, "abandon", BF_JSON_REQUIRED, &ret_limits->is_abandoned);
	(void)bf_json_reader_bool(&child, "single", BF_JSON_REQUIRED, &ret_limits->is_single);
	(void)bf_json_reader_end(&child); /* the failure went up */
}

enum belfry_status bf_payload_decode(struct belfry_str bytes, struct bf_payload *ret_payload,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_payload_fini) struct bf_payload payload = {0};
	struct bf_json_reader reader;

	enum belfry_status status = bf_json_parse(bytes, BELFRY_PAYLOAD_BYTES, &payload.json, err);
	if (status != BELFRY_OK) {
		return status == BELFRY_NOMEM ? status : BELFRY_CORRUPT;
	}
	bf_json_reader_begin(&reader, payload.json, "", err);
	(void)bf_json_reader_value(&reader, "deployment", BF_JSON_REQUIRED, &payload.deployment);
	(void)bf_json_reader_string(&reader, "prompt", BF_JSON_REQUIRED, 0, SIZE_MAX,
			&payload.prompt);
	(void)bf_json_reader_value(&reader, "input", BF_JSON_NULLABLE, &payload.input);
	bf_deployment_read_target(&reader, &payload.target);
	if (payload.target.kind == BF_TARGET_EXEC) {
		read_limits(&reader, &payload.limits);
	}
	status = bf_json_reader_end(&reader);
	if (status != BELFRY_OK) {
		return status == BELFRY_NOMEM ? status : BELFRY_CORRUPT;
	}
	*ret_payload = payload;
	payload = (struct bf_payload){0};
	return BELFRY_OK;
}

enum belfry_status bf_deployment_fill_schedule(const struct bf_deployment *d,
		struct bf_buf *payload, struct belfry_schedule *ret_schedule,
		struct belfry_error *err)
{
	struct belfry_schedule schedule = BELFRY_SCHEDULE_INIT;
	enum belfry_status status = bf_payload_encode(d, payload, err);

	if (status != BELFRY_OK) {
		return status;
	}
	schedule.flags = BELFRY_SCHEDULE_F_LOCAL_SESSION |
			(d->is_enabled ? BELFRY_SCHEDULE_F_ENABLED : 0);
	schedule.revision = d->revision;
	schedule.id = bf_str(d->id);
	schedule.created_at = d->created_at;
	schedule.rule = bf_deployment_rule(d);
	schedule.zone = bf_deployment_zone(d);
	schedule.fair_key = BF_STR(BF_OWNER_DEFAULT);
	schedule.payload = bf_buf_str(payload);
	schedule.policies = d->policies;
	if (d->target.kind == BF_TARGET_EXEC) {
		schedule.policies.timeout = 0; /* the target keeps to it itself: `limits` */
	}
	*ret_schedule = schedule;
	return BELFRY_OK;
}

/* The target of a deployment: reading and writing its JSON. This version offers the kinds `webhook` and
 * `exec` (deployment_exec.c); the others are refused by name.
 *
 * Not here  whether the address is allowed (deployments.c asks the guard), and the call itself. */
#include "host/deployment.h"

#include "host/targets/secrets.h"
#include "host/targets/url.h"

enum { KIND_WEBHOOK, KIND_EXEC = 2 }; /* places in: */
static const char *const kinds[] = {"webhook", "remote", "exec", "chat", NULL};
static const char *const methods[] = {"POST", "PUT", "PATCH", "GET", "DELETE", NULL};

static void read_secret_name(struct bf_json_reader *reader, const char *member, const json_t *name)
{
	if (bf_json_reader_is_ok(reader)) {
		bf_json_reader_refuse_from(reader, member,
				bf_secret_name_check(bf_json_str(name), reader->err));
	}
}

void bf_deployment_check_value(struct bf_json_reader *reader, const char *name, const char *key,
		const json_t *value)
{
	const json_t *secret = json_object_get(value, "secret");

	if (json_is_object(value) && json_object_size(value) == 1 && json_is_string(secret)) {
		read_secret_name(reader, name, secret);
	} else if (!json_is_string(value)) {
		bf_json_reader_refuse(reader, name, key, BELFRY_INVALID,
				"%s: a value must be text or {\"secret\": NAME}", name);
	}
}

/* With {"secret": NAME} the field is the secret's first value at the time of the call. */
static void check_header(struct bf_json_reader *reader, const char *key, const json_t *value)
{
	bf_deployment_check_value(reader, "headers", key, value);
	if (bf_json_reader_is_ok(reader)) {
		bf_json_reader_refuse_from(reader, "headers",
				bf_target_header_check(bf_str(key), bf_json_str(value),
						reader->err));
	}
}

static void read_headers(struct bf_json_reader *reader, const json_t **headers)
{
	const char *key;
	json_t *value;

	if (!bf_json_reader_map(reader, "headers", BF_JSON_NULLABLE, BF_DEPLOYMENT_HEADERS,
			    headers)) {
		return;
	}
	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)*headers, key, value)
	{
		check_header(reader, key, value);
	}
}

static void read_webhook(struct bf_json_reader *reader, struct bf_target_webhook *target)
{
	unsigned method = 0;

	(void)bf_json_reader_string(reader, "url", BF_JSON_REQUIRED, 1, BF_DEPLOYMENT_URL_BYTES,
			&target->url);
	(void)bf_json_reader_enum(reader, "method", BF_JSON_NULLABLE, methods, &method);
	target->method = bf_str(methods[method]);
	read_headers(reader, &target->headers);
	(void)bf_json_reader_value(reader, "body", BF_JSON_NULLABLE, &target->body);
	if (bf_json_reader_string(reader, "secret", BF_JSON_NULLABLE, 1, SIZE_MAX,
			    &target->secret)) {
		bf_json_reader_refuse_from(reader, "secret",
				bf_secret_name_check(target->secret, reader->err));
	}
}

void bf_deployment_read_target(struct bf_json_reader *reader, struct bf_target *ret_target)
{
	struct bf_json_reader child;
	unsigned kind;

	if (!bf_json_reader_enter(reader, "target", BF_JSON_REQUIRED, &child)) {
		return;
	}
	if (bf_json_reader_enum(&child, "kind", BF_JSON_REQUIRED, kinds, &kind)) {
		if (kind == KIND_WEBHOOK) {
			ret_target->kind = BF_TARGET_WEBHOOK;
			read_webhook(&child, &ret_target->webhook);
		} else if (kind == KIND_EXEC) {
			ret_target->kind = BF_TARGET_EXEC;
			bf_deployment_read_exec(&child, &ret_target->exec);
		} else {
			bf_json_reader_refuse(&child, "kind", NULL, BELFRY_INVALID,
					"target/kind: this version does not offer \"%s\", it offers "
					"\"webhook\" and \"exec\"",
					kinds[kind]);
		}
	}
	(void)bf_json_reader_end(&child); /* the failure went up */
}

static void write_value(struct bf_json_writer *writer, const char *name, const json_t *value)
{
	if (value == NULL) {
		bf_json_write_null(writer, name);
	} else {
		bf_json_write_value(writer, name, json_incref((json_t *)(uintptr_t)value));
	}
}

static void write_webhook(struct bf_json_writer *w, const struct bf_target_webhook *target)
{
	bf_json_write_text(w, "kind", "webhook");
	bf_json_write_str(w, "url", target->url);
	bf_json_write_str(w, "method", target->method);
	if (target->headers != NULL) {
		write_value(w, "headers", target->headers);
	} else {
		bf_json_write_value(w, "headers", json_object());
	}
	write_value(w, "body", target->body);
	bf_json_write_str_or_null(w, "secret", target->secret);
}

void bf_deployment_write_target(struct bf_json_writer *writer, const struct bf_target *target)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	switch (target->kind) {
	case BF_TARGET_WEBHOOK: write_webhook(&w, &target->webhook); break;
	case BF_TARGET_EXEC:
		bf_json_write_text(&w, "kind", "exec");
		bf_deployment_write_exec(&w, &target->exec);
		break;
	}
	if (bf_json_writer_end(&w, &object) != BELFRY_OK) {
		writer->is_failed = true;
		return;
	}
	bf_json_write_value(writer, "target", object);
}

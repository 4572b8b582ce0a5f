/* What people call a deployment or a Run, looked up on the server. */
#ifndef BF_CLI_RESOLVE_H
#define BF_CLI_RESOLVE_H

#include "cli/cli.h"

/* `text` is an id, a name, or OWNER/NAME. *ret_deployment is owned by the caller (json_decref).
 * BELFRY_NOT_FOUND; BELFRY_CONFLICT where several owners have the name; what the client answers. */
BF_MUST_CHECK enum belfry_status bf_resolve_deployment(struct bf_cli *cli, const char *text,
		json_t **ret_deployment, struct belfry_error *err);

/* `text` is an id, NAME@TIME or NAME@last. The Run as the API shows it, with its attempts. */
BF_MUST_CHECK enum belfry_status bf_resolve_run(struct bf_cli *cli, const char *text,
		json_t **ret_run, struct belfry_error *err);

/* Has `text` the form of an id? */
bool bf_resolve_is_id(const char *text);

/* GET /v1/KIND/ID, one object. */
BF_MUST_CHECK enum belfry_status bf_resolve_get(struct bf_cli *cli, const char *kind,
		struct belfry_str id, json_t **ret_object, struct belfry_error *err);

/* --if-revision of `args`, 0 where it is not given. BELFRY_PRECONDITION: `object`, as it is now, has another
 * one. */
BF_MUST_CHECK enum belfry_status bf_resolve_revision(const struct bf_args *args,
		const json_t *object, int64_t *ret_revision, struct belfry_error *err);

/* A time argument in the zone of a deployment. */
BF_MUST_CHECK enum belfry_status bf_resolve_time(struct bf_cli *cli, const char *what,
		const char *text, const json_t *deployment, belfry_time *ret_time,
		struct belfry_error *err);

/* The text of a member; empty where there is none. Borrowed from `object`. */
struct belfry_str bf_member(const json_t *object, const char *name);

#endif

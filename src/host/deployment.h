/* A deployment as a value: what to call and when, with its policies.
 *
 * The content (what a person may write) is JSON with fixed member names (interface.md, Shapes). It
 * is read strictly into struct bf_deployment, and written back in one canonical form with every
 * default spelt out: that form is what the record keeps, so that a changed default never changes a
 * stored deployment.
 *
 * Ownership  a deployment owns the JSON that it was read from, and its text borrows from that; it
 *            is ended by bf_deployment_fini. Never copied. */
#ifndef BF_HOST_DEPLOYMENT_H
#define BF_HOST_DEPLOYMENT_H

#include <belfry/calendar.h>
#include <belfry/schedule.h>

#include "base/compiler.h"
#include "base/json.h"
#include "host/calendar_rule.h"

#define BF_DEPLOYMENT_NAME_BYTES   200
#define BF_DEPLOYMENT_RULE_BYTES   4096 /* as a person writes it */
#define BF_DEPLOYMENT_PROMPT_BYTES (1024 * 1024)
#define BF_DEPLOYMENT_INPUT_BYTES  (1024 * 1024)
#define BF_DEPLOYMENT_REASON_BYTES 500
#define BF_DEPLOYMENT_LABELS       64
#define BF_DEPLOYMENT_HEADERS      32
#define BF_DEPLOYMENT_URL_BYTES    2048
#define BF_EXEC_ARGUMENTS          256
#define BF_EXEC_VARIABLES          64
#define BF_EXEC_BYTES              (64 * 1024) /* of a command's arguments, or of its variables */
#define BF_EXEC_PATH_BYTES         4000
#define BF_EXEC_EXITS              255
#define BF_EXEC_OUTPUT_BYTES       (1024 * 1024) /* output_limit's default */
#define BF_EXEC_OUTPUT_MAX         (64 * 1024 * 1024)

/* The one owner of a host without tokens. */
#define BF_OWNER_DEFAULT "default"

struct bf_target_webhook {
	struct belfry_str url;
	struct belfry_str method; /* "POST" */
	struct belfry_str secret; /* the name; empty: not signed */
	const json_t *headers;    /* name -> text, or {"secret": NAME}; NULL: none */
	const json_t *body;       /* NULL: the standard one */
};

/* A local command (exec). Arrays and maps have been checked: what is in them has its type and range. */
struct bf_target_exec {
	const json_t *command;        /* texts; the first is an absolute path */
	struct belfry_str cwd;        /* absolute; empty: the Session's own folder */
	const json_t *env;            /* name -> text, or {"secret": NAME}; NULL: none */
	const json_t *permanent_exit; /* numbers from 1 to 255; NULL: none */
	int64_t output_limit;
};

enum bf_target_kind { BF_TARGET_WEBHOOK, BF_TARGET_EXEC };

/* What a Run calls: the member of its kind. */
struct bf_target {
	enum bf_target_kind kind;
	struct bf_target_webhook webhook;
	struct bf_target_exec exec;
};

struct bf_deployment {
	json_t *content;               /* owned; what the rest borrows from */
	char id[BELFRY_ID_TEXT_BYTES]; /* empty until it has a record */
	int64_t revision;              /* 0 until then */
	belfry_time created_at;
	belfry_time updated_at;
	struct belfry_str name;
	bool is_enabled;
	struct belfry_str reason; /* why it was disabled; may be empty */
	struct bf_buf rule;       /* owned: cron text, or compact rule JSON */
	const json_t *rule_json;
	struct bf_expansion expansion; /* owned: of a rule that names shared calendars */
	struct belfry_str timezone;    /* empty: the owner's */
	struct belfry_str prompt;
	const json_t *input;  /* NULL: null */
	const json_t *labels; /* NULL: none */
	struct bf_target target;
	struct belfry_policies policies;
};

void bf_deployment_fini(struct bf_deployment *deployment);

/* The zone that its rule is read in. */
struct belfry_str bf_deployment_zone(const struct bf_deployment *deployment);

/* The rule as it is parsed: with the content of the shared calendars that it names. Borrowed. */
struct belfry_str bf_deployment_rule(const struct bf_deployment *deployment);

/* A position in rule JSON (plus one, as an error has it) tells nobody anything; one in the text that it
 * lies in does. */
int64_t bf_deployment_rule_position(struct belfry_str rule, int64_t position);

/* What reading needs to know. */
struct bf_deployment_options {
	belfry_duration grace; /* default */
	bool is_stored;        /* from a record: members of the record alone are allowed too */
};

/* Reads `content` (shared: its count rises). Everything that needs no outside is checked: names,
 * types, lengths, ranges, what this version offers. BELFRY_OK; BELFRY_INVALID or BELFRY_TOO_LARGE
 * with the pointer of the member; BELFRY_NOMEM. *ret_deployment is written on success alone. */
BF_MUST_CHECK enum belfry_status bf_deployment_read(json_t *content,
		const struct bf_deployment_options *options, struct bf_deployment *ret_deployment,
		struct belfry_error *err);

/* Reads `rule` and `timezone`, and `dst`, for others who ask for a rule; a failure stays in the
 * reader. The text borrows from what is read. */
void bf_deployment_read_rule(struct bf_json_reader *reader, struct bf_deployment *deployment);
void bf_deployment_read_dst(struct bf_json_reader *reader, struct belfry_policies *policies);

/* Reads the members of `target` (in deployment_target.c); a failure stays in the reader. */
void bf_deployment_read_target(struct bf_json_reader *reader, struct bf_target *ret_target);
void bf_deployment_write_target(struct bf_json_writer *writer, const struct bf_target *target);
/* The same for the members of a target `exec` (deployment_exec.c), its kind left out. */
void bf_deployment_read_exec(struct bf_json_reader *reader, struct bf_target_exec *ret_exec);
void bf_deployment_write_exec(struct bf_json_writer *writer, const struct bf_target_exec *exec);
/* TEXT, or {"secret": NAME}: member `key` of the map `name` (headers, env). */
void bf_deployment_check_value(struct bf_json_reader *reader, const char *name, const char *key,
		const json_t *value);

/* Does the rule parse in its zone, and can it fire? BELFRY_OK; BELFRY_INVALID_SCHEDULE with
 * pointer and, for cron, position; BELFRY_NOMEM. ret_rule may be NULL. */
BF_MUST_CHECK enum belfry_status bf_deployment_parse_rule(const struct bf_deployment *deployment,
		struct belfry_zones *zones, struct belfry_rule **ret_rule,
		struct belfry_error *err);

/* The canonical content, owned by the caller: bytes of a record. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_deployment_write_content(const struct bf_deployment *deployment,
		json_t **ret_content);

/* The shape of the API: the content and the read-only members. */
struct bf_deployment_state {
	enum belfry_phase phase;
	struct belfry_str phase_reason;
	belfry_time next_due;         /* NEVER: none */
	struct belfry_str last_error; /* why this revision could not be handed over; may be empty */
};
BF_MUST_CHECK enum belfry_status bf_deployment_write(const struct bf_deployment *deployment,
		const struct bf_deployment_state *state, json_t **ret_object);

/* --- what a provider is told (payload.c) --- */

/* The payload: what the handler gets back with each invocation, opaque to everything between.
 * BELFRY_OK; BELFRY_TOO_LARGE; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_payload_encode(const struct bf_deployment *deployment,
		struct bf_buf *payload, struct belfry_error *err);

/* What a target `exec` keeps to by itself. Its time limit is one of them: it begins with the command, and
 * not while the Run waits for its place; so the provider is told of none. */
struct bf_payload_limits {
	struct belfry_str timezone;
	belfry_duration timeout; /* 0: none */
	bool is_abandoned;       /* interrupted: abandon */
	bool is_single;          /* there is one attempt alone */
};

struct bf_payload {
	json_t *json; /* owned */
	struct bf_target target;
	struct bf_payload_limits limits; /* of a target `exec` */
	struct belfry_str prompt;
	const json_t *input;
	const json_t *deployment; /* {"id", "name"} */
};

void bf_payload_fini(struct bf_payload *payload);

/* BELFRY_OK; BELFRY_CORRUPT; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_payload_decode(struct belfry_str bytes,
		struct bf_payload *ret_payload, struct belfry_error *err);

/* Fills `ret_schedule`, which borrows from the deployment and from `payload` (encoded here). */
BF_MUST_CHECK enum belfry_status bf_deployment_fill_schedule(const struct bf_deployment *deployment,
		struct bf_buf *payload, struct belfry_schedule *ret_schedule,
		struct belfry_error *err);

#endif

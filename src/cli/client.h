/* The client of Belfry's API: one request at a time, each with a time limit.
 *
 * Errors     a refusal by the server comes back as the status that belongs to its HTTP status, with the
 *            problem document's detail, pointer and position in err. BELFRY_UNAVAILABLE: not reached.
 *            BELFRY_UNKNOWN: a change was sent and its answer was lost. BELFRY_USAGE: the address or
 *            the token cannot be used.
 * Ownership  answers are owned by the caller. */
#ifndef BF_CLI_CLIENT_H
#define BF_CLI_CLIENT_H

#include "cli/cli.h"

#define BF_CLIENT_MAX_BYTES (64u << 20)

struct bf_request {
	const char *method; /* NULL: GET */
	const char *path;   /* with its query, percent-encoded */
	const json_t *body; /* NULL: none */
	const char *idempotency_key;
	const char *if_match;
	const char *if_none_match; /* "*": where there is none */
	const char *range;
	bool takes_any_status; /* a refusal is an answer too: see http_status */
	long limit_ms;         /* until the whole answer is there; 0: the usual limit */
};

struct bf_answer {
	long http_status;
	struct bf_buf body;
	belfry_time date;     /* the server's, by its Date header; 0: none */
	belfry_time asked_at; /* our wall clock before and after */
	belfry_time answered_at;
};

void bf_answer_fini(struct bf_answer *answer);

BF_MUST_CHECK enum belfry_status bf_client_call(struct bf_cli *cli,
		const struct bf_request *request, struct bf_answer *ret_answer,
		struct belfry_error *err);
/* The same, and the answer must be a JSON object: *ret_object (json_decref). */
BF_MUST_CHECK enum belfry_status bf_client_json(struct bf_cli *cli,
		const struct bf_request *request, json_t **ret_object, struct belfry_error *err);
/* The items of a list, page after page until there are `max` (0: all). `path` holds a query already
 * ("/v1/runs?status=FAILED"), limit and cursor are added. *ret_items is an array. */
BF_MUST_CHECK enum belfry_status bf_client_list(struct bf_cli *cli, const char *path, size_t max,
		json_t **ret_items, struct belfry_error *err);

/* One page of at most `limit` items, added to `items` (an array). `cursor` begins empty, and is empty again
 * after the last page. */
#define BF_CLIENT_PAGE 200
BF_MUST_CHECK enum belfry_status bf_client_page(struct bf_cli *cli, const char *path, size_t limit,
		struct bf_buf *cursor, json_t *items, struct belfry_error *err);

/* Turns a refusal into err, whose message has the remedy where a token is missing. Returns its status. */
enum belfry_status bf_client_problem(const struct bf_cli *cli, const struct bf_answer *answer,
		struct belfry_error *err);

/* Appends `text` percent-encoded (RFC 3986: all but unreserved characters). */
void bf_client_encode(struct bf_buf *path, struct belfry_str text);

/* Accepts NULL. */
void bf_client_free(struct bf_client *client);

#endif

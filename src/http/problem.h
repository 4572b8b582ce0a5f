/* Problem documents (RFC 9457): how every refusal of the HTTP API looks.
 *
 *   {"type": "about:blank", "title": "Bad Request", "status": 400, "code": "INVALID_REQUEST",
 *    "detail": "...", "pointer": "/rule/cron", "position": 4, "request_id": "..."}
 *
 * `code` is the stable word (belfry_status_code). `detail` is err->message, or the public text of the
 * status where there is none; err->detail is for the operator's log and never leaves the process. */
#ifndef BF_HTTP_PROBLEM_H
#define BF_HTTP_PROBLEM_H

#include <belfry/status.h>

#include "base/json.h"
#include "http/server.h"

/* Makes the answer for `err` (its status decides the HTTP status; 503 and 429 carry Retry-After, 401
 * WWW-Authenticate: Bearer). `pointer`
 * and `position` (from 0) appear where err has them. request_id: empty leaves it out.
 * Cannot fail: without memory the answer is a fixed document of status 500. *ret_response is owned by
 * the caller (bf_http_respond or bf_http_response_fini). */
void bf_http_problem(const struct belfry_error *err, struct belfry_str request_id,
		struct bf_http_response *ret_response);

/* The same for a bare status, with its public text. */
/* The same with the members of `more`, which has none of a problem's own. */
void bf_http_problem_with(const struct belfry_error *err, struct belfry_str request_id,
		const json_t *more, struct bf_http_response *ret_response);
void bf_http_problem_status(enum belfry_status status, struct belfry_str request_id,
		struct bf_http_response *ret_response);

/* "Bad Request" for 400; "Error" where the number is not in use here. Static text. */
const char *bf_http_status_title(int http_status);

#endif

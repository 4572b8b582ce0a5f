/* The rules for requests (contract.md, B15): pure functions over the header fields.
 *
 * Without tokens anybody who reaches the port may do everything, so the port is on loopback, and what
 * reaches it must not be a web page of somebody else in the same person's browser. Such a page can
 * send requests, but it cannot choose Host (so a name that was re-bound to 127.0.0.1 is seen), it
 * cannot hide Origin, and it cannot send application/json without asking first by OPTIONS - which is
 * never answered with a CORS header.
 *
 * With tokens the page of somebody else has none to send, and Host may be any name, since a proxy may
 * stand in front. Origin, where a browser sends it, must be that name all the same, with either scheme
 * (the proxy may speak TLS). */
#ifndef BF_HTTP_GUARD_H
#define BF_HTTP_GUARD_H

#include <belfry/status.h>

#include "base/compiler.h"

#include "http/server_headers.h"

/* BELFRY_OK when all three hold; else the first that does not:
 *   BELFRY_FORBIDDEN   Host is not exactly localhost, 127.0.0.1 or [::1], with any port or none
 *   BELFRY_FORBIDDEN   Origin is there and is not "http://" + Host
 *   BELFRY_MEDIA_TYPE  there is a body, and Content-Type is not application/json (parameters may
 *                      follow). has_body: bf_http_request_has_body.
 * err->message says which, and what to do. Any thread; never blocks. */
BF_MUST_CHECK enum belfry_status bf_http_guard_check_without_token(
		const struct bf_http_headers *headers, bool has_body, struct belfry_error *err);

/* The text behind "Bearer" in the only Authorization field; ptr NULL where there is none, several, another
 * scheme, or what cannot be a token (RFC 6750: letters, digits and -._~+/ with = at the end). Borrowed. */
struct belfry_str bf_http_guard_read_bearer(const struct bf_http_headers *headers);

/* What must hold besides the token:
 *   BELFRY_FORBIDDEN   Origin is there and is neither "http://" nor "https://" + Host
 *   BELFRY_MEDIA_TYPE  as without a token */
BF_MUST_CHECK enum belfry_status bf_http_guard_check_with_token(
		const struct bf_http_headers *headers, bool has_body, struct belfry_error *err);

/* The three parts, for rules that need one of them. The same statuses. */
BF_MUST_CHECK enum belfry_status bf_http_guard_check_loopback_host(
		const struct bf_http_headers *headers, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_http_guard_check_origin(const struct bf_http_headers *headers,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_http_guard_check_media_type(
		const struct bf_http_headers *headers, struct belfry_error *err);

#endif

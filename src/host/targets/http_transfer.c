/* One call as curl sees it, and the guard.
 *
 * Invariants  every socket is made by open_socket, which judges the address that it is for; curl never
 *             looks a name up (refuse_lookup), it is told the addresses. A body is kept up to the limit,
 *             and the call is broken off there.
 * Not here    low-speed limits: a target that thinks for a long time sends nothing, and the call has a
 *             time limit of its own. */
#include <stdio.h>
#include <unistd.h>

#include <fcntl.h>

#include "base/alloc.h"
#include "host/targets/http_client_priv.h"

/* --- called by curl --- */

static void note_refused(struct bf_http_call *call, const struct bf_address *address)
{
	char text[BF_ADDRESS_TEXT_BYTES];

	bf_address_format(address, text);
	call->is_refused = true;
	call->is_private = bf_address_classify(address) == BF_ADDRESS_PRIVATE;
	(void)snprintf(call->detail, sizeof(call->detail),
			"%.100s is at %s, which is not allowed (--allow-target, "
			"--allow-private-targets)",
			call->url.host, text);
}

static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct bf_http_call *call = data;
	struct bf_address target;
	uint16_t port;

	(void)purpose;
	if (bf_address_from_sockaddr(&address->addr, (socklen_t)address->addrlen, &target, &port) !=
			BELFRY_OK) {
		return CURL_SOCKET_BAD;
	}
	if (!bf_allow_list_permits(call->client->options.allow, bf_str(call->url.host), &target,
			    port)) {
		note_refused(call, &target);
		return CURL_SOCKET_BAD;
	}
	int fd = socket(address->family, address->socktype, address->protocol);
	if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
		(void)close(fd); /* nothing was written */
		return CURL_SOCKET_BAD;
	}
	return fd >= 0 ? fd : CURL_SOCKET_BAD;
}

static int refuse_lookup(void *state, void *reserved, void *data)
{
	(void)state;
	(void)reserved;
	(void)data;
	return 1;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *data)
{
	struct bf_http_call *call = data;
	size_t len = size * count; /* size is always 1 */
	size_t room = call->client->options.answer_bytes - call->body.len;

	bf_buf_append(&call->body, bytes, BF_MIN(len, room));
	if (len > room) {
		call->is_truncated = true;
		return CURL_WRITEFUNC_ERROR;
	}
	return call->body.is_failed ? CURL_WRITEFUNC_ERROR : len;
}

/* --- the start --- */

/* Cuts the header lines in place and gives each to curl, which copies it. */
static enum belfry_status make_headers(struct bf_http_call *call)
{
	char *line = call->headers.ptr;
	char *end;

	while (line != NULL && (end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		struct curl_slist *list = curl_slist_append(call->header_list, line);
		if (list == NULL) {
			return BELFRY_NOMEM;
		}
		call->header_list = list;
		line = end + 1;
	}
	return BELFRY_OK;
}

static enum belfry_status make_addresses(struct bf_http_call *call)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf entry = {0};

	if (call->host->is_literal) {
		return BELFRY_OK;
	}
	/* With '+' the entry ages as any other; it is replaced by each call. */
	bf_buf_appendf(&entry, "+%s:%u:%s", call->url.host, call->url.port, call->host->addresses);
	if (bf_buf_status(&entry) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	call->resolve_list = curl_slist_append(NULL, entry.ptr);
	return call->resolve_list != NULL ? BELFRY_OK : BELFRY_NOMEM;
}

static long milliseconds(belfry_duration duration)
{
	belfry_duration ms = (duration + BELFRY_MILLISECOND - 1) / BELFRY_MILLISECOND;

	return (long)BF_MIN(BF_MAX(ms, 1), INT32_MAX);
}

static bool set_guard(CURL *easy, struct bf_http_call *call)
{
	bool is_ok = curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;

	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
	is_ok = is_ok &&
			curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call) == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 3600L) == CURLE_OK;
	is_ok = is_ok &&
			curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) ==
					CURLE_OK;
	if (call->resolve_list != NULL) {
		is_ok = is_ok &&
				curl_easy_setopt(easy, CURLOPT_RESOLVE, call->resolve_list) ==
						CURLE_OK;
		is_ok = is_ok &&
				curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION,
						refuse_lookup) == CURLE_OK;
	}
	return is_ok;
}

static bool set_limits(CURL *easy, struct bf_http_call *call)
{
	belfry_duration connect = call->client->options.connect_timeout;
	bool is_ok = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(connect)) ==
			CURLE_OK;

	if (call->request.timeout > 0) {
		is_ok = is_ok &&
				curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
						milliseconds(call->request.timeout)) == CURLE_OK;
	}
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_WRITEDATA, call) == CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error) == CURLE_OK;
	return is_ok && curl_easy_setopt(easy, CURLOPT_PRIVATE, call) == CURLE_OK;
}

static bool set_request(CURL *easy, struct bf_http_call *call)
{
	const struct belfry_str body = call->request.body;
	bool is_ok = curl_easy_setopt(easy, CURLOPT_URL, call->url.text) == CURLE_OK;

	is_ok = is_ok &&
			curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ==
					CURLE_OK;
	is_ok = is_ok && curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->header_list) == CURLE_OK;
	is_ok = is_ok &&
			curl_easy_setopt(easy, CURLOPT_USERAGENT, call->client->user_agent) ==
					CURLE_OK;
	if (strcmp(call->method, "GET") == 0) {
		return is_ok && curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
	}
	is_ok = is_ok &&
			curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len) ==
					CURLE_OK;
	is_ok = is_ok &&
			curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.len > 0 ? body.ptr : "") ==
					CURLE_OK;
	return is_ok && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method) == CURLE_OK;
}

static enum belfry_status prepare(struct bf_http_call *call)
{
	enum belfry_status status = BELFRY_OK;

	if (call->request.on_start != NULL) {
		status = call->request.on_start(call->request.data, &call->headers);
	}
	if (status == BELFRY_OK) {
		status = bf_buf_status(&call->headers);
	}
	if (status == BELFRY_OK) {
		status = make_headers(call);
	}
	if (status == BELFRY_OK) {
		status = make_addresses(call);
	}
	return status;
}

enum belfry_status bf_http_transfer_start(struct bf_http_call *call)
{
	enum belfry_status status = prepare(call);

	call->easy = status == BELFRY_OK ? curl_easy_init() : NULL;
	if (call->easy == NULL || !set_guard(call->easy, call) || !set_limits(call->easy, call) ||
			!set_request(call->easy, call) ||
			curl_multi_add_handle(call->client->multi, call->easy) != CURLM_OK) {
		(void)snprintf(call->detail, sizeof(call->detail),
				"the call could not be prepared: %s",
				belfry_status_text(status != BELFRY_OK ? status : BELFRY_NOMEM));
		return status != BELFRY_OK ? status : BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

/* --- the end --- */

static long info_bytes(CURL *easy)
{
	long value = 0;

	return curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &value) == CURLE_OK ? value : 0;
}

static belfry_duration info_us(CURL *easy, CURLINFO info)
{
	curl_off_t value = 0;

	return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static void read_answer(struct bf_http_call *call, struct bf_answer *answer)
{
	const struct bf_env *env = call->client->options.env;
	struct curl_header *header = NULL;
	char *type = NULL;
	long status = 0;

	(void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &type);
	answer->kind = BF_ANSWER_ANSWERED;
	answer->status = (int)status;
	answer->content_type = bf_str(type);
	answer->body = bf_buf_str(&call->body);
	answer->is_truncated = call->is_truncated;
	if (curl_easy_header(call->easy, "Retry-After", 0, CURLH_HEADER, -1, &header) ==
			CURLHE_OK) {
		answer->retry_after = bf_retry_after_parse(bf_str(header->value),
				env->wall(env->data));
	}
	(void)snprintf(call->detail, sizeof(call->detail), "%.100s:%u answered with status %ld",
			call->url.host, call->url.port, status);
}

/* A limit that was reached before anything was sent is the connection's, not the attempt's. */
static bool is_connect_timeout(const struct bf_http_call *call, belfry_duration took)
{
	return info_us(call->easy, CURLINFO_PRETRANSFER_TIME_T) == 0 &&
			(call->request.timeout == 0 || took < call->request.timeout);
}

/* Something came, and it is not HTTP, or not what it says of itself. */
static bool is_unreadable(const struct bf_http_call *call, CURLcode code)
{
	switch ((int)code) {
	case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9, or another version in its place */
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_PARTIAL_FILE: return true;
	/* The latter is also said of a head that is too large. */
	default:
		return (code == CURLE_RECV_ERROR || code == CURLE_OUT_OF_MEMORY) &&
				info_bytes(call->easy) > 0;
	}
}

static void read_failure(struct bf_http_call *call, CURLcode code, struct bf_answer *answer)
{
	bool is_timeout = code == CURLE_OPERATION_TIMEDOUT &&
			!is_connect_timeout(call, answer->took);
	const char *text = call->curl_error[0] != '\0' ? call->curl_error
						       : curl_easy_strerror(code);

	answer->is_unreadable = is_unreadable(call, code);
	answer->kind = is_timeout ? BF_ANSWER_TIMEOUT : BF_ANSWER_UNREACHABLE;
	(void)snprintf(call->detail, sizeof(call->detail), "%.100s:%u: %.100s", call->url.host,
			call->url.port, text);
}

void bf_http_transfer_read(struct bf_http_call *call, CURLcode code, struct bf_answer *ret_answer)
{
	*ret_answer = (struct bf_answer){.took = info_us(call->easy, CURLINFO_TOTAL_TIME_T)};
	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && call->is_truncated)) {
		read_answer(call, ret_answer);
	} else if (call->is_refused) {
		ret_answer->kind = BF_ANSWER_NOT_ALLOWED;
		ret_answer->is_private = call->is_private;
	} else {
		read_failure(call, code, ret_answer);
	}
	ret_answer->detail = bf_str(call->detail);
}

void bf_http_transfer_stop(struct bf_http_call *call)
{
	if (call->easy != NULL) {
		/* Refused only for a handle that was never added. */
		(void)curl_multi_remove_handle(call->client->multi, call->easy);
		curl_easy_cleanup(call->easy);
		call->easy = NULL;
	}
	curl_slist_free_all(call->header_list);
	curl_slist_free_all(call->resolve_list);
	call->header_list = NULL;
	call->resolve_list = NULL;
}

/* The API client over libcurl's easy interface: one handle, kept for the life of the command so that
 * polling reuses its connection. Follows no redirect (a token would travel), and speaks HTTP alone. */
#include "cli/client.h"

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"

#define CONNECT_SECONDS 5L
#define ANSWER_SECONDS  30L
#define PAGES_MAX       100000 /* a server whose cursor never ends */

struct bf_client {
	CURL *curl;
	struct bf_buf base; /* BELFRY_URL without a slash at its end */
};

/* What the callbacks of one transfer fill. */
struct transfer {
	struct bf_answer *answer;
	bool is_too_large;
};

void bf_answer_fini(struct bf_answer *answer)
{
	bf_buf_fini(&answer->body);
}

void bf_client_free(struct bf_client *client)
{
	if (client == NULL) {
		return;
	}
	curl_easy_cleanup(client->curl);
	curl_global_cleanup();
	bf_buf_fini(&client->base);
	bf_free(client);
}

void bf_client_encode(struct bf_buf *path, struct belfry_str text)
{
	static const char unreserved[] = "-._~";

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') ||
				(c != '\0' && strchr(unreserved, c) != NULL);

		if (is_plain) {
			bf_buf_append_byte(path, c);
		} else {
			bf_buf_appendf(path, "%%%02X", (unsigned)(unsigned char)c);
		}
	}
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text <= ' ' || *text > '~') {
			return false;
		}
	}
	return true;
}

/* The host of an address that is_address has accepted. */
static struct belfry_str host_of(const char *url)
{
	const char *host = strstr(url, "://") + 3;
	size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");

	return (struct belfry_str){host, BF_MIN(len, strlen(host))};
}

static bool is_address(const char *text)
{
	struct belfry_str url = bf_str(text);

	if (!bf_str_starts_with(url, BF_STR("http://")) &&
			!bf_str_starts_with(url, BF_STR("https://"))) {
		return false;
	}
	return is_printable(text) && strpbrk(text, "?#") == NULL && host_of(text).len > 0;
}

static bool is_loopback(const char *url)
{
	struct belfry_str host = host_of(url);

	if (bf_str_equal(host, BF_STR("localhost")) || bf_str_equal(host, BF_STR("[::1]"))) {
		return true;
	}
	for (size_t i = 0; i < host.len; i++) {
		if (host.ptr[i] != '.' && (host.ptr[i] < '0' || host.ptr[i] > '9')) {
			return false;
		}
	}
	return bf_str_starts_with(host, BF_STR("127."));
}

static enum belfry_status check_address(const struct bf_cli *cli, struct belfry_error *err)
{
	if (!is_address(cli->url)) {
		return bf_error_set(err, BELFRY_USAGE,
				"BELFRY_URL is no address of a server: use %s or https://HOST",
				BF_CLI_URL);
	}
	if (strchr(cli->url, '@') != NULL) {
		return bf_error_set(err, BELFRY_USAGE,
				"BELFRY_URL holds a name or password: leave it out and set BELFRY_TOKEN");
	}
	if (cli->token != NULL && (cli->token[0] == '\0' || !is_printable(cli->token))) {
		return bf_error_set(err, BELFRY_USAGE,
				"BELFRY_TOKEN is no token: it is empty, or holds blanks or a newline");
	}
	return BELFRY_OK;
}

static void warn_of_plain_token(const struct bf_cli *cli)
{
	if (cli->token != NULL && strncmp(cli->url, "https:", 6) != 0 && !is_loopback(cli->url)) {
		(void)fputs("warning: the token goes unencrypted: use an https:// address\n",
				cli->err);
	}
}

static enum belfry_status open_client(struct bf_cli *cli, struct belfry_error *err)
{
	struct bf_client *client;
	size_t len = strlen(cli->url);
	enum belfry_status status = cli->client == NULL ? check_address(cli, err) : BELFRY_OK;

	if (status != BELFRY_OK || cli->client != NULL) {
		return status;
	}
	warn_of_plain_token(cli);
	client = bf_alloc(sizeof(*client));
	if (client == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		bf_free(client);
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	client->curl = curl_easy_init();
	while (cli->url[len - 1] == '/') {
		len--;
	}
	bf_buf_append(&client->base, cli->url, len);
	if (client->curl == NULL || bf_buf_status(&client->base) != BELFRY_OK) {
		bf_client_free(client);
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	cli->client = client;
	return BELFRY_OK;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *data)
{
	struct transfer *transfer = data;
	struct bf_buf *body = &transfer->answer->body;
	size_t len = size * count;

	if (body->len + len > BF_CLIENT_MAX_BYTES) {
		transfer->is_too_large = true;
		return 0;
	}
	bf_buf_append(body, bytes, len);
	return bf_buf_status(body) == BELFRY_OK ? len : 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *data)
{
	struct transfer *transfer = data;
	struct belfry_str line = {bytes, size * count};
	struct belfry_str name = BF_STR("date:");
	char value[64];

	if (!bf_str_equal_nocase(bf_str_slice(line, 0, name.len), name)) {
		return line.len;
	}
	struct belfry_str rest = bf_str_slice(line, name.len, line.len);
	(void)snprintf(value, sizeof(value), "%.*s", BF_STR_ARGS(rest));
	int64_t seconds = (int64_t)curl_getdate(value, NULL);
	if (seconds > 0) {
		transfer->answer->date = seconds * BELFRY_SECOND;
	}
	return line.len;
}

static void put_header(struct curl_slist **headers, bool *is_failed, const char *name,
		const char *value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};

	bf_buf_appendf(&line, "%s: %s", name, value);
	struct curl_slist *longer = line.is_failed ? NULL : curl_slist_append(*headers, line.ptr);
	if (longer == NULL) {
		*is_failed = true;
	} else {
		*headers = longer;
	}
}

static void free_headers(struct curl_slist **headers)
{
	curl_slist_free_all(*headers);
}

static bool put_headers(const struct bf_cli *cli, const struct bf_request *request,
		struct curl_slist **headers)
{
	bool is_failed = false;
	BF_CLEANUP(bf_buf_fini) struct bf_buf bearer = {0};

	put_header(headers, &is_failed, "Accept", "application/json");
	put_header(headers, &is_failed, "Expect", "");
	if (request->body != NULL) {
		put_header(headers, &is_failed, "Content-Type", "application/json");
	}
	if (request->idempotency_key != NULL) {
		put_header(headers, &is_failed, "Idempotency-Key", request->idempotency_key);
	}
	if (request->if_match != NULL) {
		put_header(headers, &is_failed, "If-Match", request->if_match);
	}
	if (request->if_none_match != NULL) {
		put_header(headers, &is_failed, "If-None-Match", request->if_none_match);
	}
	if (request->range != NULL) {
		put_header(headers, &is_failed, "Range", request->range);
	}
	if (cli->token != NULL) {
		bf_buf_appendf(&bearer, "Bearer %s", cli->token);
		put_header(headers, &is_failed, "Authorization",
				bearer.is_failed ? "" : bearer.ptr);
	}
	return !is_failed && !bearer.is_failed;
}

static void set_options(const struct bf_cli *cli, CURL *curl, const struct bf_request *request,
		const char *url, const struct bf_buf *body)
{
	curl_easy_reset(curl);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
			request->limit_ms > 0 ? request->limit_ms : ANSWER_SECONDS * 1000L);
	(void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "belfry");
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	(void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	if (is_loopback(cli->url)) {
		(void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
	}
	if (body != NULL) {
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->ptr);
	}
	if (request->method != NULL) {
		(void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
	}
}

static enum belfry_status refuse_transfer(const struct bf_cli *cli,
		const struct bf_request *request, const struct transfer *transfer, CURLcode code,
		struct belfry_error *err)
{
	bool is_change = request->method != NULL && strcmp(request->method, "GET") != 0;
	const char *words = curl_easy_strerror(code);

	if (transfer->is_too_large) {
		return bf_error_set(err, BELFRY_TOO_LARGE, "the answer is larger than %u MiB",
				BF_CLIENT_MAX_BYTES >> 20);
	}
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST) {
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"cannot reach Belfry at %.120s: is `belfry serve` running?",
				cli->url);
	}
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR) {
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"cannot trust the server at %.120s (%s): check its certificate",
				cli->url, words);
	}
	if (code == CURLE_URL_MALFORMAT) {
		return bf_error_set(err, BELFRY_USAGE,
				"BELFRY_URL is no address of a server: use %s or https://HOST",
				BF_CLI_URL);
	}
	return bf_error_set(err, is_change ? BELFRY_UNKNOWN : BELFRY_UNAVAILABLE,
			"the answer of Belfry at %.120s did not come (%s)%s", cli->url, words,
			is_change ? ": it is not known whether this was done, look before repeating"
				  : ": try again, or run `belfry doctor`");
}

static enum belfry_status transfer_request(struct bf_cli *cli, const struct bf_request *request,
		struct bf_answer *answer, struct belfry_error *err)
{
	CURL *curl = cli->client->curl;
	struct transfer transfer = {.answer = answer};
	BF_CLEANUP(bf_buf_fini) struct bf_buf url = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf body = {0};
	BF_CLEANUP(free_headers) struct curl_slist *headers = NULL;

	bf_buf_append_str(&url, bf_buf_str(&cli->client->base));
	bf_buf_append_text(&url, request->path);
	enum belfry_status status = request->body != NULL ? bf_json_dump(request->body, &body)
							  : BELFRY_OK;
	if (status != BELFRY_OK || url.is_failed || !put_headers(cli, request, &headers)) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	set_options(cli, curl, request, url.ptr, request->body != NULL ? &body : NULL);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
	(void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
	answer->asked_at = cli->env->wall(cli->env->data);
	CURLcode code = curl_easy_perform(curl);
	answer->answered_at = cli->env->wall(cli->env->data);
	if (code != CURLE_OK) {
		return refuse_transfer(cli, request, &transfer, code, err);
	}
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->http_status);
	return BELFRY_OK;
}

/* The status that stands for an HTTP status: the first of the list that has it. */
static enum belfry_status status_of(long http_status)
{
	for (int s = 0; s < BELFRY_STATUS_COUNT; s++) {
		if (belfry_status_http((enum belfry_status)s) == http_status) {
			return (enum belfry_status)s;
		}
	}
	return http_status == 502 || http_status == 504 ? BELFRY_UNAVAILABLE : BELFRY_INTERNAL;
}

/* In the words of who runs a command, not of who writes requests. */
static enum belfry_status refuse_stranger(const struct bf_cli *cli, struct belfry_error *err)
{
	if (cli->token == NULL) {
		return bf_error_set(err, BELFRY_UNAUTHENTICATED,
				"the host at %.120s needs a token: set BELFRY_TOKEN; the first one is in "
				"the file admin.token of its data folder",
				cli->url);
	}
	return bf_error_set(err, BELFRY_UNAUTHENTICATED,
			"the host at %.120s does not know this token: set BELFRY_TOKEN to one of its "
			"own; `belfry serve --help` says how a lost one is replaced",
			cli->url);
}

enum belfry_status bf_client_problem(const struct bf_cli *cli, const struct bf_answer *answer,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *problem = NULL;
	enum belfry_status status = status_of(answer->http_status);
	struct belfry_str detail = {0};

	if (status == BELFRY_UNAUTHENTICATED) {
		return refuse_stranger(cli, err);
	}
	if (bf_json_parse(bf_buf_str(&answer->body), BF_CLIENT_MAX_BYTES, &problem, NULL) ==
			BELFRY_OK) {
		detail = bf_json_str(json_object_get(problem, "detail"));
	}
	if (detail.len == 0) {
		return bf_error_set(err, status,
				"%.120s answered with HTTP status %ld: check BELFRY_URL", cli->url,
				answer->http_status);
	}
	struct belfry_str pointer = bf_json_str(json_object_get(problem, "pointer"));
	const json_t *position = json_object_get(problem, "position");
	(void)bf_error_set(err, status, "%.*s", BF_STR_ARGS(detail));
	if (err != NULL) {
		(void)snprintf(err->pointer, sizeof(err->pointer), "%.*s", BF_STR_ARGS(pointer));
		err->position = json_is_integer(position) ? json_integer_value(position) + 1 : 0;
	}
	return status;
}

enum belfry_status bf_client_call(struct bf_cli *cli, const struct bf_request *request,
		struct bf_answer *ret_answer, struct belfry_error *err)
{
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	enum belfry_status status = open_client(cli, err);

	if (status == BELFRY_OK) {
		status = transfer_request(cli, request, &answer, err);
	}
	if (status == BELFRY_OK && !request->takes_any_status &&
			(answer.http_status < 200 || answer.http_status > 299)) {
		status = bf_client_problem(cli, &answer, err);
	}
	if (status == BELFRY_OK) {
		*ret_answer = answer;
		answer = (struct bf_answer){0};
	}
	return status;
}

enum belfry_status bf_client_json(struct bf_cli *cli, const struct bf_request *request,
		json_t **ret_object, struct belfry_error *err)
{
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	json_t *value = NULL;
	enum belfry_status status = bf_client_call(cli, request, &answer, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_json_parse(bf_buf_str(&answer.body), BF_CLIENT_MAX_BYTES, &value, NULL);
	if (status != BELFRY_OK || !json_is_object(value)) {
		json_decref(value);
		return bf_error_set(err, BELFRY_INTERNAL,
				"the answer of %.120s is not Belfry's: check BELFRY_URL", cli->url);
	}
	*ret_object = value;
	return BELFRY_OK;
}

enum belfry_status bf_client_page(struct bf_cli *cli, const char *path, size_t limit,
		struct bf_buf *cursor, json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf full = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *page = NULL;

	bf_buf_appendf(&full, "%s%climit=%zu", path, strchr(path, '?') != NULL ? '&' : '?', limit);
	if (cursor->len > 0) {
		bf_buf_append_text(&full, "&cursor=");
		bf_client_encode(&full, bf_buf_str(cursor));
	}
	if (bf_buf_status(&full) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = bf_client_json(cli, &(struct bf_request){.path = full.ptr},
			&page, err);
	if (status != BELFRY_OK) {
		return status;
	}
	bf_buf_clear(cursor);
	bf_buf_append_str(cursor, bf_json_str(json_object_get(page, "next_cursor")));
	json_t *more = json_object_get(page, "items");
	if (!json_is_array(more) || json_array_extend(items, more) != 0) {
		return bf_error_set(err, BELFRY_INTERNAL,
				"the answer of %.120s is not Belfry's: check BELFRY_URL", cli->url);
	}
	return bf_buf_status(cursor);
}

enum belfry_status bf_client_list(struct bf_cli *cli, const char *path, size_t max,
		json_t **ret_items, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	BF_CLEANUP(bf_buf_fini) struct bf_buf cursor = {0};
	size_t wanted = max > 0 ? max : SIZE_MAX;

	for (unsigned pages = 0; pages < PAGES_MAX; pages++) {
		size_t left = wanted - json_array_size(items);
		enum belfry_status status = bf_client_page(cli, path,
				BF_MIN(left, (size_t)BF_CLIENT_PAGE), &cursor, items, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (cursor.len == 0 || json_array_size(items) >= wanted) {
			break;
		}
	}
	while (json_array_size(items) > wanted) {
		(void)json_array_remove(items, json_array_size(items) - 1);
	}
	*ret_items = items;
	items = NULL;
	return BELFRY_OK;
}

/* What a target's definition may hold.
 *
 * Invariants  what passes here is printable ASCII; the host of a parsed URL is an address or a name of
 *             letters, digits, '-', '_' and '.', without a final dot, in lower case.
 * Not here    names are not looked up; the address that a name has is judged when it is called. */
#include "host/targets/url.h"

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

BF_CLEANUP_POINTER(curl_url, CURLU, curl_url_cleanup)

/* curl takes one slash, or three, for two; others read such a URL otherwise. */
static bool has_two_slashes(struct belfry_str text)
{
	const char *colon = memchr(text.ptr, ':', text.len);
	size_t at = colon != NULL ? (size_t)(colon - text.ptr) : text.len;

	return bf_str_equal(bf_str_slice(text, at, at + 3), BF_STR("://")) &&
			!bf_str_equal(bf_str_slice(text, at + 3, at + 4), BF_STR("/"));
}

static enum belfry_status check_text(struct belfry_str text, struct belfry_error *err)
{
	if (text.len == 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL is empty: it must begin with https:// or http://");
	}
	if (text.len > BF_TARGET_URL_BYTES) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL has %zu bytes: at most %d are taken", text.len,
				BF_TARGET_URL_BYTES);
	}
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] <= ' ' || text.ptr[i] > '~') {
			return bf_error_position(err, BELFRY_INVALID, i,
					"the URL has a blank, control or non-ASCII character at position "
					"%zu: write it percent-encoded, and the host in its ASCII form",
					i + 1);
		}
	}
	if (!has_two_slashes(text)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL must begin with https:// or http:// and a host");
	}
	return BELFRY_OK;
}

/* One part, copied into memory of ours. BELFRY_NOT_FOUND where the URL has none. */
static enum belfry_status get_part(CURLU *parts, CURLUPart what, unsigned flags, char **ret_text)
{
	char *part = NULL;
	CURLUcode code = curl_url_get(parts, what, &part, flags);

	if (code != CURLUE_OK) {
		return code == CURLUE_OUT_OF_MEMORY ? BELFRY_NOMEM : BELFRY_NOT_FOUND;
	}
	*ret_text = bf_str_dup(bf_str(part));
	curl_free(part);
	return *ret_text != NULL ? BELFRY_OK : BELFRY_NOMEM;
}

static bool has_part(CURLU *parts, CURLUPart what)
{
	char *part = NULL;
	bool is_there = curl_url_get(parts, what, &part, 0) == CURLUE_OK;

	curl_free(part);
	return is_there;
}

static enum belfry_status check_parts(CURLU *parts, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) char *scheme = NULL;

	enum belfry_status status = get_part(parts, CURLUPART_SCHEME, 0, &scheme);
	if (status == BELFRY_NOMEM) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a URL");
	}
	if (status != BELFRY_OK || !(strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL must begin with https:// or http://");
	}
	if (has_part(parts, CURLUPART_USER) || has_part(parts, CURLUPART_PASSWORD)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL must not hold a user or password: send it as a header whose "
				"value is {\"secret\": NAME}");
	}
	if (has_part(parts, CURLUPART_ZONEID)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL's address must not name an interface (%%)");
	}
	return BELFRY_OK;
}

static bool is_all_of(struct belfry_str text, const char *characters)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\0' || strchr(characters, text.ptr[i]) == NULL) {
			return false;
		}
	}
	return true;
}

/* curl reads percent escapes in a host, and does so after it has read addresses: any byte may stand there
 * by now, and a number that others would take for an address ("0177.%30.0.1"). */
static bool is_name(struct belfry_str host)
{
	size_t last = host.len;

	while (last > 0 && host.ptr[last - 1] != '.') {
		last--;
	}
	struct belfry_str label = bf_str_slice(host, last, host.len);
	bool is_hex = bf_str_starts_with(label, BF_STR("0x"));
	bool is_number = is_all_of(bf_str_slice(label, is_hex ? 2 : 0, label.len),
			is_hex ? "0123456789abcdef" : "0123456789");
	return is_all_of(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") && !is_number;
}

/* The name of a host, in lower case; curl has made a dotted quad of octal and short forms already. */
static enum belfry_status take_host(struct bf_target_url *url, struct belfry_error *err)
{
	struct belfry_str host = bf_str(url->host);

	url->is_literal = bf_address_parse(host, &url->address) == BELFRY_OK;
	if (host.len > 0 && host.ptr[0] == '[') {
		memmove(url->host, url->host + 1, host.len - 2);
		url->host[host.len - 2] = '\0';
	}
	for (char *at = url->host; *at != '\0'; at++) {
		*at = *at >= 'A' && *at <= 'Z' ? (char)(*at + ('a' - 'A')) : *at;
	}
	if (!url->is_literal && !is_name(bf_str(url->host))) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL's host must be a name of letters, digits, '-', '_' and '.' without "
				"a dot at the end, or an address");
	}
	return BELFRY_OK;
}

static enum belfry_status take_parts(CURLU *parts, struct bf_target_url *url,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) char *port = NULL;
	int64_t number;

	enum belfry_status status = get_part(parts, CURLUPART_HOST, 0, &url->host);
	if (status == BELFRY_OK) {
		status = get_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port);
	}
	if (status == BELFRY_OK) {
		status = get_part(parts, CURLUPART_URL, 0, &url->text);
	}
	if (status == BELFRY_NOMEM) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a URL");
	}
	if (status != BELFRY_OK ||
			bf_str_parse_int(bf_str(port), 1, UINT16_MAX, &number) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_INVALID,
				"the URL must have a host, and its port must be from 1 to 65535");
	}
	url->port = (uint16_t)number;
	return take_host(url, err);
}

void bf_target_url_fini(struct bf_target_url *url)
{
	bf_free(url->text);
	bf_free(url->host);
	*url = (struct bf_target_url){0};
}

enum belfry_status bf_target_url_parse(struct belfry_str text, struct bf_target_url *ret_url,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_curl_url) CURLU *parts = curl_url();
	BF_CLEANUP(bf_target_url_fini) struct bf_target_url url = {0};
	BF_CLEANUP(bf_free_pointer) char *copy = NULL;

	enum belfry_status status = check_text(text, err);
	if (status != BELFRY_OK) {
		return status;
	}
	copy = bf_str_dup(text);
	if (parts == NULL || copy == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a URL");
	}
	CURLUcode code = curl_url_set(parts, CURLUPART_URL, copy, CURLU_NON_SUPPORT_SCHEME);
	if (code == CURLUE_OK && curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK) {
		code = CURLUE_OUT_OF_MEMORY;
	}
	if (code == CURLUE_OUT_OF_MEMORY) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a URL");
	}
	if (code != CURLUE_OK) {
		return bf_error_set(err, BELFRY_INVALID,
				"this is not a URL: it must look like https://host.example/path");
	}
	status = check_parts(parts, err);
	if (status == BELFRY_OK) {
		status = take_parts(parts, &url, err);
	}
	if (status == BELFRY_OK) {
		*ret_url = url;
		url = (struct bf_target_url){0};
	}
	return status;
}

static bool is_localhost(struct belfry_str host)
{
	struct belfry_str tail = bf_str_slice(host,
			host.len - BF_MIN(host.len, sizeof(".localhost") - 1), host.len);

	return bf_str_equal(host, BF_STR("localhost")) || bf_str_equal(tail, BF_STR(".localhost"));
}

static enum belfry_status refuse_private(const struct bf_target_url *url, struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_TARGET_NOT_ALLOWED,
			"the target %.100s is at a private address: start the host with "
			"--allow-target %.100s or --allow-private-targets",
			url->host, url->host);
}

enum belfry_status bf_target_url_check(struct belfry_str text, const struct bf_allow_list *allow,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_target_url_fini) struct bf_target_url url = {0};

	enum belfry_status status = bf_target_url_parse(text, &url, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_str host = bf_str(url.host);
	if (!url.is_literal) {
		bool is_refused = is_localhost(host) &&
				!bf_allow_list_permits_loopback(allow, url.port) &&
				!bf_allow_list_names(allow, host, url.port);
		return is_refused ? refuse_private(&url, err) : BELFRY_OK;
	}
	if (bf_allow_list_permits(allow, host, &url.address, url.port)) {
		return BELFRY_OK;
	}
	if (bf_address_classify(&url.address) == BF_ADDRESS_PRIVATE) {
		return refuse_private(&url, err);
	}
	return bf_error_set(err, BELFRY_TARGET_NOT_ALLOWED,
			"the target %.100s is at a link-local, metadata, multicast or reserved address: "
			"neither --allow-target nor --allow-private-targets allows these",
			url.host);
}

/* --- method and headers --- */

enum belfry_status bf_target_method_check(struct belfry_str method, struct belfry_error *err)
{
	static const char *const methods[] = {"POST", "PUT", "PATCH", "GET", "DELETE"};

	for (size_t i = 0; i < BF_COUNT(methods); i++) {
		if (bf_str_equal(method, bf_str(methods[i]))) {
			return BELFRY_OK;
		}
	}
	return bf_error_set(err, BELFRY_INVALID,
			"the method must be one of POST, PUT, PATCH, GET, DELETE");
}

static bool is_token(struct belfry_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9');
		if (c == '\0' || !(is_alnum || strchr("!#$%&'*+-.^_`|~", c) != NULL)) {
			return false;
		}
	}
	return text.len > 0 && text.len <= 128;
}

static bool is_reserved(struct belfry_str name)
{
	static const char *const names[] = {"Host", "Content-Length", "Content-Type",
			"Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection",
			"Proxy-Authorization", "TE", "Trailer", "Upgrade", "Expect", "User-Agent",
			"Idempotency-Key", "Belfry-Fence", "traceparent", "webhook-id",
			"webhook-timestamp", "webhook-signature"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_str_equal_nocase(name, bf_str(names[i]))) {
			return true;
		}
	}
	return false;
}

enum belfry_status bf_target_header_check(struct belfry_str name, struct belfry_str value,
		struct belfry_error *err)
{
	if (!is_token(name)) {
		return bf_error_set(err, BELFRY_INVALID,
				"a header's name must be 1 to 128 letters, digits and dashes");
	}
	if (is_reserved(name)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the header %.*s is set by Belfry itself: leave it out",
				BF_STR_ARGS(name));
	}
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];
		if ((c < ' ' && c != '\t') || c == 0x7f) {
			return bf_error_set(err, BELFRY_INVALID,
					"the value of the header %.*s has a control character: leave it out",
					BF_STR_ARGS(name));
		}
	}
	if (value.len > 8192) {
		return bf_error_set(err, BELFRY_INVALID,
				"the value of the header %.*s has more than 8192 bytes",
				BF_STR_ARGS(name));
	}
	return BELFRY_OK;
}

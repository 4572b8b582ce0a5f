/* Reading --listen. Beyond loopback everything goes unencrypted until TLS is built, so the operator has
 * to say that a proxy does it; that a token is needed too is the caller's (serve.c). A name other than
 * localhost counts as beyond loopback, whatever it means today, and is looked up only once that is
 * allowed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getaddrinfo */
#endif
#include "belfry/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/str.h"

#define NAME_BYTES 256

static bool is_number(const char *address)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, address, bytes) == 1 || inet_pton(AF_INET6, address, bytes) == 1;
}

bool bf_listen_is_loopback(const struct bf_listen *listen)
{
	struct in_addr four;
	struct in6_addr six;

	if (inet_pton(AF_INET, listen->address, &four) == 1) {
		return ntohl(four.s_addr) >> 24 == 127;
	}
	return inet_pton(AF_INET6, listen->address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static enum belfry_status refuse_plain(const char *text, struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"--listen %.100s: beyond loopback requests need TLS, and this version has none "
			"yet: let a proxy in front do it and add --plain-http, or use 127.0.0.1",
			text);
}

static bool copy_name(struct belfry_str name, char *ret_name, size_t size)
{
	if (name.len >= size) {
		return false;
	}
	memcpy(ret_name, name.ptr, name.len);
	ret_name[name.len] = '\0';
	return true;
}

static void free_answers(struct addrinfo **answers)
{
	if (*answers != NULL) {
		freeaddrinfo(*answers);
	}
}

static bool print_number(const struct addrinfo *answer, char *ret_text, size_t size)
{
	return getnameinfo(answer->ai_addr, answer->ai_addrlen, ret_text, (socklen_t)size, NULL, 0,
			       NI_NUMERICHOST) == 0;
}

static enum belfry_status look_up(const char *name, struct bf_listen *listen,
		struct belfry_error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	BF_CLEANUP(free_answers) struct addrinfo *answers = NULL;
	char other[sizeof(listen->address)];
	int code = getaddrinfo(name, NULL, &hints, &answers);

	if (code != 0 || !print_number(answers, listen->address, sizeof(listen->address))) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"--listen: the name %.100s has no address (%s): use a number of this "
				"machine, or 0.0.0.0 for all of them",
				name, code != 0 ? gai_strerror(code) : "none that can be shown");
	}
	for (const struct addrinfo *at = answers->ai_next; at != NULL; at = at->ai_next) {
		if (print_number(at, other, sizeof(other)) && strcmp(other, listen->address) != 0) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"--listen: the name %.100s has several addresses, %s and %s: "
					"use the number of one",
					name, listen->address, other);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status refuse_form(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_USAGE,
			"--listen: ADDRESS:PORT is needed, like " BF_LISTEN_DEFAULT
			" or [::1]:8377");
}

/* The part before the last colon, without the brackets of an IPv6 address. */
static bool split(const char *text, char *ret_name, size_t size, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	int64_t port = 0;

	if (colon == NULL ||
			bf_str_parse_int(bf_str(colon + 1), 0, UINT16_MAX, &port) != BELFRY_OK ||
			colon[1] == '-') {
		return false;
	}
	struct belfry_str name = {text, (size_t)(colon - text)};
	bool is_bracketed = name.len > 2 && text[0] == '[' && text[name.len - 1] == ']';
	if (is_bracketed) {
		name = bf_str_slice(name, 1, name.len - 1);
	}
	*ret_port = (uint16_t)port;
	return name.len > 0 && copy_name(name, ret_name, size) && strpbrk(ret_name, "[]") == NULL &&
			(strchr(ret_name, ':') != NULL) == is_bracketed;
}

enum belfry_status bf_listen_read(const char *text, bool is_plain_http,
		struct bf_listen *ret_listen, struct belfry_error *err)
{
	struct bf_listen listen = {.port = 0};
	char name[NAME_BYTES];

	if (!split(text, name, sizeof(name), &listen.port)) {
		return refuse_form(err);
	}
	bool is_name = !is_number(name);
	if (is_name && strcmp(name, "localhost") == 0) {
		(void)copy_name(BF_STR("127.0.0.1"), name, sizeof(name)); /* it fits */
		is_name = false;
	}
	if (!is_name && !copy_name(bf_str(name), listen.address, sizeof(listen.address))) {
		return refuse_form(err);
	}
	if (!is_plain_http && (is_name || !bf_listen_is_loopback(&listen))) {
		return refuse_plain(text, err);
	}
	enum belfry_status status = is_name ? look_up(name, &listen, err) : BELFRY_OK;
	if (status == BELFRY_OK) {
		*ret_listen = listen;
	}
	return status;
}

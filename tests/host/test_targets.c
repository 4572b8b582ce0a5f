/* The pure parts of the targets: addresses, the allow list, URLs, signatures, secrets, answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "host/targets/allow.h"
#include "host/targets/answer.h"
#include "host/targets/secrets.h"
#include "host/targets/signature.h"
#include "host/targets/url.h"

static void check_says(const struct belfry_error *err, const char *words)
{
	if (strstr(err->message, words) == NULL) {
		fail_msg("\"%s\" does not say \"%s\"", err->message, words);
	}
}

/* --- addresses --- */

static const struct {
	const char *text;
	enum bf_address_class class;
} address_rows[] = {
		{"1.1.1.1", BF_ADDRESS_PUBLIC},
		{"9.255.255.255", BF_ADDRESS_PUBLIC},
		{"11.0.0.0", BF_ADDRESS_PUBLIC},
		{"100.63.255.255", BF_ADDRESS_PUBLIC},
		{"100.128.0.0", BF_ADDRESS_PUBLIC},
		{"172.15.255.255", BF_ADDRESS_PUBLIC},
		{"172.32.0.0", BF_ADDRESS_PUBLIC},
		{"192.167.255.255", BF_ADDRESS_PUBLIC},
		{"192.169.0.0", BF_ADDRESS_PUBLIC},
		{"223.255.255.255", BF_ADDRESS_PUBLIC},
		{"10.0.0.0", BF_ADDRESS_PRIVATE},
		{"10.255.255.255", BF_ADDRESS_PRIVATE},
		{"100.64.0.0", BF_ADDRESS_PRIVATE},
		{"100.127.255.255", BF_ADDRESS_PRIVATE},
		{"127.0.0.1", BF_ADDRESS_PRIVATE},
		{"127.255.255.255", BF_ADDRESS_PRIVATE},
		{"172.16.0.0", BF_ADDRESS_PRIVATE},
		{"172.31.255.255", BF_ADDRESS_PRIVATE},
		{"192.168.0.0", BF_ADDRESS_PRIVATE},
		{"192.168.255.255", BF_ADDRESS_PRIVATE},
		{"0.0.0.0", BF_ADDRESS_NEVER},
		{"0.1.2.3", BF_ADDRESS_NEVER},
		{"100.100.100.200", BF_ADDRESS_NEVER},
		{"168.63.129.16", BF_ADDRESS_NEVER},
		{"169.254.0.0", BF_ADDRESS_NEVER},
		{"169.254.169.254", BF_ADDRESS_NEVER},
		{"169.254.255.255", BF_ADDRESS_NEVER},
		{"192.0.0.192", BF_ADDRESS_NEVER},
		{"192.0.2.1", BF_ADDRESS_NEVER},
		{"192.88.99.1", BF_ADDRESS_NEVER},
		{"198.18.0.1", BF_ADDRESS_NEVER},
		{"198.19.255.255", BF_ADDRESS_NEVER},
		{"198.51.100.1", BF_ADDRESS_NEVER},
		{"203.0.113.1", BF_ADDRESS_NEVER},
		{"224.0.0.1", BF_ADDRESS_NEVER},
		{"239.255.255.255", BF_ADDRESS_NEVER},
		{"240.0.0.1", BF_ADDRESS_NEVER},
		{"255.255.255.255", BF_ADDRESS_NEVER},
		{"2606:4700:4700::1111", BF_ADDRESS_PUBLIC},
		{"2a00::1", BF_ADDRESS_PUBLIC},
		{"2001:4860:4860::8888", BF_ADDRESS_PUBLIC},
		{"2001:200::1", BF_ADDRESS_PUBLIC},
		{"::1", BF_ADDRESS_PRIVATE},
		{"fc00::1", BF_ADDRESS_PRIVATE},
		{"fd12:3456::1", BF_ADDRESS_PRIVATE},
		{"fdff:ffff::1", BF_ADDRESS_PRIVATE},
		{"fd00:ec2::1", BF_ADDRESS_PRIVATE},
		{"fd00:ec2::254", BF_ADDRESS_NEVER},
		{"fd20:ce::254", BF_ADDRESS_NEVER},
		{"::", BF_ADDRESS_NEVER},
		{"::2", BF_ADDRESS_NEVER},
		{"::7f00:1", BF_ADDRESS_NEVER},
		{"::127.0.0.1", BF_ADDRESS_NEVER},
		{"fe80::1", BF_ADDRESS_NEVER},
		{"febf::1", BF_ADDRESS_NEVER},
		{"fec0::1", BF_ADDRESS_NEVER},
		{"ff02::1", BF_ADDRESS_NEVER},
		{"ff0e::1", BF_ADDRESS_NEVER},
		{"100::1", BF_ADDRESS_NEVER},
		{"2001:db8::1", BF_ADDRESS_NEVER},
		{"2001:2::1", BF_ADDRESS_NEVER},
		{"2001:10::1", BF_ADDRESS_NEVER},
		{"2001:20::1", BF_ADDRESS_NEVER},
		{"3fff::1", BF_ADDRESS_NEVER},
		{"4000::1", BF_ADDRESS_NEVER},
		{"5f00::1", BF_ADDRESS_NEVER},
		/* IPv4-mapped and -translated */
		{"::ffff:1.1.1.1", BF_ADDRESS_PUBLIC},
		{"::ffff:10.0.0.1", BF_ADDRESS_PRIVATE},
		{"::ffff:127.0.0.1", BF_ADDRESS_PRIVATE},
		{"::ffff:169.254.169.254", BF_ADDRESS_NEVER},
		{"::ffff:a9fe:a9fe", BF_ADDRESS_NEVER},
		{"::ffff:0.0.0.0", BF_ADDRESS_NEVER},
		{"::ffff:0:10.0.0.1", BF_ADDRESS_PRIVATE},
		{"::ffff:0:169.254.169.254", BF_ADDRESS_NEVER},
		/* NAT64, and the local prefix of RFC 8215, where the inner address has no fixed place */
		{"64:ff9b::1.1.1.1", BF_ADDRESS_PUBLIC},
		{"64:ff9b::10.0.0.1", BF_ADDRESS_PRIVATE},
		{"64:ff9b::169.254.169.254", BF_ADDRESS_NEVER},
		{"64:ff9b:1::1.1.1.1", BF_ADDRESS_NEVER},
		/* 6to4 */
		{"2002:101:101::1", BF_ADDRESS_PUBLIC},
		{"2002:a00:1::1", BF_ADDRESS_PRIVATE},
		{"2002:7f00:1::", BF_ADDRESS_PRIVATE},
		{"2002:a9fe:a9fe::1", BF_ADDRESS_NEVER},
		/* Teredo: the client's address is inverted */
		{"2001:0:4136:e378:8000:63bf:fefe:fefe", BF_ADDRESS_PUBLIC},
		{"2001:0:4136:e378:8000:63bf:f5ff:fffe", BF_ADDRESS_PRIVATE},
		{"2001:0:4136:e378:8000:63bf:80ff:fffe", BF_ADDRESS_PRIVATE},
		{"2001:0:4136:e378:8000:63bf:5601:5601", BF_ADDRESS_NEVER},
};

static void addresses_are_judged_by_where_they_lead(void **state)
{
	(void)state;
	for (size_t i = 0; i < BF_COUNT(address_rows); i++) {
		struct bf_address address;
		assert_int_equal(bf_address_parse(bf_str(address_rows[i].text), &address),
				BELFRY_OK);
		if (bf_address_classify(&address) != address_rows[i].class) {
			fail_msg("%s is class %d", address_rows[i].text,
					(int)bf_address_classify(&address));
		}
	}
}

static void addresses_in_odd_spellings_are_no_addresses(void **state)
{
	static const char *const rows[] = {"", "127.1", "0177.0.0.1", "010.0.0.1", "0x7f.0.0.1",
			"2130706433", "1.2.3.4.5", "1.2.3", "1.2.3.256", " 1.2.3.4", "1.2.3.4 ",
			"[::1", "::1]", ":::", "fe80::1%eth0", "1::2::3", "12345::", "example.org"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct bf_address address;
		assert_int_equal(bf_address_parse(bf_str(rows[i]), &address), BELFRY_INVALID);
	}
}

static void socket_addresses_are_read_and_written(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
	struct sockaddr other = {.sa_family = AF_UNIX};
	struct bf_address address;
	char text[BF_ADDRESS_TEXT_BYTES];
	uint16_t port;

	(void)state;
	in.sin_addr.s_addr = htonl(0x0a000001);
	in6.sin6_addr.s6_addr[15] = 1;
	assert_int_equal(bf_address_from_sockaddr((struct sockaddr *)&in, sizeof(in), &address,
					 &port),
			BELFRY_OK);
	bf_address_format(&address, text);
	assert_string_equal(text, "10.0.0.1");
	assert_int_equal(port, 80);
	assert_int_equal(bf_address_from_sockaddr((struct sockaddr *)&in6, sizeof(in6), &address,
					 NULL),
			BELFRY_OK);
	bf_address_format(&address, text);
	assert_string_equal(text, "::1");
	assert_int_equal(bf_address_from_sockaddr(&other, sizeof(other), &address, &port),
			BELFRY_INVALID);
	assert_int_equal(bf_address_from_sockaddr((struct sockaddr *)&in6, 8, &address, &port),
			BELFRY_INVALID);
}

/* --- the allow list --- */

BF_CLEANUP_POINTER(allow_list, struct bf_allow_list, bf_allow_list_free)

static struct bf_allow_list *new_list(const char *rule)
{
	struct bf_allow_list *list;
	struct belfry_error err = {0};

	assert_int_equal(bf_allow_list_new(&list), BELFRY_OK);
	if (rule != NULL && bf_allow_list_add(list, bf_str(rule), &err) != BELFRY_OK) {
		fail_msg("%s: %s", rule, err.message);
	}
	return list;
}

static void a_rule_allows_what_it_names_and_nothing_else(void **state)
{
	static const struct {
		const char *rule;
		const char *host;
		const char *address;
		uint16_t port;
		bool is_permitted;
	} rows[] = {
			{NULL, "a.example", "1.1.1.1", 80, true},
			{NULL, "a.example", "10.0.0.1", 80, false},
			{"10.0.0.0/8", "a.example", "10.255.0.1", 80, true},
			{"10.0.0.0/8", "a.example", "11.0.0.1", 80, true},
			{"10.0.0.0/8", "a.example", "192.168.0.1", 80, false},
			{"10.0.0.0/8", "a.example", "::ffff:10.0.0.1", 80, true},
			{"10.0.0.0/8", "a.example", "64:ff9b::10.0.0.1", 80, true},
			{"10.0.0.0/8", "a.example", "2002:a00:1::1", 80, true},
			{"10.1.2.0/23", "a.example", "10.1.3.255", 80, true},
			{"10.1.2.0/23", "a.example", "10.1.4.0", 80, false},
			{"10.1.2.3", "10.1.2.3", "10.1.2.3", 9, true},
			{"10.1.2.3", "a.example", "10.1.2.3", 9, true},
			{"10.1.2.3", "a.example", "10.1.2.4", 9, false},
			{"10.1.2.3:8080", "a.example", "10.1.2.3", 8080, true},
			{"10.1.2.3:8080", "a.example", "10.1.2.3", 80, false},
			{"fd00::/8", "a.example", "fd12::1", 80, true},
			{"fd00::/8", "a.example", "fc12::1", 80, false},
			{"fd00::/8", "a.example", "fd00:ec2::254", 80, false},
			{"::1", "localhost", "::1", 80, true},
			{"[::1]:80", "localhost", "::1", 80, true},
			{"[::1]:80", "localhost", "::1", 81, false},
			{"[::1]", "localhost", "127.0.0.1", 80, false},
			{"hooks.lan", "hooks.lan", "10.0.0.1", 80, true},
			{"hooks.lan", "HOOKS.lan", "10.0.0.1", 80, true},
			{"hooks.lan", "other.lan", "10.0.0.1", 80, false},
			{"hooks.lan", "x.hooks.lan", "10.0.0.1", 80, false},
			{"hooks.lan:81", "hooks.lan", "10.0.0.1", 81, true},
			{"hooks.lan:81", "hooks.lan", "10.0.0.1", 80, false},
			{"hooks.lan", "hooks.lan", "169.254.169.254", 80, false},
			{"hooks.lan", "hooks.lan", "fe80::1", 80, false},
			{"0.0.0.0/0", "a.example", "127.0.0.1", 80, true},
			{"0.0.0.0/0", "a.example", "169.254.169.254", 80, false},
			{"0.0.0.0/0", "a.example", "0.0.0.0", 80, false},
			{"::/0", "a.example", "fe80::1", 80, false},
			{"::/0", "a.example", "::1", 80, true},
			{"::/0", "a.example", "ff02::1", 80, false},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_cleanup_allow_list)
		struct bf_allow_list *list = new_list(rows[i].rule);
		struct bf_address address;
		assert_int_equal(bf_address_parse(bf_str(rows[i].address), &address), BELFRY_OK);
		if (bf_allow_list_permits(list, bf_str(rows[i].host), &address, rows[i].port) !=
				rows[i].is_permitted) {
			fail_msg("row %zu: %s %s", i, rows[i].rule, rows[i].address);
		}
	}
}

static void allowing_private_targets_never_allows_the_rest(void **state)
{
	BF_CLEANUP(bf_cleanup_allow_list) struct bf_allow_list *list = new_list(NULL);

	(void)state;
	bf_allow_list_set_private(list, true);
	for (size_t i = 0; i < BF_COUNT(address_rows); i++) {
		struct bf_address address;
		assert_int_equal(bf_address_parse(bf_str(address_rows[i].text), &address),
				BELFRY_OK);
		assert_int_equal(bf_allow_list_permits(list, BF_STR("x"), &address, 80),
				address_rows[i].class != BF_ADDRESS_NEVER);
		assert_int_equal(bf_allow_list_permits(NULL, BF_STR("x"), &address, 80),
				address_rows[i].class == BF_ADDRESS_PUBLIC);
	}
}

static void rules_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *rule;
		const char *words;
	} rows[] = {
			{"", "neither"},
			{"10.0.0.0/33", "prefix length"},
			{"10.0.0.0/", "prefix length"},
			{"10.0.0.0/-1", "prefix length"},
			{"10.0.0.0/8x", "prefix length"},
			{"10.0.0.1/8", "bits set"},
			{"hooks.lan/8", "not the address"},
			{"010.0.0.1", "neither"},
			{"2130706433", "neither"},
			{"127.1", "neither"},
			{"hooks.lan:0", "port"},
			{"hooks.lan:65536", "port"},
			{"hooks.lan:http", "port"},
			{"hooks.lan:", "port"},
			{"[::1", "neither"},
			{"[::1]80", "port"},
			{"http://hooks.lan", "not the address"},
			{"*.lan", "neither"},
			{"hooks lan", "neither"},
			{"hooks.lan.", "neither"},
			{"169.254.169.254", "never allowed"},
			{"169.254.0.0/16", "never allowed"},
			{"fe80::/10", "never allowed"},
			{"fd00:ec2::254", "never allowed"},
			{"224.0.0.1", "never allowed"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_cleanup_allow_list) struct bf_allow_list *list = new_list(NULL);
		struct belfry_error err = {0};
		if (bf_allow_list_add(list, bf_str(rows[i].rule), &err) != BELFRY_USAGE) {
			fail_msg("%s was taken", rows[i].rule);
		}
		check_says(&err, rows[i].words);
		check_says(&err, "--allow-target");
	}
}

/* --- URLs --- */

static void urls_are_taken_apart(void **state)
{
	static const struct {
		const char *url;
		const char *text;
		const char *host;
		uint16_t port;
		bool is_literal;
	} rows[] = {
			{"https://Hooks.Example.org/a?b=c#d", "https://Hooks.Example.org/a?b=c",
					"hooks.example.org", 443, false},
			{"http://hooks.example.org:8080", "http://hooks.example.org:8080/",
					"hooks.example.org", 8080, false},
			{"HTTPS://[2606:4700::1111]:8443/x", "https://[2606:4700::1111]:8443/x",
					"2606:4700::1111", 8443, true},
			{"http://1.1.1.1/", "http://1.1.1.1/", "1.1.1.1", 80, true},
			/* What the library that makes the call reads as an address is one here too. */
			{"http://0177.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80, true},
			{"http://127.1/", "http://127.0.0.1/", "127.0.0.1", 80, true},
			{"http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80, true},
			{"http://0x7f000001/", "http://127.0.0.1/", "127.0.0.1", 80, true},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_target_url_fini) struct bf_target_url url = {0};
		struct belfry_error err = {0};
		if (bf_target_url_parse(bf_str(rows[i].url), &url, &err) != BELFRY_OK) {
			fail_msg("%s: %s", rows[i].url, err.message);
		}
		assert_string_equal(url.text, rows[i].text);
		assert_string_equal(url.host, rows[i].host);
		assert_int_equal(url.port, rows[i].port);
		assert_int_equal(url.is_literal, rows[i].is_literal);
	}
}

static void bad_urls_are_refused(void **state)
{
	static const struct {
		const char *url;
		const char *words;
	} rows[] = {
			{"", "empty"},
			{"hooks.example.org/a", ""},
			{"//hooks.example.org/a", ""},
			{"ftp://hooks.example.org/", "https:// or http://"},
			{"file:///etc/passwd", "https:// or http://"},
			{"gopher://hooks.example.org/", "https:// or http://"},
			{"javascript:alert(1)", ""},
			{"https://", ""},
			{"https:///path", "and a host"},
			{"https:/hooks.example.org/", "and a host"},
			{"https:\\\\hooks.example.org/", "and a host"},
			{"https://a.example\\@b.example/", ""},
			{"https://a.example,b.example/", ""},
			{"https://user:password@hooks.example.org/", "user or password"},
			{"https://user@hooks.example.org/", "user or password"},
			{"https://hooks.example.org:0/", ""},
			{"https://hooks.example.org:65536/", ""},
			{"https://hooks.example.org:http/", ""},
			{"https://hooks.example.org./", "dot at the end"},
			{"https://hooks example.org/", "position 14"},
			{"https://hooks.example.org/\r\nX: y", "position 27"},
			{"https://hooks.example.org/\x7f", "position 27"},
			{"https://h\xc3\xb6hle.example/", "position 10"},
			{"https://[fe80::1%25eth0]/", ""},
			{"https://[::1", ""},
			{"https://h%c3%b6hle.example/", "letters, digits"},
			{"https://hooks%20example.org/", ""},
			{"https://hooks.example.org%2e/", "dot at the end"},
			{"https://0177.%30.0.1/", "or an address"},
			{"https://0%78a.1/", ""},
			{"https://1.2.3.4.5/", "or an address"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_error err = {0};
		if (bf_target_url_check(bf_str(rows[i].url), NULL, &err) != BELFRY_INVALID) {
			fail_msg("%s: %s", rows[i].url, err.message);
		}
		check_says(&err, rows[i].words);
		assert_null(strstr(err.message, "password@"));
	}
}

static void a_url_has_at_most_2048_bytes(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf url = {0};
	struct belfry_error err = {0};

	(void)state;
	bf_buf_append_text(&url, "https://hooks.example.org/");
	while (url.len < BF_TARGET_URL_BYTES) {
		bf_buf_append_byte(&url, 'a');
	}
	assert_int_equal(bf_target_url_check(bf_buf_str(&url), NULL, &err), BELFRY_OK);
	bf_buf_append_byte(&url, 'a');
	assert_int_equal(bf_target_url_check(bf_buf_str(&url), NULL, &err), BELFRY_INVALID);
	check_says(&err, "2049 bytes");
}

static void an_address_that_is_not_allowed_names_the_setting(void **state)
{
	static const struct {
		const char *url;
		const char *rule;
		const char *words; /* NULL: allowed */
	} rows[] = {
			{"http://10.0.0.1/", NULL,
					"--allow-target 10.0.0.1 or --allow-private-targets"},
			{"http://10.0.0.1/", "10.0.0.0/8", NULL},
			{"http://10.0.0.1:81/", "10.0.0.1:81", NULL},
			{"http://[::1]/", NULL, "--allow-private-targets"},
			{"http://[::ffff:127.0.0.1]/", NULL, "--allow-private-targets"},
			{"http://0177.0.0.1/", NULL, "--allow-private-targets"},
			{"http://2130706433/", NULL, "--allow-private-targets"},
			{"http://127.1/", "127.0.0.0/8", NULL},
			{"http://localhost:9/", NULL, "--allow-target localhost"},
			{"http://LOCALHOST/", NULL, "--allow-private-targets"},
			{"http://a.localhost/", NULL, "--allow-private-targets"},
			{"http://localhost/", "localhost", NULL},
			{"http://localhost/", "127.0.0.1", NULL},
			{"http://localhost.example/", NULL, NULL},
			{"http://169.254.169.254/latest", "0.0.0.0/0",
					"neither --allow-target nor"},
			{"http://[fe80::1]/", "::/0", "neither --allow-target nor"},
			{"http://0.0.0.0/", NULL, "neither --allow-target nor"},
			{"http://0/", NULL, "neither --allow-target nor"},
			{"http://255.255.255.255/", NULL, "neither --allow-target nor"},
			{"https://hooks.example.org/", NULL, NULL},
			{"https://1.1.1.1/", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_cleanup_allow_list)
		struct bf_allow_list *list = new_list(rows[i].rule);
		struct belfry_error err = {0};
		enum belfry_status status = bf_target_url_check(bf_str(rows[i].url), list, &err);
		if (status != (rows[i].words != NULL ? BELFRY_TARGET_NOT_ALLOWED : BELFRY_OK)) {
			fail_msg("%s: %d %s", rows[i].url, (int)status, err.message);
		}
		if (rows[i].words != NULL) {
			check_says(&err, rows[i].words);
		}
	}
}

static void methods_and_headers_are_checked(void **state)
{
	static const char *const reserved[] = {"Host", "content-length", "Transfer-Encoding",
			"Idempotency-Key", "BELFRY-FENCE", "traceparent", "Webhook-Signature",
			"Expect", "Content-Type", "User-Agent", "Connection"};
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(bf_target_method_check(BF_STR("PATCH"), &err), BELFRY_OK);
	assert_int_equal(bf_target_method_check(BF_STR("post"), &err), BELFRY_INVALID);
	assert_int_equal(bf_target_method_check(BF_STR("CONNECT"), &err), BELFRY_INVALID);
	assert_int_equal(bf_target_method_check(BF_STR(""), &err), BELFRY_INVALID);
	assert_int_equal(bf_target_header_check(BF_STR("X-Team"), BF_STR("ops"), &err), BELFRY_OK);
	assert_int_equal(bf_target_header_check(BF_STR("X-Team"), BF_STR(""), &err), BELFRY_OK);
	assert_int_equal(bf_target_header_check(BF_STR("X Team"), BF_STR("a"), &err),
			BELFRY_INVALID);
	assert_int_equal(bf_target_header_check(BF_STR("X:"), BF_STR("a"), &err), BELFRY_INVALID);
	assert_int_equal(bf_target_header_check(BF_STR(""), BF_STR("a"), &err), BELFRY_INVALID);
	assert_int_equal(bf_target_header_check(BF_STR("X"), BF_STR("a\r\nHost: b"), &err),
			BELFRY_INVALID);
	assert_null(strstr(err.message, "Host"));
	for (size_t i = 0; i < BF_COUNT(reserved); i++) {
		assert_int_equal(bf_target_header_check(bf_str(reserved[i]), BF_STR("a"), &err),
				BELFRY_INVALID);
		check_says(&err, "leave it out");
	}
}

/* --- signatures --- */

static struct bf_secret two_values(const char *first, const char *second)
{
	struct bf_secret secret = {.count = second != NULL ? 2 : 1};

	secret.values[0] = bf_str(first);
	secret.values[1] = bf_str(second);
	return secret;
}

static void signatures_agree_with_known_ones(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf out = {0};
	struct bf_secret one = two_values("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", NULL);
	struct bf_secret two = two_values("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");

	(void)state;
	assert_int_equal(bf_signature_append(&out, &one, BF_STR("msg_p5jXN8AQM9LWM0D4loKWxJek"),
					 1614265330, BF_STR("{\"test\": 2432232314}")),
			BELFRY_OK);
	assert_string_equal(out.ptr, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
	bf_buf_clear(&out);
	assert_int_equal(bf_signature_append(&out, &two,
					 BF_STR("01890a5d-ac96-8c3b-8f2e-000102030405"), 1764547200,
					 BF_STR("{\"type\":\"belfry.run\"}")),
			BELFRY_OK);
	assert_string_equal(out.ptr,
			"v1,QjzErFxhfvSbpi15lstoUQ0Q87evh5mFHYwScaB5ywg= v1,Sh+6+WBj1sG3lFx/etOpClctes3DQB6MkDWMo9AiT8M=");
}

static void a_secret_that_cannot_sign_is_named_and_not_shown(void **state)
{
	static const char *const rows[] = {"hunter2hunter2", "whsec_", "whsec_hunter2", "whsec_aGk",
			"WHSEC_aGVsbG8=", "whsec_aGVs bG8="};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct bf_secret secret = two_values("whsec_aGVsbG8=", rows[i]);
		struct belfry_error err = {0};
		assert_int_equal(bf_signature_check(&secret, BF_STR("hook"), &err),
				BELFRY_CONFIGURATION);
		check_says(&err, "the secret hook cannot sign");
		assert_null(strstr(err.message, "hunter"));
		assert_string_equal(err.detail, "");
	}
}

/* --- secrets --- */

struct folder {
	char path[64];
};

static void begin_folder(struct folder *folder)
{
	char path[128];

	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/belfry-secrets-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	(void)snprintf(path, sizeof(path), "%s/secrets", folder->path);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void write_secret(const struct folder *folder, const char *name, const char *text,
		mode_t mode)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

static void end_folder(const struct folder *folder, const char *const *names)
{
	char path[256];

	for (size_t i = 0; names[i] != NULL; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
		assert_int_equal(unlink(path), 0);
	}
	(void)snprintf(path, sizeof(path), "%s/secrets", folder->path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder->path), 0);
}

static void check_values(const struct bf_secrets *secrets, const char *name, const char *first,
		const char *second)
{
	BF_CLEANUP(bf_secret_fini) struct bf_secret secret = {0};
	struct belfry_error err = {0};

	if (bf_secrets_get(secrets, bf_str(name), &secret, &err) != BELFRY_OK) {
		fail_msg("%s: %s", name, err.message);
	}
	assert_int_equal(secret.count, second != NULL ? 2 : 1);
	assert_true(bf_str_equal(secret.values[0], bf_str(first)));
	assert_true(second == NULL || bf_str_equal(secret.values[1], bf_str(second)));
}

static void check_no_secret(const struct bf_secrets *secrets, const char *name,
		enum belfry_status status, const char *words)
{
	BF_CLEANUP(bf_secret_fini) struct bf_secret secret = {0};
	struct belfry_error err = {0};

	assert_int_equal(bf_secrets_get(secrets, bf_str(name), &secret, &err), status);
	check_says(&err, words);
	assert_null(strstr(err.message, "hunter"));
	assert_null(strstr(err.detail, "hunter"));
}

static void secrets_are_found_in_their_three_places(void **state)
{
	static const char *const names[] = {"secrets/hook", "secrets/two", "cred", NULL};
	struct folder folder;
	struct bf_secrets *secrets;

	(void)state;
	begin_folder(&folder);
	write_secret(&folder, "secrets/hook", "hunter2\n", 0600);
	write_secret(&folder, "secrets/two", " hunter3 \r\n\nhunter4", 0400);
	write_secret(&folder, "cred", "hunter5\n", 0440);
	assert_int_equal(setenv("BELFRY_SECRET_HOOK", "not this", 1), 0);
	assert_int_equal(setenv("BELFRY_SECRET_MY_HOOK_2", "hunter6\nhunter7\n", 1), 0);
	assert_int_equal(bf_secrets_new(folder.path, folder.path, &secrets), BELFRY_OK);
	check_values(secrets, "hook", "hunter2", NULL);
	check_values(secrets, "two", "hunter3", "hunter4");
	check_values(secrets, "cred", "hunter5", NULL);
	check_values(secrets, "my-hook.2", "hunter6", "hunter7");
	check_no_secret(secrets, "other", BELFRY_NOT_FOUND, "BELFRY_SECRET_OTHER");
	/* A change holds at once. */
	write_secret(&folder, "secrets/hook", "hunter8\n", 0600);
	check_values(secrets, "hook", "hunter8", NULL);
	bf_secrets_free(secrets);
	assert_int_equal(unsetenv("BELFRY_SECRET_HOOK"), 0);
	assert_int_equal(unsetenv("BELFRY_SECRET_MY_HOOK_2"), 0);
	end_folder(&folder, names);
}

static void secrets_that_are_not_as_they_must_be_are_refused(void **state)
{
	static const char *const names[] = {"secrets/wide", "secrets/group", "secrets/empty",
			"secrets/three", "secrets/long", "cred", NULL};
	char text[BF_SECRET_BYTES + 2];
	struct folder folder;
	struct bf_secrets *secrets;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	begin_folder(&folder);
	write_secret(&folder, "secrets/wide", "hunter2", 0604);
	write_secret(&folder, "secrets/group", "hunter2", 0640);
	write_secret(&folder, "secrets/empty", " \n\n", 0600);
	write_secret(&folder, "secrets/three", "hunter1\nhunter2\nhunter3\n", 0600);
	write_secret(&folder, "secrets/long", text, 0600);
	write_secret(&folder, "cred", "hunter2", 0444);
	assert_int_equal(bf_secrets_new(folder.path, folder.path, &secrets), BELFRY_OK);
	check_no_secret(secrets, "wide", BELFRY_CONFIGURATION, "mode 0604");
	check_no_secret(secrets, "group", BELFRY_CONFIGURATION, "set 0600");
	check_no_secret(secrets, "empty", BELFRY_CONFIGURATION, "is empty");
	check_no_secret(secrets, "three", BELFRY_CONFIGURATION, "more than two lines");
	check_no_secret(secrets, "long", BELFRY_CONFIGURATION, "more than 4096 bytes");
	check_no_secret(secrets, "cred", BELFRY_CONFIGURATION, "mode 0444");
	check_no_secret(secrets, "secrets", BELFRY_CONFIGURATION, "not a regular file");
	bf_secrets_free(secrets);
	end_folder(&folder, names);
}

static void names_of_secrets_stay_inside_their_folder(void **state)
{
	static const char *const rows[] = {"", ".", "..", "../admin.token", "a/b", "/etc/passwd",
			".hidden", "-x", "a b", "a\nb", "h\xc3\xb6hle", "a$b",
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	struct bf_secrets *secrets;

	(void)state;
	assert_int_equal(bf_secrets_new("/nonexistent", NULL, &secrets), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		check_no_secret(secrets, rows[i], BELFRY_INVALID, "the name of a secret");
	}
	check_no_secret(secrets, "a", BELFRY_NOT_FOUND, "secrets/a (mode 0600)");
	bf_secrets_free(secrets);
}

/* --- answers --- */

static void retry_after_is_read_and_bounded(void **state)
{
	const belfry_time now = 784111747 * BELFRY_SECOND; /* half a minute before 08:49:37 */
	static const struct {
		const char *text;
		belfry_duration after;
	} rows[] = {
			{"", 0},
			{"0", BELFRY_SECOND},
			{"7", 7 * BELFRY_SECOND},
			{"3600", BELFRY_HOUR},
			{"3601", BELFRY_HOUR},
			{"99999999999999999999999", BELFRY_HOUR},
			{"12 ", 12 * BELFRY_SECOND},
			{"-5", 0},
			{"1.5", 0},
			{"soon", 0},
			{"PT1M", 0},
			{"Sun, 06 Nov 1994 08:49:37 GMT", 30 * BELFRY_SECOND},
			{"Sunday, 06-Nov-94 08:49:37 GMT", 30 * BELFRY_SECOND},
			{"Sun Nov  6 08:49:37 1994", 30 * BELFRY_SECOND},
			{"Sun, 06 Nov 1994 08:49:00 GMT", BELFRY_SECOND},
			{"Mon, 07 Nov 1994 08:49:37 GMT", BELFRY_HOUR},
			{"Sun, 06 Nov", 0},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		belfry_duration after = bf_retry_after_parse(bf_str(rows[i].text), now);
		if (after != rows[i].after) {
			fail_msg("%s: %lld", rows[i].text, (long long)after);
		}
	}
}

static void answers_have_the_verdict_of_the_contract(void **state)
{
	static const struct {
		int status;
		enum bf_verdict verdict;
	} rows[] = {
			{200, BF_VERDICT_OK},
			{202, BF_VERDICT_OK},
			{204, BF_VERDICT_OK},
			{299, BF_VERDICT_OK},
			{301, BF_VERDICT_PERMANENT},
			{302, BF_VERDICT_PERMANENT},
			{304, BF_VERDICT_PERMANENT},
			{400, BF_VERDICT_PERMANENT},
			{401, BF_VERDICT_PERMANENT},
			{404, BF_VERDICT_PERMANENT},
			{408, BF_VERDICT_RETRY},
			{409, BF_VERDICT_PERMANENT},
			{410, BF_VERDICT_PERMANENT},
			{425, BF_VERDICT_RETRY},
			{429, BF_VERDICT_RETRY},
			{499, BF_VERDICT_PERMANENT},
			{500, BF_VERDICT_RETRY},
			{501, BF_VERDICT_RETRY},
			{503, BF_VERDICT_RETRY},
			{599, BF_VERDICT_RETRY},
			{600, BF_VERDICT_PERMANENT},
			{0, BF_VERDICT_PERMANENT},
	};
	struct bf_answer answer = {.kind = BF_ANSWER_ANSWERED};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		answer.status = rows[i].status;
		assert_int_equal(bf_answer_verdict(&answer), rows[i].verdict);
		assert_int_equal(bf_answer_error(&answer),
				rows[i].verdict == BF_VERDICT_OK
						? BELFRY_RUN_ERROR_NONE
						: BELFRY_RUN_ERROR_TARGET_ANSWERED);
	}
	answer.kind = BF_ANSWER_UNREACHABLE;
	assert_int_equal(bf_answer_verdict(&answer), BF_VERDICT_RETRY);
	assert_int_equal(bf_answer_error(&answer), BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	answer.kind = BF_ANSWER_TIMEOUT;
	assert_int_equal(bf_answer_verdict(&answer), BF_VERDICT_RETRY);
	assert_int_equal(bf_answer_error(&answer), BELFRY_RUN_ERROR_TIMEOUT);
	answer.kind = BF_ANSWER_NOT_ALLOWED;
	assert_int_equal(bf_answer_verdict(&answer), BF_VERDICT_PERMANENT);
	assert_int_equal(bf_answer_error(&answer), BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED);
	answer.kind = BF_ANSWER_CANCELLED;
	assert_int_equal(bf_answer_verdict(&answer), BF_VERDICT_RETRY);
	assert_int_equal(bf_answer_error(&answer), BELFRY_RUN_ERROR_CANCELLED);
}

/* --- short memory --- */

static void short_memory_is_a_status(void **state)
{
	int64_t call = 0;
	int64_t fired;

	(void)state;
	do {
		BF_CLEANUP(bf_target_url_fini) struct bf_target_url url = {0};
		BF_CLEANUP(bf_buf_fini) struct bf_buf out = {0};
		BF_CLEANUP(bf_cleanup_allow_list) struct bf_allow_list *list = NULL;
		struct bf_secret secret = two_values("whsec_aGVsbG8=", NULL);
		struct bf_secrets *secrets = NULL;
		struct belfry_error err = {0};
		bf_fault_arm(bf_alloc_fault(), ++call, 1);
		enum belfry_status status = bf_allow_list_new(&list);
		status = status != BELFRY_OK ? status
					     : bf_allow_list_add(list, BF_STR("a.lan"), &err);
		status = status != BELFRY_OK
				? status
				: bf_target_url_parse(BF_STR("https://a.lan/"), &url, &err);
		status = status != BELFRY_OK
				? status
				: bf_signature_append(&out, &secret, BF_STR("id"), 1, BF_STR("{}"));
		status = status != BELFRY_OK ? status : bf_secrets_new("/a", "/b", &secrets);
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		bf_secrets_free(secrets);
		assert_int_equal(status, fired > 0 ? BELFRY_NOMEM : BELFRY_OK);
	} while (fired > 0);
	assert_true(call > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(addresses_are_judged_by_where_they_lead),
			cmocka_unit_test(addresses_in_odd_spellings_are_no_addresses),
			cmocka_unit_test(socket_addresses_are_read_and_written),
			cmocka_unit_test(a_rule_allows_what_it_names_and_nothing_else),
			cmocka_unit_test(allowing_private_targets_never_allows_the_rest),
			cmocka_unit_test(rules_that_make_no_sense_are_refused),
			cmocka_unit_test(urls_are_taken_apart),
			cmocka_unit_test(bad_urls_are_refused),
			cmocka_unit_test(a_url_has_at_most_2048_bytes),
			cmocka_unit_test(an_address_that_is_not_allowed_names_the_setting),
			cmocka_unit_test(methods_and_headers_are_checked),
			cmocka_unit_test(signatures_agree_with_known_ones),
			cmocka_unit_test(a_secret_that_cannot_sign_is_named_and_not_shown),
			cmocka_unit_test(secrets_are_found_in_their_three_places),
			cmocka_unit_test(secrets_that_are_not_as_they_must_be_are_refused),
			cmocka_unit_test(names_of_secrets_stay_inside_their_folder),
			cmocka_unit_test(retry_after_is_read_and_bounded),
			cmocka_unit_test(answers_have_the_verdict_of_the_contract),
			cmocka_unit_test(short_memory_is_a_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

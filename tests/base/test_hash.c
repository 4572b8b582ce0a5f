/* Digests against the vectors of FIPS 180-4, RFC 4231 and RFC 4648. */
#include "cases.h"

#include "base/hash.h"

static void check_hex(const unsigned char *bytes, size_t len, const char *expected)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	for (size_t i = 0; i < len; i++) {
		bf_buf_appendf(&text, "%02x", bytes[i]);
	}
	check_text(bf_buf_str(&text), expected);
}

static void sha256_of_the_published_messages(void **state)
{
	(void)state;
	static const struct {
		const char *message;
		const char *digest;
	} rows[] = {
			{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
			{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
			{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
					"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	unsigned char digest[BF_SHA256_BYTES];

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_str message = bf_str(rows[i].message);
		assert_int_equal(bf_sha256(&message, 1, digest), BELFRY_OK);
		check_hex(digest, sizeof(digest), rows[i].digest);
	}
	assert_int_equal(bf_sha256(NULL, 0, digest), BELFRY_OK);
	check_hex(digest, sizeof(digest), rows[0].digest);
}

static void sha256_of_parts_is_that_of_their_sum(void **state)
{
	(void)state;
	const struct belfry_str parts[] = {BF_STR("a"), {NULL, 0}, BF_STR("bc")};
	unsigned char digest[BF_SHA256_BYTES];

	assert_int_equal(bf_sha256(parts, BF_COUNT(parts), digest), BELFRY_OK);
	check_hex(digest, sizeof(digest),
			"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void hmac_sha256_of_rfc_4231(void **state)
{
	(void)state;
	char key_1[20];
	char key_6[131];
	char data_3[50];
	char key_3[20];
	memset(key_1, 0x0b, sizeof(key_1));
	memset(key_3, 0xaa, sizeof(key_3));
	memset(data_3, 0xdd, sizeof(data_3));
	memset(key_6, 0xaa, sizeof(key_6));
	const struct {
		struct belfry_str key;
		struct belfry_str message;
		const char *digest;
	} rows[] = {
			{{key_1, sizeof(key_1)}, BF_STR("Hi There"),
					"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
			{BF_STR("Jefe"), BF_STR("what do ya want for nothing?"),
					"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
			{{key_3, sizeof(key_3)}, {data_3, sizeof(data_3)},
					"773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
			{{key_6, sizeof(key_6)},
					BF_STR("Test Using Larger Than Block-Size Key - Hash Key First"),
					"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
			{{NULL, 0}, {NULL, 0},
					"b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
	};
	unsigned char digest[BF_SHA256_BYTES];

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		assert_int_equal(bf_hmac_sha256(rows[i].key, rows[i].message, digest), BELFRY_OK);
		check_hex(digest, sizeof(digest), rows[i].digest);
	}
}

static void base64_of_rfc_4648_both_ways(void **state)
{
	(void)state;
	static const char *rows[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
			{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
			{"\xfb\xff\xbe", "+/++"}};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		char text[16];
		char bytes[16];
		size_t len = 99;
		bf_base64_encode(rows[i][0], strlen(rows[i][0]), text);
		assert_string_equal(text, rows[i][1]);
		assert_int_equal(bf_base64_decode(bf_str(text), bytes, &len), BELFRY_OK);
		check_text((struct belfry_str){bytes, len}, rows[i][0]);
	}
}

static void base64_that_is_not_exact_is_refused(void **state)
{
	(void)state;
	static const char *rows[] = {"Z", "Zg", "Zg=", "Zg==Zg==", "====", "Z===", "=Zg=",
			"Zm9v====", "Zh==", "Zm9=", "Zm 8", "Zm8\n", "Zm-_", "Zm8=\n", "Zg=x"};
	char bytes[16];
	size_t len = 99;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (bf_base64_decode(bf_str(rows[i]), bytes, &len) != BELFRY_INVALID) {
			fail_msg("\"%s\" was read", rows[i]);
		}
	}
	assert_int_equal(bf_base64_decode(BF_STR("Zm\0v"), bytes, &len), BELFRY_INVALID);
	assert_int_equal(len, 99);
}

static void a_table_hash_follows_its_seed_and_every_byte(void **state)
{
	(void)state;
	uint64_t seen[256];

	assert_true(bf_hash64(1, "key", 3) == bf_hash64(1, "key", 3));
	assert_true(bf_hash64(1, "key", 3) != bf_hash64(2, "key", 3));
	assert_true(bf_hash64(1, "key", 3) != bf_hash64(1, "key", 2));
	for (size_t i = 0; i < 256; i++) {
		unsigned char byte = (unsigned char)i;
		seen[i] = bf_hash64(7, &byte, 1);
		for (size_t k = 0; k < i; k++) {
			assert_true(seen[i] != seen[k]);
		}
	}
}

static void secrets_compare_whole(void **state)
{
	(void)state;
	assert_true(bf_equal_secret("abcd", "abcd", 4));
	assert_true(bf_equal_secret("abcd", "abce", 3));
	assert_false(bf_equal_secret("abcd", "abce", 4));
	assert_false(bf_equal_secret("xbcd", "abcd", 4));
	assert_true(bf_equal_secret("a", "b", 0));
}

int run_hash_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(sha256_of_the_published_messages),
			cmocka_unit_test(sha256_of_parts_is_that_of_their_sum),
			cmocka_unit_test(hmac_sha256_of_rfc_4231),
			cmocka_unit_test(base64_of_rfc_4648_both_ways),
			cmocka_unit_test(base64_that_is_not_exact_is_refused),
			cmocka_unit_test(a_table_hash_follows_its_seed_and_every_byte),
			cmocka_unit_test(secrets_compare_whole),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}

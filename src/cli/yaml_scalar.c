/* The core schema of YAML 1.2: what an unquoted scalar is. Not here: quoting, and the value itself. */
#include "cli/yaml.h"

static bool is_one_of(struct belfry_str text, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (bf_str_equal(text, bf_str(*words))) {
			return true;
		}
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* How many digits begin at `at`. */
static size_t count_digits(struct belfry_str text, size_t at)
{
	size_t from = at;

	while (at < text.len && is_digit(text.ptr[at])) {
		at++;
	}
	return at - from;
}

static bool is_prefixed(struct belfry_str text, const char *prefix, const char *digits)
{
	if (text.len < 3 || !bf_str_starts_with(text, bf_str(prefix))) {
		return false;
	}
	for (size_t i = 2; i < text.len; i++) {
		if (strchr(digits, text.ptr[i]) == NULL) {
			return false;
		}
	}
	return true;
}

/* [-+]? ( . digits | digits ( . digits? )? ) ( [eE] [-+]? digits )?  Whole numbers are among them. */
static bool is_decimal(struct belfry_str text)
{
	size_t at = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
	size_t whole = count_digits(text, at);
	size_t fraction = 0;

	at += whole;
	if (at < text.len && text.ptr[at] == '.') {
		fraction = count_digits(text, at + 1);
		at += 1 + fraction;
	}
	if (whole + fraction == 0) {
		return false;
	}
	if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
		at++;
		at += at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+') ? 1 : 0;
		size_t exponent = count_digits(text, at);
		if (exponent == 0) {
			return false;
		}
		at += exponent;
	}
	return at == text.len;
}

enum bf_yaml_kind bf_yaml_kind(struct belfry_str scalar)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE",
			NULL};
	static const char *const endless[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
			"-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL};

	if (is_one_of(scalar, nulls)) {
		return BF_YAML_NULL;
	}
	if (is_one_of(scalar, bools)) {
		return BF_YAML_BOOL;
	}
	if (is_one_of(scalar, endless)) {
		return BF_YAML_NOT_FINITE;
	}
	return is_decimal(scalar) || is_prefixed(scalar, "0o", "01234567") ||
					is_prefixed(scalar, "0x", "0123456789abcdefABCDEF")
			? BF_YAML_NUMBER
			: BF_YAML_TEXT;
}

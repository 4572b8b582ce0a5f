/* Fuzzes the head of a request, cut apart as a careless parser would do it: texts that end at NULs, lines
 * that end at bare line feeds, folded lines. The guard may refuse too much, never too little: what it lets
 * through has one reading alone. */
#include "base/str.h"
#include "fuzz.h"
#include "http/server_head.h"
#include "http/server_target.h"

#define FIELDS 16

/* Ends a text at the next `stop` by a NUL; where the following one begins. */
static size_t cut(char *bytes, size_t size, size_t at, char stop)
{
	char *end = at < size ? memchr(bytes + at, stop, size - at) : NULL;

	if (end == NULL) {
		return size;
	}
	*end = '\0';
	if (stop == '\n' && end > bytes + at && end[-1] == '\r') {
		end[-1] = '\0';
	}
	return (size_t)(end - bytes) + 1;
}

/* The length of the whole head, 0 where the empty line is missing: it is not read before that came. */
static size_t cut_fields(char *bytes, size_t size, size_t at, struct bf_http_pair *fields,
		struct bf_http_headers *headers)
{
	while (headers->count < FIELDS && at < size && bytes[at] != '\r' && bytes[at] != '\n') {
		struct bf_http_pair *field = &fields[headers->count++];
		size_t value = cut(bytes, size, at, ':');
		while (value < size && (bytes[value] == ' ' || bytes[value] == '\t')) {
			value++;
		}
		size_t next = cut(bytes, size, value, '\n');
		field->name = bf_str(bytes + at);
		field->value = bf_str(bytes + value);
		at = next;
	}
	headers->items = fields;
	bool is_over = at < size &&
			(bytes[at] == '\n' ||
					(bytes[at] == '\r' && at + 1 < size &&
							bytes[at + 1] == '\n'));
	return is_over ? cut(bytes, size, at, '\n') : 0;
}

/* One reading: lines end by CR LF and nowhere else, none is folded, no control character is left. In the
 * parser's memory a NUL for the CR looks the same, and reads as it; so do NULs in the four bytes of the end. */
static void require_strict(struct belfry_str raw)
{
	for (size_t i = 0; i + 4 < raw.len; i++) {
		unsigned char c = (unsigned char)raw.ptr[i];
		char before = i > 0 ? raw.ptr[i - 1] : ' ';
		char behind = raw.ptr[i + 1];
		bool is_text = (c >= ' ' && c != 0x7f) || c == '\t';
		bool is_return = (c == '\r' || c == '\0') && behind == '\n';
		bool is_feed = c == '\n' && (before == '\r' || before == '\0');
		fuzz_require(is_text || is_return || is_feed);
		fuzz_require(!is_feed || (behind != ' ' && behind != '\t'));
	}
}

static void check(char *bytes, size_t size, const uint8_t *data)
{
	struct bf_http_pair fields[FIELDS];
	struct bf_http_head head = {0};
	struct bf_http_raw_head raw = {.bytes = bytes};
	struct bf_http_target target = {0};
	struct bf_http_framing framing;
	enum bf_http_method method;
	size_t at = cut(bytes, size, 0, ' ');

	raw.target = bytes + at;
	at = cut(bytes, size, at, ' ');
	raw.target_len = strlen(raw.target);
	raw.version = bytes + at;
	at = cut(bytes, size, at, '\n');
	head.method = bf_str(bytes);
	head.version = bf_str(raw.version);
	raw.len = cut_fields(bytes, size, at, fields, &head.headers);
	if (raw.len > 0 && bf_http_head_check(&head, &method, &framing, NULL) == BELFRY_OK &&
			bf_http_head_check_raw(&raw, &head.headers, NULL) == BELFRY_OK &&
			bf_http_target_parse((struct belfry_str){raw.target, raw.target_len},
					&target, NULL) == BELFRY_OK) {
		require_strict((struct belfry_str){(const char *)data, raw.len});
		fuzz_require(framing.length_bytes >= 0);
		fuzz_require(!framing.is_chunked || framing.length_bytes == 0);
	}
	bf_http_target_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);

	fuzz_require(bytes != NULL);
	if (size > 0) {
		memcpy(bytes, data, size);
	}
	bytes[size] = '\0';
	check(bytes, size, data);
	free(bytes);
	return 0;
}

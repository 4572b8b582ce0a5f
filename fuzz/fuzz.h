/* What the fuzzers share: the entry that libFuzzer and run_corpus.c call, a promise that must be kept, and
 * input in parts. A fuzzer keeps no state between two inputs but what it opened once. */
#ifndef BF_FUZZ_FUZZ_H
#define BF_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <belfry/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise ends the process, as a memory error would. */
static inline void fuzz_require(bool is_kept)
{
	if (!is_kept) {
		abort();
	}
}

/* A refusal has words, and where it has a position that lies within the text or right behind it. */
static inline void fuzz_require_refusal(const struct belfry_error *err, size_t text_bytes)
{
	fuzz_require(err->status != BELFRY_OK && err->message[0] != '\0');
	fuzz_require(err->position >= 0 && (size_t)err->position <= text_bytes + 1);
}

/* Takes what stands before `byte` off *rest, and `byte` too. */
static inline struct belfry_str fuzz_take_until(struct belfry_str *rest, char byte)
{
	const char *end = rest->len > 0 ? memchr(rest->ptr, byte, rest->len) : NULL;
	struct belfry_str part = {rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len};
	size_t taken = part.len + (end != NULL ? 1 : 0);

	*rest = (struct belfry_str){rest->len > 0 ? rest->ptr + taken : rest->ptr,
			rest->len - taken};
	return part;
}

#endif

/* The text of a token, and the file that holds the first one: DATA/admin.token.
 *
 * A token is BF_TOKEN_PREFIX and 256 random bits in base64url, so that scanners for lost secrets know
 * it by sight. Messages hold the path, never the text. Private to this folder and its tests. */
#ifndef BF_HOST_TOKEN_FILE_H
#define BF_HOST_TOKEN_FILE_H

#include "base/compiler.h"
#include "base/env.h"
#include "base/str.h"

#define BF_TOKEN_PREFIX     "belfry_"
#define BF_TOKEN_TEXT_BYTES (sizeof(BF_TOKEN_PREFIX) - 1 + 43)
#define BF_TOKEN_FILE       "admin.token"

struct bf_token_text {
	char text[BF_TOKEN_TEXT_BYTES + 1];
};

/* For BF_CLEANUP: nothing of it stays in memory. */
void bf_token_text_wipe(struct bf_token_text *token);

void bf_token_make(const struct bf_env *env, struct bf_token_text *ret_token);
bool bf_token_is_formed(struct belfry_str text);

/* Never through a symbolic link. BELFRY_NOT_FOUND: there is no such file. BELFRY_CONFIGURATION: it is
 * another user's, open to others, no file, or holds no token; the message has the remedy. */
BF_MUST_CHECK enum belfry_status bf_token_file_read(const char *folder,
		struct bf_token_text *ret_token, struct belfry_error *err);
/* Mode 0600, durable when it answers, whole or not at all; never over something that is there
 * (BELFRY_CONFIGURATION, as where it cannot be written). */
BF_MUST_CHECK enum belfry_status bf_token_file_write(const char *folder,
		const struct bf_token_text *token, struct belfry_error *err);

#endif

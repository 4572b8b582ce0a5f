/* Named secrets, read where they lie each time they are needed, so that a change holds at once.
 *
 * NAME is the file DATA/secrets/NAME (mode 0600 or narrower), or CREDENTIALS/NAME as systemd lays it
 * down, else the environment's BELFRY_SECRET_NAME (in capitals, - and . as _). Two lines are two secrets
 * that hold at once, for rotation.
 *
 * Never      a secret's text appears in no error, detail or log line; bf_secret_fini wipes it.
 * Threads    any; reads a small local file. */
#ifndef BF_HOST_TARGETS_SECRETS_H
#define BF_HOST_TARGETS_SECRETS_H

#include <belfry/status.h>

#include "base/compiler.h"

#define BF_SECRET_VALUES     2
#define BF_SECRET_BYTES      4096
#define BF_SECRET_NAME_BYTES 64

struct bf_secrets;

/* The values of one secret; owned, dropped by bf_secret_fini. values[] point into text. */
struct bf_secret {
	char *text;
	size_t text_bytes;
	unsigned count; /* 1 or 2 */
	struct belfry_str values[BF_SECRET_VALUES];
};

/* Folders are copied; NULL: there is none. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_secrets_new(const char *data_folder,
		const char *credentials_folder, struct bf_secrets **ret_secrets);
void bf_secrets_free(struct bf_secrets *secrets);

/* BELFRY_OK; BELFRY_INVALID (the name); BELFRY_NOT_FOUND; BELFRY_CONFIGURATION (the file is readable for
 * others, empty, too long, or has more than two lines); BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_secrets_get(const struct bf_secrets *secrets,
		struct belfry_str name, struct bf_secret *ret_secret, struct belfry_error *err);
void bf_secret_fini(struct bf_secret *secret);

/* Letters, digits, '-', '_' and '.', not beginning with '.' or '-'. BELFRY_OK or BELFRY_INVALID. */
BF_MUST_CHECK enum belfry_status bf_secret_name_check(struct belfry_str name,
		struct belfry_error *err);

#endif

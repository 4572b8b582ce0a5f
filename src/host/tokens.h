/* The tokens of a host: who may ask anything of it (docs/interface.md, "Who").
 *
 * First form: one token, the admin's, which may do everything. Roles, scopes, owners, expiry and a way
 * to make more come later. Only the SHA-256 of a token is stored, in a document of kind "token".
 *
 * A store that holds a token needs one for every request, for good, whatever flags a later start has.
 * DATA/admin.token is how its text reaches the operator, who may then delete it.
 *
 * Life       open, when the store is migrated and before anything listens -> close.
 * Threads    what is open does not change: find and refuse may be called from any thread, and do not
 *            block. */
#ifndef BF_HOST_TOKENS_H
#define BF_HOST_TOKENS_H

#include <belfry/status.h>
#include <belfry/types.h>

#include "base/compiler.h"
#include "base/env.h"

struct bf_store; /* store/store.h */
struct bf_tokens;

struct bf_tokens_options {
	size_t size;
	const struct bf_env *env;
	struct bf_store *store;  /* for its documents; open and migrated */
	const char *data_folder; /* of admin.token */
	bool is_needed;  /* this start lets more in than loopback without a token may: make the
				  * first one where the store has none */
	bool is_renewed; /* what admin.token holds is the admin's token from now on, and is made
				  * where there is no such file; the one before is not known any more */
};

/* What a start says to its operator, who never sees the token itself. */
enum bf_tokens_news {
	BF_TOKENS_NONE,   /* there is no token: none is needed */
	BF_TOKENS_MADE,   /* admin.token holds a new one */
	BF_TOKENS_KEPT,   /* admin.token holds one that is known */
	BF_TOKENS_HIDDEN, /* a token is needed, and there is no admin.token (any more) */
	BF_TOKENS_FOREIGN /* a token is needed, and admin.token holds one that is not known */
};

/* Everything is borrowed until close. BELFRY_OK; BELFRY_CONFIGURATION (admin.token, with the remedy);
 * BELFRY_CORRUPT (a stored token cannot be read: nobody could be known); BELFRY_NOMEM; what the store
 * answers. A start that asks for a token and dies anywhere in between is finished by the next. */
BF_MUST_CHECK enum belfry_status bf_tokens_open(const struct bf_tokens_options *options,
		struct bf_tokens **ret_tokens, struct belfry_error *err);
void bf_tokens_close(struct bf_tokens *tokens); /* NULL is allowed */

enum bf_tokens_news bf_tokens_news(const struct bf_tokens *tokens);
/* NULL: false. */
bool bf_tokens_are_needed(const struct bf_tokens *tokens);

/* The id of the token with this text, all zero where it is none of ours. Takes the same time for every
 * text of one length. */
struct belfry_id bf_tokens_find(const struct bf_tokens *tokens, struct belfry_str text);
/* Somebody came without a token, or with a wrong one: counted, and logged at most once a second. */
void bf_tokens_note_refusal(struct bf_tokens *tokens, struct belfry_str peer);

#endif

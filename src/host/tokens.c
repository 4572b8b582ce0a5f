/* The tokens that a store holds, in memory while the host runs.
 *
 * Crashes    the file is written before the document. A start that dies between them leaves a file
 *            that nobody knows yet: the next one that asks for a token takes it as it is.
 * Time       every stored hash is compared with the whole of the hash that came, whichever matches.
 * Not here   the header field (http/guard.c); the file (token_file.c). */
#include "host/tokens.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/json.h"
#include "host/backend.h"
#include "host/token_file.h"
#include "model/run.h"

#define KIND          "token"
#define ADMIN         "admin"
#define PAGE_ROWS     200
#define DIGEST_BYTES  BF_SHA256_BYTES
#define DOCUMENT_MAX  1024
#define LOGGED_EVERY  BELFRY_SECOND
#define NEVER_LOGGED  INT64_MIN
#define DIGEST_BASE64 ((DIGEST_BYTES + 2) / 3 * 4 + 1)

struct token {
	struct belfry_id id;
	unsigned char digest[DIGEST_BYTES];
	bool is_admin; /* the one of admin.token */
	int64_t etag;
};

struct bf_tokens {
	struct bf_tokens_options options;
	enum bf_tokens_news news;
	struct token *items;
	size_t count;
	size_t capacity;
	atomic_llong refused_count; /* since the last line of the log */
	atomic_llong logged_us;
};

/* ---- what is stored ---------------------------------------------------------------------------- */

static enum belfry_status digest_of(struct belfry_str text, unsigned char *ret_digest,
		struct belfry_error *err)
{
	enum belfry_status status = bf_sha256(&text, 1, ret_digest);

	return status == BELFRY_OK ? status : bf_error_system(err, status, 0, "hash of a token");
}

static enum belfry_status refuse_stored(const struct belfry_document *document,
		struct belfry_error *err)
{
	return bf_error_system(err, BELFRY_CORRUPT, 0, "the stored token %.*s cannot be read",
			BF_STR_ARGS(document->id));
}

static enum belfry_status read_document(const struct belfry_document *document,
		struct token *ret_token, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;
	unsigned char digest[DIGEST_BASE64];
	struct token token = {.etag = document->etag};
	size_t len = 0;

	if (bf_json_parse(document->bytes, DOCUMENT_MAX, &object, NULL) != BELFRY_OK ||
			belfry_id_parse(document->id, &token.id) != BELFRY_OK) {
		return refuse_stored(document, err);
	}
	struct belfry_str text = bf_json_str(json_object_get(object, "sha256"));
	struct belfry_str role = bf_json_str(json_object_get(object, "role"));
	if (text.len != DIGEST_BASE64 - 1 || bf_base64_decode(text, digest, &len) != BELFRY_OK ||
			len != DIGEST_BYTES || !bf_str_equal(role, BF_STR(ADMIN))) {
		return refuse_stored(document, err);
	}
	memcpy(token.digest, digest, DIGEST_BYTES);
	token.is_admin = bf_str_equal(document->name, BF_STR(ADMIN));
	*ret_token = token;
	return BELFRY_OK;
}

static enum belfry_status add_token(struct bf_tokens *tokens, const struct token *token,
		struct belfry_error *err)
{
	if (BF_GROW(tokens->items, tokens->capacity, tokens->count + 1) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "tokens");
	}
	tokens->items[tokens->count++] = *token;
	return BELFRY_OK;
}

/* One page behind the last row of the arena's previous one. */
static enum belfry_status load_page(struct bf_tokens *tokens, struct belfry_document_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	enum belfry_status status = bf_backend_list_documents(tokens->options.store, query, arena,
			err);

	for (size_t i = 0; status == BELFRY_OK && i < query->count; i++) {
		struct token token;
		status = read_document(&query->documents[i], &token, err);
		if (status == BELFRY_OK) {
			status = add_token(tokens, &token, err);
		}
	}
	if (status == BELFRY_OK && query->count > 0) {
		const struct belfry_document *last = &query->documents[query->count - 1];
		query->after_owner = last->owner;
		query->after_name = last->name;
		query->after_id = last->id;
	}
	return status;
}

static enum belfry_status load(struct bf_tokens *tokens, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query query = {
			.size = sizeof(query),
			.kind = BF_STR(KIND),
			.limit = PAGE_ROWS,
	};
	enum belfry_status status;

	do {
		status = load_page(tokens, &query, &arena, err);
	} while (status == BELFRY_OK && query.has_more && query.count > 0);
	return status;
}

/* ---- the admin's ------------------------------------------------------------------------------- */

static struct token *find_admin(struct bf_tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++) {
		if (tokens->items[i].is_admin) {
			return &tokens->items[i];
		}
	}
	return NULL;
}

static enum belfry_status write_document(const struct token *token, struct bf_buf *ret_bytes,
		struct belfry_error *err)
{
	struct bf_json_writer writer;
	char base64[DIGEST_BASE64];
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;

	bf_base64_encode(token->digest, DIGEST_BYTES, base64);
	bf_json_writer_begin(&writer);
	bf_json_write_text(&writer, "role", ADMIN);
	bf_json_write_text(&writer, "sha256", base64);
	enum belfry_status status = bf_json_writer_end(&writer, &object);
	if (status == BELFRY_OK) {
		status = bf_json_dump(object, ret_bytes);
	}
	return status == BELFRY_OK ? status : bf_error_system(err, status, 0, "token");
}

static enum belfry_status store_token(struct bf_tokens *tokens, struct token *token,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	char id[BELFRY_ID_TEXT_BYTES];
	enum belfry_status status = write_document(token, &bytes, err);

	if (status != BELFRY_OK) {
		return status;
	}
	belfry_id_format(token->id, id);
	struct belfry_document document = {
			.kind = BF_STR(KIND),
			.id = bf_str(id),
			.name = BF_STR(ADMIN),
			.bytes = bf_buf_str(&bytes),
	};
	status = bf_backend_put_document(tokens->options.store, &document, token->etag, err);
	if (status == BELFRY_OK) {
		token->etag = document.etag;
	}
	return status;
}

/* What the file holds, made where there is none. */
static enum belfry_status obtain_text(const struct bf_tokens *tokens,
		struct bf_token_text *ret_text, struct belfry_error *err)
{
	const char *folder = tokens->options.data_folder;
	enum belfry_status status = bf_token_file_read(folder, ret_text, err);

	if (status != BELFRY_NOT_FOUND) {
		return status;
	}
	bf_token_make(tokens->options.env, ret_text);
	return bf_token_file_write(folder, ret_text, err);
}

/* From now on the admin's token is the one of the file. */
static enum belfry_status take_file(struct bf_tokens *tokens, struct belfry_error *err)
{
	BF_CLEANUP(bf_token_text_wipe) struct bf_token_text text = {{0}};
	struct token *admin = find_admin(tokens);
	struct token token = {.is_admin = true};
	enum belfry_status status = obtain_text(tokens, &text, err);

	if (status == BELFRY_OK) {
		status = digest_of(bf_str(text.text), token.digest, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	BF_CRASH_POINT("token-file-written");
	if (admin != NULL && bf_equal_secret(admin->digest, token.digest, DIGEST_BYTES)) {
		tokens->news = BF_TOKENS_KEPT;
		return BELFRY_OK;
	}
	tokens->news = BF_TOKENS_MADE;
	token.id = admin != NULL ? admin->id : bf_id_random(tokens->options.env);
	token.etag = admin != NULL ? admin->etag : 0;
	status = store_token(tokens, &token, err);
	if (status == BELFRY_OK && admin != NULL) {
		*admin = token;
		return BELFRY_OK;
	}
	return status == BELFRY_OK ? add_token(tokens, &token, err) : status;
}

/* The store has tokens: what is there to say of the file? */
static enum belfry_status look_at_file(struct bf_tokens *tokens, struct belfry_error *err)
{
	BF_CLEANUP(bf_token_text_wipe) struct bf_token_text text = {{0}};
	enum belfry_status status = bf_token_file_read(tokens->options.data_folder, &text, err);

	if (status == BELFRY_NOT_FOUND) {
		tokens->news = BF_TOKENS_HIDDEN;
		return BELFRY_OK;
	}
	if (status == BELFRY_OK) {
		struct belfry_id id = bf_tokens_find(tokens, bf_str(text.text));
		tokens->news = bf_id_is_zero(id) ? BF_TOKENS_FOREIGN : BF_TOKENS_KEPT;
	}
	return status;
}

/* ---- life -------------------------------------------------------------------------------------- */

void bf_tokens_close(struct bf_tokens *tokens)
{
	if (tokens != NULL) {
		bf_free(tokens->items);
		bf_free(tokens);
	}
}

BF_CLEANUP_POINTER(tokens, struct bf_tokens, bf_tokens_close)

enum belfry_status bf_tokens_open(const struct bf_tokens_options *options,
		struct bf_tokens **ret_tokens, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_tokens) struct bf_tokens *tokens = bf_alloc(sizeof(*tokens));

	if (tokens == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "tokens");
	}
	tokens->options = *options;
	atomic_init(&tokens->logged_us, NEVER_LOGGED);
	enum belfry_status status = load(tokens, err);
	if (status == BELFRY_OK &&
			(options->is_renewed || (options->is_needed && tokens->count == 0))) {
		status = take_file(tokens, err);
	} else if (status == BELFRY_OK && tokens->count > 0) {
		status = look_at_file(tokens, err);
	}
	if (status == BELFRY_OK) {
		*ret_tokens = BF_TAKE(tokens);
	}
	return status;
}

/* ---- asking ------------------------------------------------------------------------------------ */

enum bf_tokens_news bf_tokens_news(const struct bf_tokens *tokens)
{
	return tokens->news;
}

bool bf_tokens_are_needed(const struct bf_tokens *tokens)
{
	return tokens != NULL && tokens->count > 0;
}

struct belfry_id bf_tokens_find(const struct bf_tokens *tokens, struct belfry_str text)
{
	unsigned char digest[DIGEST_BYTES];
	struct belfry_id found = {{0}};

	if (bf_sha256(&text, 1, digest) != BELFRY_OK) {
		return found;
	}
	for (size_t i = 0; i < tokens->count; i++) {
		if (bf_equal_secret(digest, tokens->items[i].digest, DIGEST_BYTES)) {
			found = tokens->items[i].id;
		}
	}
	return found;
}

void bf_tokens_note_refusal(struct bf_tokens *tokens, struct belfry_str peer)
{
	const struct bf_env *env = tokens->options.env;
	long long now = env->boot(env->data).us;
	long long before = atomic_load(&tokens->logged_us);

	(void)atomic_fetch_add(&tokens->refused_count, 1);
	if (before != NEVER_LOGGED && now - before < LOGGED_EVERY) {
		return;
	}
	/* Of several at once one writes. */
	if (atomic_compare_exchange_strong(&tokens->logged_us, &before, now)) {
		bf_log(env, BF_LOG_WARNING,
				"event=token_refused count=%lld peer=%.*s detail=\"requests without a "
				"token that is known\"",
				atomic_exchange(&tokens->refused_count, 0), BF_STR_ARGS(peer));
	}
}

/* Opening a scheduler: which provider, which store, and everything that can be wrong with that said in words
 * that name what is missing and both remedies (contract.md, B23). What is opened here belongs to the
 * scheduler; what the program opened itself stays the program's.
 *
 * Not here  the operations (provider.c), and what a provider makes of its options. */
#include "base/alloc.h"
#include "base/env.h"
#include "provider/provider_priv.h"

#define NAME_BYTES ((size_t)200)
#define OWNER      "a program that embeds Belfry"

static bool is_all_zero(const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	size_t i = 0;

	while (i < size && p[i] == 0) {
		i++;
	}
	return i == size;
}

/* Options of the engine that were set, and would be lost with a size that was not. */
static enum belfry_status check_engine(const struct belfry_provider_options *engine, size_t room,
		struct belfry_error *err)
{
	bool is_unset = is_all_zero(engine, BF_MIN(room, sizeof(*engine)));

	if (engine->size < sizeof(engine->size) && !is_unset) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"options.engine has no size: begin with BELFRY_SCHEDULER_OPTIONS_INIT, "
				"or set options.engine.size to sizeof(options.engine)");
	}
	return BELFRY_OK;
}

/* A program that was built against an older header has shorter structs: what they lack is zero. */
static enum belfry_status copy_options(const struct belfry_scheduler_options *options,
		struct belfry_scheduler_options *mine, struct belfry_error *err)
{
	size_t head = offsetof(struct belfry_scheduler_options, engine);

	if (options == NULL || options->size < head + sizeof(options->engine.size)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the options have no size: begin with BELFRY_SCHEDULER_OPTIONS_INIT");
	}
	size_t room = BF_MIN(options->size, sizeof(*mine)) - head;
	enum belfry_status status = check_engine(&options->engine, room, err);
	if (status != BELFRY_OK) {
		return status;
	}
	*mine = (struct belfry_scheduler_options){0};
	memcpy(mine, options, head);
	memcpy(&mine->engine, &options->engine, BF_MIN(room, options->engine.size));
	mine->engine.size = sizeof(mine->engine);
	return BELFRY_OK;
}

static enum belfry_status check_name(const char *what, struct belfry_str name,
		struct belfry_error *err)
{
	if (name.len > NAME_BYTES || (name.len > 0 && name.ptr == NULL) || !bf_str_is_utf8(name)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"%s: at most %zu bytes of UTF-8 without NUL", what, NAME_BYTES);
	}
	return BELFRY_OK;
}

static enum belfry_status find_ops(const struct belfry_scheduler_options *options,
		const struct belfry_provider_ops **ret_ops, struct belfry_error *err)
{
	if (options->provider_ops != NULL) {
		*ret_ops = options->provider_ops; /* checked where it is wrapped */
		return BELFRY_OK;
	}
	return bf_provider_find(bf_str(options->provider != NULL ? options->provider : "embedded"),
			ret_ops, err);
}

static enum belfry_status open_and_migrate(const struct belfry_scheduler_options *options,
		struct bf_store **ret_store, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_store) struct bf_store *store = NULL;
	const struct belfry_store_ops *ops = NULL;
	struct belfry_store_options store_options = {
			.size = sizeof(store_options),
			.url = bf_str(options->store),
			.timeout = options->engine.timeout,
			.owner = options->engine.identity.len > 0 ? options->engine.identity
								  : BF_STR(OWNER),
	};
	enum belfry_status status = bf_store_ops_find(store_options.url, &ops, err);

	if (status == BELFRY_OK) {
		status = bf_store_open(ops, &store_options, &store, err);
	}
	if (status == BELFRY_OK) {
		status = bf_store_migrate(store, err);
	}
	if (status == BELFRY_OK) {
		*ret_store = BF_TAKE(store);
	}
	return status;
}

/* Nothing where the program brings its own, or names none. */
static enum belfry_status open_store(struct belfry_scheduler_options *options,
		struct bf_store **ret_store, struct belfry_error *err)
{
	if (options->engine.store != NULL || options->store == NULL) {
		return BELFRY_OK;
	}
	if (options->engine.timeout < 0) {
		return BELFRY_OK; /* the provider refuses it, with the other durations */
	}
	enum belfry_status status = open_and_migrate(options, ret_store, err);
	if (status == BELFRY_OK) {
		options->engine.store = bf_store_inner(*ret_store);
	} else if (status == BELFRY_CONFIGURATION) {
		bf_provider_add_remedy(err);
	}
	return status;
}

/* Said once, at the opening (contract.md, T086). */
static void log_properties(const struct belfry_provider_options *options,
		const struct belfry_properties *p)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};

	if (options->log == NULL) {
		return;
	}
	bf_buf_appendf(&line,
			"what=provider name=%s recovery_scope=%s max_active_schedules=%lld "
			"pause_visibility_seconds=%lld",
			p->name,
			p->recovery_scope == BELFRY_RECOVERY_CLUSTER ? "cluster" : "executor",
			(long long)p->max_active_schedules,
			(long long)(p->pause_visibility / BELFRY_SECOND));
	if (bf_buf_status(&line) == BELFRY_OK) {
		options->log(options->log_data, BF_LOG_INFO, line.ptr);
	}
}

static enum belfry_status open_checked(struct belfry_scheduler_options *options,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err)
{
	const struct belfry_provider_ops *ops = NULL;
	BF_CLEANUP(bf_cleanup_store) struct bf_store *store = NULL;
	enum belfry_status status = find_ops(options, &ops, err);

	if (status == BELFRY_OK) {
		status = bf_provider_check_ops(ops, err);
	}
	if (status == BELFRY_OK) {
		status = open_store(options, &store, err);
	}
	if (status == BELFRY_OK) {
		status = bf_scheduler_new(ops, &options->engine, &store, ret_scheduler, err);
	}
	return status;
}

enum belfry_status belfry_scheduler_open(const struct belfry_scheduler_options *options,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err)
{
	struct belfry_scheduler_options mine;
	struct belfry_scheduler *scheduler = NULL;

	if (ret_scheduler == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "open: a place for the answer is missing");
	}
	enum belfry_status status = copy_options(options, &mine, err);
	if (status == BELFRY_OK) {
		status = check_name("identity", mine.engine.identity, err);
	}
	if (status == BELFRY_OK) {
		status = check_name("version", mine.engine.version, err);
	}
	if (status == BELFRY_OK) {
		status = open_checked(&mine, &scheduler, err);
	}
	if (status == BELFRY_OK) {
		log_properties(&mine.engine, belfry_scheduler_properties(scheduler));
		*ret_scheduler = scheduler;
	}
	return status;
}

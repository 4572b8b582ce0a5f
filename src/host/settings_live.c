/* Settings that were changed over the API: kept as one document of the store, {"NAME": value}, laid over
 * those of the start when the host opens, and changed while it runs.
 *
 * Invariants  what was changed is in the store before it holds or is answered. A stored value that the
 * environment overrules stays stored. One that this version cannot read does not stop a start: it is
 * logged, and its setting keeps its default.
 *
 * Threads  the values that change are guarded by settings_lock, which is never held over a call of the
 * store; one change at a time by settings_change_lock. */
#include "host/settings_live.h"

#include "base/error.h"
#include "host/backend.h"
#include "host/host_priv.h"

#define KIND      "setting"
#define ID        "changed"
#define MAX_BYTES (64 * 1024)

/* *ret_etag is 0, and *ret_stored an empty object, where nothing was changed yet. */
static enum belfry_status read_stored(struct bf_store *store, json_t **ret_stored,
		int64_t *ret_etag, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	*ret_etag = 0;
	enum belfry_status status = bf_backend_get_document(store, BF_STR(KIND), BF_STR(ID), &arena,
			&document, err);
	if (status == BELFRY_OK) {
		*ret_etag = document.etag;
		struct belfry_error reading = {0};
		status = bf_json_parse(document.bytes, MAX_BYTES, ret_stored, &reading);
		if (status == BELFRY_OK && json_is_object(*ret_stored)) {
			return BELFRY_OK;
		}
		json_decref(*ret_stored);
		*ret_stored = NULL;
		return bf_error_system(err, status == BELFRY_NOMEM ? status : BELFRY_CORRUPT, 0,
				"the stored settings cannot be read: %s", reading.message);
	}
	if (status != BELFRY_NOT_FOUND) {
		return status;
	}
	*ret_stored = json_object();
	return *ret_stored != NULL ? BELFRY_OK : bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static void log_ignored(const struct bf_env *env, const char *what, const struct belfry_error *why)
{
	bf_log(env, BF_LOG_WARNING,
			"event=setting_ignored setting=%s detail=\"%s\" next=\"PATCH /v1/settings "
			"changes or forgets it\"",
			what, why->detail[0] != '\0' ? why->detail : why->message);
}

/* One at a time, so that one that is wrong leaves the others. */
static void lay_over(struct bf_settings *settings, const json_t *stored, const struct bf_env *env)
{
	const char *name;
	json_t *value;

	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)stored, name, value)
	{
		BF_CLEANUP(bf_cleanup_json) json_t *one = json_object();
		struct bf_settings laid = *settings;
		struct belfry_error why = {0};
		enum belfry_status status = json_object_set(one, name, value) == 0
				? bf_settings_change(&laid, one, &why)
				: bf_error_set(&why, BELFRY_NOMEM, "out of memory");
		if (status == BELFRY_OK) {
			*settings = laid;
		} else {
			log_ignored(env, name, &why);
		}
	}
}

enum belfry_status bf_settings_load(struct bf_settings *settings, struct bf_store *store,
		const struct bf_env *env, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *stored = NULL;
	struct bf_settings laid = *settings;
	struct belfry_error why = {0};
	int64_t etag;

	enum belfry_status status = read_stored(store, &stored, &etag, err);
	if (status == BELFRY_CORRUPT) {
		log_ignored(env, "all", err);
		return BELFRY_OK;
	}
	if (status != BELFRY_OK) {
		return status;
	}
	lay_over(&laid, stored, env);
	if (bf_settings_check(&laid, &why) != BELFRY_OK) {
		log_ignored(env, "all", &why);
		return BELFRY_OK;
	}
	*settings = laid;
	return BELFRY_OK;
}

/* --- while it runs --- */

static belfry_duration read_duration(struct bf_host *host, const belfry_duration *duration)
{
	(void)pthread_mutex_lock(&host->settings_lock); /* not held by this thread: cannot fail */
	belfry_duration value = *duration;
	(void)pthread_mutex_unlock(&host->settings_lock);
	return value;
}

belfry_duration bf_host_grace(struct bf_host *host)
{
	return read_duration(host, &host->settings.grace);
}

belfry_duration bf_host_stop_time(struct bf_host *host)
{
	return read_duration(host, &host->settings.stop_time);
}

enum belfry_status bf_host_write_settings(struct bf_host *host, json_t **ret_object,
		struct belfry_error *err)
{
	(void)pthread_mutex_lock(&host->settings_lock);
	struct bf_settings settings = host->settings;
	struct bf_settings next = host->next_settings;
	(void)pthread_mutex_unlock(&host->settings_lock);
	if (bf_settings_write(&settings, &next, ret_object) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

/* A null takes a change back: nothing of it stays. */
static enum belfry_status merge(json_t *stored, const json_t *changes, struct belfry_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)changes, name, value)
	{
		if (json_is_null(value)) {
			(void)json_object_del(stored, name); /* it may not be there */
		} else if (json_object_set(stored, name, value) != 0) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
	}
	return BELFRY_OK;
}

static enum belfry_status store_changes(struct bf_host *host, const json_t *changes,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *stored = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	int64_t etag = 0;

	enum belfry_status status = read_stored(host->options.store, &stored, &etag, err);
	if (status == BELFRY_CORRUPT) { /* made anew */
		stored = json_object();
		status = stored != NULL ? BELFRY_OK : BELFRY_NOMEM;
	}
	if (status == BELFRY_OK) {
		status = merge(stored, changes, err);
	}
	if (status == BELFRY_OK && bf_json_dump(stored, &bytes) != BELFRY_OK) {
		status = bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_document document = {.kind = BF_STR(KIND),
			.id = BF_STR(ID),
			.bytes = bf_buf_str(&bytes)};
	status = bf_backend_put_document(host->options.store, &document, etag, err);
	if (status == BELFRY_CONFLICT || status == BELFRY_PRECONDITION) {
		return bf_error_set(err, BELFRY_CONFLICT,
				"somebody else changed the settings first: read them again, and "
				"decide again");
	}
	return status;
}

enum belfry_status bf_host_change_settings(struct bf_host *host, const json_t *changes,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = &host->settings_change_lock;

	(void)pthread_mutex_lock(lock);                /* not held by this thread: cannot fail */
	struct bf_settings next = host->next_settings; /* written under this lock too */
	enum belfry_status status = bf_settings_change(&next, changes, err);
	if (status == BELFRY_OK) {
		status = bf_settings_check(&next, err);
	}
	if (status == BELFRY_OK) {
		status = store_changes(host, changes, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	(void)pthread_mutex_lock(&host->settings_lock);
	host->next_settings = next;
	bf_settings_take_live(&host->settings, &next);
	(void)pthread_mutex_unlock(&host->settings_lock);
	return BELFRY_OK;
}

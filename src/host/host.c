/* The host's life: made of its parts, started, stopped. Start brings the provider to what the
 * records say before anything is dispatched; a start that cannot do so is refused. A single record that
 * the provider does not take is no such case: it is shown with its reason, and the others run. */
#include "host/host.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "host/backend.h"
#include "host/events.h"
#include "host/host_priv.h"
#include "host/reconcile.h"
#include "store/store.h"

/* Also where nothing is allowed any more: what an earlier start left is looked after. */
static enum belfry_status make_exec(struct bf_host *host, struct belfry_error *err)
{
	const struct bf_host_exec *exec = host->options.exec; /* borrowed for this call alone */
	host->allowed = (struct bf_exec_allowed){exec->programs, exec->program_count};
	const struct bf_exec_options options = {
			.size = sizeof(options),
			.env = host->options.env,
			.outputs = host->outputs,
			.store = host->options.store,
			.scheduler = host->options.scheduler,
			.secrets = exec->secrets,
			.data_folder = exec->data_folder,
			.program = exec->supervisor,
			.allowed = &host->allowed,
			.concurrent = (unsigned)host->settings.exec_concurrent,
			.output_limit = (uint64_t)host->settings.output_limit,
	};

	host->options.exec = NULL;
	return bf_exec_new(&options, &host->exec, err);
}

enum belfry_status bf_host_new(const struct bf_host_options *options, struct bf_host **ret_host,
		struct belfry_error *err)
{
	if (!bf_store_has_documents(options->store)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store \"%s\" keeps no records of a host; choose another one",
				bf_store_name(options->store));
	}
	struct bf_host *host = bf_alloc(sizeof(*host));
	char *version = bf_str_dup(bf_str(options->version));
	if (host == NULL || version == NULL) {
		bf_free(host);
		bf_free(version);
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	host->options = *options;
	host->settings = *options->settings;
	host->next_settings = host->settings;
	host->version = version;
	for (size_t i = 0; i < BF_HOST_LOCKS; i++) {
		(void)pthread_mutex_init(&host->locks[i], NULL); /* default kind: cannot fail */
	}
	(void)pthread_rwlock_init(&host->calendars_lock, NULL);       /* the same */
	(void)pthread_mutex_init(&host->calendars_change_lock, NULL); /* the same */
	(void)pthread_mutex_init(&host->reconcile_lock, NULL);        /* the same */
	(void)pthread_mutex_init(&host->settings_lock, NULL);         /* the same */
	(void)pthread_mutex_init(&host->settings_change_lock, NULL);  /* the same */
	bf_refusals_init(&host->refusals);
	bf_dispatch_init(host);
	bf_host_tend_init(host);
	enum belfry_status status = bf_outputs_new(options->store, options->env, &host->outputs,
			err);
	if (status == BELFRY_OK && options->exec != NULL) {
		status = make_exec(host, err);
	}
	if (status != BELFRY_OK) {
		bf_host_free(host);
		return status;
	}
	*ret_host = host;
	return BELFRY_OK;
}

void bf_host_free(struct bf_host *host)
{
	if (host == NULL) {
		return;
	}
	(void)bf_host_stop(host, NULL); /* what is still open goes on at the next start */
	bf_exec_free(host->exec);       /* its jobs are done by the next */
	bf_outputs_free(host->outputs);
	for (size_t i = 0; i < BF_HOST_LOCKS; i++) {
		(void)pthread_mutex_destroy(&host->locks[i]); /* nobody holds it */
	}
	(void)pthread_rwlock_destroy(&host->calendars_lock);       /* the same */
	(void)pthread_mutex_destroy(&host->calendars_change_lock); /* the same */
	(void)pthread_mutex_destroy(&host->reconcile_lock);        /* the same */
	(void)pthread_mutex_destroy(&host->settings_lock);         /* the same */
	(void)pthread_mutex_destroy(&host->settings_change_lock);  /* the same */
	bf_refusals_fini(&host->refusals);
	bf_free(host->version);
	bf_free(host);
}

/* Whoever starts a host reads its log too, so the operator's detail is said along. */
static void explain_refusal(struct belfry_error *err, const char *what)
{
	if (err == NULL) {
		return;
	}
	bf_error_prefix(err, "%s", what);
	size_t used = strlen(err->message);
	if (err->detail[0] != '\0') {
		(void)snprintf(err->message + used, sizeof(err->message) - used, " (%s)",
				err->detail);
	}
}

enum belfry_status bf_host_start(struct bf_host *host, struct belfry_error *err)
{
	if (atomic_load(&host->is_started)) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_reconcile(host, err);
	if (status != BELFRY_OK) {
		explain_refusal(err,
				"the stored deployments could not be handed to the scheduler: ");
		return status;
	}
	if (host->exec != NULL) {
		status = bf_exec_recover(host->exec, err);
		if (status != BELFRY_OK) {
			explain_refusal(err, "what commands left could not be read: ");
			return status;
		}
	}
	status = belfry_scheduler_start(host->options.scheduler, &host->handler, err);
	if (status != BELFRY_OK) {
		explain_refusal(err, "the scheduler did not start: ");
		return status;
	}
	atomic_store(&host->is_started, true);
	bf_events_lost(host->options.events);
	return BELFRY_OK;
}

enum belfry_status bf_host_reconcile(struct bf_host *host, struct belfry_error *err)
{
	return bf_reconcile(host, err);
}

enum belfry_status bf_host_stop(struct bf_host *host, struct belfry_error *err)
{
	if (!atomic_exchange(&host->is_started, false)) {
		return BELFRY_OK;
	}
	return belfry_scheduler_stop(host->options.scheduler, bf_host_stop_time(host), err);
}

const char *bf_host_version(const struct bf_host *host)
{
	return host->version;
}

const char *bf_host_tz_version(const struct bf_host *host)
{
	return belfry_zones_version(host->options.zones);
}

const struct bf_env *bf_host_env(const struct bf_host *host)
{
	return host->options.env;
}

void bf_host_lock(struct bf_host *host, struct belfry_str id, pthread_mutex_t **ret_lock)
{
	size_t index = id.len > 0 ? (size_t)bf_hash64(0, id.ptr, id.len) % BF_HOST_LOCKS : 0;

	(void)pthread_mutex_lock(&host->locks[index]); /* not held by this thread: cannot fail */
	*ret_lock = &host->locks[index];
}

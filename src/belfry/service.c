/* Putting a host together, and taking it apart in the order that is safe: first nobody asks any more,
 * then nothing is called any more, then nothing is stored any more. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include "belfry/service.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "host/settings_live.h"
#include "http/api.h"
#include "provider/provider.h"
#include "store/store.h"

struct bf_service {
	struct bf_service_options options;
	struct bf_settings settings; /* those of the options, and what was changed over the API */
	struct bf_store *store;
	struct belfry_zones *zones;
	struct belfry_scheduler *scheduler;
	struct bf_secrets *secrets;
	struct bf_webhook *webhook;
	struct bf_tokens *tokens;
	struct bf_events *events;
	struct bf_host *host;
	struct bf_api_events *api_events;
	struct bf_api api;
	struct bf_http_server *server;
	char url[96];
	char data_path[PATH_MAX]; /* of the data folder, absolute */
};

/* ---- the data folder and its store ------------------------------------------------------------- */

static enum belfry_status make_folder(const char *path, struct belfry_error *err)
{
	struct stat info;

	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the folder %s cannot be made (%s): name another one with --data",
				path, strerror(errno));
	}
	if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"%s is no folder: name another one with --data", path);
	}
	return BELFRY_OK;
}

/* Every folder on the way, as `mkdir -p` does. */
static enum belfry_status make_folders(const char *path, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) char *part = bf_strndup(path, strlen(path));
	enum belfry_status status = BELFRY_OK;

	if (part == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "data folder");
	}
	for (char *at = part + 1; status == BELFRY_OK && *at != '\0'; at++) {
		struct stat info;
		if (*at != '/') {
			continue;
		}
		*at = '\0';
		if (stat(part, &info) != 0) {
			status = make_folder(part, err);
		}
		*at = '/';
	}
	return status == BELFRY_OK ? make_folder(path, err) : status;
}

static enum belfry_status open_store(struct bf_service *service, struct belfry_error *err)
{
	const struct bf_service_options *o = &service->options;
	const struct belfry_store_ops *ops;
	BF_CLEANUP(bf_buf_fini) struct bf_buf url = {0};
	char owner[96];
	enum belfry_status status = make_folders(o->data_folder, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (o->store_url != NULL) {
		bf_buf_append_text(&url, o->store_url);
	} else {
		bf_buf_appendf(&url, "sqlite:%s/belfry.db", o->data_folder);
	}
	(void)snprintf(owner, sizeof(owner), "belfry %s", o->version);
	struct belfry_store_options options = {
			.size = sizeof(options),
			.url = bf_buf_str(&url),
			.is_standby = o->is_standby,
			.owner = bf_str(owner),
	};
	status = bf_buf_status(&url);
	if (status == BELFRY_OK) {
		status = bf_store_ops_find(options.url, &ops, err);
	}
	if (status == BELFRY_OK) {
		status = bf_store_open(ops, &options, &service->store, err);
	}
	if (status == BELFRY_BUSY && err != NULL) {
		size_t len = strlen(err->message);
		(void)snprintf(err->message + len, sizeof(err->message) - len,
				", as --standby does");
	}
	if (status == BELFRY_OK) {
		status = bf_store_migrate(service->store, err);
	}
	return status == BELFRY_OK
			? bf_settings_load(&service->settings, service->store, o->env, err)
			: status;
}

static enum belfry_status open_tokens(struct bf_service *service, struct belfry_error *err)
{
	const struct bf_service_options *o = &service->options;
	struct bf_tokens_options options = {
			.size = sizeof(options),
			.env = o->env,
			.store = service->store,
			.data_folder = o->data_folder,
			.is_needed = o->is_token_needed,
			.is_renewed = o->is_token_renewed,
	};

	return bf_tokens_open(&options, &service->tokens, err);
}

/* ---- the parts --------------------------------------------------------------------------------- */

static void forward_log(void *data, int level, const char *line)
{
	const struct bf_env *env = data;

	env->log(env->data, (enum bf_log_level)level, line);
}

static enum belfry_status make_events(struct bf_service *service, struct belfry_error *err)
{
	if (bf_events_new(service->options.env, &service->events) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "events");
	}
	return BELFRY_OK;
}

static void forward_change(void *data, struct belfry_str schedule)
{
	bf_events_changed(data, schedule);
}

/* Over the store that has the records too: one owner of the file. */
static enum belfry_status open_scheduler(struct bf_service *service, struct belfry_error *err)
{
	const struct bf_service_options *o = &service->options;
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;

	options.provider = o->provider;
	options.engine.store = bf_store_inner(service->store);
	options.engine.tz_directory = o->tz_directory;
	options.engine.identity = bf_str(o->identity);
	options.engine.version = bf_str(o->version);
	options.engine.log_data = (void *)(uintptr_t)o->env;
	options.engine.log = o->env->log != NULL ? forward_log : NULL;
	options.engine.changed_data = service->events;
	options.engine.changed = forward_change;
	bf_settings_fill_provider(o->settings, &options.engine);
	return belfry_scheduler_open(&options, &service->scheduler, err);
}

static enum belfry_status make_targets(struct bf_service *service, struct belfry_error *err)
{
	const struct bf_service_options *o = &service->options;
	struct bf_webhook_options options = BF_WEBHOOK_OPTIONS_INIT;
	enum belfry_status status = bf_secrets_new(o->data_folder, o->credentials_folder,
			&service->secrets);

	if (status != BELFRY_OK) {
		return bf_error_system(err, status, 0, "secrets");
	}
	options.env = o->env;
	options.allow = o->allow;
	options.secrets = service->secrets;
	options.per_host = (unsigned)o->settings->per_host;
	options.answer_limit = (size_t)o->settings->answer_limit;
	return bf_webhook_new(&options, &service->webhook, err);
}

static enum belfry_status make_host(struct bf_service *service, struct belfry_error *err)
{
	const struct bf_service_options *o = &service->options;
	const struct bf_host_exec exec = {
			.data_folder = service->data_path,
			.programs = o->programs,
			.program_count = o->program_count,
			.secrets = service->secrets,
	};
	struct bf_host_options options = {
			.size = sizeof(options),
			.env = o->env,
			.scheduler = service->scheduler,
			.store = service->store,
			.zones = service->zones,
			.webhook = service->webhook,
			.allow = o->allow,
			.exec = &exec,
			.settings = o->settings,
			.version = o->version,
			.events = service->events,
	};

	if (realpath(o->data_folder, service->data_path) == NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION, "the folder %s cannot be used (%s)",
				o->data_folder, strerror(errno));
	}
	enum belfry_status status = bf_host_new(&options, &service->host, err);

	return status == BELFRY_OK ? bf_host_start(service->host, err) : status;
}

#define CONNECTIONS_MIN 16
#define CONNECTIONS_MAX 4096

/* A quarter of the descriptors is for clients. The calls to targets keep at most half of them idle, and
 * what is left is for the store and for calls under way: clients alone cannot stop the work. */
static void limit_connections(struct bf_http_server_options *options)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
		return; /* the usual limits, then */
	}
	rlim_t quarter = BF_MIN(limit.rlim_cur / 4, (rlim_t)CONNECTIONS_MAX);
	options->connection_count = BF_MAX((unsigned)quarter, CONNECTIONS_MIN);
	options->per_ip_count = options->connection_count / 2;
}

/* A quarter of the connections at most are streams: the others are for those who ask. */
static enum belfry_status start_events(struct bf_service *service, unsigned connection_count,
		struct belfry_error *err)
{
	const struct bf_settings *settings = service->options.settings;
	struct bf_api_events_options options = BF_API_EVENTS_OPTIONS_INIT;

	options.env = service->options.env;
	options.events = service->events;
	options.stream_count = (unsigned)BF_MIN(settings->streams, (int64_t)connection_count / 4);
	options.token_count = (unsigned)settings->streams_per_token;
	return bf_api_events_start(&options, &service->api_events, err);
}

static enum belfry_status start_server(struct bf_service *service, struct belfry_error *err)
{
	struct bf_http_server_options options = BF_HTTP_SERVER_OPTIONS_INIT;

	options.env = service->options.env;
	options.address = service->options.address;
	options.port = service->options.port;
	options.body_bytes = BF_API_LARGEST_BODY_BYTES;
	options.judge = bf_api_judge;
	limit_connections(&options);
	enum belfry_status status = start_events(service, options.connection_count, err);
	if (status == BELFRY_OK) {
		service->api = (struct bf_api){service->host, service->tokens, service->api_events};
		status = bf_http_server_start(&options, bf_api_handle, &service->api,
				&service->server, err);
	}
	if (status == BELFRY_OK) {
		bool is_v6 = strchr(service->options.address, ':') != NULL;
		(void)snprintf(service->url, sizeof(service->url), "http://%s%s%s:%u",
				is_v6 ? "[" : "", service->options.address, is_v6 ? "]" : "",
				bf_http_server_port(service->server));
	}
	return status;
}

enum belfry_status bf_service_open(const struct bf_service_options *options,
		struct bf_service **ret_service, struct belfry_error *err)
{
	struct bf_service *service = bf_alloc(sizeof(*service));

	if (service == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "service");
	}
	service->options = *options;
	service->settings = *options->settings;
	service->options.settings = &service->settings;
	enum belfry_status (*const parts[])(struct bf_service *, struct belfry_error *) = {
			open_store, open_tokens, make_events, open_scheduler, make_targets};
	enum belfry_status status = belfry_zones_new(options->tz_directory, &service->zones, err);
	for (size_t i = 0; status == BELFRY_OK && i < BF_COUNT(parts); i++) {
		status = parts[i](service, err);
	}
	if (status == BELFRY_OK) {
		status = make_host(service, err);
	}
	if (status == BELFRY_OK) {
		status = start_server(service, err);
	}
	if (status != BELFRY_OK) {
		bf_service_close(service);
		return status;
	}
	*ret_service = service;
	return BELFRY_OK;
}

void bf_service_close(struct bf_service *service)
{
	struct belfry_error err;

	if (service == NULL) {
		return;
	}
	bf_http_server_stop(service->server);
	bf_api_events_stop(service->api_events);
	if (service->host != NULL && bf_host_stop(service->host, &err) != BELFRY_OK) {
		bf_log(service->options.env, BF_LOG_WARNING, "what=stop detail=\"%s\"",
				err.message);
	}
	bf_webhook_free(service->webhook);
	bf_host_free(service->host);
	belfry_scheduler_close(service->scheduler);
	bf_events_free(service->events);
	bf_tokens_close(service->tokens);
	bf_secrets_free(service->secrets);
	belfry_zones_free(service->zones);
	bf_store_close(service->store);
	bf_free(service);
}

enum bf_tokens_news bf_service_tokens_news(const struct bf_service *service)
{
	return bf_tokens_news(service->tokens);
}

const char *bf_service_url(const struct bf_service *service)
{
	return service->url;
}

struct bf_host *bf_service_host(struct bf_service *service)
{
	return service->host;
}

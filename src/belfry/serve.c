/* `belfry serve`: the host in the foreground. Reads its flags and environment, opens the service, says
 * where it is, and waits for a signal; feeds the watchdog while the host is ready, and reconciles records
 * and engine every few minutes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include "belfry/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "belfry/notify.h"
#include "belfry/service.h"
#include "host/runs.h"
#include "host/targets/allow.h"

#define LISTEN_DEFAULT  "127.0.0.1:8377"
#define LOOK_EVERY     (BELFRY_SECOND)
#define IDENTITY_BYTES 200

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* ---- what was asked for ------------------------------------------------------------------------ */

/* What interface.md names and this version does not carry out: refused by name, never ignored. */
static enum belfry_status refuse_later_flags(const struct bf_args *args, struct belfry_error *err)
{
	static const char *const later[] = {"config", "preset"};

	for (size_t i = 0; i < BF_COUNT(later); i++) {
		if (bf_args_has(args, later[i])) {
			return bf_error_set(err, BELFRY_USAGE,
					"this version does not offer --%s: settings are read from "
					"BELFRY_... variables",
					later[i]);
		}
	}
	if (bf_args_has(args, "allow-exec") || bf_args_has(args, "plain-http")) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"--%s needs tokens, and this version has none yet: it answers on "
				"loopback alone and starts no commands",
				bf_args_has(args, "allow-exec") ? "allow-exec" : "plain-http");
	}
	return BELFRY_OK;
}

/* By its numbers: a name that begins like an address may lead anywhere. */
static bool is_loopback(const char *address)
{
	struct in_addr four;
	struct in6_addr six;

	if (inet_pton(AF_INET, address, &four) == 1) {
		return ntohl(four.s_addr) >> 24 == 127;
	}
	return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

/* "ADDRESS:PORT" into its parts; the address must be a loopback one while there are no tokens (B15). */
static enum belfry_status read_listen(const char *text, char *address, size_t size,
		uint16_t *ret_port, struct belfry_error *err)
{
	const char *colon = strrchr(text, ':');
	int64_t port = 0;
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	if (colon == NULL || len == 0 || len >= size ||
			bf_str_parse_int(bf_str(colon + 1), 0, UINT16_MAX, &port) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_USAGE,
				"--listen: ADDRESS:PORT is needed, like " LISTEN_DEFAULT);
	}
	struct belfry_str name = {text, len};
	if (bf_str_equal(name, BF_STR("localhost"))) {
		name = BF_STR("127.0.0.1");
	} else if (text[0] == '[' && text[len - 1] == ']') {
		name = bf_str_slice(name, 1, len - 1);
	}
	memcpy(address, name.ptr, name.len);
	address[name.len] = '\0';
	if (!is_loopback(address)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"--listen %s: any address beyond loopback needs tokens, and this version "
				"has none yet: use 127.0.0.1",
				text);
	}
	*ret_port = (uint16_t)port;
	return BELFRY_OK;
}

static enum belfry_status read_allow(const struct bf_args *args, struct bf_allow_list *list,
		struct belfry_error *err)
{
	size_t cursor = 0;
	const char *text;

	bf_allow_list_set_private(list, bf_args_has(args, "allow-private-targets"));
	while ((text = bf_args_next(args, "allow-target", &cursor)) != NULL) {
		enum belfry_status status = bf_allow_list_add(list, bf_str(text), err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* $XDG_STATE_HOME/belfry, else ~/.local/state/belfry (interface.md, Files). */
static enum belfry_status find_folder(const struct bf_args *args, struct bf_buf *out,
		struct belfry_error *err)
{
	const char *given = bf_args_value(args, "data");
	const char *state = variable("XDG_STATE_HOME");
	const char *home = variable("HOME");

	if (given != NULL) {
		bf_buf_append_text(out, given);
	} else if (state != NULL && state[0] == '/') {
		bf_buf_appendf(out, "%s/belfry", state);
	} else if (home != NULL) {
		bf_buf_appendf(out, "%s/.local/state/belfry", home);
	} else {
		return bf_error_set(err, BELFRY_USAGE,
				"there is no HOME: name a folder with --data");
	}
	while (out->len > 1 && out->ptr[out->len - 1] == '/') {
		out->ptr[--out->len] = '\0';
	}
	if (out->len == 0) {
		return bf_error_set(err, BELFRY_USAGE, "--data: the name of a folder is needed");
	}
	return bf_buf_status(out);
}

/* It is shown in lists and logged. */
static enum belfry_status check_identity(const char *identity, struct belfry_error *err)
{
	struct belfry_str text = bf_str(identity);
	bool is_fit = text.len <= IDENTITY_BYTES && bf_str_is_utf8(text);

	for (size_t i = 0; is_fit && i < text.len; i++) {
		is_fit = (unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != 0x7f;
	}
	if (!is_fit) {
		return bf_error_set(err, BELFRY_USAGE,
				"--identity: at most %d bytes of text without control characters "
				"are needed",
				IDENTITY_BYTES);
	}
	return BELFRY_OK;
}

static enum belfry_status check_store(const char *url, struct belfry_error *err)
{
	if (url != NULL && bf_str_starts_with(bf_str(url), BF_STR("memory:"))) {
		return bf_error_set(err, BELFRY_USAGE,
				"--store memory: keeps nothing over a restart; use sqlite:PATH");
	}
	return BELFRY_OK;
}

static enum belfry_status read_settings(struct bf_settings *settings, struct belfry_error *err)
{
	bf_settings_init(settings, sysconf(_SC_NPROCESSORS_ONLN));
	enum belfry_status status = bf_settings_read_environment(settings,
			(const char *const *)environ, err);

	return status == BELFRY_OK ? bf_settings_check(settings, err) : status;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* As many descriptors as the system lets us have: thousands of calls may be open. */
static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* else what there is must do */
	}
}

/* Signals come to this thread alone, by sigtimedwait; every other one inherits the mask. */
static sigset_t block_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a full disk, and no end */
	return signals;
}

/* Until a signal that ends it. */
static void run(const struct bf_env *env, struct bf_service *service, const sigset_t *signals)
{
	const char *socket = variable("NOTIFY_SOCKET");
	belfry_duration feed = bf_notify_interval(variable("WATCHDOG_USEC"));
	belfry_duration look = feed > 0 ? BF_MIN(feed, LOOK_EVERY) : LOOK_EVERY;
	const struct timespec wait = {.tv_sec = look / BELFRY_SECOND,
			.tv_nsec = look % BELFRY_SECOND * 1000};
	const char *reasons[BF_HOST_FAULTS];

	bf_notify(socket, "READY=1");
	for (;;) {
		int got = sigtimedwait(signals, NULL, &wait);
		if (got == SIGTERM || got == SIGINT) {
			bf_log(env, BF_LOG_INFO, "what=stopping signal=%s",
					got == SIGTERM ? "TERM" : "INT");
			bf_notify(socket, "STOPPING=1");
			return;
		}
		/* A host that is not ready is not fed: it logs which part stands still (B21). */
		if (bf_host_list_faults(bf_service_host(service), reasons) == 0 && feed > 0) {
			bf_notify(socket, "WATCHDOG=1");
		}
		bf_host_tend(bf_service_host(service), got == SIGHUP);
	}
}

/* A failed start has no log and no reader but the operator, who is told the cause itself. */
static void add_detail(struct belfry_error *err)
{
	size_t len = strlen(err->message);

	if (err->detail[0] != '\0') {
		(void)snprintf(err->message + len, sizeof(err->message) - len, " (%s)",
				err->detail);
	}
}

static void say_where(struct bf_cli *cli, const char *folder, const struct bf_service *service)
{
	(void)fprintf(cli->out, "data folder    %s\n", folder);
	(void)fprintf(cli->out, "configuration  defaults, and BELFRY_... variables\n");
	(void)fprintf(cli->out, "address        %s\n", bf_service_url(service));
	(void)fflush(cli->out);
}

static enum belfry_status serve_until_signal(struct bf_cli *cli,
		const struct bf_service_options *options, struct belfry_error *err)
{
	struct bf_service *service = NULL;

	raise_limits();
	sigset_t signals = block_signals();
	enum belfry_status status = bf_service_open(options, &service, err);
	if (status != BELFRY_OK) {
		add_detail(err);
		return status;
	}
	say_where(cli, options->data_folder, service);
	run(cli->env, service, &signals);
	bf_service_close(service);
	return BELFRY_OK;
}

static enum belfry_status serve_with(struct bf_cli *cli, const struct bf_args *args,
		struct bf_allow_list *allow, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf folder = {0};
	struct bf_settings settings;
	char address[64];
	const char *listen = bf_args_value(args, "listen");
	const char *provider = variable("BELFRY_SCHEDULER_PROVIDER");
	struct bf_service_options options = {
			.env = cli->env,
			.store_url = bf_args_value(args, "store"),
			.provider = provider != NULL ? provider : "embedded",
			.address = address,
			.tz_directory = cli->tz_directory,
			.credentials_folder = variable("CREDENTIALS_DIRECTORY"),
			.identity = bf_args_value(args, "identity"),
			.version = cli->version,
			.is_standby = bf_args_has(args, "standby"),
			.settings = &settings,
			.allow = allow,
	};
	enum belfry_status status = read_listen(listen != NULL ? listen : LISTEN_DEFAULT, address,
			sizeof(address), &options.port, err);
	if (status == BELFRY_OK && options.identity != NULL) {
		status = check_identity(options.identity, err);
	}
	if (status == BELFRY_OK) {
		status = check_store(options.store_url, err);
	}
	if (status == BELFRY_OK) {
		status = read_allow(args, allow, err);
	}
	if (status == BELFRY_OK) {
		status = find_folder(args, &folder, err);
	}
	if (status == BELFRY_OK) {
		status = read_settings(&settings, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	options.data_folder = folder.ptr;
	return serve_until_signal(cli, &options, err);
}

static enum belfry_status serve(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	struct bf_allow_list *allow = NULL;
	enum belfry_status status = refuse_later_flags(args, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_allow_list_new(&allow);
	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "%s", belfry_status_text(status));
	}
	status = serve_with(cli, args, allow, err);
	bf_allow_list_free(allow);
	return status;
}

static const struct bf_option serve_options[] = {
		{.name = "data",
				.argument = "DIR",
				.help = "the data folder (default: $XDG_STATE_HOME/belfry)"},
		{.name = "store",
				.argument = "URL",
				.help = "sqlite:PATH (default: belfry.db in the data folder)"},
		{.name = "listen",
				.argument = "ADDR:PORT",
				.help = "where to answer (default: " LISTEN_DEFAULT
					"; port 0: a free one)"},
		{.name = "allow-target",
				.argument = "CIDR|HOST[:PORT]",
				.help = "let targets be called there, though the address is private",
				.is_repeatable = true},
		{.name = "allow-private-targets",
				.help = "let targets on loopback and private networks be called"},
		{.name = "identity",
				.argument = "NAME",
				.help = "how this process is shown to people"},
		{.name = "standby",
				.help = "wait for the process that holds the data folder to end"},
		{.name = "config", .argument = "FILE", .help = "not in this version"},
		{.name = "preset", .argument = "NAME", .help = "not in this version"},
		{.name = "allow-exec",
				.argument = "COMMAND",
				.help = "not in this version (needs tokens)",
				.is_repeatable = true},
		{.name = "plain-http", .help = "not in this version (needs tokens)"},
		{.name = ""},
};

const struct bf_command bf_command_serve = {
		.path = "serve",
		.synopsis = "[option]...",
		.summary = "run the host: engine, targets and API, until SIGTERM or Ctrl-C",
		.details = "Settings are read from BELFRY_... variables (BELFRY_MAX_CONCURRENT, "
			   "BELFRY_GRACE, ...); `GET /v1/settings` shows them all.",
		.example = "belfry serve --data ~/belfry --allow-private-targets",
		.options = serve_options,
		.run = serve,
};

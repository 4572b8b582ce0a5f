/* `belfry serve`: the host in the foreground. Reads its flags and environment, opens the service, says
 * where it is, and waits for a signal; feeds the watchdog while the host is ready. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include "belfry/serve.h"

#include <errno.h>
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
#include "belfry/listen.h"
#include "belfry/notify.h"
#include "belfry/service.h"
#include "belfry/tender.h"
#include "host/runs.h"
#include "host/targets/allow.h"

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

/* Where it listens, and whether a token is needed for it: whoever may make it run commands, or reaches it
 * from elsewhere (also through a proxy on this machine), has to show one (B15). */
static enum belfry_status read_access(const struct bf_args *args, struct bf_listen *listen,
		struct bf_service_options *options, struct belfry_error *err)
{
	const char *text = bf_args_value(args, "listen");
	bool is_plain_http = bf_args_has(args, "plain-http");
	enum belfry_status status = bf_listen_read(text != NULL ? text : BF_LISTEN_DEFAULT,
			is_plain_http, listen, err);

	if (status == BELFRY_OK) {
		options->port = listen->port;
		options->is_token_renewed = bf_args_has(args, "new-admin-token");
		options->is_token_needed = is_plain_http || bf_args_has(args, "allow-exec") ||
				!bf_listen_is_loopback(listen);
	}
	return status;
}

#define PROGRAMS_MAX 256

/* Each is compared as text with what a deployment names, so neither is resolved. */
static enum belfry_status read_programs(const struct bf_args *args,
		const char *programs[PROGRAMS_MAX], size_t *ret_count, struct belfry_error *err)
{
	size_t cursor = 0;
	const char *text;

	*ret_count = 0;
	while ((text = bf_args_next(args, "allow-exec", &cursor)) != NULL) {
		if (text[0] != '/' || !bf_str_is_utf8(bf_str(text))) {
			return bf_error_set(err, BELFRY_USAGE,
					"--allow-exec %s: the absolute path of a program is needed",
					text);
		}
		if (*ret_count == PROGRAMS_MAX) {
			return bf_error_set(err, BELFRY_USAGE,
					"--allow-exec: at most %d programs are taken",
					PROGRAMS_MAX);
		}
		programs[(*ret_count)++] = text;
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

/* Until a signal that ends it. A hangup asks for a reconciliation now. */
static void wait_for_end(const struct bf_env *env, struct bf_service *service,
		struct bf_tender *tender, const sigset_t *signals)
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
		if (got == SIGHUP) {
			bf_tender_ask(tender);
		}
	}
}

static enum belfry_status run(const struct bf_env *env, struct bf_service *service,
		const sigset_t *signals, struct belfry_error *err)
{
	struct bf_tender tender;
	enum belfry_status status = bf_tender_start(&tender, bf_service_host(service));

	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "the system starts no further thread");
	}
	wait_for_end(env, service, &tender, signals);
	bf_tender_stop(&tender);
	return BELFRY_OK;
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

/* Never the token itself: this goes to logs. */
static void say_token(struct bf_cli *cli, const char *folder, enum bf_tokens_news news)
{
	static const char *const words[] = {
			[BF_TOKENS_NONE] = NULL,
			[BF_TOKENS_MADE] = "a new one",
			[BF_TOKENS_KEPT] = "needed for every request; the file may be deleted",
			[BF_TOKENS_HIDDEN] =
					"needed for every request, and this file is gone: who has "
					"lost the token makes another with --new-admin-token",
			[BF_TOKENS_FOREIGN] =
					"not the one that is known: remove the file, or make it "
					"the known one with --new-admin-token",
	};

	if (words[news] != NULL) {
		(void)fprintf(cli->out, "admin token    %s/admin.token (%s)\n", folder,
				words[news]);
	}
}

static void say_where(struct bf_cli *cli, const char *folder, const struct bf_service *service)
{
	(void)fprintf(cli->out, "data folder    %s\n", folder);
	(void)fprintf(cli->out, "configuration  defaults, and BELFRY_... variables\n");
	say_token(cli, folder, bf_service_tokens_news(service));
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
	status = run(cli->env, service, &signals, err);
	bf_service_close(service);
	return status;
}

static enum belfry_status serve_with(struct bf_cli *cli, const struct bf_args *args,
		struct bf_allow_list *allow, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf folder = {0};
	const char *programs[PROGRAMS_MAX];
	struct bf_settings settings;
	struct bf_listen listen;
	const char *provider = variable("BELFRY_SCHEDULER_PROVIDER");
	struct bf_service_options options = {
			.env = cli->env,
			.store_url = bf_args_value(args, "store"),
			.provider = provider != NULL ? provider : "embedded",
			.address = listen.address,
			.tz_directory = cli->tz_directory,
			.credentials_folder = variable("CREDENTIALS_DIRECTORY"),
			.identity = bf_args_value(args, "identity"),
			.version = cli->version,
			.is_standby = bf_args_has(args, "standby"),
			.settings = &settings,
			.allow = allow,
			.programs = programs,
	};
	enum belfry_status status = read_access(args, &listen, &options, err);
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
		status = read_programs(args, programs, &options.program_count, err);
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
				.help = "where to answer (default: " BF_LISTEN_DEFAULT
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
				.help = "let targets run this program, an absolute path (needs a token)",
				.is_repeatable = true},
		{.name = "plain-http",
				.help = "a proxy in front does TLS: listen anywhere, unencrypted (needs "
					"a token)"},
		{.name = "new-admin-token",
				.help = "where DATA/admin.token is missing, make another token; the old "
					"one ends"},
		{.name = ""},
};

const struct bf_command bf_command_serve = {
		.path = "serve",
		.synopsis = "[option]...",
		.summary = "run the host: engine, targets and API, until SIGTERM or Ctrl-C",
		.details = "Settings are read from BELFRY_... variables (BELFRY_MAX_CONCURRENT, "
			   "BELFRY_GRACE, ...); `GET /v1/settings` shows them all.\n"
			   "What needs a token writes the first one to DATA/admin.token; give it to the "
			   "commands as BELFRY_TOKEN. From then on every request needs it. Lost? Remove "
			   "the file, if it is there, and start once with --new-admin-token.",
		.example = "belfry serve --data ~/belfry --allow-private-targets",
		.options = serve_options,
		.run = serve,
};

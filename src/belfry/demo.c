/* `belfry demo`: the promise, shown. A host in a temporary folder, deployments due every second, a
 * receiver; SIGKILL while a call is open, a restart, and a table of what became of every due time.
 *
 * Whatever happens, also on Ctrl-C, the host is ended and the folder removed before the command returns:
 * signals are read from a descriptor between the steps, none is handled on the side. */
#include "belfry/demo.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"
#include "belfry/demo_count.h"
#include "belfry/demo_host.h"
#include "belfry/demo_receiver.h"
#include "belfry/demo_table.h"
#include "cli/client.h"

#define BELLS_DEFAULT   5
#define BELLS_MAX       50
#define SECONDS_DEFAULT 20
#define SECONDS_MIN     6
#define SECONDS_MAX     3600
#define READY_MAX       (30 * BELFRY_SECOND)
#define OPEN_CALL_MAX   (10 * BELFRY_SECOND)
#define END_MAX         (60 * BELFRY_SECOND)
#define COVERS_AFTER    (4 * BELFRY_SECOND) /* two beats */
#define STOP_SECONDS    10

struct demo {
	struct bf_cli *cli;
	struct bf_cli api; /* the same, but at the demo's own host */
	struct bf_demo_host host;
	struct bf_demo_receiver *receiver;
	struct bf_demo_bell bells[BELLS_MAX];
	size_t bell_count;
	int64_t seconds;
	struct bf_demo_pause pause;
	unsigned killed_calls;
	int signals; /* a signalfd */
	bool is_stopped;
};

static belfry_time wall(const struct demo *demo)
{
	return demo->cli->env->wall(demo->cli->env->data);
}

/* Waits, and notices Ctrl-C. BELFRY_STALE: stopped. */
static enum belfry_status wait_ms(struct demo *demo, int ms, struct belfry_error *err)
{
	struct pollfd fd = {.fd = demo->signals, .events = POLLIN};

	if (!demo->is_stopped && poll(&fd, 1, ms) == 1) {
		demo->is_stopped = true;
	}
	if (demo->is_stopped) {
		return bf_error_set(err, BELFRY_STALE,
				"stopped before the end: there is nothing to count");
	}
	return BELFRY_OK;
}

BF_PRINTF(2, 3) static void say(const struct demo *demo, const char *format, ...)
{
	char time[BF_TIME_TEXT_BYTES];
	va_list list;

	if (demo->cli->is_json) {
		return;
	}
	bf_time_format(wall(demo) / BELFRY_SECOND * BELFRY_SECOND, 0, time);
	(void)fprintf(demo->cli->out, "%.8s  ", time + sizeof("2026-12-01T") - 1);
	va_start(list, format);
	(void)vfprintf(demo->cli->out, format, list);
	va_end(list);
	(void)fputc('\n', demo->cli->out);
	(void)fflush(demo->cli->out);
}

static enum belfry_status refuse_host(struct demo *demo, const char *what, struct belfry_error *err)
{
	char words[200];

	bf_demo_host_last_words(&demo->host, words, sizeof(words));
	return bf_error_set(err, BELFRY_UNAVAILABLE, "the host %s%s%s", what,
			words[0] != '\0' ? "; its last words: " : "", words);
}

/* Starts the host and waits until it plans and dispatches. */
static enum belfry_status start_host(struct demo *demo, struct belfry_error *err)
{
	enum belfry_status status = bf_demo_host_start(&demo->host, err);
	belfry_time deadline = wall(demo) + READY_MAX;

	while (status == BELFRY_OK) {
		BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};

		if (bf_client_call(&demo->api, &(struct bf_request){.path = "/readyz"}, &answer,
				    NULL) == BELFRY_OK) {
			return BELFRY_OK;
		}
		if (bf_demo_host_has_died(&demo->host)) {
			return refuse_host(demo, "ended by itself", err);
		}
		if (wall(demo) > deadline) {
			return refuse_host(demo, "was not ready within 30 s", err);
		}
		status = wait_ms(demo, 50, err);
	}
	return status;
}

/* --- the bells --- */

static json_t *new_bell_body(const struct demo *demo, size_t number)
{
	char name[32];
	char url[64];

	(void)snprintf(name, sizeof(name), "bell-%zu", number + 1);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/",
			bf_demo_receiver_port(demo->receiver));
	return json_pack("{s:s, s:{s:s}, s:{s:s, s:s}, s:s}", "name", name, "rule", "cron",
			"* * * * * *", "target", "kind", "webhook", "url", url, "prompt", "Ring.");
}

static enum belfry_status create_bell(struct demo *demo, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = new_bell_body(demo, demo->bell_count);
	BF_CLEANUP(bf_cleanup_json) json_t *made = NULL;
	struct bf_demo_bell *bell = &demo->bells[demo->bell_count];
	struct bf_request request = {.method = "POST", .path = "/v1/deployments", .body = body};

	if (body == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = bf_client_json(&demo->api, &request, &made, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_str id = bf_json_str(json_object_get(made, "id"));
	if (id.len == 0 || id.len >= sizeof(bell->id)) {
		return bf_error_set(err, BELFRY_INTERNAL, "the host's answer has no id");
	}
	(void)snprintf(bell->id, sizeof(bell->id), "%.*s", BF_STR_ARGS(id));
	/* What came due while the host was being asked may be before the schedule or after it: counted is
	 * what comes due after its answer. */
	bell->from = wall(demo) + 1;
	demo->bell_count++;
	return BELFRY_OK;
}

static enum belfry_status switch_bell(struct demo *demo, const struct bf_demo_bell *bell,
		const char *how, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_object();
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	char path[96];

	(void)snprintf(path, sizeof(path), "/v1/deployments/%s/%s", bell->id, how);
	return bf_client_call(&demo->api,
			&(struct bf_request){.method = "POST", .path = path, .body = body}, &answer,
			err);
}

/* A due time in the second before may not be planned yet when disable answers: it is not counted. */
static enum belfry_status disable_bells(struct demo *demo, struct belfry_error *err)
{
	for (size_t b = 0; b < demo->bell_count; b++) {
		demo->bells[b].to = wall(demo) - BELFRY_SECOND;
		enum belfry_status status = switch_bell(demo, &demo->bells[b], "disable", err);

		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* --- the course of it --- */

static enum belfry_status let_ring(struct demo *demo, int64_t seconds, struct belfry_error *err)
{
	belfry_time next = wall(demo) + BELFRY_SECOND;
	belfry_time end = wall(demo) + seconds * BELFRY_SECOND;

	while (wall(demo) < end) {
		enum belfry_status status = wait_ms(demo, 100, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (bf_demo_host_has_died(&demo->host)) {
			return refuse_host(demo, "ended by itself", err);
		}
		if (wall(demo) >= next) {
			BF_CLEANUP(bf_free_pointer) struct bf_demo_call *calls = NULL;
			size_t count = 0;

			next += BELFRY_SECOND;
			if (bf_demo_receiver_copy(demo->receiver, &calls, &count) == BELFRY_OK) {
				say(demo, "%zu calls received, %u open", count,
						bf_demo_receiver_open_calls(demo->receiver));
			}
		}
	}
	return BELFRY_OK;
}

/* SIGKILL while at least one call is open, and a new start on the same data. */
static enum belfry_status kill_and_restart(struct demo *demo, struct belfry_error *err)
{
	belfry_time deadline = wall(demo) + OPEN_CALL_MAX;

	while (bf_demo_receiver_open_calls(demo->receiver) == 0) {
		enum belfry_status status = wait_ms(demo, 1, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (wall(demo) > deadline) {
			return refuse_host(demo, "called nothing for 10 s", err);
		}
	}
	demo->killed_calls = bf_demo_receiver_open_calls(demo->receiver);
	demo->pause.from = wall(demo);
	bf_demo_host_kill(&demo->host);
	say(demo, "killed the host with SIGKILL while %u call%s open", demo->killed_calls,
			demo->killed_calls == 1 ? " was" : "s were");
	enum belfry_status status = start_host(demo, err);
	demo->pause.to = wall(demo) + COVERS_AFTER;
	if (status == BELFRY_OK) {
		say(demo, "started it again on the same data");
	}
	return status;
}

static bool is_over(const json_t *run)
{
	struct belfry_str name = bf_json_str(json_object_get(run, "status"));

	for (int s = 0; s < BELFRY_RUN_STATUS_COUNT; s++) {
		enum belfry_run_status status = (enum belfry_run_status)s;

		if (bf_str_equal(bf_str(belfry_run_status_name(status)), name)) {
			return belfry_run_status_is_terminal(status);
		}
	}
	return false;
}

/* *ret_open: how many of a bell's Runs have not ended. */
static enum belfry_status list_runs(struct demo *demo, const struct bf_demo_bell *bell,
		json_t **ret_runs, size_t *ret_open, struct belfry_error *err)
{
	char path[96];
	json_t *runs = NULL;
	size_t open = 0;

	(void)snprintf(path, sizeof(path), "/v1/deployments/%s/runs", bell->id);
	enum belfry_status status = bf_client_list(&demo->api, path, 0, &runs, err);
	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < json_array_size(runs); i++) {
		open += is_over(json_array_get(runs, i)) ? 0 : 1;
	}
	*ret_runs = runs;
	*ret_open = open;
	return BELFRY_OK;
}

/* The Runs of a bell once all have ended, or after END_MAX as they are: then they count as unfinished. */
static enum belfry_status collect_runs(struct demo *demo, const struct bf_demo_bell *bell,
		json_t **ret_runs, struct belfry_error *err)
{
	belfry_time deadline = wall(demo) + END_MAX;

	for (;;) {
		json_t *runs = NULL;
		size_t open = 0;
		enum belfry_status status = list_runs(demo, bell, &runs, &open, err);

		if (status == BELFRY_OK && open > 0 && wall(demo) < deadline) {
			json_decref(runs);
			runs = NULL;
			status = wait_ms(demo, 100, err);
			if (status == BELFRY_OK) {
				continue;
			}
		}
		*ret_runs = runs;
		return status;
	}
}

static enum belfry_status count(struct demo *demo, struct bf_demo_sum *ret_sum,
		struct belfry_error *err)
{
	json_t *runs[BELLS_MAX] = {NULL};
	BF_CLEANUP(bf_free_pointer) struct bf_demo_call *calls = NULL;
	size_t call_count = 0;
	enum belfry_status status = BELFRY_OK;

	for (size_t b = 0; b < demo->bell_count && status == BELFRY_OK; b++) {
		status = collect_runs(demo, &demo->bells[b], &runs[b], err);
	}
	if (status == BELFRY_OK) {
		status = bf_demo_receiver_copy(demo->receiver, &calls, &call_count);
	}
	if (status == BELFRY_OK) {
		status = bf_demo_count(demo->bells, runs, demo->bell_count, calls, call_count,
				demo->pause, ret_sum);
	}
	for (size_t b = 0; b < demo->bell_count; b++) {
		json_decref(runs[b]);
	}
	return status;
}

/* What a reader types to start this program again. */
static void find_program(char *buffer, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", buffer, size - 1);

	if (len <= 0 || (size_t)len >= size - 1) {
		(void)snprintf(buffer, size, "belfry");
	} else {
		buffer[len] = '\0';
	}
}

/* On a terminal the host stays, its bells ringing, until Ctrl-C. */
static void stay(struct demo *demo)
{
	char program[BF_DEMO_PATH_BYTES];
	enum belfry_status status = BELFRY_OK;

	for (size_t b = 0; b < demo->bell_count && status == BELFRY_OK; b++) {
		status = switch_bell(demo, &demo->bells[b], "enable", NULL);
	}
	if (status != BELFRY_OK) {
		return;
	}
	find_program(program, sizeof(program));
	(void)fprintf(demo->cli->out,
			"The host goes on at %s. In another terminal:\n\n"
			"  BELFRY_URL=%s %s runs list --follow\n\nCtrl-C ends it.\n",
			demo->host.url, demo->host.url, program);
	(void)fflush(demo->cli->out);
	while (wait_ms(demo, 1000, NULL) == BELFRY_OK && !bf_demo_host_has_died(&demo->host)) {
	}
}

static enum belfry_status play(struct demo *demo, struct bf_demo_sum *sum, struct belfry_error *err)
{
	size_t wanted = demo->bell_count;
	enum belfry_status status = start_host(demo, err);

	demo->bell_count = 0;
	if (status == BELFRY_OK) {
		say(demo, "a host runs at %s, its data in %s", demo->host.url, demo->host.folder);
	}
	while (status == BELFRY_OK && demo->bell_count < wanted) {
		status = create_bell(demo, err);
	}
	if (status == BELFRY_OK) {
		say(demo, "%zu deployments are due every second and call a receiver", wanted);
		status = let_ring(demo, demo->seconds / 2, err);
	}
	if (status == BELFRY_OK) {
		status = kill_and_restart(demo, err);
	}
	if (status == BELFRY_OK) {
		status = let_ring(demo, demo->seconds - demo->seconds / 2, err);
	}
	if (status == BELFRY_OK) {
		status = disable_bells(demo, err);
	}
	return status == BELFRY_OK ? count(demo, sum, err) : status;
}

static enum belfry_status play_and_tell(struct demo *demo, struct belfry_error *err)
{
	struct bf_demo_sum sum = {0};
	enum belfry_status status = play(demo, &sum, err);

	if (status == BELFRY_OK) {
		status = bf_demo_print(demo->cli, &sum, demo->bell_count, demo->killed_calls, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	demo->cli->exit_status = bf_demo_sum_is_good(&sum) ? 0 : 1;
	if (demo->cli->is_out_terminal && !demo->cli->is_json) {
		stay(demo);
	}
	return BELFRY_OK;
}

/* The signals that would end the command are read, not taken, until the demo is cleaned up. */
static bool open_signals(struct demo *demo, sigset_t *ret_before)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &set, ret_before) != 0) {
		return false;
	}
	demo->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return demo->signals >= 0;
}

static void close_signals(struct demo *demo, const sigset_t *before)
{
	struct signalfd_siginfo info;

	while (read(demo->signals, &info, sizeof(info)) > 0) {
	}
	(void)close(demo->signals);
	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static enum belfry_status run_with_parts(struct demo *demo, struct belfry_error *err)
{
	enum belfry_status status = bf_demo_host_init(&demo->host, err);

	if (status == BELFRY_OK) {
		status = bf_demo_receiver_start(demo->cli->env, &demo->receiver, err);
	}
	if (status == BELFRY_OK) {
		demo->api.url = demo->host.url;
		status = play_and_tell(demo, err);
	}
	bf_demo_host_stop(&demo->host, demo->is_stopped ? 2 : STOP_SECONDS);
	bf_demo_host_fini(&demo->host);
	bf_demo_receiver_stop(demo->receiver);
	bf_client_free(demo->api.client);
	return status;
}

static enum belfry_status run_demo(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	struct demo demo = {.cli = cli, .api = {.env = cli->env}, .signals = -1};
	sigset_t before;
	int64_t bells = 0;
	enum belfry_status status = bf_args_int(args, "deployments", 1, BELLS_MAX, BELLS_DEFAULT,
			&bells, err);

	if (status == BELFRY_OK) {
		status = bf_args_int(args, "seconds", SECONDS_MIN, SECONDS_MAX, SECONDS_DEFAULT,
				&demo.seconds, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (!open_signals(&demo, &before)) {
		return bf_error_set(err, BELFRY_UNAVAILABLE, "too many files are open");
	}
	demo.bell_count = (size_t)bells;
	status = run_with_parts(&demo, err);
	close_signals(&demo, &before);
	return status;
}

static const struct bf_option options[] = {
		{.name = "seconds", .argument = "N", .help = "How long the bells ring (20)"},
		{.name = "deployments", .argument = "N", .help = "How many there are (5)"},
		{.name = NULL},
};

const struct bf_command bf_command_demo = {
		.path = "demo",
		.synopsis = "[--seconds N] [--deployments N]",
		.summary = "See the promise kept: Runs every second, a kill -9, a table at the end",
		.details = "Makes a temporary host with its own receiver; everything is removed at the end.\n"
			   "On a terminal the host stays until Ctrl-C. Exit status 1: a due time was lost or\n"
			   "doubled.",
		.example = "belfry demo",
		.options = options,
		.run = run_demo,
};

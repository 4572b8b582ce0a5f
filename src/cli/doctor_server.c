/* The server's half of `belfry doctor`: is it there, is it ready, do its clock and its zone database
 * agree with ours, does work pile up. Reads /metrics line by line; what a server does not offer is left
 * out, not guessed. */
#include "base/error.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/doctor_report.h"
#include "cli/resolve.h"

#define CLOCK_WARN  (2 * BELFRY_SECOND)
#define QUEUED_WARN 60.0

/* One sample of OpenMetrics text: name, {labels}, value. */
struct sample {
	struct belfry_str labels;
	double value;
};

static bool parse_value(struct belfry_str text, double *ret_value)
{
	BF_CLEANUP(bf_cleanup_json) json_t *number = NULL;
	const char *blank = memchr(text.ptr, ' ', text.len);

	text.len = blank != NULL ? (size_t)(blank - text.ptr) : text.len;
	if (bf_json_parse(text, 64, &number, NULL) != BELFRY_OK || !json_is_number(number)) {
		return false;
	}
	*ret_value = json_number_value(number);
	return true;
}

static bool parse_sample(struct belfry_str line, struct belfry_str name, struct sample *ret_sample)
{
	struct belfry_str rest = bf_str_slice(line, name.len, line.len);
	struct sample sample = {0};

	if (!bf_str_starts_with(line, name) || rest.len < 2) {
		return false;
	}
	if (rest.ptr[0] == '{') {
		const char *end = memchr(rest.ptr, '}', rest.len);

		if (end == NULL) {
			return false;
		}
		sample.labels = bf_str_slice(rest, 1, (size_t)(end - rest.ptr));
		rest = bf_str_slice(rest, (size_t)(end - rest.ptr) + 1, rest.len);
	}
	if (rest.len < 2 || rest.ptr[0] != ' ' ||
			!parse_value(bf_str_slice(rest, 1, rest.len), &sample.value)) {
		return false;
	}
	*ret_sample = sample;
	return true;
}

/* The first sample of that name. */
static bool find_sample(struct belfry_str text, const char *name, struct sample *ret_sample)
{
	while (text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end != NULL ? (size_t)(end - text.ptr) : text.len;

		if (parse_sample(bf_str_slice(text, 0, len), bf_str(name), ret_sample)) {
			return true;
		}
		text = bf_str_slice(text, len + 1, text.len);
	}
	return false;
}

/* The value of label `name` (with its equals sign and quote: version="). */
static struct belfry_str find_label(struct belfry_str labels, struct belfry_str name)
{
	for (size_t at = 0; at + name.len <= labels.len; at++) {
		struct belfry_str rest = bf_str_slice(labels, at, labels.len);

		if (bf_str_starts_with(rest, name) && (at == 0 || labels.ptr[at - 1] == ',')) {
			rest = bf_str_slice(rest, name.len, rest.len);
			const char *end = memchr(rest.ptr, '"', rest.len);
			return bf_str_slice(rest, 0, end != NULL ? (size_t)(end - rest.ptr) : 0);
		}
	}
	return (struct belfry_str){0};
}

static bool check_reached(struct bf_report *report, struct bf_answer *answer)
{
	struct bf_cli *cli = report->cli;
	struct belfry_error err = {0};
	enum belfry_status status = bf_client_call(cli,
			&(struct bf_request){.path = "/healthz", .takes_any_status = true}, answer,
			&err);

	if (status == BELFRY_UNAVAILABLE) {
		bf_report_put(report, BF_FINDING_FAIL, "server",
				"start `belfry serve`, or say by BELFRY_URL where it runs",
				"nothing answers at %s", cli->url);
		return false;
	}
	if (status != BELFRY_OK) {
		bf_report_put(report, BF_FINDING_FAIL, "server", "set it right", "%s", err.message);
		return false;
	}
	if (answer->http_status != 200) {
		bf_report_put(report, BF_FINDING_FAIL, "server", "look at the host's log",
				"%s/healthz answers %ld", cli->url, answer->http_status);
		return false;
	}
	bf_report_put(report, BF_FINDING_OK, "server", NULL, "%s answers", cli->url);
	return true;
}

/* Date has whole seconds: its middle is compared with the middle of the request. */
static void check_clock(struct bf_report *report, const struct bf_answer *answer)
{
	belfry_time ours = answer->asked_at + (answer->answered_at - answer->asked_at) / 2;
	belfry_duration offset = answer->date + BELFRY_SECOND / 2 - ours;

	if (answer->date == 0) {
		return;
	}
	if (offset > CLOCK_WARN || offset < -CLOCK_WARN) {
		bf_report_put(report, BF_FINDING_WARN, "clock", "synchronise both machines by NTP",
				"the server's clock is %lld s %s of ours",
				(long long)((offset < 0 ? -offset : offset) / BELFRY_SECOND),
				offset > 0 ? "ahead" : "behind");
	} else {
		bf_report_put(report, BF_FINDING_OK, "clock", NULL,
				"the server's clock agrees with ours to the second");
	}
}

static void check_ready(struct bf_report *report)
{
	struct bf_cli *cli = report->cli;
	struct belfry_error err = {0};
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	enum belfry_status status = bf_client_call(cli, &(struct bf_request){.path = "/readyz"},
			&answer, &err);

	if (status == BELFRY_OK) {
		bf_report_put(report, BF_FINDING_OK, "ready", NULL,
				"the host plans and dispatches");
	} else {
		bf_report_put(report, BF_FINDING_FAIL, "ready",
				"look at the host's log: it names what stands still",
				"not ready: %s", err.message);
	}
}

static void check_version(struct bf_report *report, struct belfry_str version)
{
	if (version.len == 0) {
		return;
	}
	if (!bf_str_equal(version, bf_str(report->cli->version))) {
		bf_report_put(report, BF_FINDING_WARN, "version",
				"use the command of the same version",
				"the server is %.*s, this command %s", BF_STR_ARGS(version),
				report->cli->version);
	} else {
		bf_report_put(report, BF_FINDING_OK, "version", NULL, "both are %s",
				report->cli->version);
	}
}

static void check_samples(struct bf_report *report, struct belfry_str text)
{
	struct sample sample;

	if (find_sample(text, "belfry_store_up", &sample)) {
		bool is_up = sample.value > 0.5;

		bf_report_put(report, is_up ? BF_FINDING_OK : BF_FINDING_FAIL, "store",
				is_up ? NULL : "look at the disk and at the host's log",
				is_up ? "the store answers" : "the store does not answer");
	}
	if (find_sample(text, "belfry_oldest_queued_seconds", &sample)) {
		bool is_late = sample.value > QUEUED_WARN;

		bf_report_put(report, is_late ? BF_FINDING_WARN : BF_FINDING_OK, "queue",
				is_late ? "raise max_concurrent, or see what its target waits for"
					: NULL,
				"the oldest Run that could start has waited %.1f s", sample.value);
	}
	if (find_sample(text, "belfry_clock_offset_seconds", &sample)) {
		bool is_off = sample.value > 1.0 || sample.value < -1.0;

		bf_report_put(report, is_off ? BF_FINDING_WARN : BF_FINDING_OK, "store clock",
				is_off ? "synchronise the host's machine and the store's by NTP"
				       : NULL,
				"the store's clock is %.3f s from the host's", sample.value);
	}
}

/* The zone database's version that the newest Run was planned with. */
static void check_zones(struct bf_report *report, struct belfry_str server)
{
	BF_CLEANUP(bf_cleanup_json) json_t *runs = NULL;
	struct belfry_zones *zones = NULL;
	struct belfry_error err = {0};

	if (bf_cli_zones(report->cli, &zones, &err) != BELFRY_OK) {
		bf_report_put(report, BF_FINDING_FAIL, "zones", "install tzdata, or set TZDIR",
				"%s", err.message);
		return;
	}
	const char *ours = belfry_zones_version(zones);
	if (server.len == 0 &&
			bf_client_list(report->cli, "/v1/runs", 1, &runs, NULL) == BELFRY_OK) {
		server = bf_member(json_array_get(runs, 0), "tz_version");
	}
	if (server.len == 0) {
		bf_report_put(report, BF_FINDING_OK, "zones", NULL, "the zone database here is %s",
				ours);
	} else if (!bf_str_equal(server, bf_str(ours))) {
		bf_report_put(report, BF_FINDING_WARN, "zones",
				"install the same tzdata on both: a host takes it over within a minute",
				"the zone database is %s here and %.*s at the server", ours,
				BF_STR_ARGS(server));
	} else {
		bf_report_put(report, BF_FINDING_OK, "zones", NULL,
				"the zone database is %s here and at the server", ours);
	}
}

/* Without it nothing more can be asked. */
static void check_token(struct bf_report *report)
{
	if (report->cli->token == NULL) {
		bf_report_put(report, BF_FINDING_FAIL, "token",
				"set BELFRY_TOKEN; the first one is in the file admin.token of the host's "
				"data folder",
				"the host needs a token, and this command has none");
	} else {
		bf_report_put(report, BF_FINDING_FAIL, "token",
				"set BELFRY_TOKEN to one of its own; `belfry serve --help` says how a "
				"lost one is replaced",
				"the host does not know the token of this command");
	}
}

static void check_metrics(struct bf_report *report)
{
	struct belfry_error err = {0};
	struct sample info = {0};
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	enum belfry_status status = bf_client_call(report->cli,
			&(struct bf_request){.path = "/metrics"}, &answer, &err);

	if (status == BELFRY_UNAUTHENTICATED) {
		check_token(report);
		return;
	}
	if (status != BELFRY_OK) {
		bf_report_put(report, BF_FINDING_WARN, "metrics",
				"set BELFRY_TOKEN to a token that may read them", "%s",
				err.message);
	} else {
		struct belfry_str text = bf_buf_str(&answer.body);

		(void)find_sample(text, "belfry_build_info", &info);
		check_version(report, find_label(info.labels, BF_STR("version=\"")));
		check_samples(report, text);
	}
	check_zones(report, find_label(info.labels, BF_STR("tz_version=\"")));
}

void bf_doctor_check_server(struct bf_report *report)
{
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};

	if (check_reached(report, &answer)) {
		check_clock(report, &answer);
		check_ready(report);
		check_metrics(report);
	}
}

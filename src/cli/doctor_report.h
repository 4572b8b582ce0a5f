/* What `belfry doctor` found: one line a check. */
#ifndef BF_CLI_DOCTOR_REPORT_H
#define BF_CLI_DOCTOR_REPORT_H

#include "cli/cli.h"
#include "cli/text.h"

enum bf_finding { BF_FINDING_OK, BF_FINDING_WARN, BF_FINDING_FAIL };

/* Begins as {.cli = cli, .table = {.columns = 3}}; emptied by bf_report_fini. A failed allocation is kept
 * until the print. */
struct bf_report {
	struct bf_cli *cli;
	struct bf_table table;
	json_t *items;
	bool has_failure;
	bool is_failed;
};

/* remedy: what to do about it; NULL with BF_FINDING_OK. */
BF_PRINTF(5, 6)
void bf_report_put(struct bf_report *report, enum bf_finding finding, const char *check,
		const char *remedy, const char *format, ...);
BF_MUST_CHECK enum belfry_status bf_report_print(struct bf_report *report,
		struct belfry_error *err);
void bf_report_fini(struct bf_report *report);

/* The data folder and what is in it (doctor_local.c). */
void bf_doctor_check_data(struct bf_report *report, const char *path);
/* The server, seen through its API (doctor_server.c). */
void bf_doctor_check_server(struct bf_report *report);

#endif

/* The demo's host: this same program, started as `belfry serve` on a data folder of its own. */
#ifndef BF_BELFRY_DEMO_HOST_H
#define BF_BELFRY_DEMO_HOST_H

#include <sys/types.h>

#include <belfry/status.h>

#include "base/compiler.h"

#define BF_DEMO_PATH_BYTES 256

struct bf_demo_host {
	char folder[BF_DEMO_PATH_BYTES]; /* the temporary folder; empty: none */
	char url[64];
	char listen[48]; /* "127.0.0.1:PORT" */
	pid_t pid;       /* 0: not running */
};

/* Makes the folder, finds a free port. Starts nothing. BELFRY_UNAVAILABLE. */
BF_MUST_CHECK enum belfry_status bf_demo_host_init(struct bf_demo_host *host,
		struct belfry_error *err);
/* Starts the process; it is not ready yet. Its words go into the folder's host.log. */
BF_MUST_CHECK enum belfry_status bf_demo_host_start(struct bf_demo_host *host,
		struct belfry_error *err);
/* Has the process ended by itself? Then it counts as not running. */
bool bf_demo_host_has_died(struct bf_demo_host *host);
/* SIGKILL, and waits until it is gone. */
void bf_demo_host_kill(struct bf_demo_host *host);
/* SIGTERM, and SIGKILL if that does not help within `seconds`. */
void bf_demo_host_stop(struct bf_demo_host *host, int seconds);
/* The last line of host.log, for a failure's message; empty where there is none. */
void bf_demo_host_last_words(const struct bf_demo_host *host, char *buffer, size_t size);
/* Kills what still runs, removes the folder and everything in it. */
void bf_demo_host_fini(struct bf_demo_host *host);

#endif

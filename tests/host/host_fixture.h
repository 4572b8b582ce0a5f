/* A host of the tests: memory store, fake provider, the system's zones, a log that is kept. */
#ifndef HOST_FIXTURE_H
#define HOST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "fake_provider.h"
#include "host/events.h"
#include "host/host.h"
#include "provider/provider.h"
#include "store/store.h"

struct host_fixture {
	struct bf_env env; /* the system's, but with a log of our own */
	struct fake_provider fake;
	struct belfry_scheduler *scheduler; /* around the fake; made with the host */
	struct bf_store *store;
	struct belfry_zones *zones;
	struct bf_settings settings;
	struct bf_allow_list *allow; /* NULL until a test makes one, before the host is opened */
	struct bf_webhook *webhook;  /* the same */
	const struct bf_host_exec *exec; /* the same */
	struct bf_events *events;        /* the same */
	struct bf_host *host;
	belfry_duration boot_shift; /* how far the boot clock is ahead of the system's */
	pthread_mutex_t log_lock;
	struct bf_buf log; /* one line each */
};

/* Everything but the host. */
void host_fixture_begin(struct host_fixture *fixture);
/* Makes and starts the host; again after host_fixture_close. */
void host_fixture_open(struct host_fixture *fixture);
void host_fixture_close(struct host_fixture *fixture);
void host_fixture_end(struct host_fixture *fixture);
/* Has a line of the log this text? */
bool host_fixture_has_logged(struct host_fixture *fixture, const char *text);

#endif

/* What a host does by the clock: the reconciliation, every few minutes, and sooner where a change left
 * something over or the last one failed; and a look whether the tz database is still the one that was
 * read (the provider looks for itself: its rules are its own). No thread and no timer of its own: whoever
 * has a loop calls bf_host_tend every second or so.
 *
 * Invariant  `left_over` is lowered before a reconciliation begins, so that what is left over while it
 *            runs is not forgotten. */
#include "base/error.h"
#include "host/host_priv.h"
#include "host/reconcile.h"

/* Behind a failure: at least half of this, doubling up to the period. */
#define RETRY_FIRST (5 * BELFRY_SECOND)

static struct bf_boot_time now(const struct bf_host *host)
{
	return host->options.env->boot(host->options.env->data);
}

/* Half fixed and half random, so that hosts that failed together do not come back together. */
static belfry_duration retry_wait(const struct bf_host *host)
{
	belfry_duration wait = RETRY_FIRST;
	uint32_t random = 0;

	for (unsigned i = 1; i < host->tend.failures && wait < BF_HOST_RECONCILE_EVERY; i++) {
		wait *= 2;
	}
	wait = BF_MIN(wait, BF_HOST_RECONCILE_EVERY);
	host->options.env->random(host->options.env->data, &random, sizeof(random));
	return wait / 2 + (belfry_duration)(random % (uint32_t)(wait / 2 + 1));
}

static void log_failure(const struct bf_host *host, const struct belfry_error *err,
		belfry_duration wait)
{
	bf_log(host->options.env, BF_LOG_WARNING,
			"event=reconcile_failed status=%s failures=%u detail=\"%s\" "
			"next=\"it is tried again in %lld s\"",
			belfry_status_name(err->status), host->tend.failures,
			err->detail[0] != '\0' ? err->detail : err->message,
			(long long)((wait + BELFRY_SECOND - 1) / BELFRY_SECOND));
}

static void log_recovery(const struct bf_host *host)
{
	bf_log(host->options.env, BF_LOG_INFO, "event=reconciled after_failures=%u",
			host->tend.failures);
}

/* ---- the tz database --------------------------------------------------------------------------- */

/* Once for each time that it is away, not once for each look. */
static void log_zones_away(struct bf_host *host, const struct belfry_error *err)
{
	if (host->tend.is_zones_away) {
		return;
	}
	host->tend.is_zones_away = true;
	bf_log(host->options.env, BF_LOG_WARNING,
			"event=tz_database_unreadable status=%s detail=\"%s\" next=\"it is tried again "
			"every %lld ms\"",
			belfry_status_name(err->status), err->message,
			(long long)(host->settings.zones_check / BELFRY_MILLISECOND));
}

static void log_zones_back(struct bf_host *host)
{
	if (host->tend.is_zones_away) {
		host->tend.is_zones_away = false;
		bf_log(host->options.env, BF_LOG_INFO, "event=tz_database_readable version=%s",
				bf_host_tz_version(host));
	}
}

static void look_at_zones(struct bf_host *host, bool is_asked)
{
	struct belfry_error err = {0};
	const char *old = bf_host_tz_version(host);
	bool is_changed = false;

	if (!is_asked && now(host).us < host->tend.zones_at.us) {
		return;
	}
	host->tend.zones_at = bf_boot_add(now(host), host->settings.zones_check);
	if (belfry_zones_refresh(host->options.zones, &is_changed, &err) != BELFRY_OK) {
		log_zones_away(host, &err);
		return;
	}
	log_zones_back(host);
	if (is_changed) {
		bf_log(host->options.env, BF_LOG_INFO,
				"event=tz_database_changed old=%s new=%s "
				"next=\"new rules and previews go by it\"",
				old, bf_host_tz_version(host));
	}
}

/* ---- the reconciliation ------------------------------------------------------------------------ */

void bf_host_reconcile_soon(struct bf_host *host)
{
	atomic_store(&host->tend.left_over, true);
}

void bf_host_tend_init(struct bf_host *host)
{
	host->tend.at = bf_boot_add(now(host), BF_HOST_RECONCILE_EVERY);
	host->tend.zones_at = bf_boot_add(now(host), host->settings.zones_check);
}

static void reconcile_in_time(struct bf_host *host, bool is_asked)
{
	struct belfry_error err = {0};
	belfry_duration wait = BF_HOST_RECONCILE_EVERY;
	bool is_early = host->tend.failures == 0 && atomic_load(&host->tend.left_over);

	if (!is_asked && !is_early && now(host).us < host->tend.at.us) {
		return;
	}
	atomic_store(&host->tend.left_over, false);
	enum belfry_status status = bf_reconcile(host, &err);
	/* What it left over itself was logged where it was, and is no reason to come back at once. */
	bool is_failure = status != BELFRY_OK || atomic_load(&host->tend.left_over);
	if (is_failure) {
		host->tend.failures++;
		wait = retry_wait(host);
	}
	if (status != BELFRY_OK) {
		log_failure(host, &err, wait);
	} else if (!is_failure && host->tend.failures > 0) {
		log_recovery(host);
		host->tend.failures = 0;
	}
	host->tend.at = bf_boot_add(now(host), wait);
}

void bf_host_tend(struct bf_host *host, bool is_asked)
{
	look_at_zones(host, is_asked);
	reconcile_in_time(host, is_asked);
}

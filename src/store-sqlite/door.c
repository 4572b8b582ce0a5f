/* Waits that end: a condition with a deadline on the boot clock, and a lock made of one.
 *
 * Invariants  - a door is shut while one is inside; who leaves lets one of those that wait look again.
 *             - no wait depends on the wall clock, which may be set back while it lasts.
 * Not here    who must be inside of which door (connect.c, output.c). */
#include "store-sqlite/sqlite_priv.h"

#include <errno.h>

static struct bf_boot_time boot_now(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data);
}

/* The monotonic clock stands still while the machine sleeps: that it has come to its end is only a
 * reason to look at the boot clock. */
bool bf_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, struct bf_boot_time deadline)
{
	struct timespec until = bf_monotonic_in(BF_MAX(bf_boot_since(deadline, boot_now()), 0));

	return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT ||
			boot_now().us < deadline.us;
}

enum belfry_status bf_door_init(struct bf_door *door)
{
	*door = (struct bf_door){.is_shut = false};
	enum belfry_status status = bf_condition_init(&door->opened);

	if (status == BELFRY_OK && pthread_mutex_init(&door->mutex, NULL) != 0) {
		(void)pthread_cond_destroy(&door->opened);
		status = BELFRY_NOMEM;
	}
	return status;
}

void bf_door_fini(struct bf_door *door)
{
	(void)pthread_cond_destroy(&door->opened);
	(void)pthread_mutex_destroy(&door->mutex);
}

void bf_door_pass(struct bf_door *door)
{
	pthread_mutex_lock(&door->mutex);
	while (door->is_shut) {
		pthread_cond_wait(&door->opened, &door->mutex);
	}
	door->is_shut = true;
	pthread_mutex_unlock(&door->mutex);
}

bool bf_door_pass_until(struct bf_door *door, struct bf_boot_time deadline)
{
	bool is_time_left = true;

	pthread_mutex_lock(&door->mutex);
	while (door->is_shut && is_time_left) {
		is_time_left = bf_wait_until(&door->opened, &door->mutex, deadline);
	}
	/* One that is open is passed also in the last moment: the signal may have been for this one. */
	bool is_inside = !door->is_shut;
	door->is_shut = true;
	pthread_mutex_unlock(&door->mutex);
	return is_inside;
}

void bf_door_leave(struct bf_door *door)
{
	pthread_mutex_lock(&door->mutex);
	door->is_shut = false;
	pthread_cond_signal(&door->opened);
	pthread_mutex_unlock(&door->mutex);
}

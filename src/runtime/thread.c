/* See thread.h. */
#include "runtime/thread.h"

#include <signal.h>

enum belfry_status bf_thread_start(pthread_t *thread, void *(*main_fn)(void *), void *data)
{
	sigset_t all;
	sigset_t old;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int code = pthread_create(thread, NULL, main_fn, data);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return code == 0 ? BELFRY_OK : BELFRY_NOMEM;
}

/* Threads of ours: they take no signals, which belong to `main`. */
#ifndef BF_THREAD_H
#define BF_THREAD_H

#include <pthread.h>

#include <belfry/status.h>

#include "base/compiler.h"

/* BELFRY_NOMEM: the system starts none. Joined by the caller. */
BF_MUST_CHECK enum belfry_status bf_thread_start(pthread_t *thread, void *(*main_fn)(void *),
		void *data);

#endif

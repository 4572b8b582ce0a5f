/* The fault counter: lets N calls pass, then fails M. It stands behind the allocator and the store
 * wrapper, so that a test can sweep: fail call 1, 2, 3, ... until none fires.
 *
 * Threads  a counter may be shared: it is atomic. */
#ifndef BF_FAULT_H
#define BF_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bf_fault {
	atomic_llong calls;  /* seen since armed */
	atomic_llong first;  /* number of the first call to fail, from 1; 0: never */
	atomic_llong repeat; /* how many calls fail in a row, -1: all that follow */
	atomic_llong fired;  /* how many have failed */
};

/* Fail call number `first` (from 1) and the `repeat - 1` calls behind it; -1 for all. 0: disarm. */
void bf_fault_arm(struct bf_fault *fault, int64_t first, int64_t repeat);

/* Counts one call; true: this one shall fail. */
bool bf_fault_hit(struct bf_fault *fault);

/* How many calls failed since it was armed. */
int64_t bf_fault_fired(struct bf_fault *fault);

#endif

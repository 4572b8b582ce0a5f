/* The fault counter. */
#include "base/fault.h"

void bf_fault_arm(struct bf_fault *fault, int64_t first, int64_t repeat)
{
	atomic_store(&fault->calls, 0);
	atomic_store(&fault->fired, 0);
	atomic_store(&fault->repeat, repeat);
	atomic_store(&fault->first, first);
}

bool bf_fault_hit(struct bf_fault *fault)
{
	long long first = atomic_load(&fault->first);

	if (first == 0) {
		return false;
	}
	long long call = atomic_fetch_add(&fault->calls, 1) + 1;
	long long repeat = atomic_load(&fault->repeat);
	if (call < first || (repeat >= 0 && call >= first + repeat)) {
		return false;
	}
	(void)atomic_fetch_add(&fault->fired, 1);
	return true;
}

int64_t bf_fault_fired(struct bf_fault *fault)
{
	return atomic_load(&fault->fired);
}

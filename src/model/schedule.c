/* Names of a schedule's values. */
#include <belfry/schedule.h>

#include "base/compiler.h"

const char *belfry_phase_name(enum belfry_phase phase)
{
	static const char *const names[] = {"active", "paused", "exhausted", "quarantined"};

	return (unsigned)phase < BF_COUNT(names) ? names[phase] : "?";
}

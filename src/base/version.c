/* The version as the library itself knows it. */
#include <belfry/version.h>

const char *belfry_version(void)
{
	return BELFRY_VERSION;
}

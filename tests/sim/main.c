/* Directed scenes through the real machines, in virtual time. */
#include "scene.h"

int main(void)
{
	struct belfry_error err;
	int failed = 0;

	if (belfry_zones_new(NULL, &scene_zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "no time zones: %s\n", err.message);
		return 77; /* skipped */
	}
	failed += scene_due_tests();
	failed += scene_dispatch_tests();
	failed += scene_ends_tests();
	failed += scene_host_tests();
	failed += scene_belfry_tests();
	belfry_zones_free(scene_zones);
	return failed;
}

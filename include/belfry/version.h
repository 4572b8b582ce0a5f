/* Which Belfry this is: the one that a program was compiled against, and the one that it runs with.
 * Before 1.0 another minor version may break, and then has another soname.
 *
 * Since      0.2 */
#ifndef BELFRY_VERSION_H
#define BELFRY_VERSION_H

#include <belfry/export.h>

BELFRY_BEGIN_DECLS

#define BELFRY_VERSION_MAJOR 0
#define BELFRY_VERSION_MINOR 2
#define BELFRY_VERSION_PATCH 0
#define BELFRY_VERSION       "0.2.0"
/* For #if: 0.2.1 is 201. */
#define BELFRY_VERSION_NUMBER                                                                      \
	(BELFRY_VERSION_MAJOR * 10000 + BELFRY_VERSION_MINOR * 100 + BELFRY_VERSION_PATCH)

/* BELFRY_VERSION of the library that the program runs with. Static text; any thread, never blocks. */
BELFRY_API const char *belfry_version(void);

BELFRY_END_DECLS

#endif

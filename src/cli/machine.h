/* What the machine that the command runs on says of itself: what cron goes by. */
#ifndef BF_CLI_MACHINE_H
#define BF_CLI_MACHINE_H

#include "base/str.h"

/* Appends the name of the machine's zone; nothing where it is not known. A lack of memory stays in the
 * buffer. */
void bf_machine_zone(struct bf_buf *zone);

/* Appends the name and the home of `user`, NULL: of who runs this. An unknown one has its name and no
 * home. */
void bf_machine_user(const char *user, struct bf_buf *name, struct bf_buf *home);

#endif

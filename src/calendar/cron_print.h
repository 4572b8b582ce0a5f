/* A compiled cron expression as text again. */
#ifndef BF_CALENDAR_CRON_PRINT_H
#define BF_CALENDAR_CRON_PRINT_H

#include "base/str.h"
#include "calendar/cron.h"

/* Appends text that parses to an equal expression; what it leaves out (except) is not part of it. */
void bf_cron_print(const struct bf_cron *cron, struct bf_buf *buf);

#endif

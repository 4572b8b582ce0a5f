/* Telling systemd how the service is: READY=1, WATCHDOG=1, STOPPING=1 (sd_notify(3): one datagram to the
 * socket that NOTIFY_SOCKET names). Nothing happens where there is none. */
#ifndef BF_BELFRY_NOTIFY_H
#define BF_BELFRY_NOTIFY_H

#include <belfry/types.h>

/* socket: the value of NOTIFY_SOCKET, NULL: none. A failure is nothing to act on. */
void bf_notify(const char *socket, const char *state);

/* How often the watchdog wants to be fed: half of WATCHDOG_USEC's value; 0: never. */
belfry_duration bf_notify_interval(const char *watchdog_usec);

#endif

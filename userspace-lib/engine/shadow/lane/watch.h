/* SPDX-License-Identifier: MIT */
/* Things that the pager waits for: see watch.c. */
#ifndef ESHADOW_WATCH_H
#define ESHADOW_WATCH_H

#include "engine/shadow/base/lib.h"

struct epoll_event;
struct lane;

/* Values of @data of events that are no lane's. The others are indexes of lanes. */
#define WATCH_FAULTS	(~0ULL)
#define WATCH_KICK	(~1ULL)

/* Watches the userfaultfd @faults, and watch_kick(). Return: 0, or a negative errno. */
int watch_init(int faults);
/* Waits at most @ms milliseconds (negative: no limit). Return: the number of @events. */
long watch_wait(struct epoll_event *events, u32 nr, int ms);
/* Watches the lane's socket, as long as the socket is open. */
int watch_lane(struct lane *lane);
/* Arms or disarms the watch of the lane's socket. The pager is notified once. */
void watch_arm(struct lane *lane, bool armed);
/* Makes watch_wait() return WATCH_KICK, once for all calls before watch_kicked(). */
void watch_kick(void);
void watch_kicked(void);

#endif /* ESHADOW_WATCH_H */

/* SPDX-License-Identifier: MIT */
/* Events of guests: what the host module, the engines and the kernel report of their processes. */
#ifndef VGPUD_GUEST_EVENT_H
#define VGPUD_GUEST_EVENT_H

#include "engines/engine.h"

/* Handlers for hostdev_open() and hostdev_open_engines(). */
extern const struct host_events guest_events;

/* Handle the end of children of vgpud. */
void children_reap(void);

#endif /* VGPUD_GUEST_EVENT_H */

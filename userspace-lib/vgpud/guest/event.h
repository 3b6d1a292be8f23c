/* SPDX-License-Identifier: MIT */
/* Events of guests: what the host module, the engines and the kernel report of their processes. */
#ifndef VGPUD_GUEST_EVENT_H
#define VGPUD_GUEST_EVENT_H

#include "engines/engine.h"

/* Functions for hostdev_open(). */
extern const struct host_events guest_events;

/* Handle the end of children of vgpud. */
void children_reap(void);

#endif /* VGPUD_GUEST_EVENT_H */

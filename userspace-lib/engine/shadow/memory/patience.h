/* SPDX-License-Identifier: MIT */
/* Time that drivers may wait for the guest. */
#ifndef ESHADOW_PATIENCE_H
#define ESHADOW_PATIENCE_H

#include "engine/shadow/base/lib.h"

/*
 * Begins a wait of a driver. @call: time that drivers had waited when its call began. @wait: state
 * for patience_end(). Return: time in nanoseconds that the driver may wait; 0: none.
 */
u64 patience_begin(u64 call, struct vgpu_patience_wait *wait);
/* Ends the wait. @took: its length in nanoseconds. */
void patience_end(const struct vgpu_patience_wait *wait, u64 took);

#endif /* ESHADOW_PATIENCE_H */

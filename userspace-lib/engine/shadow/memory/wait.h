/* SPDX-License-Identifier: MIT */
/* Time for which drivers wait for the guest: see wait.c. */
#ifndef ESHADOW_WAIT_H
#define ESHADOW_WAIT_H

#include "engine/shadow/lane/lane.h"
#include "patience.h"

/* Notes that the call of the lane begins, without a wait. Context: demand.lock is held. */
void wait_call_begins(struct lane *lane);
/*
 * Begins a wait of the driver of the lane's call. @wait: set for wait_count(). Return: time in
 * nanoseconds that the driver may wait; 0: none. Context: demand.lock is held.
 */
u64 wait_begin(const struct lane *lane, struct vgpu_patience_wait *wait);
/*
 * Counts a wait that is over. @call: number of the call that has waited, which may be an earlier
 * one than the lane's. @took: length in nanoseconds. Context: takes demand.lock.
 */
void wait_count(struct lane *lane, u64 call, const struct vgpu_patience_wait *wait, u64 took);

#endif /* ESHADOW_WAIT_H */

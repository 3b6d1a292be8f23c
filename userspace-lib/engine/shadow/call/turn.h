/* SPDX-License-Identifier: MIT */
/* Turns: calls wait until the rates of the guest (rate.h) allow them. */
#ifndef ESHADOW_TURN_H
#define ESHADOW_TURN_H

#include "engine/shadow/base/lib.h"

struct call;
struct lane;
struct vgpu_turn;

/* Return: true if the guest has rates; then each call takes a turn. */
bool turns_count(void);
/*
 * Takes what a call needs of the guest's rates. @open: true if the call opens a device; @bytes:
 * length of its message.
 */
void turn_take(struct call *call, bool open, u32 bytes, struct vgpu_turn *turn);
/*
 * Waits until the guest's rates allow the call. @over: true if the call has run, or will not run.
 * Then only the reply waits, and no CANCEL ends the wait: otherwise calls that lead to nothing
 * would have no limit. Return: 0; -ERESTARTSYS: the guest has cancelled the call, or the lane has
 * ended; -EAGAIN: an FDINFO would have to wait.
 */
int turn_wait(struct call *call, const struct vgpu_turn *turn, bool over);
/*
 * Charges the guest for the bytes of the call that turn_take() did not know. After a call that was
 * given up before its turn, the lane waits here for the turn of its bytes, or for its own end.
 */
void turn_end(struct lane *lane);

#endif /* ESHADOW_TURN_H */

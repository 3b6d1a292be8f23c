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
 * Charges the guest for the bytes of the call that turn_take() did not know. If the call was given
 * up before its turn, the lane waits for their turn in turn_rest().
 */
void turn_end(struct lane *lane);
/*
 * If an earlier call of the lane was given up before its turn, waits until it is the turn of that
 * call's bytes. The fixed part of the next CALL is in call->msg: no CLOSE or FDINFO waits here. No
 * CANCEL ends the wait, but the end of the lane does.
 */
void turn_rest(struct call *call);

#endif /* ESHADOW_TURN_H */

/* SPDX-License-Identifier: MIT */
/* Turns: calls wait until the rates of the guest (rate.h) allow them. */
#ifndef ESHADOW_TURN_H
#define ESHADOW_TURN_H

struct call;
struct lane;

/*
 * Waits until the guest's rates allow the call, whose message was checked. Return: 0; -ERESTARTSYS:
 * the guest has cancelled the call, or the lane has ended; -EAGAIN: an FDINFO would have to wait.
 */
int turn_begin(struct call *call);
/* Charges the guest for the bytes of the call that turn_begin() did not know. */
void turn_end(struct lane *lane);

#endif /* ESHADOW_TURN_H */

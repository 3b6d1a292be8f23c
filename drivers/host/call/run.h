/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs of calls.
 */
#ifndef _VGPU_HOST_RUN_H
#define _VGPU_HOST_RUN_H

#include <linux/types.h>

struct vgpuh_call;

/* Run the CALL in call->msg. Return: 0, or -EPROTO for a malformed one. */
int vgpuh_call_run(struct vgpuh_call *call);
/* Make @error the result of the call in call->msg, which could not be received completely. */
void vgpuh_call_reject(struct vgpuh_call *call, int error);
/* Charge the guest for bytes of the call that it has not paid for. @rate: rate of bytes, not 0. */
void vgpuh_call_charge(struct vgpuh_call *call, u64 rate, u64 bytes);
/*
 * If an earlier call of the lane was given up before its turn, wait until it is the turn of that
 * call's bytes. The fixed part of the next CALL is in call->msg: no CLOSE or FDINFO waits here. No
 * CANCEL ends the wait, as the host has not received what is behind that part; the end of the lane
 * does.
 */
void vgpuh_call_rest(struct vgpuh_call *call);

#endif /* _VGPU_HOST_RUN_H */

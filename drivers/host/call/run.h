/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs of calls.
 */
#ifndef _VGPU_HOST_RUN_H
#define _VGPU_HOST_RUN_H

struct vgpuh_call;

/* Run the CALL in call->msg. Return: 0, or -EPROTO for a malformed one. */
int vgpuh_call_run(struct vgpuh_call *call);
/* Make @error the result of the call in call->msg, which could not be received completely. */
void vgpuh_call_reject(struct vgpuh_call *call, int error);

#endif /* _VGPU_HOST_RUN_H */

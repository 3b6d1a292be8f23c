/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs of calls.
 */
#ifndef _VGPU_HOST_RUN_H
#define _VGPU_HOST_RUN_H

#include <linux/types.h>

struct vgpu_hcall;

/* Run the CALL in call->msg. Return: 0, or -EPROTO for a malformed one. */
int vgpu_call_run(struct vgpu_hcall *call);
/* Make @error the result of the call in call->msg, which could not be received completely. */
void vgpu_call_reject(struct vgpu_hcall *call, int error);

#endif /* _VGPU_HOST_RUN_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls as the tracepoint vgpu_host_file_call reports them, for `vgpuctl trace`. */
#ifndef _VGPU_HOST_TRACED_H
#define _VGPU_HOST_TRACED_H

#include <linux/types.h>

struct vgpuh_call;

/*
 * Report a call that has run, while it still has its object. @began: time at which it began,
 * CLOCK_MONOTONIC in nanoseconds. Context: the lane's thread, no locks.
 */
void vgpuh_traced_call(const struct vgpuh_call *call, u64 began);

#endif /* _VGPU_HOST_TRACED_H */

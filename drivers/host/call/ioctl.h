/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IOCTL calls: the function that runs them.
 */
#ifndef _VGPU_HOST_IOCTL_H
#define _VGPU_HOST_IOCTL_H

#include <linux/types.h>

struct vgpuh_call;

s64 vgpu_ioctl_run(struct vgpuh_call *call);

#endif /* _VGPU_HOST_IOCTL_H */

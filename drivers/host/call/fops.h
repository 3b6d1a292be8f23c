/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the plain file operations: each function runs one kind of call.
 */
#ifndef _VGPU_HOST_FOPS_H
#define _VGPU_HOST_FOPS_H

#include <linux/types.h>

struct vgpuh_call;

s64 vgpu_fops_open(struct vgpuh_call *call);
s64 vgpu_fops_close(struct vgpuh_call *call);
s64 vgpu_fops_read(struct vgpuh_call *call);
s64 vgpu_fops_write(struct vgpuh_call *call);
s64 vgpu_fops_llseek(struct vgpuh_call *call);
s64 vgpu_fops_poll(struct vgpuh_call *call);
s64 vgpu_fops_fdinfo(struct vgpuh_call *call);

#endif /* _VGPU_HOST_FOPS_H */

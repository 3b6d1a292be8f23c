/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plain file operations, each of which runs a call.
 */
#ifndef _VGPU_HOST_FOPS_H
#define _VGPU_HOST_FOPS_H

#include <linux/types.h>

struct vgpu_hcall;

s64 vgpu_fops_open(struct vgpu_hcall *call);
s64 vgpu_fops_close(struct vgpu_hcall *call);
s64 vgpu_fops_read(struct vgpu_hcall *call);
s64 vgpu_fops_write(struct vgpu_hcall *call);
s64 vgpu_fops_llseek(struct vgpu_hcall *call);
s64 vgpu_fops_poll(struct vgpu_hcall *call);
s64 vgpu_fops_fdinfo(struct vgpu_hcall *call);

#endif /* _VGPU_HOST_FOPS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls as the tracepoint vgpu_file_call reports them, for `vgpuctl trace`. */
#ifndef VGPU_TRACED_H
#define VGPU_TRACED_H

#include <linux/types.h>

struct file;
struct vgpu_export;
struct vgpu_guest_call;
struct vgpu_schema_ioctl;
struct vgpu_traced;

void vgpu_traced_call(const struct vgpu_guest_call *xcall, u64 began, int error);
struct vgpu_traced *vgpu_traced_ioctl_begin(const struct file *file,
					    const struct vgpu_export *export,
					    const struct vgpu_schema_ioctl *entry, u32 cmd,
					    unsigned long arg, bool compat);
void vgpu_traced_ioctl_end(struct vgpu_traced *traced, const struct vgpu_guest_call *xcall,
			   u32 class, long result);

#endif /* VGPU_TRACED_H */

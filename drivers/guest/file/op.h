/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations of programs on the host's files: calls that keep the host's memory up to date. */
#ifndef VGPU_OP_H
#define VGPU_OP_H

#include <linux/fcntl.h>
#include <linux/types.h>

struct file;
struct vgpu_guest_call;
struct vgpu_object;
struct vgpu_session;

/* Flags that each call carries: the access mode, and the flags that fcntl() can change. */
#define VGPU_OP_FLAGS	(O_ACCMODE | O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME)

int vgpu_op_run(struct vgpu_session *session, struct vgpu_object *object,
		struct vgpu_guest_call *xcall);
void vgpu_op_fill_call(struct file *file, struct vgpu_guest_call *xcall, u16 op, loff_t pos);
s64 vgpu_op_call(struct file *file, struct vgpu_guest_call *xcall, bool *replied);

#endif /* VGPU_OP_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations of programs on the host's files: calls that keep the host's memory up to date. */
#ifndef VGPU_OP_H
#define VGPU_OP_H

struct vgpu_object;
struct vgpu_session;
struct vgpu_guest_call;

int vgpu_op_run(struct vgpu_session *session, struct vgpu_object *object,
		struct vgpu_guest_call *xcall);

#endif /* VGPU_OP_H */

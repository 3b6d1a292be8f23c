/* SPDX-License-Identifier: GPL-2.0-only */
/* Upcalls: requests of the host to the calling process while a call runs. */
#ifndef VGPU_UPCALL_H
#define VGPU_UPCALL_H

struct vgpu_guest_call;
struct vgpu_hdr;
struct vgpu_lane;

int vgpu_upcall_serve(struct vgpu_lane *lane, struct vgpu_guest_call *xcall,
		      const struct vgpu_hdr *hdr);

#endif /* VGPU_UPCALL_H */

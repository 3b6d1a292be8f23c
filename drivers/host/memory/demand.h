/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Demand pages: the shadow's memory, which is fetched from the guest.
 */
#ifndef _VGPU_HOST_DEMAND_H
#define _VGPU_HOST_DEMAND_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct file;
struct vgpu_demand;
struct vgpuh_lane;
struct vgpuh_session;

extern const struct vm_operations_struct vgpu_demand_vm_ops;

int vgpu_demand_mmap(struct vgpuh_session *session, struct vm_area_struct *vma);
/* Begin a call. Return: 0 or -EINTR. */
int vgpu_demand_begin(struct vgpuh_lane *lane);
/*
 * End a call: send what its driver wrote.
 * Return: 0; -ENOBUFS: the call needed more pages or time than it may have; -EOPNOTSUPP: it
 * needed a page and may have none; or another errno.
 */
int vgpu_demand_end(struct vgpuh_lane *lane);
/*
 * Map the shadow's file over [addr, addr + len) and its demand neighbours, as one VMA.
 * Context: map_lock is held.
 */
int vgpu_demand_cover(struct vgpuh_session *session, struct file *shadow, u64 addr, u64 len);
static inline bool vgpu_demand_vma(const struct vgpuh_session *session,
				   const struct vm_area_struct *vma)
{
	return vma->vm_ops == &vgpu_demand_vm_ops && vma->vm_private_data == session;
}

#endif /* _VGPU_HOST_DEMAND_H */

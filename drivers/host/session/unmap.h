/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unmaps that a guest has asked for by messages and that are not applied yet.
 */
#ifndef _VGPU_HOST_UNMAP_H
#define _VGPU_HOST_UNMAP_H

#include <linux/list.h>
#include <linux/types.h>

struct vgpuh_session;

struct vgpu_unmap_req {
	struct list_head node;
	u64 seq;
	u64 addr;
	u64 len;
};

/*
 * Queue an unmap that control message @seq asks for.
 * Return: 0; -ENOSPC: there are too many of them; -ENOMEM.
 */
int vgpu_unmap_queue(struct vgpuh_session *session, u64 seq, u64 addr, u64 len);
/*
 * Find the oldest unmap up to control message @seq (U64_MAX: any) that is not applied yet.
 * Return: the unmap, which only a holder of map_lock may use; or NULL.
 */
struct vgpu_unmap_req *vgpu_unmap_first(struct vgpuh_session *session, u64 seq);
/* Remove and free @req, which is applied. Context: map_lock is held. */
void vgpu_unmap_remove(struct vgpuh_session *session, struct vgpu_unmap_req *req);
/* Free unmaps that were never applied, when the session cannot be found any more. */
void vgpu_unmap_drop_all(struct vgpuh_session *session);

#endif /* _VGPU_HOST_UNMAP_H */

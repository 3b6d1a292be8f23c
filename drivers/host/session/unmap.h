/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unmaps that a guest has asked for by messages and that are not applied yet.
 */
#ifndef _VGPU_HOST_UNMAP_H
#define _VGPU_HOST_UNMAP_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct vgpuh_session;

struct vgpu_unmap_req {
	struct list_head node;
	u64 seq;
	u64 addr;
	u64 len;
};

/**
 * struct vgpu_unmaps - unmaps of a session that are not applied yet
 * @lock: spinlock that protects @list and @nr
 * @list: list of the unmaps, oldest first; only a holder of map_lock removes an entry
 * @nr: number of entries of @list
 * @wait: wait queue of VGPU_SHADOW_SERVICE, woken when an unmap was queued or the session ends
 */
struct vgpu_unmaps {
	spinlock_t lock;
	struct list_head list;
	u32 nr;
	wait_queue_head_t wait;
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

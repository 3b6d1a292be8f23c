// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmaps that a guest has asked for by messages, until the session's shadow applies them
 * (mapping.c).
 */
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "peer/peer.h"
#include "session/session.h"
#include "session/unmap.h"

int vgpu_unmap_queue(struct vgpuh_session *session, u64 seq, u64 addr, u64 len)
{
	struct vgpu_unmap_req *req;
	bool full;

	req = kzalloc(sizeof(*req), GFP_KERNEL_ACCOUNT);
	if (!req)
		return -ENOMEM;
	req->seq = seq;
	req->addr = addr;
	req->len = len;
	spin_lock(&session->unmaps.lock);
	full = session->unmaps.nr > vgpuh_parts_max(session->peer);
	if (!full) {
		session->unmaps.nr++;
		list_add_tail(&req->node, &session->unmaps.list);
	}
	spin_unlock(&session->unmaps.lock);
	if (full) {
		kfree(req);
		return -ENOSPC;
	}
	wake_up_all(&session->unmaps.wait);
	return 0;
}

struct vgpu_unmap_req *vgpu_unmap_first(struct vgpuh_session *session, u64 seq)
{
	struct vgpu_unmap_req *req;

	spin_lock(&session->unmaps.lock);
	req = list_first_entry_or_null(&session->unmaps.list, struct vgpu_unmap_req, node);
	if (req && req->seq > seq)
		req = NULL;
	spin_unlock(&session->unmaps.lock);
	return req;
}

void vgpu_unmap_remove(struct vgpuh_session *session, struct vgpu_unmap_req *req)
{
	spin_lock(&session->unmaps.lock);
	list_del(&req->node);
	session->unmaps.nr--;
	spin_unlock(&session->unmaps.lock);
	kfree(req);
}

void vgpu_unmap_drop_all(struct vgpuh_session *session)
{
	struct vgpu_unmap_req *req, *next;

	list_for_each_entry_safe(req, next, &session->unmaps.list, node)
		kfree(req);
}

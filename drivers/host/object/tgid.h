/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of shadows' processes, which NVIDIA's driver remembers.
 */
#ifndef _VGPU_HOST_TGID_H
#define _VGPU_HOST_TGID_H

#include <linux/types.h>

struct vgpu_agent_event;
struct vgpuh_object;
struct vgpu_peer;

/**
 * struct vgpu_family - files of NVIDIA's driver, and processes that it may remember with them
 * @objects: list of the files, none of which is released yet
 * @tgids: list of the processes
 *
 * Protected by the peer's tgids_lock.
 */
struct vgpu_family {
	struct list_head objects;
	struct list_head tgids;
};

/**
 * struct vgpu_tgid - number of a shadow's process
 * @node: list entry in its family
 * @peer: guest of the process
 * @session: number of the session, as the guest chose it
 * @ended: true if the shadow's file is closed
 * @family: family of the files that the process has used; NULL: it has used none
 * @own: memory for the family that the first call of the process makes
 * @event: event that notifies the agent of the end; NULL once the agent is notified
 *
 * @node, @ended, @family and @own are protected by the peer's tgids_lock.
 */
struct vgpu_tgid {
	struct list_head node;
	struct vgpu_peer *peer;
	u64 session;
	bool ended;
	struct vgpu_family *family;
	struct vgpu_family own;
	struct vgpu_agent_event *event;
};

/**
 * vgpu_tgid_new - prepare for the process of a session
 * @peer: guest, which outlives the session and its objects
 * @session: number of the session
 *
 * Return: the struct for a process that is not started yet; NULL: no memory.
 */
struct vgpu_tgid *vgpu_tgid_new(struct vgpu_peer *peer, u64 session);
/* Free @tgid without notifying the agent. NULL is ignored. */
void vgpu_tgid_free(struct vgpu_tgid *tgid);
/*
 * Note that the shadow's file is closed. The agent is notified when the process may be reaped,
 * which may be now.
 */
void vgpu_tgid_end(struct vgpu_tgid *tgid);
/* Note that the process, which has not ended, makes a call on @object or names it in a call. */
void vgpu_tgid_use(struct vgpu_tgid *tgid, struct vgpuh_object *object);
/* Note that the file of @object is released. */
void vgpu_tgid_released(struct vgpuh_object *object);

#endif /* _VGPU_HOST_TGID_H */

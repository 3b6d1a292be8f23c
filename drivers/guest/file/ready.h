/* SPDX-License-Identifier: GPL-2.0-only */
/* Readiness of objects, as the host has last reported it. */
#ifndef VGPU_READY_H
#define VGPU_READY_H

#include <linux/poll.h>

#include "uapi/linux/vgpu_wire.h"

#include "memory/object.h"

struct vgpu_out_ioctl;
struct vgpu_poll_event;

/* Events of poll that a host reports. */
#define VGPU_READY_EVENTS	((__force __poll_t)VGPU_POLL_EVENTS)

/**
 * struct vgpu_ready_seen - state of an object before a call
 * @gen: value of the object's readiness.gen
 * @number: value of the object's readiness.number
 * @own: number of the call, which becomes the object's readiness.number if no other call ends
 *	meanwhile
 * @missed: value of host->objects.events_missed
 * @calls: value of host->calls
 */
struct vgpu_ready_seen {
	u32 gen;
	u32 number;
	u32 own;
	u32 missed;
	s64 calls;
};

/* Returns true if the object is a fence: once signaled, it stays signaled. */
static inline bool vgpu_ready_is_fence(const struct vgpu_object *object)
{
	return object->kind == VGPU_OBJECT_SYNC_FILE;
}

void vgpu_ready_touch(struct vgpu_object *object);
u32 vgpu_ready_ioctl_begin(struct vgpu_object *object, struct vgpu_ready_seen *seen);
void vgpu_ready_ioctl_end(struct vgpu_object *object, const struct vgpu_ready_seen *seen,
			  const struct vgpu_out_ioctl *out);
void vgpu_ready_unsure(struct vgpu_object *object);
void vgpu_ready_fence_given(struct vgpu_object *object, u32 flags,
			    const struct vgpu_ready_seen *call);
void vgpu_ready_fence_closed(struct vgpu_object *object);
void vgpu_ready_event(struct vgpu_object *object, const struct vgpu_poll_event *event);

#endif /* VGPU_READY_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects: files of the host that this guest holds. Each is shown to programs
 * by at most one struct file, however often the host names it.
 */
#ifndef VGPU_OBJECT_H
#define VGPU_OBJECT_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "clock.h"
#include "keep_group.h"

struct device;
struct drm_device;
struct fasync_struct;
struct file;
struct pid;
struct vgpu_ahead;
struct vgpu_blank;
struct vgpu_export;
struct vgpu_host;
struct vgpu_poll_event;
struct vgpu_object_desc;
struct vgpu_schema;
struct vgpu_session;
struct vgpu_space;

/**
 * struct vgpu_object - one object; private_data of its file
 * @ref: its file holds one, and whoever is about to make a file
 * @host: the host (a reference)
 * @export: where it came from, for the counters (a reference)
 * @space: device memory that its mappings show (a reference)
 * @schema: of its ioctls, or NULL
 * @drm: the device, when opened through a DRM node (a reference), or NULL
 * @node: likewise of a V4L2 node or media device
 * @queued: fds of what is in its V4L2 queues, see video_queue.c
 * @opener: thread whose call it came by (a reference)
 * @session: number of the session in which it was opened, 0: it came otherwise
 * @fdinfo_pause: jiffies, until which its driver is asked for no fdinfo; 0: it may be; any thread's
 * @blank: buffers that nobody has written to, or NULL; set once, read anywhere
 * @ahead: events that were read ahead, or NULL; set once, read anywhere
 * @keep: who may have the memory which calls on it have handed over
 * @card: ALSA's number of the card here, when opened through such a node, or -1
 * @hash: in host->objects (host->lock)
 * @events: eventfds that calls on it left for the driver (host->lock)
 * @id: number on the wire
 * @reference: number there of the reference that this one is
 * @kind: enum vgpu_object_kind
 * @fops: VGPU_FOP_*
 * @flags: VGPU_OBJECT_*
 * @f_flags: of the host's file when it came
 * @size: of the host's inode
 * @live: its mappings are of no use as copies
 * @copied: offset in bytes of the mapping that may be a copy where the schema says polled; 0: none
 *	may. Written by ioctls without a lock: the last one counts
 * @times: that were told of it
 * @file_lock: guards @file
 * @file: its file, without a reference, or NULL
 * @wait: pollers
 * @fasync: who wants SIGIO
 * @poll_lock: guards what follows
 * @poll_armed: events for which it was not ready, and the host will tell of the next
 *	wakeup
 * @poll_gen: rises whenever that may have changed
 * @poll_ready: what the driver was ready for when the host last said so, and no call has
 *	changed since
 * @poll_calls: host->calls when the host last found none of @poll_armed
 * @poll_renewed: poll_gen as of which cached device memory was forgotten
 * @poll_number: changes with the end of every call that may change that
 * @poll_last: the newest number that any call has
 * @poll_unsure: calls were given up that may change it at any time
 * @polled: somebody wanted to know
 */
struct vgpu_object {
	struct kref ref;
	struct vgpu_host *host;
	struct vgpu_export *export;
	struct vgpu_space *space;
	const struct vgpu_schema *schema;
	struct drm_device *drm;
	struct device *node;
	struct xarray queued;
	struct pid *opener;
	u64 session;
	unsigned long fdinfo_pause;
	struct vgpu_blank *blank;
	struct vgpu_ahead *ahead;
	struct vgpu_keep_file keep;
	int card;
	struct hlist_node hash;
	struct list_head events;
	u32 id;
	u32 reference;
	u32 kind;
	u32 fops;
	u32 flags;
	u32 f_flags;
	u64 size;
	bool live;
	u64 copied;
	struct vgpu_clock_file times;

	struct mutex file_lock;
	struct file *file;

	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	spinlock_t poll_lock;
	__poll_t poll_armed;
	u32 poll_gen;
	__poll_t poll_ready;
	s64 poll_calls;
	u32 poll_renewed;
	u32 poll_number;
	u32 poll_last;
	bool poll_unsure;
	bool polled;
};

struct vgpu_object *vgpu_object_adopt(struct vgpu_export *export,
				      const struct vgpu_schema *schema,
				      const struct vgpu_object_desc *desc,
				      struct vgpu_session *session, struct vgpu_object *from);
void vgpu_object_put(struct vgpu_object *object);
void vgpu_object_release(struct vgpu_object *object);
void vgpu_object_hangup_all(struct vgpu_host *host);
void vgpu_object_poll_event(struct vgpu_host *host, const struct vgpu_poll_event *event);

/* proxy.c: files for objects that calls return */
struct file *vgpu_proxy_file(struct vgpu_object *object, struct file *from);

#endif /* VGPU_OBJECT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects: files of the host that this guest holds. At most one struct file shows an object to
 * programs, however often the host names the object. file/object.c makes and frees objects. The
 * struct is in this folder because mappings and pinned memory belong to an object; the folder has
 * no object.c.
 */
#ifndef VGPU_OBJECT_H
#define VGPU_OBJECT_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "link/clock.h"
#include "memory/keep_group.h"

/**
 * struct vgpu_readiness - readiness of an object, and its waiters, see file/poll.c
 * @wait: wait queue of pollers
 * @fasync: list of the files that want SIGIO
 * @lock: guards all fields from @armed to @unsure
 * @armed: events for which the object was not ready and whose next wakeup the host reports
 * @gen: generation, incremented by each event and call that may have changed the readiness
 * @ready: events for which the object is ready, as the host last said; 0 after any call that may
 *	have changed the readiness
 * @calls: value of host->calls when the host last found the object ready for none of @armed
 * @renewed: value of @gen for which cached device memory was dropped
 * @number: number of the last call that has ended and may have changed the readiness
 * @last: newest number that was given to any call
 * @unsure: true if a call of vgpu_op_call(), such as READ or WRITE, was given up, which the host
 *	may run at any time
 * @polled: true if a program has polled the object; only used for fences; read and
 *	written without @lock
 */
struct vgpu_readiness {
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	spinlock_t lock;
	__poll_t armed;
	u32 gen;
	__poll_t ready;
	s64 calls;
	u32 renewed;
	u32 number;
	u32 last;
	bool unsure;
	bool polled;
};

/**
 * struct vgpu_object_memory - memory that mappings of an object show, or calls on it hand over
 * @space: device memory that mappings of the object show, with a reference
 * @blank: new buffers that only programs may have written to (blank.c), or NULL; set once, read
 *	without a lock
 * @keep: group of the files that may have the memory which calls on the object handed over
 * @live: true if mappings of the object are of no use as copies and need the window
 * @copied: file offset in bytes at which a mapping may be a copy although its schema says that
 *	programs poll there; 0: none. Written by ioctls without a lock: the last one counts
 */
struct vgpu_object_memory {
	struct vgpu_space *space;
	struct vgpu_blank *blank;
	struct vgpu_keep_file keep;
	bool live;
	u64 copied;
};

/**
 * struct vgpu_object_node - node of this machine by which an object was opened (node/)
 * @drm: DRM device if it was a DRM node, with a reference; else NULL
 * @device: device of the V4L2 node or media device, with a reference; else NULL
 * @queued: fds of the buffers in the object's V4L2 queues, see video_queue.c
 * @card: number of the ALSA card in this machine, or -1
 */
struct vgpu_object_node {
	struct drm_device *drm;
	struct device *device;
	struct xarray queued;
	int card;
};

/**
 * struct vgpu_object_opener - caller that has opened an object or was given it by a call
 * @pid: pid of the thread whose call returned the object, with a reference
 * @session: number of the session that opened the object; 0: another call returned the object
 */
struct vgpu_object_opener {
	struct pid *pid;
	u64 session;
};

/**
 * struct vgpu_object - one object; private_data of its file
 * @ref: references: the file holds one, and a caller that is about to make the file
 * @host: host of the object, with a reference
 * @export: export by which the object came, for the counters, with a reference
 * @schema: schema of the object's ioctls, or NULL
 * @memory: memory of the object
 * @node: node by which the object was opened
 * @opener: caller whose call returned the object
 * @fdinfo_pause: time in jiffies until which no fdinfo is asked for; 0: none; any thread reads
 *	and writes it
 * @ahead: events that were read ahead (ahead.c), or NULL; set once, read without a lock
 * @hash: entry in host->objects.by_id (host->lock)
 * @events: list of struct vgpu_event that calls on the object have registered (host->lock)
 * @id: number of the object on the wire
 * @reference: number, on the wire, of the guest's reference to the object
 * @kind: enum vgpu_object_kind
 * @fops: VGPU_FOP_*
 * @flags: VGPU_OBJECT_*
 * @f_flags: f_flags of the host's file when the object came
 * @size: size of the host's inode in bytes
 * @times: clock of the time stamps that the driver reports, and their last values
 * @file_lock: guards @file
 * @file: file that shows the object, without a reference, or NULL
 * @readiness: readiness as the host has last reported it
 */
struct vgpu_object {
	struct kref ref;
	struct vgpu_host *host;
	struct vgpu_export *export;
	const struct vgpu_schema *schema;
	struct vgpu_object_memory memory;
	struct vgpu_object_node node;
	struct vgpu_object_opener opener;
	unsigned long fdinfo_pause;
	struct vgpu_events_ahead *ahead;
	struct hlist_node hash;
	struct list_head events;
	u32 id;
	u32 reference;
	u32 kind;
	u32 fops;
	u32 flags;
	u32 f_flags;
	u64 size;
	struct vgpu_clock_file times;

	struct mutex file_lock;
	struct file *file;

	struct vgpu_readiness readiness;
};

#endif /* VGPU_OBJECT_H */

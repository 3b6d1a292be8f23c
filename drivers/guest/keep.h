/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of programs that devices of the host keep. */
#ifndef VGPU_KEEP_H
#define VGPU_KEEP_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "schema.h"

struct vgpu_host;
struct vgpu_marshal_kept;
struct vgpu_object;

/**
 * struct vgpu_keepers - files that share what devices keep
 * @open: how many there are
 * @unsure: one was closed, and the host did not say that its driver is through with it
 * @kept: struct vgpu_keep: what calls on them have handed over
 */
struct vgpu_keepers {
	unsigned int open;
	bool unsure;
	struct list_head kept;
};

/**
 * struct vgpu_keep_set - what devices of one host keep
 * @lock: guards what follows, and the lists of objects
 * @last: newest number
 * @nr: how many numbers mean something to the host
 * @keepers: by enum vgpu_schema_keepers; the first is not used
 * @releasing: struct vgpu_keep: the host is to say that no device uses them any more
 */
struct vgpu_keep_set {
	struct mutex lock; /* everything here */
	u64 last;
	u32 nr;
	struct vgpu_keepers keepers[VGPU_NR_KEEPERS];
	struct list_head releasing;
};

void vgpu_keep_set_init(struct vgpu_keep_set *set);
void vgpu_keep_set_abort(struct vgpu_host *host);
void vgpu_keep_open(struct vgpu_object *object);
void vgpu_keep_close(struct vgpu_object *object, bool sure);
int vgpu_keep_pin(struct vgpu_object *object, struct list_head *call, u64 addr, u64 len,
		  bool write, struct vgpu_marshal_kept *kept);
void vgpu_keep_settle(struct vgpu_object *object, struct list_head *call, bool sent);
void vgpu_keep_released(struct vgpu_host *host, u64 number);

#endif /* VGPU_KEEP_H */

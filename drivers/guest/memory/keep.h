/* SPDX-License-Identifier: GPL-2.0-only */
/* Pinned program memory that devices of the host keep after a call, see keep.c. */
#ifndef VGPU_KEEP_H
#define VGPU_KEEP_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "memory/keep_group.h"

struct vgpu_host;
struct vgpu_keep_call;
struct vgpu_marshal_kept;
struct vgpu_object;

/**
 * struct vgpu_keep_set - pins of memory that devices of one host keep
 * @lock: guards all fields below, and the groups of the host's objects and sessions
 * @last: number of the newest pin; the first pin has 1
 * @nr: number of pins that the host may know, at most VGPU_KEPT_NUMBERS; a pin counts from
 *	vgpu_keep_pin() until the answer to RELEASE
 * @groups: groups of files whose drivers pass memory among them
 * @releasing: list of struct vgpu_keep whose RELEASE the host has not answered
 */
struct vgpu_keep_set {
	struct mutex lock; /* guards all fields below, and groups */
	u64 last;
	u32 nr;
	struct vgpu_keep_groups groups;
	struct list_head releasing;
};

int vgpu_keep_global_init(void);
void vgpu_keep_global_exit(void);
void vgpu_keep_set_init(struct vgpu_keep_set *set);
void vgpu_keep_set_abort(struct vgpu_host *host);
void vgpu_keep_set_fini(struct vgpu_keep_set *set);
bool vgpu_keep_may(const struct vgpu_object *object);
void vgpu_keep_close(struct vgpu_object *object);
void vgpu_keep_raw_end(struct vgpu_session *session, struct vgpu_object *object, bool over);
void vgpu_keep_call_init(struct vgpu_keep_call *call);
int vgpu_keep_pin(struct vgpu_object *object, struct vgpu_keep_call *call, u64 addr, u64 len,
		  bool write, struct vgpu_marshal_kept *kept);
void vgpu_keep_settle(struct vgpu_object *object, struct vgpu_keep_call *call, bool sent);
void vgpu_keep_released(struct vgpu_host *host, u64 number);

#endif /* VGPU_KEEP_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of files whose drivers may pass each other the memory that calls handed over, see
 * keep_group.c.
 */
#ifndef VGPU_KEEP_GROUP_H
#define VGPU_KEEP_GROUP_H

#include <linux/types.h>

struct vgpu_keep_group;
struct vgpu_object;
struct vgpu_session;

/**
 * struct vgpu_keep_groups - groups of the files of one host; guarded by the lock of their set
 * @open: number of open files that are in a group, and of running calls that may add one
 * @nr_modeset: number of open files of nvidia-modeset, which may have the memory of any group
 * @cameras: group of all cameras' files while one of them is open, with a reference; else NULL
 * @any: list of struct vgpu_keep that any file in a group may have; empty when @open is 0
 */
struct vgpu_keep_groups {
	unsigned int open;
	unsigned int nr_modeset;
	struct vgpu_keep_group *cameras;
	struct list_head any;
};

/**
 * struct vgpu_keep_file - membership of an object in a group; guarded by the set's lock
 * @keepers: enum vgpu_schema_keepers, set once
 * @group: group of the object, or a group that was merged into it, with a reference; NULL: the
 *	object is in no group, and the pins of its calls are its own. Also read without the lock
 * @shared: true if unknown other files may have memory that the driver has for this file
 * @kept: list of struct vgpu_keep of the object's calls, if the object is in no group
 */
struct vgpu_keep_file {
	u8 keepers;
	struct vgpu_keep_group *group;
	bool shared;
	struct list_head kept;
};

void vgpu_keep_groups_fini(struct vgpu_keep_groups *groups);
struct vgpu_keep_group *vgpu_keep_group_alloc(void);
void vgpu_keep_member_fini(struct vgpu_session *session);
int vgpu_keep_open(struct vgpu_object *object, struct vgpu_session *session,
		   struct vgpu_object *from);
void vgpu_keep_use(struct vgpu_session *session, struct vgpu_object *object);
void vgpu_keep_name(struct vgpu_session *session, struct vgpu_object *object,
		    struct vgpu_object *named);
void vgpu_keep_share(struct vgpu_session *session, struct vgpu_object *object);
void vgpu_keep_enter(struct vgpu_session *session, struct vgpu_object *object);
bool vgpu_keep_raw_begin(struct vgpu_session *session, struct vgpu_object *object);
void vgpu_keep_raw_leave(struct vgpu_session *session, struct vgpu_object *object, bool over,
			 struct list_head *left);
struct list_head *vgpu_keep_list(struct vgpu_object *object);
void vgpu_keep_leave(struct vgpu_object *object, struct list_head *left);

#endif /* VGPU_KEEP_GROUP_H */

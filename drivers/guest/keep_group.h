/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups of files that may have the memory that calls on one of them handed over: keep_group.c. */
#ifndef VGPU_KEEP_GROUP_H
#define VGPU_KEEP_GROUP_H

#include <linux/list.h>
#include <linux/types.h>

struct vgpu_keep_group;
struct vgpu_keep_set;
struct vgpu_object;
struct vgpu_session;

/**
 * struct vgpu_keep_groups - groups of the files of one host; all is under the lock of its set
 * @open: number of open files that are in a group, and of calls that may bring one there
 * @nr_modeset: number of open files of nvidia-modeset, which may have memory of any group
 * @cameras: the group of all cameras' files, while one of it is open (a reference), or NULL
 * @any: list of struct vgpu_keep that any file which is in a group may have; empty when @open is 0
 */
struct vgpu_keep_groups {
	unsigned int open;
	unsigned int nr_modeset;
	struct vgpu_keep_group *cameras;
	struct list_head any;
};

/**
 * struct vgpu_keep_member - a session's part in its group; all is under the set's lock, but that
 *	@group may be looked at without
 * @group: the group, or one that was merged into it (a reference)
 */
struct vgpu_keep_member {
	struct vgpu_keep_group *group;
};

/**
 * struct vgpu_keep_file - an object's part in a group; all is under the set's lock, but that @group
 *	may be looked at without
 * @keepers: enum vgpu_schema_keepers, set once
 * @group: the group, or one that was merged into it (a reference); NULL: it is in none, and what
 *	calls on it have pinned is its own
 * @shared: others that are not known may have what the driver has for it
 * @kept: list of struct vgpu_keep that calls on it have pinned, where it is in no group
 */
struct vgpu_keep_file {
	u8 keepers;
	struct vgpu_keep_group *group;
	bool shared;
	struct list_head kept;
};

void vgpu_keep_groups_init(struct vgpu_keep_groups *groups);
void vgpu_keep_groups_fini(struct vgpu_keep_groups *groups);
int vgpu_keep_member_init(struct vgpu_keep_member *member);
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

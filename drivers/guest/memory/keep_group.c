// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of files: see keep_group.h.
 *
 * The pins of a call (keep.c) belong to the file of the call. If drivers pass pinned memory from
 * file to file, the pins belong to a group of files, and are released when no file of the group is
 * open. If a file were missing in its group, a device could write to pages that this machine
 * uses for something else by then. So groups are merged wherever their drivers could pass
 * memory from one to the other, even if they do not, and are never split.
 *
 * NVIDIA's drivers pass memory like this (read in the open modules, release 595). Their
 * resource manager (RM) knows a client by the file that made it, and by the process: the
 * shadow, which is a session's. So each session has a group. The group has the files that the
 * session opens or gets from calls, the files that it makes calls on, and the files that its
 * calls name. This merges the groups of
 *
 *   - files that come to another process by fork(), a socket or pidfd_getfd(), when that process
 *     uses them;
 *   - files by which objects are exported and imported, dma-bufs, and files that are registered
 *     with each other or given to nvidia-uvm, because schemas describe the fds that name these
 *     files. An fd that no schema describes means to a driver either no file or a file which the
 *     session has used, as the shadow may have all of these in one table. So a file without a group
 *     joins the session's group with a call that may have such an fd (vgpu_keep_raw_begin());
 *   - files of other drivers, as soon as a call on one of these files names a file of the above, or
 *     the reverse: a driver that imports a dma-buf has its memory even after the dma-buf's file
 *     was closed.
 *
 * RM_DUP_OBJECT and nvidia-uvm take objects by handles of any client of the same process. Each
 * of these clients belongs to a file that the session has used. The host gives the process id
 * of a shadow to no other process while such a file is open.
 *
 * Three things pass memory by numbers alone, to receivers that are unknown here:
 *
 *   - objects that RM was told to share (RM_SHARE, and commands that do the same);
 *   - buffers of DRM devices that have a global name (GEM_FLINK) or are in a framebuffer (ADDFB,
 *     ADDFB2), which other files of the device get by GEM_OPEN, GETFB and GETFB2;
 *   - nvidia-modeset, whose driver takes objects of any client.
 *
 * The pins of a group that has done one of the first two, and of any group while a file of
 * nvidia-modeset is open, are released when no file of any group is open any more. A file that
 * gets a buffer by a number joins its session's group, whatever group the buffer's own file is
 * in.
 *
 * NVLink's exports by id are out of reach for guests: RM wants a file of an IMEX channel for
 * them.
 *
 * Cameras of uvcvideo have one group, because a buffer may come into the queue of another file
 * (schema.c). Their group is no session's until a call names a camera's file together with a
 * file of the above drivers.
 *
 * A merged group points to the group that has its files now. The smaller group is merged into
 * the larger one, so chains of pointers are short. group_find() shortens them further: the
 * reference points to the last group afterwards.
 */
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/keep.h"
#include "memory/keep_group.h"
#include "memory/object.h"
#include "memory/state.h"

/**
 * struct vgpu_keep_group - a group of files that may have each other's memory
 * @into: group that this one was merged into, with a reference, set once; NULL: this group is
 *	in use. May be read without the lock
 * @refs: number of references: of sessions, of files, and of groups that were merged into this
 *	one
 * @size: number of groups that this one was merged from
 * @open: number of the group's open files, and of the calls that @raw counts
 * @raw: number of running calls that may bring a file into the group, see vgpu_keep_raw_begin()
 * @had: true if the group has a file, or had one while a call that @raw counts was running
 * @cameras: true if this is the cameras' group, and no session's
 * @shared: true if unknown other files may have memory that a driver has for the group
 * @kept: list of struct vgpu_keep: the pins of calls on any of the group's files
 * @rcu: frees the group after the last comparison of pointers to it (file_is_used())
 */
struct vgpu_keep_group {
	struct vgpu_keep_group *into;
	unsigned int refs;
	unsigned int size;
	unsigned int open;
	unsigned int raw;
	bool had;
	bool cameras;
	bool shared;
	struct list_head kept;
	struct rcu_head rcu;
};

static struct vgpu_keep_set *set_of(const struct vgpu_session *session)
{
	return &session->host->memory->keeps;
}

/* --- groups --------------------------------------------------------------- */

/**
 * vgpu_keep_group_alloc - make a group, for a new session or for cameras
 *
 * Return: the group with a reference, or NULL if there is no memory.
 */
struct vgpu_keep_group *vgpu_keep_group_alloc(void)
{
	struct vgpu_keep_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);

	if (!group)
		return NULL;
	group->refs = 1;
	group->size = 1;
	INIT_LIST_HEAD(&group->kept);
	return group;
}

static struct vgpu_keep_group *group_get(struct vgpu_keep_group *group)
{
	group->refs++;
	return group;
}

static void group_put(struct vgpu_keep_group *group)
{
	struct vgpu_keep_group *into;

	while (group && !--group->refs) {
		into = group->into;
		WARN_ON_ONCE(!into && (group->open || !list_empty(&group->kept)));
		kfree_rcu(group, rcu);
		group = into;
	}
}

/* Follows ->into to the group in use, and moves the reference to that group. */
static struct vgpu_keep_group *group_find(struct vgpu_keep_group **at)
{
	struct vgpu_keep_group *old = *at, *group = old;

	while (group->into)
		group = group->into;
	if (group != old) {
		WRITE_ONCE(*at, group_get(group));
		group_put(old);
	}
	return group;
}

static void group_merge(struct vgpu_keep_group *one, struct vgpu_keep_group *other)
{
	if (one == other)
		return;
	/* Merge the cameras' group into the other one, which is a session's. */
	if (one->cameras || (!other->cameras && one->size < other->size))
		swap(one, other);
	one->size += other->size;
	one->open += other->open;
	one->raw += other->raw;
	one->had |= other->had;
	one->shared |= other->shared;
	list_splice_tail_init(&other->kept, &one->kept);
	WRITE_ONCE(other->into, group_get(one));
}

/**
 * vgpu_keep_groups_fini - free the groups of a host without files and sessions
 * @groups: the groups
 */
void vgpu_keep_groups_fini(struct vgpu_keep_groups *groups)
{
	group_put(groups->cameras);
}

/* --- sessions ------------------------------------------------------------- */

/**
 * vgpu_keep_member_fini - drop a session's reference of its group
 * @session: a session without references
 */
void vgpu_keep_member_fini(struct vgpu_session *session)
{
	struct vgpu_keep_set *set = set_of(session);

	mutex_lock(&set->lock);
	group_put(session->memory->keep);
	mutex_unlock(&set->lock);
}

/* --- files ---------------------------------------------------------------- */

static bool file_sees_all(const struct vgpu_object *object)
{
	return object->memory.keep.keepers == VGPU_KEEPERS_NVIDIA_ANY;
}

static void file_add(struct vgpu_keep_groups *groups, struct vgpu_keep_file *file,
		     struct vgpu_keep_group *group)
{
	WRITE_ONCE(file->group, group_get(group));
	group->shared |= file->shared;
	group->had = true;
	group->open++;
	groups->open++;
}

/* Return: true if the file is in no session's group: in no group, or in the cameras' group. */
static bool file_is_alone(struct vgpu_keep_file *file)
{
	return !file->group || group_find(&file->group)->cameras;
}

/* Puts a file into the session's group, or merges the file's group with the session's. */
static void file_join(struct vgpu_session *session, struct vgpu_keep_file *file)
{
	struct vgpu_keep_groups *groups = &set_of(session)->groups;
	struct vgpu_keep_group *group = group_find(&session->memory->keep);

	if (file->group) {
		group_merge(group, group_find(&file->group));
	} else {
		list_splice_tail_init(&file->kept, &group->kept);
		file_add(groups, file, group);
	}
	/* Make both pointers equal, so that file_is_used() finds them equal without the lock. */
	group_find(&session->memory->keep);
	group_find(&file->group);
}

/* Return: true if vgpu_keep_use() would change nothing. */
static bool file_is_used(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_group *group;
	bool same;

	/* RCU keeps a freed group's memory, so that equal pointers mean the same group. */
	rcu_read_lock();
	group = READ_ONCE(object->memory.keep.group);
	same = group == READ_ONCE(session->memory->keep);
	rcu_read_unlock();
	return !group || same;
}

/**
 * vgpu_keep_open - put a new object into its group, if it has one
 * @object: the object, which no other thread knows yet
 * @session: session of the call that returned the object
 * @from: object of that call, or NULL if the call was an open
 *
 * Return: 0 or -ENOMEM; the caller frees the object after an error.
 */
int vgpu_keep_open(struct vgpu_object *object, struct vgpu_session *session,
		   struct vgpu_object *from)
{
	struct vgpu_keep_set *set = &object->host->memory->keeps;
	struct vgpu_keep_groups *groups = &set->groups;
	struct vgpu_keep_file *file = &object->memory.keep;
	struct vgpu_keep_group *cameras = NULL, *group;

	if (!file->keepers && (!from || !READ_ONCE(from->memory.keep.group)))
		return 0;
	if (file->keepers == VGPU_KEEPERS_UVC) {
		cameras = vgpu_keep_group_alloc();
		if (!cameras)
			return -ENOMEM;
		cameras->cameras = true;
	}
	mutex_lock(&set->lock);
	/* A call of another thread may have put @from into a group while this call was running. */
	if (from && !file_is_alone(&from->memory.keep))
		file_join(session, &from->memory.keep);
	if (cameras && !groups->cameras)
		groups->cameras = group_get(cameras);
	group = group_find(cameras ? &groups->cameras : &session->memory->keep);
	group_put(cameras);
	file_add(groups, file, group);
	groups->nr_modeset += file_sees_all(object);
	mutex_unlock(&set->lock);
	return 0;
}

/**
 * vgpu_keep_use - prepare the groups for a call of a session on an object
 * @session: session of the call
 * @object: object of the call; its file is open until the call is over
 */
void vgpu_keep_use(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);

	if (file_is_used(session, object))
		return;
	mutex_lock(&set->lock);
	if (!file_is_alone(&object->memory.keep))
		file_join(session, &object->memory.keep);
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_name - merge the groups of the object of a call and of another object in the call
 * @session: session of the call
 * @object: object of the call
 * @named: object that the call names or returns; both are open until the call is over
 *
 * Changes nothing if neither object is in the group of a session.
 */
void vgpu_keep_name(struct vgpu_session *session, struct vgpu_object *object,
		    struct vgpu_object *named)
{
	struct vgpu_keep_set *set = set_of(session);
	bool in = READ_ONCE(object->memory.keep.group);

	if (in == !!READ_ONCE(named->memory.keep.group) && file_is_used(session, object) &&
	    file_is_used(session, named))
		return;
	mutex_lock(&set->lock);
	if (!file_is_alone(&object->memory.keep) || !file_is_alone(&named->memory.keep)) {
		file_join(session, &object->memory.keep);
		file_join(session, &named->memory.keep);
	}
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_share - prepare the groups for a call that shares the driver's memory by a number
 * @session: session of the call
 * @object: object of the call; its file is open until the call is over
 *
 * The file joins the group before the group is marked as shared. So the group cannot become
 * empty, and lose the mark, before the call is made. A file in no group is marked itself, for
 * the time when it joins one.
 */
void vgpu_keep_share(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);
	struct vgpu_keep_file *file = &object->memory.keep;

	mutex_lock(&set->lock);
	file->shared = true;
	if (!file_is_alone(file)) {
		file_join(session, file);
		group_find(&file->group)->shared = true;
	}
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_enter - prepare the groups for a call that gets memory which others have shared
 * @session: session of the call
 * @object: object of the call; its file is open until the call is over
 */
void vgpu_keep_enter(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);

	mutex_lock(&set->lock);
	file_join(session, &object->memory.keep);
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_raw_begin - prepare the groups for a call whose fds are unknown
 * @session: session of the call
 * @object: object of the call; its file is open until the call is over
 *
 * Such a call may name any file of the session. While it runs, the group may get its first file
 * and lose its last one. So the call counts as an open file of the group, until
 * vgpu_keep_raw_end().
 *
 * Return: true if vgpu_keep_raw_end() must be called.
 */
bool vgpu_keep_raw_begin(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);
	struct vgpu_keep_group *group;
	bool alone;

	mutex_lock(&set->lock);
	alone = file_is_alone(&object->memory.keep);
	if (alone) {
		group = group_find(&session->memory->keep);
		group->open++;
		group->raw++;
		set->groups.open++;
	}
	mutex_unlock(&set->lock);
	return alone;
}

static void group_empty(struct vgpu_keep_groups *groups, struct vgpu_keep_group *group,
			struct list_head *left)
{
	bool any = group->shared || groups->nr_modeset;

	group->shared = false;
	group->had = false;
	list_splice_tail_init(&group->kept, any ? &groups->any : left);
	if (groups->cameras && group_find(&groups->cameras) == group) {
		group_put(groups->cameras);
		groups->cameras = NULL;
	}
}

/**
 * vgpu_keep_raw_leave - end a call that vgpu_keep_raw_begin() has counted
 * @session: session of the call
 * @object: object of the call; called before any object of the reply gets into a group
 * @over: false if the host may still run the call
 * @left: list that gets the pins which no driver has any more
 *
 * The object joins the session's group if the driver may have found a file of the group. By
 * that file the driver may also have memory that another group has pinned and shared.
 */
void vgpu_keep_raw_leave(struct vgpu_session *session, struct vgpu_object *object, bool over,
			 struct list_head *left)
{
	struct vgpu_keep_groups *groups = &set_of(session)->groups;
	struct vgpu_keep_group *group = group_find(&session->memory->keep);

	lockdep_assert_held(&set_of(session)->lock);
	group->raw--;
	group->open--;
	groups->open--;
	if (!over || group->had || !list_empty(&group->kept))
		file_join(session, &object->memory.keep);
	else if (!group->open)
		group_empty(groups, group, left);
	if (!groups->open)
		list_splice_tail_init(&groups->any, left);
}

/**
 * vgpu_keep_list - find the list of the pins of an object's calls
 * @object: the object, which is open
 *
 * Return: the list, valid until the set's lock is dropped.
 */
struct list_head *vgpu_keep_list(struct vgpu_object *object)
{
	struct vgpu_keep_file *file = &object->memory.keep;

	lockdep_assert_held(&object->host->memory->keeps.lock);
	return file->group ? &group_find(&file->group)->kept : &file->kept;
}

/**
 * vgpu_keep_leave - take an object that was closed out of its group
 * @object: the object
 * @left: list that gets the pins which no driver has once the close is through
 */
void vgpu_keep_leave(struct vgpu_object *object, struct list_head *left)
{
	struct vgpu_keep_groups *groups = &object->host->memory->keeps.groups;
	struct vgpu_keep_file *file = &object->memory.keep;
	struct vgpu_keep_group *group;

	lockdep_assert_held(&object->host->memory->keeps.lock);
	if (!file->group) {
		list_splice_tail_init(&file->kept, left);
		return;
	}
	group = group_find(&file->group);
	groups->nr_modeset -= file_sees_all(object);
	group->open--;
	if (!group->open)
		group_empty(groups, group, left);
	groups->open--;
	if (!groups->open)
		list_splice_tail_init(&groups->any, left);
	group_put(group);
	file->group = NULL;
}

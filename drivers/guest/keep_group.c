// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a call hands over belongs to the file of the call, or, where drivers hand such
 * memory from file to file, to a group of files: it is released when none of the group is open.
 * A file that is missing there would be a hole in this machine, as a device would write to pages
 * that are somebody else's by then. So groups are merged wherever their drivers could pass memory
 * from one to another, also if none is passed, and are never split.
 *
 * Drivers of this kind are NVIDIA's (read in its open modules, 595). Their resource manager (RM)
 * knows a client by the file that made it, and by the process: the shadow, which is a session's.
 * So a session has a group, and what it touches is in there: what it opens or gets from a call,
 * what it makes a call on, and what its calls name. Merged are by that
 *
 *  - files that come to another process by fork(), a socket or pidfd_getfd(), when that uses them;
 *  - files by which objects are exported and imported, dma-bufs, and files that are registered
 *    with each other or are given to nvidia-uvm, as all of these are named by fds that schemas
 *    describe. To a driver an fd that is not described is none, or that of a file which the session
 *    has used, as its shadow may have all of these in one table. So a file that is in no group
 *    comes into the session's with a call that may have such an fd (vgpu_keep_raw_begin());
 *  - files of other drivers, as soon as a call on one of these names one of the above, or the other
 *    way round: a driver that imports a dma-buf has its memory for longer than that is open.
 *
 * RM_DUP_OBJECT and nvidia-uvm take objects by handles of any client of the same process, of which
 * each is by a file that the session has used. The host gives the process id of a shadow to no
 * other process while such a file is open.
 *
 * Three things pass memory by numbers alone, to whom is not known here:
 *
 *  - objects that RM has been told to share (RM_SHARE, and commands that do it);
 *  - buffers of DRM devices that have a global name (GEM_FLINK) or are in a framebuffer (ADDFB,
 *    ADDFB2), which other files of the device get by GEM_OPEN, GETFB and GETFB2;
 *  - nvidia-modeset, whose driver takes objects of any client.
 *
 * Pins of a group that has done one of the first two, and of any group while a file of the last is
 * open, are released when no file of any group is open any more. A file that gets a buffer by a
 * number comes into its session's group for that, in whatever the buffer's own file is.
 *
 * NVLink's exports by id are not reached by guests: RM wants a file of an IMEX channel for one.
 *
 * Cameras of uvcvideo have one group, as there a buffer may come into the queue of another file
 * (schema.c). It is no session's until a call names a file of the above together with one of these.
 *
 * A merged group points to the one that has its files now. The smaller one is merged, so the
 * way to the last is short, and group_find() shortens it: the reference points to the last group
 * afterwards.
 */
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "export.h"
#include "host.h"
#include "keep.h"
#include "keep_group.h"
#include "object.h"
#include "session.h"

/**
 * struct vgpu_keep_group - files that may have each other's memory
 * @into: the group that this one was merged into (a reference), set once; NULL: all that follows
 *	is in use. May be looked at without the lock
 * @refs: references of sessions, files, and groups that were merged into this one
 * @size: number of groups that it was made of
 * @open: number of its files that are open, and of calls that @raw counts
 * @raw: number of calls under way that may bring a file into it, see vgpu_keep_raw_begin()
 * @had: it has a file, or had one while the calls that @raw counts were under way
 * @cameras: it is that of cameras, and no session's
 * @shared: others that are not known may have what a driver has for it
 * @kept: list of struct vgpu_keep: the pins of calls on any of its files
 * @rcu: frees it when nobody compares pointers to it any more (file_is_used())
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
	return &session->host->keeps;
}

/* --- groups --------------------------------------------------------------- */

static struct vgpu_keep_group *group_alloc(void)
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

/* Follows ->into to the group in use, and moves the reference there. */
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
	/* The group of cameras becomes part of the session's. */
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
 * vgpu_keep_groups_init - begin with no file
 * @groups: those of a new host
 */
void vgpu_keep_groups_init(struct vgpu_keep_groups *groups)
{
	INIT_LIST_HEAD(&groups->any);
}

/**
 * vgpu_keep_groups_fini - end with no file and no session
 * @groups: those of a host that nobody uses any more
 */
void vgpu_keep_groups_fini(struct vgpu_keep_groups *groups)
{
	group_put(groups->cameras);
}

/* --- sessions ------------------------------------------------------------- */

/**
 * vgpu_keep_member_init - begin with a group of one's own
 * @member: that of a new session
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_keep_member_init(struct vgpu_keep_member *member)
{
	member->group = group_alloc();
	return member->group ? 0 : -ENOMEM;
}

/**
 * vgpu_keep_member_fini - leave the group
 * @session: a session that nobody has a reference of any more
 */
void vgpu_keep_member_fini(struct vgpu_session *session)
{
	struct vgpu_keep_set *set = set_of(session);

	mutex_lock(&set->lock);
	group_put(session->keep.group);
	mutex_unlock(&set->lock);
}

/* --- files ---------------------------------------------------------------- */

static bool file_sees_all(const struct vgpu_object *object)
{
	return object->keep.keepers == VGPU_KEEPERS_NVIDIA_ANY;
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

/* Return: it is in no session's group: in none, or in that of cameras. */
static bool file_is_alone(struct vgpu_keep_file *file)
{
	return !file->group || group_find(&file->group)->cameras;
}

/* The file comes into the session's group, in whatever it was. */
static void file_join(struct vgpu_session *session, struct vgpu_keep_file *file)
{
	struct vgpu_keep_groups *groups = &set_of(session)->groups;
	struct vgpu_keep_group *group = group_find(&session->keep.group);

	if (file->group) {
		group_merge(group, group_find(&file->group));
	} else {
		list_splice_tail_init(&file->kept, &group->kept);
		file_add(groups, file, group);
	}
	/* Both say the same now, which is seen without the lock. */
	group_find(&session->keep.group);
	group_find(&file->group);
}

/* Return: whether vgpu_keep_use() would change nothing. */
static bool file_is_used(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_group *group;
	bool same;

	/* No group takes the place of one that is freed between the two looks. */
	rcu_read_lock();
	group = READ_ONCE(object->keep.group);
	same = group == READ_ONCE(session->keep.group);
	rcu_read_unlock();
	return !group || same;
}

/**
 * vgpu_keep_open - put a new object into its group, if it has one
 * @object: the object, which nobody else knows yet
 * @session: in which the call was made that it came by
 * @from: the object of that call, or NULL: it was opened
 *
 * Return: 0 or -ENOMEM, after which it is to be freed.
 */
int vgpu_keep_open(struct vgpu_object *object, struct vgpu_session *session,
		   struct vgpu_object *from)
{
	struct vgpu_keep_set *set = &object->host->keeps;
	struct vgpu_keep_groups *groups = &set->groups;
	struct vgpu_keep_file *file = &object->keep;
	struct vgpu_keep_group *cameras = NULL, *group;

	if (!file->keepers && (!from || !READ_ONCE(from->keep.group)))
		return 0;
	if (file->keepers == VGPU_KEEPERS_UVC) {
		cameras = group_alloc();
		if (!cameras)
			return -ENOMEM;
		cameras->cameras = true;
	}
	mutex_lock(&set->lock);
	/* A call of another thread may have put it into a group while this one was made. */
	if (from && !file_is_alone(&from->keep))
		file_join(session, &from->keep);
	if (cameras && !groups->cameras)
		groups->cameras = group_get(cameras);
	group = group_find(cameras ? &groups->cameras : &session->keep.group);
	group_put(cameras);
	file_add(groups, file, group);
	groups->nr_modeset += file_sees_all(object);
	mutex_unlock(&set->lock);
	return 0;
}

/**
 * vgpu_keep_use - a session is about to make a call on an object
 * @session: the session
 * @object: the object, whose file is open until the call is over
 */
void vgpu_keep_use(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);

	if (file_is_used(session, object))
		return;
	mutex_lock(&set->lock);
	if (!file_is_alone(&object->keep))
		file_join(session, &object->keep);
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_name - a call on one object names another, or has returned it
 * @session: in which the call is made
 * @object: the call's object
 * @named: the other one; both are open until the call is over
 */
void vgpu_keep_name(struct vgpu_session *session, struct vgpu_object *object,
		    struct vgpu_object *named)
{
	struct vgpu_keep_set *set = set_of(session);
	bool in = READ_ONCE(object->keep.group);

	if (in == !!READ_ONCE(named->keep.group) && file_is_used(session, object) &&
	    file_is_used(session, named))
		return;
	mutex_lock(&set->lock);
	if (!file_is_alone(&object->keep) || !file_is_alone(&named->keep)) {
		file_join(session, &object->keep);
		file_join(session, &named->keep);
	}
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_share - a call on an object is about to let others have what its driver has
 * @session: in which the call is made
 * @object: the object, whose file is open until the call is over
 *
 * The group has the file before it is marked, so that it cannot end, and its mark with it, before
 * the call is made. A file that is in none is marked for the time when it is.
 */
void vgpu_keep_share(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);
	struct vgpu_keep_file *file = &object->keep;

	mutex_lock(&set->lock);
	file->shared = true;
	if (!file_is_alone(file)) {
		file_join(session, file);
		group_find(&file->group)->shared = true;
	}
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_enter - a call on an object is about to get what others have let its driver have
 * @session: in which the call is made
 * @object: the object, whose file is open until the call is over
 */
void vgpu_keep_enter(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);

	mutex_lock(&set->lock);
	file_join(session, &object->keep);
	mutex_unlock(&set->lock);
}

/**
 * vgpu_keep_raw_begin - a call may name any file of the session by numbers that nobody looks at
 * @session: in which the call is made
 * @object: the call's object, whose file is open until the call is over
 *
 * The group may get its first file while the call runs, and lose its last one. So it does not end
 * before the call does, which is counted as another file.
 *
 * Return: whether vgpu_keep_raw_end() is to be called.
 */
bool vgpu_keep_raw_begin(struct vgpu_session *session, struct vgpu_object *object)
{
	struct vgpu_keep_set *set = set_of(session);
	struct vgpu_keep_group *group;
	bool alone;

	mutex_lock(&set->lock);
	alone = file_is_alone(&object->keep);
	if (alone) {
		group = group_find(&session->keep.group);
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
 * vgpu_keep_raw_leave - such a call is over
 * @session: in which it was made
 * @object: its object, before anything that it has returned comes into a group
 * @over: false: the host may still run it
 * @left: list that gets all pins that no driver has any more
 *
 * The object comes into the session's group if the driver may have found a file there: by that it
 * may have what anybody has pinned and shared, whose group may be another one until that ends.
 */
void vgpu_keep_raw_leave(struct vgpu_session *session, struct vgpu_object *object, bool over,
			 struct list_head *left)
{
	struct vgpu_keep_groups *groups = &set_of(session)->groups;
	struct vgpu_keep_group *group = group_find(&session->keep.group);

	lockdep_assert_held(&set_of(session)->lock);
	group->raw--;
	group->open--;
	groups->open--;
	if (!over || group->had || !list_empty(&group->kept))
		file_join(session, &object->keep);
	else if (!group->open)
		group_empty(groups, group, left);
	if (!groups->open)
		list_splice_tail_init(&groups->any, left);
}

/**
 * vgpu_keep_list - find the pins of an object's calls
 * @object: the object, which is open
 *
 * Return: the list, until the set's lock is let go.
 */
struct list_head *vgpu_keep_list(struct vgpu_object *object)
{
	struct vgpu_keep_file *file = &object->keep;

	lockdep_assert_held(&object->host->keeps.lock);
	return file->group ? &group_find(&file->group)->kept : &file->kept;
}

/**
 * vgpu_keep_leave - an object is closed
 * @object: the object
 * @left: list that gets all pins that no driver has any more when that is done
 */
void vgpu_keep_leave(struct vgpu_object *object, struct list_head *left)
{
	struct vgpu_keep_groups *groups = &object->host->keeps.groups;
	struct vgpu_keep_file *file = &object->keep;
	struct vgpu_keep_group *group;

	lockdep_assert_held(&object->host->keeps.lock);
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

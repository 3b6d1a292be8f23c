// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects: host files that a guest may name by number. They belong to the guest, not to a
 * session. This file also has the numbers of the address_spaces that files map.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_ioctl.h>

#include "base/caller.h"
#include "compat.h"
#include "object/flush.h"
#include "object/object.h"
#include "peer/limit.h"
#include "plant.h"

/* Major number of DRM's accelerators (ACCEL_MAJOR), for which not all kernels have a header. */
#define OBJECT_ACCEL_MAJOR	261

bool vgpuh_object_is_nvidia(const struct vgpuh_object *object)
{
	return object->grant && object->grant->policy.kind == VGPU_EXPORT_NVIDIA;
}

/* --- address spaces ------------------------------------------------------- */

/*
 * Find or make the number of an address_space. A number is valid as long as a file or a VMA of
 * the guest uses the address_space and so keeps it alive. The guest never gets the pointer
 * itself.
 */
static struct vgpuh_space *space_get_locked(struct vgpu_peer *peer, struct address_space *mapping)
{
	struct vgpuh_space *space = xa_load(&peer->objects.spaces, (unsigned long)mapping);
	int ret;

	lockdep_assert_held(&peer->objects.lock);
	if (space) {
		space->users++;
		return space;
	}
	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return NULL;
	ret = xa_err(xa_store(&peer->objects.spaces, (unsigned long)mapping, space,
			      GFP_KERNEL_ACCOUNT));
	if (ret) {
		kfree(space);
		return NULL;
	}
	space->mapping = mapping;
	space->id = ++peer->objects.last_space;
	space->users = 1;
	space->extents = RB_ROOT_CACHED;
	return space;
}

static void space_put_locked(struct vgpu_peer *peer, struct vgpuh_space *space)
{
	lockdep_assert_held(&peer->objects.lock);
	if (--space->users)
		return;
	xa_erase(&peer->objects.spaces, (unsigned long)space->mapping);
	kfree(space);
}

struct vgpuh_space *vgpuh_space_get(struct vgpu_peer *peer, struct address_space *mapping)
{
	struct vgpuh_space *space;

	mutex_lock(&peer->objects.lock);
	space = space_get_locked(peer, mapping);
	mutex_unlock(&peer->objects.lock);
	return space;
}

void vgpuh_space_put(struct vgpu_peer *peer, struct vgpuh_space *space)
{
	mutex_lock(&peer->objects.lock);
	space_put_locked(peer, space);
	mutex_unlock(&peer->objects.lock);
}

/* --- numbers in fd tables ------------------------------------------------- */

/*
 * Allocate the fd number of a file whose driver knows files by their numbers. Natively such a
 * file has a number from its open on, which a child process inherits. So it has one here, too,
 * the same one in all sessions. Return: the number; 0: the file needs none; or a negative
 * errno.
 */
static int object_fd_new_locked(struct vgpu_peer *peer, const struct vgpu_grant *grant)
{
	int ret;

	lockdep_assert_held(&peer->objects.lock);
	if (!grant || !vgpu_export_knows_fds(grant->policy.kind))
		return 0;
	ret = ida_alloc_range(&peer->objects.fds, VGPU_LANE_FDS,
			      VGPU_LANE_FDS + READ_ONCE(peer->limits.objects) - 1,
			      GFP_KERNEL_ACCOUNT);
	/* Files that are being closed still have some of the numbers. */
	return ret == -ENOSPC ? -EMFILE : ret;
}

u32 vgpuh_object_keep_fd(struct vgpuh_object *object)
{
	object->fd_kept = object->fd;
	return object->fd;
}

/* --- memory that files of NVIDIA's driver map ------------------------------ */

/* Ioctls tell the driver which memory a file maps. owner.c says why the host notes it, too. */

static void owned_free(struct vgpu_owned *owned)
{
	if (!owned)
		return;
	path_put(&owned->control);
	kfree(owned);
}

void vgpu_owned_set(struct vgpuh_object *object, struct vgpu_owned *owned)
{
	mutex_lock(&object->peer->objects.lock);
	swap(object->owned, owned);
	mutex_unlock(&object->peer->objects.lock);
	owned_free(owned);
}

bool vgpu_owned_get(struct vgpuh_object *object, struct vgpu_owned *owned)
{
	bool known;

	mutex_lock(&object->peer->objects.lock);
	known = object->owned;
	if (known) {
		*owned = *object->owned;
		path_get(&owned->control);
	}
	mutex_unlock(&object->peer->objects.lock);
	return known;
}

/* --- objects -------------------------------------------------------------- */

static u32 object_kind(const struct file *file)
{
	const struct super_block *sb = file_inode(file)->i_sb;

	if (S_ISCHR(file_inode(file)->i_mode))
		return VGPU_OBJECT_DEVICE;
	if (sb->s_magic == DMA_BUF_MAGIC)
		return VGPU_OBJECT_DMABUF;
	if (sb->s_magic == ANON_INODE_FS_MAGIC &&
	    !strcmp(file->f_path.dentry->d_name.name, "sync_file"))
		return VGPU_OBJECT_SYNC_FILE;
	return VGPU_OBJECT_OTHER;
}

/*
 * Free an object that nothing refers to. fput() of a kernel thread would leave ->release to
 * another work item, but a thread that waits for a CLOSE waits for ->release. A lane's thread
 * runs it on its way to user mode, before it does anything else.
 */
static void object_free(struct kref *ref)
{
	struct vgpuh_object *object = container_of(ref, struct vgpuh_object, ref);
	struct vgpu_peer *peer = object->peer;

	/* Objects are neither closed nor flushed yet if an open has failed or the guest is gone. */
	vgpuh_object_flush(object, vgpuh_object_flush_by());
	vgpu_poll_fini(object);
	vgpuh_event_drop_all(object);
	owned_free(object->owned);
	vgpuh_space_put(peer, object->space);
	vgpu_grant_put(object->grant);
	vgpu_grant_put(object->origin);
	if (object->leave.number) {
		vgpu_leave_free(object);
		return;
	}
	WARN_ON_ONCE(object->family);
	if (current->flags & PF_KTHREAD)
		__fput_sync(object->file);
	else
		fput(object->file);
	if (!object->fd_kept)
		vgpuh_object_free_fd(peer, object->fd);
	kfree_rcu(object, rcu);
	/* The object is uncounted last: open files count, even if the guest has closed them. */
	vgpuh_object_uncount(peer);
}

void vgpuh_object_put(struct vgpuh_object *object)
{
	kref_put(&object->ref, object_free);
}

static struct vgpuh_object *object_make_locked(struct vgpu_peer *peer, struct file *file,
					       struct vgpu_grant *grant,
					       struct vgpu_grant *origin)
{
	struct vgpuh_object *object;
	int ret;

	if (peer->objects.nr >= READ_ONCE(peer->limits.objects))
		return ERR_PTR(-EMFILE);
	/* The lock is held, so vgpuh_object_cut() either finds the object or has not begun. */
	if (origin && READ_ONCE(origin->cut))
		return ERR_PTR(-ENODEV);
	object = kzalloc(sizeof(*object), GFP_KERNEL_ACCOUNT);
	if (!object)
		return ERR_PTR(-ENOMEM);
	kref_init(&object->ref);
	object->peer = peer;
	object->file = file;
	object->kind = object_kind(file);
	object->references.next = 1;
	xa_init_flags(&object->references.table, XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&object->close.node);
	INIT_LIST_HEAD(&object->events.list);
	object->events.tree = RB_ROOT_CACHED;
	vgpu_poll_init(object);
	/* Most objects never have another reference, and this entry takes no memory. */
	ret = xa_err(xa_store(&object->references.table, 0, xa_mk_value(0), GFP_KERNEL_ACCOUNT));
	if (ret)
		goto err_free;
	object->space = space_get_locked(peer, file->f_mapping);
	if (!object->space) {
		ret = -ENOMEM;
		goto err_free_references;
	}
	ret = object_fd_new_locked(peer, grant);
	if (ret < 0)
		goto err_put_space;
	object->fd = ret;
	ret = xa_alloc_cyclic(&peer->objects.table, &object->id, NULL, XA_LIMIT(1, INT_MAX),
			      &peer->objects.next, GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto err_free_fd;
	ret = xa_err(xa_store(&peer->objects.files, (unsigned long)file, object,
			      GFP_KERNEL_ACCOUNT));
	if (ret)
		goto err_free_id;
	if (grant) {
		vgpu_grant_get(grant);
		object->grant = grant;
		object->no_demand = grant->export->flags & VGPU_HOST_EXPORT_NO_DEMAND;
	}
	if (origin) {
		vgpu_grant_get(origin);
		object->origin = origin;
	}
	peer->objects.nr++;
	vgpuh_use_most(&peer->bounds.most.objects, peer->objects.nr);
	xa_store(&peer->objects.table, object->id, object, GFP_KERNEL_ACCOUNT);
	return object;

err_free_id:
	xa_release(&peer->objects.table, object->id);
err_free_fd:
	vgpuh_object_free_fd(peer, object->fd);
err_put_space:
	space_put_locked(peer, object->space);
err_free_references:
	xa_destroy(&object->references.table);
err_free:
	kfree(object);
	return ERR_PTR(ret);
}

/* Give the guest one more reference of an object that it has. Return: 0 or a negative errno. */
static int object_refer_locked(struct vgpuh_object *object, u32 *reference)
{
	struct vgpu_peer *peer = object->peer;
	int ret;

	lockdep_assert_held(&peer->objects.lock);
	/* A guest that gives repeated references back at once has few of them. */
	if (peer->objects.nr_repeated >= READ_ONCE(peer->limits.objects))
		return -EMFILE;
	/* Number 0 follows the last number. */
	while (xa_load(&object->references.table, object->references.next))
		object->references.next++;
	ret = xa_err(xa_store(&object->references.table, object->references.next,
			      xa_mk_value(0), GFP_KERNEL_ACCOUNT));
	if (ret)
		return ret;
	peer->objects.nr_repeated++;
	*reference = object->references.next++;
	return 0;
}

struct vgpuh_object *vgpuh_object_take(struct vgpu_peer *peer, struct file *file,
				       struct vgpu_grant *grant, struct vgpu_grant *origin,
				       u32 *reference)
{
	struct vgpuh_object *object;
	bool known;
	int ret;

	mutex_lock(&peer->objects.lock);
	object = xa_load(&peer->objects.files, (unsigned long)file);
	known = object;
	if (known) {
		ret = object_refer_locked(object, reference);
		if (ret)
			object = ERR_PTR(ret);
	} else {
		*reference = 0;
		object = object_make_locked(peer, file, grant, origin);
	}
	if (!IS_ERR(object))
		kref_get(&object->ref);
	mutex_unlock(&peer->objects.lock);
	if (known)
		fput(file);
	else if (IS_ERR(object))
		filp_close(file, current->files);
	return object;
}

struct vgpuh_object *vgpuh_object_find(struct vgpu_peer *peer, u32 id)
{
	struct vgpuh_object *object;

	rcu_read_lock();
	object = xa_load(&peer->objects.table, id);
	if (object && !kref_get_unless_zero(&object->ref))
		object = NULL;
	rcu_read_unlock();
	if (!object)
		return NULL;
	/*
	 * Pairs with object_may_keep_locked(): if this function does not see @closed, the other
	 * one sees this reference.
	 */
	smp_mb();
	if (READ_ONCE(object->closed)) {
		vgpuh_object_put(object);
		return NULL;
	}
	return object;
}

/*
 * Check whether the release of @object, which the guest has just closed, has to be waited for.
 * One reason is that its driver has memory of the guest, by this object or another one, or may
 * get some. Calls that still run on the object may make the driver take memory that another
 * object is given meanwhile; no new call finds the object. Another reason is that the fd number
 * of the object must not be given to another file while such calls run.
 */
static bool object_may_keep_locked(struct vgpu_peer *peer, const struct vgpuh_object *object)
{
	lockdep_assert_held(&peer->objects.lock);
	if (peer->kept.nr)
		return true;
	/* Pairs with vgpuh_object_find(). */
	smp_mb();
	return ((peer->wire.features & VGPU_FEATURE_KEEP) || object->fd) &&
		kref_read(&object->ref) > 1;
}

void vgpuh_object_unlist_locked(struct vgpu_peer *peer, struct vgpuh_object *object)
{
	lockdep_assert_held(&peer->objects.lock);
	xa_destroy(&object->references.table);
	WRITE_ONCE(object->closed, true);
	if (!vgpu_planted(VGPU_PLANT_CLOSED))
		xa_erase(&peer->objects.table, object->id);
	xa_erase(&peer->objects.files, (unsigned long)object->file);
	/*
	 * Processes that NVIDIA's driver remembers with the file may be reaped after its
	 * ->release only.
	 */
	if (object_may_keep_locked(peer, object) || vgpuh_object_is_nvidia(object))
		vgpu_leave_begin(peer, object);
}

struct vgpuh_object *vgpuh_object_release(struct vgpu_peer *peer, u32 id, u32 reference)
{
	struct vgpuh_object *object;

	mutex_lock(&peer->objects.lock);
	object = xa_load(&peer->objects.table, id);
	if (!object || !xa_erase(&object->references.table, reference)) {
		object = ERR_PTR(-EBADF);
	} else if (!xa_empty(&object->references.table)) {
		peer->objects.nr_repeated--;
		object = NULL;
	} else {
		vgpuh_object_unlist_locked(peer, object);
	}
	mutex_unlock(&peer->objects.lock);
	return object;
}

void vgpuh_object_drop_all(struct vgpu_peer *peer)
{
	struct vgpuh_object *object;
	unsigned long id;

	xa_for_each(&peer->objects.table, id, object) {
		mutex_lock(&peer->objects.lock);
		vgpuh_object_unlist_locked(peer, object);
		mutex_unlock(&peer->objects.lock);
		vgpuh_object_put(object);
	}
}

/*
 * Check whether the file's ->show_fdinfo can be called. Only files are asked that are known to
 * need nothing of a seq_file but its buffer and file. Others may rely on what is there when
 * procfs has opened it.
 */
bool vgpuh_object_has_fdinfo(const struct vgpuh_object *object)
{
	const struct inode *inode = file_inode(object->file);

	if (!object->file->f_op->show_fdinfo)
		return false;
	return object->kind == VGPU_OBJECT_DMABUF ||
	       (object->kind == VGPU_OBJECT_DEVICE &&
		(imajor(inode) == DRM_MAJOR || imajor(inode) == OBJECT_ACCEL_MAJOR));
}

static u32 object_fops(const struct vgpuh_object *object)
{
	struct file *file = object->file;
	const struct file_operations *fops = file->f_op;
	u32 mask = 0;

	if (file->f_mode & FMODE_CAN_READ)
		mask |= VGPU_FOP_READ;
	if (file->f_mode & FMODE_CAN_WRITE)
		mask |= VGPU_FOP_WRITE;
	if (file->f_mode & FMODE_LSEEK)
		mask |= VGPU_FOP_LLSEEK;
	if (fops->unlocked_ioctl)
		mask |= VGPU_FOP_IOCTL;
	/*
	 * Without CONFIG_IA32_EMULATION drivers have no ->compat_ioctl. The flag is set all the
	 * same, so that the guest makes the call and gets -EOPNOTSUPP (ioctl_prepare()).
	 */
	if (VGPU_CALLER_COMPAT ? fops->compat_ioctl : fops->unlocked_ioctl)
		mask |= VGPU_FOP_COMPAT_IOCTL;
	if (can_mmap_file(file))
		mask |= VGPU_FOP_MMAP;
	if (fops->poll)
		mask |= VGPU_FOP_POLL;
	if (fops->fasync)
		mask |= VGPU_FOP_FASYNC;
	if (vgpuh_object_has_fdinfo(object))
		mask |= VGPU_FOP_FDINFO;
	if (file->f_mode & FMODE_STREAM)
		mask |= VGPU_FOP_STREAM;
	if (!(file->f_mode & FMODE_PREAD))
		mask |= VGPU_FOP_NO_PREAD;
	if (!(file->f_mode & FMODE_PWRITE))
		mask |= VGPU_FOP_NO_PWRITE;
	return mask;
}

void vgpuh_object_describe(struct vgpuh_object *object, u32 reference,
			   struct vgpu_object_desc *desc)
{
	struct file *file = object->file;
	u32 flags = 0;

	if (file->f_mode & FMODE_READ)
		flags |= VGPU_OBJECT_READ;
	if (file->f_mode & FMODE_WRITE)
		flags |= VGPU_OBJECT_WRITE;
	desc->object = cpu_to_le32(object->id);
	desc->kind = cpu_to_le32(object->kind);
	desc->fops = cpu_to_le32(object_fops(object));
	desc->flags = cpu_to_le32(flags);
	desc->space = cpu_to_le64(object->space->id);
	desc->size = cpu_to_le64(object->kind == VGPU_OBJECT_DMABUF ?
				 i_size_read(file_inode(file)) : 0);
	desc->f_flags = cpu_to_le32(file->f_flags & ~O_LARGEFILE);
	desc->reference = cpu_to_le32(reference);
	desc->reserved = 0;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects: host files that a guest may name by number, and the address_spaces that they map.
 */
#ifndef _VGPU_HOST_OBJECT_H
#define _VGPU_HOST_OBJECT_H

#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/rbtree.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <uapi/linux/vgpu_wire.h>

#include "nvidia_rm.h"
#include "object/close.h"
#include "object/event.h"
#include "object/leave.h"
#include "object/poll.h"
#include "peer/grant.h"
#include "peer/peer.h"

struct address_space;
struct file;
struct vgpu_family;

struct vgpuh_space {
	struct address_space *mapping;
	u64 id;
	u32 users;
	struct rb_root_cached extents;
};

/**
 * struct vgpu_owned - memory that a file of NVIDIA's driver maps
 * @control: path of the control file whose client has the memory
 * @map: RM's answer to the request to map the memory
 */
struct vgpu_owned {
	struct path control;
	struct rm_map map;
};

/**
 * struct vgpuh_object_references - the guest's references of an object
 * @table: numbers of the references; protected by peer->objects.lock, as @next
 * @next: number of the next reference
 */
struct vgpuh_object_references {
	struct xarray table;
	u32 next;
};

struct vgpuh_object {
	struct kref ref;
	struct rcu_head rcu;
	struct vgpu_peer *peer;
	struct file *file;
	/* Grant of the device file; NULL: no device file, it came from a device of @origin. */
	struct vgpu_grant *grant;
	struct vgpu_grant *origin;
	struct vgpuh_space *space;
	u32 id;
	u32 kind;
	/* Fixed number in the fd tables of all lanes, at least VGPU_LANE_FDS; 0: none. */
	u32 fd;
	/* True if the thread that closes the object frees @fd, instead of object_free(). */
	bool fd_kept;
	struct vgpuh_object_references references;
	/*
	 * True if the guest has no reference any more; vgpuh_object_find() reads it without the
	 * lock.
	 */
	bool closed;
	/* True if the driver gets no pages but those that come with a call. */
	bool no_demand;
	struct vgpuh_object_close close;
	struct vgpuh_object_leave leave;
	/*
	 * Memory that a file of NVIDIA's driver maps; protected by peer->objects.lock; NULL:
	 * unknown.
	 */
	struct vgpu_owned *owned;
	/* Family of the file; protected by peer->tgids_lock; NULL: no call was made on it. */
	struct vgpu_family *family;
	struct list_head family_node;
	struct vgpu_poll poll;
	struct vgpuh_object_events events;
	/* Handle of the buffer of a DRM file in which a fence was found, or is to be looked for. */
	int fence_buffer;
};

/*
 * Find the guest's object for @file, or make one, and give the guest one more reference.
 * @reference: out: number of that reference. Consumes the caller's reference of @file in any
 * case.
 * Return: the object, with a reference for the caller, or an ERR_PTR().
 */
struct vgpuh_object *vgpuh_object_take(struct vgpu_peer *peer, struct file *file,
				       struct vgpu_grant *grant, struct vgpu_grant *origin,
				       u32 *reference);
/* Find the guest's object with number @id. Return: the object with a reference, or NULL. */
struct vgpuh_object *vgpuh_object_find(struct vgpu_peer *peer, u32 id);
void vgpuh_object_put(struct vgpuh_object *object);
/*
 * Give back the guest's reference with number @reference.
 * Return: the object if that was its last one, for the caller to put; NULL if it has others;
 * ERR_PTR(-EBADF) if the guest has no such reference.
 */
struct vgpuh_object *vgpuh_object_release(struct vgpu_peer *peer, u32 id, u32 reference);
/* Check whether @object is a file of an export of NVIDIA's driver. */
bool vgpuh_object_is_nvidia(const struct vgpuh_object *object);
/* Check whether the guest may read what the driver adds to /proc/PID/fdinfo. */
bool vgpuh_object_has_fdinfo(const struct vgpuh_object *object);
/*
 * Take an object out of the tables. The guest has no reference of it any more, or loses those that
 * it has.
 */
void vgpuh_object_unlist_locked(struct vgpu_peer *peer, struct vgpuh_object *object);
void vgpuh_object_drop_all(struct vgpu_peer *peer);
/*
 * Close all objects that came from a grant, as if the guest had closed them. Context: peer->lock is
 * held, and peer->closing is not set.
 */
void vgpuh_object_cut(struct vgpu_peer *peer, const struct vgpu_grant *origin);
/*
 * Keep the fd number of @object, which the guest has closed, beyond the object itself: a lane's
 * thread puts the object, but the file keeps its number until its later release.
 * Return: number to give to vgpuh_object_free_fd() after the release; 0: none.
 */
u32 vgpuh_object_keep_fd(struct vgpuh_object *object);
/*
 * Set what @object maps; NULL: unknown. Consumes @owned, which the caller has allocated, with a
 * reference of its path.
 */
void vgpu_owned_set(struct vgpuh_object *object, struct vgpu_owned *owned);
/* Copy what @object maps, with a reference of its path. Return: true if it is known. */
bool vgpu_owned_get(struct vgpuh_object *object, struct vgpu_owned *owned);
void vgpuh_object_describe(struct vgpuh_object *object, u32 reference,
			   struct vgpu_object_desc *desc);
struct vgpuh_space *vgpuh_space_get(struct vgpu_peer *peer, struct address_space *mapping);
void vgpuh_space_put(struct vgpu_peer *peer, struct vgpuh_space *space);

/* Free the fd number of a file that is released; 0 is ignored. */
static inline void vgpuh_object_free_fd(struct vgpu_peer *peer, u32 fd)
{
	if (fd)
		ida_free(&peer->objects.fds, fd);
}

/* Count one object less: its file is released, so the guest may open another one. */
static inline void vgpuh_object_uncount(struct vgpu_peer *peer)
{
	mutex_lock(&peer->objects.lock);
	peer->objects.nr--;
	mutex_unlock(&peer->objects.lock);
}

#endif /* _VGPU_HOST_OBJECT_H */

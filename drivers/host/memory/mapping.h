/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device mappings of a shadow.
 */
#ifndef _VGPU_HOST_MAPPING_H
#define _VGPU_HOST_MAPPING_H

#include <linux/interval_tree.h>
#include <linux/types.h>

struct file;
struct vgpu_binding;
struct vgpu_extent;
struct vgpuh_call;
struct vgpuh_lane;
struct vgpu_peer;
struct vgpuh_session;
struct vgpuh_space;

struct vgpuh_mapping {
	/* Node of session->mappings, by address; protected by the session's map_lock. */
	struct interval_tree_node node;
	u64 addr;
	u64 len;
	struct file *file;
	/* The guest's own file, held while the module maps another one in its place; or NULL. */
	struct file *theirs;
	struct vgpuh_space *space;
	struct vgpu_extent *extent;
	/* Binding, shared by all parts of one mapping; NULL: the mapping is not in a window. */
	struct vgpu_binding *binding;
};

/* Find the first mapping that ends after @addr, or NULL. Context: map_lock is held. */
struct vgpuh_mapping *vgpuh_mapping_find(struct vgpuh_session *session, u64 addr);
/*
 * Account for @len bytes before they are mapped, as other sessions of the guest map at the same
 * time.
 * Return: false if they exceed the limit.
 */
bool vgpuh_mapping_charge(struct vgpu_peer *peer, u64 len);
void vgpuh_mapping_uncharge(struct vgpu_peer *peer, u64 len);
/* Publish a mapping. Context: map_lock is held. */
void vgpuh_mapping_insert(struct vgpuh_session *session, struct vgpuh_mapping *mapping);
/* Take the mapping out of its window. @tell: true if the guest has to be notified. */
void vgpuh_mapping_unbind(struct vgpuh_mapping *mapping, bool tell);
/*
 * Put demand pages in the place of all mappings in [addr, end). Context: map_lock is held, and
 * current is the shadow. Return: 0 or a negative errno; the range is not usable then.
 */
int vgpuh_mapping_unmap(struct vgpuh_session *session, struct file *shadow, u64 addr, u64 end);
/*
 * Check that only demand pages and earlier mappings are at [addr, end). Context: map_lock is
 * held.
 */
bool vgpuh_mapping_range_free(struct vgpuh_session *session, u64 addr, u64 end);
/* Apply queued unmaps up to control message @seq (U64_MAX: all). Context: current is the shadow. */
int vgpuh_mapping_apply_unmaps(struct vgpuh_session *session, struct file *shadow, u64 seq);
/*
 * Map zeroed memory at [addr, addr + len) of the shadow in place of demand pages;
 * vgpuh_mapping_displace() restores the demand pages.
 * Return: 0; -EINVAL: something else is mapped there; -ENOMEM, -EINTR.
 */
int vgpuh_mapping_place(struct vgpuh_call *call, u64 addr, u64 len);
void vgpuh_mapping_displace(struct vgpuh_lane *lane, u64 addr, u64 len);
/* Check that only demand pages are at [addr, end). Context: map_lock is held. */
bool vgpuh_mapping_vacant_locked(struct vgpuh_session *session, u64 addr, u64 end);
void vgpuh_mapping_drop_all(struct vgpuh_session *session);

#endif /* _VGPU_HOST_MAPPING_H */

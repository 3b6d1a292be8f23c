// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device mappings of a session, by address: what the shadow maps at the guest's own addresses.
 */
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "memory/demand.h"
#include "memory/extent.h"
#include "memory/mapping.h"
#include "object/object.h"
#include "peer/control.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "policy.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"
#include "session/unmap.h"
#include "window/binding.h"

struct vgpuh_mapping *vgpuh_mapping_find(struct vgpuh_session *session, u64 addr)
{
	struct interval_tree_node *node;

	lockdep_assert_held(&session->map_lock);
	node = interval_tree_iter_first(&session->mappings, addr, ULONG_MAX);
	return node ? container_of(node, struct vgpuh_mapping, node) : NULL;
}

bool vgpuh_mapping_charge(struct vgpu_peer *peer, u64 len)
{
	u64 mapped = atomic64_fetch_add(len, &peer->memory.mapped_bytes);

	if (vgpu_limits_map_ok(READ_ONCE(peer->limits.mapped_bytes), mapped, len)) {
		vgpuh_use_most_bytes(&peer->bounds.most.mapped_bytes, mapped + len);
		return true;
	}
	atomic64_sub(len, &peer->memory.mapped_bytes);
	return false;
}

void vgpuh_mapping_uncharge(struct vgpu_peer *peer, u64 len)
{
	atomic64_sub(len, &peer->memory.mapped_bytes);
}

void vgpuh_mapping_insert(struct vgpuh_session *session, struct vgpuh_mapping *mapping)
{
	struct vgpu_peer *peer = session->peer;

	lockdep_assert_held(&session->map_lock);
	mapping->node.start = mapping->addr;
	mapping->node.last = mapping->addr + mapping->len - 1;
	interval_tree_insert(&mapping->node, &session->mappings);
	session->nr_mappings++;
	vgpuh_use_most(&peer->bounds.most.mappings, session->nr_mappings);
	vgpuh_use_most(&peer->bounds.most.all_mappings,
		       atomic_inc_return(&peer->memory.nr_mappings));
	vgpuh_control_due(session->peer);
}

static void mapping_remove(struct vgpuh_session *session, struct vgpuh_mapping *mapping)
{
	interval_tree_remove(&mapping->node, &session->mappings);
	session->nr_mappings--;
	atomic_dec(&session->peer->memory.nr_mappings);
}

void vgpuh_mapping_unbind(struct vgpuh_mapping *mapping, bool tell)
{
	if (!mapping->binding)
		return;
	/* Other parts of the mapping stay in the window. */
	if (!--mapping->binding->users)
		vgpu_binding_end(mapping->binding, tell);
	vgpu_binding_put(mapping->binding);
	mapping->binding = NULL;
}

/* Free a mapping. @tell: true if the guest does not know that the mapping ends. */
static void mapping_free(struct vgpuh_session *session, struct vgpuh_mapping *mapping, bool tell)
{
	vgpuh_mapping_unbind(mapping, tell);
	vgpu_extent_put(session->peer, mapping->space, mapping->extent);
	/* The file keeps the space's address_space alive, so the space is put before the file. */
	vgpuh_space_put(session->peer, mapping->space);
	fput(mapping->file);
	if (mapping->theirs)
		fput(mapping->theirs);
	kfree(mapping);
}

/*
 * Reduce [addr, end) to its overlap with the first mapping in it. Return: false if there is
 * none.
 */
static bool mapping_overlap(struct vgpuh_session *session, u64 *addr, u64 *end)
{
	struct vgpuh_mapping *mapping = vgpuh_mapping_find(session, *addr);

	if (!mapping || mapping->addr >= *end)
		return false;
	*addr = max(*addr, mapping->addr);
	*end = min(*end, mapping->addr + mapping->len);
	return true;
}

/*
 * Remove [addr, end), which lies in one mapping. The part of the mapping above it, if any, uses
 * @spare if there is a part below as well.
 */
static void mapping_cut(struct vgpuh_session *session, u64 addr, u64 end,
			struct vgpuh_mapping **spare)
{
	struct vgpuh_mapping *mapping = vgpuh_mapping_find(session, addr);
	u64 old_addr = mapping->addr, old_end = mapping->addr + mapping->len;

	vgpuh_mapping_uncharge(session->peer, end - addr);
	mapping_remove(session, mapping);
	if (addr > old_addr && end < old_end) {
		struct vgpuh_mapping *upper = *spare;

		*spare = NULL;
		upper->addr = end;
		upper->len = old_end - end;
		upper->file = get_file(mapping->file);
		if (mapping->theirs)
			upper->theirs = get_file(mapping->theirs);
		/* The space is known already, so nothing is allocated. */
		upper->space = vgpuh_space_get(session->peer, mapping->space->mapping);
		upper->extent = vgpu_extent_get(session->peer, mapping->extent);
		upper->binding = mapping->binding;
		if (upper->binding) {
			vgpu_binding_get(upper->binding);
			upper->binding->users++;
		}
		vgpuh_mapping_insert(session, upper);
	}
	if (addr > old_addr) {
		mapping->len = addr - old_addr;
	} else if (end < old_end) {
		mapping->addr = end;
		mapping->len = old_end - end;
	} else {
		mapping_free(session, mapping, false);
		return;
	}
	vgpuh_mapping_insert(session, mapping);
}

void vgpuh_mapping_drop_all(struct vgpuh_session *session)
{
	struct vgpuh_mapping *mapping;

	mutex_lock(&session->map_lock);
	while ((mapping = vgpuh_mapping_find(session, 0))) {
		vgpuh_mapping_uncharge(session->peer, mapping->len);
		mapping_remove(session, mapping);
		mapping_free(session, mapping, true);
	}
	mutex_unlock(&session->map_lock);
}

/*
 * Check whether the end of [from, to), which lies in one mapping, would split the mapping although
 * the session has as many parts of mappings as it may have.
 */
static bool mapping_parts_full(struct vgpuh_session *session, u64 from, u64 to)
{
	struct vgpuh_mapping *mapping = vgpuh_mapping_find(session, from);

	return mapping->addr < from && mapping->addr + mapping->len > to &&
	       session->nr_mappings >= vgpuh_parts_max(session->peer);
}

int vgpuh_mapping_unmap(struct vgpuh_session *session, struct file *shadow, u64 addr, u64 end)
{
	struct vgpuh_mapping *spare = NULL;
	int ret = 0;

	while (!ret) {
		u64 from = addr, to = end;

		if (!mapping_overlap(session, &from, &to))
			break;
		/* The guest has unmapped the range already, so its unmap cannot be refused. */
		if (mapping_parts_full(session, from, to)) {
			atomic64_inc(&session->peer->counters.refused);
			ret = -ENOSPC;
			break;
		}
		if (!spare)
			spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
		if (!spare)
			return -ENOMEM;
		mapping_cut(session, from, to, &spare);
		ret = vgpu_demand_cover(session, shadow, from, to - from);
		addr = to;
	}
	kfree(spare);
	return ret;
}

int vgpuh_mapping_apply_unmaps(struct vgpuh_session *session, struct file *shadow, u64 seq)
{
	struct vgpu_unmap_req *req;
	int ret = 0;

	if (mutex_lock_killable(&session->map_lock))
		return -EINTR;
	/* Only the holder of map_lock removes a list entry, after the unmap is applied. */
	while (!ret && (req = vgpu_unmap_first(session, seq))) {
		ret = vgpuh_mapping_unmap(session, shadow, req->addr, req->addr + req->len);
		vgpu_unmap_remove(session, req);
	}
	mutex_unlock(&session->map_lock);
	if (ret) {
		/* The old mapping may still be there, so this shadow cannot be used any more. */
		vgpuh_session_end(session);
		return -ENODEV;
	}
	wake_up_all(&session->peer->wait);
	return 0;
}

bool vgpuh_mapping_range_free(struct vgpuh_session *session, u64 addr, u64 end)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct vgpuh_mapping *mapping;
	bool ok = true;

	/* The reply of a task that is killed here is not sent, so any result will do. */
	if (mmap_read_lock_killable(mm))
		return false;
	while (ok && addr < end) {
		vma = find_vma(mm, addr);
		ok = vma && vma->vm_start <= addr;
		if (ok && !vgpu_demand_vma(session, vma)) {
			mapping = vgpuh_mapping_find(session, addr);
			ok = mapping && mapping->addr <= addr;
		}
		if (ok)
			addr = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return ok;
}

bool vgpuh_mapping_vacant_locked(struct vgpuh_session *session, u64 addr, u64 end)
{
	u64 from = addr, to = end;

	return !mapping_overlap(session, &from, &to) &&
		vgpuh_mapping_range_free(session, addr, end);
}

int vgpuh_mapping_place(struct vgpuh_call *call, u64 addr, u64 len)
{
	struct vgpuh_lane *lane = call->lane;
	struct vgpuh_session *session = lane->session;
	bool broken = false;
	unsigned long at;
	int ret = 0;

	if (mutex_lock_killable(&session->map_lock))
		return -EINTR;
	if (!vgpuh_mapping_vacant_locked(session, addr, addr + len)) {
		ret = -EINVAL;
		goto out_unlock;
	}
	at = vgpu_room_map(call, addr, len, MAP_FIXED);
	if (IS_ERR_VALUE(at)) {
		/* Demand pages may be gone from the range already. */
		broken = vgpu_demand_cover(session, lane->shadow, addr, len);
		ret = -ENOMEM;
	}
out_unlock:
	mutex_unlock(&session->map_lock);
	if (broken)
		vgpuh_session_end(session);
	return ret;
}

void vgpuh_mapping_displace(struct vgpuh_lane *lane, u64 addr, u64 len)
{
	struct vgpuh_session *session = lane->session;
	int ret;

	/*
	 * The wait is not killable, as the memory must not outlive its call. Only threads of
	 * this process hold the lock, so the process does not take longer to end for it.
	 */
	mutex_lock(&session->map_lock);
	ret = vgpu_demand_cover(session, lane->shadow, addr, len);
	mutex_unlock(&session->map_lock);
	if (!ret)
		return;
	lane->call.room_stuck = true;
	vgpuh_session_end(session);
}

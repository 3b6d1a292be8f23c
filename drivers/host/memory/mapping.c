// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device mappings: the shadow maps the real file at the guest's own address, and the guest
 * reads and writes the pages by calls. Calls here are of class mm: they never ask the guest
 * anything, because the guest may hold the program's mmap lock.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "memory/demand.h"
#include "memory/extent.h"
#include "memory/mapping.h"
#include "memory/owner.h"
#include "object/object.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "policy.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"
#include "session/unmap.h"
#include "window/bind.h"
#include "window/binding.h"
#include "window/probe.h"
#include "window/window.h"
#include "wire.h"

/* Number of bytes that are copied out of a mapping at once. */
#define MAPPING_READ	(16 * PAGE_SIZE)

/* --- the session's mappings, by address ----------------------------------- */

/* Find the first mapping that ends after @addr. Return: the mapping, or NULL. */
static struct vgpu_mapping *mapping_find(struct vgpu_session *session, u64 addr)
{
	struct rb_node *node = session->mappings.rb_node;
	struct vgpu_mapping *found = NULL;

	lockdep_assert_held(&session->map_lock);
	while (node) {
		struct vgpu_mapping *mapping = rb_entry(node, struct vgpu_mapping, node);

		if (mapping->addr + mapping->len > addr) {
			found = mapping;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

/*
 * Account for @len bytes before they are mapped, as other sessions of the guest map at the same
 * time.
 * Return: false if they exceed the limit.
 */
static bool mapping_charge(struct vgpu_peer *peer, u64 len)
{
	u64 mapped = atomic64_fetch_add(len, &peer->mapped_bytes);

	if (vgpu_limits_map_ok(&peer->limits, mapped, len))
		return true;
	atomic64_sub(len, &peer->mapped_bytes);
	return false;
}

static void mapping_uncharge(struct vgpu_peer *peer, u64 len)
{
	atomic64_sub(len, &peer->mapped_bytes);
}

static void mapping_insert(struct vgpu_session *session, struct vgpu_mapping *mapping)
{
	struct rb_node **link = &session->mappings.rb_node, *parent = NULL;

	lockdep_assert_held(&session->map_lock);
	while (*link) {
		parent = *link;
		if (mapping->addr < rb_entry(parent, struct vgpu_mapping, node)->addr)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&mapping->node, parent, link);
	rb_insert_color(&mapping->node, &session->mappings);
	session->nr_mappings++;
	atomic_inc(&session->peer->nr_mappings);
	vgpu_control_due(session->peer);
}

static void mapping_remove(struct vgpu_session *session, struct vgpu_mapping *mapping)
{
	rb_erase(&mapping->node, &session->mappings);
	session->nr_mappings--;
	atomic_dec(&session->peer->nr_mappings);
}

/* Take the mapping out of its window. @tell: true if the guest has to be notified. */
static void mapping_unbind(struct vgpu_mapping *mapping, bool tell)
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
static void mapping_free(struct vgpu_session *session, struct vgpu_mapping *mapping, bool tell)
{
	mapping_unbind(mapping, tell);
	vgpu_extent_put(session->peer, mapping->space, mapping->extent);
	/* The file keeps the space's address_space alive, so the space is put before the file. */
	vgpu_space_put(session->peer, mapping->space);
	fput(mapping->file);
	if (mapping->theirs)
		fput(mapping->theirs);
	kfree(mapping);
}

/*
 * Reduce [addr, end) to its overlap with the first mapping in it. Return: false if there is
 * none.
 */
static bool mapping_overlap(struct vgpu_session *session, u64 *addr, u64 *end)
{
	struct vgpu_mapping *mapping = mapping_find(session, *addr);

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
static void mapping_cut(struct vgpu_session *session, u64 addr, u64 end,
			struct vgpu_mapping **spare)
{
	struct vgpu_mapping *mapping = mapping_find(session, addr);
	u64 old_addr = mapping->addr, old_end = mapping->addr + mapping->len;

	mapping_uncharge(session->peer, end - addr);
	mapping_remove(session, mapping);
	if (addr > old_addr && end < old_end) {
		struct vgpu_mapping *upper = *spare;

		*spare = NULL;
		upper->addr = end;
		upper->len = old_end - end;
		upper->file = get_file(mapping->file);
		if (mapping->theirs)
			upper->theirs = get_file(mapping->theirs);
		/* The space is known already, so nothing is allocated. */
		upper->space = vgpu_space_get(session->peer, mapping->space->mapping);
		upper->extent = vgpu_extent_get(session->peer, mapping->extent);
		upper->binding = mapping->binding;
		if (upper->binding) {
			vgpu_binding_get(upper->binding);
			upper->binding->users++;
		}
		mapping_insert(session, upper);
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
	mapping_insert(session, mapping);
}

void vgpu_mapping_drop_all(struct vgpu_session *session)
{
	struct vgpu_mapping *mapping;
	struct rb_node *node;

	mutex_lock(&session->map_lock);
	while ((node = rb_first(&session->mappings))) {
		mapping = rb_entry(node, struct vgpu_mapping, node);
		mapping_uncharge(session->peer, mapping->len);
		mapping_remove(session, mapping);
		mapping_free(session, mapping, true);
	}
	mutex_unlock(&session->map_lock);
}

/* --- unmaps --------------------------------------------------------------- */

static int mapping_unmap(struct vgpu_session *session, struct file *shadow, u64 addr, u64 end)
{
	struct vgpu_mapping *spare = NULL;
	int ret = 0;

	while (!ret) {
		u64 from = addr, to = end;

		if (!mapping_overlap(session, &from, &to))
			break;
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

int vgpu_mapping_apply_unmaps(struct vgpu_session *session, struct file *shadow, u64 seq)
{
	struct vgpu_unmap_req *req;
	int ret = 0;

	if (mutex_lock_killable(&session->map_lock))
		return -EINTR;
	/* Only the holder of map_lock removes a list entry, after the unmap is applied. */
	while (!ret && (req = vgpu_unmap_first(session, seq))) {
		ret = mapping_unmap(session, shadow, req->addr, req->addr + req->len);
		vgpu_unmap_remove(session, req);
	}
	mutex_unlock(&session->map_lock);
	if (ret) {
		/* The old mapping may still be there, so this shadow cannot be used any more. */
		vgpu_session_end(session);
		return -ENODEV;
	}
	wake_up_all(&session->peer->wait);
	return 0;
}

/* --- calls ---------------------------------------------------------------- */

/* Check that only demand pages and earlier mappings are at [addr, end). */
static bool mapping_range_free(struct vgpu_session *session, u64 addr, u64 end)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct vgpu_mapping *mapping;
	bool ok = true;

	/* The reply of a task that is killed here is not sent, so any result will do. */
	if (mmap_read_lock_killable(mm))
		return false;
	while (ok && addr < end) {
		vma = find_vma(mm, addr);
		ok = vma && vma->vm_start <= addr;
		if (ok && !vgpu_demand_vma(session, vma)) {
			mapping = mapping_find(session, addr);
			ok = mapping && mapping->addr <= addr;
		}
		if (ok)
			addr = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return ok;
}

bool vgpu_mapping_vacant_locked(struct vgpu_session *session, u64 addr, u64 end)
{
	u64 from = addr, to = end;

	return !mapping_overlap(session, &from, &to) && mapping_range_free(session, addr, end);
}

int vgpu_mapping_place(struct vgpu_hcall *call, u64 addr, u64 len)
{
	struct vgpu_lane *lane = call->lane;
	struct vgpu_session *session = lane->session;
	bool broken = false;
	unsigned long at;
	int ret = 0;

	if (mutex_lock_killable(&session->map_lock))
		return -EINTR;
	if (!vgpu_mapping_vacant_locked(session, addr, addr + len)) {
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
		vgpu_session_end(session);
	return ret;
}

void vgpu_mapping_displace(struct vgpu_lane *lane, u64 addr, u64 len)
{
	struct vgpu_session *session = lane->session;
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
	vgpu_session_end(session);
}

static u32 mapping_cache(pgprot_t prot)
{
	const u64 mask = _PAGE_CACHE_MASK;
	u64 cache = pgprot_val(prot) & mask;

	if (!cache)
		return VGPU_CACHE_WB;
	if (cache == (pgprot_val(pgprot_writecombine(__pgprot(0))) & mask))
		return VGPU_CACHE_WC;
	return VGPU_CACHE_UC;
}

static u32 mapping_flags(const struct vm_area_struct *vma)
{
	static const struct {
		unsigned long vm;
		u32 wire;
	} flags[] = {
		{ VM_READ, VGPU_MAP_READ },
		{ VM_WRITE, VGPU_MAP_WRITE },
		{ VM_MAYREAD, VGPU_MAP_MAYREAD },
		{ VM_MAYWRITE, VGPU_MAP_MAYWRITE },
		{ VM_SHARED, VGPU_MAP_SHARED },
		{ VM_IO, VGPU_MAP_IO },
		{ VM_PFNMAP, VGPU_MAP_PFNMAP },
		{ VM_DONTCOPY, VGPU_MAP_DONTCOPY },
		{ VM_DONTEXPAND, VGPU_MAP_DONTEXPAND },
		{ VM_DONTDUMP, VGPU_MAP_DONTDUMP },
	};
	unsigned int i;
	u32 ret = 0;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (vma->vm_flags & flags[i].vm)
			ret |= flags[i].wire;
	if (vma->vm_ops && vma->vm_ops->access)
		ret |= VGPU_MAP_ACCESS;
	return ret;
}

/* Find out which memory the mapping shows, and put the answer into the reply. */
static int mapping_identify(struct vgpu_hcall *call, struct vgpu_mapping *mapping,
			    const void *data, u64 offset)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	int ret = -ENOMEM;

	mapping->space = vgpu_space_get(peer, mapping->file->f_mapping);
	if (!mapping->space)
		goto err_file;
	mapping->extent = vgpu_extent_add(peer, mapping->space, mapping->file, data, offset,
					  mapping->len);
	if (IS_ERR(mapping->extent)) {
		ret = PTR_ERR(mapping->extent);
		goto err_space;
	}
	call->out.mmap.space = cpu_to_le64(mapping->space->id);
	call->out.mmap.offset = cpu_to_le64(vgpu_extent_offset(mapping->extent, offset));
	return 0;

err_space:
	vgpu_space_put(peer, mapping->space);
err_file:
	fput(mapping->file);
	return ret;
}

/* Fill @place with the part of the VMA that can be bound. It stays as it is if none can. */
static void mapping_place(const struct vm_area_struct *vma, u64 addr, u64 len,
			  struct vgpu_binding_place *place)
{
	/* The pages of a private mapping are the process's own. */
	if (!(vma->vm_flags & VM_SHARED))
		return;
	place->addr = addr;
	place->len = len;
	place->pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	place->file = vma->vm_file;
	place->writable = vma->vm_flags & VM_WRITE;
	place->prot = vma->vm_page_prot;
}

/* Fill in @mapping, the reply and @place from the VMA that the driver has made of [addr, end). */
static int mapping_examine(struct vgpu_hcall *call, struct vgpu_mapping *mapping, u64 addr,
			   u64 end, struct vgpu_binding_place *place)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	const void *data;
	u64 offset;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = find_vma(mm, addr);
	/*
	 * The VMA may have been merged with its neighbours, and another thread of the shadow
	 * may have mapped something else here. A reference of the shadow's own file would never
	 * be dropped: that file holds the session, which holds the mapping.
	 */
	if (!vma || vma->vm_start > addr || vma->vm_end < end || !vma->vm_file ||
	    vma->vm_file->f_op == call->lane->shadow->f_op) {
		mmap_read_unlock(mm);
		return -EIO;
	}
	mapping->addr = addr;
	mapping->len = end - addr;
	mapping->file = get_file(vma->vm_file);
	data = vma->vm_private_data;
	offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) + addr - vma->vm_start;
	mapping_place(vma, addr, mapping->len, place);
	call->out.mmap.flags = cpu_to_le32(mapping_flags(vma));
	call->out.mmap.cache = cpu_to_le32(mapping_cache(vma->vm_page_prot));
	mmap_read_unlock(mm);
	return mapping_identify(call, mapping, data, offset);
}

/* Bind the mapping in the guest's window, if the guest wants that; else it is in copy mode. */
static void mapping_bind_new(struct vgpu_hcall *call, struct vgpu_mapping *mapping,
			     const struct vgpu_binding_place *place)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	struct vgpu_binding *binding;

	if (!args->window || !place->len)
		return;
	binding = vgpu_binding_make(call->lane->session->peer, le64_to_cpu(args->window),
				    le64_to_cpu(args->window_offset), place);
	if (IS_ERR(binding))
		return;
	mapping->binding = binding;
}

/*
 * Ask the driver for the first page. If the window cannot show it, the mapping is in copy mode
 * from the beginning. Context: no locks are held, as the driver is asked.
 */
static void mapping_probe(struct vgpu_hcall *call, struct vgpu_binding *binding)
{
	if (vgpu_binding_probe(binding, VGPU_PROBE_MMAP)) {
		/* The mapping keeps the binding, as it keeps one that the guest has ended. */
		vgpu_binding_end(binding, false);
		return;
	}
	call->out.mmap.cache = cpu_to_le32(mapping_cache(binding->prot));
	call->out.mmap.flags |= cpu_to_le32(VGPU_MAP_WINDOW);
}

/*
 * Map @file at [addr, end). @broken: out: true if the range does not show what it should and
 * cannot be repaired. Context: map_lock is held.
 */
static s64 mapping_map_locked(struct vgpu_hcall *call, struct file *file,
			      struct vgpu_mapping *mapping, u64 addr, u64 end, bool *broken)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	struct vgpu_session *session = call->lane->session;
	struct file *shadow = call->lane->shadow;
	struct vgpu_binding_place place = {
		.seq = le64_to_cpu(call->view.call->control_seq),
	};
	unsigned long at;
	int ret;

	if (!mapping_range_free(session, addr, end))
		return vgpu_call_refuse(call, -EINVAL);
	/* Earlier mappings in the range end in any case: MAP_FIXED removes them first. */
	ret = mapping_unmap(session, shadow, addr, end);
	if (ret) {
		*broken = true;
		return vgpu_call_refuse(call, ret);
	}
	at = vm_mmap(file, addr, end - addr,
		     le32_to_cpu(args->prot) & (PROT_READ | PROT_WRITE),
		     le32_to_cpu(args->flags) | MAP_FIXED, le64_to_cpu(args->offset));
	ret = IS_ERR_VALUE(at) ? (int)at : mapping_examine(call, mapping, addr, end, &place);
	if (!ret) {
		if (file != call->object->file)
			mapping->theirs = get_file(call->object->file);
		mapping_bind_new(call, mapping, &place);
		mapping_insert(session, mapping);
		return 0;
	}
	/* The driver's refusal leaves a hole. */
	*broken = vgpu_demand_cover(session, shadow, addr, end - addr);
	return ret;
}

/*
 * Check whether the range overlaps the shadow's arguments or environment. /proc/PID/cmdline
 * lets everybody read at their address; where a device is mapped, __access_remote_vm() calls
 * the driver's ->access. That of release 595 of NVIDIA's driver follows a NULL pointer.
 */
static bool mapping_over_args(u64 addr, u64 end)
{
	struct mm_struct *mm = current->mm;
	bool over;

	spin_lock(&mm->arg_lock);
	over = addr < PAGE_ALIGN(max(mm->arg_end, mm->env_end)) &&
	       end > (mm->arg_start & PAGE_MASK);
	spin_unlock(&mm->arg_lock);
	return over;
}

s64 vgpu_mapping_mmap(struct vgpu_hcall *call)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	struct vgpu_session *session = call->lane->session;
	struct vgpu_peer *peer = session->peer;
	u64 addr = le64_to_cpu(args->addr);
	u64 len = le64_to_cpu(args->len);
	struct vgpu_binding *binding = NULL;
	struct vgpu_mapping *mapping;
	bool broken = false;
	struct file *file;
	s64 ret;

	/* The guest will give the range of the window back, whatever becomes of this call. */
	if (args->window)
		vgpu_control_due(peer);
	if (addr >= TASK_SIZE_MAX || len > TASK_SIZE_MAX - addr ||
	    vgpu_agent_in_reserved(peer->agent, addr, len) || mapping_over_args(addr, addr + len))
		return vgpu_call_refuse(call, -EINVAL);
	if (!mapping_charge(peer, len))
		return vgpu_call_refuse(call, -ENOMEM);
	/* The limit is checked again under map_lock. This check spares the driver useless work. */
	if (READ_ONCE(session->nr_mappings) >= peer->limits.mappings) {
		ret = vgpu_call_refuse(call, -ENOMEM);
		goto err_uncharge;
	}
	file = vgpu_owner_file(call);
	if (IS_ERR(file)) {
		vgpu_owner_done(call, file);
		ret = vgpu_call_refuse(call, PTR_ERR(file));
		goto err_uncharge;
	}
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping) {
		ret = vgpu_call_refuse(call, -ENOMEM);
		goto err_file;
	}
	if (mutex_lock_killable(&session->map_lock)) {
		ret = vgpu_call_refuse(call, -EINTR);
		goto err_mapping;
	}
	if (session->nr_mappings >= peer->limits.mappings)
		ret = vgpu_call_refuse(call, -ENOMEM);
	else
		ret = mapping_map_locked(call, file, mapping, addr, addr + len, &broken);
	if (!ret && mapping->binding) {
		binding = mapping->binding;
		vgpu_binding_get(binding);
	}
	mutex_unlock(&session->map_lock);
	if (broken)
		vgpu_session_end(session);
	if (ret) {
		memset(&call->out, 0, sizeof(call->out));
		goto err_mapping;
	}
	vgpu_owner_done(call, file);
	fput(file);
	if (binding) {
		mapping_probe(call, binding);
		vgpu_binding_put(binding);
	}
	return 0;

err_mapping:
	kfree(mapping);
err_file:
	vgpu_owner_done(call, file);
	fput(file);
err_uncharge:
	mapping_uncharge(peer, len);
	return ret;
}

/*
 * Bind the mapping that a BIND call names. Context: map_lock is held.
 * Return: the binding with a reference, or an ERR_PTR().
 */
static struct vgpu_binding *mapping_bind_locked(struct vgpu_session *session,
						const struct vgpu_call *msg)
{
	const struct vgpu_args_bind *args = &msg->args.bind;
	u64 addr = le64_to_cpu(args->addr), end = addr + le64_to_cpu(args->len);
	struct vgpu_mapping *mapping = mapping_find(session, addr);
	struct vgpu_binding_place place = { .seq = le64_to_cpu(msg->control_seq) };
	struct mm_struct *mm = current->mm;
	struct vgpu_binding *binding;
	struct vm_area_struct *vma;

	if (!mapping || mapping->addr != addr || mapping->addr + mapping->len != end)
		return ERR_PTR(-EINVAL);
	/* A binding that has ended, by UNBIND for example, is replaced. */
	if (mapping->binding && !READ_ONCE(mapping->binding->gone))
		return ERR_PTR(-EBUSY);
	if (mmap_read_lock_killable(mm))
		return ERR_PTR(-EINTR);
	vma = vma_lookup(mm, addr);
	if (vma && vma->vm_end >= end && vma->vm_file == mapping->file)
		mapping_place(vma, addr, end - addr, &place);
	mmap_read_unlock(mm);
	if (!place.len)
		return ERR_PTR(-EINVAL);
	binding = vgpu_binding_make(session->peer, le64_to_cpu(args->window),
				    le64_to_cpu(args->window_offset), &place);
	if (IS_ERR(binding))
		return binding;
	mapping_unbind(mapping, false);
	mapping->binding = binding;
	vgpu_binding_get(binding);
	return binding;
}

s64 vgpu_mapping_bind(struct vgpu_hcall *call)
{
	struct vgpu_session *session = call->lane->session;
	struct vgpu_binding *binding;
	int ret;

	/* The guest will give the range back, as in vgpu_mapping_mmap(). */
	vgpu_control_due(session->peer);
	/*
	 * The wait is interruptible: a guest that gives the call up does not want the binding
	 * any more.
	 */
	if (mutex_lock_interruptible(&session->map_lock))
		return -EINTR;
	binding = mapping_bind_locked(session, call->view.call);
	mutex_unlock(&session->map_lock);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	ret = vgpu_binding_probe(binding, VGPU_PROBE_BIND);
	if (ret)
		vgpu_binding_end(binding, false);
	else
		call->out.bind.cache = cpu_to_le32(mapping_cache(binding->prot));
	vgpu_binding_put(binding);
	return ret;
}

/* Return the page protection that the kernel derives from @flags. */
static u64 mapping_prot(const struct vm_area_struct *vma, unsigned long flags)
{
	/* The driver wants to be notified of the first write to a page. */
	if (vma->vm_ops && (vma->vm_ops->page_mkwrite || vma->vm_ops->pfn_mkwrite))
		flags &= ~VM_SHARED;
	return pgprot_val(vm_get_page_prot(flags));
}

/*
 * Make a VMA writable as mprotect() does, which modules cannot call. PTEs that are mapped for
 * reading become writable when they are written to. PTEs of PROT_NONE would stay as they are,
 * and each access would be retried without end.
 */
static int mapping_widen(struct vm_area_struct *vma)
{
	unsigned long flags = vma->vm_flags | VM_WRITE;
	u64 before = mapping_prot(vma, vma->vm_flags), now = mapping_prot(vma, flags);
	int ret = 0;

	if (vma->vm_flags & VM_WRITE)
		return 0;
	/*
	 * Writable pages of a private mapping would be the process's own, and would be
	 * accounted.
	 */
	if ((vma->vm_flags & (VM_READ | VM_MAYWRITE | VM_SHARED)) !=
	    (VM_READ | VM_MAYWRITE | VM_SHARED))
		return -EACCES;
	if (vma->vm_ops && vma->vm_ops->mprotect)
		ret = vma->vm_ops->mprotect(vma, vma->vm_start, vma->vm_end, flags);
	if (ret)
		return ret;
	vm_flags_set(vma, VM_WRITE);
	/* The cache attribute stays, as the driver has chosen it. */
	vma->vm_page_prot = __pgprot((pgprot_val(vma->vm_page_prot) & ~(before & ~now)) |
				     (now & ~before));
	return 0;
}

/*
 * Make the VMAs of [addr, end) writable, where @mapping is. A VMA that was merged with a
 * neighbour, of the same file, becomes writable as a whole: the file allows the same there.
 */
static int mapping_widen_range(struct vgpu_mapping *mapping, u64 addr, u64 end)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = 0;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	for (; !ret && addr < end; addr = vma->vm_end) {
		vma = vma_lookup(mm, addr);
		if (!vma || vma->vm_file != mapping->file) {
			ret = -EINVAL;
			break;
		}
		ret = mapping_widen(vma);
	}
	mmap_write_unlock(mm);
	return ret;
}

/* Run a PROTECT call: the program may write to a mapping that it could only read before. */
s64 vgpu_mapping_protect(struct vgpu_hcall *call)
{
	const struct vgpu_args_protect *args = &call->view.call->args.protect;
	struct vgpu_session *session = call->lane->session;
	u64 addr = le64_to_cpu(args->addr), end = addr + le64_to_cpu(args->len);
	struct vgpu_mapping *mapping;
	int ret = 0;

	if (mutex_lock_killable(&session->map_lock))
		return vgpu_call_refuse(call, -EINTR);
	while (!ret && addr < end) {
		mapping = mapping_find(session, addr);
		if (!mapping || mapping->addr >= end)
			break;
		addr = max(addr, mapping->addr);
		ret = mapping_widen_range(mapping, addr, min(end, mapping->addr + mapping->len));
		if (!ret && mapping->binding)
			vgpu_binding_widen(mapping->binding);
		addr = mapping->addr + mapping->len;
	}
	mutex_unlock(&session->map_lock);
	return ret;
}

/*
 * Measure how far mappings cover the range without a gap.
 * Return: number of bytes from @addr on, at most @len; -EINTR: another lane holds map_lock, for
 * as long as a driver's mmap takes, and a signal ended the wait.
 */
static s64 mapping_covered(struct vgpu_session *session, u64 addr, u64 len)
{
	u64 pos = addr, end = addr + len;
	struct vgpu_mapping *mapping;

	if (mutex_lock_interruptible(&session->map_lock))
		return -EINTR;
	while (pos < end) {
		mapping = mapping_find(session, pos);
		if (!mapping || mapping->addr > pos)
			break;
		pos = min(end, mapping->addr + mapping->len);
	}
	mutex_unlock(&session->map_lock);
	return pos - addr;
}

/*
 * Zap what windows show of [addr, end), after the driver has provided the pages for READ_PAGES:
 * the next fault in a window finds the pages of the driver.
 * Return: 0; -EINTR, as for mapping_covered(): the guest has to ask again.
 */
static int mapping_show_again(struct vgpu_session *session, u64 addr, u64 end)
{
	struct vgpu_mapping *mapping;
	struct vgpu_binding *binding;
	u64 first;

	if (mutex_lock_interruptible(&session->map_lock))
		return -EINTR;
	while (addr < end) {
		mapping = mapping_find(session, addr);
		if (!mapping || mapping->addr >= end)
			break;
		first = max(addr, mapping->addr);
		addr = min(end, mapping->addr + mapping->len);
		binding = mapping->binding;
		/* The range of a binding that has ended may be bound to something else by now. */
		if (binding && !READ_ONCE(binding->gone))
			vgpu_window_zap(binding->window,
					binding->offset + (first - binding->addr), addr - first);
	}
	mutex_unlock(&session->map_lock);
	return 0;
}

/*
 * Resolve a fault; a signal ends the wait. A driver's fault handler that a signal
 * interrupts asks for a retry (ttm_bo_vm_fault()). copy_from_user() would retry until the
 * driver is ready, also in a task that is to end. The signal here comes from a guest that does
 * not wait any more, or from the end of the shadow.
 */
static int mapping_fault(u64 addr, bool write)
{
	struct mm_struct *mm = current->mm;
	bool unlocked = false;
	int ret;

	if (signal_pending(current) || mmap_read_lock_killable(mm))
		return -EINTR;
	ret = fixup_user_fault(mm, addr, write ? FAULT_FLAG_WRITE : 0, &unlocked);
	mmap_read_unlock(mm);
	return ret;
}

/*
 * Read whole pages. An attempt to copy finds out, at some cost, whether the first page needs a
 * fault. The pages after it then mostly need one, too, so all of them are resolved before the
 * next attempt.
 *
 * Return: number of bytes, less than @len if a driver refuses a page or shows few pages at
 * once; or an error of the first page.
 */
static s64 mapping_read(u64 addr, void *bytes, u64 len)
{
	bool tried = false;
	u64 done;
	int ret;

	while (copy_from_user_nofault(bytes, (const void __user *)addr, len)) {
		/*
		 * The second attempt has failed, too: the fault of one of these pages may have
		 * displaced another one.
		 */
		if (tried)
			len = PAGE_SIZE;
		tried = true;
		for (done = 0; done < len; done += PAGE_SIZE) {
			ret = mapping_fault(addr + done, false);
			if (ret && (!done || ret == -EINTR))
				return ret;
			if (ret)
				len = done;
		}
	}
	return len;
}

static int mapping_put(void *arg, u64 addr, const u8 *bytes, u32 len)
{
	u32 part;
	int ret;

	for (; len; len -= part, addr += part, bytes += part) {
		part = min_t(u32, len, PAGE_SIZE - offset_in_page(addr));
		while (copy_to_user_nofault((void __user *)addr, bytes, part)) {
			ret = mapping_fault(addr, true);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/*
 * Run a READ_PAGES call. A mapping that is unmapped while it is read leaves demand pages, whose
 * faults fail in a call of class mm.
 */
s64 vgpu_mapping_read_pages(struct vgpu_hcall *call)
{
	const struct vgpu_args_pages *args = &call->view.call->args.pages;
	u64 addr = le64_to_cpu(args->addr);
	s64 len, part, step = MAPPING_READ, done = 0, ret;

	/* The guest knows from VGPU_MAP_ACCESS what such a call would find out. */
	if (le16_to_cpu(call->view.call->flags) & VGPU_CALL_DEBUG)
		return vgpu_call_refuse(call, -EOPNOTSUPP);
	len = mapping_covered(call->lane->session, addr, le64_to_cpu(args->len));
	if (len <= 0)
		return len ? vgpu_call_refuse(call, len) : -EFAULT;
	ret = vgpu_call_alloc_data(call, len);
	while (ret >= 0 && done < len) {
		part = min_t(s64, len - done, step);
		ret = mapping_read(addr + done, call->data + done, part);
		/* The driver may show only few pages at once: read single pages from now on. */
		if (ret < part)
			step = PAGE_SIZE;
		if (ret > 0)
			done += ret;
	}
	if (done)
		ret = mapping_show_again(call->lane->session, addr, addr + done);
	if (!done || ret) {
		/* Pages that the driver did not refuse may be asked for again. */
		return ret == -EINTR || ret == -ENOMEM ? vgpu_call_refuse(call, ret) : -EFAULT;
	}
	call->data_len = done;
	return done;
}

/* Return the number of bytes of the shadow's memory that a range may change. */
static u32 mapping_range_len(const struct vgpu_range *range)
{
	return le32_to_cpu(range->flags) & VGPU_RANGE_MASK ? PAGE_SIZE : le32_to_cpu(range->len);
}

/*
 * Run a WRITE_PAGES call. The ranges belong to different buffers, so a range that cannot be
 * written is skipped: either the driver has revoked its memory, and natively the program's store
 * would have failed as well, or the guest is wrong.
 */
s64 vgpu_mapping_write_pages(struct vgpu_hcall *call)
{
	const struct vgpu_seg *segs = call->view.segs;
	const struct vgpu_range *range = (const void *)call->view.data;
	u32 nr = le32_to_cpu(segs[0].len) / sizeof(*range);
	const u8 *data = call->view.data + vgpu_wire_pad(le32_to_cpu(segs[0].len));
	u64 done = 0;

	for (; nr; nr--, range++) {
		u64 addr = le64_to_cpu(range->addr);
		u32 len = mapping_range_len(range);
		s64 ret = mapping_covered(call->lane->session, addr, len);

		if (ret == len)
			ret = vgpu_wire_range_apply(range, data, mapping_put, NULL);
		else if (ret >= 0)
			ret = -EFAULT;
		/* The driver has refused nothing, so the guest may send all of it again. */
		if (ret == -EINTR || ret == -ENOMEM)
			return vgpu_call_refuse(call, ret);
		if (!ret)
			done += le32_to_cpu(range->len);
		data += le32_to_cpu(range->len);
	}
	return done ?: -EFAULT;
}

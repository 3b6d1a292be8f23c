// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making device mappings, and making them writable: the shadow maps the real file at the guest's
 * own address, and binds the mapping in the guest's window. Calls here are of class mm: they never
 * ask the guest anything, because the guest may hold the program's mmap lock.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "compat.h"
#include "memory/demand.h"
#include "memory/extent.h"
#include "memory/mapping.h"
#include "memory/mmap.h"
#include "memory/owner.h"
#include "object/object.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/peer.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/session.h"
#include "window/binding.h"
#include "window/touch.h"

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
static int mapping_identify(struct vgpuh_call *call, struct vgpuh_mapping *mapping,
			    const void *data, u64 offset)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	int ret = -ENOMEM;

	mapping->space = vgpuh_space_get(peer, mapping->file->f_mapping);
	if (!mapping->space)
		goto err_file;
	mapping->extent = vgpu_extent_add(peer, mapping->space, mapping->file, data, offset,
					  mapping->len);
	if (IS_ERR(mapping->extent)) {
		ret = PTR_ERR(mapping->extent);
		goto err_space;
	}
	call->reply.out.mmap.space = cpu_to_le64(mapping->space->id);
	call->reply.out.mmap.offset = cpu_to_le64(vgpu_extent_offset(mapping->extent, offset));
	return 0;

err_space:
	vgpuh_space_put(peer, mapping->space);
err_file:
	fput(mapping->file);
	return ret;
}

/* Fill @place with the range, if a window can show the VMA; else leave @place unchanged. */
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
static int mapping_examine(struct vgpuh_call *call, struct vgpuh_mapping *mapping, u64 addr,
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
	call->reply.out.mmap.flags = cpu_to_le32(mapping_flags(vma));
	call->reply.out.mmap.cache = cpu_to_le32(mapping_cache(vma->vm_page_prot));
	mmap_read_unlock(mm);
	return mapping_identify(call, mapping, data, offset);
}

/* Bind the mapping in the guest's window, if the guest wants that; else it is in copy mode. */
static void mapping_bind_new(struct vgpuh_call *call, struct vgpuh_mapping *mapping,
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
static void mapping_probe(struct vgpuh_call *call, struct vgpu_binding *binding)
{
	if (vgpu_binding_probe(binding, VGPU_PROBE_MMAP)) {
		/* The mapping keeps the binding, as it keeps one that the guest has ended. */
		vgpu_binding_end(binding, false);
		return;
	}
	call->reply.out.mmap.cache = cpu_to_le32(mapping_cache(binding->prot));
	call->reply.out.mmap.flags |= cpu_to_le32(VGPU_MAP_WINDOW);
}

/*
 * Map @file at [addr, end). @broken: out: true if the range does not show what it should and
 * cannot be repaired. Context: map_lock is held.
 */
static s64 mapping_map_locked(struct vgpuh_call *call, struct file *file,
			      struct vgpuh_mapping *mapping, u64 addr, u64 end, bool *broken)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	struct vgpuh_session *session = call->lane->session;
	struct file *shadow = call->lane->shadow;
	struct vgpu_binding_place place = {
		.seq = le64_to_cpu(call->view.call->control_seq),
	};
	unsigned long at;
	int ret;

	if (!vgpuh_mapping_range_free(session, addr, end))
		return vgpuh_call_refuse(call, -EINVAL);
	/* Earlier mappings in the range end in any case: MAP_FIXED removes them first. */
	ret = vgpuh_mapping_unmap(session, shadow, addr, end);
	if (ret) {
		*broken = true;
		return vgpuh_call_refuse(call, ret);
	}
	at = vm_mmap(file, addr, end - addr,
		     le32_to_cpu(args->prot) & (PROT_READ | PROT_WRITE),
		     le32_to_cpu(args->flags) | MAP_FIXED, le64_to_cpu(args->offset));
	ret = IS_ERR_VALUE(at) ? (int)at : mapping_examine(call, mapping, addr, end, &place);
	if (!ret) {
		if (file != call->object->file)
			mapping->theirs = get_file(call->object->file);
		mapping_bind_new(call, mapping, &place);
		vgpuh_mapping_insert(session, mapping);
		return 0;
	}
	/* The driver's refusal leaves a hole. */
	*broken = vgpu_demand_cover(session, shadow, addr, end - addr);
	return ret;
}

/*
 * No device is mapped over the arguments: /proc/PID/cmdline lets everybody read at their address,
 * and where a device is mapped, __access_remote_vm() calls the driver's ->access. That of release
 * 595 of NVIDIA's driver follows a NULL pointer.
 */
bool vgpuh_mapping_over_args(u64 addr, u64 end)
{
	struct mm_struct *mm = current->mm;
	bool over;

	spin_lock(&mm->arg_lock);
	over = addr < PAGE_ALIGN(max(mm->arg_end, mm->env_end)) &&
	       end > (mm->arg_start & PAGE_MASK);
	spin_unlock(&mm->arg_lock);
	return over;
}

/* Check whether all sessions of the peer together have as many mappings as they may have. */
static bool mappings_full(struct vgpu_peer *peer)
{
	u32 most = READ_ONCE(peer->bounds.all_mappings);

	return most && atomic_read(&peer->memory.nr_mappings) >= most;
}

s64 vgpuh_mapping_mmap(struct vgpuh_call *call)
{
	const struct vgpu_args_mmap *args = &call->view.call->args.mmap;
	struct vgpuh_session *session = call->lane->session;
	struct vgpu_peer *peer = session->peer;
	u64 addr = le64_to_cpu(args->addr);
	u64 len = le64_to_cpu(args->len);
	struct vgpu_binding *binding = NULL;
	struct vgpuh_mapping *mapping;
	bool broken = false;
	struct file *file;
	s64 ret;

	/* The guest will give the range of the window back, whatever becomes of this call. */
	if (args->window)
		vgpuh_control_due(peer);
	if (addr >= TASK_SIZE_MAX || len > TASK_SIZE_MAX - addr ||
	    vgpu_agent_in_reserved(peer->agent, addr, len) ||
	    vgpuh_mapping_over_args(addr, addr + len))
		return vgpuh_call_refuse(call, -EINVAL);
	if (!vgpuh_mapping_charge(peer, len))
		return vgpuh_call_refuse(call, -ENOMEM);
	/*
	 * The limit of the session is checked again under map_lock. This check spares the driver
	 * useless work. Sessions that map at the same time may exceed the limit of all by one each.
	 */
	if (READ_ONCE(session->nr_mappings) >= READ_ONCE(peer->limits.mappings) ||
	    mappings_full(peer)) {
		ret = vgpuh_call_refuse(call, -ENOMEM);
		goto err_uncharge;
	}
	file = vgpu_owner_file(call);
	if (IS_ERR(file)) {
		vgpu_owner_done(call, file);
		ret = vgpuh_call_refuse(call, PTR_ERR(file));
		goto err_uncharge;
	}
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping) {
		ret = vgpuh_call_refuse(call, -ENOMEM);
		goto err_file;
	}
	if (mutex_lock_killable(&session->map_lock)) {
		ret = vgpuh_call_refuse(call, -EINTR);
		goto err_mapping;
	}
	if (session->nr_mappings >= READ_ONCE(peer->limits.mappings))
		ret = vgpuh_call_refuse(call, -ENOMEM);
	else
		ret = mapping_map_locked(call, file, mapping, addr, addr + len, &broken);
	if (!ret && mapping->binding) {
		binding = mapping->binding;
		vgpu_binding_get(binding);
	}
	mutex_unlock(&session->map_lock);
	if (broken)
		vgpuh_session_end(session);
	if (ret) {
		memset(&call->reply.out, 0, sizeof(call->reply.out));
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
	vgpuh_mapping_uncharge(peer, len);
	return ret;
}

/*
 * Bind the mapping that a BIND call names. Context: map_lock is held.
 * Return: the binding with a reference, or an ERR_PTR().
 */
static struct vgpu_binding *mapping_bind_locked(struct vgpuh_session *session,
						const struct vgpu_call *msg)
{
	const struct vgpu_args_bind *args = &msg->args.bind;
	u64 addr = le64_to_cpu(args->addr), end = addr + le64_to_cpu(args->len);
	struct vgpuh_mapping *mapping = vgpuh_mapping_find(session, addr);
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
	vgpuh_mapping_unbind(mapping, false);
	mapping->binding = binding;
	vgpu_binding_get(binding);
	return binding;
}

s64 vgpuh_mapping_bind(struct vgpuh_call *call)
{
	struct vgpuh_session *session = call->lane->session;
	struct vgpu_binding *binding;
	int ret;

	/* The guest will give the range back, as in vgpuh_mapping_mmap(). */
	vgpuh_control_due(session->peer);
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
		call->reply.out.bind.cache = cpu_to_le32(mapping_cache(binding->prot));
	vgpu_binding_put(binding);
	return ret;
}

/* --- making mappings writable --------------------------------------------- */

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
 * Make the VMAs of [addr, end), a part of @mapping, writable. A VMA that was merged with a
 * neighbour, of the same file, becomes writable as a whole: the file allows the same there.
 */
static int mapping_widen_range(struct vgpuh_mapping *mapping, u64 addr, u64 end)
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
s64 vgpuh_mapping_protect(struct vgpuh_call *call)
{
	const struct vgpu_args_protect *args = &call->view.call->args.protect;
	struct vgpuh_session *session = call->lane->session;
	u64 addr = le64_to_cpu(args->addr), end = addr + le64_to_cpu(args->len);
	struct vgpuh_mapping *mapping;
	int ret = 0;

	if (mutex_lock_killable(&session->map_lock))
		return vgpuh_call_refuse(call, -EINTR);
	while (!ret && addr < end) {
		mapping = vgpuh_mapping_find(session, addr);
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

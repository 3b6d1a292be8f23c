// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making device mappings writable.
 */
#include <linux/mm.h>

#include "compat.h"
#include "memory/mapping.h"
#include "memory/protect.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/session.h"
#include "window/binding.h"

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

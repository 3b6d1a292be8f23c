// SPDX-License-Identifier: GPL-2.0-only
/*
 * ->access of mappings: a debugger, or whoever else reads and writes another process's memory by
 * ptrace() or /proc/PID/mem, where the core finds no page to do it with. The host's driver is
 * not asked: the bytes are those of the shadow's mapping.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "uapi/linux/vgpu_wire.h"

#include "access.h"
#include "blank.h"
#include "deadline.h"
#include "export.h"
#include "mapping.h"
#include "pages.h"
#include "session.h"
#include "space.h"
#include "wire.h"

/* Natively it is possible: the driver has an operation for it, or its memory is pages. */
static bool access_is_native(const struct vgpu_mapping *mapping)
{
	return (mapping->flags & VGPU_MAP_ACCESS) ||
		!(mapping->flags & (VGPU_MAP_PFNMAP | VGPU_MAP_IO));
}

/*
 * A host without a module learns whether the driver has that operation when somebody wants to use
 * it, as trying may be felt by the device: who then reads a page of it natively would as well.
 */
static void access_ask(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline)
{
	if (!(READ_ONCE(mapping->flags) & VGPU_MAP_ASK) ||
	    !vgpu_pages_have_access(mapping->session, &mapping->export->stats,
				    vgpu_mapping_addr(mapping, pgoff), deadline))
		return;
	spin_lock(&mapping->lock);
	WRITE_ONCE(mapping->flags, (mapping->flags | VGPU_MAP_ACCESS) & ~VGPU_MAP_ASK);
	spin_unlock(&mapping->lock);
}

static s64 access_read(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned int offset, void *buf,
		       unsigned int len, unsigned long deadline)
{
	void *page;
	s64 got;

	/* What the program sees. */
	if (vgpu_space_peek(mapping->space, pgoff, offset, buf, len))
		return 0;
	page = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	got = vgpu_pages_read(mapping->session, &mapping->export->stats,
			      vgpu_mapping_addr(mapping, pgoff), page, PAGE_SIZE, deadline);
	if (got == PAGE_SIZE)
		memcpy(buf, page + offset, len);
	kfree(page);
	if (got < 0)
		return got;
	return got == PAGE_SIZE ? 0 : -EFAULT;
}

/*
 * Nothing that was written to the page before is on its way, to come after what is written now,
 * be it another process's or bytes that wait to be sent again. Return: 0, with the flush claimed;
 * -EINTR, -ETIMEDOUT.
 */
static int access_claim(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline)
{
	struct vgpu_flush *flush = &mapping->session->flush;
	int ret;

	for (;;) {
		ret = vgpu_flush_await_landed(mapping->space, pgoff, flush, deadline);
		if (!ret)
			ret = vgpu_flush_claim(flush, deadline);
		if (ret || !vgpu_flush_is_flying(mapping->space, pgoff, flush))
			return ret;
		vgpu_flush_release(flush);
	}
}

static s64 access_write(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned int offset,
			void *buf, unsigned int len, unsigned long deadline)
{
	struct vgpu_range range = {
		.addr = cpu_to_le64(vgpu_mapping_addr(mapping, pgoff) + offset),
		.len = cpu_to_le32(len),
	};
	struct vgpu_wire_diff diff = { .ranges = &range, .nr = 1, .bytes = buf, .len = len };
	struct vgpu_flush *flush = &mapping->session->flush;
	s64 ret;

	ret = access_claim(mapping, pgoff, deadline);
	if (ret)
		return ret;
	ret = vgpu_pages_write(mapping->session, &mapping->export->stats, &diff, deadline);
	if (!ret)
		vgpu_space_poke(mapping->space, pgoff, offset, buf, len);
	vgpu_flush_release(flush);
	return ret;
}

int vgpu_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len, int write)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	pgoff_t pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	unsigned int offset = offset_in_page(addr);
	/* The lock of somebody's mm is held, as around a fault of the kernel. */
	unsigned long deadline = vgpu_deadline_in(VGPU_MAPPING_FAULT_WAIT);
	s64 ret;

	if (len <= 0 || !vgpu_mapping_covered(mapping, pgoff))
		return -EIO;
	access_ask(mapping, pgoff, deadline);
	if (!access_is_native(mapping))
		return -EIO;
	/* A page that is seen or written here is blank no more. */
	vgpu_blank_forget(mapping);
	len = min_t(unsigned int, len, PAGE_SIZE - offset);
	if (!write)
		ret = access_read(mapping, pgoff, offset, buf, len, deadline);
	/* A private mapping's pages are the process's own, which the core had to have. */
	else if (!(vma->vm_flags & VM_SHARED) || !(mapping->flags & VGPU_MAP_WRITE) ||
		 (!(vma->vm_flags & VM_WRITE) && !(mapping->flags & VGPU_MAP_ACCESS)))
		ret = -EACCES;
	else
		ret = access_write(mapping, pgoff, offset, buf, len, deadline);
	return ret ? -EIO : len;
}

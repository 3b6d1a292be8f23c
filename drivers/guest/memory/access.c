// SPDX-License-Identifier: GPL-2.0-only
/*
 * ->access of mappings: lets a debugger, or any process that uses ptrace() or /proc/PID/mem, read
 * and write a mapping where the core finds no page to do it with. The bytes are those of the cached
 * page or of the shadow's mapping. The ->access of the host's driver is not used for them.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "base/deadline.h"
#include "link/export.h"
#include "link/session.h"
#include "memory/access.h"
#include "memory/blank.h"
#include "memory/flush.h"
#include "memory/mapping.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/state.h"
#include "wire.h"

/* Check whether access works natively: the driver has ->access, or its memory is pages. */
static bool access_is_native(const struct vgpu_mapping *mapping)
{
	return (mapping->flags & VGPU_MAP_ACCESS) ||
		!(mapping->flags & (VGPU_MAP_PFNMAP | VGPU_MAP_IO));
}

/*
 * Ask a host without a module whether the driver has ->access. Such a host finds out only by
 * trying ->access on a page, which the device may notice. So it tries when a debugger wants to read
 * or write such a page, which the device would notice natively as well.
 */
static void access_ask(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline)
{
	if (!(READ_ONCE(mapping->flags) & VGPU_MAP_ASK) ||
	    vgpu_pages_read_vec(mapping->session, &mapping->export->stats,
				vgpu_mapping_addr(mapping, pgoff), NULL, 0, PAGE_SIZE,
				VGPU_CALL_DEBUG, deadline) != PAGE_SIZE)
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

	/* A cached page has the bytes that the program sees. */
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
 * Claim the session's flush while no flight has bytes of the page: bytes that were written before,
 * by another process or in an orphan, must not reach the host after those that are written now.
 * Return: 0: the flush is claimed; -EINTR; -ETIMEDOUT.
 */
static int access_claim(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline)
{
	struct vgpu_flush *flush = &mapping->session->memory->flush;
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
	struct vgpu_flush *flush = &mapping->session->memory->flush;
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
	/* The mmap_lock of some mm is held, so the wait is bounded as in a fault of the kernel. */
	unsigned long deadline = vgpu_deadline_in(VGPU_MAPPING_FAULT_WAIT);
	s64 ret;

	if (len <= 0 || !vgpu_mapping_covered(mapping, pgoff))
		return -EIO;
	access_ask(mapping, pgoff, deadline);
	if (!access_is_native(mapping))
		return -EIO;
	/* No page of the mapping counts as blank once a page is read or written here. */
	vgpu_blank_forget(mapping);
	len = min_t(unsigned int, len, PAGE_SIZE - offset);
	if (!write)
		ret = access_read(mapping, pgoff, offset, buf, len, deadline);
	/* Stores to a private mapping need no ->access: they go to the process's own pages. */
	else if (!(vma->vm_flags & VM_SHARED) || !(mapping->flags & VGPU_MAP_WRITE) ||
		 (!(vma->vm_flags & VM_WRITE) && !(mapping->flags & VGPU_MAP_ACCESS)))
		ret = -EACCES;
	else
		ret = access_write(mapping, pgoff, offset, buf, len, deadline);
	return ret ? -EIO : len;
}

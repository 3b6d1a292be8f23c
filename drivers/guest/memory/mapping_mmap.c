// SPDX-License-Identifier: GPL-2.0-only
/* mmap: see mapping_mmap.h. */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "argument/schema.h"
#include "base/deadline.h"
#include "compat.h"
#include "link/call.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/flush.h"
#include "memory/keep_group.h"
#include "memory/mapping.h"
#include "memory/mapping_fault.h"
#include "memory/mapping_mmap.h"
#include "memory/mapping_span.h"
#include "memory/move_queue.h"
#include "memory/object.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/space_sync.h"
#include "memory/state.h"
#include "memory/window.h"
#include "memory/window_fault.h"
#include "memory/window_range.h"
#include "wire.h"

/* --- access of debuggers --------------------------------------------------------- */

/*
 * The operation ->access lets a debugger, or any process that uses ptrace() or /proc/PID/mem, read
 * and write a mapping where the core finds no struct page. The bytes are those of the cached
 * page or of the shadow's mapping. The ->access of the host's driver is not used for them.
 */

/* Check whether access works natively: the driver has ->access, or its memory has struct pages. */
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

/*
 * vm_ops->access of forwarded files.
 * @vma: VMA of a struct vgpu_mapping
 * @addr: address of the first byte
 * @buf: kernel memory for the bytes
 * @len: number of bytes
 * @write: true to write from @buf, false to read into it
 *
 * Reads or writes up to the end of the page, if a native access to the real mapping would succeed.
 *
 * Context: mmap_lock held for reading; waits for the host, killably, for some seconds at most.
 * Return: number of bytes, or -EIO.
 */
static int mapping_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
			  int write)
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

/* --- VMAs ------------------------------------------------------------------------ */

static void mapping_vma_open(struct vm_area_struct *vma)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	LIST_HEAD(none);

	vgpu_mapping_get(mapping);
	/*
	 * A fork calls ->open of the child's VMA in the parent, and mremap() that of the new VMA
	 * at another address (and closes one of the two afterwards): each covers the range once
	 * more. A split calls it in the VMA's own mm, at the address where the pages were before.
	 */
	if (vma->vm_mm != current->mm ||
	    vma->vm_start != vgpu_mapping_addr(mapping, vma->vm_pgoff))
		vgpu_mapping_spans_count(mapping, vma, 1, &none);
	if (vma->vm_mm != current->mm)
		vgpu_window_fork(mapping, vma);
}

/* Unmap pages that have ended at the host, so that VMAs which still show them fault. */
static void mapping_forget(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t nr)
{
	/*
	 * The lock waits for faults that found the pages covered: they have inserted their PTEs
	 * then, or handed locked pages to the core, for which vgpu_space_leave() waits.
	 */
	down_write(&mapping->mode_lock);
	up_write(&mapping->mode_lock);
	vgpu_space_leave(mapping->space, first, nr);
}

static void mapping_vma_close(struct vm_area_struct *vma)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	struct vgpu_mapping_span *span, *tmp;
	LIST_HEAD(gone);
	bool ended;

	ended = vgpu_mapping_spans_count(mapping, vma, -1, &gone);
	list_for_each_entry_safe(span, tmp, &gone, node) {
		/* VMAs of a child still show the part. */
		if (span->users)
			mapping_forget(mapping, span->first, span->end - span->first);
		vgpu_unmap_range(mapping, span->first, span->end - span->first);
		kfree(span);
	}
	if (ended)
		vgpu_move_alone(mapping);
	vgpu_mapping_put(mapping);
}

/*
 * Refuse mremap(). The shadow's mapping stays where it is, so addresses of a moved VMA would mean
 * nothing to a driver. Libraries that use device memory do not move it.
 */
static int mapping_vma_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

/* Make writable what is left of the mapping in the shadow. Return: 0 or -errno. */
static int mapping_make_writable(struct vgpu_mapping *mapping)
{
	pgoff_t first = mapping->pgoff, nr;
	struct vgpu_guest_call xcall;
	int ret = 0;

	for (; !ret && (nr = vgpu_mapping_next_run(mapping, &first)); first += nr) {
		vgpu_guest_call_init(&xcall, VGPU_OP_PROTECT, 0);
		xcall.flags = VGPU_GUEST_CALL_MM;
		xcall.stats = &mapping->export->stats;
		xcall.msg.args.protect.addr = cpu_to_le64(vgpu_mapping_addr(mapping, first));
		xcall.msg.args.protect.len = cpu_to_le64((u64)nr << PAGE_SHIFT);
		xcall.msg.args.protect.prot = cpu_to_le32(PROT_READ | PROT_WRITE);
		ret = vgpu_call_run(mapping->session, &xcall) ?: vgpu_call_result(&xcall);
		vgpu_guest_call_fini(&xcall);
	}
	return ret;
}

/*
 * Make the shadow's mapping writable before the program's VMA is. The driver has agreed only to
 * the access that mmap() asked for, while the core lets mprotect() add write access.
 */
static int mapping_vma_mprotect(struct vm_area_struct *vma, unsigned long start,
				unsigned long end, unsigned long flags)
{
	struct vgpu_mapping *mapping = vma->vm_private_data;
	int ret;

	if (!(flags & VM_WRITE) || !(flags & VM_SHARED) || (mapping->flags & VGPU_MAP_WRITE))
		return 0;
	ret = mapping_make_writable(mapping);
	if (ret)
		return ret;
	spin_lock(&mapping->lock);
	WRITE_ONCE(mapping->flags, mapping->flags | VGPU_MAP_WRITE);
	spin_unlock(&mapping->lock);
	return 0;
}

static const struct vm_operations_struct mapping_vm_ops = {
	.access = mapping_access,
	.open = mapping_vma_open,
	.close = mapping_vma_close,
	.mremap = mapping_vma_mremap,
	.mprotect = mapping_vma_mprotect,
	.fault = vgpu_mapping_fault,
#ifdef VGPU_HAVE_HUGE
	.huge_fault = vgpu_mapping_huge_fault,
#endif
	.page_mkwrite = vgpu_mapping_page_mkwrite,
	.pfn_mkwrite = vgpu_mapping_pfn_mkwrite,
};

/* --- mmap ------------------------------------------------------------------------ */

static unsigned long mapping_vm_flags(u32 flags)
{
	/* A VMA that grew would show pages that the shadow has not mapped. */
	unsigned long vm_flags = VM_DONTEXPAND;

	if (flags & VGPU_MAP_IO)
		vm_flags |= VM_IO;
	if (flags & VGPU_MAP_DONTCOPY)
		vm_flags |= VM_DONTCOPY;
	if (flags & VGPU_MAP_DONTDUMP)
		vm_flags |= VM_DONTDUMP;
	return vm_flags;
}

/*
 * Ask the shadow to map the file, in the host's window if @range is set and the host can do so.
 * Fills in @mapping. Return: 0 or -errno.
 */
static int mapping_call(struct vgpu_mapping *mapping, struct vgpu_object *object,
			struct vm_area_struct *vma, struct vgpu_window_range *range)
{
	struct vgpu_args_mmap *args;
	struct vgpu_out_mmap out;
	struct vgpu_guest_call xcall;
	u32 prot = 0;
	int ret;

	if (vma->vm_flags & VM_READ)
		prot |= PROT_READ;
	if (vma->vm_flags & VM_WRITE)
		prot |= PROT_WRITE;
	/*
	 * mprotect() may later make a VMA readable that has no access now. The host could not do
	 * that for pages that a driver has mapped before: see mapping_widen() of the host.
	 */
	if (!prot)
		prot = PROT_READ;
	vgpu_guest_call_init(&xcall, VGPU_OP_MMAP, object->id);
	xcall.flags = VGPU_GUEST_CALL_MM;
	xcall.stats = &object->export->stats;
	xcall.file = vma->vm_file;
	args = &xcall.msg.args.mmap;
	args->addr = cpu_to_le64(vma->vm_start);
	args->len = cpu_to_le64(vma->vm_end - vma->vm_start);
	args->offset = cpu_to_le64((u64)vma->vm_pgoff << PAGE_SHIFT);
	args->prot = cpu_to_le32(prot);
	/* A shared mapping of a file that is open for reading only has no VM_SHARED. */
	args->flags = cpu_to_le32(vma->vm_flags & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE);
	if (range) {
		args->window = cpu_to_le64(range->window->id);
		args->window_offset = cpu_to_le64(range->offset);
	}
	vgpu_keep_use(mapping->session, object);
	ret = vgpu_call_run(mapping->session, &xcall) ?: vgpu_call_result(&xcall);
	if (!ret) {
		out = xcall.reply.reply->out.mmap;
		mapping->flags = le32_to_cpu(out.flags);
		mapping->cache = le32_to_cpu(out.cache);
		/* A driver may move the offset, as it moves that of a native VMA. */
		if (le64_to_cpu(out.space) == mapping->space->id)
			mapping->pgoff = le64_to_cpu(out.offset) >> PAGE_SHIFT;
	}
	if (range && (mapping->flags & VGPU_MAP_WINDOW))
		atomic64_inc(&object->export->stats.window_binds);
	if (range && (mapping->flags & VGPU_MAP_WINDOW) && !vgpu_window_attach(range, mapping)) {
		mapping->mode = VGPU_MAPPING_WINDOW;
		mapping->range = range;
	} else if (range) {
		/* The host may still bind the range by a call whose reply does not arrive. */
		vgpu_window_release(range, (mapping->flags & VGPU_MAP_WINDOW) ||
				    (ret && xcall.sent));
	}
	vgpu_guest_call_fini(&xcall);
	return ret;
}

/* Set up the VMA for what it may show: copies or the window. */
static void mapping_show(struct vgpu_mapping *mapping, struct vm_area_struct *vma, bool cow,
			 u64 asked)
{
	vma->vm_ops = &mapping_vm_ops;
	/* The core copies pages of a private mapping, so it needs a struct page of each. */
	if (cow)
		return;
	/*
	 * If the host's mapping has ordinary pages, other processes and kernel code may take
	 * references of these natively, so here they may take references of the copies.
	 */
	if (mapping->flags & VGPU_MAP_PFNMAP)
		vm_flags_set(vma, VM_PFNMAP);
	else if (mapping->session->host->terms.features & VGPU_FEATURE_WINDOW)
		vm_flags_set(vma, VM_MIXEDMAP);
	vgpu_move_add(mapping, asked);
}

/* Check whether an ioctl allowed a copy at this offset of a file of polled memory. */
static bool mapping_may_copy(struct vgpu_object *object, const struct vm_area_struct *vma)
{
	u64 copied = READ_ONCE(object->memory.copied);

	return copied && copied == (u64)vma->vm_pgoff << PAGE_SHIFT;
}

/*
 * Keep mprotect() from adding access. Polled memory, which changes or is looked at without a call,
 * may be a copy, or become one, only while it is mapped for reading only or for writing only.
 */
static void mapping_keep_access(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_READ))
		vm_flags_clear(vma, VM_MAYREAD);
	if (!(vma->vm_flags & VM_WRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
}

int vgpu_mapping_mmap(struct vgpu_object *object, struct vm_area_struct *vma)
{
	struct vgpu_session *session;
	struct vgpu_window_range *range = NULL;
	struct vgpu_mapping *mapping;
	bool cow = (vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE;
	const int polled = vgpu_schema_polled(object->schema);
	u64 asked = vgpu_move_asked(object->host);
	bool blank;
	u64 ends = 0;
	int ret;

	session = vgpu_session_current(object->host, VGPU_SESSION_MM_LOCKED);
	if (IS_ERR(session))
		return PTR_ERR(session);
	/* Hold the shadow before the call: if the session has ended, nothing has to be undone. */
	if (!vgpu_session_hold(session)) {
		ret = -ENODEV;
		goto err_session;
	}
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping) {
		ret = -ENOMEM;
		goto err_hold;
	}
	blank = vgpu_blank_mmap_begin(object, (u64)vma->vm_pgoff << PAGE_SHIFT, &ends);
	/* A former mapping at this address has to be sent, and unmapped in the shadow, first. */
	ret = vgpu_space_flush(session);
	if (ret)
		goto err_mapping;

	kref_init(&mapping->ref);
	spin_lock_init(&mapping->lock);
	INIT_LIST_HEAD(&mapping->spans);
	INIT_LIST_HEAD(&mapping->move.entry);
	INIT_LIST_HEAD(&mapping->move.unit);
	INIT_LIST_HEAD(&mapping->blank.entry);
	init_rwsem(&mapping->mode_lock);
	mapping->session = session;
	mapping->space = object->memory.space;
	mapping->addr = vma->vm_start;
	mapping->nr = vma_pages(vma);
	mapping->live = READ_ONCE(object->memory.live) ||
		(polled && (vma->vm_flags & (VM_READ | VM_WRITE)) == (VM_READ | VM_WRITE) &&
		 !mapping_may_copy(object, vma));
	mapping->apart = vgpu_schema_is_apart(object->schema);
	mapping->pgoff = vma->vm_pgoff;
	if (!cow)
		range = vgpu_window_claim(object->host, vma->vm_start,
					  vma->vm_end - vma->vm_start);
	ret = mapping_call(mapping, object, vma, range);
	if (!ret && !mapping->range && mapping->live) {
		vgpu_mapping_end(mapping, mapping->addr, vma->vm_end - vma->vm_start);
		ret = polled ? -polled : -ENOMEM;
		/* A window shows no private mappings, and no files of nvidia-uvm (EOPNOTSUPP). */
		if (ret == -ENOMEM && !cow)
			vgpu_window_missed(object->export);
	}
	if (ret)
		goto err_mapping;
	vgpu_space_renew(mapping->space, mapping->pgoff, vma_pages(vma));

	list_add(&vgpu_mapping_span_alloc(mapping->pgoff, mapping->pgoff + vma_pages(vma))->node,
		 &mapping->spans);
	kref_get(&object->memory.space->ref);
	mapping->export = vgpu_export_get(object->export);
	atomic64_inc(vgpu_mapping_count(mapping));
	vma->vm_pgoff = mapping->pgoff;
	vma->vm_private_data = mapping;
	vm_flags_set(vma, mapping_vm_flags(mapping->flags));
	if (!(mapping->flags & VGPU_MAP_MAYREAD))
		vm_flags_clear(vma, VM_MAYREAD);
	if (!(mapping->flags & VGPU_MAP_MAYWRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
	/* A driver may clear VM_WRITE, too, not only VM_MAYWRITE. */
	if (!(mapping->flags & VGPU_MAP_WRITE))
		vm_flags_clear(vma, VM_WRITE);
	if (polled && !mapping->live)
		mapping_keep_access(vma);
	if (blank && !cow && !mapping->range)
		vgpu_blank_mmap_done(object, mapping, ends);
	mapping_show(mapping, vma, cow, asked);
	return 0;

err_mapping:
	kfree(mapping);
err_hold:
	vgpu_session_release(session);
err_session:
	vgpu_session_put(session);
	return ret;
}

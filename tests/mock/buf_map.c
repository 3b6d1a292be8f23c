// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings of buffers, in all ways in which drivers fill page tables.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/vmalloc.h>

#include "kver.h"
#include "mock.h"

static void vgpu_mock_vm_open(struct vm_area_struct *vma)
{
	struct vgpu_mock_buf *buf = vma->vm_private_data;

	kref_get(&buf->ref);
	atomic_inc(&buf->maps);
	vgpu_mock_count(VGPU_MOCK_MAPS, 1);
}

static void vgpu_mock_vm_close(struct vm_area_struct *vma)
{
	struct vgpu_mock_buf *buf = vma->vm_private_data;

	vgpu_mock_reach_try(VGPU_MOCK_REACH_UNMAP);
	atomic_dec(&buf->maps);
	vgpu_mock_count(VGPU_MOCK_MAPS, -1);
	vgpu_mock_buf_put(buf);
}

static u64 vgpu_mock_buf_first_page(const struct vgpu_mock_buf *buf)
{
	return (u64)buf->id << (VGPU_MOCK_BUF_SHIFT - PAGE_SHIFT);
}

static void vgpu_mock_buf_zap_locked(struct vgpu_mock_buf *buf)
{
	vgpu_mock_device_zap(buf->device, (loff_t)buf->id << VGPU_MOCK_BUF_SHIFT, buf->size);
}

/* Inserts the PTEs of the faulting page and of the pages behind it in its lump and the VMA. */
static vm_fault_t vgpu_mock_vm_insert_lump(struct vm_fault *vmf, unsigned long pfn, u64 index)
{
	unsigned long address = vmf->address & PAGE_MASK;
	struct vm_area_struct *vma = vmf->vma;
	vm_fault_t ret = vmf_insert_pfn(vma, address, pfn);

	while (ret == VM_FAULT_NOPAGE && ++index % VGPU_MOCK_LUMP_PAGES) {
		address += PAGE_SIZE;
		if (address >= vma->vm_end ||
		    vmf_insert_pfn(vma, address, ++pfn) != VM_FAULT_NOPAGE)
			break;
	}
	return ret;
}

static vm_fault_t vgpu_mock_vm_insert_pfn(struct vgpu_mock_buf *buf, struct vm_fault *vmf,
					  struct page *page, u64 index)
{
	struct vm_area_struct *vma = vmf->vma;

	if (vgpu_mock_buf_is(buf, VGPU_MOCK_BUF_UNCOUNTED, index))
		return vgpu_mock_vm_insert_lump(vmf, page_to_pfn(page), index);
	if (vgpu_mock_buf_is(buf, VGPU_MOCK_BUF_WC, index))
		return vmf_insert_pfn_prot(vma, vmf->address, page_to_pfn(page),
					   pgprot_writecombine(vma->vm_page_prot));
	return vmf_insert_pfn(vma, vmf->address, page_to_pfn(page));
}

static vm_fault_t vgpu_mock_vm_fault_locked(struct vgpu_mock_buf *buf, struct vm_fault *vmf)
{
	u64 index = vmf->pgoff - vgpu_mock_buf_first_page(buf);
	struct page *page;
	int ret;

	if (buf->revoked)
		return VM_FAULT_SIGBUS;
#ifdef VGPU_MOCK_HAVE_HUGE
	/* Another thread's fault has made a PMD mapping. */
	if (pmd_leaf(pmdp_get_lockless(vmf->pmd)))
		return VM_FAULT_NOPAGE;
#endif
	page = vgpu_mock_buf_page_locked(buf, index);
	if (!page)
		return VM_FAULT_OOM;
	switch (buf->flavour) {
	case VGPU_MOCK_BUF_PFN:
	case VGPU_MOCK_BUF_REMAP:
		if (buf->one)
			vgpu_mock_buf_zap_locked(buf);
		return vgpu_mock_vm_insert_pfn(buf, vmf, page, index);
	case VGPU_MOCK_BUF_RAW:
		return vgpu_mock_insert_mixed(vmf, page_to_pfn(page));
	case VGPU_MOCK_BUF_MIXED:
		ret = vm_insert_page(vmf->vma, vmf->address, page);
		/* Another thread's fault may have been first. */
		if (ret && ret != -EBUSY)
			return ret == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
		return VM_FAULT_NOPAGE;
	default:
		get_page(page);
		vmf->page = page;
		return 0;
	}
}

/*
 * Sleeps for the duration that BUF_SLOW has set, or until VGPU_MOCK_SLOW_END.
 * Return: false if the task was killed.
 */
static bool vgpu_mock_vm_fault_sleep(struct vgpu_mock_buf *buf)
{
	int ended = atomic_read(&buf->faults_ended);
	/* The current jiffy does not count, as in msleep(). */
	long timeout = msecs_to_jiffies(READ_ONCE(buf->fault_ms)) + 1;

	return wait_event_killable_timeout(buf->fill_queue,
					   atomic_read(&buf->faults_ended) != ended,
					   timeout) >= 0;
}

/*
 * Counts a fault, and sleeps if BUF_SLOW delays faults under mmap_lock.
 * Return: false if the task was killed.
 */
static bool vgpu_mock_vm_fault_begin(struct vgpu_mock_buf *buf)
{
	vgpu_mock_count(VGPU_MOCK_FAULTS, 1);
	vgpu_mock_reach_try(VGPU_MOCK_REACH_FAULT);
	atomic_inc(&buf->faults);
	return !READ_ONCE(buf->fault_ms) || READ_ONCE(buf->fault_unlocked) ||
		vgpu_mock_vm_fault_sleep(buf);
}

/* Return: true if the function dropped mmap_lock, so that the fault has to be retried. */
static bool vgpu_mock_vm_fault_unlocked(struct vgpu_mock_buf *buf, struct vm_fault *vmf)
{
	if (!READ_ONCE(buf->fault_unlocked) || !fault_flag_allow_retry_first(vmf->flags) ||
	    (vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return false;
	atomic_inc(&buf->faults);
	kref_get(&buf->ref);
	/* The core does not call ->fault under the VMA lock alone, so mmap_lock is held. */
	mmap_read_unlock(vmf->vma->vm_mm);
	vgpu_mock_vm_fault_sleep(buf);
	vgpu_mock_buf_put(buf);
	return true;
}

#ifdef VGPU_MOCK_HAVE_HUGE
static vm_fault_t vgpu_mock_vm_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vgpu_mock_buf *buf = vma->vm_private_data;
	unsigned long first = vmf->address & PMD_MASK;
	vm_fault_t ret = VM_FAULT_FALLBACK;
	struct page *page;
	u64 index;

	index = vmf->pgoff - vgpu_mock_buf_first_page(buf) - ((vmf->address - first) >> PAGE_SHIFT);
	/*
	 * The core may call ->huge_fault, unlike ->fault, under the VMA lock. ->mmap() takes the
	 * VMA lock under buf->lock, so buf->lock must not be taken under the VMA lock.
	 */
	if (vmf->flags & FAULT_FLAG_VMA_LOCK)
		return VM_FAULT_FALLBACK;
	if (order != PMD_ORDER || !buf->huge || buf->flavour != VGPU_MOCK_BUF_PFN ||
	    first < vma->vm_start || vma->vm_end - first < PMD_SIZE ||
	    index % VGPU_MOCK_PIECE_PAGES)
		return VM_FAULT_FALLBACK;
	if (!vgpu_mock_vm_fault_begin(buf))
		return VM_FAULT_NOPAGE;
	mutex_lock(&buf->lock);
	page = buf->revoked ? NULL : vgpu_mock_buf_page_locked(buf, index);
	if (page && pmd_none(pmdp_get_lockless(vmf->pmd))) {
		ret = vgpu_mock_insert_huge(vmf, page_to_pfn(page));
		atomic_inc(&buf->huge_faults);
	}
	mutex_unlock(&buf->lock);
	return ret;
}
#endif

static vm_fault_t vgpu_mock_vm_fault(struct vm_fault *vmf)
{
	struct vgpu_mock_buf *buf = vmf->vma->vm_private_data;
	vm_fault_t ret;

	if (vgpu_mock_vm_fault_unlocked(buf, vmf))
		return VM_FAULT_RETRY;
	if (!vgpu_mock_vm_fault_begin(buf))
		return VM_FAULT_NOPAGE;
	if (!atomic_dec_if_positive(&buf->fault_error))
		return VM_FAULT_SIGBUS;
	/* PTEs are inserted under the lock, so that a move or a revoke zaps all of them. */
	mutex_lock(&buf->lock);
	ret = vgpu_mock_vm_fault_locked(buf, vmf);
	mutex_unlock(&buf->lock);
	return ret;
}

static vm_fault_t vgpu_mock_vm_pfn_mkwrite(struct vm_fault *vmf)
{
	struct vgpu_mock_buf *buf = vmf->vma->vm_private_data;

	vgpu_mock_reach_try(VGPU_MOCK_REACH_WRITE);
	atomic_inc(&buf->notified);
	return 0;
}

static vm_fault_t vgpu_mock_vm_page_mkwrite(struct vm_fault *vmf)
{
	struct vgpu_mock_buf *buf = vmf->vma->vm_private_data;

	atomic_inc(&buf->notified);
	/* The core takes a page without page->mapping for truncated, unless it is locked. */
	lock_page(vmf->page);
	return VM_FAULT_LOCKED;
}

static int vgpu_mock_vm_access(struct vm_area_struct *vma, unsigned long addr, void *data,
			       int len, int write)
{
	struct vgpu_mock_buf *buf = vma->vm_private_data;
	u64 index = vma->vm_pgoff - vgpu_mock_buf_first_page(buf) +
		((addr - vma->vm_start) >> PAGE_SHIFT);
	unsigned int offset = offset_in_page(addr);
	struct page *page;

	vgpu_mock_reach_try(VGPU_MOCK_REACH_ACCESS);
	len = min_t(int, len, PAGE_SIZE - offset);
	mutex_lock(&buf->lock);
	page = buf->revoked ? NULL : vgpu_mock_buf_page_locked(buf, index);
	if (page && write)
		memcpy(page_address(page) + offset, data, len);
	else if (page)
		memcpy(data, page_address(page) + offset, len);
	mutex_unlock(&buf->lock);
	return page ? len : -EIO;
}

static const struct vm_operations_struct vgpu_mock_access_vm_ops = {
	.open = vgpu_mock_vm_open,
	.close = vgpu_mock_vm_close,
	.fault = vgpu_mock_vm_fault,
	.access = vgpu_mock_vm_access,
};

static const struct vm_operations_struct vgpu_mock_notify_vm_ops = {
	.open = vgpu_mock_vm_open,
	.close = vgpu_mock_vm_close,
	.fault = vgpu_mock_vm_fault,
	.pfn_mkwrite = vgpu_mock_vm_pfn_mkwrite,
	.page_mkwrite = vgpu_mock_vm_page_mkwrite,
};

static const struct vm_operations_struct vgpu_mock_vm_ops = {
	.open = vgpu_mock_vm_open,
	.close = vgpu_mock_vm_close,
	.fault = vgpu_mock_vm_fault,
#ifdef VGPU_MOCK_HAVE_HUGE
	.huge_fault = vgpu_mock_vm_huge_fault,
#endif
};

static int vgpu_mock_buf_remap_locked(struct vgpu_mock_buf *buf, struct vm_area_struct *vma)
{
	u64 index = vma->vm_pgoff - vgpu_mock_buf_first_page(buf);
	unsigned long address;
	struct page *page;
	int ret;

	for (address = vma->vm_start; address < vma->vm_end; address += PAGE_SIZE, index++) {
		page = vgpu_mock_buf_page_locked(buf, index);
		if (!page)
			return -ENOMEM;
		ret = remap_pfn_range(vma, address, page_to_pfn(page), PAGE_SIZE,
				      vma->vm_page_prot);
		if (ret)
			return ret;
	}
	return 0;
}

static int vgpu_mock_buf_map_locked(struct vgpu_mock_buf *buf, struct vm_area_struct *vma)
{
	u64 first = vgpu_mock_buf_first_page(buf);

	if (vma->vm_pgoff - first + vma_pages(vma) > buf->size >> PAGE_SHIFT)
		return -EINVAL;
	if (buf->revoked)
		return -ENODEV;
	switch (buf->flavour) {
	case VGPU_MOCK_BUF_PFN:
		vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
		return 0;
	case VGPU_MOCK_BUF_REMAP:
		return vgpu_mock_buf_remap_locked(buf, vma);
	case VGPU_MOCK_BUF_MIXED:
	case VGPU_MOCK_BUF_RAW:
		vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
		return 0;
	case VGPU_MOCK_BUF_VMALLOC:
		return remap_vmalloc_range(vma, buf->vmem, vma->vm_pgoff - first);
	default:
		vm_flags_set(vma, VM_DONTEXPAND);
		return 0;
	}
}

int vgpu_mock_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct vgpu_mock_file *file = filp->private_data;
	struct vgpu_mock_buf *buf;
	int ret;

	vgpu_mock_count(VGPU_MOCK_MMAPS, 1);
	vgpu_mock_reach_try(VGPU_MOCK_REACH_MMAP);
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	buf = vgpu_mock_buf_find(file, vma->vm_pgoff >> (VGPU_MOCK_BUF_SHIFT - PAGE_SHIFT));
	if (!buf)
		return -EINVAL;
	if (READ_ONCE(buf->mmap_slow) && !vgpu_mock_vm_fault_sleep(buf)) {
		vgpu_mock_buf_put(buf);
		return -EINTR;
	}
	mutex_lock(&buf->lock);
	ret = vgpu_mock_buf_map_locked(buf, vma);
	mutex_unlock(&buf->lock);
	if (ret) {
		vgpu_mock_buf_put(buf);
		return ret;
	}
	/* The VMA takes over the reference, as ->open is not called for a new VMA. */
	vma->vm_private_data = buf;
	vma->vm_ops = buf->notify ? &vgpu_mock_notify_vm_ops :
		buf->access ? &vgpu_mock_access_vm_ops : &vgpu_mock_vm_ops;
	atomic_inc(&buf->maps);
	vgpu_mock_count(VGPU_MOCK_MAPS, 1);
	return 0;
}

/* Replaces a page, and poisons the old one, so that tests detect stale mappings. */
static void vgpu_mock_page_move(struct page **to, struct page *page)
{
	copy_highpage(page, *to);
	memset(page_address(*to), 0xde, PAGE_SIZE);
	put_page(*to);
	*to = page;
}

static int vgpu_mock_piece_move(struct page **pages)
{
	struct page **piece;
	unsigned int i;

	piece = kvmalloc_array(VGPU_MOCK_PIECE_PAGES, sizeof(*piece), GFP_KERNEL);
	if (!piece || !vgpu_mock_piece_alloc(piece)) {
		kvfree(piece);
		return -ENOMEM;
	}
	for (i = 0; i < VGPU_MOCK_PIECE_PAGES; i++)
		vgpu_mock_page_move(pages + i, piece[i]);
	kvfree(piece);
	return 0;
}

static int vgpu_mock_buf_move_locked(struct vgpu_mock_buf *buf)
{
	u64 i, step = buf->huge ? VGPU_MOCK_PIECE_PAGES : 1;
	struct page *page;

	for (i = 0; i < buf->size >> PAGE_SHIFT; i += step) {
		if (!buf->pages[i])
			continue;
		if (buf->huge) {
			if (vgpu_mock_piece_move(buf->pages + i))
				return -ENOMEM;
			continue;
		}
		page = alloc_page(GFP_KERNEL);
		if (!page)
			return -ENOMEM;
		vgpu_mock_page_move(buf->pages + i, page);
	}
	return 0;
}

long vgpu_mock_buf_invalidate(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;
	long ret = 0;

	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	mutex_lock(&buf->lock);
	vgpu_mock_buf_zap_locked(buf);
	/*
	 * Buffers of PAGE, RAW and VMALLOC are not moved: the core inserts PTEs of PAGE outside
	 * buf->lock.
	 */
	if (buf->flavour <= VGPU_MOCK_BUF_MIXED && !buf->odd)
		ret = vgpu_mock_buf_move_locked(buf);
	mutex_unlock(&buf->lock);
	vgpu_mock_buf_put(buf);
	return ret;
}

long vgpu_mock_buf_revoke(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;

	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	mutex_lock(&buf->lock);
	buf->revoked = true;
	vgpu_mock_buf_zap_locked(buf);
	mutex_unlock(&buf->lock);
	vgpu_mock_buf_put(buf);
	return 0;
}

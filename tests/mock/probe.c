// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls that show the driver's view: its caller, its file, and its access to the
 * caller's memory.
 */
#include <linux/compat.h>
#include <linux/cred.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mock.h"

static u64 vgpu_mock_pages_invert(struct page **pages, u64 ptr, u32 length)
{
	u64 sum = VGPU_MOCK_SUM_INIT;
	u32 offset = offset_in_page(ptr);
	u32 n;
	u8 *p;

	for (; length; pages++, length -= n, offset = 0) {
		n = min_t(u32, length, PAGE_SIZE - offset);
		p = kmap_local_page(*pages);
		sum = vgpu_mock_sum(sum, p + offset, n);
		vgpu_mock_invert(p + offset, n);
		kunmap_local(p);
	}
	return sum;
}

long vgpu_mock_pin(struct vgpu_mock_call *call)
{
	struct vgpu_mock_pin *pin = call->data;
	struct page **pages;
	int count;
	long ret;

	pin->out_pages = 0;
	if (!pin->length || pin->length > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -EINVAL;
	count = DIV_ROUND_UP(offset_in_page(pin->ptr) + pin->length, PAGE_SIZE);
	pages = kcalloc(count, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	ret = pin_user_pages_fast(pin->ptr & PAGE_MASK, count, FOLL_WRITE, pages);
	if (ret < 0)
		goto out_free;
	pin->out_pages = ret;
	if (ret < count) {
		unpin_user_pages(pages, ret);
		ret = -EFAULT;
		goto out_free;
	}
	pin->out_sum = vgpu_mock_pages_invert(pages, pin->ptr, pin->length);
	unpin_user_pages_dirty_lock(pages, count, true);
	ret = 0;
out_free:
	kfree(pages);
	return ret;
}

/*
 * Faults in the page as drivers do that cannot drop mmap_lock. With FAULT_FLAG_REMOTE and
 * FAULT_FLAG_WRITE the fault is that of follow_fault_pfn() in vfio_iommu_type1.c for a missing PTE.
 */
static int vgpu_mock_fault_no_retry(u64 ptr, unsigned int flags)
{
	struct mm_struct *mm = current->mm;
	int ret;

	mmap_read_lock(mm);
	ret = fixup_user_fault(mm, ptr & PAGE_MASK, flags, NULL);
	mmap_read_unlock(mm);
	return ret;
}

static unsigned long vgpu_mock_copy_atomic(void *data, u64 ptr, u32 length)
{
	unsigned long left;

	if (!access_ok(u64_to_user_ptr(ptr), length))
		return length;
	pagefault_disable();
	left = __copy_from_user_inatomic(data, u64_to_user_ptr(ptr), length);
	pagefault_enable();
	return left;
}

static int vgpu_mock_atomic_read(struct vgpu_mock_atomic *atomic, void *data)
{
	if (atomic->mode == VGPU_MOCK_ATOMIC_NO_RETRY) {
		atomic->out_error = vgpu_mock_fault_no_retry(atomic->ptr, 0);
	} else if (atomic->mode == VGPU_MOCK_ATOMIC_DEVICE) {
		atomic->out_error = vgpu_mock_fault_no_retry(atomic->ptr, FAULT_FLAG_REMOTE |
							     FAULT_FLAG_WRITE);
	} else {
		atomic->out_missed = vgpu_mock_copy_atomic(data, atomic->ptr, atomic->length);
		atomic->out_error = atomic->out_missed ? -EFAULT : 0;
		if (!atomic->out_missed)
			return 0;
	}
	if (atomic->out_error && atomic->mode != VGPU_MOCK_ATOMIC_FALLBACK)
		return atomic->out_error;
	return vgpu_mock_user_read(atomic->ptr, data, atomic->length);
}

long vgpu_mock_atomic(struct vgpu_mock_call *call)
{
	struct vgpu_mock_atomic *atomic = call->data;
	void *data;
	int ret;

	if (atomic->mode > VGPU_MOCK_ATOMIC_DEVICE || !atomic->length ||
	    offset_in_page(atomic->ptr) + (u64)atomic->length > PAGE_SIZE)
		return -EINVAL;
	data = kmalloc(atomic->length, GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	atomic->out_missed = 0;
	atomic->out_sum = 0;
	ret = vgpu_mock_atomic_read(atomic, data);
	if (!ret)
		atomic->out_sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, atomic->length);
	kfree(data);
	return ret;
}

long vgpu_mock_info(struct vgpu_mock_call *call)
{
	struct vgpu_mock_info *info = call->data;
	struct file *filp = call->file->filp;

	info->out_tgid = task_tgid_nr(current);
	info->out_tid = task_pid_nr(current);
	info->out_mm = vgpu_mock_mm_name(current->mm);
	info->out_opener_mm = call->file->mm;
	info->out_pos = filp->f_pos;
	info->out_f_flags = filp->f_flags;
	info->out_f_mode = (__force u32)(filp->f_mode & (FMODE_READ | FMODE_WRITE));
	info->out_compat = in_compat_syscall();
	info->out_uid = from_kuid(&init_user_ns, current_euid());
	return 0;
}

long vgpu_mock_counters(struct vgpu_mock_call *call)
{
	struct vgpu_mock_counters *out = call->data;
	int i;

	for (i = 0; i < ARRAY_SIZE(out->out_calls); i++)
		out->out_calls[i] = vgpu_mock_calls(i);
	out->out_opens = vgpu_mock_counted(VGPU_MOCK_OPENS);
	out->out_busy = vgpu_mock_counted(VGPU_MOCK_BUSY);
	out->out_releases = vgpu_mock_counted(VGPU_MOCK_RELEASES);
	out->out_files = vgpu_mock_counted(VGPU_MOCK_FILES);
	out->out_objects = vgpu_mock_counted(VGPU_MOCK_OBJECTS);
	out->out_bufs = vgpu_mock_counted(VGPU_MOCK_BUFS);
	out->out_buf_pages = vgpu_mock_counted(VGPU_MOCK_BUF_PAGES);
	out->out_maps = vgpu_mock_counted(VGPU_MOCK_MAPS);
	out->out_faults = vgpu_mock_counted(VGPU_MOCK_FAULTS);
	out->out_reads = vgpu_mock_counted(VGPU_MOCK_READS);
	out->out_writes = vgpu_mock_counted(VGPU_MOCK_WRITES);
	out->out_polls = vgpu_mock_counted(VGPU_MOCK_POLLS);
	out->out_seeks = vgpu_mock_counted(VGPU_MOCK_SEEKS);
	out->out_mmaps = vgpu_mock_counted(VGPU_MOCK_MMAPS);
	out->out_interrupted = vgpu_mock_counted(VGPU_MOCK_INTERRUPTED);
	out->out_unflushed = vgpu_mock_counted(VGPU_MOCK_UNFLUSHED);
	return 0;
}

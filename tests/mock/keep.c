// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the calling process that the "device" keeps pinned, and writes to later.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mock.h"

void vgpu_mock_keep_init(struct vgpu_mock_file *file)
{
	mutex_init(&file->keep_lock);
}

static void vgpu_mock_keep_unpin(struct page **pages, u64 nr)
{
	unpin_user_pages_dirty_lock(pages, nr, true);
	kvfree(pages);
}

void vgpu_mock_keep_fini(struct vgpu_mock_file *file)
{
	u32 i;

	for (i = 0; i < file->nr_keeps; i++)
		vgpu_mock_keep_unpin(file->keeps[i].pages, file->keeps[i].nr);
}

static int vgpu_mock_keep_pin(struct page **pages, u64 ptr, u64 nr)
{
	int got = 0;
	u64 done;

	for (done = 0; done < nr; done += got) {
		got = pin_user_pages_fast(ptr + (done << PAGE_SHIFT),
					  min_t(u64, nr - done, INT_MAX),
					  FOLL_WRITE | FOLL_LONGTERM, pages + done);
		if (got <= 0) {
			unpin_user_pages(pages, done);
			return got ?: -EFAULT;
		}
	}
	return 0;
}

static long vgpu_mock_keep_add(struct vgpu_mock_file *file, struct page **pages, u64 nr)
{
	long ret = -EMFILE;

	mutex_lock(&file->keep_lock);
	if (file->nr_keeps < VGPU_MOCK_KEEPS_MAX) {
		file->keeps[file->nr_keeps].pages = pages;
		file->keeps[file->nr_keeps].nr = nr;
		file->nr_keeps++;
		ret = 0;
	}
	mutex_unlock(&file->keep_lock);
	return ret;
}

long vgpu_mock_keep(struct vgpu_mock_call *call)
{
	struct vgpu_mock_keep *keep = call->data;
	u64 ptr = keep->ptr, nr;
	struct page **pages;
	long ret;

	keep->out_pages = 0;
	if (keep->what == VGPU_MOCK_KEEP_PLAIN)
		return 0;
	if (keep->what > VGPU_MOCK_KEEP_ARGUMENT || keep->last >= VGPU_MOCK_KEEP_MAX)
		return -EINVAL;
	if (keep->what == VGPU_MOCK_KEEP_ARGUMENT)
		ptr = call->arg;
	nr = ((offset_in_page(ptr) + keep->last) >> PAGE_SHIFT) + 1;
	pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;
	ret = vgpu_mock_keep_pin(pages, ptr & PAGE_MASK, nr);
	if (ret) {
		kvfree(pages);
		return ret;
	}
	ret = vgpu_mock_keep_add(call->file, pages, nr);
	if (ret) {
		vgpu_mock_keep_unpin(pages, nr);
		return ret;
	}
	keep->out_pages = nr;
	return keep->what == VGPU_MOCK_KEEP_LATE ? -EIO : 0;
}

/* Hashes and overwrites a part of a page; its size is a multiple of 8 bytes. */
static void vgpu_mock_kept_use(struct page *page, u32 at, u32 n, struct vgpu_mock_kept *kept,
			       u64 offset)
{
	u8 *p = kmap_local_page(page);

	kept->out_sum = vgpu_mock_sum(kept->out_sum, p + at, n);
	vgpu_mock_pattern(p + at, n, kept->seed, offset);
	kunmap_local(p);
}

long vgpu_mock_kept(struct vgpu_mock_call *call)
{
	struct vgpu_mock_kept *kept = call->data;
	struct vgpu_mock_file *file = call->file;
	const struct vgpu_mock_keep_pages *keep;
	u64 pos, n, end;
	long ret = -ENOENT;

	if (kept->reserved || (kept->offset | kept->length) % 8 ||
	    check_add_overflow(kept->offset, kept->length, &end))
		return -EINVAL;
	mutex_lock(&file->keep_lock);
	if (kept->number >= file->nr_keeps)
		goto out_unlock;
	keep = &file->keeps[kept->number];
	ret = -EINVAL;
	if (end > keep->nr << PAGE_SHIFT)
		goto out_unlock;
	kept->out_sum = VGPU_MOCK_SUM_INIT;
	for (pos = kept->offset; pos < end; pos += n) {
		n = min_t(u64, end - pos, PAGE_SIZE - offset_in_page(pos));
		vgpu_mock_kept_use(keep->pages[pos >> PAGE_SHIFT], offset_in_page(pos), n, kept,
				   pos);
		cond_resched();
	}
	ret = 0;

out_unlock:
	mutex_unlock(&file->keep_lock);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: memory that programs can map, and that the "device" changes too.
 */
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <asm/set_memory.h>

#include "mock.h"

#define VGPU_MOCK_BUF_MAX	(512ULL << 20)
#define VGPU_MOCK_BUF_MAX_SMALL	(4ULL << 20)
#define VGPU_MOCK_BUF_MAX_ID	4095

/* A fill that the "device" carries out by itself later. */
struct vgpu_mock_fill {
	struct delayed_work work;
	struct vgpu_mock_buf *buf;
	u64 offset;
	u64 length;
	u32 seed;
};

/**
 * vgpu_mock_buf_is() - whether a page of a buffer is of a special kind
 * @buf: the buffer
 * @odd: VGPU_MOCK_BUF_UNCOUNTED or _WC
 * @index: number of the page
 *
 * Return: the page is of the kind @odd.
 */
bool vgpu_mock_buf_is(const struct vgpu_mock_buf *buf, u32 odd, u64 index)
{
	return buf->odd == odd && (!buf->later || index >= VGPU_MOCK_LATER_PAGES);
}

static void vgpu_mock_buf_free_page(struct vgpu_mock_buf *buf, u64 index)
{
	struct page **page = buf->pages + index;

	if (vgpu_mock_buf_is(buf, VGPU_MOCK_BUF_UNCOUNTED, index)) {
		if (!(index % VGPU_MOCK_LUMP_PAGES))
			__free_pages(*page, VGPU_MOCK_LUMP_ORDER);
		return;
	}
	if (vgpu_mock_buf_is(buf, VGPU_MOCK_BUF_WC, index))
		set_pages_array_wb(page, 1);
	put_page(*page);
}

static void vgpu_mock_buf_free(struct kref *ref)
{
	struct vgpu_mock_buf *buf = container_of(ref, struct vgpu_mock_buf, ref);
	u64 i;

	if (buf->vmem) {
		vfree(buf->vmem);
	} else {
		for (i = 0; i < buf->size >> PAGE_SHIFT; i++)
			if (buf->pages[i])
				vgpu_mock_buf_free_page(buf, i);
		kvfree(buf->pages);
	}
	vgpu_mock_count(VGPU_MOCK_BUF_PAGES, -(s64)buf->nr_pages);
	vgpu_mock_count(VGPU_MOCK_BUFS, -1);
	kfree(buf);
}

void vgpu_mock_buf_put(struct vgpu_mock_buf *buf)
{
	kref_put(&buf->ref, vgpu_mock_buf_free);
}

/* Looks up a buffer under the lock of bufs. Return: NULL if the file may not name the buffer. */
static struct vgpu_mock_buf *vgpu_mock_buf_load(const struct vgpu_mock_file *file, u32 id)
{
	struct vgpu_mock_buf *buf = xa_load(&file->device->bufs, id);

	return buf && buf->is_new && buf->owner != file ? NULL : buf;
}

/**
 * vgpu_mock_buf_find() - look up a buffer
 * @file: file by which the program names the buffer
 * @id: name of the buffer
 *
 * Return: the buffer with a reference taken, or NULL.
 */
struct vgpu_mock_buf *vgpu_mock_buf_find(const struct vgpu_mock_file *file, u32 id)
{
	struct xarray *bufs = &file->device->bufs;
	struct vgpu_mock_buf *buf;

	xa_lock(bufs);
	buf = vgpu_mock_buf_load(file, id);
	if (buf)
		kref_get(&buf->ref);
	xa_unlock(bufs);
	return buf;
}

/**
 * vgpu_mock_piece_alloc() - allocate the pages of one piece of 2 MiB
 * @pages: out: the pages, each with a reference of its own
 *
 * Return: false when there is no contiguous memory.
 */
bool vgpu_mock_piece_alloc(struct page **pages)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN,
					VGPU_MOCK_PIECE_ORDER);
	unsigned int i;

	if (!page)
		return false;
	split_page(page, VGPU_MOCK_PIECE_ORDER);
	for (i = 0; i < VGPU_MOCK_PIECE_PAGES; i++)
		pages[i] = page + i;
	return true;
}

/* Allocates a lump: pages of which only the first has a reference, as in pools of drivers. */
static unsigned int vgpu_mock_lump_alloc(struct page **pages)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO, VGPU_MOCK_LUMP_ORDER);
	unsigned int i;

	if (!page)
		return 0;
	for (i = 0; i < VGPU_MOCK_LUMP_PAGES; i++)
		pages[i] = page + i;
	return VGPU_MOCK_LUMP_PAGES;
}

static unsigned int vgpu_mock_page_alloc(struct vgpu_mock_buf *buf, u64 index)
{
	struct page *page;

	if (vgpu_mock_buf_is(buf, VGPU_MOCK_BUF_UNCOUNTED, index))
		return vgpu_mock_lump_alloc(buf->pages + round_down(index, VGPU_MOCK_LUMP_PAGES));
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return 0;
	/* All mappings of a page need one caching mode: set that of the kernel's own mapping. */
	if (vgpu_mock_buf_is(buf, VGPU_MOCK_BUF_WC, index) && set_pages_array_wc(&page, 1)) {
		put_page(page);
		return 0;
	}
	if (buf->is_new)
		memset(page_address(page), VGPU_MOCK_NEW_BYTE, PAGE_SIZE);
	buf->pages[index] = page;
	return 1;
}

/**
 * vgpu_mock_buf_page_locked() - find a page of a buffer, and allocate a missing one
 * @buf: the buffer, whose lock is held
 * @index: number of the page
 *
 * Return: the page, or NULL when there is no memory.
 */
struct page *vgpu_mock_buf_page_locked(struct vgpu_mock_buf *buf, u64 index)
{
	unsigned int nr;

	lockdep_assert_held(&buf->lock);
	if (buf->vmem)
		return vmalloc_to_page(buf->vmem + (index << PAGE_SHIFT));
	if (!buf->pages[index] && buf->huge) {
		if (vgpu_mock_piece_alloc(buf->pages + round_down(index, VGPU_MOCK_PIECE_PAGES))) {
			buf->nr_pages += VGPU_MOCK_PIECE_PAGES;
			vgpu_mock_count(VGPU_MOCK_BUF_PAGES, VGPU_MOCK_PIECE_PAGES);
		}
	} else if (!buf->pages[index]) {
		nr = vgpu_mock_page_alloc(buf, index);
		buf->nr_pages += nr;
		vgpu_mock_count(VGPU_MOCK_BUF_PAGES, nr);
	}
	return buf->pages[index];
}

/**
 * vgpu_mock_bufs_drop() - drop the names of a file's buffers when the file is released
 * @file: the file
 */
void vgpu_mock_bufs_drop(struct vgpu_mock_file *file)
{
	struct xarray *bufs = &file->device->bufs;
	struct vgpu_mock_buf *buf;
	unsigned long id;

	xa_for_each(bufs, id, buf) {
		/* A buffer of another file may have been freed: look it up again under the lock. */
		xa_lock(bufs);
		buf = xa_load(bufs, id);
		if (buf && buf->owner == file)
			__xa_erase(bufs, id);
		else
			buf = NULL;
		xa_unlock(bufs);
		if (buf)
			vgpu_mock_buf_put(buf);
	}
}

static int vgpu_mock_buf_alloc_memory(struct vgpu_mock_buf *buf)
{
	u64 count = buf->size >> PAGE_SHIFT;

	if (buf->flavour == VGPU_MOCK_BUF_VMALLOC) {
		buf->vmem = vmalloc_user(buf->size);
		if (!buf->vmem)
			return -ENOMEM;
		buf->nr_pages = count;
		vgpu_mock_count(VGPU_MOCK_BUF_PAGES, count);
		return 0;
	}
	buf->pages = kvcalloc(count, sizeof(*buf->pages), GFP_KERNEL);
	return buf->pages ? 0 : -ENOMEM;
}

long vgpu_mock_buf_create(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_create *create = call->data;
	struct vgpu_mock_device *device = call->file->device;
	struct vgpu_mock_buf *buf;
	const u32 odds = VGPU_MOCK_BUF_UNCOUNTED | VGPU_MOCK_BUF_WC;
	bool later = create->flavour & VGPU_MOCK_BUF_LATER;
	bool huge = create->flavour & VGPU_MOCK_BUF_HUGE;
	bool is_new = create->flavour & VGPU_MOCK_BUF_NEW;
	bool one = create->flavour & VGPU_MOCK_BUF_ONE;
	u32 flavour = create->flavour & ~(VGPU_MOCK_BUF_NOTIFY | VGPU_MOCK_BUF_HUGE |
					  VGPU_MOCK_BUF_LATER | VGPU_MOCK_BUF_ACCESS |
					  VGPU_MOCK_BUF_NEW | VGPU_MOCK_BUF_ONE | odds);
	u32 odd = create->flavour & odds;
	u64 max = VGPU_MOCK_BUF_MAX;
	u32 id;
	int ret;

	if (flavour > (odd ? VGPU_MOCK_BUF_PFN : huge ? VGPU_MOCK_BUF_REMAP : VGPU_MOCK_BUF_RAW) ||
	    (odd & (odd - 1)) || (odd && huge) || (later && !odd) ||
	    (is_new && (odd || huge || flavour == VGPU_MOCK_BUF_VMALLOC ||
			flavour == VGPU_MOCK_BUF_REMAP)) ||
	    (one && (odd || huge || flavour != VGPU_MOCK_BUF_PFN)) ||
	    (odd == VGPU_MOCK_BUF_UNCOUNTED &&
	     create->size % (PAGE_SIZE << VGPU_MOCK_LUMP_ORDER)) ||
	    (huge && create->size % (PAGE_SIZE << VGPU_MOCK_PIECE_ORDER)))
		return -EINVAL;
	if (flavour == VGPU_MOCK_BUF_VMALLOC || flavour == VGPU_MOCK_BUF_REMAP)
		max = VGPU_MOCK_BUF_MAX_SMALL;
	if (!create->size || create->size > max || !PAGE_ALIGNED(create->size))
		return -EINVAL;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	kref_init(&buf->ref);
	mutex_init(&buf->lock);
	init_waitqueue_head(&buf->fill_queue);
	buf->device = device;
	buf->owner = call->file;
	buf->flavour = flavour;
	buf->notify = create->flavour & VGPU_MOCK_BUF_NOTIFY;
	buf->huge = huge;
	buf->access = create->flavour & VGPU_MOCK_BUF_ACCESS;
	buf->odd = odd;
	buf->later = later;
	buf->is_new = is_new;
	buf->one = one;
	buf->size = create->size;
	ret = vgpu_mock_buf_alloc_memory(buf);
	if (ret) {
		kfree(buf);
		return ret;
	}
	vgpu_mock_count(VGPU_MOCK_BUFS, 1);

	/* Reserve the name first: another thread must not find an unfinished buffer. */
	ret = xa_alloc(&device->bufs, &buf->id, NULL, XA_LIMIT(1, VGPU_MOCK_BUF_MAX_ID),
		       GFP_KERNEL);
	if (ret) {
		vgpu_mock_buf_put(buf);
		return ret;
	}
	id = buf->id;
	xa_store(&device->bufs, id, buf, GFP_KERNEL);
	create->out_id = id;
	create->out_offset = (u64)id << VGPU_MOCK_BUF_SHIFT;
	return 0;
}

long vgpu_mock_buf_destroy(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct xarray *bufs = &call->file->device->bufs;
	struct vgpu_mock_buf *buf;

	xa_lock(bufs);
	buf = vgpu_mock_buf_load(call->file, range->id);
	if (buf)
		__xa_erase(bufs, range->id);
	xa_unlock(bufs);
	if (!buf)
		return -ENOENT;
	vgpu_mock_buf_put(buf);
	return 0;
}

/**
 * vgpu_mock_buf_pattern() - write a pattern to a buffer, as the "device"
 * @buf: the buffer
 * @offset: offset of the first byte
 * @length: number of bytes, inside the buffer
 * @seed: seed of the pattern
 *
 * Return: 0 or -ENOMEM.
 */
int vgpu_mock_buf_pattern(struct vgpu_mock_buf *buf, u64 offset, u64 length, u32 seed)
{
	struct page *page;
	void *data;
	size_t n;

	for (; length; offset += n, length -= n) {
		n = min_t(u64, length, PAGE_SIZE - offset_in_page(offset));
		mutex_lock(&buf->lock);
		page = vgpu_mock_buf_page_locked(buf, offset >> PAGE_SHIFT);
		if (page) {
			data = kmap_local_page(page);
			vgpu_mock_pattern(data + offset_in_page(offset), n, seed, offset);
			kunmap_local(data);
		}
		mutex_unlock(&buf->lock);
		if (!page)
			return -ENOMEM;
	}
	return 0;
}

static void vgpu_mock_fill_work(struct work_struct *work)
{
	struct vgpu_mock_fill *fill =
		container_of(to_delayed_work(work), struct vgpu_mock_fill, work);
	struct vgpu_mock_buf *buf = fill->buf;

	vgpu_mock_buf_pattern(buf, fill->offset, fill->length, fill->seed);
	atomic_dec(&buf->fills);
	wake_up_all(&buf->fill_queue);
	vgpu_mock_buf_put(buf);
	kfree(fill);
	/* Module unload waits for the workqueue, and so for the end of this function. */
	module_put(THIS_MODULE);
}

static int vgpu_mock_buf_fill_later(struct vgpu_mock_buf *buf,
				    const struct vgpu_mock_buf_range *range)
{
	struct vgpu_mock_fill *fill = kzalloc(sizeof(*fill), GFP_KERNEL);

	if (!fill)
		return -ENOMEM;
	__module_get(THIS_MODULE);
	kref_get(&buf->ref);
	fill->buf = buf;
	fill->offset = range->offset;
	fill->length = range->length;
	fill->seed = range->seed;
	atomic_inc(&buf->fills);
	INIT_DELAYED_WORK(&fill->work, vgpu_mock_fill_work);
	queue_delayed_work(vgpu_mock_wq, &fill->work, msecs_to_jiffies(range->delay_ms));
	return 0;
}

/**
 * vgpu_mock_buf_range_ok() - check a range that a program has named
 * @buf: the buffer
 * @offset: offset of the first byte
 * @length: number of bytes
 *
 * Return: the range lies in the buffer and consists of words of 8 bytes.
 */
bool vgpu_mock_buf_range_ok(const struct vgpu_mock_buf *buf, u64 offset, u64 length)
{
	return !(offset % 8) && !(length % 8) && length <= buf->size &&
	       offset <= buf->size - length;
}

long vgpu_mock_buf_fill(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;
	long ret;

	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	if (!vgpu_mock_buf_range_ok(buf, range->offset, range->length) ||
	    range->delay_ms > VGPU_MOCK_MAX_MS)
		ret = -EINVAL;
	else if (range->delay_ms)
		ret = vgpu_mock_buf_fill_later(buf, range);
	else
		ret = vgpu_mock_buf_pattern(buf, range->offset, range->length, range->seed);
	vgpu_mock_buf_put(buf);
	return ret;
}

static u64 vgpu_mock_buf_hash(struct vgpu_mock_buf *buf, u64 offset, u64 length)
{
	u64 sum = VGPU_MOCK_SUM_INIT;
	struct page *page;
	void *data;
	size_t n;

	for (; length; offset += n, length -= n) {
		n = min_t(u64, length, PAGE_SIZE - offset_in_page(offset));
		mutex_lock(&buf->lock);
		/* A missing page reads as zeros and is not allocated. */
		page = NULL;
		if (buf->vmem || buf->pages[offset >> PAGE_SHIFT] || buf->is_new)
			page = vgpu_mock_buf_page_locked(buf, offset >> PAGE_SHIFT);
		data = kmap_local_page(page ?: ZERO_PAGE(0));
		sum = vgpu_mock_sum(sum, data + offset_in_page(offset), n);
		kunmap_local(data);
		mutex_unlock(&buf->lock);
	}
	return sum;
}

long vgpu_mock_buf_sum(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;
	long ret = 0;

	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	if (vgpu_mock_buf_range_ok(buf, range->offset, range->length))
		range->out_sum = vgpu_mock_buf_hash(buf, range->offset, range->length);
	else
		ret = -EINVAL;
	vgpu_mock_buf_put(buf);
	return ret;
}

long vgpu_mock_buf_sync(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;
	long ret;

	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	ret = wait_event_interruptible(buf->fill_queue, !atomic_read(&buf->fills));
	vgpu_mock_buf_put(buf);
	return ret;
}

long vgpu_mock_buf_slow(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;

	if (range->delay_ms > VGPU_MOCK_MAX_MS || range->offset > INT_MAX - 1 ||
	    range->seed & ~(VGPU_MOCK_SLOW_UNLOCKED | VGPU_MOCK_SLOW_ERROR | VGPU_MOCK_SLOW_END |
			    VGPU_MOCK_SLOW_MMAP))
		return -EINVAL;
	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	WRITE_ONCE(buf->fault_unlocked, range->seed & VGPU_MOCK_SLOW_UNLOCKED);
	WRITE_ONCE(buf->mmap_slow, range->seed & VGPU_MOCK_SLOW_MMAP);
	atomic_set(&buf->fault_error,
		   range->seed & VGPU_MOCK_SLOW_ERROR ? range->offset + 1 : 0);
	WRITE_ONCE(buf->fault_ms, range->delay_ms);
	if (range->seed & VGPU_MOCK_SLOW_END) {
		atomic_inc(&buf->faults_ended);
		wake_up_all(&buf->fill_queue);
	}
	vgpu_mock_buf_put(buf);
	return 0;
}

long vgpu_mock_buf_info(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_info *info = call->data;
	struct vgpu_mock_buf *buf;

	buf = vgpu_mock_buf_find(call->file, info->id);
	if (!buf)
		return -ENOENT;
	info->out_flavour = buf->flavour;
	info->out_size = buf->size;
	mutex_lock(&buf->lock);
	info->out_pages = buf->nr_pages;
	mutex_unlock(&buf->lock);
	info->out_maps = atomic_read(&buf->maps);
	info->out_faults = atomic_read(&buf->faults);
	info->out_notified = atomic_read(&buf->notified);
	info->out_huge = atomic_read(&buf->huge_faults);
	vgpu_mock_buf_put(buf);
	return 0;
}

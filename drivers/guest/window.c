// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: ranges, faults, and what the host says. See window.h.
 *
 * A page that the host cannot show any more (the driver has revoked it, or does not
 * answer) is one without meaning in the window, and the host says INVALIDATE. Then
 * programs lose it, and whoever touches it asks the host, by READ_PAGES, as copy
 * mode does: its answer is the program's SIGBUS, or that the page is there again.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "control.h"
#include "export.h"
#include "fault.h"
#include "host.h"
#include "mapping.h"
#include "pages.h"
#include "session.h"
#include "space.h"
#include "window.h"

static const struct vgpu_window_provider *const window_providers[] = {
	&vgpu_window_loopback,
#ifdef CONFIG_PCI
	&vgpu_window_ivshmem,
#endif
};

static void window_free(struct kref *ref)
{
	struct vgpu_window *window = container_of(ref, struct vgpu_window, ref);

	window->provider->close(window);
	kvfree(window->map);
	kfree(window);
}

static void window_put(struct vgpu_window *window)
{
	kref_put(&window->ref, window_free);
}

/* Return: the host's window, with a reference, or NULL. */
static struct vgpu_window *window_get(struct vgpu_host *host)
{
	struct vgpu_window *window;

	spin_lock(&host->lock);
	window = host->window;
	if (window)
		kref_get(&window->ref);
	spin_unlock(&host->lock);
	return window;
}

bool vgpu_window_is_there(struct vgpu_host *host)
{
	return READ_ONCE(host->window);
}

/* --- ranges --------------------------------------------------------------- */

/* First range that ends after @offset. */
static struct vgpu_window_range *range_first(struct vgpu_window *window, u64 offset)
{
	struct rb_node *node = window->ranges.rb_node;
	struct vgpu_window_range *found = NULL;

	lockdep_assert_held(&window->lock);
	while (node) {
		struct vgpu_window_range *range = rb_entry(node, struct vgpu_window_range, node);

		if (range->offset + range->len > offset) {
			found = range;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static void range_insert(struct vgpu_window *window, struct vgpu_window_range *range)
{
	struct rb_node **link = &window->ranges.rb_node, *parent = NULL;

	lockdep_assert_held(&window->lock);
	while (*link) {
		parent = *link;
		if (range->offset < rb_entry(parent, struct vgpu_window_range, node)->offset)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&range->node, parent, link);
	rb_insert_color(&range->node, &window->ranges);
}

/* Its part of the window is free; the caller frees it. */
static void range_remove(struct vgpu_window *window, struct vgpu_window_range *range)
{
	lockdep_assert_held(&window->lock);
	rb_erase(&range->node, &window->ranges);
	bitmap_clear(window->map, range->offset >> PAGE_SHIFT, range->len >> PAGE_SHIFT);
}

static void range_free(struct vgpu_window_range *range)
{
	if (range->bound)
		range->window->provider->unbind(range);
	xa_destroy(&range->good);
	window_put(range->window);
	kfree(range);
}

struct vgpu_window_range *vgpu_window_claim(struct vgpu_host *host, u64 len)
{
	struct vgpu_window *window = window_get(host);
	unsigned long nr = len >> PAGE_SHIFT;
	struct vgpu_window_range *range;
	unsigned long at, end;

	if (!window)
		return NULL;
	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range || len > window->size)
		goto err_free;
	xa_init(&range->good);
	range->window = window;
	range->len = len;
	end = window->size >> PAGE_SHIFT;

	mutex_lock(&window->lock);
	at = bitmap_find_next_zero_area(window->map, end, window->next, nr, 0);
	if (at >= end)
		at = bitmap_find_next_zero_area(window->map, end, 0, nr, 0);
	if (at < end && !READ_ONCE(window->gone)) {
		bitmap_set(window->map, at, nr);
		window->next = at + nr;
		range->offset = (u64)at << PAGE_SHIFT;
		range_insert(window, range);
	}
	mutex_unlock(&window->lock);
	/* The header is never claimed. */
	if (range->offset)
		return range;
err_free:
	kfree(range);
	window_put(window);
	return NULL;
}

int vgpu_window_attach(struct vgpu_window_range *range, struct vgpu_mapping *mapping)
{
	const struct vgpu_window_provider *provider = range->window->provider;
	int ret;

	if (provider->bind) {
		ret = provider->bind(range, mapping->cache);
		if (ret)
			return ret;
		range->bound = true;
	}
	mutex_lock(&range->window->lock);
	range->mapping = mapping;
	range->state = VGPU_RANGE_MAPPED;
	mutex_unlock(&range->window->lock);
	return 0;
}

void vgpu_window_release(struct vgpu_window_range *range, bool bound)
{
	struct vgpu_window *window = range->window;
	u64 offset = range->offset, len = range->len;
	bool wait;

	kref_get(&window->ref);
	mutex_lock(&window->lock);
	wait = bound && !READ_ONCE(window->gone);
	range->mapping = NULL;
	range->state = VGPU_RANGE_RELEASED;
	if (!wait)
		range_remove(window, range);
	mutex_unlock(&window->lock);
	if (wait)
		vgpu_control_unbind(window->host, window->id, offset, len);
	else
		range_free(range);
	window_put(window);
}

/* --- page tables ---------------------------------------------------------- */

void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len)
{
	u64 end = offset + len;
	struct vgpu_window_range *range;

	mutex_lock(&window->lock);
	for (; offset < end; offset = range->offset + range->len) {
		u64 first, last;

		range = range_first(window, offset);
		if (!range || range->offset >= end)
			break;
		if (range->state != VGPU_RANGE_MAPPED)
			continue;
		first = max(offset, range->offset) - range->offset;
		last = min(end, range->offset + range->len) - range->offset;
		vgpu_unmap_nested(vgpu_space_mapping(range->mapping->space),
				  range->mapping->pgoff + (first >> PAGE_SHIFT),
				  (last - first) >> PAGE_SHIFT);
	}
	mutex_unlock(&window->lock);
}

void vgpu_window_forget(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t nr)
{
	struct vgpu_window *window = mapping->range->window;

	/* Who has found it covered has put it in when this is through. */
	down_write(&window->use);
	up_write(&window->use);
	unmap_mapping_pages(vgpu_space_mapping(mapping->space), first, nr, false);
}

static bool range_is_bad(struct vgpu_window_range *range, u64 offset)
{
	return offset >= range->bad_first && offset < range->bad_end &&
		!xa_load(&range->good, offset >> PAGE_SHIFT);
}

/* Has the host the page? Return: 0, or why not. */
static int window_ask(struct vgpu_mapping *mapping, pgoff_t pgoff, u64 offset)
{
	struct vgpu_window_range *range = mapping->range;
	struct vgpu_window *window = range->window;
	u64 count;
	void *buf;
	s64 got;
	int ret = 0;

	buf = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	down_read(&window->use);
	count = range->bad_count;
	up_read(&window->use);
	got = vgpu_pages_read(mapping->session, &mapping->export->stats,
			      vgpu_mapping_addr(mapping, pgoff), buf, PAGE_SIZE);
	kfree(buf);
	if (got <= 0)
		return got ?: -EFAULT;
	down_read(&window->use);
	/* It may have failed again. */
	if (count == range->bad_count)
		ret = xa_err(xa_store(&range->good, offset >> PAGE_SHIFT, xa_mk_value(1),
				      GFP_KERNEL_ACCOUNT));
	up_read(&window->use);
	return ret;
}

/* Pages around that of the fault, which was put in, as far as that needs no waiting. */
static void window_insert_ahead(struct vgpu_mapping *mapping, const struct vm_fault *vmf,
				bool writable)
{
	struct vgpu_window_range *range = mapping->range;
	struct vgpu_window *window = range->window;
	struct vm_area_struct *vma = vmf->vma;
	pgoff_t first = round_down(vmf->pgoff, window->provider->ahead);
	pgoff_t end = min(first + window->provider->ahead, vma->vm_pgoff + vma_pages(vma));
	pgoff_t covered = 0, pgoff;

	for (pgoff = max(first, vma->vm_pgoff); pgoff < end; pgoff++) {
		struct vm_fault near = {
			.vma = vma,
			.address = vma->vm_start + ((pgoff - vma->vm_pgoff) << PAGE_SHIFT),
			.pgoff = pgoff,
			.flags = vmf->flags,
		};
		u64 offset = range->offset + ((u64)(pgoff - mapping->pgoff) << PAGE_SHIFT);

		if (pgoff >= covered)
			covered = pgoff + vgpu_mapping_covered(mapping, pgoff);
		if (pgoff == vmf->pgoff || pgoff >= covered || range_is_bad(range, offset))
			continue;
		if (window->provider->insert(window, &near, offset, writable, mapping->cache) !=
		    VM_FAULT_NOPAGE)
			break;
	}
}

static vm_fault_t window_fault(struct vm_fault *vmf, bool writable)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_window_range *range = mapping->range;
	struct vgpu_window *window = range->window;
	pgoff_t pgoff = vmf->pgoff;
	u64 offset = range->offset + ((u64)(pgoff - mapping->pgoff) << PAGE_SHIFT);
	bool ask = false;
	vm_fault_t fault;
	int ret;

	fault = vgpu_mapping_take_error(mapping, pgoff);
	if (fault)
		return fault;

	down_read(&window->use);
	if (window->gone || !vgpu_mapping_covered(mapping, pgoff)) {
		fault = VM_FAULT_SIGBUS;
	} else if (range_is_bad(range, offset)) {
		fault = VM_FAULT_RETRY;
		ask = true;
	} else {
		fault = window->provider->insert(window, vmf, offset, writable, mapping->cache);
		if (fault == VM_FAULT_NOPAGE && window->provider->ahead)
			window_insert_ahead(mapping, vmf, writable);
	}
	up_read(&window->use);
	if (fault != VM_FAULT_RETRY)
		return fault;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	vgpu_mapping_get(mapping);
	release_fault_lock(vmf);
	/* From here on neither vmf nor its VMA may be looked at. */
	if (ask) {
		ret = window_ask(mapping, pgoff, offset);
		if (ret && ret != -EINTR)
			vgpu_mapping_leave_error(mapping, pgoff, ret);
	} else {
		window->provider->resolve(window, offset);
	}
	vgpu_mapping_put(mapping);
	return VM_FAULT_RETRY;
}

vm_fault_t vgpu_window_fault(struct vm_fault *vmf)
{
	return window_fault(vmf, true);
}

vm_fault_t vgpu_window_fault_read_only(struct vm_fault *vmf)
{
	return window_fault(vmf, false);
}

/* --- messages of the host -------------------------------------------------- */

/* Return: the window if the host means that, with a reference, or NULL. */
static struct vgpu_window *window_named(struct vgpu_host *host, __le64 id)
{
	struct vgpu_window *window = window_get(host);

	if (window && window->id != le64_to_cpu(id)) {
		window_put(window);
		window = NULL;
	}
	return window;
}

void vgpu_window_invalidate(struct vgpu_host *host, const struct vgpu_window_part *part)
{
	struct vgpu_window *window = window_named(host, part->window);
	u64 offset = le64_to_cpu(part->offset), end = offset + le64_to_cpu(part->len);
	struct vgpu_window_range *range;
	unsigned long index;
	u64 at = offset;
	void *entry;

	if (!window)
		return;
	down_write(&window->use);
	mutex_lock(&window->lock);
	for (; at < end; at = range->offset + range->len) {
		range = range_first(window, at);
		if (!range || range->offset >= end)
			break;
		if (range->bad_first == range->bad_end) {
			range->bad_first = offset;
			range->bad_end = end;
		}
		range->bad_first = min(range->bad_first, offset);
		range->bad_end = max(range->bad_end, end);
		range->bad_count++;
		xa_for_each_range(&range->good, index, entry, offset >> PAGE_SHIFT,
				  (end - 1) >> PAGE_SHIFT)
			xa_erase(&range->good, index);
	}
	mutex_unlock(&window->lock);
	up_write(&window->use);
	vgpu_window_zap(window, offset, end - offset);
	window_put(window);
}

void vgpu_window_unbound(struct vgpu_host *host, const struct vgpu_window_part *part)
{
	struct vgpu_window *window = window_named(host, part->window);
	u64 offset = le64_to_cpu(part->offset);
	struct vgpu_window_range *range;

	if (!window)
		return;
	mutex_lock(&window->lock);
	range = range_first(window, offset);
	/* Others were not asked for. */
	if (range && range->offset == offset && range->len == le64_to_cpu(part->len) &&
	    range->state == VGPU_RANGE_RELEASED)
		range_remove(window, range);
	else
		range = NULL;
	mutex_unlock(&window->lock);
	if (range)
		range_free(range);
	window_put(window);
}

void vgpu_window_lost(struct vgpu_window *window)
{
	down_write(&window->use);
	WRITE_ONCE(window->gone, true);
	up_write(&window->use);
	vgpu_window_zap(window, 0, window->size);
}

/* Takes over the host's reference. */
static void window_end(struct vgpu_window *window)
{
	struct vgpu_window_range *range;

	vgpu_window_lost(window);
	/* No UNBOUND comes any more. Those that mappings show go with them. */
	for (;;) {
		struct rb_node *node;

		range = NULL;
		mutex_lock(&window->lock);
		for (node = rb_first(&window->ranges); node; node = rb_next(node)) {
			range = rb_entry(node, struct vgpu_window_range, node);
			if (range->state == VGPU_RANGE_RELEASED)
				break;
			range = NULL;
		}
		if (range)
			range_remove(window, range);
		mutex_unlock(&window->lock);
		if (!range)
			break;
		range_free(range);
	}
	window_put(window);
}

void vgpu_window_abort(struct vgpu_host *host)
{
	struct vgpu_window *window;

	spin_lock(&host->lock);
	window = host->window;
	WRITE_ONCE(host->window, NULL);
	spin_unlock(&host->lock);
	if (window)
		window_end(window);
}

static struct vgpu_window *window_alloc(struct vgpu_host *host, u64 id, u64 size)
{
	struct vgpu_window *window;

	window = kzalloc(sizeof(*window), GFP_KERNEL);
	if (!window)
		return NULL;
	window->map = kvcalloc(BITS_TO_LONGS(size >> PAGE_SHIFT), sizeof(long), GFP_KERNEL);
	if (!window->map) {
		kfree(window);
		return NULL;
	}
	kref_init(&window->ref);
	window->host = host;
	window->id = id;
	window->size = size;
	init_rwsem(&window->use);
	mutex_init(&window->lock);
	window->ranges = RB_ROOT;
	/* The header. */
	bitmap_set(window->map, 0, 1);
	return window;
}

void vgpu_window_announce(struct vgpu_host *host, const struct vgpu_window_info *info)
{
	u64 size = le64_to_cpu(info->size);
	struct vgpu_window *window;
	unsigned int i;

	/* One at a time. */
	vgpu_window_abort(host);
	if (!size)
		return;
	window = window_alloc(host, le64_to_cpu(info->window), size);
	if (!window)
		return;
	for (i = 0; i < ARRAY_SIZE(window_providers); i++) {
		if (window_providers[i]->open(window))
			continue;
		window->provider = window_providers[i];
		spin_lock(&host->lock);
		WRITE_ONCE(host->window, window);
		spin_unlock(&host->lock);
		return;
	}
	/* No provider reaches it: all goes by copy. */
	kvfree(window->map);
	kfree(window);
}

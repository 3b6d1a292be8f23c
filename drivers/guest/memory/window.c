// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: the ranges of a window, faults on them, and the host's messages. See window.h.
 *
 * The host may be unable to show a page any more: the driver has revoked the page, or does not
 * answer. Then the window shows a substitute page there, and the host sends INVALIDATE. The
 * guest zaps the page's PTEs. The next access faults and asks the host by READ_PAGES, as in
 * copy mode. If the host answers with an error, the program gets SIGBUS; if the host has the
 * page, the guest maps it again.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "fault.h"
#include "link/control.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/move.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/window.h"
#include "memory/window_range.h"

/*
 * A page that fails again within so many seconds after the host has given it is a page that the
 * window cannot show. A later failure counts as a new one, of a driver that was busy for
 * example.
 */
#define WINDOW_HOPELESS_SECONDS	10

/* Protects the list of hosts that have announced a window, and their announcements. */
static DEFINE_MUTEX(window_hosts_lock);
static LIST_HEAD(window_hosts);

/*
 * Generation of the last INVALIDATE. Ranges never share one, so an equal bad_count means the
 * same range.
 */
static atomic64_t window_bad_count;

static const struct vgpu_window_provider *const window_providers[] = {
#ifdef VGPU_TESTING
	&vgpu_window_loopback,
#endif
	&vgpu_window_provider_device,
};

static void window_free(struct kref *ref)
{
	struct vgpu_window *window = container_of(ref, struct vgpu_window, ref);

	window->provider->close(window);
	kvfree(window->map);
	kfree(window);
}

void vgpu_window_put(struct vgpu_window *window)
{
	kref_put(&window->ref, window_free);
}

struct vgpu_window *vgpu_window_get(struct vgpu_host *host)
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
	struct vgpu_window *window = vgpu_window_get(host);
	bool open = window && vgpu_window_is_open(window);

	if (window)
		vgpu_window_put(window);
	return open;
}

void vgpu_window_missed(const struct vgpu_export *export)
{
	struct vgpu_host *host = export->host;
	bool is_new;

	spin_lock(&host->lock);
	is_new = !host->window && !host->window_missed;
	if (is_new)
		host->window_missed = true;
	spin_unlock(&host->lock);
	if (is_new)
		pr_notice_ratelimited("%s cannot use memory of %s of host %s: this memory does not work as a copy, so this guest needs a window (on the host: vgpuctl window create; see Documentation/admin/window.rst)\n",
				      current->comm, export->name, host->name);
}

/* --- page tables ---------------------------------------------------------- */

/* Returns true if the page may have failed; called under window->use. */
static bool range_is_bad(struct vgpu_window_range *range, u64 offset)
{
	return offset >= range->bad_first && offset < range->bad_end &&
		!xa_load(&range->good, offset >> PAGE_SHIFT);
}

static u64 window_offset(const struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	return mapping->range->offset + ((u64)(pgoff - mapping->pgoff) << PAGE_SHIFT);
}

/*
 * Takes the locks that keep a mapping in its window. Return: the range; NULL without the locks
 * if the mapping is not in window mode.
 */
static struct vgpu_window_range *range_lock(struct vgpu_mapping *mapping)
{
	down_read(&mapping->mode_lock);
	if (mapping->mode == VGPU_MAPPING_WINDOW) {
		down_read(&mapping->range->window->use);
		return mapping->range;
	}
	up_read(&mapping->mode_lock);
	return NULL;
}

static void range_unlock(struct vgpu_mapping *mapping, struct vgpu_window_range *range)
{
	up_read(&range->window->use);
	up_read(&mapping->mode_lock);
}

/*
 * Asks the host for a page that may have failed. Return: 0: fault again; or why the host does
 * not have it.
 */
static int window_ask(struct vgpu_mapping *mapping, pgoff_t pgoff, u64 count,
		      unsigned long deadline)
{
	struct vgpu_window_range *range;
	int ret = 0;
	void *buf;
	s64 got;

	buf = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	got = vgpu_pages_read(mapping->session, &mapping->export->stats,
			      vgpu_mapping_addr(mapping, pgoff), buf, PAGE_SIZE, deadline);
	kfree(buf);
	if (got <= 0)
		return got ?: -EFAULT;
	range = range_lock(mapping);
	if (!range)
		return 0;
	/* The answer is void if the page has failed again, or the mapping has moved. */
	if (range->bad_count == count)
		ret = xa_err(xa_store(&range->good, window_offset(mapping, pgoff) >> PAGE_SHIFT,
				      xa_mk_value(ktime_get_seconds()), GFP_KERNEL_ACCOUNT));
	range_unlock(mapping, range);
	return ret;
}

/*
 * Computes the pages that may be mapped around the page of a fault: the pages of the same 2 MiB
 * (one page table) that the VMA covers, that are mapped at the host and that have not failed.
 */
static void window_area(const struct vm_fault *vmf, struct vgpu_window_range *range,
			struct vgpu_window_area *area)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vgpu_mapping *mapping = vma->vm_private_data;
	unsigned long addr = vmf->address & PAGE_MASK;
	pgoff_t first = vmf->pgoff, end = vmf->pgoff + 1;
	pgoff_t low = max(addr & PMD_MASK, vma->vm_start);
	pgoff_t high = min((addr & PMD_MASK) + PMD_SIZE - 1, vma->vm_end - 1) + 1;
	pgoff_t mapped_first, mapped_end;

	low = vmf->pgoff - ((addr - low) >> PAGE_SHIFT);
	high = vmf->pgoff + ((high - addr) >> PAGE_SHIFT);
	vgpu_mapping_around(mapping, vmf->pgoff, &mapped_first, &mapped_end);
	low = max(low, mapped_first);
	high = min(high, mapped_end);
	while (first > low && !range_is_bad(range, window_offset(mapping, first - 1)))
		first--;
	while (end < high && !range_is_bad(range, window_offset(mapping, end)))
		end++;
	area->offset = window_offset(mapping, vmf->pgoff);
	area->first = window_offset(mapping, first);
	area->end = area->first + ((u64)(end - first) << PAGE_SHIFT);
}

vm_fault_t vgpu_window_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	u64 offset = window_offset(mapping, vmf->pgoff);
	struct vgpu_window_range *range = mapping->range;
	bool writable = mapping->flags & VGPU_MAP_WRITE;
	struct vgpu_window *window = range->window;
	vm_fault_t fault = VM_FAULT_RETRY;
	struct vgpu_window_area area;

	lockdep_assert_held_read(&mapping->mode_lock);
	down_read(&window->use);
	if (!vgpu_mapping_covered(mapping, vmf->pgoff) || vgpu_host_is_down(window->host)) {
		fault = VM_FAULT_SIGBUS;
	} else if (!window->gone && !range_is_bad(range, offset)) {
		window_area(vmf, range, &area);
		mutex_lock(&range->insert);
		/* A concurrent fault may have inserted a PMD mapping. */
		fault = vgpu_fault_is_huge(vmf) ? VM_FAULT_NOPAGE :
			window->provider->insert(window, vmf, &area, writable, mapping->cache);
		mutex_unlock(&range->insert);
	}
	up_read(&window->use);
	return fault;
}

#ifdef VGPU_HAVE_HUGE
vm_fault_t vgpu_window_huge_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_window_range *range = mapping->range;
	bool writable = mapping->flags & VGPU_MAP_WRITE;
	struct vgpu_window *window = range->window;
	vm_fault_t fault = VM_FAULT_FALLBACK;
	struct vgpu_window_area area;

	lockdep_assert_held_read(&mapping->mode_lock);
	if (!window->provider->insert_huge)
		return fault;
	down_read(&window->use);
	if (!vgpu_mapping_covered(mapping, vmf->pgoff) || vgpu_host_is_down(window->host) ||
	    window->gone || range_is_bad(range, window_offset(mapping, vmf->pgoff)))
		goto out_unlock;
	window_area(vmf, range, &area);
	if (area.end - area.first != PMD_SIZE || area.first % PMD_SIZE)
		goto out_unlock;
	mutex_lock(&range->insert);
	fault = window->provider->insert_huge(window, vmf, area.offset, writable, mapping->cache);
	mutex_unlock(&range->insert);
	if (fault == VM_FAULT_NOPAGE)
		WRITE_ONCE(range->huge, true);
out_unlock:
	up_read(&window->use);
	return fault;
}
#endif

void vgpu_window_fork(struct vgpu_mapping *mapping, struct vm_area_struct *vma)
{
	bool huge;

	/* No fault can insert one again: fork() holds the parent's mmap_lock for writing. */
	down_read(&mapping->mode_lock);
	huge = mapping->range && READ_ONCE(mapping->range->huge);
	up_read(&mapping->mode_lock);
	if (huge)
		unmap_mapping_pages(vgpu_space_mapping(mapping->space), vma->vm_pgoff,
				    vma_pages(vma), false);
}

vm_fault_t vgpu_window_mkwrite(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;

	lockdep_assert_held_read(&mapping->mode_lock);
	/* The host needs no message: it resolves a writable mapping for writing at once. */
	if (!(mapping->flags & VGPU_MAP_WRITE))
		return VM_FAULT_SIGBUS;
	if (!(vmf->vma->vm_flags & VM_PFNMAP))
		return 0;
	/*
	 * Zap the PTE, so that the access faults anew. Otherwise finish_mkwrite_fault() makes a
	 * PTE writable after the return, without mode_lock. That PTE may look the same, but map
	 * a cached page of copy mode.
	 */
	zap_special_vma_range(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	return VM_FAULT_NOPAGE;
}

int vgpu_window_wait(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline)
{
	struct vgpu_window_range *range = range_lock(mapping);
	u64 offset, count, moves;
	struct vgpu_window *window;
	bool bad, gone;
	int ret = 0;

	if (!range)
		return 0;
	window = range->window;
	kref_get(&window->ref);
	offset = window_offset(mapping, pgoff);
	moves = mapping->moves;
	count = range->bad_count;
	bad = range_is_bad(range, offset);
	/* A mapping that needs the window does not go by copy: the host is asked each time. */
	if (bad && range->hopeless && !mapping->live)
		WRITE_ONCE(mapping->stays, true);
	gone = window->gone || READ_ONCE(mapping->stays);
	range_unlock(mapping, range);

	if (gone && mapping->live)
		ret = -EFAULT;
	else if (gone)
		ret = vgpu_move_now(mapping, moves, deadline);
	else if (bad)
		ret = window_ask(mapping, pgoff, count, deadline);
	else if (window->provider->resolve)
		ret = window->provider->resolve(window, offset);
	vgpu_window_put(window);
	return ret;
}

/* --- messages of the host -------------------------------------------------- */

struct vgpu_window *vgpu_window_named(struct vgpu_host *host, __le64 id)
{
	struct vgpu_window *window = vgpu_window_get(host);

	if (window && window->id != le64_to_cpu(id)) {
		vgpu_window_put(window);
		window = NULL;
	}
	return window;
}

void vgpu_window_invalidate(struct vgpu_host *host, const struct vgpu_window_part *part)
{
	struct vgpu_window *window = vgpu_window_named(host, part->window);
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
		range = vgpu_window_range_first(window, at);
		if (!range || range->offset >= end)
			break;
		if (range->bad_first == range->bad_end) {
			range->bad_first = offset;
			range->bad_end = end;
		}
		range->bad_first = min(range->bad_first, offset);
		range->bad_end = max(range->bad_end, end);
		range->bad_count = atomic64_inc_return(&window_bad_count);
		xa_for_each_range(&range->good, index, entry, offset >> PAGE_SHIFT,
				  (end - 1) >> PAGE_SHIFT) {
			if (ktime_get_seconds() - xa_to_value(entry) < WINDOW_HOPELESS_SECONDS)
				range->hopeless = true;
			xa_erase(&range->good, index);
		}
	}
	mutex_unlock(&window->lock);
	up_write(&window->use);
	vgpu_window_zap(window, offset, end - offset);
	vgpu_window_put(window);
}

static void window_go(struct vgpu_host *host)
{
	struct vgpu_window *window;

	spin_lock(&host->lock);
	window = host->window;
	WRITE_ONCE(host->window, NULL);
	spin_unlock(&host->lock);
	if (window)
		vgpu_window_end(window);
}

void vgpu_window_abort(struct vgpu_host *host)
{
	mutex_lock(&window_hosts_lock);
	list_del_init(&host->window_entry);
	window_go(host);
	mutex_unlock(&window_hosts_lock);
}

/*
 * Allocates a window without provider and map: the size is unchecked until a provider has
 * opened it.
 */
static struct vgpu_window *window_alloc(struct vgpu_host *host, const struct vgpu_window_info *info)
{
	struct vgpu_window *window = kzalloc(sizeof(*window), GFP_KERNEL);

	if (!window)
		return NULL;
	kref_init(&window->ref);
	window->host = host;
	window->id = le64_to_cpu(info->window);
	window->size = le64_to_cpu(info->size);
	window->drain = le32_to_cpu(info->flags) & VGPU_WINDOW_DRAIN;
	init_rwsem(&window->use);
	mutex_init(&window->lock);
	window->ranges = RB_ROOT;
	return window;
}

/* Return: true if a provider reaches all of the window; else all mappings go by copy. */
static bool window_open(struct vgpu_window *window)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(window_providers); i++) {
		if (window_providers[i]->open(window))
			continue;
		window->provider = window_providers[i];
		return true;
	}
	return false;
}

/* Allocates the bitmap of claimed pages, with the header claimed. */
static bool window_map(struct vgpu_window *window)
{
	unsigned long nr = window->size >> PAGE_SHIFT;

	window->map = kvcalloc(BITS_TO_LONGS(nr), sizeof(long), GFP_KERNEL | __GFP_NOWARN);
	if (!window->map)
		return false;
	bitmap_set(window->map, 0, 1);
	return true;
}

bool vgpu_window_is_open(const struct vgpu_window *window)
{
	return !READ_ONCE(window->gone) && !READ_ONCE(window->drain);
}

/* Applies the announced flags if the window is there already. Return: false if it is not. */
static bool window_change(struct vgpu_host *host)
{
	const struct vgpu_window_info *info = &host->window_info;
	struct vgpu_window *window = vgpu_window_named(host, info->window);

	if (!window)
		return false;
	WRITE_ONCE(window->drain, le32_to_cpu(info->flags) & VGPU_WINDOW_DRAIN);
	vgpu_window_put(window);
	return true;
}

static void window_come(struct vgpu_host *host)
{
	struct vgpu_window *window = window_alloc(host, &host->window_info);

	if (!window)
		return;
	if (!window_open(window)) {
		kfree(window);
		return;
	}
	if (!window_map(window)) {
		vgpu_window_put(window);
		return;
	}
	spin_lock(&host->lock);
	WRITE_ONCE(host->window, window);
	spin_unlock(&host->lock);
}

void vgpu_window_announce(struct vgpu_host *host, const struct vgpu_window_info *info)
{
	mutex_lock(&window_hosts_lock);
	host->window_info = *info;
	if (list_empty(&host->window_entry))
		list_add_tail(&host->window_entry, &window_hosts);
	if (!info->size || !window_change(host)) {
		/* A host has one window at a time. */
		window_go(host);
		if (info->size)
			window_come(host);
	}
	mutex_unlock(&window_hosts_lock);
	vgpu_move_later(host);
}

void vgpu_window_found(void)
{
	struct vgpu_host *host;

	mutex_lock(&window_hosts_lock);
	list_for_each_entry(host, &window_hosts, window_entry)
		vgpu_move_later(host);
	mutex_unlock(&window_hosts_lock);
}

void vgpu_window_settle(struct vgpu_host *host)
{
	struct vgpu_window *window;
	bool over = true;

	mutex_lock(&window_hosts_lock);
	/* host->window changes under window_hosts_lock only. */
	window = host->window;
	if (window) {
		mutex_lock(&window->lock);
		over = vgpu_window_is_over(window);
		mutex_unlock(&window->lock);
	}
	if (over && !list_empty(&host->window_entry)) {
		window_go(host);
		if (host->window_info.size)
			window_come(host);
	}
	mutex_unlock(&window_hosts_lock);
}

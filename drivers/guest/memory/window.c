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

/* Woken when nothing is bound in a lost window any more, or when a window has ended. */
static DECLARE_WAIT_QUEUE_HEAD(window_hidden_wait);

/* Frees ranges: a provider's unbind may take long, and the host's messages must not wait. */
static struct workqueue_struct *window_wq;

int vgpu_window_global_init(void)
{
	window_wq = alloc_workqueue("vgpu_window_ranges", WQ_UNBOUND, 0);
	return window_wq ? 0 : -ENOMEM;
}

void vgpu_window_global_exit(void)
{
	destroy_workqueue(window_wq);
}

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

/* --- ranges --------------------------------------------------------------- */

/* Returns the first range that ends after @offset. */
static struct vgpu_window_range *vgpu_window_range_first(struct vgpu_window *window, u64 offset)
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
	WRITE_ONCE(window->nr_shown, window->nr_shown + 1);
}

/* Returns true if the window is lost and the host has nothing bound in it any more. */
static bool vgpu_window_is_over(const struct vgpu_window *window)
{
	lockdep_assert_held(&window->lock);
	return READ_ONCE(window->gone) && !window->nr_shown;
}

/* Accounts that the host has nothing bound in a range of the window, and never will. */
static void range_hidden(struct vgpu_window *window)
{
	lockdep_assert_held(&window->lock);
	WRITE_ONCE(window->nr_shown, window->nr_shown - 1);
	if (!window->nr_shown)
		wake_up_all(&window_hidden_wait);
}

/*
 * Removes a range from the window, whose pages are free then; the caller frees the range.
 * Return: true if vgpu_move_room() has to be called: a mapping waits for room, or the window is
 * lost and its memory can be opened anew.
 */
static bool range_remove(struct vgpu_window *window, struct vgpu_window_range *range)
{
	bool wanted = false;

	lockdep_assert_held(&window->lock);
	if (range->state != VGPU_RANGE_HIDDEN)
		range_hidden(window);
	rb_erase(&range->node, &window->ranges);
	bitmap_clear(window->map, range->offset >> PAGE_SHIFT, range->len >> PAGE_SHIFT);
	swap(wanted, window->wanted);
	return wanted || vgpu_window_is_over(window);
}

static void range_unbind(struct vgpu_window_range *range)
{
	if (range->bound)
		range->window->provider->unbind(range);
	range->bound = false;
}

static void range_free(struct vgpu_window_range *range)
{
	range_unbind(range);
	xa_destroy(&range->good);
	vgpu_window_put(range->window);
	kfree(range);
}

/*
 * Frees a range after its UNBOUND. The pages stay claimed until the provider's unbind has run,
 * because a page must not be mapped with two cache attributes.
 */
static void range_unbound_work(struct work_struct *work)
{
	struct vgpu_window_range *range = container_of(work, struct vgpu_window_range, unbound);
	struct vgpu_window *window = range->window;

	range_unbind(range);
	mutex_lock(&window->lock);
	/* The host may be freed once the window has ended. */
	if (range_remove(window, range) && !window->ended)
		vgpu_move_room(window->host);
	mutex_unlock(&window->lock);
	range_free(range);
}

/*
 * Finds @nr free pages; returns a page behind the window's end if there are none. Large ranges
 * are looked for in the upper half first and small ones in the lower half: a page table that
 * was allocated for single pages stays, and a PMD mapping cannot be inserted in its place.
 */
static unsigned long range_place(struct vgpu_window *window, u64 addr, unsigned long nr)
{
	unsigned long end = window->size >> PAGE_SHIFT, half = end / 2, at;

	if (nr >= PTRS_PER_PMD) {
		unsigned long shift = -(addr >> PAGE_SHIFT) % PTRS_PER_PMD;

		at = bitmap_find_next_zero_area_off(window->map, end, half, nr,
						    PTRS_PER_PMD - 1, shift);
		if (at >= end)
			at = bitmap_find_next_zero_area_off(window->map, end, 0, nr,
							    PTRS_PER_PMD - 1, shift);
	} else {
		at = bitmap_find_next_zero_area(window->map, half, window->next, nr, 0);
		if (at >= half)
			at = bitmap_find_next_zero_area(window->map, half, 0, nr, 0);
		if (at < half)
			window->next = at + nr;
		else
			at = end;
	}
	if (at >= end)
		at = bitmap_find_next_zero_area(window->map, end, 0, nr, 0);
	return at;
}

struct vgpu_window_range *vgpu_window_claim(struct vgpu_host *host, u64 addr, u64 len)
{
	struct vgpu_window *window = vgpu_window_get(host);
	unsigned long nr = len >> PAGE_SHIFT;
	struct vgpu_window_range *range;
	unsigned long at;

	if (!window)
		return NULL;
	if (!vgpu_window_is_open(window)) {
		vgpu_window_put(window);
		return NULL;
	}
	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range || len > window->size)
		goto err_free;
	xa_init(&range->good);
	mutex_init(&range->insert);
	INIT_WORK(&range->unbound, range_unbound_work);
	range->window = window;
	range->len = len;

	mutex_lock(&window->lock);
	at = range_place(window, addr, nr);
	if (at < window->size >> PAGE_SHIFT && !READ_ONCE(window->gone)) {
		bitmap_set(window->map, at, nr);
		range->offset = (u64)at << PAGE_SHIFT;
		range_insert(window, range);
	} else {
		window->wanted = true;
	}
	mutex_unlock(&window->lock);
	/* Offset 0 means that nothing was found: the header is claimed from the beginning. */
	if (range->offset)
		return range;
err_free:
	kfree(range);
	vgpu_window_put(window);
	return NULL;
}

/*
 * Unbinds the ranges of a lost window whose mappings cannot be copied. The mappings keep their
 * ranges, and the host ends what is bound there.
 */
static void window_leave(struct vgpu_window *window)
{
	struct vgpu_window_range *range;
	struct rb_node *node;
	u64 offset, len;

	do {
		range = NULL;
		mutex_lock(&window->lock);
		for (node = window->ended ? NULL : rb_first(&window->ranges); node;
		     node = rb_next(node)) {
			range = rb_entry(node, struct vgpu_window_range, node);
			if (range->state == VGPU_RANGE_MAPPED && range->mapping->live)
				break;
			range = NULL;
		}
		if (range) {
			range->state = VGPU_RANGE_LEFT;
			offset = range->offset;
			len = range->len;
			/*
			 * vgpu_control_unbind() may reclaim memory, which is forbidden under
			 * the lock; the host must stay.
			 */
			vgpu_host_get(window->host);
		}
		mutex_unlock(&window->lock);
		if (range) {
			vgpu_control_unbind(window->host, window->id, offset, len);
			vgpu_host_put(window->host);
		}
	} while (range);
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
	/* The window was lost meanwhile, perhaps after window_leave() had looked at the range. */
	if (READ_ONCE(range->window->gone))
		window_leave(range->window);
	return 0;
}

void vgpu_window_release(struct vgpu_window_range *range, bool bound)
{
	struct vgpu_window *window = range->window;
	u64 offset = range->offset, len = range->len;
	bool wait, asked, wanted = false;

	kref_get(&window->ref);
	mutex_lock(&window->lock);
	wait = bound && !window->ended && range->state != VGPU_RANGE_HIDDEN;
	asked = range->state == VGPU_RANGE_LEFT;
	range->mapping = NULL;
	if (wait)
		range->state = VGPU_RANGE_RELEASED;
	else
		/* The host may be freed once the window has ended. */
		wanted = range_remove(window, range) && !window->ended;
	mutex_unlock(&window->lock);
	if (!wait)
		range_free(range);
	else if (!asked)
		vgpu_control_unbind(window->host, window->id, offset, len);
	if (wanted)
		vgpu_move_room(window->host);
	vgpu_window_put(window);
}

void vgpu_window_unclaim(struct vgpu_window_range *range)
{
	struct vgpu_window *window = range->window;

	mutex_lock(&window->lock);
	/*
	 * Keep @wanted set, but do not call vgpu_move_room(). A mapping that found no room
	 * because of this range waits for the same later releases as the range's owner.
	 */
	if (range_remove(window, range))
		window->wanted = true;
	mutex_unlock(&window->lock);
	range_free(range);
}

/* --- page tables ---------------------------------------------------------- */

void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len)
{
	u64 end = offset + len;
	struct vgpu_window_range *range;

	mutex_lock(&window->lock);
	for (; offset < end; offset = range->offset + range->len) {
		u64 first, last;

		range = vgpu_window_range_first(window, offset);
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

/* Return: the host's window with a reference if its number is @id, else NULL. */
static struct vgpu_window *vgpu_window_named(struct vgpu_host *host, __le64 id)
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

void vgpu_window_unbound(struct vgpu_host *host, const struct vgpu_window_part *part)
{
	struct vgpu_window *window = vgpu_window_named(host, part->window);
	u64 offset = le64_to_cpu(part->offset);
	struct vgpu_window_range *range;

	if (!window)
		return;
	mutex_lock(&window->lock);
	range = vgpu_window_range_first(window, offset);
	/* Ignore an UNBOUND that no UNBIND has asked for. */
	if (range && range->offset == offset && range->len == le64_to_cpu(part->len)) {
		if (range->state == VGPU_RANGE_RELEASED) {
			range->state = VGPU_RANGE_UNBOUND;
			queue_work(window_wq, &range->unbound);
		} else if (range->state == VGPU_RANGE_LEFT) {
			range->state = VGPU_RANGE_HIDDEN;
			range_hidden(window);
			if (vgpu_window_is_over(window))
				vgpu_move_room(host);
		}
	}
	mutex_unlock(&window->lock);
	vgpu_window_put(window);
}

/* Zaps all PTEs of the window and prevents new ones for good. */
static void window_shut(struct vgpu_window *window)
{
	down_write(&window->use);
	WRITE_ONCE(window->gone, true);
	up_write(&window->use);
	vgpu_window_zap(window, 0, window->size);
}

void vgpu_window_lost(struct vgpu_window *window)
{
	window_shut(window);
	window_leave(window);
	mutex_lock(&window->lock);
	/* The host may be freed once the window has ended. */
	if (!window->ended)
		vgpu_move_later(window->host);
	mutex_unlock(&window->lock);
}

/* Returns true if nothing is bound in the lost window any more, or no UNBOUND will come. */
static bool window_is_settled(const struct vgpu_window *window)
{
	return !READ_ONCE(window->nr_shown) || READ_ONCE(window->ended);
}

bool vgpu_window_await_hidden(struct vgpu_window *window, unsigned long timeout)
{
	return wait_event_killable_timeout(window_hidden_wait, window_is_settled(window),
					   timeout) > 0;
}

/* Ends a window; consumes the host's reference. */
static void vgpu_window_end(struct vgpu_window *window)
{
	struct vgpu_window_range *range;

	window_shut(window);
	mutex_lock(&window->lock);
	WRITE_ONCE(window->ended, true);
	mutex_unlock(&window->lock);
	wake_up_all(&window_hidden_wait);
	/* Free the ranges that wait for an UNBOUND; mappings free their own ranges. */
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
	/* The next window may have the same memory with other cache attributes. */
	flush_workqueue(window_wq);
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

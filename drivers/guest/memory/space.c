// SPDX-License-Identifier: GPL-2.0-only
/* Spaces: lifetime, cached pages. See space.h; flush.c sends dirty pages back. */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "anon.h"
#include "base/deadline.h"
#include "compat.h"
#include "fault.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/batch.h"
#include "memory/blank.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/flush_dirty.h"
#include "memory/flush_list.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/space.h"
#include "memory/space_fetch.h"
#include "memory/space_sync.h"
#include "memory/state.h"

/* Value of page_private() of a page that was cached and has been dropped. */
#define SPACE_PAGE_GONE		1

/* Smallest fetch whose pages one fault inserts all at once, for a program that reads on. */
#define SPACE_AROUND_MIN	32U
/* Number of blank pages of a mapping that become dirty before a flush of them is started. */
#define SPACE_BLANK_FLUSH	256U
/* Maximum number of blank pages that one store makes dirty in advance. */
#define SPACE_BLANK_AHEAD	32UL

struct vgpu_space *vgpu_space_get(struct vgpu_host *host, u64 id)
{
	struct vgpu_space_set *set = &host->memory->spaces;
	struct vgpu_space *space, *new;
	unsigned int mode;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->inode = vgpu_anon_inode_alloc();
	if (IS_ERR(new->inode)) {
		kfree(new);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&new->ref);
	new->host = host;
	new->id = id;
	mutex_init(&new->lock);
	new->mappings = RB_ROOT_CACHED;
	for (mode = 0; mode < VGPU_MAPPING_MODES; mode++)
		new->by_mode[mode] = RB_ROOT_CACHED;
	xa_init(&new->pages);
	xa_init(&new->flying);
	INIT_LIST_HEAD(&new->active);

	spin_lock(&set->lock);
	hash_for_each_possible(set->spaces, space, node, id) {
		if (space->id != id || !kref_get_unless_zero(&space->ref))
			continue;
		spin_unlock(&set->lock);
		iput(new->inode);
		kfree(new);
		return space;
	}
	hash_add(set->spaces, &new->node, id);
	spin_unlock(&set->lock);
	return new;
}

static void space_page_free(struct vgpu_space *space, struct vgpu_page *page)
{
	vgpu_page_free(page);
	atomic_dec(&space->host->memory->spaces.nr_cached);
}

static void space_release(struct kref *ref)
{
	struct vgpu_space *space = container_of(ref, struct vgpu_space, ref);
	struct vgpu_page *page;
	unsigned long index;

	spin_lock(&space->host->memory->spaces.lock);
	hash_del(&space->node);
	list_del(&space->active);
	spin_unlock(&space->host->memory->spaces.lock);

	/* No mapping is left, so no PTE and no dirty page. */
	xa_for_each(&space->pages, index, page)
		space_page_free(space, page);
	xa_destroy(&space->pages);
	iput(space->inode);
	kfree(space);
}

void vgpu_space_put(struct vgpu_space *space)
{
	kref_put(&space->ref, space_release);
}

/*
 * Mark dropped pages, so that no fault maps them any more. The fault of a mapping that is not
 * VM_PFNMAP hands its page to the core, which maps it under the page's lock. A fault that has this
 * lock already maps the page before it is marked, and space_unmap_gone() zaps that PTE. A later
 * fault finds the mark (space_lock_fault()).
 */
static void space_settle_gone(struct list_head *gone)
{
	struct vgpu_page *page;

	list_for_each_entry(page, gone, node) {
		lock_page(page->page);
		set_page_private(page->page, SPACE_PAGE_GONE);
		unlock_page(page->page);
	}
}

/*
 * Zap the PTEs of the pages in @gone, which are sorted by offset. What lies between two of them
 * stays mapped, as it may be a part of a mapping in the window.
 */
static void space_unmap_gone(struct vgpu_space *space, const struct list_head *gone)
{
	pgoff_t first = 0, nr = 0;
	struct vgpu_page *page;

	list_for_each_entry(page, gone, node) {
		if (nr && page->index == first + nr) {
			nr++;
			continue;
		}
		if (nr)
			unmap_mapping_pages(space->inode->i_mapping, first, nr, false);
		first = page->index;
		nr = 1;
	}
	if (nr)
		unmap_mapping_pages(space->inode->i_mapping, first, nr, false);
}

/*
 * Note that pages were dropped without the end of a call. If one of them has @sent bytes to the
 * host, a fetch that is under way may bring older bytes than these, so it is repeated as if a call
 * had ended.
 */
static void space_count_room(struct vgpu_space *space, bool sent)
{
	lockdep_assert_held(&space->lock);
	if (sent)
		atomic64_inc(&space->host->memory->spaces.drops);
}

/* The function is never inlined, so that a test can stop it (mock_fresh.c). */
noinline unsigned long vgpu_space_drop_range(struct vgpu_space *space, pgoff_t first, pgoff_t last,
					     bool room)
{
	unsigned long index, nr_dirty = 0;
	struct vgpu_page *page;
	bool sent = false;
	LIST_HEAD(gone);

	mutex_lock(&space->lock);
	xa_for_each_range(&space->pages, index, page, first, last) {
		if (vgpu_page_is_dirty(page)) {
			nr_dirty++;
			continue;
		}
		xa_erase(&space->pages, index);
		list_add_tail(&page->node, &gone);
		sent |= page->sent;
	}
	space_count_room(space, room && sent);
	/*
	 * PTEs are inserted only under the lock, so none of these pages is mapped again; private
	 * copies of a program stay.
	 */
	if (!list_empty(&gone)) {
		space_settle_gone(&gone);
		space_unmap_gone(space, &gone);
	}
	mutex_unlock(&space->lock);

	while (!list_empty(&gone)) {
		page = list_first_entry(&gone, struct vgpu_page, node);
		list_del(&page->node);
		space_page_free(space, page);
	}
	return nr_dirty;
}

void vgpu_space_drop_clean(struct vgpu_space *space)
{
	vgpu_space_drop_range(space, 0, ULONG_MAX, false);
}

int vgpu_space_leave(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_page *page;
	unsigned long index;
	int ret = 0;

	mutex_lock(&space->lock);
	xa_for_each_range(&space->pages, index, page, pgoff, pgoff + nr - 1) {
		/* A fault that held the page's lock has its PTE by now, which is zapped below. */
		lock_page(page->page);
		unlock_page(page->page);
	}
	unmap_mapping_pages(space->inode->i_mapping, pgoff, nr, false);
	xa_for_each_range(&space->pages, index, page, pgoff, pgoff + nr - 1)
		if (vgpu_page_is_pinned(page))
			ret = -EBUSY;
	mutex_unlock(&space->lock);
	return ret;
}

unsigned long vgpu_space_renew_clean(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;

	/* A fetch that is under way is repeated, as after a call: see space_fetch.c. */
	atomic64_inc_return(&set->drops);
	if (!atomic_read(&set->nr_cached))
		return 0;
	return vgpu_space_drop_range(space, pgoff, pgoff + nr - 1, false);
}

void vgpu_space_renew(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr)
{
	vgpu_space_renew_clean(space, pgoff, nr);
}

bool vgpu_space_has_room(const struct vgpu_space *space)
{
	return atomic_read(&space->host->memory->spaces.nr_dirty) < SPACE_DIRTY_MAX &&
		!(READ_ONCE(space->holds) && time_before(jiffies, READ_ONCE(space->held)));
}

bool vgpu_space_may_dirty(const struct vgpu_space *space, const struct vgpu_page *page)
{
	lockdep_assert_held(&space->lock);
	return vgpu_page_is_dirty(page) || vgpu_space_has_room(space);
}

unsigned long vgpu_space_reclaim(struct vgpu_space *space, unsigned long max)
{
	struct vgpu_page *page, *tmp;
	unsigned long index, nr = 0;
	bool sent = false;
	LIST_HEAD(gone);

	if (!mutex_trylock(&space->lock))
		return 0;
	xa_for_each(&space->pages, index, page) {
		if (nr == max)
			break;
		/* A page that is locked is being mapped by the core: leave it. */
		if (vgpu_page_is_dirty(page) || !trylock_page(page->page))
			continue;
		set_page_private(page->page, SPACE_PAGE_GONE);
		unlock_page(page->page);
		xa_erase(&space->pages, index);
		unmap_mapping_pages(space->inode->i_mapping, index, 1, false);
		list_add(&page->node, &gone);
		sent |= page->sent;
		nr++;
	}
	space_count_room(space, sent);
	mutex_unlock(&space->lock);

	list_for_each_entry_safe(page, tmp, &gone, node)
		space_page_free(space, page);
	return nr;
}

void vgpu_space_set_init(struct vgpu_space_set *set)
{
	mutex_init(&set->drop_lock);
	spin_lock_init(&set->lock);
	hash_init(set->spaces);
	INIT_LIST_HEAD(&set->active);
	INIT_LIST_HEAD(&set->flushes);
	init_waitqueue_head(&set->wait);
	INIT_DELAYED_WORK(&set->expire, vgpu_space_expire);
	set->expire_doubled = 0;
}

void vgpu_space_set_abort(struct vgpu_space_set *set)
{
	struct vgpu_space *space;
	struct hlist_node *tmp;
	HLIST_HEAD(all);
	int bucket;

	spin_lock(&set->lock);
	hash_for_each_safe(set->spaces, bucket, tmp, space, node) {
		hash_del(&space->node);
		if (kref_get_unless_zero(&space->ref))
			hlist_add_head(&space->node, &all);
	}
	spin_unlock(&set->lock);

	for (;;) {
		spin_lock(&set->lock);
		if (hlist_empty(&all)) {
			spin_unlock(&set->lock);
			break;
		}
		space = hlist_entry(all.first, struct vgpu_space, node);
		hlist_del_init(&space->node);
		spin_unlock(&set->lock);

		mutex_lock(&space->lock);
		space->dead = true;
		mutex_unlock(&space->lock);
		vgpu_flush_discard(space);
		vgpu_space_drop_clean(space);
		vgpu_space_put(space);
	}
	vgpu_flush_abort(set);
}

/* --- faults --------------------------------------------------------------- */

int vgpu_space_page_add(struct vgpu_space *space, struct vgpu_page *page, pgoff_t index,
			s64 drops)
{
	lockdep_assert_held(&space->lock);
	page->index = index;
	page->fresh = drops;
	return xa_insert(&space->pages, index, page, GFP_KERNEL_ACCOUNT);
}

/*
 * Hand a cached page to the core, which maps it under the page's lock. A page that was dropped is
 * not mapped: see space_settle_gone().
 */
static vm_fault_t space_lock_fault(struct page *page)
{
	lock_page(page);
	if (page_private(page) != SPACE_PAGE_GONE)
		return VM_FAULT_LOCKED;
	unlock_page(page);
	put_page(page);
	return VM_FAULT_NOPAGE;
}

/*
 * Make a page dirty that is about to be written to through @mapping. Return: 0; VM_FAULT_RETRY:
 * the page may not become dirty yet; VM_FAULT_OOM.
 */
static vm_fault_t space_make_dirty(struct vgpu_mapping *mapping, struct vgpu_page *page)
{
	struct vgpu_space *space = mapping->space;
	bool whole;

	lockdep_assert_held(&space->lock);
	if (vgpu_page_is_dirty(page))
		return 0;
	if (!vgpu_space_may_dirty(space, page)) {
		vgpu_flush_later(&space->host->memory->spaces);
		return VM_FAULT_RETRY;
	}
	whole = page->whole || (mapping->apart && !READ_ONCE(space->shared));
	/* A page that is sent whole needs no snapshot. */
	if (!whole) {
		page->orig = kmemdup(page_address(page->page), PAGE_SIZE, GFP_KERNEL_ACCOUNT);
		if (!page->orig)
			return VM_FAULT_OOM;
	}
	page->whole = whole;
	vgpu_flush_add(space, page, mapping);
	return 0;
}

/*
 * Cache @page, whose bytes are zero, for the first store to a page of a blank buffer, instead of a
 * fetched page. The host may have other bytes there, so a comparison would miss stores of zero: the
 * page is sent whole. It becomes dirty at once, so that the flush after vgpu_blank_end() finds it.
 * Return: true; false if the page is not cached and has to be fetched.
 */
static bool space_add_blank(struct vgpu_mapping *mapping, struct vgpu_page *page, pgoff_t index)
{
	struct vgpu_space *space = mapping->space;
	struct vgpu_space_set *set = &space->host->memory->spaces;

	/* Without room the page is fetched, as a fetch makes room first. */
	if (!vgpu_blank_is(mapping, index) || atomic_read(&set->nr_cached) >= SPACE_CACHED_MAX)
		return false;
	atomic_inc(&set->nr_cached);
	page->whole = true;
	/* Most buffers are written once and in order: send pages while others are written. */
	if (!(++mapping->nr_blank % SPACE_BLANK_FLUSH))
		vgpu_flush_start(&mapping->session->memory->flush);
	if (vgpu_space_page_add(space, page, index, atomic64_read(&set->drops)))
		goto err_count;
	if (space_make_dirty(mapping, page))
		goto err_entry;
	vgpu_blank_touch(mapping, index);
	return true;

err_entry:
	xa_erase(&space->pages, index);
err_count:
	atomic_dec(&set->nr_cached);
	return false;
}

/* Make and cache the page of a store at @index. Return: the page; NULL if it has to be fetched. */
static struct vgpu_page *space_get_blank(struct vgpu_mapping *mapping, pgoff_t index)
{
	struct vgpu_page *page;

	if (!vgpu_blank_is(mapping, index) || !vgpu_batch_alloc(&page, 1, true))
		return NULL;
	if (!space_add_blank(mapping, page, index)) {
		vgpu_page_free(page);
		return NULL;
	}
	vgpu_space_activate(mapping->space);
	return page;
}

/*
 * Make the blank pages after that of the fault dirty and writable, twice as many each time, for a
 * program that writes to one page after the other. Stores to these pages may need no fault. If the
 * program does not store, zeros are sent, as the bytes of a new buffer are zero or undefined.
 */
static void space_blank_ahead(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	pgprot_t prot = vm_get_page_prot(vmf->vma->vm_flags);
	struct vgpu_page *pages[SPACE_BLANK_AHEAD];
	unsigned long addr = vmf->address & PAGE_MASK;
	pgoff_t index = vmf->pgoff, left, nr = 0;
	pgoff_t i;

	left = mapping->blank_ahead;
	if (index != mapping->blank_next)
		left = 0;
	mapping->blank_ahead = clamp(2 * left, 1UL, SPACE_BLANK_AHEAD);
	left = min3(left, ((vmf->vma->vm_end - addr) >> PAGE_SHIFT) - 1,
		    vgpu_mapping_covered(mapping, index) - 1);
	mapping->blank_next = ++index;
	while (nr < left && vgpu_blank_is(mapping, index + nr))
		nr++;
	if (nr)
		nr = vgpu_batch_alloc(pages, nr, true);
	for (i = 0; i < nr && space_add_blank(mapping, pages[i], index + i); i++) {
		addr += PAGE_SIZE;
		mapping->blank_next = index + i + 1;
		/* A page without a PTE faults when it is written to, and is found in the cache. */
		vmf_insert_pfn_prot(vmf->vma, addr, page_to_pfn(pages[i]->page), prot);
	}
	vgpu_batch_free(pages + i, nr - i);
}

static vm_fault_t space_insert_pfn(struct vm_fault *vmf, struct vgpu_page *page)
{
	const unsigned long pfn = page_to_pfn(page->page);

	/* A page that may not become dirty yet is inserted read-only: ->pfn_mkwrite follows. */
	if (!vgpu_space_fault_writes(vmf) || space_make_dirty(vmf->vma->vm_private_data, page))
		return vmf_insert_pfn(vmf->vma, vmf->address, pfn);
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, pfn,
				   vm_get_page_prot(vmf->vma->vm_flags));
}

/* Insert the PTEs of fetched pages behind that of the fault, for a program that reads on. */
static void space_insert_around(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	unsigned long left = ((vmf->vma->vm_end - vmf->address) >> PAGE_SHIFT) - 1;
	unsigned long addr = vmf->address & PAGE_MASK;
	pgoff_t index = vmf->pgoff;
	struct vgpu_page *page;

	if (READ_ONCE(mapping->ahead) < SPACE_AROUND_MIN)
		return;
	left = min(left, vgpu_mapping_covered(mapping, index) - 1);
	/* The last page is left out: its fault shows that the program has come that far. */
	for (; left && index + 2 < READ_ONCE(mapping->ahead_next); left--) {
		addr += PAGE_SIZE;
		page = xa_load(&mapping->space->pages, ++index);
		if (!page || vmf_insert_pfn(vmf->vma, addr, page_to_pfn(page->page)) !=
		    VM_FAULT_NOPAGE)
			return;
	}
}

vm_fault_t vgpu_space_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_space *space = mapping->space;
	pgoff_t index = vmf->pgoff;
	struct vgpu_page *page;
	vm_fault_t fault = VM_FAULT_RETRY;
	bool blank = false;

	lockdep_assert_held_read(&mapping->mode_lock);
	mutex_lock(&space->lock);
	/* The memory of a range that has ended at the host may be another program's by now. */
	if (space->dead || !vgpu_mapping_covered(mapping, index)) {
		mutex_unlock(&space->lock);
		return VM_FAULT_SIGBUS;
	}
	page = xa_load(&space->pages, index);
	if (page) {
		vgpu_space_note_use(mapping, index);
	} else if (vgpu_space_fault_writes(vmf)) {
		page = space_get_blank(mapping, index);
		blank = page;
	}
	if (page && vgpu_space_fault_writes(vmf) && !vgpu_space_may_dirty(space, page) &&
	    (vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		fault = VM_FAULT_RETRY;
	} else if (page && (vmf->vma->vm_flags & VM_PFNMAP)) {
		fault = space_insert_pfn(vmf, page);
		if (fault == VM_FAULT_NOPAGE && blank)
			space_blank_ahead(vmf);
		else if (fault == VM_FAULT_NOPAGE && !(vmf->flags & FAULT_FLAG_WRITE))
			space_insert_around(vmf);
	} else if (page) {
		/* The core copies the page for a private mapping, and maps it otherwise. */
		get_page(page->page);
		vmf->page = page->page;
		mutex_unlock(&space->lock);
		return space_lock_fault(vmf->page);
	}
	mutex_unlock(&space->lock);
	return fault;
}

vm_fault_t vgpu_space_mkwrite(struct vm_fault *vmf, bool as_page)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_space *space = mapping->space;
	vm_fault_t fault = 0;
	struct vgpu_page *page;

	lockdep_assert_held_read(&mapping->mode_lock);
	mutex_lock(&space->lock);
	page = xa_load(&space->pages, vmf->pgoff);
	/* The check is under the lock, so that vgpu_unmap_range() finds what is dirty. */
	if (space->dead || !vgpu_mapping_covered(mapping, vmf->pgoff))
		fault = VM_FAULT_SIGBUS;
	else if (!page || (as_page && page->page != vmf->page))
		/* The page was dropped since the fault began, and its PTE was zapped. */
		fault = VM_FAULT_NOPAGE;
	else
		fault = space_make_dirty(mapping, page);
	if (!fault && as_page) {
		/* vgpu_flush_unmap() waits for the page lock until the core has mapped the page. */
		lock_page(vmf->page);
		fault = VM_FAULT_LOCKED;
	} else if (!fault) {
		fault = vgpu_insert_writable(vmf, page->page);
	}
	mutex_unlock(&space->lock);
	return fault;
}

/* --- access by others ------------------------------------------------------ */

bool vgpu_space_peek(struct vgpu_space *space, pgoff_t index, unsigned int offset, void *buf,
		     unsigned int len)
{
	struct vgpu_page *page;

	mutex_lock(&space->lock);
	page = xa_load(&space->pages, index);
	if (page)
		memcpy(buf, page_address(page->page) + offset, len);
	mutex_unlock(&space->lock);
	return page;
}

void vgpu_space_poke(struct vgpu_space *space, pgoff_t index, unsigned int offset,
		     const void *buf, unsigned int len)
{
	struct vgpu_page *page;

	/* A fetch that is under way may lack these bytes, so it is repeated, as after a call. */
	atomic64_inc_return(&space->host->memory->spaces.drops);
	mutex_lock(&space->lock);
	page = xa_load(&space->pages, index);
	if (page) {
		memcpy(page_address(page->page) + offset, buf, len);
		/* The host has these bytes, so they need not be sent. */
		if (page->orig)
			memcpy(page->orig + offset, buf, len);
	}
	mutex_unlock(&space->lock);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spaces: see space.h. This file has the lifetime of spaces, and adds and drops cached pages.
 * space_fetch.c fetches pages from the host, and flush.c sends dirty pages back.
 */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "anon.h"
#include "link/host.h"
#include "memory/space.h"
#include "memory/state.h"

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

void vgpu_page_free(struct vgpu_page *page)
{
	put_page(page->page);
	kfree(page);
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
 * fault finds the mark (space_lock_fault() of mapping_fault.c).
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

static void space_free_gone(struct vgpu_space *space, struct list_head *gone)
{
	struct vgpu_page *page, *tmp;

	list_for_each_entry_safe(page, tmp, gone, node)
		space_page_free(space, page);
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

	space_free_gone(space, &gone);
	return nr_dirty;
}

void vgpu_space_unmap(struct vgpu_space *space, pgoff_t first, pgoff_t nr)
{
	struct vgpu_page *page;
	unsigned long index;

	lockdep_assert_held(&space->lock);
	/* A fault holds the lock of a page that it made dirty until the PTE is there: wait. */
	xa_for_each_range(&space->pages, index, page, first, first + nr - 1) {
		lock_page(page->page);
		unlock_page(page->page);
	}
	unmap_mapping_pages(space->inode->i_mapping, first, nr, false);
}

int vgpu_space_leave(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_page *page;
	unsigned long index;
	int ret = 0;

	mutex_lock(&space->lock);
	vgpu_space_unmap(space, pgoff, nr);
	xa_for_each_range(&space->pages, index, page, pgoff, pgoff + nr - 1)
		if (vgpu_page_is_pinned(page))
			ret = -EBUSY;
	mutex_unlock(&space->lock);
	return ret;
}

unsigned long vgpu_space_renew(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;

	/* A fetch that is under way is repeated, as after a call: see space_fetch.c. */
	atomic64_inc_return(&set->drops);
	if (!atomic_read(&set->nr_cached))
		return 0;
	return vgpu_space_drop_range(space, pgoff, pgoff + nr - 1, false);
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
	unsigned long index, nr = 0;
	struct vgpu_page *page;
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

	space_free_gone(space, &gone);
	return nr;
}

int vgpu_space_page_add(struct vgpu_space *space, struct vgpu_page *page, pgoff_t index,
			s64 drops)
{
	lockdep_assert_held(&space->lock);
	page->index = index;
	page->fresh = drops;
	return xa_insert(&space->pages, index, page, GFP_KERNEL_ACCOUNT);
}

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

// SPDX-License-Identifier: GPL-2.0-only
/* Dirty pages: cached pages that were written to, in the flush of their mapping's session. */
#include <linux/slab.h>

#include "link/host.h"
#include "link/session.h"
#include "memory/dirty.h"
#include "memory/flush.h"
#include "memory/flush_list.h"
#include "memory/mapping.h"
#include "memory/space.h"
#include "memory/state.h"

void vgpu_flush_add(struct vgpu_space *space, struct vgpu_page *page,
		    struct vgpu_mapping *mapping)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;
	struct vgpu_flush *flush = &mapping->session->memory->flush;

	lockdep_assert_held(&space->lock);
	page->owner = vgpu_mapping_get(mapping);
	page->stamp = atomic64_read(&set->stamp);
	xa_set_mark(&space->pages, page->index, SPACE_DIRTY);
	atomic_inc(&set->nr_dirty);
	spin_lock(&flush->lock);
	list_add_tail(&page->node, &flush->dirty);
	vgpu_flush_list_locked(flush);
	spin_unlock(&flush->lock);
}

struct vgpu_mapping *vgpu_flush_clean(struct vgpu_space *space, struct vgpu_page *page)
{
	struct vgpu_mapping *owner = page->owner;
	struct vgpu_flush *flush = &owner->session->memory->flush;

	lockdep_assert_held(&space->lock);
	spin_lock(&flush->lock);
	list_del(&page->node);
	spin_unlock(&flush->lock);
	page->owner = NULL;
	kfree(page->orig);
	page->orig = NULL;
	page->whole = false;
	page->sent = true;
	xa_clear_mark(&space->pages, page->index, SPACE_DIRTY);
	atomic_dec(&space->host->memory->spaces.nr_dirty);
	return owner;
}

void vgpu_flush_discard(struct vgpu_space *space)
{
	struct vgpu_mapping *owner;
	struct vgpu_page *page;
	unsigned long index = 0;

	for (;;) {
		owner = NULL;
		mutex_lock(&space->lock);
		page = xa_find(&space->pages, &index, ULONG_MAX, SPACE_DIRTY);
		if (page)
			owner = vgpu_flush_clean(space, page);
		mutex_unlock(&space->lock);
		if (!page)
			return;
		vgpu_mapping_put(owner);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/* Refresh: see space_refresh.h. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "base/deadline.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/flush.h"
#include "memory/flush_dirty.h"
#include "memory/flush_late.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/space_refresh.h"
#include "memory/state.h"

/*
 * Take over the host's bytes, @fetched, where the program has not written since the snapshot
 * @orig. Bytes that the program has written stay: a flush compares them with the new snapshot.
 */
static void page_merge(u8 *now, u8 *orig, const u8 *fetched)
{
	unsigned int i;

	for (i = 0; i < PAGE_SIZE; i++) {
		if (now[i] == orig[i])
			now[i] = fetched[i];
		orig[i] = fetched[i];
	}
}

/* Check whether a dirty page has bytes from before the drop @drops that are to be fetched again. */
static bool page_is_old(const struct vgpu_page *page, s64 drops)
{
	/*
	 * The kernel may write to a pinned page at any time, so its bytes cannot be merged. A
	 * page that is sent whole has no bytes of the host.
	 */
	return page->fresh < drops && !page->whole && !vgpu_page_is_pinned(page);
}

/*
 * Merge @fetched into a dirty page: the bytes that the host had when set->drops was @fresh,
 * including all that flights have taken from the page before.
 */
static void space_merge(struct vgpu_mapping *mapping, pgoff_t index, const u8 *fetched, s64 fresh)
{
	struct vgpu_space *space = mapping->space;
	struct vgpu_page *page;

	mutex_lock(&space->lock);
	page = xa_load(&space->pages, index);
	if (page && page->owner == mapping && !page->whole && page->fresh < fresh &&
	    vgpu_mapping_covered(mapping, index)) {
		/* Stores and new pins have to fault after this, and wait for space->lock. */
		vgpu_flush_unmap(space, index, 1);
		if (!vgpu_page_is_pinned(page)) {
			page_merge(page_address(page->page), page->orig, fetched);
			page->fresh = fresh;
		}
	}
	mutex_unlock(&space->lock);
}

/*
 * Fetch the host's bytes of a dirty page through the mapping that owns it, and merge them. For a
 * session other than @own, the caller's, the fetch is bounded by VGPU_FLUSH_LATE.
 */
static void space_refresh_page(struct vgpu_mapping *mapping, pgoff_t index,
			       struct vgpu_session *own)
{
	struct vgpu_space_set *set = &mapping->space->host->memory->spaces;
	struct vgpu_flush *flush = &mapping->session->memory->flush;
	unsigned long deadline = 0;
	void *buf;
	s64 fresh, ret;

	if (mapping->session != own) {
		if (READ_ONCE(flush->late))
			return;
		deadline = vgpu_deadline_in(VGPU_FLUSH_LATE);
	}
	buf = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return;
	ret = vgpu_flush_await_landed(mapping->space, index, flush,
				      vgpu_deadline_in(VGPU_FLUSH_LATE));
	/*
	 * The next pages of a flight without progress are not waited for. The flight may be another
	 * session's, and a new one that has the page by now.
	 */
	if (ret == -ETIMEDOUT)
		vgpu_flush_check_late(mapping->space, index);
	if (ret)
		goto out_free;
	ret = vgpu_flush_claim(flush, deadline);
	if (ret)
		goto out_late;
	/*
	 * A flight that still has the page is an orphan of this flush, which is sent after the
	 * flush is released, or a late flight of another one. The host's bytes are old then.
	 */
	if (!xa_load(&mapping->space->flying, index)) {
		fresh = atomic64_read(&set->drops);
		ret = vgpu_pages_read(mapping->session, &mapping->export->stats,
				      vgpu_mapping_addr(mapping, index), buf, PAGE_SIZE, deadline);
		if (ret == PAGE_SIZE)
			space_merge(mapping, index, buf, fresh);
	}
	vgpu_flush_release(flush);
out_late:
	/* The next pages of a session that does not answer are not waited for. */
	if (ret == -ETIMEDOUT)
		vgpu_flush_set_late(flush);
out_free:
	kfree(buf);
}

/*
 * Find the first dirty page from *@index on that is old. Return: its mapping, with a reference, or
 * NULL.
 */
static struct vgpu_mapping *space_next_old(struct vgpu_space *space, unsigned long *index,
					   s64 drops)
{
	struct vgpu_mapping *mapping = NULL;
	struct vgpu_page *page;

	mutex_lock(&space->lock);
	page = xa_find(&space->pages, index, ULONG_MAX, SPACE_DIRTY);
	while (page && !page_is_old(page, drops))
		page = xa_find_after(&space->pages, index, ULONG_MAX, SPACE_DIRTY);
	if (page)
		mapping = vgpu_mapping_get(page->owner);
	mutex_unlock(&space->lock);
	return mapping;
}

/*
 * Find the active space with the next higher id than *@id, or, with @first, the one with the lowest
 * id, and store its id in *@id. A space without references is skipped, as it has no dirty pages.
 * Return: the space, with a reference, or NULL.
 */
static struct vgpu_space *space_by_id(struct vgpu_space_set *set, bool first, u64 *id)
{
	struct vgpu_space *space, *found;

	spin_lock(&set->lock);
	do {
		found = NULL;
		list_for_each_entry(space, &set->active, active)
			if ((first || space->id > *id) && (!found || space->id < found->id))
				found = space;
		if (found)
			*id = found->id;
		first = false;
	} while (found && !kref_get_unless_zero(&found->ref));
	spin_unlock(&set->lock);
	return found;
}

void vgpu_space_refresh(struct vgpu_space_set *set, struct vgpu_session *own, s64 drops)
{
	struct vgpu_mapping *mapping;
	struct vgpu_space *space;
	unsigned long index;
	bool first = true;
	u64 id;

	for (; atomic_read(&set->nr_dirty) && (space = space_by_id(set, first, &id));
	     first = false) {
		for (index = 0; !fatal_signal_pending(current) &&
		     (mapping = space_next_old(space, &index, drops)); index++) {
			space_refresh_page(mapping, index, own);
			vgpu_mapping_put(mapping);
		}
		vgpu_space_put(space);
	}
}

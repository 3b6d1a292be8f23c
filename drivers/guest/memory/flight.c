// SPDX-License-Identifier: GPL-2.0-only
/* Flights: see flight.h. flush.c says when pages are taken. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "link/host.h"
#include "link/session.h"
#include "memory/dirty.h"
#include "memory/flight.h"
#include "memory/flush.h"
#include "memory/flush_list.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/space.h"
#include "memory/state.h"

/* Maximum number of pages of one flight, if the host accepts messages of that length. */
#define FLIGHT_PAGES	256

/* The memory that a flight has for each of its pages. */
struct flight_room {
	struct flight_owner owner;
	struct vgpu_range ranges[VGPU_DIFF_RANGES];
	u8 bytes[VGPU_DIFF_BYTES];
};

/* Bytes of the rest of the message: the call, two segments, and padding of the second one. */
#define FLIGHT_HEAD	(sizeof(struct vgpu_call) + 3 * sizeof(struct vgpu_seg))

static_assert(FLIGHT_HEAD + sizeof(struct flight_room) <= VGPU_CALL_BYTES_MIN);

static u32 flight_pages(const struct vgpu_session *session)
{
	return min_t(u32, FLIGHT_PAGES, (session->host->limits.call_bytes - FLIGHT_HEAD) /
		     sizeof(struct flight_room));
}

/* Return: a flight of a session with room for @nr pages, or NULL. */
static struct vgpu_flight *flight_alloc(struct vgpu_session *session, u32 nr)
{
	struct vgpu_flight *flight;

	/* The memory need not be zeroed, as only bytes that were put there are sent. */
	flight = kvmalloc(sizeof(*flight) + nr * sizeof(struct flight_room), GFP_KERNEL_ACCOUNT);
	if (!flight)
		return NULL;
	flight->session = vgpu_session_get(session);
	flight->lost = 0;
	flight->nr_owners = 0;
	flight->max_owners = nr;
	flight->owners = (void *)(flight + 1);
	flight->diff = (struct vgpu_wire_diff) {
		.ranges = (void *)(flight->owners + nr),
		.bytes = (void *)(flight->owners + nr) +
			 nr * sizeof_field(struct flight_room, ranges),
	};
	return flight;
}

void vgpu_flight_free(struct vgpu_flight *flight)
{
	struct vgpu_session *session = flight->session;

	while (flight->nr_owners) {
		struct flight_owner *owner = &flight->owners[--flight->nr_owners];

		/* The entry stays if another flight has replaced it: see flight_enter(). */
		xa_cmpxchg(&owner->mapping->space->flying, owner->index,
			   &session->memory->flush, NULL, 0);
		vgpu_mapping_put(owner->mapping);
	}
	wake_up_all(&session->host->memory->spaces.wait);
	vgpu_session_put(session);
	kvfree(flight);
}

/*
 * Check whether a page that was unmapped has to stay dirty. The kernel or a device may still write
 * to a page of which it holds a reference, and no fault reports that write, so the page counts as
 * dirty until the reference is dropped. (Pins alone do not tell, as direct I/O before
 * Linux 6.5 takes none. References for other purposes delay the page a little.) A page does not
 * stay dirty where writers wait for pages to become clean, nor where its mapping has ended, as
 * something else may be at its address.
 */
static bool flush_keeps(struct vgpu_space *space, const struct vgpu_page *page)
{
	return page_count(page->page) > 1 && vgpu_mapping_covered(page->owner, page->index) &&
		atomic_read(&space->host->memory->spaces.nr_dirty) < SPACE_DIRTY_MAX;
}

static int flight_put(void *arg, u64 addr, const u8 *data, u32 len)
{
	memcpy((u8 *)arg + offset_in_page(addr), data, len);
	return 0;
}

/* Copy the sent bytes of a page that stays dirty into @orig, so that they are not sent again. */
static void flight_note(const struct vgpu_wire_diff *diff, u32 nr, u32 len, u8 *orig)
{
	for (; nr < diff->nr; nr++) {
		vgpu_wire_range_apply(&diff->ranges[nr], diff->bytes + len, flight_put, orig);
		len += le32_to_cpu(diff->ranges[nr].len);
	}
}

/*
 * Enter the page at @index into space->flying for a flight of @flush. Return: 0; -ENOMEM;
 * -EINPROGRESS: the flight of a flush that is not late has the page, and has to land first.
 */
static int flight_enter(struct vgpu_flush *flush, struct vgpu_space *space, pgoff_t index)
{
	struct xarray *flying = &space->flying;
	struct vgpu_flush *other;
	int ret;

	ret = xa_insert(flying, index, flush, GFP_KERNEL_ACCOUNT);
	if (ret != -EBUSY)
		return ret;
	ret = -EINPROGRESS;
	xa_lock(flying);
	/* The other flight holds a reference of its session while it is found in @flying. */
	other = xa_load(flying, index);
	/* An existing entry is replaced without an allocation. */
	if (other && READ_ONCE(other->late))
		ret = xa_err(__xa_store(flying, index, flush, GFP_NOWAIT));
	xa_unlock(flying);
	return ret;
}

/*
 * Copy what changed on an unmapped page into the flight; the page is clean afterwards, or stays
 * dirty. Return: as flight_enter().
 */
static int flight_take(struct vgpu_flight *flight, struct vgpu_space *space,
		       struct vgpu_page *page, u64 stamp)
{
	struct vgpu_flush *flush = &flight->session->memory->flush;
	struct vgpu_wire_diff *diff = &flight->diff;
	u32 nr = diff->nr, len = diff->len;
	bool keep = flush_keeps(space, page);
	u64 addr;
	int ret;

	/* A page that is sent whole and stays dirty needs a snapshot to find later changes. */
	if (keep && !page->orig) {
		page->orig = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
		if (!page->orig)
			return -ENOMEM;
	}
	ret = flight_enter(flush, space, page->index);
	if (ret)
		return ret;
	flight->owners[flight->nr_owners++] = (struct flight_owner) {
		.mapping = vgpu_mapping_get(page->owner),
		.index = page->index,
	};
	/*
	 * A holder of a reference wrote to the page before it dropped the reference, so read the
	 * bytes after the reference count, which flush_keeps() has read.
	 */
	smp_rmb();
	addr = vgpu_mapping_addr(page->owner, page->index);
	if (page->whole)
		vgpu_wire_diff_whole(diff, addr, page_address(page->page));
	else
		vgpu_wire_diff_page(diff, addr, page->orig, page_address(page->page));
	if (keep) {
		flight_note(diff, nr, len, page->orig);
		/* Later writes are not noticed: from here on only changed bytes may be sent. */
		page->whole = false;
		/* Leave the page dirty, for a run that is younger than @stamp. */
		page->stamp = stamp;
		spin_lock(&flush->lock);
		list_move_tail(&page->node, &flush->dirty);
		spin_unlock(&flush->lock);
	} else {
		/* The flight holds a reference of the mapping itself. */
		vgpu_mapping_put(vgpu_flush_clean(space, page));
	}
	return 0;
}

/*
 * Unmap the oldest dirty page, if it belongs to @space, together with the dirty pages after it in
 * the list that follow it in the space: an unmap interrupts the processors that run the programs,
 * so there is one for all of them. Return: number of pages, up to @max.
 */
static u32 flush_unmap_first(struct vgpu_flush *flush, struct vgpu_space *space, u64 stamp,
			     u32 max)
{
	struct vgpu_page *page;
	pgoff_t first = 0;
	u32 nr = 0;

	lockdep_assert_held(&space->lock);
	spin_lock(&flush->lock);
	list_for_each_entry(page, &flush->dirty, node) {
		/* A page of @space stays dirty while space->lock is held. */
		if (nr == max || page->stamp >= stamp || page->owner->space != space ||
		    (nr && page->index != first + nr))
			break;
		if (!nr++)
			first = page->index;
	}
	spin_unlock(&flush->lock);
	if (nr)
		vgpu_space_unmap(space, first, nr);
	return nr;
}

/*
 * Return: the mapping of the oldest dirty page, with a reference, if the run with @stamp has to
 * take the page; else NULL.
 */
static struct vgpu_mapping *flush_first_owner(struct vgpu_flush *flush, u64 stamp)
{
	struct vgpu_mapping *owner = NULL;
	struct vgpu_page *page;

	spin_lock(&flush->lock);
	page = list_first_entry_or_null(&flush->dirty, struct vgpu_page, node);
	if (page && page->stamp < stamp)
		owner = vgpu_mapping_get(page->owner);
	spin_unlock(&flush->lock);
	return owner;
}

/* Take pages of one space in the order in which they became dirty, while there is room. */
static int flight_fill(struct vgpu_flight *flight, struct vgpu_space *space, u64 stamp)
{
	struct vgpu_flush *flush = &flight->session->memory->flush;
	struct vgpu_page *page;
	int ret = 0;
	u32 nr;

	mutex_lock(&space->lock);
	while (!ret && (nr = flush_unmap_first(flush, space, stamp,
					       flight->max_owners - flight->nr_owners))) {
		while (!ret && nr--) {
			spin_lock(&flush->lock);
			page = list_first_entry(&flush->dirty, struct vgpu_page, node);
			spin_unlock(&flush->lock);
			ret = flight_take(flight, space, page, stamp);
		}
	}
	mutex_unlock(&space->lock);
	return ret;
}

struct vgpu_flight *vgpu_flight_load(struct vgpu_flush *flush, u64 stamp)
{
	struct vgpu_session *session = vgpu_flush_session(flush);
	struct vgpu_space_set *set = &session->host->memory->spaces;
	struct vgpu_flight *flight = NULL;
	struct vgpu_mapping *owner;
	int ret = 0;

	while (!ret && (!flight || flight->nr_owners < flight->max_owners) &&
	       (owner = flush_first_owner(flush, stamp))) {
		if (!flight)
			flight = flight_alloc(session, clamp_t(u32, atomic_read(&set->nr_dirty), 1,
							       flight_pages(session)));
		ret = flight ? flight_fill(flight, owner->space, stamp) : -ENOMEM;
		vgpu_mapping_put(owner);
	}
	/* Fewer pages are dirty: wake writers that wait to make other pages dirty. */
	if (flight && wq_has_sleeper(&set->wait))
		wake_up_all(&set->wait);
	/* Pages that the flight has are sent before the error is reported. */
	if (ret && (!flight || !flight->nr_owners)) {
		if (flight)
			vgpu_flight_free(flight);
		return ERR_PTR(ret);
	}
	return flight;
}

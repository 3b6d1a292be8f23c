/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spaces: cached pages of device memory, which mappings in copy mode show.
 *
 * A *space* stands for one address space of the host (all buffers of one DRM device, or one
 * dma-buf): mappings with the same space and offset share memory. Files of the guest get the
 * space's inode as f_mapping, so one unmap_mapping_range() reaches every VMA of every process.
 *
 * Lock order: set->drop_lock, or mmap_lock or VMA lock and then mapping->mode_lock, then
 * space->lock, then the lock of a page, then i_mmap_rwsem (inside unmap_mapping_range()),
 * flush->lock, set->lock or host->lock. None of them is held during a wait for the host.
 */
#ifndef VGPU_SPACE_H
#define VGPU_SPACE_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "memory/move.h"

struct vgpu_host;

/* XArray mark of dirty pages in space->pages. */
#define SPACE_DIRTY		XA_MARK_0
/* Number of dirty pages of a host from which on writers have to wait. */
#define SPACE_DIRTY_MAX		(SZ_16M >> PAGE_SHIFT)
/* Value of page_private() of a page that was cached and has been dropped. */
#define SPACE_PAGE_GONE		1
/* Number of cached pages of a host from which on fetches make room first. */
#define SPACE_CACHED_MAX	(SZ_64M >> PAGE_SHIFT)
/* Longest time for which writers or calls are held up: that for which a kernel fault may wait. */
#define SPACE_HOLD_TIME		(3 * HZ)

/**
 * struct vgpu_space_set - all spaces of one host
 * @drop_lock: mutex held by vgpu_space_drop(), so that a second call does not return before the
 *	first one has dropped all spaces; outermost lock
 * @lock: spinlock that protects @spaces, @active, @rounds, @flushes, @nr_flushes and @sent
 * @spaces: hash table of struct vgpu_space by id
 * @active: list of spaces with cached pages
 * @rounds: number of the last round of vgpu_reclaim_next()
 * @drops: counter of events that make fetched bytes old, such as vgpu_space_drop(): pages whose
 *	fetch began before such an event are not cached after it
 * @nr_cached: number of cached pages, and of fetched pages that are about to be cached
 * @nr_dirty: number of dirty pages
 * @starved: number of faults that lost several races against calls; new calls wait for them
 * @stamp: last number that was given to a run of a flush, or to a waiter for flushes
 * @flushes: list of struct vgpu_flush that have something to send
 * @nr_flushes: number of entries of @flushes; read anywhere
 * @sent: counter of the progress of flushes; read anywhere
 * @wait: wait queue, woken when a flush makes progress or ends, a flight has taken dirty pages or
 *	is freed, a vgpu_space_clear() ends, or @starved falls
 * @expire: work item that drops cached pages while there are no calls; holds a reference of the
 *	host while it is pending
 * @expire_doubled: number of times that the delay of @expire has doubled since the last call of
 *	vgpu_space_drop(); read and written anywhere
 * @shrinker: shrinker of clean cached pages, registered while the connection to the host lasts
 */
struct vgpu_space_set {
	struct mutex drop_lock;
	spinlock_t lock;
	DECLARE_HASHTABLE(spaces, 6);
	struct list_head active;
	u64 rounds;
	atomic64_t drops;
	atomic_t nr_cached;
	atomic_t nr_dirty;
	atomic_t starved;
	atomic64_t stamp;
	struct list_head flushes;
	unsigned int nr_flushes;
	u64 sent;
	wait_queue_head_t wait;
	struct delayed_work expire;
	unsigned int expire_doubled;
	struct vgpu_shrinker shrinker;
};

/**
 * struct vgpu_page - one cached page; protected by its space's lock
 * @page: page with the bytes
 * @index: offset in the space, in pages
 * @fresh: value of set->drops when the host was last asked for the page
 * @orig: snapshot of the bytes that the host has, as far as the guest knows; NULL if the page is
 *	clean, or is sent whole and so compared with nothing
 * @sent: true if bytes of the page have gone to the host since it was fetched
 * @whole: true if the page, when dirty, is sent whole: all of its bytes are the program's,
 *	including those that equal the host's
 * @owner: mapping by which a dirty page is sent, with a reference; NULL if the page is clean
 * @stamp: value of set->stamp when the page became dirty, or of the last run that left it dirty
 * @node: list entry of a dirty page in flush->dirty of the owner's session, protected by
 *	flush->lock as well; entry of a dropped page in the list of the function that drops it
 */
struct vgpu_page {
	struct page *page;
	pgoff_t index;
	s64 fresh;
	u8 *orig;
	bool sent;
	bool whole;
	struct vgpu_mapping *owner;
	u64 stamp;
	struct list_head node;
};

/**
 * struct vgpu_space - one address space of device memory
 * @ref: reference count: files and mappings
 * @host: host of the space, which outlives it (the files hold a reference of the host)
 * @id: number by which the host knows the space
 * @node: hash entry in set->spaces; protected by set->lock
 * @active: list entry in set->active; protected by set->lock
 * @round: number of the last round of vgpu_reclaim_next() that returned the space, or had begun
 *	when the space became active; protected by set->lock
 * @dropped: value of set->drops of the last vgpu_space_drop() that dropped the space; protected
 *	by set->drop_lock
 * @inode: inode whose i_mapping the files of the space share
 * @mappings: interval tree, by page, of struct vgpu_mapping that may move; protected by host->lock
 * @by_mode: interval trees of the same mappings, one for each mode; protected by host->lock
 * @lock: mutex that protects @pages, the state of the pages and @dead; held while PTEs are
 *	inserted or zapped
 * @pages: XArray of struct vgpu_page by offset in pages; SPACE_DIRTY marks dirty pages
 * @flying: XArray of struct vgpu_flush by offset in pages: the flush of the last flight with bytes
 *	of the page that the host may lack; the flush is not freed while its entry exists
 * @holds: number of vgpu_space_clear() under way, during which no clean page may become dirty
 *	before @held; read anywhere
 * @held: time in jiffies at which writers have waited long enough for @holds; read anywhere
 * @dead: true once the connection is lost: every fault gets SIGBUS
 * @shared: true once an ioctl on a file of the space has brought or taken another file, so that
 *	other spaces may show the same memory; never reset, read and written anywhere
 */
struct vgpu_space {
	struct kref ref;
	struct vgpu_host *host;
	u64 id;
	struct hlist_node node;
	struct list_head active;
	u64 round;
	s64 dropped;
	struct inode *inode;
	struct rb_root_cached mappings;
	struct rb_root_cached by_mode[VGPU_MAPPING_MODES];
	struct mutex lock;
	struct xarray pages;
	struct xarray flying;
	unsigned int holds;
	unsigned long held;
	bool dead;
	bool shared;
};

/*
 * Check whether a page is pinned, by direct I/O for example, so that it may be written to without a
 * PTE. The reference count does not tell: faults hold references, and a thread may be preempted in
 * the middle of a fault.
 */
static inline bool vgpu_page_is_pinned(const struct vgpu_page *page)
{
	return folio_maybe_dma_pinned(page_folio(page->page));
}

/* Check whether a page is dirty. The caller holds the lock of its space. */
static inline bool vgpu_page_is_dirty(const struct vgpu_page *page)
{
	return page->owner;
}

/* Free a page that is not in a cache. */
void vgpu_page_free(struct vgpu_page *page);

/* Find or make a space. Return: the space with a reference, or ERR_PTR(-ENOMEM). */
struct vgpu_space *vgpu_space_get(struct vgpu_host *host, u64 id);
void vgpu_space_put(struct vgpu_space *space);

/* Return: the f_mapping of a file of this space; the file holds a reference of the space. */
static inline struct address_space *vgpu_space_mapping(struct vgpu_space *space)
{
	return space->inode->i_mapping;
}

/**
 * vgpu_space_renew - drop clean pages of a range that was just mapped, or is to be cleared
 * @space: the space
 * @pgoff: first page, as offset in the space
 * @nr: number of pages
 *
 * The host may give offsets to other memory once nothing has them mapped there, while pages of the
 * old memory are still cached here.
 *
 * Context: process; mmap_lock may be held. Does not wait for the host.
 * Return: number of pages that stay, as they are dirty.
 */
unsigned long vgpu_space_renew(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr);

/**
 * vgpu_space_page_add - enter a page into space->pages
 * @space: the space, whose lock the caller holds
 * @page: page that is not cached yet
 * @index: offset of the page in @space, in pages
 * @drops: value of set->drops when the host was asked for the page
 *
 * Return: 0, -EBUSY (a page is cached there), -ENOMEM.
 */
int vgpu_space_page_add(struct vgpu_space *space, struct vgpu_page *page, pgoff_t index, s64 drops);

/*
 * Check whether a clean page may become dirty. While the space's lock is held, only writers to
 * other spaces may change the result to false.
 */
bool vgpu_space_has_room(const struct vgpu_space *space);
/* Check whether a page may become or stay dirty. The caller holds space->lock. */
bool vgpu_space_may_dirty(const struct vgpu_space *space, const struct vgpu_page *page);

/* Unmap @nr cached pages from all VMAs. The caller holds space->lock. */
void vgpu_space_unmap(struct vgpu_space *space, pgoff_t first, pgoff_t nr);

/**
 * vgpu_space_drop_range - drop clean pages of a range
 * @space: the space
 * @first: offset of the first page, in pages
 * @last: offset of the last page
 * @room: true if the pages are dropped to make room: the function increments set->drops if the
 *	guest has sent bytes of such a page; false if the caller has incremented set->drops, as at
 *	the end of a call, or the space is dead
 *
 * Context: process; waits for page locks.
 * Return: number of dirty pages, which stay.
 */
unsigned long vgpu_space_drop_range(struct vgpu_space *space, pgoff_t first, pgoff_t last,
				    bool room);

/**
 * vgpu_space_leave - unmap cached pages from all VMAs
 * @space: the space
 * @pgoff: first page, as offset in the space
 * @nr: number of pages
 *
 * The faults of the caller's mappings wait or fail from before the call. Other mappings may fault
 * the pages in again.
 *
 * Context: process; mmap_lock may be held.
 * Return: 0, or -EBUSY: pages are pinned, so they may still be written to.
 */
int vgpu_space_leave(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr);

/*
 * Drop up to @max clean pages, for reclaim. Waits neither for space->lock nor for the lock of a
 * page. Return: number of pages.
 */
unsigned long vgpu_space_reclaim(struct vgpu_space *space, unsigned long max);

/* Copy bytes from a cached page. Return: true, or false if the page is not cached. */
bool vgpu_space_peek(struct vgpu_space *space, pgoff_t index, unsigned int offset, void *buf,
		     unsigned int len);
/*
 * Copy bytes that the host has just been given into the cached page, if there is one. A fetch that
 * is under way is repeated.
 */
void vgpu_space_poke(struct vgpu_space *space, pgoff_t index, unsigned int offset,
		     const void *buf, unsigned int len);

#endif /* VGPU_SPACE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy mode: cached pages of an address space of device memory.
 *
 * A *space* stands for one address space of the host (all buffers of one DRM
 * device, or one dma-buf): what has the same space and offset shares memory.
 * Files of the guest get the space's inode as f_mapping, so one
 * unmap_mapping_range() reaches every VMA of every process.
 *
 * Lock order: set->drop_lock, or mmap_lock or VMA lock and then mapping->mode_lock, then
 * space->lock, then the lock of a page, then i_mmap_rwsem (inside unmap_mapping_range()),
 * flush->lock, set->lock or host->lock. None is held while the host is waited for.
 */
#ifndef VGPU_SPACE_H
#define VGPU_SPACE_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "move.h"

struct vgpu_host;
struct vgpu_mapping;
struct vgpu_session;

/* Mark of dirty pages in space->pages. */
#define SPACE_DIRTY		XA_MARK_0
/* Pages of a host that may be dirty before writers have to wait. */
#define SPACE_DIRTY_MAX		(SZ_16M >> PAGE_SHIFT)

/**
 * struct vgpu_space_set - all spaces of one host
 * @drop_lock: held by vgpu_space_drop(), so that a second one does not return
 *	before the first is through; outermost
 * @lock: guards @spaces, @active, @flushes, @nr_flushes, @sent
 * @spaces: by id
 * @active: those with cached pages
 * @rounds: number of the last round of vgpu_reclaim_next(), under @lock
 * @drops: counts vgpu_space_drop(): a page fetched before one is not cached
 *	after it
 * @nr_cached: pages
 * @nr_dirty: pages that were written to
 * @starved: faults that lost several races against calls; calls wait for them
 * @stamp: number of the youngest run of a flush, or of who waits for some
 * @flushes: struct vgpu_flush that have something to send
 * @nr_flushes: how many these are; read anywhere
 * @sent: how often a flush went on
 * @wait: woken when a flush goes on or ends, dirty pages are taken, or @starved falls
 * @expire: drops what is cached while there are no calls; pending, it has a reference of
 *	the host
 * @expire_doubled: how often the time until then has doubled since the last call
 * @shrinker: see reclaim.c
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
 * struct vgpu_page - one cached page; guarded by its space's lock
 * @page: the bytes
 * @index: offset in the space, pages
 * @fresh: set->drops when the host was last asked for it
 * @orig: dirty: what the host has of it, as far as is known here; NULL: clean, or nobody compares
 *	with that as the page goes whole
 * @sent: bytes of it have gone to the host since it was fetched
 * @whole: dirty: all of its bytes are the program's, those too that are as in @orig
 * @owner: dirty: the mapping through which it goes back, a reference
 * @stamp: dirty: set->stamp when it became so
 * @node: dirty: in flush->dirty of the owner's session
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
 * @ref: files and mappings
 * @host: its host, which outlives it (the files hold it)
 * @id: the host's number for it
 * @node: in set->spaces, under set->lock
 * @active: in set->active, under set->lock
 * @round: number of the last round of vgpu_reclaim_next() that was here, under set->lock
 * @dropped: set->drops of the last vgpu_space_drop() that was here, under
 *	set->drop_lock
 * @inode: whose i_mapping the files share
 * @mappings: struct vgpu_mapping that may move, by page (host->lock)
 * @by_mode: the same, those of each mode by themselves
 * @lock: guards @pages, the pages' state and @dead; held while PTEs are put in
 *	or zapped
 * @pages: struct vgpu_page by offset in pages; SPACE_DIRTY: written to
 * @flying: struct vgpu_flush of the last flight that has bytes of a page which the host may
 *	not have, by offset; it is there for as long as the entry is
 * @holds: for how many vgpu_space_clear() no clean page may become dirty, until @held; read
 *	anywhere
 * @held: when those that write have waited for long enough; read anywhere
 * @dead: the connection is gone; every fault gets SIGBUS
 * @shared: an ioctl on one of its files has brought or taken another file, so that its memory
 *	may be seen in other spaces, too; never taken back; read and written anywhere
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
 * Somebody may write to it without a page table, for direct I/O for example. Mere references do
 * not tell: faults have them, too, and a thread may be taken aside in the middle of one.
 */
static inline bool vgpu_page_is_pinned(const struct vgpu_page *page)
{
	return folio_maybe_dma_pinned(page_folio(page->page));
}

/* Under its space's lock. */
static inline bool vgpu_page_is_dirty(const struct vgpu_page *page)
{
	return page->owner;
}

void vgpu_space_set_init(struct vgpu_space_set *set);

/**
 * vgpu_space_set_abort - the connection is lost
 * @set: the host's spaces
 *
 * Every mapping gives SIGBUS from now on and bytes not yet written are lost.
 * The set is empty afterwards, ready for another connection. Process context;
 * waits for no peer.
 */
void vgpu_space_set_abort(struct vgpu_space_set *set);

/* Find or make a space. Return: a reference of it, or ERR_PTR(-ENOMEM). */
struct vgpu_space *vgpu_space_get(struct vgpu_host *host, u64 id);
void vgpu_space_put(struct vgpu_space *space);

/* What a file of this space must have as f_mapping while it holds a reference. */
static inline struct address_space *vgpu_space_mapping(struct vgpu_space *space)
{
	return space->inode->i_mapping;
}

/**
 * vgpu_space_flush - bring every byte that programs wrote to the host
 * @session: the calling process's
 *
 * Before each call that may make the device look at its memory. One atomic read
 * or two when nothing was written.
 *
 * Context: process, no locks; waits killably.
 * Return: 0, or as vgpu_flush_all() without a deadline.
 */
int vgpu_space_flush(struct vgpu_session *session);

/**
 * vgpu_space_await_faults - faults that lost several races against calls come first
 * @host: the host
 *
 * Before whatever ends with vgpu_space_drop(). For some seconds at most.
 *
 * Context: process; waits killably.
 * Return: 0 or -EINTR.
 */
int vgpu_space_await_faults(struct vgpu_host *host);

/* Before the other calls: the program may have unmapped what waits for a flush. */
int vgpu_space_settle(struct vgpu_session *session);

/**
 * vgpu_space_drop - what is cached may be old
 * @host: the host
 * @session: the calling process's, or NULL: none
 *
 * After each call that may have changed device memory. Pages that nobody writes to are
 * forgotten; of those that somebody does the bytes are fetched again that were not written.
 *
 * Context: as vgpu_space_flush().
 */
void vgpu_space_drop(struct vgpu_host *host, struct vgpu_session *session);

/**
 * vgpu_space_is_renewed - the device may have changed its memory
 * @host: the host
 *
 * As vgpu_space_drop() where nothing is cached, nor waited for by a fault that lost several
 * races. Any context.
 * Return: whether that was so, and nothing is left to do.
 */
bool vgpu_space_is_renewed(struct vgpu_host *host);

/**
 * vgpu_space_renew - memory that was mapped just now may have another's offsets
 * @space: where
 * @pgoff: first page, as offset in its space
 * @nr: pages
 *
 * Clean pages are forgotten there: the host may give offsets to other memory once
 * nothing has them mapped, while they are cached here.
 *
 * Context: with the mmap lock held for writing. Never waits for the host.
 */
void vgpu_space_renew(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr);

/**
 * vgpu_space_clear - nothing is cached any more, and whoever fetches sees what the host has
 * @space: where
 * @pgoff: first page, as offset in its space
 * @nr: pages
 * @wait: for how long at most until that is sent, jiffies
 *
 * What was written goes to the host. Who writes anew to the space meanwhile waits, but not
 * for ever.
 *
 * Context: process, no locks.
 * Return: 0, -EAGAIN (it was written to again), -ETIMEDOUT (it is not there yet).
 */
int vgpu_space_clear(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr, unsigned long wait);

/**
 * vgpu_space_leave - no page table shows cached pages any more
 * @space: where
 * @pgoff: first page, as offset in its space
 * @nr: pages
 *
 * For mappings whose faults wait meanwhile: others may fault them in again.
 *
 * Context: process; the mmap lock may be held.
 * Return: 0, or -EBUSY: pages are pinned, and somebody may write to them still.
 */
int vgpu_space_leave(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr);

/**
 * vgpu_space_unmap - end a range of a mapping at the host
 * @mapping: the mapping
 * @pgoff: first page, as offset in its space
 * @nr: pages
 *
 * At once if nothing in it was written, else after its bytes are there. Never
 * waits for the host; called with the mmap lock held for writing.
 */
void vgpu_space_unmap(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t nr);

/*
 * Forget up to @max clean pages, for reclaim: waits for no lock. Return: how many.
 */
unsigned long vgpu_space_reclaim(struct vgpu_space *space, unsigned long max);

/* Copy from a page that is cached. Return: false: it is not. */
bool vgpu_space_peek(struct vgpu_space *space, pgoff_t index, unsigned int offset, void *buf,
		     unsigned int len);
/* The host has just been given these bytes: what is cached, or on its way, has them, too. */
void vgpu_space_poke(struct vgpu_space *space, pgoff_t index, unsigned int offset,
		     const void *buf, unsigned int len);

/*
 * For the faults of mapping.c, of whose vmf->vma vm_private_data is a struct vgpu_mapping.
 * The first two are called under its mode_lock, and do not wait for the host.
 *
 * Put the cached page into page tables. Return: VM_FAULT_RETRY: vgpu_space_wait() first.
 */
vm_fault_t vgpu_space_fault(struct vm_fault *vmf);
/*
 * @as_page: vmf->page is to be written to, and locked if that is good. Return:
 * VM_FAULT_RETRY: it cannot be written to yet.
 */
vm_fault_t vgpu_space_mkwrite(struct vm_fault *vmf, bool as_page);
/*
 * @write: until it can be written to, too. @deadline: the fault's, see deadline.h. Return: 0,
 * -EINTR, or why it cannot be had.
 */
int vgpu_space_wait(struct vgpu_mapping *mapping, pgoff_t index, bool write,
		    unsigned long deadline);

/* A page that the fault brings becomes dirty. Of a private mapping the core copies it. */
static inline bool vgpu_space_fault_writes(const struct vm_fault *vmf)
{
	return (vmf->flags & FAULT_FLAG_WRITE) && (vmf->vma->vm_flags & VM_SHARED);
}

#endif /* VGPU_SPACE_H */

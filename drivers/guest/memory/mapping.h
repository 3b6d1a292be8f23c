/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings: VMAs of guest processes that are backed by a device mapping in a shadow. A range that
 * is unmapped ends at the host once its dirty bytes are there.
 */
#ifndef VGPU_MAPPING_H
#define VGPU_MAPPING_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>

#include "memory/mapping_fault.h"
#include "memory/move.h"
#include "memory/space_fetch.h"

struct vgpu_window_range;

/*
 * Longest time for which a fault of the kernel waits, in jiffies. Such a fault may come from a
 * copy to or from a program's buffer under locks of other subsystems, a socket's for example, on
 * which the host's reply may depend: the one worker that receives for all vsock sockets stops at
 * a locked socket (virtio_transport_recv_pkt()).
 */
#define VGPU_MAPPING_FAULT_WAIT	(3 * HZ)

/**
 * struct vgpu_mapping_blank - pages of a blank buffer that a mapping shows (blank.h)
 * @entry: list entry in @mappings of the file's struct vgpu_blank while @touched is set
 * @touched: bitmap of the pages that were fetched or written to; NULL if the mapping shows no blank
 *	buffer
 * @nr: number of pages that were blank until a store
 * @next: page at which a store to a blank page counts as sequential
 * @ahead: number of blank pages that become dirty with a sequential store
 *
 * All are protected by space->lock.
 */
struct vgpu_mapping_blank {
	struct list_head entry;
	unsigned long *touched;
	unsigned int nr;
	pgoff_t next;
	pgoff_t ahead;
};

/**
 * struct vgpu_mapping - one mmap() of a forwarded file
 * @ref: reference count: VMAs, dirty pages, faults under way
 * @session: session whose shadow has the mapping; VMAs of a forked child use it as well
 * @export: export of the file, for the counters, with a reference
 * @space: space whose pages the mapping shows
 * @addr: address of the first page in the shadow
 * @pgoff: offset of the first page in @space, in pages
 * @nr: number of pages at the time of mmap()
 * @flags: VGPU_MAP_*; changes are made under @lock
 * @cache: cache attribute, VGPU_CACHE_*
 * @move: state of moves; the lock of each member is described there
 * @live: true if the mapping is of no use as a copy, so that it never moves
 * @stays: true once the window was seen to be unable to show the mapping, which then is in copy
 *	mode for good; written and read anywhere
 * @apart: true if the device and programs do not write to a page at the same time
 * @blank: pages of a blank buffer that the mapping shows; protected by space->lock
 * @mode_lock: rwsem, held for reading while a PTE is inserted, and for writing by the worker of
 *	move.c to change @mode, @range, @move.moves and @move.error
 * @mode: way in which programs see the mapping; written under host->lock as well
 * @range: range of the window, also while the mapping moves out of it; else NULL
 * @lock: spinlock that protects all that follows
 * @spans: sorted list of parts with the number of VMAs that cover each; a part that has ended at
 *	the host is not in the list, and never comes back
 * @ahead: pages that are fetched ahead
 * @error: error that a fault has left for its retry
 */
struct vgpu_mapping {
	struct kref ref;
	struct vgpu_session *session;
	struct vgpu_export *export;
	struct vgpu_space *space;
	u64 addr;
	pgoff_t pgoff;
	pgoff_t nr;
	u32 flags;
	u32 cache;
	struct vgpu_move_state move;
	bool live;
	bool stays;
	bool apart;
	struct vgpu_mapping_blank blank;
	struct rw_semaphore mode_lock;
	enum vgpu_mapping_mode mode;
	struct vgpu_window_range *range;
	spinlock_t lock;
	struct list_head spans;
	struct vgpu_space_ahead ahead;
	struct vgpu_mapping_error error;
};

/*
 * Return: the counter of mappings of this mode. A mapping that moves counts for its old mode.
 */
atomic64_t *vgpu_mapping_count(struct vgpu_mapping *mapping);

struct vgpu_mapping *vgpu_mapping_get(struct vgpu_mapping *mapping);
void vgpu_mapping_put(struct vgpu_mapping *mapping);

/* Return: the address in the shadow of page @pgoff of the space, a page of the mapping. */
u64 vgpu_mapping_addr(const struct vgpu_mapping *mapping, pgoff_t pgoff);

/*
 * Make faults of the mapping wait until vgpu_mapping_move_end(). For move.c. On return no older
 * fault is under way, except in the core, which may still map a page that it was given.
 */
void vgpu_mapping_move_begin(struct vgpu_mapping *mapping);
/*
 * Show the mapping in the window (@range), or by copy (NULL), from now on. @error: error with
 * which the move has failed, or 0.
 */
void vgpu_mapping_move_end(struct vgpu_mapping *mapping, struct vgpu_window_range *range,
			   int error);

/* Notify the host that a range of the shadow is not used any more. Waits for no reply. */
void vgpu_mapping_end(struct vgpu_mapping *mapping, u64 addr, u64 len);

/**
 * struct vgpu_unmap_entry - range that is unmapped at the host once its dirty bytes are there
 * @node: list entry in flush->unmaps; protected by flush->lock; or in a list of a run
 * @mapping: mapping of the range, with a reference
 * @addr: address of the first byte in the shadow
 * @len: length in bytes
 */
struct vgpu_unmap_entry {
	struct list_head node;
	struct vgpu_mapping *mapping;
	u64 addr;
	u64 len;
};

/**
 * vgpu_unmap_range - unmap a range of a mapping at the host
 * @mapping: the mapping
 * @pgoff: first page, as offset in its space
 * @nr: number of pages
 *
 * Unmaps at once if nothing in the range is dirty, and the session's flush neither runs nor has
 * orphans; else after the bytes are sent.
 *
 * Context: mmap_lock held for writing. Does not wait for the host.
 */
void vgpu_unmap_range(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t nr);

/**
 * vgpu_unmap_free - free an entry that is on no list any more
 * @unmap: the entry
 *
 * Context: process, no lock of a space, as the mapping may be freed.
 */
void vgpu_unmap_free(struct vgpu_unmap_entry *unmap);

#endif /* VGPU_MAPPING_H */

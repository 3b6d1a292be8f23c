/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings: VMAs of guest processes that are backed by a device mapping in a
 * shadow.
 */
#ifndef VGPU_MAPPING_H
#define VGPU_MAPPING_H

#include <linux/interval_tree.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "move.h"

struct vgpu_export;
struct vgpu_object;
struct vgpu_session;
struct vgpu_space;
struct vgpu_window_range;
struct task_struct;
struct vm_area_struct;

/*
 * A fault of the kernel may come from a copy to or from a program's buffer under locks of
 * others, a socket's for example, on which our own reply may depend: the one
 * worker that receives for all vsock sockets stops at a locked one
 * (virtio_transport_recv_pkt()). So it cannot wait for ever.
 */
#define VGPU_MAPPING_FAULT_WAIT	(3 * HZ)

/**
 * struct vgpu_mapping - one mmap() of a forwarded file
 * @ref: VMAs, dirty pages, faults under way
 * @session: whose shadow has it; after a fork the child's VMAs use it too
 * @export: where its file came from, for the counters (a reference)
 * @space: what it shows
 * @addr: where it begins in the shadow
 * @pgoff: what it begins with, pages in @space
 * @nr: pages that it had in the beginning
 * @flags: VGPU_MAP_*; WRITE may come later, under @lock
 * @cache: VGPU_CACHE_*
 * @entry: in host->mappings or host->move_todo, if it may move (host->lock)
 * @node: likewise in space->mappings
 * @mode_node: likewise in space->by_mode, of @mode
 * @shares: it is in both, and programs show a part of it (host->lock)
 * @unit: what moves with it; only the worker's of move.c, like all to @refused
 * @before: how programs saw it when the unit was collected; MOVING: not yet, or not any more
 * @out_pause: it could not be moved out of the window
 * @in_pause: nor into it
 * @crowded: it and those that share pages with it have once found no room (host->lock)
 * @claim: where it will be in the window
 * @refused: the host has said last that there is no such mapping, or that its parts are not
 *	cached alike
 * @live: of no use as a copy: it never moves
 * @stays: it was seen that the window cannot show it: COPY for good
 * @apart: the device does not write to its pages while programs do
 * @blank_entry: in @mappings of its file's struct vgpu_blank, while it has @touched; like that
 *	under its space's lock
 * @touched: it shows a blank buffer: bits of the pages that were fetched or written to; else NULL
 * @nr_blank: pages that were blank until a store; likewise, as what follows
 * @blank_next: page at which a store to a blank page counts as sequential
 * @blank_ahead: blank pages that then become dirty with it
 * @mode_lock: read: while a page is put into page tables; written: to change what follows,
 *	which only the worker of move.c does
 * @mode: how programs see it; written under host->lock, too
 * @range: where it is in the window, also while it moves out; else NULL
 * @moves: how often it began and ended to move
 * @move_error: 0, or why the last time it stayed where it was
 * @lock: guards what follows
 * @spans: parts of it with the number of VMAs that cover each, in order; what has
 *	ended at the host has none, and never again
 * @run_first: page from which the program read on
 * @run_end: behind the last one that it used since
 * @ahead_next: page at which a fault counts as sequential
 * @ahead: pages that the last fault fetched
 * @error: why the page at @error_index could not be fetched; 0: none
 * @error_index: offset in @space, pages
 * @error_task: whose fault it was, and whose retry takes it away; never dereferenced
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
	struct list_head entry;
	struct interval_tree_node node;
	struct interval_tree_node mode_node;
	bool shares;
	struct list_head unit;
	enum vgpu_mapping_mode before;
	struct vgpu_move_pause out_pause;
	struct vgpu_move_pause in_pause;
	bool crowded;
	struct vgpu_window_range *claim;
	bool refused;
	bool live;
	bool stays;
	bool apart;
	struct list_head blank_entry;
	unsigned long *touched;
	unsigned int nr_blank;
	pgoff_t blank_next;
	pgoff_t blank_ahead;
	struct rw_semaphore mode_lock;
	enum vgpu_mapping_mode mode;
	struct vgpu_window_range *range;
	u64 moves;
	int move_error;
	spinlock_t lock;
	struct list_head spans;
	pgoff_t run_first;
	pgoff_t run_end;
	pgoff_t ahead_next;
	u32 ahead;
	int error;
	pgoff_t error_index;
	const struct task_struct *error_task;
};

/**
 * vgpu_mapping_mmap - f_op->mmap of forwarded files
 * @object: what the file stands for
 * @vma: the new VMA
 *
 * Makes the shadow map the same range of the real file at the same address.
 *
 * Context: mmap lock held for writing; waits for the host killably, with calls
 * of class mm only.
 * Return: what the driver's mmap gives, or -EINTR, -ENODEV (host lost), -ENOMEM.
 */
int vgpu_mapping_mmap(struct vgpu_object *object, struct vm_area_struct *vma);

struct vgpu_mapping *vgpu_mapping_get(struct vgpu_mapping *mapping);
void vgpu_mapping_put(struct vgpu_mapping *mapping);

/* Address in the shadow of page @pgoff of the space; it is inside the mapping. */
u64 vgpu_mapping_addr(const struct vgpu_mapping *mapping, pgoff_t pgoff);

/*
 * How many pages from page @pgoff of the space on are still mapped in the shadow.
 * Something else may be at the address of others.
 */
pgoff_t vgpu_mapping_covered(struct vgpu_mapping *mapping, pgoff_t pgoff);
/* Those around page @pgoff, which is one of them: from @first to before @end. */
void vgpu_mapping_around(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t *first, pgoff_t *end);

/*
 * The first pages from page *@pgoff on that are still mapped in the shadow, which *@pgoff
 * becomes. Return: how many there are without a gap; 0: none.
 */
pgoff_t vgpu_mapping_next_run(struct vgpu_mapping *mapping, pgoff_t *pgoff);

/*
 * For move.c: its faults wait from here to vgpu_mapping_move_end(), and none that began
 * before is under way but in the core, which may still map a page that it was given.
 */
void vgpu_mapping_move_begin(struct vgpu_mapping *mapping);
/* It is seen in the window (@range), or by copy (NULL). @error: why it has not moved. */
void vgpu_mapping_move_end(struct vgpu_mapping *mapping, struct vgpu_window_range *range,
			   int error);

/* Tell the host, one-way, that a range of the shadow is not used any more. */
void vgpu_mapping_end(struct vgpu_mapping *mapping, u64 addr, u64 len);

#endif /* VGPU_MAPPING_H */

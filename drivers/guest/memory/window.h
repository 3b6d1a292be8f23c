/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows: a window is memory of the host in which the guest's programs see device mappings
 * directly, without copies. A *provider* makes the window reachable from this kernel. It is
 * either a device with memory that the hypervisor has given this machine, or the host module if
 * that is loaded in the same kernel.
 *
 * The guest manages the ranges of the window (window_range.h).
 *
 * Lock order: window_hosts_lock (window_announce.c) is taken outside a provider's open and close. A
 * fault takes mmap_lock, mapping->mode_lock, window->use, range->insert, then the provider's
 * page locks. window->lock is also taken in a provider's MMU notifiers, so memory must not be
 * reclaimed under window->lock.
 */
#ifndef VGPU_GUEST_WINDOW_H
#define VGPU_GUEST_WINDOW_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>

struct vgpu_export;
struct vgpu_host;
struct vgpu_window;
struct vgpu_window_range;
struct vm_fault;

/**
 * struct vgpu_window_area - the part of a window that one fault may map
 * @offset: offset of the faulting page in the window, in bytes
 * @first: offset of the first byte that may be mapped together with the page
 * @end: offset behind the last byte that may be mapped together with the page
 */
struct vgpu_window_area {
	u64 offset;
	u64 first;
	u64 end;
};

/**
 * struct vgpu_window_provider - operations that reach a window
 * @open: finds the window by window->id, checks that the memory has window->size bytes (the
 *	host names this size, which is not checked yet), and sets window->data. Return: 0, or an
 *	errno if this provider does not have the window
 * @close: ends the use of the window
 * @bind: prepares a range, which the host has bound, for PTEs with the given cache attribute
 *	(VGPU_CACHE_*); NULL if there is nothing to prepare. Return: 0, or an errno if the range
 *	cannot be mapped with that attribute
 * @unbind: undoes @bind, after the host has nothing bound in the range any more
 * @insert: inserts the PTE for the page at @area->offset of the window into the VMA of the
 *	fault, with the cache attribute @cache (VGPU_CACHE_*), writable at once if both
 *	@writable and the VMA are. Also inserts PTEs for those neighbours within @area that the
 *	provider has. Called under window->use and range->insert; does not wait. Return: the
 *	result of a fault handler; VM_FAULT_RETRY asks the caller to call @resolve and then
 *	@insert again
 * @insert_huge: inserts a PMD mapping for the 2 MiB that contain @offset; NULL if the provider
 *	cannot. Called like @insert. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: the caller
 *	tries @insert
 * @resolve: waits, killably, until @insert may succeed; called without locks; NULL if @insert
 *	never returns VM_FAULT_RETRY. Return: 0 or -EINTR
 *
 * A provider calls vgpu_window_zap() when the host changes pages that @insert has shown.
 */
struct vgpu_window_provider {
	int (*open)(struct vgpu_window *window);
	void (*close)(struct vgpu_window *window);
	int (*bind)(struct vgpu_window_range *range, u32 cache);
	void (*unbind)(struct vgpu_window_range *range);
	vm_fault_t (*insert)(struct vgpu_window *window, struct vm_fault *vmf,
			     const struct vgpu_window_area *area, bool writable, u32 cache);
	vm_fault_t (*insert_huge)(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
				  bool writable, u32 cache);
	int (*resolve)(struct vgpu_window *window, u64 offset);
};

/**
 * struct vgpu_window - the window of one host
 * @ref: references: the host's, and one of each range
 * @host: host of the window; may be freed once @ended is set
 * @provider: provider that reaches the window
 * @data: private data of the provider
 * @id: number that the host has given the window
 * @size: size of the window in bytes
 * @use: rwsem, held for reading while PTEs are inserted; held for writing to change the state that
 *	decides whether a PTE may be inserted, before PTEs are zapped
 * @gone: true if no PTE may be inserted any more; written under @use
 * @drain: true if the host wants nothing to be in the window; written under window_hosts_lock, read
 *	anywhere
 * @lock: guards the fields from @ended on
 * @ended: true if the host has taken the window away with all that was bound in it, or the
 *	connection is lost
 * @nr_shown: number of ranges that the host has bound or may still bind; also read without @lock
 * @wanted: true if a mapping has found no room, so that moves are tried again once there is room
 * @map: bitmap of the claimed pages, one bit for each page
 * @next: page at which the search for small ranges begins
 * @ranges: interval tree of struct vgpu_window_range, by offset in bytes
 */
struct vgpu_window {
	struct kref ref;
	struct vgpu_host *host;
	const struct vgpu_window_provider *provider;
	void *data;
	u64 id;
	u64 size;
	struct rw_semaphore use;
	bool gone;
	bool drain;
	struct mutex lock;
	bool ended;
	unsigned int nr_shown;
	bool wanted;
	unsigned long *map;
	unsigned long next;
	struct rb_root_cached ranges;
};

/* Return: true if new mappings of the host's devices go into a window, as far as it has room. */
bool vgpu_window_is_there(struct vgpu_host *host);

/**
 * vgpu_window_missed - log that a program needed a window and there is none
 * @export: export of the file that failed for want of a window
 *
 * The errno that the program gets (out of memory, an unknown class) does not mention the
 * window. So a message is logged once for each connection, unless the host has a window by now.
 */
void vgpu_window_missed(const struct vgpu_export *export);

/* Return: true if mappings and messages may be put into the window. */
bool vgpu_window_is_open(const struct vgpu_window *window);
/* Return: the host's window with a reference, or NULL. */
struct vgpu_window *vgpu_window_get(struct vgpu_host *host);
/* Return: the host's window with a reference if its number is @id, or NULL. */
struct vgpu_window *vgpu_window_named(struct vgpu_host *host, __le64 id);
void vgpu_window_put(struct vgpu_window *window);

/* Provider for a host module in the same kernel. */
extern const struct vgpu_window_provider vgpu_window_loopback;

#endif /* VGPU_GUEST_WINDOW_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows: a window is memory of the host in which the guest's programs see device mappings
 * directly, without copies. A *provider* makes the window reachable from this kernel. It is
 * either a device with memory that the hypervisor has given this machine, or the host module if
 * that is loaded in the same kernel.
 *
 * The guest manages the ranges of the window. A range is claimed for each mapping and named in the
 * MMAP or BIND call. The host may fail to bind the mapping there. A released range is claimed again
 * only after the host has confirmed (UNBOUND) that nothing is bound in the range.
 *
 * Lock order: window_hosts_lock (window_announce.c) is taken outside a provider's open and close. A
 * fault takes mmap_lock, mapping->mode_lock, window->use, range->insert, then the provider's
 * page locks. window->lock is also taken in a provider's MMU notifiers, so memory must not be
 * reclaimed under window->lock.
 */
#ifndef VGPU_GUEST_WINDOW_H
#define VGPU_GUEST_WINDOW_H

#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct vgpu_export;
struct vgpu_host;
struct vgpu_mapping;
struct vgpu_window;
struct vgpu_window_part;
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
 * @use: held for reading while PTEs are inserted; held for writing to change the state that
 *	decides whether a PTE may be inserted, before PTEs are zapped
 * @gone: true if no PTE may be inserted any more; written under @use
 * @drain: true if the host wants nothing to be in the window
 * @lock: guards the fields from @ended on
 * @ended: true if the host has taken the window away with all that was bound in it, or the
 *	connection is lost
 * @nr_shown: number of ranges that the host has or may yet have bound
 * @wanted: true if a mapping has found no room
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
/* Return: the host's window with a reference if its number is @id, or NULL. */
struct vgpu_window *vgpu_window_named(struct vgpu_host *host, __le64 id);
void vgpu_window_put(struct vgpu_window *window);

enum vgpu_window_range_state {
	VGPU_RANGE_CLAIMED,	/* no mapping shows the range yet: an MMAP or BIND may name it */
	VGPU_RANGE_MAPPED,	/* a mapping shows the range */
	VGPU_RANGE_LEFT,	/* window lost, UNBIND sent, but the mapping cannot be copied */
	VGPU_RANGE_HIDDEN,	/* as LEFT, and the host has nothing bound there any more */
	VGPU_RANGE_RELEASED,	/* released by the mapping, waits for UNBOUND */
	VGPU_RANGE_UNBOUND,	/* UNBOUND came, waits for the provider's unbind */
};

/**
 * struct vgpu_window_range - a part of a window that one mapping shows
 * @node: entry in window->ranges; guarded by window->lock like @state and @mapping
 * @window: window of the range, with a reference
 * @offset: offset in the window in bytes
 * @len: length in bytes
 * @state: state of the range, see enum vgpu_window_range_state
 * @mapping: mapping that shows the range, set by vgpu_window_attach(); NULL after
 *	vgpu_window_release(). The mapping lives until that call
 * @insert: mutex held while PTEs or PMD mappings are inserted, so that a PMD mapping is never
 *	inserted where a page table is, nor a page table where a PMD mapping is
 * @huge: true if a PMD mapping was inserted at any time
 * @bound: true if the provider's @bind was called
 * @data: private data of the provider
 * @unbound: work item that frees the range in the state VGPU_RANGE_UNBOUND
 * @bad_first: offset in the window of the first page that may have failed. The host is asked
 *	before a page from here to @bad_end is shown. Guarded by window->use like all that
 *	follow
 * @bad_end: offset behind the last page that may have failed
 * @bad_count: generation of the last INVALIDATE for the range, unique among all ranges of all
 *	hosts; 0: none yet
 * @hopeless: true if a page failed again soon after the host had given it. The host can read
 *	the page, and the window cannot show it
 * @good: failed pages that the host was asked for since and has, indexed by page of the window;
 *	the value is the time of the answer in seconds
 */
struct vgpu_window_range {
	struct interval_tree_node node;
	struct vgpu_window *window;
	u64 offset;
	u64 len;
	enum vgpu_window_range_state state;
	struct vgpu_mapping *mapping;
	struct mutex insert;
	bool huge;
	bool bound;
	void *data;
	struct work_struct unbound;
	u64 bad_first;
	u64 bad_end;
	u64 bad_count;
	bool hopeless;
	struct xarray good;
};

/* Module init and exit; exit after the last host is freed. */
int vgpu_window_global_init(void);
void vgpu_window_global_exit(void);

/*
 * Return: the first range of the window that has bytes from offset @first to offset @last. The
 * caller holds window->lock.
 */
struct vgpu_window_range *vgpu_window_range_first(struct vgpu_window *window, u64 first, u64 last);
/* Return: the range after @range that has such bytes. */
struct vgpu_window_range *vgpu_window_range_next(struct vgpu_window_range *range, u64 first,
						 u64 last);

/**
 * vgpu_window_is_over - check whether a lost window may be opened anew
 * @window: the window, whose lock the caller holds
 *
 * Return: true if the window is lost and the host has nothing bound in it any more.
 */
bool vgpu_window_is_over(const struct vgpu_window *window);

/**
 * vgpu_window_claim - claim a range of the host's window for a new mapping
 * @host: the host
 * @addr: address of the mapping in the program
 * @len: length of the mapping in bytes
 *
 * A range of 2 MiB or more gets an offset that is congruent to @addr modulo 2 MiB if there is
 * such room, so that PMD mappings are possible.
 *
 * Return: the range, to be given to vgpu_window_attach(), vgpu_window_release() or
 * vgpu_window_unclaim(); NULL if there is no window or no room in the window.
 */
struct vgpu_window_range *vgpu_window_claim(struct vgpu_host *host, u64 addr, u64 len);

/*
 * Attach a range to @mapping, which shows the range from now on; the host has bound it. Return:
 * 0, or an errno if the provider cannot map the range with the mapping's cache attribute.
 */
int vgpu_window_attach(struct vgpu_window_range *range, struct vgpu_mapping *mapping);

/**
 * vgpu_window_release - release a range
 * @range: range that no VMA shows any more
 * @bound: true if the host may have the range bound; then an UNBIND is sent to the host
 */
void vgpu_window_release(struct vgpu_window_range *range, bool bound);

/*
 * Release a claimed range that was not named to the host, because the move has failed for another
 * mapping: it found no room, or could not be bound.
 */
void vgpu_window_unclaim(struct vgpu_window_range *range);

/*
 * Zap all PTEs that show [offset, offset + len) of the window. For providers; may be called
 * from MMU notifiers.
 */
void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len);

/*
 * End the use of a window whose memory goes away without the host's knowledge. All PTEs are zapped
 * when the function returns. Mappings that can be copies move to copy mode later; the others give
 * SIGBUS. For providers.
 */
void vgpu_window_lost(struct vgpu_window *window);

/*
 * Wait, killably, until the host has nothing bound in a lost window. For providers. The caller
 * holds a reference of the window. @timeout: jiffies. Return: true if nothing is bound, or the
 * window has ended and no UNBOUND will come; false after the timeout or a fatal signal.
 */
bool vgpu_window_await_hidden(struct vgpu_window *window, unsigned long timeout);

/* Handle the message UNBOUND of the host. */
void vgpu_window_unbound(struct vgpu_host *host, const struct vgpu_window_part *part);

/**
 * vgpu_window_end - end a window
 * @window: the window; the host's reference of it is consumed
 *
 * No PTE shows the window any more when the function returns, and no provider's unbind runs.
 *
 * Context: process; waits for work items.
 */
void vgpu_window_end(struct vgpu_window *window);

/* Provider for a host module in the same kernel. */
extern const struct vgpu_window_provider vgpu_window_loopback;

#endif /* VGPU_GUEST_WINDOW_H */

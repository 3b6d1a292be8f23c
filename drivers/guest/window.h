/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows: memory of the host in which its device mappings are seen as they are,
 * without copies. What makes a window reachable here is a *provider*: a device with
 * memory that the hypervisor has given this machine, or the same kernel.
 *
 * Ranges of the window belong to us: one is claimed for each mapping, named in the
 * MMAP, which the host may refuse to bind there, and used again only after the host
 * has confirmed (UNBOUND) that nothing is bound there any more.
 *
 * Lock order: window_hosts_lock (window.c), over a provider's open and close. mmap_lock,
 * mapping->mode_lock, then window->use, then range->insert, then the provider's of pages;
 * window->lock is taken in a provider's notifiers, so no memory may be reclaimed under it.
 * What @slot_enter takes is innermost.
 */
#ifndef VGPU_GUEST_WINDOW_H
#define VGPU_GUEST_WINDOW_H

#include <linux/errno.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct vgpu_export;
struct vgpu_host;
struct vgpu_mapping;
struct vgpu_slot;
struct vgpu_window;
struct vgpu_window_area;
struct vgpu_window_info;
struct vgpu_window_part;
struct vgpu_window_range;
struct vm_area_struct;
struct vm_fault;

/**
 * struct vgpu_window_provider - how a window is reached
 * @name: for people
 * @open: find the window by window->id, see that it has window->size bytes, which is what the
 *	host says and nobody has checked, and fill in window->data. Return: 0, or an errno: it
 *	is not here
 * @close: the window is not used any more
 * @bind: a range has been bound, to be seen with a cache attribute (VGPU_CACHE_*); NULL
 *	if there is nothing to do. Return: 0, or an errno: it cannot be seen like that
 * @unbind: nothing is bound there any more, after a @bind
 * @insert: put the page at @area->offset of the window into the VMA of the fault, writable
 *	at once if @writable and the VMA is, with the cache attribute @cache (VGPU_CACHE_*),
 *	and as much as it has of what is around it there (@area). Called under window->use
 *	and range->insert; does not wait. Return: what a fault handler returns;
 *	VM_FAULT_RETRY: @resolve, then again
 * @insert_huge: likewise the 2 MiB in which @offset is, as one entry; NULL if it cannot.
 *	Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: try @insert
 * @resolve: waits, killably, until @insert may succeed; called without locks; NULL if
 *	@insert never asks for it. Return: 0 or -EINTR
 * @slots: which slots (arena.h) of the memory are used here, one bit each. They are of the
 *	memory: whoever was cut off from the host may still write to his when the next
 *	connection has another window object
 * @slot_open: the host has given a slot: fill in slot->memory, by which it is reached, and
 *	slot->data. Return: 0, or an errno: it cannot be reached as it should be
 * @slot_close: not used any more
 * @slot_enter: the memory may be touched until @slot_leave, as there is one. Does not wait
 *	for the host. Return: there is
 * @slot_leave: see @slot_enter
 * @slot_id: what the window's header has of the slot, between these two
 *
 * A provider whose pages the host may change calls vgpu_window_zap() when it does.
 */
struct vgpu_window_provider {
	const char *name;
	int (*open)(struct vgpu_window *window);
	void (*close)(struct vgpu_window *window);
	int (*bind)(struct vgpu_window_range *range, u32 cache);
	void (*unbind)(struct vgpu_window_range *range);
	vm_fault_t (*insert)(struct vgpu_window *window, struct vm_fault *vmf,
			     const struct vgpu_window_area *area, bool writable, u32 cache);
	vm_fault_t (*insert_huge)(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
				  bool writable, u32 cache);
	int (*resolve)(struct vgpu_window *window, u64 offset);
	unsigned long *(*slots)(struct vgpu_window *window);
	int (*slot_open)(struct vgpu_slot *slot);
	void (*slot_close)(struct vgpu_slot *slot);
	bool (*slot_enter)(struct vgpu_slot *slot);
	void (*slot_leave)(struct vgpu_slot *slot);
	u64 (*slot_id)(const struct vgpu_slot *slot);
};

/**
 * struct vgpu_window_area - a fault's part of a window
 * @offset: its page
 * @first: what may be shown with it begins here
 * @end: and ends here
 */
struct vgpu_window_area {
	u64 offset;
	u64 first;
	u64 end;
};

extern const struct vgpu_window_provider vgpu_window_loopback;
extern const struct vgpu_window_provider vgpu_window_provider_device;

#ifdef CONFIG_PCI
int vgpu_window_ivshmem_init(void);
void vgpu_window_ivshmem_exit(void);
#else
static inline int vgpu_window_ivshmem_init(void)
{
	return 0;
}

static inline void vgpu_window_ivshmem_exit(void)
{
}
#endif

#ifdef VGPU_HAVE_VIRTIO
int vgpu_window_virtio_init(void);
void vgpu_window_virtio_exit(void);
#else
static inline int vgpu_window_virtio_init(void)
{
	return 0;
}

static inline void vgpu_window_virtio_exit(void)
{
}
#endif

/**
 * struct vgpu_window - the window of one host
 * @ref: the host's, and each range's
 * @host: whose it is; gone when @gone
 * @provider: how it is reached
 * @data: the provider's
 * @id: the host's number for it
 * @size: bytes
 * @nr_slots: of the arena, its last bytes
 * @next_slot: which to try first
 * @slots_after: jiffies: no slot is asked for before
 * @use: read: while a page is put into page tables; written: to change what decides
 *	whether it may be, before pages are taken away
 * @gone: none may be any more
 * @drain: nothing is to be in it
 * @lock: guards what follows
 * @ended: the host has taken it away, with all that was bound there
 * @nr_shown: number of ranges that the host may have bound, or may yet bind
 * @wanted: a mapping has found no room
 * @map: pages that are claimed, one bit each
 * @next: where to look first for others
 * @ranges: struct vgpu_window_range by offset
 */
struct vgpu_window {
	struct kref ref;
	struct vgpu_host *host;
	const struct vgpu_window_provider *provider;
	void *data;
	u64 id;
	u64 size;
	unsigned int nr_slots;
	unsigned int next_slot;
	unsigned long slots_after;
	struct rw_semaphore use;
	bool gone;
	bool drain;
	struct mutex lock;
	bool ended;
	unsigned int nr_shown;
	bool wanted;
	unsigned long *map;
	unsigned long next;
	struct rb_root ranges;
};

enum vgpu_window_range_state {
	VGPU_RANGE_CLAIMED,	/* a MMAP that names it is under way */
	VGPU_RANGE_MAPPED,	/* a mapping shows it */
	VGPU_RANGE_LEFT,	/* a mapping that never moves has it in a lost window */
	VGPU_RANGE_HIDDEN,	/* such a mapping has it still, and nothing is bound there */
	VGPU_RANGE_RELEASED,	/* waits for UNBOUND */
	VGPU_RANGE_UNBOUND,	/* waits until the provider has let go of it */
};

/**
 * struct vgpu_window_range - a part of a window that one mapping shows
 * @node: in window->ranges, under window->lock like @state and @mapping
 * @window: a reference
 * @offset: in the window
 * @len: bytes
 * @state: see there
 * @mapping: the mapping that shows it, which outlives the state VGPU_RANGE_MAPPED
 * @insert: held while pages are put into page tables: a table and an entry of 2 MiB must not
 *	meet there
 * @huge: there was such an entry
 * @bound: the provider's @bind was called
 * @data: the provider's
 * @unbound: work that frees it, in that state
 * @bad_first: pages from here to @bad_end may have failed: the host is asked before
 *	one is shown; under window->use like the rest
 * @bad_end: see @bad_first
 * @bad_count: number of the last INVALIDATE, of all that there were anywhere; 0: none
 * @hopeless: one that the host has given since has failed again at once: what it can
 *	read cannot be seen in the window
 * @good: pages of these that were asked for since, by page of the window: in which second
 */
struct vgpu_window_range {
	struct rb_node node;
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

/* Whether new mappings of the host's devices are seen in a window, if it has room. */
bool vgpu_window_is_there(struct vgpu_host *host);

/**
 * vgpu_window_missed - a program was refused what works only in a window
 * @export: whose file it asked
 *
 * The error says nothing of that (out of memory, a class that is not there), so the log of this
 * machine does, once a connection, unless there is a window after all.
 */
void vgpu_window_missed(const struct vgpu_export *export);

/**
 * vgpu_window_claim - a part of the host's window for a new mapping
 * @host: the host
 * @addr: where the program has it
 * @len: bytes
 *
 * What is large lies in the window as it lies in the program, if there is such room, for entries
 * of 2 MiB.
 *
 * Return: a range, to be given to vgpu_window_attach() or vgpu_window_release(), or
 * NULL: there is no window, or no room in it.
 */
struct vgpu_window_range *vgpu_window_claim(struct vgpu_host *host, u64 addr, u64 len);

/*
 * The host has bound it: @mapping shows it from now on. Return: 0, or an errno: the
 * provider cannot show it as it is cached there.
 */
int vgpu_window_attach(struct vgpu_window_range *range, struct vgpu_mapping *mapping);

/**
 * vgpu_window_release - a range is not used any more
 * @range: no VMA shows it
 * @bound: the host may have it bound, and is told
 */
void vgpu_window_release(struct vgpu_window_range *range, bool bound);

/* What was claimed in vain, of which the host has not heard: others had no room, either. */
void vgpu_window_unclaim(struct vgpu_window_range *range);

/*
 * For providers: page tables show nothing of [offset, offset + len) any more when it
 * returns. From mmu notifiers, too.
 */
void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len);

/* For providers: the memory goes away, which the host does not know; mappings go by copy. */
void vgpu_window_lost(struct vgpu_window *window);

/*
 * Waits, for providers, for so many jiffies until the host shows nothing any more in a window that
 * is lost. The caller has a reference. Return: whether it is so, or the host is gone and nobody can
 * tell.
 */
bool vgpu_window_await_hidden(struct vgpu_window *window, unsigned long timeout);

/* For providers: there is memory that was not there, in which a host's window may be. */
void vgpu_window_found(void);

/*
 * What a host has announced is opened if its memory was not there, or was lost: in the latter
 * case when the host has confirmed that nothing is bound any more of what was, as it does
 * not know that anything was lost. Process context, no locks.
 */
void vgpu_window_settle(struct vgpu_host *host);

/* Mappings may be in it, and messages. */
bool vgpu_window_is_open(const struct vgpu_window *window);
/* The host's window, with a reference, or NULL. */
struct vgpu_window *vgpu_window_get(struct vgpu_host *host);
void vgpu_window_put(struct vgpu_window *window);

/*
 * For the faults of mapping.c, under mapping->mode_lock. Does not wait. Return:
 * VM_FAULT_RETRY: vgpu_window_wait() first; else what a fault handler returns.
 */
vm_fault_t vgpu_window_fault(struct vm_fault *vmf);
/* Of 2 MiB. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: vgpu_window_fault(). */
vm_fault_t vgpu_window_huge_fault(struct vm_fault *vmf);
/* Of a raw page. */
vm_fault_t vgpu_window_mkwrite(struct vm_fault *vmf);
/*
 * A VMA of the mapping is about to be copied: fork() looks at entries of 2 MiB without a lock, and
 * might copy one that is being taken away. So it finds none, and both processes fault anew.
 */
void vgpu_window_fork(struct vgpu_mapping *mapping, struct vm_area_struct *vma);
/*
 * Without locks. @deadline: the fault's, see deadline.h. Return: 0, -EINTR, or why the page
 * cannot be had.
 */
int vgpu_window_wait(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline);

/* Messages of the host. */
void vgpu_window_announce(struct vgpu_host *host, const struct vgpu_window_info *info);
void vgpu_window_invalidate(struct vgpu_host *host, const struct vgpu_window_part *part);
void vgpu_window_unbound(struct vgpu_host *host, const struct vgpu_window_part *part);
/* The connection is lost: nothing is seen in the window any more. */
void vgpu_window_abort(struct vgpu_host *host);

#endif /* VGPU_GUEST_WINDOW_H */

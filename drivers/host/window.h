/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows: memory of this machine in which a guest sees its device mappings.
 *
 * A window is a char device that a hypervisor maps and gives its guest as a device
 * with memory. It belongs to a guest's address (CID and port), not to a peer: it is
 * there before the guest connects and after. Offsets are bound to parts of shadows'
 * mappings (binding.c); all others show a page of the window's own.
 *
 * Lock order, after the locks of host.h:
 *
 *   windows_lock (window.c)	list of windows
 *   (mmap_lock of a hypervisor)
 *   (unmapping in a shadow: i_mmap_rwsem, the notifier's own)
 *   window->viewers_lock	viewers; over their ->zap(). Taken in notifiers, like what
 *				follows: nothing is allocated that could reclaim memory
 *   window->lock		bindings, pages that are being resolved; while page
 *				tables get an entry
 *   (i_mmap_rwsem of the window)
 *
 * A shadow's mmap lock and a hypervisor's are never held together: a fault in the
 * window lets go of its own before the shadow is looked at (rule: two passes).
 */
#ifndef VGPU_HOST_WINDOW_H
#define VGPU_HOST_WINDOW_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>

#include "compat.h"
#include "host.h"
#include "window_local.h"

/* --- nested.c -------------------------------------------------------------- */

/* Whether hypervisors may show windows now. Return: 0 or -EPERM. */
#ifdef VGPU_NESTED_KEEPS_PAGES
int vgpu_nested_check(void);
#else
static inline int vgpu_nested_check(void)
{
	return 0;
}
#endif

/* --- window.c, binding.c --------------------------------------------------- */

/* A hypervisor's fault ends within this time, whatever the driver does. */
#define VGPU_WINDOW_TIMEOUT	(2 * HZ)
/* Probes of one window that are in drivers; more are not made. */
#define VGPU_WINDOW_PROBES	8
/*
 * How long a MMAP may be delayed by one. The guest holds the program's mmap lock, and the driver
 * may wait for who fetches there: so it is half of a fetch's deadline at most, too.
 */
#define VGPU_PROBE_MMAP		HZ
/* And a BIND, for which the guest waits a second (MOVE_BIND_WAIT), and then gives all up. */
#define VGPU_PROBE_BIND		(HZ / 4)

struct vgpu_window {
	struct device dev;
	struct cdev cdev;
	u32 cid;
	u32 port;
	u64 size;
	kuid_t uid;
	kgid_t gid;
	/* VGPU_HOST_WINDOW_*, for the agent. */
	u32 flags;
	/* Whose VMAs the device file's are. */
	struct inode *inode;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	/* What the inode's i_mmap_rwsem was before it was this window's. */
	struct lock_class_key *i_mmap_key;
	const char *i_mmap_name;
#endif
	struct page *header;
	/* What is seen where nothing is bound. */
	struct page *dummy;
	/* Likewise of the arena: no program ever sees it. */
	struct page *vacant;

	/* In the list of windows. */
	struct list_head node;
	/* Workers that wait for drivers run on @wq; @free_work destroys it and frees the window. */
	struct workqueue_struct *wq;
	struct work_struct free_work;
	/* Unregisters the notifiers of bindings that have ended; on @wq. */
	struct work_struct end_work;

	struct mutex lock;
	/* Anew for each hypervisor. */
	u64 id;
	bool gone;
	bool drain;
	u32 opens;
	/* Whose they are, a reference of the struct; NULL: there are none. */
	struct mm_struct *opener;
	/* A hypervisor has mapped it since it got its number. */
	bool mapped;
	struct rb_root bindings;
	u32 nr_bindings;
	/* Bindings that have ended, and whose notifiers are still registered. */
	struct list_head ended;
	/* Of the arena, its last bytes; NULL: nobody has it. */
	u32 nr_slots;
	u32 slots_used;
	struct vgpu_slot *slots[VGPU_ARENA_SLOTS_MAX];
	/* Workers that are in drivers, and for which nobody waits. */
	u32 nr_left;
	/* Workers that prepare pages (binding.c). */
	u32 nr_ahead;
	/* Shadows whose drivers are being probed, each once; the workers have references. */
	struct mm_struct *probes[VGPU_WINDOW_PROBES];

	struct rw_semaphore viewers_lock;
	struct list_head viewers;

	atomic64_t bound_bytes;
	atomic64_t faults;
	atomic64_t resolved;
	atomic64_t dummies;
	atomic64_t failures;
	atomic64_t timeouts;
	atomic64_t zaps;
	atomic64_t arena_bytes;
	atomic64_t huge;
};

/* --- window.c ------------------------------------------------------------- */

/* Its guest has to hear of it. */
static inline void vgpu_window_changed(const struct vgpu_window *window)
{
	vgpu_agent_kick_peer(window->cid, window->port);
}

/* The window of the peer, with a reference, or NULL. */
struct vgpu_window *vgpu_window_find(const struct vgpu_peer *peer);
void vgpu_window_get(struct vgpu_window *window);
void vgpu_window_put(struct vgpu_window *window);
/* Pages of [offset, offset + len) are in no page tables any more when it returns. */
void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len);

/* --- arena.c: see host.h for the rest --------------------------------------- */

/* How many slots a window of that size has. */
u32 vgpu_arena_slots(u64 size);
/* From here to its end a window has its slots, and no bindings of those who know of them. */
u64 vgpu_arena_start(const struct vgpu_window *window);
/* Put the page at @offset, of the arena, into the VMA of the fault. window->lock is held. */
vm_fault_t vgpu_arena_insert_locked(struct vgpu_window *window, struct vm_fault *vmf, u64 offset);
/* For struct vgpu_window_local_ops. */
struct vgpu_slot *vgpu_arena_local_get(struct vgpu_window *window, u32 nr, u64 id, void **memory,
				       const __le64 **id_now);
void vgpu_arena_local_put(struct vgpu_slot *slot);

/* --- binding.c ------------------------------------------------------------ */

/**
 * struct vgpu_binding - a range of a window that shows a range of a shadow
 * @ref: the window's tree, mappings, work that is under way
 * @window: a reference
 * @window_id: the window's number when it was made
 * @peer: whose shadow it is, a reference
 * @offset: in the window
 * @mm: the shadow's, a reference of the struct
 * @addr: in the shadow
 * @len: bytes
 * @pgoff: what the shadow's VMA has at @addr
 * @file: the shadow's VMA is of this file: for comparison, the mappings hold it
 * @writable: the shadow's VMA is, too
 * @prot: has the cache attribute that the guest is told; written before it is
 * @users: mappings that show it; under the session's map_lock
 * @notifier: tells of changes of the shadow's page tables
 * @node: in window->bindings, under window->lock like what follows
 * @listed: it is there
 * @ended_node: in window->ended, after that
 * @gone: nothing of it is put into page tables any more
 * @touches: pages that are being resolved, or were
 * @seq: of @notifier, as a worker has read it last; 0: none has yet, and no such number is 0
 * @next: offset in the window of the page that a program touches next which goes on in order
 * @step: bytes that are prepared there; 0: the last touch was not in order
 * @ahead: offset in the window of the last preparation; not written while there is one
 * @ahead_end: end of the last preparation, likewise
 * @ahead_busy: a preparation is under way, with a reference
 * @ahead_over: completed while there is no preparation
 * @ahead_work: the preparation: has the driver put pages into the shadow's page tables
 * @bad_node: in peer->bad_bindings, under peer->events_lock like what follows
 * @bad_first: pages that failed since the guest was told: the first
 * @bad_end: behind the last; @bad_first: none
 */
struct vgpu_binding {
	struct kref ref;
	struct vgpu_window *window;
	u64 window_id;
	struct vgpu_peer *peer;
	u64 offset;
	struct mm_struct *mm;
	u64 addr;
	u64 len;
	pgoff_t pgoff;
	const struct file *file;
	bool writable;
	pgprot_t prot;
	u32 users;
	struct mmu_interval_notifier notifier;

	struct rb_node node;
	bool listed;
	struct list_head ended_node;
	bool gone;
	struct list_head touches;
	unsigned long seq;
	u64 next;
	u64 step;
	u64 ahead;
	u64 ahead_end;
	bool ahead_busy;
	struct completion ahead_over;
	struct work_struct ahead_work;

	struct list_head bad_node;
	u64 bad_first;
	u64 bad_end;
};

/**
 * struct vgpu_binding_place - what is to be bound
 * @addr: in the shadow that is current
 * @len: bytes
 * @pgoff: what the VMA has at @addr
 * @file: the VMA's
 * @writable: the VMA is
 * @prot: the VMA's
 * @seq: the last control message that the call which wants it was made after
 */
struct vgpu_binding_place {
	u64 addr;
	u64 len;
	pgoff_t pgoff;
	const struct file *file;
	bool writable;
	pgprot_t prot;
	u64 seq;
};

/*
 * Bind at @offset of the window that the peer knows as @id; called without the mmap
 * lock. Return: the binding, with a reference, or ERR_PTR(): -ENODEV (no such
 * window), -EBUSY (something is bound there, or is not to be since), -ENOMEM.
 */
struct vgpu_binding *vgpu_binding_make(struct vgpu_peer *peer, u64 id, u64 offset,
				       const struct vgpu_binding_place *place);
/*
 * Ask the driver for the first page of a new binding, for as long as @time at most, without
 * locks. Return: 0: nothing is against it; -EOPNOTSUPP: the window cannot show what the driver
 * gives; -ENODEV, -EBUSY: it has ended meanwhile, with the window or by itself.
 */
int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time);
/* The binding at @offset that is to be seen, or NULL. window->lock is held. */
struct vgpu_binding *vgpu_binding_find_locked(struct vgpu_window *window, u64 offset);
void vgpu_binding_get(struct vgpu_binding *binding);
void vgpu_binding_put(struct vgpu_binding *binding);
/*
 * Put the page at @offset of the window into the VMA of the fault, and those of [first, end)
 * around it that were found with it. window->lock is held.
 * Return: VM_FAULT_RETRY: has to be resolved first; VM_FAULT_SIGBUS: cannot be had now;
 * else what a fault handler returns. @local: no hypervisor's, which must not wait long
 * and which takes not every page.
 */
vm_fault_t vgpu_binding_insert_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
				      u64 offset, u64 first, u64 end, bool local);
/*
 * Put the 2 MiB that @offset is in into the VMA of the fault as one entry, as far as is known
 * that they are in one piece. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK.
 */
vm_fault_t vgpu_binding_insert_huge_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
					   u64 offset, bool local);
/* Ask the driver for the page, for as long as @timeout, without locks. Return: 0 or -EINTR. */
int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout);
/* The guest is to know that its program has lost the page. Any context. */
void vgpu_binding_fail(struct vgpu_binding *binding, u64 offset, u64 len);
/*
 * Nothing is shown any more when it returns, nor will be. The caller has a reference. @tell: tell
 * the guest, too.
 */
void vgpu_binding_end(struct vgpu_binding *binding, bool tell);
/* A window's @end_work: the rest of what was bound there. */
void vgpu_binding_end_work(struct work_struct *work);
/* The shadow's VMAs of it have become writable, and so will what shows it. */
void vgpu_binding_widen(struct vgpu_binding *binding);
/* Calls that the peer made before it gave the range back do not bind there any more. */
void vgpu_binding_refuse(struct vgpu_peer *peer, const struct vgpu_unbind *unbind);
/*
 * All in the range, in part at least, that are the peer's (NULL: anybody's) and were
 * made when the window had the number @id (0: any).
 */
void vgpu_binding_end_range(struct vgpu_window *window, const struct vgpu_peer *peer, u64 id,
			    u64 offset, u64 len, bool tell);

#endif /* VGPU_HOST_WINDOW_H */

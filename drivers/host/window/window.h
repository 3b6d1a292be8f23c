/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows: memory of this machine in which a guest sees its device mappings.
 *
 * A window is a char device that a hypervisor maps and gives its guest as a device with memory.
 * It belongs to a guest's address (CID and port), not to a peer: it exists before the guest
 * connects and after. Ranges of it are bound to parts of shadows' mappings (binding.h).
 * Everywhere else the window shows a page of its own.
 */
#ifndef _VGPU_HOST_WINDOW_H
#define _VGPU_HOST_WINDOW_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "peer/agent.h"
#include "window_local.h"

struct vgpu_cmd;
struct vgpu_peer;

/* Deadline of a hypervisor's fault, whatever the driver does. */
#define VGPU_WINDOW_TIMEOUT	(2 * HZ)
/* Maximum of probes of one window that are in drivers. */
#define VGPU_WINDOW_PROBES	8

/**
 * struct vgpuh_window_stats - counters of a window, for VGPU_HOST_WINDOW_STAT
 * @bound_bytes: number of bytes of the window's bindings
 * @faults: number of faults of hypervisors
 * @resolved: number of touches that are done
 * @dummies: number of faults that got the window's own page
 * @failures: number of faults whose page could not be had
 * @timeouts: number of waits for a touch that ended without result
 * @zaps: number of times that a driver changed pages of a binding
 * @huge: number of PMD mappings that were inserted
 */
struct vgpuh_window_stats {
	atomic64_t bound_bytes;
	atomic64_t faults;
	atomic64_t resolved;
	atomic64_t dummies;
	atomic64_t failures;
	atomic64_t timeouts;
	atomic64_t zaps;
	atomic64_t huge;
};

/**
 * struct vgpuh_window_memory - memory that a window has of its own; the pointers are constant
 * @inode: inode whose address_space has the VMAs of the device file
 * @i_mmap_key: lockdep class that the inode's i_mmap_rwsem had before
 * @i_mmap_name: name of that class
 * @header: page that describes the window, at its offset 0
 * @dummy: page that is shown where nothing is bound
 */
struct vgpuh_window_memory {
	struct inode *inode;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lock_class_key *i_mmap_key;
	const char *i_mmap_name;
#endif
	struct page *header;
	struct page *dummy;
};

/**
 * struct vgpuh_window_opener - process that has the device file of a window open
 * @nr: number of its open files
 * @mm: mm of the process, with a reference of the struct; or NULL
 * @mapped: true if a hypervisor has mapped the window since it got its number
 */
struct vgpuh_window_opener {
	u32 nr;
	struct mm_struct *mm;
	bool mapped;
};

/**
 * struct vgpuh_window_bindings - bindings of a window; see binding.c
 * @tree: bindings by their offsets
 * @nr: number of bindings in @tree
 * @ended: bindings that have ended and whose notifiers are still registered
 * @work: work item that unregisters the notifiers of @ended
 */
struct vgpuh_window_bindings {
	struct rb_root_cached tree;
	u32 nr;
	struct list_head ended;
	struct work_struct work;
};

/**
 * struct vgpuh_window_workers - workers of a window, which wait for drivers
 * @wq: workqueue for them and for the work item of the bindings; constant
 * @nr_left: number of touches (touch.h) in drivers that a waiting thread has given up
 * @nr_touches: number of touches that are queued or in drivers
 * @nr_ahead: number of workers that prepare pages (ahead.c)
 * @probes: shadows whose drivers are being probed, each once; the workers hold references
 */
struct vgpuh_window_workers {
	struct workqueue_struct *wq;
	u32 nr_left;
	u32 nr_touches;
	u32 nr_ahead;
	struct mm_struct *probes[VGPU_WINDOW_PROBES];
};

/**
 * struct vgpuh_window_viewers - users that show a window beside its device file; see local.c
 * @lock: semaphore that protects @list, and is held over ->zap() of its entries
 * @list: list of struct vgpu_window_viewer
 */
struct vgpuh_window_viewers {
	struct rw_semaphore lock;
	struct list_head list;
};

struct vgpuh_window {
	struct device dev;
	struct cdev cdev;
	u32 cid;
	u32 port;
	u64 size;
	kuid_t uid;
	kgid_t gid;
	/* VGPU_HOST_WINDOW_*, of interest to the agent only. */
	u32 flags;
	struct vgpuh_window_memory memory;

	/* Entry of the list of windows. */
	struct list_head node;
	/* Work item that destroys the workqueue and frees the window. */
	struct work_struct free_work;

	/* Mutex that protects the fields from @id to @workers. */
	struct mutex lock;
	/* Number of the window; a new one for each hypervisor. */
	u64 id;
	bool gone;
	bool drain;
	struct vgpuh_window_opener opener;
	struct vgpuh_window_bindings bindings;
	struct vgpuh_window_workers workers;

	struct vgpuh_window_viewers viewers;
	struct vgpuh_window_stats stats;
};

/* Mutex that protects vgpu_windows. Lock order: before viewers.lock and lock of a window. */
extern struct mutex vgpu_windows_lock;
/* List of windows, sorted by CID and port. */
extern struct list_head vgpu_windows;
/* Wait queue of opens that wait for another process to close a window. */
extern struct wait_queue_head vgpu_windows_closed;

/* Notify the window's guest of a change. */
static inline void vgpuh_window_changed(const struct vgpuh_window *window)
{
	vgpu_agent_kick_peer(window->cid, window->port);
}

/* Find the window of @peer. Return: the window with a reference, or NULL. */
struct vgpuh_window *vgpuh_window_find(const struct vgpu_peer *peer);
void vgpuh_window_get(struct vgpuh_window *window);
void vgpuh_window_put(struct vgpuh_window *window);
/* Zap all PTEs of [offset, offset + len), in hypervisors and viewers. */
void vgpuh_window_zap(struct vgpuh_window *window, u64 offset, u64 len);
/*
 * Give the window a new number: its hypervisor and guest, if any, are gone, and the next ones
 * see nothing of theirs.
 */
void vgpuh_window_renew(struct vgpuh_window *window);

int vgpuh_window_init(void);
void vgpuh_window_exit(void);
int vgpuh_window_create(struct vgpu_host_window_create *args, struct vgpu_cmd *cmd);
int vgpuh_window_destroy(const struct vgpu_host_window_destroy *args);
int vgpuh_window_drain(const struct vgpu_host_window_drain *args);
int vgpuh_window_stat(struct vgpu_host_window_stat *args);
/* Check whether @rdev is the device of a window. */
bool vgpuh_window_is_device(dev_t rdev);

#endif /* _VGPU_HOST_WINDOW_H */

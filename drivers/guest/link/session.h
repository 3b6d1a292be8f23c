/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions: a session is one guest process (one mm) that talks to one host. */
#ifndef VGPU_SESSION_H
#define VGPU_SESSION_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "uapi/linux/vgpu_wire.h"

#include "link/lane_pool.h"
#include "link/session_ref.h"

struct mm_struct;
struct vgpu_host;
struct vgpu_mm;
struct vgpu_session_memory;

/**
 * struct vgpu_session - one mm and one host
 * @ref: references that keep this struct; a thread in a call holds one
 * @users: number of users that keep the shadow alive: the mm, each mapping and a queued
 *	@start_work
 * @host: the host, with a reference
 * @number: number of the session on the wire
 * @entry: entry in host->sessions.list (host->lock)
 * @mm: mm of the process, with a reference of the struct (mmgrab()); only for comparisons
 * @tgid: thread group id for the host's logs
 * @comm: name of the process for the host's logs
 * @hash: entry in host->sessions.by_mm while calls of @mm shall find the session (host->lock)
 * @vmm: struct vgpu_mm whose MMU notifier reports the end of the mm; constant
 * @vmm_entry: entry in vmm->sessions (vgpu_mm_lock)
 * @start_work: work item that connects the first lane, whereupon the host makes the shadow
 * @started: completion of the attempt to connect the first lane
 * @error: errno of the first lane, or 0; constant once @started is complete
 * @is_known: true if the host may know the session although @error is not 0
 * @check_work: work item that checks whether the shadow is dead; holds a reference
 * @fdinfo_pause: time in jiffies until which no fdinfo call uses the session; 0: none; any
 *	thread reads and writes it
 * @memory: state of the session's memory (memory/state.h); constant
 * @reserve_lock: mutex held while the reserved range is set up
 * @is_reserved: true if the reserved range is kept free in @mm
 * @lock: guards @dead and @pool
 * @dead: true if no calls are possible any more; set once, read without the lock
 * @pool: lanes of the session
 */
struct vgpu_session {
	struct kref ref;
	refcount_t users;
	struct vgpu_host *host;
	u64 number;
	struct list_head entry;
	struct mm_struct *mm;
	u32 tgid;
	u8 comm[VGPU_COMM_LEN];
	struct hlist_node hash;
	struct vgpu_mm *vmm;
	struct list_head vmm_entry;

	struct work_struct start_work;
	struct completion started;
	int error;
	bool is_known;
	struct work_struct check_work;
	unsigned long fdinfo_pause;
	struct vgpu_session_memory *memory;

	struct mutex reserve_lock;
	bool is_reserved;

	spinlock_t lock;
	bool dead;
	struct vgpu_lane_pool pool;
};

/* Flags of vgpu_session_current(). */
#define VGPU_SESSION_MM_LOCKED	BIT(0)	/* mmap_lock is held for writing */
#define VGPU_SESSION_RENEW	BIT(1)	/* make a new session if the old one is dead */
#define VGPU_SESSION_FIND	BIT(2)	/* return an existing session only */

struct vgpu_session *vgpu_session_current(struct vgpu_host *host, unsigned int flags);
struct vgpu_session *vgpu_session_any(struct vgpu_host *host, u64 number,
				      bool (*may)(const struct vgpu_session *session));
bool __must_check vgpu_session_hold(struct vgpu_session *session);
void vgpu_session_release(struct vgpu_session *session);
void vgpu_session_abort_all(struct vgpu_host *host);

#endif /* VGPU_SESSION_H */

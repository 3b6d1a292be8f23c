/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions: one guest process (one mm) talking to one host. */
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
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "uapi/linux/vgpu_wire.h"

#include "flush.h"
#include "keep.h"
#include "move.h"

struct mm_struct;
struct vgpu_host;
struct vgpu_lane;
struct vgpu_mm;

/**
 * struct vgpu_session - one mm and one host
 * @ref: memory of this struct; a thread in a call holds one
 * @users: what keeps the shadow alive: the mm, and each mapping
 * @host: the host (a reference)
 * @number: the session's number on the wire
 * @entry: in host->session_list (host->lock)
 * @aborted: vgpu_session_abort_all() has been here (host->lock)
 * @mm: whose process it is, a reference of the struct; for comparison only
 * @tgid: for the host's logs
 * @comm: likewise
 * @hash: in host->sessions while calls of @mm shall find it (host->lock)
 * @vmm: the mm's end is told through it (vgpu_mm_lock)
 * @vmm_entry: in vmm->sessions (vgpu_mm_lock)
 * @start_work: connects the first lane, which makes the shadow
 * @started: the first lane is there, or failed
 * @error: why it failed; 0: it did not. Constant once @started
 * @check_work: finds out whether the shadow is dead; holds a reference
 * @flush: what its programs wrote to device memory, on its way
 * @fdinfo_pause: jiffies, until which no fdinfo is asked for by it; 0: it may be; any thread's
 * @move_pause: it did not answer when a mapping was to be bound
 * @claims: addresses of @mm that its calls are handing over to devices
 * @keep: whose files may have what its calls hand over
 * @reserve_lock: guards making the reservation
 * @is_reserved: the reserved range is kept free in @mm
 * @lock: guards what follows
 * @dead: no calls any more; set once, read anywhere
 * @lanes: all
 * @coming: struct lane_coming of those that are being connected
 * @idle: those that nobody uses
 * @nr_idle: how many those are
 * @mm_lane: kept for calls of class mm; its end tells of the shadow's. Looked at without the lock
 *	by its own callbacks
 * @mm_lane_busy: one uses it
 * @nr_lanes: connected or being connected
 * @lanes_max: most of them
 * @wait: for a lane
 */
struct vgpu_session {
	struct kref ref;
	refcount_t users;
	struct vgpu_host *host;
	u64 number;
	struct list_head entry;
	bool aborted;
	struct mm_struct *mm;
	u32 tgid;
	u8 comm[VGPU_COMM_LEN];
	struct hlist_node hash;
	struct vgpu_mm *vmm;
	struct list_head vmm_entry;

	struct work_struct start_work;
	struct completion started;
	int error;
	struct work_struct check_work;
	struct vgpu_flush flush;
	unsigned long fdinfo_pause;
	struct vgpu_move_pause move_pause;
	struct vgpu_keep_claims claims;
	struct vgpu_keep_member keep;

	struct mutex reserve_lock;
	bool is_reserved;

	spinlock_t lock;
	bool dead;
	struct list_head lanes;
	struct list_head coming;
	struct list_head idle;
	unsigned int nr_idle;
	struct vgpu_lane *mm_lane;
	bool mm_lane_busy;
	unsigned int nr_lanes;
	unsigned int lanes_max;
	wait_queue_head_t wait;
};

/* How vgpu_session_current() shall look. */
#define VGPU_SESSION_MM_LOCKED	BIT(0)	/* mmap_lock is held for writing */
#define VGPU_SESSION_RENEW	BIT(1)	/* a new one if the old one is dead */
#define VGPU_SESSION_FIND	BIT(2)	/* only one that is there */

int vgpu_session_global_init(void);
void vgpu_session_global_exit(void);
struct vgpu_session *vgpu_session_current(struct vgpu_host *host, unsigned int flags);
struct vgpu_session *vgpu_session_any(struct vgpu_host *host, u64 number,
				      bool (*may)(const struct vgpu_session *session));
struct vgpu_session *vgpu_session_get(struct vgpu_session *session);
void vgpu_session_put(struct vgpu_session *session);
bool __must_check vgpu_session_hold(struct vgpu_session *session);
void vgpu_session_release(struct vgpu_session *session);
void vgpu_session_check_later(struct vgpu_session *session);
void vgpu_session_kill(struct vgpu_session *session);
void vgpu_session_abort_all(struct vgpu_host *host);

#endif /* VGPU_SESSION_H */
